// Memory with a shape and an element type: the base class of metate.ndarray's arrays. What kernels
// need of it is found once, when it is made; a call of a kernel reads it without asking Python.
#ifndef METATE_BINDINGS_RUNTIME_ARRAY_H
#define METATE_BINDINGS_RUNTIME_ARRAY_H

#include "ArrayMemory.h"
#include "Values.h"

namespace metate::python {

class Array {
public:
  /// A view of `owner`, which offers the buffer protocol and lives as long as the view: scalars of
  /// `dtype`; its last `elementRank` dimensions are those of an element. memory: the package's own, in which all of it lies;
  /// null: somebody else's. Throws.
  Array(nb::handle owner, uint32_t dtype, uint32_t elementRank,
        std::shared_ptr<ArrayMemory> memory = nullptr);
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  /// shape and strides are the view's own; strides is NULL where there are no gaps.
  const metate_array &get() const { return array; }
  bool isContiguous() const { return !array.strides; }
  bool isAligned() const { return aligned; }
  uint32_t getElementRank() const { return elementRank; }
  PyObject *getOwner() const { return view->obj; }
  ArrayMemory *getMemory() const { return memory.get(); }

  /// An element as Python has it. Throws RuntimeIndexError_.
  nb::object read(nb::handle index) const;
  void write(nb::handle index, nb::handle value);
  nb::tuple shape(bool ofElements) const;
  /// The same memory for DLPack.
  nb::object exported() const;

private:
  ElementType elementType() const;
  char *place(nb::handle index) const;
  template <typename Visit> void eachComponent(char *element, Visit visit) const;
  size_t spanOfElement() const;

  uint32_t elementRank;
  BufferView view;
  std::shared_ptr<ArrayMemory> memory;
  metate_array array{};
  int64_t extents[METATE_MAX_RANK] = {};
  int64_t steps[METATE_MAX_RANK] = {};
  bool aligned = true;
};

/// A struct's arrays, one for each member: a kernel takes them one by one.
void bindArray(nb::module_ &module);

} // namespace metate::python

#endif
