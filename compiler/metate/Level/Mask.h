//===- Mask.h - the mask of a leaf, by words --------------------*- C++ -*-===//
//
// Cells of a level with a mask, many at once: what is read, set and compared are words of 32 or 64 bits. A change of the
// set of active cells is noted where, and only where, a bit was missing.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LEVEL_MASK_H
#define METATE_LEVEL_MASK_H

#include "metate/Level/ByteBuilder.h"

namespace metate {

/// The words of a mask, bit c % 32 of word c / 32 for cell c.
using MaskWords = llvm::SmallVector<int32_t>;

/// Consecutive words of a mask that have the same bits.
struct MaskRun {
  int64_t first, end;
  int32_t bits;
};
/// Without words that are 0.
llvm::SmallVector<MaskRun> runsOf(llvm::ArrayRef<int32_t> words);

/// All cells of a leaf of so many.
MaskWords allCells(int64_t cells);

/// Where `isMissing` (i1) holds: `set` writes the bits, and the change is noted.
void setWhereMissing(ByteBuilder &bytes, mlir::Value isMissing, llvm::function_ref<void()> set);

/// Sets the bits of these words of the mask at a byte offset.
void setCells(ByteBuilder &bytes, mlir::Value mask, llvm::ArrayRef<int32_t> words, int64_t cells);

/// The words of one leaf's mask, in the slot that holds the leaf. Two of them are read at a time where they begin at multiples of
/// eight bytes; the memory that both sizes reach is the same to the machine's coherence.
class LeafMask {
public:
  /// `slot`: byte offset of the slot. `entry`: the bits as they were when the task began.
  LeafMask(ByteBuilder bytes, const layout::Node &node, unsigned width, mlir::Value slot,
           bool entry = false);

  /// The width of the words in a pool's slots.
  static unsigned widthOf(const layout::Node &node, const layout::Node &pool);

  /// i1: whether a bit is set.
  mlir::Value isAnySet();
  /// i1: whether the bits of all cells are set.
  mlir::Value isFull();
  /// Sets the bits that `wanted` gives for each word.
  void setBits(llvm::function_ref<mlir::Value(mlir::Value word)> wanted);

  mlir::Value read(mlir::Value word);
  /// All bits of a word of a leaf whose cells are all active.
  mlir::Value full(mlir::Value word);

private:
  int64_t words() const { return node.maskBytes() * 8 / width; }
  mlir::Value at(mlir::Value word);
  mlir::Value ones() { return bytes.integer(-1, width); }
  /// The words, joined from `first` on.
  mlir::Value joinWords(int64_t first,
                        llvm::function_ref<mlir::Value(mlir::Value joined, mlir::Value word)> join);

  ByteBuilder bytes;
  const layout::Node &node;
  unsigned width;    ///< bits of a word
  mlir::Value first; ///< byte offset of word 0
};

} // namespace metate

#endif
