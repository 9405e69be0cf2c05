// Where the host works on a tree's block: in the block itself where it reaches it, which costs one test; else in a copy of
// what is in use, read before and written back after. One thread at a time has a copy of a device's memory, so that
// nothing of what another one wrote is lost.
#ifndef METATE_RUNTIME_TREE_STAGED_H
#define METATE_RUNTIME_TREE_STAGED_H

#include "tree/tree.h"

namespace metate {

// What the host does with a block. `makes`: all that is not zero is written, nothing is read before. `checks`: all bytes
// are read, those that are not in use too.
enum class Use { reads, changes, makes, checks };

// A status that a function returns of the block.
struct Work {
  metate_status (*run)(void *self, const Block &block);
  void *self;
};
metate_status workOnCopy(const metate_tree &tree, Use use, Work work);

inline Block blockOf(const metate_tree &tree) {
  return {tree.type, tree.memory.host, tree.pools, tree.layout};
}

// body(block), wherever the block lies.
template <typename Body> metate_status onHost(const metate_tree &tree, Use use, Body body) {
  if (!tree.isElsewhere())
    return body(blockOf(tree));
  auto run = [](void *self, const Block &block) -> metate_status {
    return (*static_cast<Body *>(self))(block);
  };
  return workOnCopy(tree, use, {run, &body});
}

// The same for work on one cell of a member, by its coordinates (by axis number). Where the cell is always there its bytes are all
// that is copied.
metate_status workOnCell(const metate_tree &tree, uint32_t member, const int64_t *along, Use use,
                         Work work);
template <typename Body>
metate_status onCell(const metate_tree &tree, uint32_t member, const int64_t *along, Use use,
                     Body body) {
  if (!tree.isElsewhere())
    return body(blockOf(tree));
  auto run = [](void *self, const Block &block) -> metate_status {
    return (*static_cast<Body *>(self))(block);
  };
  return workOnCell(tree, member, along, use, {run, &body});
}

// ---- single words of a block, for what is asked at each launch: no copy is made

// `offset` is of a word of the header or of a pool's record.
template <typename Word>
metate_status loadWord(const metate_tree &tree, uint64_t offset, Word *word) {
  if (tree.isElsewhere())
    return readRegion(*tree.device, tree.memory, offset, word, sizeof *word);
  *word =
      __atomic_load_n(reinterpret_cast<const Word *>(tree.memory.host + offset), __ATOMIC_RELAXED);
  return METATE_OK;
}
template <typename Word>
metate_status storeWord(const metate_tree &tree, uint64_t offset, Word word) {
  if (tree.isElsewhere())
    return writeRegion(*tree.device, tree.memory, offset, &word, sizeof word);
  __atomic_store_n(reinterpret_cast<Word *>(tree.memory.host + offset), word, __ATOMIC_RELAXED);
  return METATE_OK;
}
#define METATE_HEADER_WORD(field) offsetof(metate_tree_header, field)
inline uint64_t poolWord(uint32_t number, uint64_t field) {
  return sizeof(metate_tree_header) + uint64_t(number) * sizeof(metate_pool) + field;
}

// The sticky status with the pool that is too small and the slots that it needs.
struct Sticky {
  uint32_t status = METATE_OK;
  uint32_t number = METATE_NONE;
  uint64_t needed = 0;
};
inline metate_status readSticky(const metate_tree &tree, Sticky *sticky) {
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(status), &sticky->status));
  if (tree.isElsewhere() && sticky->status == METATE_OK)
    return METATE_OK; // each word is a copy, and says nothing more
  METATE_TRY(loadWord(tree, METATE_HEADER_WORD(status_level), &sticky->number));
  return loadWord(tree, METATE_HEADER_WORD(status_needed), &sticky->needed);
}

} // namespace metate

#endif
