//===- Bitmasked.h - the bitmasked level ------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_BITMASKED_H
#define METATE_LEVEL_BITMASKED_H

#include "metate/Level/Levels.h"

namespace metate {

/// All cells inline, with a bit each. An inactive cell holds background, so that reads need no test.
class BitmaskedLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
  mlir::Value bitsFrom(ByteBuilder &bytes, const layout::Node &node,
                       const CellQuery &query) const override;
};

} // namespace metate

#endif
