//===- Hash.h - the hash level ----------------------------------*- C++ -*-===//
#ifndef METATE_LEVEL_HASH_H
#define METATE_LEVEL_HASH_H

#include "metate/Level/Levels.h"

namespace metate {

/// Cells at any coordinates, found through the table of the pool; nothing is inline.
class HashLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
};

} // namespace metate

#endif
