// Boxes of quantised members: rows of words, and the elements of quant_arrays.
#include "tree/box.h"

namespace metate {

template <Direction direction>
static void convert(const Packing &packing, Words words, uint64_t count, uint8_t *array,
                    uint64_t step) {
  if constexpr (direction == Direction::ToArray)
    packing.read(words, count, array, step);
  else
    packing.write(words, count, array, step);
}

template <Direction direction>
void copyElements(const Box &box, uint64_t begin, uint64_t end, uint8_t *container,
                  uint8_t *array) {
  const Elements &elements = box.elements;
  Dimension row = elements.rank ? elements.dimensions[elements.rank - 1] : Dimension{1, 1, 0};
  while (begin < end) {
    uint64_t rest = begin, inArray = 0, left = row.extent - begin % row.extent;
    for (uint32_t k = elements.rank; k-- > 0; rest /= elements.dimensions[k].extent)
      inArray += rest % elements.dimensions[k].extent * elements.dimensions[k].inArray;
    uint64_t count = left < end - begin ? left : end - begin;
    convert<direction>(box.packing, {container, 0, begin}, count, array + inArray, row.inArray);
    begin += count;
  }
}

template <Direction direction>
void copyPacked(const Box &box, const Dimension &row, uint8_t *cells, uint8_t *array) {
  if (!box.packing.isArray())
    return convert<direction>(box.packing, {cells, row.inCells}, row.extent, array, row.inArray);
  for (uint64_t i = 0; i < row.extent; ++i)
    copyElements<direction>(box, 0, box.elements.count, cells + i * row.inCells,
                            array + i * row.inArray);
}

template <Direction direction>
void copyParts(const Box &box, const Pieces &pieces, uint64_t begin, uint64_t end, uint8_t *cells,
               uint8_t *array) {
  for (; begin < end; ++begin) {
    uint64_t rest = begin / pieces.parts, first = begin % pieces.parts * pieces.elements;
    uint64_t left = box.elements.count - first, inCells = 0, inArray = 0;
    for (uint32_t k = pieces.dimensions; k-- > 0; rest /= box.dimensions[k].extent) {
      inCells += rest % box.dimensions[k].extent * box.dimensions[k].inCells;
      inArray += rest % box.dimensions[k].extent * box.dimensions[k].inArray;
    }
    copyElements<direction>(box, first, first + (left < pieces.elements ? left : pieces.elements),
                            cells + inCells, array + inArray);
  }
}

template void copyPacked<Direction::ToArray>(const Box &, const Dimension &, uint8_t *, uint8_t *);
template void copyPacked<Direction::ToCells>(const Box &, const Dimension &, uint8_t *, uint8_t *);
template void copyParts<Direction::ToArray>(const Box &, const Pieces &, uint64_t, uint64_t,
                                            uint8_t *, uint8_t *);
template void copyParts<Direction::ToCells>(const Box &, const Pieces &, uint64_t, uint64_t,
                                            uint8_t *, uint8_t *);

} // namespace metate
