//===- Metate.td - the metate dialect ---------------------------*- tablegen -*-===//
//
// The only place where the meaning of Metate's own operations is written. Arithmetic, control,
// calls and arrays are upstream's (arith, math, scf, func, memref, vector); what stands here is
// what upstream cannot say: trees, their cells, kernels and tasks.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_METATE
#define METATE_DIALECT_METATE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Dialect/Arith/IR/ArithBase.td"

def Metate_Dialect : Dialect {
  let name = "metate";
  let cppNamespace = "::metate";
  let summary = "data-parallel kernels over trees of dense and sparse levels";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasOperationAttrVerify = 1; // Marks.cpp
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = "void registerAttributesAndTypes();";
}

include "Interfaces.td"
include "Enums.td"
include "QuantTypes.td"
include "Attrs.td"
include "Ops.td"
include "TaskOps.td"

#endif
