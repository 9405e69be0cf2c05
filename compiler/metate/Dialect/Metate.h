//===- Metate.h - the metate dialect ----------------------------*- C++ -*-===//
//
// Declarations of the dialect: attributes and types of trees, operations of kernels and tasks.
// Must not know layouts, passes or targets.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_METATE_H
#define METATE_DIALECT_METATE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "metate/Dialect/Marks.h"

#include "metate/Dialect/MetateDialect.h.inc"

#include "metate/Dialect/MetateEnums.h.inc"

#include "metate/Dialect/MetateAttrInterfaces.h.inc"

namespace metate {
/// The extent of an unbounded level along each of its axes: as many as there are 32-bit coordinates.
inline constexpr int64_t unboundedExtent = int64_t(1) << 32;
/// The extents of such a level.
llvm::ArrayRef<int64_t> unboundedExtents(unsigned axes);
} // namespace metate

#define GET_ATTRDEF_CLASSES
#include "metate/Dialect/MetateAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "metate/Dialect/MetateTypes.h.inc"

#include "metate/Dialect/MetateOpInterfaces.h.inc"

namespace metate {
/// Of operations that none is left of after the layout stage.
template <typename Op>
class LoweredByLayout : public mlir::OpTrait::TraitBase<Op, LoweredByLayout> {};

/// Of operations that may end the kernel.
template <typename Op> class MayStop : public mlir::OpTrait::TraitBase<Op, MayStop> {};
} // namespace metate

#define GET_OP_CLASSES
#include "metate/Dialect/MetateOps.h.inc"

namespace metate {

/// Registers the dialects that kernels may use: metate, arith, math, scf, vector, memref, func and
/// what the later stages add (cf, llvm). Nothing else, so that a context opens quickly.
void registerDialects(mlir::DialectRegistry &registry);

/// May it stand for an extent: a number, -1 for any, or a #metate.dim?
bool isExtent(mlir::Attribute extent);

/// The symbols that a host calls: entries of a module's interfaces, in their order.
llvm::SmallVector<llvm::StringRef> entryNames(mlir::ModuleOp module);

} // namespace metate

#endif
