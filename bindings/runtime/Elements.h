// One field's elements for Python: indices to coordinates to values, at the speed of a C call.
#ifndef METATE_BINDINGS_RUNTIME_ELEMENTS_H
#define METATE_BINDINGS_RUNTIME_ELEMENTS_H

#include "Tree.h"

namespace metate::python {

/// What `metate.fields.Field` reads and writes through. It keeps the tree alive.
class Elements {
public:
  /// members: level indices of the member that holds the elements, or of one scalar member for each
  /// component. element: (rows, columns) or (rows,) or (). what: the field, as messages name it.
  Elements(nb::object tree, const std::vector<uint32_t> &members,
           const std::vector<uint32_t> &element, std::vector<int64_t> offset, std::string what);

  /// The element at Python's `key`: a number, or for vectors and matrices its bytes.
  nb::object read(PyObject *key) const;
  void write(PyObject *key, PyObject *value);
  bool isActive(PyObject *key) const;
  void activate(PyObject *key);
  /// Every active element becomes `value`.
  void fill(PyObject *value);
  /// Copies an array that is just what the field holds (a buffer of its type and shape without gaps) into
  /// the active elements. False for every other thing, which is looked at no further.
  bool take(PyObject *array);
  /// All elements as a new array.
  nb::object toArray() const;

private:
  struct Coordinates {
    int64_t values[METATE_MAX_AXES];
    uint32_t count = 0;
  };
  Coordinates locate(PyObject *key) const;
  void writeShared(const Coordinates &at, const char *bytes);
  bool hasForm(const Py_buffer &view) const;
  /// mayBeSequence: its items are indices then; they are none of their own.
  void append(Coordinates &at, PyObject *index, bool mayBeSequence) const;
  const LevelInfo &level(uint32_t index) const { return tree->getType()->level(index); }

  nb::object owner;
  Tree *tree;
  std::vector<uint32_t> members;
  std::vector<int64_t> offset;
  std::string what;
  LevelInfo info;      // of the first member; all have its shape
  ElementType element; // of the field
};

void bindElements(nb::module_ &module);

} // namespace metate::python

#endif
