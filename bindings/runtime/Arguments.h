// A Python call's arguments, seen as the C API wants them.
//
// A frame lives for one call. Buffers are acquired when a parameter first asks
// for one and are given back when the frame ends; matching one kernel after
// another acquires them once.
#ifndef METATE_BINDINGS_RUNTIME_ARGUMENTS_H
#define METATE_BINDINGS_RUNTIME_ARGUMENTS_H

#include "ArrayMemory.h"
#include "Module.h"
#include "Tree.h"

#include <span>

namespace metate::python {

class Frame {
public:
  Frame() = default;
  /// Makes room for `most` arguments; there must be none yet.
  void reserve(size_t most);
  /// The argument stays borrowed: the caller keeps it alive.
  void append(PyObject *argument);
  /// The argument is the frame's from now on: one that the caller does not write.
  void appendOwned(PyObject *argument);
  /// A tree that the caller does not write, for the parameter whose turn it is; it is kept alive. isFitting: it is known
  /// to be of that parameter's type. Whether it is bound to that parameter.
  bool appendTree(const Kernel &kernel, PyObject *object, const Tree &tree, bool isFitting);
  /// Drops all but the first `count` arguments.
  void truncate(size_t count);
  size_t size() const { return count; }
  ~Frame();
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  /// Whether the arguments are what this kernel was compiled for; then they are
  /// ready to launch. exact: an array without gaps belongs to a kernel that was
  /// compiled for such arrays.
  bool bind(const Kernel &kernel, bool exact);
  /// The same for one argument, which was appended since.
  bool bindAt(const Kernel &kernel, size_t index);
  /// bind that says what is wrong: throws RuntimeTypeError_ or
  /// RuntimeValueError_ naming the argument. hidden: how many of the kernel's arguments the caller
  /// does not write.
  void bindOrThrow(const Kernel &kernel, size_t hidden = 0);
  /// Launches what was bound last; returns the kernel's result, a tuple of several, or None. With the GIL, where no array has
  /// an extent larger than `briefExtent`. Throws.
  nb::object launch(const Kernel &kernel, std::span<const metate_pool_memory> pools = {},
                    int64_t briefExtent = -1);
  /// Whether a launch of what was bound last would find room in the tree: (text, "" if so; slots that each
  /// of its pools needs). Throws.
  nb::object reserveFor(const Kernel &kernel, const Tree &tree);
  /// What a launch of what was bound last needs: (workers, [(name, bytes, align, kind) of each pool]). Throws.
  nb::object plan(const Kernel &kernel);
  /// (dtype, shape, row-major without gaps) of an array in the host's memory or a CUDA device's; None of anything else.
  static nb::object describeArray(nb::handle object);
  /// Did that get as far as the kernel, which may have ended early?
  bool hasLaunched() const { return launched; }

private:
  static constexpr size_t inlineCount = 24;
  static constexpr size_t inlineBytes = 128; // a 4 x 4 matrix of f64

  struct Value {
    enum class State : uint8_t { Fresh, Array, NoArray };
    PyObject *object;
    const Tree *tree; // that was bound
    State state;
    bool owned; // the object
    bool contiguous;
    bool aligned;
    bool viewed;
    bool isCudas; // an array's memory is a CUDA device's
    uint32_t dtype;
    int elementRank;     // of the package's arrays; -1: any
    ArrayMemory *memory; // of the package's own; null: somebody else's
    void *place;         // there, for the host
    metate_array array;
    int64_t shape[METATE_MAX_RANK];
    int64_t strides[METATE_MAX_RANK];
    Py_buffer view;
    nb::ndarray<nb::ro> *imported; // through DLPack
    alignas(8) char element[inlineBytes];
    std::vector<char> *wideElement; // an element of more than inlineBytes
  };

  bool look(Value &value);
  bool lookAtArray(Value &value);
  bool lookAtBuffer(Value &value);
  bool lookThroughDlpack(Value &value);
  bool lookAtCudaInterface(Value &value);
  void finishArray(Value &value);
  Fit bindOne(const Parameter &parameter, Value &value, metate_argument &argument, bool exact);
  bool bindTree(const Parameter &parameter, Value &value, metate_argument &argument);
  static bool isOf(const Tree &tree, const Parameter &parameter);
  bool bindArray(const Parameter &parameter, Value &value, metate_argument &argument, bool exact);
  Fit bindVector(const Parameter &parameter, Value &value, metate_argument &argument);
  std::string describe(Value &value);
  class TreesInUse;
  [[noreturn]] void throwLaunchError(const Kernel &kernel, int32_t status, const std::string &text);

  class WithResults;
  bool isBrief(int64_t briefExtent) const;
  void placeArrays(const Kernel &kernel, bool runs);
  void run(const Kernel &kernel, const metate_argument *all, size_t total,
           std::span<const metate_pool_memory> pools, bool isBrief);

  bool launched = false;
  const Device *device = nullptr; // of the kernel that was bound last
  size_t count = 0, most = inlineCount;
  Value inlineValues[inlineCount];
  metate_argument inlineArguments[inlineCount];
  std::unique_ptr<Value[]> wideValues;
  std::unique_ptr<metate_argument[]> wideArguments;
  Value *values = inlineValues;
  metate_argument *arguments = inlineArguments;
};

} // namespace metate::python

#endif
