//===- Arena.cpp - places of blocks that live for some steps ----*- C++ -*-===//
#include "metate/Transforms/Arena.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <random>

using namespace metate;

void Arena::add(uint64_t bytes, std::vector<Lifetime> times) {
  if (isMutant(Mutant::ArenaLastStepFree) && !times.empty() &&
      times.back().end > times.back().begin)
    --times.back().end;
  blocks.push_back({llvm::alignTo(bytes, align), std::move(times)});
}

bool Arena::Block::livesAt(unsigned step) const {
  return llvm::any_of(times,
                      [&](const Lifetime &time) { return time.begin <= step && step <= time.end; });
}

bool Arena::Block::meets(const Block &other) const {
  return llvm::any_of(times, [&](const Lifetime &one) {
    return llvm::any_of(other.times, [&](const Lifetime &two) {
      return one.begin <= two.end && two.begin <= one.end;
    });
  });
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
    best.apartBytes += block.bytes;
    for (const Lifetime &time : block.times) {
      uint64_t live = 0; // what is most is so at a step where some block begins to live
      for (const Block &other : blocks)
        live += other.livesAt(time.begin) ? other.bytes : 0;
      best.leastBytes = std::max(best.leastBytes, live);
    }
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
