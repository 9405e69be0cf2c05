//===- Dense.cpp - the dense level ------------------------------*- C++ -*-===//
#include "metate/Level/Dense.h"

using namespace mlir;
using namespace metate;

Cell DenseLowering::locate(ByteBuilder &bytes, const layout::Node &node, Value container,
                           Value linear, Value, bool) const {
  return {bytes.add(container, bytes.multiply(linear, node.cellBytes)), Value(), false};
}

Cell DenseLowering::activate(ByteBuilder &bytes, const layout::Node &node, Value container,
                             Value linear, ValueRange) const {
  return locate(bytes, node, container, linear, Value(), true);
}
