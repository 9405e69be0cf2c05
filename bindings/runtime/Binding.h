// What a Dispatcher knows of the ways in which it was called before.
//
// A *target* is one set of arguments of which some stay behind: template
// arguments, which the code knows already. It has a *binding* for each instance
// that was used for it: what must still hold (guards), and the arguments that
// the caller does not write (hidden ones), found once. Nothing of it keeps an
// object alive that came as an argument.
#ifndef METATE_BINDINGS_RUNTIME_BINDING_H
#define METATE_BINDINGS_RUNTIME_BINDING_H

#include "Arguments.h"

#include <optional>
#include <unordered_map>
#include <utility>

namespace metate::python {

/// An object that counts who holds it, under the GIL: without the atomic operations of std::shared_ptr, of which a call
/// would make several.
class Counted {
public:
  Counted() = default;
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;

private:
  template <typename T> friend class Held;
  size_t holders = 0;
};

template <typename T> class Held {
public:
  Held() = default;
  explicit Held(T *object) : object(object) { count(); }
  Held(const Held &other) : object(other.object) { count(); }
  Held(Held &&other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Held &operator=(Held other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Held() {
    if (object && --static_cast<Counted *>(object)->holders == 0)
      delete object;
  }

  T *get() const { return object; }
  T *operator->() const { return object; }
  T &operator*() const { return *object; }
  explicit operator bool() const { return object; }
  bool operator==(const Held &) const = default;

private:
  void count() {
    if (object)
      ++static_cast<Counted *>(object)->holders;
  }
  T *object = nullptr;
};

/// An instance: a kernel that the dispatcher may launch.
struct Instance : Counted {
  nb::object object; // the Kernel
  const Kernel *kernel;
  uint64_t hits = 0;
  bool loose =
      false; // also for arrays without gaps although compiled for strides: nothing better was offered
};

/// Something that was read through an argument while compiling.
class Guard {
public:
  /// From (position, steps, object): steps are attributes (str) or subscripts (a tuple of one); the
  /// object is a weak reference: that very object; such a reference and bytes, in a tuple: that array
  /// with these contents; a callable that says whether an object will do, in a tuple of one; or a
  /// value that must be equal.
  explicit Guard(nb::handle described);
  /// False also when the path leads nowhere. Runs Python code.
  bool holds(PyObject *const *arguments) const;
  int visit(visitproc visit, void *arg) const;

private:
  struct Step {
    nb::object key;
    bool isSubscript;
  };
  size_t position;
  std::vector<Step> steps;
  nb::object expected;
  nb::object contents; // bytes of an array
  bool isAsked;        // `expected` is a callable
};

/// An argument that the caller does not write: a tree, what a callable gives at each launch, or an attribute of one that the
/// caller writes, or of one of its parts: an array's gradient.
struct Hidden {
  explicit Hidden(nb::handle described);

  nb::object object; // a weak reference to the tree, the callable, or the attribute's name
  bool isTree;
  bool isAttribute = false;
  size_t position = 0;        // of the argument whose attribute it is
  std::optional<size_t> part; // of that argument, where it goes to the kernel in several
  const Tree *fitting =
      nullptr; // the tree, once it was found to be of the type that the kernel takes
};

struct Binding : Counted {
  Held<Instance> instance;
  std::vector<Guard> guards;
  std::vector<Hidden> hidden;
  int64_t briefExtent = -1; // launches whose arrays have no larger extent are over in no time
};

/// A template argument's value: a weak reference to an object, or a value that is compared.
struct Key {
  size_t position;
  nb::object object;
};

struct Target : Counted {
  std::vector<bool> statics; // by position: it does not go to the kernel
  std::vector<Key> keys;
  std::vector<Held<Binding>> bindings; // the one used last first
  size_t mostHidden = 0;               // of the bindings

  bool matches(PyObject *const *arguments, size_t count) const;
  /// Has an object that it is about died?
  bool isDead() const;
  bool isStatic(size_t position) const { return position < statics.size() && statics[position]; }
  bool hasSameKeys(const Target &other) const;
  /// Visits what it owns; instances are the dispatcher's.
  int visit(visitproc visit, void *arg) const;
};

/// Targets by the address of the first object that each is about.
class Targets {
public:
  Held<Target> find(PyObject *const *arguments, size_t count);
  /// The target itself, or the one with the same keys that there was.
  Held<Target> add(Held<Target> target);
  void swap(Targets &other);
  int visit(visitproc visit, void *arg) const;

private:
  void prune();
  std::unordered_multimap<const void *, Held<Target>> all;
  std::vector<size_t> positions; // of the first objects
  Held<Target> last;
  size_t limit = 64; // dead ones are looked for when there are so many
};

/// Equal values of equal types, down to the sign of a zero: what a specialisation tells apart.
bool isSameValue(PyObject *a, PyObject *b);

} // namespace metate::python

#endif
