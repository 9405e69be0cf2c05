//===- ExpandElementary.cpp - sin, exp, pow as arithmetic -------*- C++ -*-===//
//
// The templates of Elementary/ over operations of the IR: what they make for numbers of C++ in the interpreter they make here
// of scalars and vectors of any shape. No operation may be contracted or reordered, so all give the same bits. The functions
// have no branches, so LLVM's vectoriser takes loops over them.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Elementary/Expansions.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace metate {
#define GEN_PASS_DEF_EXPANDELEMENTARY
#include "metate/Target/Common/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Where an expansion goes, and the constants that it has already.
struct Place {
  explicit Place(ImplicitLocOpBuilder builder) : builder(std::move(builder)) {}
  ImplicitLocOpBuilder builder;
  Value digits; // address of the digits of 2 / pi
  llvm::DenseMap<Attribute, Value> constants;

  template <typename Op, typename... Args> Value make(Args &&...args) {
    return builder.createOrFold<Op>(std::forward<Args>(args)...);
  }
  Value constant(TypedAttr attr) {
    Value &value = constants[attr];
    if (!value)
      value = arith::ConstantOp::create(builder, attr);
    return value;
  }
  /// The type with another element type.
  static Type like(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type type, Attribute element) {
    if (auto vector = dyn_cast<VectorType>(type))
      return constant(DenseElementsAttr::get(vector, element));
    return constant(cast<TypedAttr>(element));
  }
};

struct Number {
  Place *place;
  Value value;
  template <typename Op> static Value combine(const Number &x, const Number &y) {
    return x.place->make<Op>(x.value, y.value);
  }
};

struct Float : Number {
  friend Float operator+(Float x, Float y) { return {x.place, combine<arith::AddFOp>(x, y)}; }
  friend Float operator-(Float x, Float y) { return {x.place, combine<arith::SubFOp>(x, y)}; }
  friend Float operator*(Float x, Float y) { return {x.place, combine<arith::MulFOp>(x, y)}; }
  friend Float operator/(Float x, Float y) { return {x.place, combine<arith::DivFOp>(x, y)}; }
  friend Float operator-(Float x) { return {x.place, x.place->make<arith::NegFOp>(x.value)}; }
};

struct Word : Number {
  friend Word operator+(Word x, Word y) { return {x.place, combine<arith::AddIOp>(x, y)}; }
  friend Word operator-(Word x, Word y) { return {x.place, combine<arith::SubIOp>(x, y)}; }
  friend Word operator*(Word x, Word y) { return {x.place, combine<arith::MulIOp>(x, y)}; }
  friend Word operator&(Word x, Word y) { return {x.place, combine<arith::AndIOp>(x, y)}; }
  friend Word operator|(Word x, Word y) { return {x.place, combine<arith::OrIOp>(x, y)}; }
  friend Word operator^(Word x, Word y) { return {x.place, combine<arith::XOrIOp>(x, y)}; }
};

