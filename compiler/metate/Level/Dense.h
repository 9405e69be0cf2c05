//===- Dense.h - the dense level --------------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_DENSE_H
#define METATE_LEVEL_DENSE_H

#include "metate/Level/Levels.h"

namespace metate {

/// All cells inline and always active.
class DenseLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
};

} // namespace metate

#endif
