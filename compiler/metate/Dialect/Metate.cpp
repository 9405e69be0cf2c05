//===- Metate.cpp - the dialect's registration ------------------*- C++ -*-===//
//
// Ties attributes, types and operations to the dialect. Semantics live in the other files here.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Quant.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace metate;

#include "metate/Dialect/MetateDialect.cpp.inc"

void MetateDialect::initialize() {
  registerAttributesAndTypes();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateGraphOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateCallOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateElementaryOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateDerivativeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "metate/Dialect/MetateQuantOps.cpp.inc"
      >();
}

void metate::registerDialects(DialectRegistry &registry) {
  registry.insert<MetateDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  vector::VectorDialect, memref::MemRefDialect, func::FuncDialect,
                  cf::ControlFlowDialect, ub::UBDialect, LLVM::LLVMDialect>();
}

llvm::SmallVector<llvm::StringRef> metate::entryNames(ModuleOp module) {
  llvm::SmallVector<llvm::StringRef> names;
  for (InterfaceOp op : module.getOps<InterfaceOp>())
    names.push_back(op.getEntry());
  return names;
}
