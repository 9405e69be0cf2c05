//===- Dense.cpp - the dense level ------------------------------*- C++ -*-===//
#include "metate/Level/Dense.h"

using namespace mlir;
using namespace metate;

Cell DenseLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                           const CellQuery &query) const {
  return {bytes.add(query.container, bytes.multiply(query.linear, node.cellBytes)), Value(), false};
}

Cell DenseLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const {
  return locate(bytes, node, query);
}
