//===- TaskOps.cpp - tasks: syntax and verifiers ----------------*- C++ -*-===//
#include "metate/Dialect/Metate.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace metate;

ParseResult SerialOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<Type> types;
  if (parser.parseOptionalArrowTypeList(types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(*result.addRegion()))
    return failure();
  result.addTypes(types);
  return success();
}

void SerialOp::print(OpAsmPrinter &printer) {
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult SerialOp::verify() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError("expected the yielded types to be the result types");
  return success();
}
