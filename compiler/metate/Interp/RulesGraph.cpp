//===- RulesGraph.cpp - kernels that run kernels ----------------*- C++ -*-===//
#include "metate/Dialect/Graph.h"
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// What is noticed in the kernel is the kernel's.
static void run(Machine &machine, RunOp op) {
  KernelOp kernel = kernelOf(op);
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    auto name = kernel.getArgAttrOfType<StringAttr>(number, mark::name);
    machine.pass(operand, kernel.getBody().getArgument(number), name ? name.getValue() : "");
  }
  KernelOp graph = std::exchange(machine.kernel, kernel);
  machine.run(kernel.getBody().front());
  machine.kernel = graph;
}

/// An array of one element without its dimension: what is in it then is nobody else's to see.
static void collapse(Machine &machine, memref::CollapseShapeOp op) {
  machine.pass(op.getSrc(), op.getResult(), "the returned value");
}

/// What is in it has no meaning until it is written: all bits are ones, which makes floats that are no numbers.
static void intermediate(Machine &machine, IntermediateOp op) {
  SmallVector<int64_t> shape(cast<MemRefType>(op.getArray().getType()).getShape());
  unsigned dim = 0;
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = int64_t(machine.integer(op.getExtents()[dim++]));
  Type element = cast<MemRefType>(op.getArray().getType()).getElementType();
  Array &array = machine.makeRoom(op.getName(), shape, element);
  array.componentRank = unsigned(shape.size() - op.getShape().size());
  machine.bind(op, &array);
}

void interp::addGraphRules(RuleTable &table) {
  addRule<IntermediateOp, intermediate>(table);
  addRule<RunOp, run>(table);
  addRule<memref::CollapseShapeOp, collapse>(table);
}
