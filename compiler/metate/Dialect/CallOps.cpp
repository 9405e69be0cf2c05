//===- CallOps.cpp - functions that kernels call ----------------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that CallOps.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace metate;

#define GET_OP_CLASSES
#include "metate/Dialect/MetateCallOps.cpp.inc"

//===-- the function --------------------------------------------------------===//

void FunctionOp::build(OpBuilder &builder, OperationState &state, StringRef name) {
  state.addAttribute(getNameAttrName(state.name), builder.getStringAttr(name));
  state.addRegion()->emplaceBlock();
}

ParseResult FunctionOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseAttribute(name, getNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return success();
}

void FunctionOp::print(OpAsmPrinter &printer) {
  printer << " " << getNameAttr() << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getNameAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

TypeRange FunctionOp::getResultTypes() {
  return getBody().front().getTerminator()->getOperandTypes();
}

static bool isPassed(Type type) { return isa<IntegerType, FloatType, IndexType, VectorType>(type); }

LogicalResult FunctionOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  for (FunctionOp other : kernel.getBody().front().getOps<FunctionOp>())
    if (other != *this && other.getName() == getName())
      return emitOpError("(X1) expected one function of each name, got two '") << getName() << "'";
  auto end = dyn_cast<GiveOp>(getBody().front().getTerminator());
  if (!end)
    return emitOpError("(X2) expected metate.give at the end");
  for (Type type :
       llvm::concat<const Type>(getBody().front().getArgumentTypes(), end.getOperandTypes()))
    if (!isPassed(type))
      return emitOpError("(X2) expected scalars and vectors as parameters and results, got ")
             << type;
  return success();
}

LogicalResult CallOp::verify() {
  FunctionOp function = functionOf(*this);
  if (!function)
    return emitOpError("(Y1) expected a function of the kernel, got '") << getCallee() << "'";
  if (getOperandTypes() != function.getBody().front().getArgumentTypes() ||
      getResultTypes() != function.getResultTypes())
    return emitOpError("(Y2) expected operands and results of the function's types");
  return success();
}

//===-- who calls whom ------------------------------------------------------===//

FunctionOp metate::functionOf(CallOp call) {
  auto kernel = call->getParentOfType<KernelOp>();
  if (kernel)
    for (FunctionOp function : kernel.getBody().front().getOps<FunctionOp>())
      if (function.getNameAttr() == call.getCalleeAttr())
        return function;
  return {};
}

SmallVector<FunctionOp> metate::functionsCalledIn(Operation *scope) {
  llvm::SetVector<FunctionOp> found;
  auto add = [&](Operation *from) {
    from->walk([&](CallOp call) {
      if (FunctionOp function = functionOf(call))
        found.insert(function);
    });
  };
  add(scope);
  for (size_t k = 0; k < found.size(); ++k)
    add(found[k]);
  return found.takeVector();
}

WalkResult metate::walkWithCalls(Operation *scope,
                                 llvm::function_ref<WalkResult(Operation *)> visit) {
  bool calls = false;
  WalkResult result = scope->walk([&](Operation *op) {
    calls |= isa<CallOp>(op);
    return visit(op);
  });
  if (!calls || result.wasInterrupted())
    return result;
  for (FunctionOp function : functionsCalledIn(scope))
    if (!scope->isAncestor(function) && function->walk(visit).wasInterrupted())
      return WalkResult::interrupt();
  return WalkResult::advance();
}

bool metate::callsIntoMemory(Operation *op) {
  auto touches = [](Operation *inner) {
    bool isLocal = llvm::none_of(inner->getOperands(), [](Value operand) {
      return isa<TreeType>(operand.getType()) ||
             (isa<MemRefType>(operand.getType()) && isa<BlockArgument>(operand));
    });
    return isLocal ? WalkResult::advance() : WalkResult::interrupt();
  };
  return isa<CallOp>(op) && llvm::any_of(functionsCalledIn(op), [&](FunctionOp function) {
           return function->walk(touches).wasInterrupted();
         });
}

bool metate::mayCallItself(FunctionOp function) {
  return llvm::is_contained(functionsCalledIn(function), function);
}

std::string metate::callDepthMessage(StringRef function, int64_t bytes) {
  return ("'" + function + "' is called inside itself too often: its calls take more than the " +
          Twine(bytes) + " bytes of stack that debug mode allows; is there a call that ends it?")
      .str();
}
