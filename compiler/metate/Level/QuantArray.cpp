//===- QuantArray.cpp - the quant_array level -------------------*- C++ -*-===//
#include "metate/Level/Levels.h"

using namespace mlir;
using namespace metate;

namespace {
/// All elements inline and always active, several in a word: the offset is that of the word.
class QuantArrayLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
};
} // namespace

Cell QuantArrayLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                                const CellQuery &query) const {
  Value word = bytes.divide(query.linear, int64_t(node.slotCells));
  return {bytes.add(query.container, bytes.multiply(word, int64_t(node.cellBytes))), Value(),
          false};
}

Cell QuantArrayLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                                  const CellQuery &query) const {
  return locate(bytes, node, query);
}

const LevelLowering &metate::getQuantArrayLowering() {
  static const QuantArrayLowering lowering;
  return lowering;
}
