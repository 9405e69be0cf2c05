//===- FunctionNumbers.cpp - arithmetic as C --------------------*- C++ -*-===//
//
// Integers are unsigned, and above their width zero. C computes with what is narrower than int as int, so results of such
// are made narrow again, and products and shifts of them are computed in 32 bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

static std::string inType(const std::string &type, const Twine &expression) {
  return "((" + type + ")" + expression.str() + ")";
}

/// The operand as a number with a sign.
std::string FunctionPrinter::asSigned(Value *value) {
  unsigned width = value->getType()->getIntegerBitWidth(), container = containerBits(width);
  if (auto *constant = dyn_cast<ConstantInt>(value))
    return signedLiteral(constant->getValue());
  std::string name = "u" + std::to_string(container);
  if (width >= container)
    return inType(numberType(name, true), use(value));
  return file.use("sext", {name, std::to_string(width)}) + "(" + use(value) + ")";
}

std::string FunctionPrinter::asFloat(Value *value) {
  Type *type = value->getType();
  if (type->getScalarSizeInBits() != 16)
    return use(value);
  return file.use(type->isHalfTy() ? "f16tof32" : "bf16tof32") + "(" + use(value) + ")";
}

std::string FunctionPrinter::fromFloat(Type *type, const std::string &expression) {
  return file.use(type->isHalfTy() ? "f32tof16" : "f32tobf16") + "(" + expression + ")";
}

/// Bits beyond an odd width are cut off; of whole ones the C type does that.
static std::string fitted(const std::string &expression, unsigned width) {
  unsigned container = containerBits(width);
  if (width >= container)
    return container >= 32 ? expression
                           : inType(numberType("u" + std::to_string(container)), expression);
  std::string masked =
      "(" + expression + " & " + unsignedLiteral(APInt::getLowBitsSet(container, width)) + ")";
  return container >= 32 ? masked : inType(numberType("u" + std::to_string(container)), masked);
}

std::string FunctionPrinter::integerBinary(BinaryOperator &operation) {
  unsigned width = operation.getType()->getIntegerBitWidth(), container = containerBits(width);
  Value *left = operation.getOperand(0), *right = operation.getOperand(1);
  std::string type = numberType("u" + std::to_string(container));
  std::string wide = container < 64 ? "uint32_t" : "uint64_t";
  std::string cast = container < 32 ? "(" + wide + ")" : "";
  auto simple = [&](const char *symbol, const std::string &start = "") {
    return fitted("(" + start + use(left) + " " + symbol + " " + use(right) + ")", width);
  };
  // More than the width is nobody's result: the machine may then do as it likes, C may not.
  auto by = [&] {
    if (isa<ConstantInt>(right))
      return use(right);
    return "(" + use(right) + " & " + std::to_string(container - 1) + "u)";
  };
  auto asSignedResult = [&](const std::string &expression) {
    return fitted(inType(type, expression), width);
  };
  switch (operation.getOpcode()) {
  case Instruction::Add:
    return simple(width == 1 ? "^" : "+");
  case Instruction::Sub:
    return simple(width == 1 ? "^" : "-");
  case Instruction::Mul:
    return simple(width == 1 ? "&" : "*", cast);
  case Instruction::And:
    return simple("&");
  case Instruction::Or:
    return simple("|");
  case Instruction::Xor:
    // gcc warns of complements of what is narrower than int, wherever they are compared.
    if (auto *ones = dyn_cast<ConstantInt>(right);
        ones && ones->isMinusOne() && container < 32 && width == container)
      return file.use("complement", {"u" + std::to_string(container)}) + "(" +
             bare(use(left)).str() + ")";
    return simple("^");
  case Instruction::UDiv:
    return simple("/");
  case Instruction::URem:
    return simple("%");
  case Instruction::SDiv:
    return asSignedResult("(" + asSigned(left) + " / " + asSigned(right) + ")");
  case Instruction::SRem:
    return asSignedResult("(" + asSigned(left) + " % " + asSigned(right) + ")");
  case Instruction::Shl:
    return fitted("(" + cast + use(left) + " << " + by() + ")", width);
  case Instruction::LShr:
    return fitted("(" + use(left) + " >> " + by() + ")", width);
  default: // AShr
    return asSignedResult("(" + asSigned(left) + " >> " + by() + ")");
  }
}

std::string FunctionPrinter::halfBinary(BinaryOperator &operation) {
  static const std::pair<unsigned, const char *> symbols[] = {{Instruction::FAdd, " + "},
                                                              {Instruction::FSub, " - "},
                                                              {Instruction::FMul, " * "},
                                                              {Instruction::FDiv, " / "}};
  for (auto [opcode, symbol] : symbols)
    if (operation.getOpcode() == opcode)
      return fromFloat(operation.getType(), asFloat(operation.getOperand(0)) + symbol +
                                                asFloat(operation.getOperand(1)));
  file.needsMath();
  return fromFloat(operation.getType(), "fmodf(" + asFloat(operation.getOperand(0)) + ", " +
                                            asFloat(operation.getOperand(1)) + ")");
}

