// Whole members of trees between blocks and Python's arrays.
#include "Tree.h"

namespace metate::python {

nb::tuple treeCells(const Tree &tree, uint32_t index) {
  const LevelInfo &level = tree.getType()->level(index);
  metate_tree *handle = tree.get();
  uint64_t count = 0;
  check(metate_tree_cells(handle, index, 0, nullptr, nullptr, &count));
  NewArray coordinates({METATE_I64, 1, 1, 0}, {int64_t(count), level.pathRank});
  bool member = level.kind == METATE_LEVEL_PLACE;
  NewArray values(member ? level.element : ElementType{METATE_U8, 1, 1, 0},
                  {member ? int64_t(count) : 0});
  uint64_t found = 0;
  int32_t status;
  {
    TreeUse use(tree);
    nb::gil_scoped_release released;
    status = metate_tree_cells(handle, index, count, static_cast<int64_t *>(coordinates.data()),
                               member ? values.data() : nullptr, &found);
  }
  check(status);
  if (found != count)
    throwNamed("RuntimeError_",
               "cells were activated while they were read: no kernel may run "
               "meanwhile",
               METATE_E_BUSY);
  return nb::make_tuple(coordinates.finish(), member ? values.finish() : nb::none());
}

nb::object Tree::readMembers(const std::vector<uint32_t> &members,
                             const ElementType &element) const {
  metate_tree *handle = get();
  NewArray values(element, type->level(members.at(0)).shape);
  int32_t status;
  {
    TreeUse use(*this);
    nb::gil_scoped_release released;
    status = metate_tree_read_members(handle, members.data(), uint32_t(members.size()),
                                      values.data(), values.bytes());
  }
  check(status);
  return values.finish();
}

nb::object readDense(const Tree &tree, uint32_t index) {
  return tree.readMembers({index}, tree.getType()->level(index).element);
}

// So many bytes are copied in less time than it takes another thread to get the GIL.
static constexpr uint64_t few = 1 << 14;

int32_t Tree::writeMembers(const std::vector<uint32_t> &members, const void *values,
                           uint64_t bytes) {
  TreeUse use(*this);
  metate_tree *handle = get();
  auto write = [&] {
    return metate_tree_write_members(handle, members.data(), uint32_t(members.size()), values,
                                     bytes);
  };
  if (bytes <= few)
    return write();
  nb::gil_scoped_release released;
  return write();
}

void writeDense(Tree &tree, uint32_t index, nb::handle array) {
  tree.getType()->level(index); // or an error
  BufferView values(array.ptr(), PyBUF_C_CONTIGUOUS);
  if (!values)
    throw nb::python_error();
  check(tree.writeMembers({index}, values->buf, uint64_t(values->len)));
}

} // namespace metate::python
