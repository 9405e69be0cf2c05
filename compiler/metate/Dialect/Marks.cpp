//===- Marks.cpp - discardable attributes of the dialect --------*- C++ -*-===//
//
// What the verifier asks of each attribute `metate.*`: (M1) it is listed; (M2) it stands where its row says; (M3) it has
// the type that its row says. Operations of LLVM may have any: one operation becomes one, with its attributes.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Marks.h"
#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

/// Without a list: any operation.
template <typename... Ops> static bool isOneOf(Operation *op) {
  if constexpr (sizeof...(Ops) == 0)
    return true;
  else
    return isa<Ops...>(op) || isa<LLVM::LLVMDialect>(op->getDialect());
}

template <typename Type> static bool hasType(Attribute attribute) { return isa<Type>(attribute); }

ArrayRef<Mark> metate::allMarks() {
#define METATE_UNPACK(...) __VA_ARGS__
#define METATE_ARGUMENT_MARK(name, spelling, type, first, last)                                    \
  {spelling, true, #type, hasType<type>, nullptr, "a kernel's arguments", first, last},
#define METATE_MARK(name, spelling, type, operations, first, last)                                 \
  {spelling,    false, #type, hasType<type>, isOneOf<METATE_UNPACK operations>,                    \
   #operations, first, last},
  static constexpr Mark marks[] = {
#include "metate/Dialect/Marks.def"
  };
#undef METATE_UNPACK
  return marks;
}

const Mark *metate::findMark(StringRef name) {
  const Mark *found =
      llvm::find_if(allMarks(), [&](const Mark &mark) { return mark.name == name; });
  return found == allMarks().end() ? nullptr : found;
}

/// (M1) and (M3).
static FailureOr<const Mark *> verifyMark(Operation *op, NamedAttribute attribute) {
  const Mark *mark = findMark(attribute.getName());
  if (!mark)
    return op->emitError() << "(M1) '" << attribute.getName().getValue()
                           << "' is no attribute of the dialect: see Dialect/Marks.def";
  if (!mark->hasType(attribute.getValue()))
    return op->emitError() << "(M3) expected '" << mark->name << "' to be a " << mark->type
                           << ", got " << attribute.getValue();
  return mark;
}

LogicalResult MetateDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  FailureOr<const Mark *> mark = verifyMark(op, attribute);
  if (failed(mark))
    return failure();
  if ((*mark)->isArgument || !(*mark)->mayBeOn(op))
    return op->emitError() << "(M2) expected '" << (*mark)->name << "' on " << (*mark)->operations
                           << ", got it on '" << op->getName() << "'";
  return success();
}

LogicalResult MetateDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned number,
                                                      NamedAttribute attribute) {
  FailureOr<const Mark *> mark = verifyMark(op, attribute);
  if (failed(mark))
    return failure();
  if (!(*mark)->isArgument || !isa<KernelOp>(op))
    return op->emitError() << "(M2) expected '" << (*mark)->name << "' on " << (*mark)->operations
                           << ", got it on argument " << number << " of '" << op->getName() << "'";
  return success();
}
