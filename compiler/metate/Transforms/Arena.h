//===- Arena.h - places of blocks that live for some steps ------*- C++ -*-===//
//
// Blocks that live at the same time lie apart, others may share memory. To find the smallest arena is NP-hard (dynamic storage
// allocation): blocks are placed greedily, largest first, each at the lowest place where it fits, and if that does not reach the
// lower bound, in other orders, of a fixed number and always the same ones.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_ARENA_H
#define METATE_TRANSFORMS_ARENA_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace metate {

struct ArenaPlan {
  std::vector<uint64_t> offsets; ///< of the blocks, in their order
  uint64_t bytes = 0;            ///< of all
  uint64_t leastBytes =
      0; ///< what lives at once, at the step where that is most: no plan needs less
  uint64_t apartBytes = 0; ///< without sharing
};

/// Steps from the first to the last one, both included.
struct Lifetime {
  unsigned begin, end;
};

class Arena {
public:
  static constexpr uint64_t align = 64; ///< of each block

  /// A block of so many bytes, which lives in these times, one after the other: between them nobody needs what it holds.
  void add(uint64_t bytes, std::vector<Lifetime> times);
  ArenaPlan plan() const;

private:
  struct Block {
    uint64_t bytes; ///< a multiple of `align`
    std::vector<Lifetime> times;
    bool livesAt(unsigned step) const;
    bool meets(const Block &other) const;
  };
  /// Places the blocks in this order; the bytes of all.
  uint64_t place(llvm::ArrayRef<unsigned> order, std::vector<uint64_t> &offsets) const;

  std::vector<Block> blocks;
};

} // namespace metate

#endif
