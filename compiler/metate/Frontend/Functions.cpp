//===- Functions.cpp - elementwise functions --------------------*- C++ -*-===//
//
// Functions of one operand. Transcendental ones take integers as default_fp;
// abs and sign keep the type; floor, ceil, round (half away from zero) and trunc
// give floats and leave integers as they are.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

using FloatFunction = Value (*)(OpBuilder &, Location, Value, arith::FastMathFlags);

template <typename Op>
static Value make(OpBuilder &builder, Location loc, Value value, arith::FastMathFlags flags) {
  return builder.createOrFold<Op>(loc, value, flags);
}

template <ElementaryFunction function>
static Value make(OpBuilder &builder, Location loc, Value value, arith::FastMathFlags) {
  return ElementaryOp::create(builder, loc, function, ValueRange(value));
}

namespace {
struct FunctionEntry {
  const char *name;
  FloatFunction make;
  bool keepsIntegers; // an integer operand is its own result
};
} // namespace

static const FunctionEntry functions[] = {
    {"sqrt", make<math::SqrtOp>, false},
    {"sin", make<ElementaryFunction::Sin>, false},
    {"cos", make<ElementaryFunction::Cos>, false},
    {"tan", make<ElementaryFunction::Tan>, false},
    {"asin", make<ElementaryFunction::Asin>, false},
    {"acos", make<ElementaryFunction::Acos>, false},
    {"atan", make<ElementaryFunction::Atan>, false},
    {"sinh", make<ElementaryFunction::Sinh>, false},
    {"cosh", make<ElementaryFunction::Cosh>, false},
    {"tanh", make<ElementaryFunction::Tanh>, false},
    {"exp", make<ElementaryFunction::Exp>, false},
    {"exp2", make<ElementaryFunction::Exp2>, false},
    {"log", make<ElementaryFunction::Log>, false},
    {"log2", make<ElementaryFunction::Log2>, false},
    {"log10", make<ElementaryFunction::Log10>, false},
    {"floor", make<math::FloorOp>, true},
    {"ceil", make<math::CeilOp>, true},
    {"round", make<math::RoundOp>, true},
    {"trunc", make<math::TruncOp>, true},
    {"abs", make<math::AbsFOp>, true},
};

std::vector<std::string> KernelBuilder::functionNames() {
  std::vector<std::string> names = {"isnan", "isinf", "sign", "fract", "rsqrt", "popcnt", "clz"};
  for (const FunctionEntry &entry : functions)
    names.push_back(entry.name);
  return names;
}

KernelValue KernelBuilder::function(StringRef name, const KernelValue &value) {
  if (!value)
    return {};
  const DataType &type = value.type;
  if (name == "popcnt" || name == "clz") {
    if (!type.isInteger()) {
      fail(name + ": expected an integer, got " + type.name());
      return {};
    }
    Value bits = name == "popcnt"
                     ? builder.createOrFold<math::CtPopOp>(loc(), value.ir)
                     : builder.createOrFold<math::CountLeadingZerosOp>(loc(), value.ir);
    return cast({bits, type}, METATE_I32);
  }
  if (name == "sign") { // -1, 0 or 1, of the operand's type
    KernelValue zero = {constant(type, int64_t(0)), type};
    KernelValue positive = cast(compare(">", value, zero), type.scalar);
    return binary("-", positive, cast(compare("<", value, zero), type.scalar));
  }
  if (!type.isFloat()) {
    if (name == "abs" && type.isSigned())
      return {builder.createOrFold<math::AbsIOp>(loc(), value.ir), type};
    const FunctionEntry *entry =
        llvm::find_if(functions, [&](const FunctionEntry &e) { return name == e.name; });
    if (entry != std::end(functions) && entry->keepsIntegers)
      return value;
    return function(name, cast(value, settings.defaultFloat));
  }
  if (name == "isnan" || name == "isinf") {
    DataType result = type.withScalar(METATE_U1);
    if (name == "isnan")
      return {
          builder.createOrFold<arith::CmpFOp>(loc(), arith::CmpFPredicate::UNO, value.ir, value.ir),
          result};
    Value infinity = constant(type, std::numeric_limits<double>::infinity());
    Value magnitude = make<math::AbsFOp>(builder, loc(), value.ir, fast());
    return {
        builder.createOrFold<arith::CmpFOp>(loc(), arith::CmpFPredicate::OEQ, magnitude, infinity),
        result};
  }
  if (name == "rsqrt") // by definition
    return divide({constant(type, 1.0), type}, function("sqrt", value));
  if (name == "fract")
    return arithmetic("-", value, function("floor", value));
  for (const FunctionEntry &entry : functions)
    if (name == entry.name)
      return {entry.make(builder, loc(), value.ir, fast()), type};
  fail("no function '" + name + "'");
  return {};
}
