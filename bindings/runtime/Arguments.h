// A Python call's arguments, seen as the C API wants them.
//
// A frame lives for one call. Buffers are acquired when a parameter first asks
// for one and are given back when the frame ends; matching one kernel after
// another acquires them once.
#ifndef METATE_BINDINGS_RUNTIME_ARGUMENTS_H
#define METATE_BINDINGS_RUNTIME_ARGUMENTS_H

#include "Module.h"
#include "Tree.h"

namespace metate::python {

class Frame {
public:
  /// arguments stay borrowed: the caller keeps them alive.
  Frame(PyObject *const *arguments, size_t count);
  ~Frame();
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  /// Whether the arguments are what this kernel was compiled for; then they are
  /// ready to launch. exact: an array without gaps belongs to a kernel that was
  /// compiled for such arrays.
  bool bind(const Kernel &kernel, bool exact);
  /// bind that says what is wrong: throws RuntimeTypeError_ or
  /// RuntimeValueError_ naming the argument.
  void bindOrThrow(const Kernel &kernel);
  /// Launches what was bound last; returns the kernel's result or None. Throws.
  nb::object launch(const Kernel &kernel);

private:
  static constexpr size_t inlineCount = 24;
  static constexpr size_t inlineBytes = 128; // a 4 x 4 matrix of f64

  struct Value {
    enum class State : uint8_t { Fresh, Array, NoArray };
    PyObject *object;
    State state;
    bool contiguous;
    bool aligned;
    bool viewed;
    uint32_t dtype;
    metate_array array;
    int64_t shape[METATE_MAX_RANK];
    int64_t strides[METATE_MAX_RANK];
    Py_buffer view;
    nb::ndarray<nb::ro> *imported; // through DLPack
    alignas(8) char element[inlineBytes];
    std::vector<char> *wideElement; // an element of more than inlineBytes
  };

  bool look(Value &value);
  bool lookAtBuffer(Value &value);
  bool lookThroughDlpack(Value &value);
  void finishArray(Value &value);
  Fit bindOne(const Parameter &parameter, Value &value, metate_argument &argument, bool exact);
  bool bindTree(const Parameter &parameter, Value &value, metate_argument &argument);
  bool bindArray(const Parameter &parameter, Value &value, metate_argument &argument, bool exact);
  Fit bindVector(const Parameter &parameter, Value &value, metate_argument &argument);
  std::string describe(Value &value);
  class TreesInUse;
  [[noreturn]] void throwLaunchError(const Kernel &kernel, int32_t status, const std::string &text);

  size_t count;
  Value inlineValues[inlineCount];
  metate_argument inlineArguments[inlineCount + 1]; // one more for the result
  std::unique_ptr<Value[]> wideValues;
  std::unique_ptr<metate_argument[]> wideArguments;
  Value *values;
  metate_argument *arguments;
};

} // namespace metate::python

#endif
