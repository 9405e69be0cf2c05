//===- Marks.h - discardable attributes of the dialect ----------*- C++ -*-===//
//
// Names of the attributes that Marks.def lists, as constants, and the record of each. They are spelled nowhere else.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_MARKS_H
#define METATE_DIALECT_MARKS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

namespace metate {

/// What may be said of one attribute.
struct Mark {
  llvm::StringLiteral name;
  bool isArgument; ///< of a kernel's arguments, else of operations
  llvm::StringLiteral type;
  bool (*hasType)(mlir::Attribute);
  bool (*mayBeOn)(mlir::Operation *);
  llvm::StringLiteral operations;  ///< as text
  llvm::StringLiteral first, last; ///< stages
};

/// All of them, in the order of Marks.def.
llvm::ArrayRef<Mark> allMarks();
/// The record of a name, or null.
const Mark *findMark(llvm::StringRef name);

namespace mark {
#define METATE_ARGUMENT_MARK(name, spelling, type, first, last)                                    \
  inline constexpr llvm::StringLiteral name = spelling;
#define METATE_MARK(name, spelling, type, operations, first, last)                                 \
  inline constexpr llvm::StringLiteral name = spelling;
#include "metate/Dialect/Marks.def"
} // namespace mark

/// Hangs a mark without a value on an operation.
inline void setMark(mlir::Operation *op, llvm::StringLiteral mark) {
  op->setAttr(mark, mlir::UnitAttr::get(op->getContext()));
}

} // namespace metate

#endif