std::string FunctionPrinter::binary(BinaryOperator &operation) {
  Type *type = operation.getType();
  if (type->isVectorTy()) {
    fail(operation);
    return "0";
  }
  if (type->isIntegerTy())
    return integerBinary(operation);
  if (type->getScalarSizeInBits() == 16)
    return halfBinary(operation);
  std::string left = use(operation.getOperand(0)), right = use(operation.getOperand(1));
  switch (operation.getOpcode()) {
  case Instruction::FAdd:
    return "(" + left + " + " + right + ")";
  case Instruction::FSub:
    if (match(operation.getOperand(0), PatternMatch::m_PosZeroFP()))
      return file.use("fromzero", {file.shortName(type)}) + "(" + right + ")";
    return "(" + left + " - " + right + ")";
  case Instruction::FMul:
    return "(" + left + " * " + right + ")";
  case Instruction::FDiv:
    return "(" + left + " / " + right + ")";
  default:
    file.needsMath();
    return (type->isFloatTy() ? "fmodf(" : "fmod(") + left + ", " + right + ")";
  }
}

std::string FunctionPrinter::compare(ICmpInst &comparison) {
  Value *left = comparison.getOperand(0), *right = comparison.getOperand(1);
  if (left->getType()->isVectorTy()) {
    fail(comparison);
    return "0";
  }
  StringRef symbol;
  switch (comparison.getPredicate()) {
  case CmpInst::ICMP_EQ:
    symbol = " == ";
    break;
  case CmpInst::ICMP_NE:
    symbol = " != ";
    break;
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SGT:
    symbol = " > ";
    break;
  case CmpInst::ICMP_UGE:
  case CmpInst::ICMP_SGE:
    symbol = " >= ";
    break;
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SLT:
    symbol = " < ";
    break;
  default:
    symbol = " <= ";
  }
  auto operand = [&](Value *value) {
    if (comparison.isSigned() && !value->getType()->isPointerTy())
      return asSigned(value);
    if (value->getType()->isPointerTy() && !comparison.isEquality())
      return "(uintptr_t)" + use(value);
    return use(value);
  };
  return "(" + operand(left) + symbol.str() + operand(right) + ")";
}

std::string FunctionPrinter::compareFloats(FCmpInst &comparison) {
  Value *left = comparison.getOperand(0), *right = comparison.getOperand(1);
  Type *type = left->getType();
  if (type->isVectorTy()) {
    fail(comparison);
    return "0";
  }
  std::string a = asFloat(left), b = asFloat(right);
  std::string kind = type->isDoubleTy() ? "f64" : "f32";
  auto with = [&](const char *symbol) { return "(" + a + " " + symbol + " " + b + ")"; };
  auto byName = [&](StringRef name) {
    return file.use(name, {kind}) + "(" + bare(a).str() + ", " + bare(b).str() + ")";
  };
  switch (comparison.getPredicate()) {
  case CmpInst::FCMP_FALSE:
    return "0u";
  case CmpInst::FCMP_OEQ:
    return with("==");
  case CmpInst::FCMP_OGT:
    return with(">");
  case CmpInst::FCMP_OGE:
    return with(">=");
  case CmpInst::FCMP_OLT:
    return with("<");
  case CmpInst::FCMP_OLE:
    return with("<=");
  case CmpInst::FCMP_ONE:
    return byName("one");
  case CmpInst::FCMP_ORD:
    return byName("ord");
  case CmpInst::FCMP_UNO:
    return byName("uno");
  case CmpInst::FCMP_UEQ:
    return byName("ueq");
  case CmpInst::FCMP_UGT:
    return "(!" + with("<=") + ")";
  case CmpInst::FCMP_UGE:
    return "(!" + with("<") + ")";
  case CmpInst::FCMP_ULT:
    return "(!" + with(">=") + ")";
  case CmpInst::FCMP_ULE:
    return "(!" + with(">") + ")";
  case CmpInst::FCMP_UNE:
    return with("!=");
  default:
    return "1u";
  }
}

/// Choices among choices: gcc has more branches for them than it joins again, so that it makes no vectors of their loop.
static bool isOneOfSeveral(const SelectInst &choice) {
  const Type *type = choice.getType();
  return (type->isIntegerTy(32) || type->isIntegerTy(64) || type->isFloatTy() ||
          type->isDoubleTy()) &&
         (isa<SelectInst>(choice.getTrueValue()) || isa<SelectInst>(choice.getFalseValue()) ||
          any_of(choice.users(), [&](const User *user) {
            auto *other = dyn_cast<SelectInst>(user);
            return other && other->getCondition() != &choice;
          }));
}

