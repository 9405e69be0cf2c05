//===- CallOps.cpp - functions that kernels call ----------------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that CallOps.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Derivative.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace metate;

#define GET_OP_CLASSES
#include "metate/Dialect/MetateCallOps.cpp.inc"

/// Does the function itself touch a tree or an array?
static bool touchesMemory(FunctionOp function) {
  auto touches = [](Operation *inner) {
    bool isLocal = llvm::none_of(inner->getOperands(), [](Value operand) {
      return isa<TreeType>(operand.getType()) ||
             (isa<MemRefType>(operand.getType()) && isa<BlockArgument>(operand));
    });
    return isLocal ? WalkResult::advance() : WalkResult::interrupt();
  };
  return function->walk(touches).wasInterrupted();
}

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

static SmallVector<Type> floatsOf(TypeRange types) {
  return llvm::to_vector(llvm::make_filter_range(
      types, [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }));
}

/// Is it what the function's derivative takes and gives, in the mode in which the kernel is differentiated?
static bool isDerivative(FunctionOp function, FunctionOp derivative, StringRef mode) {
  TypeRange parameters = function.getBody().front().getArgumentTypes();
  TypeRange results = function.getResultTypes();
  SmallVector<Type> takes(parameters), gives;
  if (mode == reverseMode) {
    llvm::append_range(takes, results);
    llvm::append_range(takes, floatsOf(results));
    gives = floatsOf(parameters);
  } else {
    llvm::append_range(takes, floatsOf(parameters));
    llvm::append_range(gives, results);
    llvm::append_range(gives, floatsOf(results));
  }
  return derivative.getBody().front().getArgumentTypes() == TypeRange(takes) &&
         derivative.getResultTypes() == TypeRange(gives);
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
  auto given = (*this)->getAttrOfType<StringAttr>(givenDerivative);
  if (!given)
    return success();
  FunctionOp derivative = derivativeOf(*this);
  auto mode = kernel->getAttrOfType<StringAttr>(mark::differentiate);
  FunctionOp again = calledAgain(*this);
  bool fits = again &&
              again.getBody().front().getArgumentTypes() == getBody().front().getArgumentTypes() &&
              again.getResultTypes() == getResultTypes();
  if (!fits || !derivative || derivative == *this ||
      (mode && !isDerivative(*this, derivative, mode)))
    return emitOpError("(X3) expected a function of the kernel that takes and gives what a "
                       "derivative does, got '")
           << given.getValue() << "'";
  if (touchesMemory(*this) || llvm::any_of(functionsCalledIn(*this), touchesMemory))
    return emitOpError("(X4) expected a function that touches no tree and no array, for it has a "
                       "derivative");
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

static FunctionOp functionNamed(KernelOp kernel, StringAttr name) {
  if (kernel && name)
    for (FunctionOp function : kernel.getBody().front().getOps<FunctionOp>())
      if (function.getNameAttr() == name)
        return function;
  return {};
}

FunctionOp metate::functionOf(CallOp call) {
  return functionNamed(call->getParentOfType<KernelOp>(), call.getCalleeAttr());
}

FunctionOp metate::derivativeOf(FunctionOp function) {
  return functionNamed(function->getParentOfType<KernelOp>(),
                       function->getAttrOfType<StringAttr>(givenDerivative));
}

FunctionOp metate::calledAgain(FunctionOp function) {
  auto name = function->getAttrOfType<StringAttr>(givenAgain);
  return name ? functionNamed(function->getParentOfType<KernelOp>(), name) : function;
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
  return isa<CallOp>(op) && llvm::any_of(functionsCalledIn(op), touchesMemory);
}

bool metate::mayCallItself(FunctionOp function) {
  return llvm::is_contained(functionsCalledIn(function), function);
}

std::string metate::callDepthMessage(StringRef function, int64_t bytes) {
  return ("'" + function + "' is called inside itself too often: its calls take more than the " +
          Twine(bytes) + " bytes of stack that debug mode allows; is there a call that ends it?")
      .str();
}
