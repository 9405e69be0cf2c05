//===- Pointer.h - the pointer level ----------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_POINTER_H
#define METATE_LEVEL_POINTER_H

#include "metate/Level/Levels.h"

namespace metate {

/// A u32 link per cell into a pool; abi/metate/abi/tree.h states the protocol of activation.
class PointerLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, mlir::Value container,
              mlir::Value linear, mlir::Value inside, bool concurrent) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node, mlir::Value container,
                mlir::Value linear, mlir::ValueRange coordinates) const override;
};

/// Fills the body of a claim function (see ByteBuilder::claimFunction) for one level with a pool.
void buildClaim(mlir::func::FuncOp function, const layout::TreeLayout &layout, unsigned node,
                bool strict);

} // namespace metate

#endif