/// An arithmetic as Elementary/Native.h has it.
template <bool isWide> class Operations {
public:
  using Float = ::Float;
  using Word = ::Word;
  using Bool = Number;
  static constexpr bool isDouble = isWide;

  /// `shape`: any type of the shape that is computed.
  Operations(Place &place, Type shape)
      : place(place), floats(Place::like(shape, isWide ? Type(place.builder.getF64Type())
                                                       : place.builder.getF32Type())),
        words(Place::like(shape, place.builder.getIntegerType(isWide ? 64 : 32))) {}

  static const elementary::Constants &k() {
    return isWide ? elementary::doubleConstants : elementary::floatConstants;
  }
  Float c(double value) const {
    return {&place, place.constant(floats, FloatAttr::get(getElementTypeOrSelf(floats), value))};
  }
  Word w(uint64_t value) const {
    Type element = getElementTypeOrSelf(words);
    APInt bits(64, value);
    return {&place,
            place.constant(words, IntegerAttr::get(element, isWide ? bits : bits.trunc(32)))};
  }

  Word bits(Float x) const { return {&place, place.make<arith::BitcastOp>(words, x.value)}; }
  Float value(Word x) const { return {&place, place.make<arith::BitcastOp>(floats, x.value)}; }
  Word shl(Word x, Word by) const { return {&place, Number::combine<arith::ShLIOp>(x, by)}; }
  Word shr(Word x, Word by) const { return {&place, Number::combine<arith::ShRUIOp>(x, by)}; }
  Float sqrt(Float x) const { return {&place, place.make<math::SqrtOp>(x.value)}; }

  Bool lt(Float x, Float y) const { return compare(arith::CmpFPredicate::OLT, x, y); }
  Bool le(Float x, Float y) const { return compare(arith::CmpFPredicate::OLE, x, y); }
  Bool eq(Float x, Float y) const { return compare(arith::CmpFPredicate::OEQ, x, y); }
  Bool same(Word x, Word y) const { return compare(arith::CmpIPredicate::eq, x, y); }
  Bool below(Word x, Word y) const { return compare(arith::CmpIPredicate::ult, x, y); }
  Bool both(Bool x, Bool y) const { return {&place, Number::combine<arith::AndIOp>(x, y)}; }
  Bool either(Bool x, Bool y) const { return {&place, Number::combine<arith::OrIOp>(x, y)}; }
  template <typename T> T select(Bool condition, T x, T y) const {
    return {&place, place.make<arith::SelectOp>(condition.value, x.value, y.value)};
  }

  Operations<true> wide() const { return {place, floats}; }
  Float widen(Float x) const {
    return {&place, place.make<arith::ExtFOp>(wideType(true), x.value)};
  }
  Float narrow(Float x) const { return {&place, place.make<arith::TruncFOp>(floats, x.value)}; }
  Word extend(Word x) const {
    return {&place, place.make<arith::ExtUIOp>(wideType(false), x.value)};
  }
  Word truncate(Word x) const { return {&place, place.make<arith::TruncIOp>(words, x.value)}; }

  Word digits(Word offset) const {
    auto vector = dyn_cast<VectorType>(words);
    if (!vector)
      return {&place, digitsAt(offset.value)};
    auto offsets = vector::ToElementsOp::create(place.builder, offset.value);
    SmallVector<Value> read;
    for (Value element : offsets.getResults())
      read.push_back(digitsAt(element));
    return {&place, place.make<vector::FromElementsOp>(cast<VectorType>(wideType(false)), read)};
  }

private:
  template <typename Predicate> Bool compare(Predicate predicate, Number x, Number y) const {
    using Op = std::conditional_t<std::is_same_v<Predicate, arith::CmpFPredicate>, arith::CmpFOp,
                                  arith::CmpIOp>;
    return {&place, place.make<Op>(predicate, x.value, y.value)};
  }
  Type wideType(bool ofFloats) const {
    Type element = ofFloats ? Type(place.builder.getF64Type()) : place.builder.getI64Type();
    return Place::like(floats, element);
  }
  Value digitsAt(Value offset) const {
    ImplicitLocOpBuilder &builder = place.builder;
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value at = LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), place.digits,
                                   ArrayRef<LLVM::GEPArg>{offset});
    return LLVM::LoadOp::create(builder, builder.getI64Type(), at, /*alignment=*/1,
                                /*isVolatile=*/false, /*isNonTemporal=*/false,
                                /*isInvariant=*/true);
  }

  Place &place;
  Type floats, words;
};

class ExpandElementary : public metate::impl::ExpandElementaryBase<ExpandElementary> {
  void runOnOperation() override {
    SmallVector<ElementaryOp> work;
    getOperation().walk([&](ElementaryOp op) { work.push_back(op); });
    for (ElementaryOp op : work)
      expand(op);
    global = {};
  }

  void expand(ElementaryOp op) {
    Place place(ImplicitLocOpBuilder(op.getLoc(), op));
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    bool isWide = element.isF64(), isNarrow = !isWide && !element.isF32();
    if (isWide && isAngular(op.getFunction()))
      place.digits = addressOfDigits(place.builder);
    SmallVector<Value> operands = llvm::to_vector(op.getOperands());
    Type single = Place::like(type, place.builder.getF32Type());
    if (isNarrow)
      for (Value &operand : operands)
        operand = place.make<arith::ExtFOp>(single, operand);
    if (isMutant(Mutant::OperandsExchanged))
      std::swap(operands.front(), operands.back());
    Value result = isWide ? compute(op, place, operands, Operations<true>(place, type))
                          : compute(op, place, operands, Operations<false>(place, type));
    if (isNarrow)
      result = place.make<arith::TruncFOp>(type, result);
    op.replaceAllUsesWith(result);
    op.erase();
  }

  template <typename A>
  static Value compute(ElementaryOp op, Place &place, ArrayRef<Value> operands,
                       const A &arithmetic) {
    return elementary::expand(arithmetic, elementary::Function(op.getFunction()),
                              Float{{&place, operands.front()}}, Float{{&place, operands.back()}})
        .value;
  }

  /// Does the function read digits of 2 / pi?
  static bool isAngular(ElementaryFunction function) {
    return function == ElementaryFunction::Sin || function == ElementaryFunction::Cos ||
           function == ElementaryFunction::Tan;
  }

  Value addressOfDigits(ImplicitLocOpBuilder &builder) {
    if (!global) {
      ImplicitLocOpBuilder outside(getOperation().getLoc(), getOperation().getBody(),
                                   getOperation().getBody()->begin());
      ArrayRef bytes(elementary::doubles::digits);
      auto type = RankedTensorType::get({int64_t(bytes.size())}, builder.getI8Type());
      global = LLVM::GlobalOp::create(
          outside, LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()), /*isConstant=*/true,
          LLVM::Linkage::Internal, "metate_digits", DenseElementsAttr::get(type, bytes));
    }
    return LLVM::AddressOfOp::create(builder, global);
  }

  LLVM::GlobalOp global;
};
} // namespace
