//===- Arena.cpp - places of blocks that live for some steps ----*- C++ -*-===//
#include "metate/Transforms/Arena.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <random>

using namespace metate;

void Arena::add(uint64_t bytes, unsigned begin, unsigned end) {
  if (isMutant(Mutant::ArenaLastStepFree) && end > begin)
    --end;
  blocks.push_back({llvm::alignTo(bytes, align), begin, end});
}

uint64_t Arena::place(llvm::ArrayRef<unsigned> order, std::vector<uint64_t> &offsets) const {
  uint64_t total = 0;
  std::vector<unsigned> placed; // by offset
  for (unsigned number : order) {
    uint64_t at = 0;
    for (unsigned other : placed) {
      if (!blocks[other].meets(blocks[number]))
        continue;
      if (at + (isMutant(Mutant::ArenaGapTooSmall) ? 1 : blocks[number].bytes) <= offsets[other])
        break;
      at = std::max(at, offsets[other] + blocks[other].bytes);
    }
    offsets[number] = at;
    total = std::max(isMutant(Mutant::ArenaEndOfLast) ? 0 : total, at + blocks[number].bytes);
    placed.insert(
        llvm::upper_bound(placed, number,
                          [&](unsigned a, unsigned b) { return offsets[a] < offsets[b]; }),
        number);
  }
  return total;
}

ArenaPlan Arena::plan() const {
  ArenaPlan best;
  for (const Block &block : blocks) {
    uint64_t live = 0; // what is most is so at a step where some block begins
    for (const Block &other : blocks)
      if (other.begin <= block.begin && block.begin <= other.end)
        live += other.bytes;
    best.leastBytes = std::max(best.leastBytes, live);
    best.apartBytes += block.bytes;
  }
  std::vector<unsigned> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order,
                    [&](unsigned a, unsigned b) { return blocks[a].bytes > blocks[b].bytes; });
  best.offsets.resize(blocks.size());
  best.bytes = place(order, best.offsets);
  // From the best order so far, two blocks exchanged: a tenth of a second for a hundred blocks.
  std::mt19937 generator(1); // its numbers are the standard's: equal graphs have equal plans
  std::vector<uint64_t> offsets(blocks.size());
  for (int turn = 0; turn < 2000 && best.bytes > best.leastBytes; ++turn) {
    unsigned a = generator() % order.size(), b = generator() % order.size();
    std::swap(order[a], order[b]);
    uint64_t bytes = place(order, offsets);
    if (bytes <= best.bytes) { // plateaus are crossed
      best.bytes = bytes;
      best.offsets = offsets;
    } else {
      std::swap(order[a], order[b]);
    }
  }
  return best;
}
