//===- Constants.cpp - constants and static data ----------------*- C++ -*-===//
#include "metate/Target/C/Print/FilePrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

std::string c::unsignedLiteral(const APInt &value) {
  return toString(value, 10, /*Signed=*/false) + (value.getBitWidth() > 32 ? "ull" : "u");
}

std::string c::signedLiteral(const APInt &value) {
  StringRef suffix = value.getBitWidth() > 32 ? "ll" : "";
  if (!value.isNegative())
    return toString(value, 10, true) + suffix.str();
  // The least number has no literal.
  APInt next = value + 1;
  if (value.isMinSignedValue())
    return "(" + toString(next, 10, true) + suffix.str() + " - 1)";
  return "(" + toString(value, 10, true) + suffix.str() + ")";
}

std::string FilePrinter::floatConstant(const APFloat &value) {
  bool isDouble = &value.getSemantics() == &APFloat::IEEEdouble();
  bool isSingle = &value.getSemantics() == &APFloat::IEEEsingle();
  APInt bits = value.bitcastToAPInt();
  if (!isDouble && !isSingle) // half-sized ones are their bits
    return "(uint16_t)" + unsignedLiteral(bits);
  std::vector<std::string> types{isDouble ? "f64" : "f32", isDouble ? "u64" : "u32"};
  if (!value.isFinite())
    return helpers.use("number", types) + "(" + unsignedLiteral(bits) + ")";
  SmallString<32> text;
  value.toString(text, 17);
  // Short where that is exact, else in base 16.
  std::string decimal(text);
  APFloat back(value.getSemantics());
  bool isShort = decimal.size() <= 8;
  if (isShort) {
    auto status = back.convertFromString(decimal, APFloat::rmNearestTiesToEven);
    isShort = status && back.bitwiseIsEqual(value) && !(*status & APFloat::opInexact);
    if (!status)
      consumeError(status.takeError());
  }
  if (!isShort) {
    char buffer[64];
    value.convertToHexString(buffer, 0, false, APFloat::rmNearestTiesToEven);
    decimal = buffer;
  } else if (decimal.find_first_of(".eE") == std::string::npos) {
    decimal += ".0";
  }
  if (isSingle)
    decimal += "f";
  return value.isNegative() ? "(" + decimal + ")" : decimal;
}

/// The global that a constant address lies in, with the offset.
static const GlobalValue *baseOf(const Constant &value, const DataLayout &layout, int64_t &offset) {
  APInt at(layout.getIndexTypeSizeInBits(value.getType()), 0);
  const Value *base =
      value.stripAndAccumulateConstantOffsets(layout, at, /*AllowNonInbounds=*/true);
  offset = at.getSExtValue();
  return dyn_cast<GlobalValue>(base);
}

std::string FilePrinter::address(const GlobalValue &value, int64_t offset) {
  std::string base = nameOf(value);
  if (isBytes.lookup(&value))
    base += ".bytes";
  else
    base = "(const unsigned char *)&" + base;
  return offset ? "(" + base + " + " + std::to_string(offset) + ")" : base;
}

std::string FilePrinter::constant(Constant &value) {
  Type *type = value.getType();
  if (auto *integer = dyn_cast<ConstantInt>(&value)) {
    if (integer->getBitWidth() > 64)
      shortName(type); // an error
    return unsignedLiteral(integer->getValue());
  }
  if (auto *number = dyn_cast<ConstantFP>(&value))
    return floatConstant(number->getValueAPF());
  if (type->isPointerTy()) {
    if (isa<ConstantPointerNull>(value) || isa<UndefValue>(value))
      return "(unsigned char *)0";
    if (auto *function = dyn_cast<Function>(value.stripPointerCasts()))
      return helpers.use("fromfunction") + "((metate_function)" + nameOf(*function) + ")";
    int64_t offset = 0;
    if (const GlobalValue *base = baseOf(value, layout(), offset))
      return "((unsigned char *)" + address(*base, offset) + ")";
    if (auto *expression = dyn_cast<ConstantExpr>(&value))
      if (expression->getOpcode() == Instruction::IntToPtr)
        return "((unsigned char *)(uintptr_t)" + constant(*expression->getOperand(0)) + ")";
  }
  if (isa<UndefValue>(value) && !type->isAggregateType() && !type->isVectorTy())
    return constant(*Constant::getNullValue(type));
  if (type->isVectorTy())
    return vectorConstant(value);
  if (type->isAggregateType()) {
    std::vector<std::string> pieces;
    for (unsigned k = 0; Constant *element = value.getAggregateElement(k); ++k)
      pieces.push_back(constant(*element));
    bool isStruct = isa<StructType>(type);
    return "((" + typeName(type) + ")" + (isStruct ? "{" : "{{") + join(pieces, ", ") +
           (isStruct ? "}" : "}}") + ")";
  }
  if (auto *expression = dyn_cast<ConstantExpr>(&value))
    if (expression->getOpcode() == Instruction::PtrToInt)
      return "(" + typeName(type) + ")(uintptr_t)" + constant(*expression->getOperand(0));
  std::string text;
  raw_string_ostream(text) << value;
  fail("the constant " + text);
  return "0u";
}

