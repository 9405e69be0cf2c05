//===- Pointer.h - the pointer level ----------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_POINTER_H
#define METATE_LEVEL_POINTER_H

#include "metate/Level/Levels.h"

namespace metate {

/// A u32 link per cell into a pool; abi/metate/abi/tree.h states the protocol of activation.
class PointerLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
};

} // namespace metate

#endif
