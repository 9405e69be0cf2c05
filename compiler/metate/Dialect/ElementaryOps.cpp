//===- ElementaryOps.cpp - sin, exp, pow and their kin ----------*- C++ -*-===//
#include "metate/Dialect/Elementary.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace metate;

#include "metate/Dialect/MetateElementaryEnums.cpp.inc"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateElementaryOps.cpp.inc"

#define METATE_ELEMENTARY(Name, name, operands)                                                    \
  static_assert(int(ElementaryFunction::Name) == int(elementary::Function::Name));
#include "metate/Elementary/Functions.def"

unsigned metate::operandsOf(ElementaryFunction function) {
  static constexpr unsigned counts[] = {
#define METATE_ELEMENTARY(Name, name, operands) operands,
#include "metate/Elementary/Functions.def"
  };
  return counts[unsigned(function)];
}

APFloat metate::evaluate(ElementaryFunction function, ArrayRef<APFloat> operands) {
  auto which = elementary::Function(function);
  const llvm::fltSemantics &format = operands[0].getSemantics();
  const APFloat &x = operands.front(), &y = operands.back();
  if (&format == &APFloat::IEEEdouble())
    return APFloat(elementary::evaluate(which, x.convertToDouble(), y.convertToDouble()));
  auto asFloat = [](APFloat value) {
    bool inexact;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToFloat();
  };
  APFloat result(elementary::evaluate(which, asFloat(x), asFloat(y)));
  bool inexact;
  result.convert(format, APFloat::rmNearestTiesToEven, &inexact);
  return result;
}

void ElementaryOp::build(OpBuilder &builder, OperationState &state, ElementaryFunction function,
                         ValueRange operands) {
  build(builder, state, operands.front().getType(), function, operands);
}

/// (E1)
LogicalResult ElementaryOp::verify() {
  unsigned expected = operandsOf(getFunction());
  if (getNumOperands() == expected)
    return success();
  return emitOpError() << "(E1): " << stringifyElementaryFunction(getFunction()) << " takes "
                       << expected << " operands, got " << getNumOperands();
}

/// Of constants: a constant.
LogicalResult ElementaryOp::canonicalize(ElementaryOp op, PatternRewriter &rewriter) {
  SmallVector<DenseFPElementsAttr> vectors;
  SmallVector<APFloat> numbers;
  for (Value operand : op.getOperands()) {
    Attribute constant;
    if (!matchPattern(operand, m_Constant(&constant)))
      return failure();
    if (auto vector = dyn_cast<DenseFPElementsAttr>(constant))
      vectors.push_back(vector);
    else if (auto number = dyn_cast<FloatAttr>(constant))
      numbers.push_back(number.getValue());
  }
  auto operands = op.getNumOperands();
  TypedAttr result;
  if (numbers.size() == operands) {
    result = rewriter.getFloatAttr(op.getType(), evaluate(op.getFunction(), numbers));
  } else if (vectors.size() == operands) {
    auto type = cast<ShapedType>(op.getType());
    SmallVector<APFloat> results;
    for (int64_t k = 0; k < type.getNumElements(); ++k) {
      numbers.clear();
      for (DenseFPElementsAttr vector : vectors)
        numbers.push_back(vector.getValues<APFloat>()[k]);
      results.push_back(evaluate(op.getFunction(), numbers));
    }
    result = DenseElementsAttr::get(type, results);
  } else {
    return failure();
  }
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, result);
  return success();
}