std::string FilePrinter::initialiser(Constant &value) {
  Type *type = value.getType();
  if (type->isPointerTy()) {
    if (isa<ConstantPointerNull>(value) || isa<UndefValue>(value))
      return "{0}";
    int64_t offset = 0;
    const GlobalValue *base = baseOf(value, layout(), offset);
    if (!base || isa<Function>(base))
      fail("the address of a function in data that no header declares");
    return base ? "{" + address(*base, offset) + "}" : "{0}";
  }
  if (!type->isAggregateType() && !type->isVectorTy())
    return constant(value);
  std::vector<std::string> pieces;
  for (unsigned k = 0; Constant *element = value.getAggregateElement(k); ++k)
    pieces.push_back(initialiser(*element));
  bool isStruct = isa<StructType>(type);
  return (isStruct ? "{" : "{{") + join(pieces, ", ") + (isStruct ? "}" : "}}");
}

//===----------------------------------------------------------------------===//
// Static data
//===----------------------------------------------------------------------===//

static bool holdsAddresses(const Type *type) {
  if (type->isPointerTy())
    return true;
  return any_of(type->subtypes(), holdsAddresses);
}

static void writeBytes(const Constant &value, const DataLayout &layout,
                       MutableArrayRef<uint8_t> to) {
  if (isa<UndefValue>(value) || value.isNullValue())
    return;
  APInt bits;
  if (auto *integer = dyn_cast<ConstantInt>(&value))
    bits = integer->getValue();
  else if (auto *number = dyn_cast<ConstantFP>(&value))
    bits = number->getValueAPF().bitcastToAPInt();
  if (bits.getBitWidth() > 1 || isa<ConstantInt>(value)) {
    for (unsigned k = 0; 8 * k < bits.getBitWidth(); ++k)
      to[k] = uint8_t(bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth() - 8 * k), 8 * k));
    return;
  }
  Type *type = value.getType();
  auto *record = dyn_cast<StructType>(type);
  for (unsigned k = 0; Constant *element = value.getAggregateElement(k); ++k) {
    uint64_t size = layout.getTypeAllocSize(element->getType());
    uint64_t at = record ? uint64_t(layout.getStructLayout(record)->getElementOffset(k)) : k * size;
    writeBytes(*element, layout, to.drop_front(at));
  }
}

void FilePrinter::eachGlobalIn(const Constant &value,
                               function_ref<void(const GlobalVariable &)> call) {
  if (auto *variable = dyn_cast<GlobalVariable>(&value))
    return call(*variable);
  if (isa<Function>(value))
    return;
  for (const Use &operand : value.operands())
    eachGlobalIn(*cast<Constant>(operand), call);
}

bool FilePrinter::isPlain(const GlobalVariable &variable) {
  return !variable.hasAttribute(sourceTypeAttribute) && !holdsAddresses(variable.getValueType());
}

std::string FilePrinter::bytesOf(const Constant &value) {
  std::vector<uint8_t> bytes(layout().getTypeAllocSize(value.getType()));
  writeBytes(value, layout(), bytes);
  std::string text, line = "   ";
  for (uint8_t byte : bytes) {
    std::string piece = " " + std::to_string(byte) + ",";
    if (line.size() + piece.size() > 100) {
      text += line + "\n";
      line = "   ";
    }
    line += piece;
  }
  return text + line;
}

/// Those first that it holds addresses of.
void FilePrinter::defineData(const GlobalVariable &variable) {
  if (!defined.insert(&variable).second)
    return;
  std::string own = nameOf(variable);
  if (variable.isDeclaration())
    return fail("'" + own + "', which is defined elsewhere");
  Constant &value = *const_cast<Constant *>(variable.getInitializer());
  eachGlobalIn(value, [&](const GlobalVariable &other) { defineData(other); });
  std::string start = variable.hasLocalLinkage() ? "static " : "";
  if (variable.hasAttribute(sourceTypeAttribute)) {
    data += start + declaredData(variable) + ";\n";
    return;
  }
  start += variable.isConstant() ? "const " : "";
  if (!isBytes.lookup(&variable)) {
    data += start + dataType(value.getType()) + " " + own + " = " + initialiser(value) + ";\n";
    return;
  }
  uint64_t align = layout().getPreferredAlign(&variable).value();
  if (align > 8) {
    helpers.use("alignment");
    start += "METATE_ALIGN(" + std::to_string(align) + ") ";
  }
  data += start + "union {\n  unsigned char bytes[" +
          std::to_string(std::max<uint64_t>(1, layout().getTypeAllocSize(value.getType()))) +
          "];\n  uint64_t align;\n} " + own + " = {{\n" + bytesOf(value) + "\n}};\n";
}

/// As a header declares it; '@' in its type is where the name stands.
std::string FilePrinter::declaredData(const GlobalVariable &variable) {
  std::string text = variable.getAttribute(sourceTypeAttribute).getValueAsString().str();
  size_t at = text.find('@');
  if (at == std::string::npos)
    text += " " + nameOf(variable);
  else
    text.replace(at, 1, nameOf(variable));
  std::vector<std::string> pieces;
  for (unsigned k = 0; Constant *element = variable.getInitializer()->getAggregateElement(k); ++k) {
    auto *global = dyn_cast<GlobalValue>(element->stripPointerCasts());
    pieces.push_back((global ? nameOf(*global) + (isBytes.lookup(global) ? ".bytes" : "")
                             : initialiser(*element)) +
                     ",");
  }
  std::string result;
  wrap(result, text + " = {", pieces, "    ");
  return result + "}";
}
