// An instance of a tree type: the base class of metate.tree.Tree.
#ifndef METATE_BINDINGS_RUNTIME_TREE_H
#define METATE_BINDINGS_RUNTIME_TREE_H

#include "BufferView.h"
#include "Type.h"

namespace metate::python {

class Tree {
public:
  /// A tree in reserved memory of its own.
  Tree(std::shared_ptr<Type> type, nb::handle capacities);
  /// A tree in the memory of `buffer`, which is kept alive. reset false: adopts
  /// the block in it.
  Tree(std::shared_ptr<Type> type, nb::handle capacities, nb::handle buffer, bool reset);
  ~Tree();
  Tree(const Tree &) = delete;
  Tree &operator=(const Tree &) = delete;

  /// Throws TreeError after unbind() and while the tree is reset.
  metate_tree *get() const;
  metate_tree *getOrNull() const { return tree; }
  const std::shared_ptr<Type> &getType() const { return type; }
  metate_tree_description describe() const;
  void unbind();
  void reset();
  /// Activates the cell and writes the value, which has the member's bytes. Throws; also for a
  /// capacity that this passed.
  void write(uint32_t level, const int64_t *coordinates, uint32_t count, const void *value);
  void activate(uint32_t level, const int64_t *coordinates, uint32_t count);
  void deactivate(uint32_t level, const int64_t *coordinates, uint32_t count);
  void deactivateAll(uint32_t level);
  /// The index of a list's new last cell.
  uint64_t append(uint32_t level, const int64_t *coordinates, uint32_t count);
  /// Whole members from an array: the status of metate_tree_write_members.
  int32_t writeMembers(const std::vector<uint32_t> &members, const void *values, uint64_t bytes);
  /// Whole members, components of the elements, as a new array.
  nb::object readMembers(const std::vector<uint32_t> &members, const ElementType &element) const;
  void trim();
  void sort();
  /// Into a buffer, which is kept alive, or (None) memory of its own.
  void migrate(nb::handle capacities, nb::handle buffer);
  void save(const std::string &path) const;
  /// Around work on the tree without the GIL, which must be held here: unbind() and reset() are
  /// refused meanwhile.
  void beginUse() const { ++uses; }
  void endUse() const { --uses; }

  /// Python's buffer protocol over the whole block.
  int getBuffer(PyObject *self, Py_buffer *view, int flags);
  void releaseBuffer() { --exports; }

  /// A tree out of a saved file; readOnly maps the file.
  Tree(std::shared_ptr<Type> type, const std::string &path, nb::handle capacities, bool readOnly);

private:
  void adopt(PyObject *buffer, bool reset, const Capacities &capacities);
  void checkUnused(const char *what) const;

  std::shared_ptr<Type> type;
  metate_tree *tree = nullptr;
  BufferView memory;
  int exports = 0;
  mutable int uses = 0;
  bool resetting = false;
};

/// A use of a tree for as long as it is in scope.
class TreeUse {
public:
  explicit TreeUse(const Tree &tree) : tree(tree) { tree.beginUse(); }
  ~TreeUse() { tree.endUse(); }
  TreeUse(const TreeUse &) = delete;
  TreeUse &operator=(const TreeUse &) = delete;

private:
  const Tree &tree;
};

/// Sets CapacityError with the level, the slots needed and the capacity that
/// the block recorded.
void setCapacityError(const Tree &tree, const std::string &text);

// All active cells, and dense arrays: TreeArrays.cpp.
nb::tuple treeCells(const Tree &tree, uint32_t level);
nb::object readDense(const Tree &tree, uint32_t level);
void writeDense(Tree &tree, uint32_t level, nb::handle array);

void bindTree(nb::module_ &module);

} // namespace metate::python

#endif
