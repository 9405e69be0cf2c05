//===- Dynamic.h - the dynamic level ----------------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_DYNAMIC_H
#define METATE_LEVEL_DYNAMIC_H

#include "metate/Level/Levels.h"

namespace metate {

/// A length and slots of `chunk` cells. Chunks below the length are linked; what lies from the length on holds
/// background, so that reads need no test.
class DynamicLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
  mlir::Value length(ByteBuilder &bytes, const layout::Node &node,
                     const CellQuery &query) const override;
  mlir::Value append(ByteBuilder &bytes, const layout::Node &node,
                     const CellQuery &query) const override;
};

} // namespace metate

#endif