std::string FunctionPrinter::select(SelectInst &choice) {
  if (isOneOfSeveral(choice)) {
    Type *type = choice.getType();
    std::string bits = FilePrinter::bitsName(type), name = file.shortName(type);
    auto given = [&](Value *value) {
      std::string text = bare(use(value)).str();
      return type->isIntegerTy() ? text : file.use("bits", {name, bits}) + "(" + text + ")";
    };
    std::string text = file.use("choose", {bits}) + "(" + bare(use(choice.getCondition())).str() +
                       ", " + given(choice.getTrueValue()) + ", " + given(choice.getFalseValue()) +
                       ")";
    return type->isIntegerTy() ? text : file.use("number", {name, bits}) + "(" + text + ")";
  }
  std::string text = "(" + use(choice.getCondition()) + " ? " + use(choice.getTrueValue()) + " : " +
                     use(choice.getFalseValue()) + ")";
  Type *type = choice.getType();
  if (type->isVectorTy() && choice.getCondition()->getType()->isVectorTy())
    fail(choice);
  return type->getScalarSizeInBits() < 32 && !type->isPointerTy() && !type->isVectorTy() &&
                 !type->isAggregateType()
             ? inType(file.typeName(type), text)
             : text;
}

std::string FunctionPrinter::bitCast(CastInst &cast) {
  Type *from = cast.getSrcTy(), *to = cast.getDestTy();
  std::string value = use(cast.getOperand(0));
  bool isHalf = from->getScalarSizeInBits() == 16 && !from->isVectorTy() && !to->isVectorTy();
  if (from == to || isHalf || (from->isPointerTy() && to->isPointerTy()))
    return value;
  if (from->isFloatingPointTy() && to->isIntegerTy())
    return file.use("bits", {file.shortName(from), file.shortName(to)}) + "(" + bare(value).str() +
           ")";
  if (from->isIntegerTy() && to->isFloatingPointTy())
    return file.use("number", {file.shortName(to), file.shortName(from)}) + "(" +
           bare(value).str() + ")";
  fail(cast);
  return "0";
}

std::string FunctionPrinter::floatCast(CastInst &cast) {
  Value *from = cast.getOperand(0);
  Type *source = cast.getSrcTy(), *to = cast.getDestTy();
  std::string type = file.typeName(to);
  bool isHalf = to->getScalarSizeInBits() == 16, wasHalf = source->getScalarSizeInBits() == 16;
  switch (cast.getOpcode()) {
  case Instruction::FPExt:
    return wasHalf && to->isFloatTy() ? asFloat(from) : "((" + type + ")" + asFloat(from) + ")";
  case Instruction::FPTrunc:
    if (isHalf && source->isDoubleTy())
      return file.use(to->isHalfTy() ? "f64tof16" : "f64tobf16") + "(" + use(from) + ")";
    return isHalf ? fromFloat(to, use(from)) : "((" + type + ")" + use(from) + ")";
  case Instruction::SIToFP:
  case Instruction::UIToFP: {
    std::string number = cast.getOpcode() == Instruction::SIToFP ? asSigned(from) : use(from);
    if (!isHalf)
      return "((" + type + ")" + number + ")";
    // By way of a float, as CPUs without such numbers: what is finite of f16 is exact there.
    return fromFloat(to, "(float)" + number);
  }
  default: { // FPToSI, FPToUI
    unsigned width = to->getIntegerBitWidth(), container = containerBits(width);
    bool isSigned = cast.getOpcode() == Instruction::FPToSI;
    // A narrow one is what a wider one is, cut off.
    std::string name = "u" + std::to_string(std::max(32u, container));
    std::string kind = source->isDoubleTy() ? "f64" : "f32";
    std::string made = file.use(isSigned ? "fptosi" : "fptoui", {name, kind}) + "(" +
                       bare(asFloat(from)).str() + ")";
    return fitted(made, width);
  }
  }
}

std::string FunctionPrinter::cast(CastInst &cast) {
  Value *from = cast.getOperand(0);
  Type *source = cast.getSrcTy(), *to = cast.getDestTy();
  if (cast.getOpcode() == Instruction::BitCast)
    return bitCast(cast);
  if (source->isVectorTy() || to->isVectorTy()) {
    fail(cast);
    return "0";
  }
  std::string type = file.typeName(to);
  switch (cast.getOpcode()) {
  case Instruction::Trunc: {
    unsigned width = to->getIntegerBitWidth();
    file.shortName(source); // an error, of more than 64 bits
    if (width != containerBits(width))
      return inType(type, fitted(use(from), width));
    return inType(type, use(from));
  }
  case Instruction::ZExt:
    return inType(type, use(from));
  case Instruction::SExt: {
    unsigned width = to->getIntegerBitWidth();
    if (source->isIntegerTy(1))
      return fitted("(" + std::string(containerBits(width) == 64 ? "0ull" : "0u") + " - " +
                        use(from) + ")",
                    width);
    return fitted(inType(type, asSigned(from)), width);
  }
  case Instruction::PtrToInt:
  case Instruction::PtrToAddr:
    return inType(type, "(uintptr_t)" + use(from));
  case Instruction::IntToPtr:
    return "((unsigned char *)(uintptr_t)" + use(from) + ")";
  default:
    return floatCast(cast);
  }
}
