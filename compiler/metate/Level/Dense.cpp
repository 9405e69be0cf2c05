//===- Dense.cpp - the dense level ------------------------------*- C++ -*-===//
#include "metate/Level/Levels.h"

using namespace mlir;
using namespace metate;

namespace {
/// All cells inline and always active.
class DenseLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
};
} // namespace

Cell DenseLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                           const CellQuery &query) const {
  return {bytes.add(query.container, bytes.multiply(query.linear, node.cellBytes)), Value(), false};
}

Cell DenseLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const {
  return locate(bytes, node, query);
}

const LevelLowering &metate::getDenseLowering() {
  static const DenseLowering lowering;
  return lowering;
}
