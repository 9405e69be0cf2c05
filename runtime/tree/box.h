// The cells of a member that one owner holds (a pool's slot, the root cell), or that one cell of a level between them
// does, are a box with strides, in the block as in an array of the host. Boxes are copied, not cells. Of a quantised member a cell
// of the box is a word or, of a quant_array, all of its words.
// Which cells are active, and how the work is shared out, is not known here.
#ifndef METATE_RUNTIME_TREE_BOX_H
#define METATE_RUNTIME_TREE_BOX_H

#include "tree/walk.h"

namespace metate {

enum class Direction { ToArray, ToCells };

// One dimension of a box: how many cells, and how many bytes from one to the next.
struct Dimension {
  uint64_t extent;
  uint64_t inCells;
  uint64_t inArray;
};

// The elements of a quant_array, in its words one after the other: `inCells` counts elements.
struct Elements {
  uint64_t count = 1;
  uint32_t rank = 0;
  Dimension dimensions[METATE_MAX_AXES];
};

// Outermost dimension first; neighbours are merged where both sides go on without a gap. Array strides of 0 stand for one
// value for all cells.
struct Box {
  uint64_t cellBytes = 0; // of a value
  uint64_t offset = 0;    // of the first cell in what holds the box
  uint32_t rank = 0;
  bool transposed = false; // the array goes on along the last dimension but one
  bool around = false;     // long rows are written around the caches: nobody reads them soon
  Dimension dimensions[maxDepth * METATE_MAX_AXES];
  Packing packing; // of a quantised member
  Elements elements;

  // The same but for where it begins. Boxes of quantised members are like no other.
  bool isLike(const Box &other) const;
};

// The cells below the first `step` levels of a nest. stride: array bytes per element along each axis.
Box boxBelow(const metate_type &type, const Nest &nest, uint32_t step, const uint64_t *stride);

// weight[axis]: elements along the axis in one cell of what the steps from `step` on divide.
void weightsBelow(const metate_type &type, const Nest &nest, uint32_t step, uint64_t *weight);

// All cells of the box. `cells` and `array` are at the first one.
template <Direction direction> void copyBox(const Box &box, uint8_t *cells, uint8_t *array);

// A run of boxes: cells of a level, one after the other.
template <Direction direction>
void copyRun(const Box &box, const Dimension &run, uint8_t *cells, uint8_t *array);

// A box in pieces of some KiB: the cells whose coordinates along the first dimensions, counted row by row, are in a range.
struct Pieces {
  uint32_t dimensions = 0; // that are counted
  uint64_t count = 1;
  uint64_t bytes = 0;    // of one piece, in the array
  uint64_t elements = 0; // of a quant_array that is in several pieces: in each, whole words
  uint64_t parts = 1;    // its pieces
};
Pieces piecesOf(const Box &box);
template <Direction direction>
void copyPieces(const Box &box, const Pieces &pieces, uint64_t begin, uint64_t end, uint8_t *cells,
                uint8_t *array);

// Of quantised members: a row of the box's cells, and pieces that are parts of quant_arrays.
template <Direction direction>
void copyPacked(const Box &box, const Dimension &row, uint8_t *cells, uint8_t *array);
template <Direction direction>
void copyParts(const Box &box, const Pieces &pieces, uint64_t begin, uint64_t end, uint8_t *cells,
               uint8_t *array);

} // namespace metate

#endif
