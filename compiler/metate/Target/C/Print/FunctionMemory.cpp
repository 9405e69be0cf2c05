//===- FunctionMemory.cpp - places, loads, stores and atomics ---*- C++ -*-===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

std::string c::orderName(AtomicOrdering order) {
  switch (order) {
  case AtomicOrdering::Acquire:
    return "acquire";
  case AtomicOrdering::Release:
    return "release";
  case AtomicOrdering::AcquireRelease:
    return "both";
  case AtomicOrdering::SequentiallyConsistent:
    return "total";
  default:
    return "relaxed";
  }
}

/// Base and offset in bytes.
std::string FunctionPrinter::place(GetElementPtrInst &address) {
  SmallMapVector<Value *, APInt, 4> variables;
  unsigned bits = file.layout().getIndexTypeSizeInBits(address.getType());
  APInt constant(bits, 0);
  if (address.getType()->isVectorTy() ||
      !cast<GEPOperator>(address).collectOffset(file.layout(), bits, variables, constant)) {
    fail(address);
    return "0";
  }
  std::string offset;
  for (auto &[index, scale] : variables) {
    std::string one = index->getType()->getIntegerBitWidth() == bits ? use(index) : "";
    if (one.empty() && index->getType()->getIntegerBitWidth() < bits)
      one = "(uint" + std::to_string(bits) + "_t)" + asSigned(index);
    else if (one.empty())
      one = "(uint" + std::to_string(bits) + "_t)" + use(index);
    if (!scale.isOne())
      one += " * " + unsignedLiteral(scale);
    offset += (offset.empty() ? "" : " + ") + one;
  }
  std::string base = use(address.getPointerOperand());
  if (offset.empty())
    return constant.isZero() ? base : "(" + base + " + " + signedLiteral(constant) + ")";
  if (!constant.isZero())
    offset += " + " + unsignedLiteral(constant);
  return "(" + base + " + (int" + std::to_string(bits) + "_t)(" + offset + "))";
}

std::string FunctionPrinter::loadFrom(Type *type, const std::string &from, Align align) {
  uint64_t bytes = file.layout().getTypeStoreSize(type);
  std::string name = file.shortName(type);
  if (type->isIntegerTy() && bytes * 8 != containerBits(type->getIntegerBitWidth()))
    return file.use("loadpart", {name, std::to_string(bytes)}) + "(" + bare(from).str() + ")";
  std::string loaded =
      file.use(align.value() >= bytes ? "load" : "loadany", {name}) + "(" + bare(from).str() + ")";
  return type->isIntegerTy(1) ? "((uint8_t)(" + loaded + " & 1u))" : loaded;
}

static bool isNumber(const Type *type) {
  return type->isIntegerTy() || type->isFloatingPointTy() || type->isPointerTy();
}

std::string FunctionPrinter::load(LoadInst &load) {
  Type *type = load.getType();
  std::string from = use(load.getPointerOperand());
  if (!isNumber(type)) {
    fail(load);
    return "0";
  }
  if (!load.isAtomic() && !load.isVolatile())
    return loadFrom(type, from, load.getAlign());
  if (type->isPointerTy()) {
    std::string name = "u" + std::to_string(file.layout().getPointerSizeInBits());
    return "((unsigned char *)(uintptr_t)" +
           file.use("atomicload", {name, orderName(load.getOrdering())}) + "(" + bare(from).str() +
           "))";
  }
  bool isFloat = type->isFloatTy() || type->isDoubleTy();
  std::string name = isFloat ? FilePrinter::bitsName(type) : file.shortName(type);
  if (!isFloat && type->isFloatingPointTy())
    name = "u16";
  std::string loaded =
      file.use("atomicload", {name, orderName(load.getOrdering())}) + "(" + bare(from).str() + ")";
  return isFloat ? file.use("number", {file.shortName(type), name}) + "(" + loaded + ")" : loaded;
}

void FunctionPrinter::storeTo(const std::string &to, Value *value, Align align) {
  Type *type = value->getType();
  uint64_t bytes = file.layout().getTypeStoreSize(type);
  std::string name = file.shortName(type), function;
  if (type->isIntegerTy() && bytes * 8 != containerBits(type->getIntegerBitWidth()))
    function = file.use("storepart", {name, std::to_string(bytes)});
  else
    function = file.use(align.value() >= bytes ? "store" : "storeany", {name});
  line(function + "(" + bare(to) + ", " + bare(use(value)) + ");");
}

void FunctionPrinter::store(StoreInst &store) {
  Value *value = store.getValueOperand();
  Type *type = value->getType();
  if (!isNumber(type))
    return fail(store);
  std::string to = use(store.getPointerOperand());
  if (!store.isAtomic() && !store.isVolatile())
    return storeTo(to, value, store.getAlign());
  std::string bits = use(value), name = file.shortName(type);
  if (type->isPointerTy()) {
    name = "u" + std::to_string(file.layout().getPointerSizeInBits());
    bits = "(" + numberType(name) + ")(uintptr_t)" + bits;
  } else if (type->isFloatingPointTy()) {
    name = FilePrinter::bitsName(type);
    if (name != "u16")
      bits = file.use("bits", {file.shortName(type), name}) + "(" + bits + ")";
  }
  line(file.use("atomicstore", {name, orderName(store.getOrdering())}) + "(" + to + ", " + bits +
       ");");
}

static StringRef modification(AtomicRMWInst::BinOp operation) {
  switch (operation) {
  case AtomicRMWInst::Xchg:
    return "xchg";
  case AtomicRMWInst::Add:
    return "add";
  case AtomicRMWInst::Sub:
    return "sub";
  case AtomicRMWInst::And:
    return "and";
  case AtomicRMWInst::Nand:
    return "nand";
  case AtomicRMWInst::Or:
    return "or";
  case AtomicRMWInst::Xor:
    return "xor";
  case AtomicRMWInst::Max:
    return "smax";
  case AtomicRMWInst::Min:
    return isMutant(Mutant::CMinimumIsMaximum) ? "smax" : "smin";
  case AtomicRMWInst::UMax:
    return "umax";
  case AtomicRMWInst::UMin:
    return "umin";
  case AtomicRMWInst::FAdd:
    return "add";
  case AtomicRMWInst::FSub:
    return "sub";
  case AtomicRMWInst::FMax:
    return "maxnum";
  case AtomicRMWInst::FMin:
    return "minnum";
  case AtomicRMWInst::FMaximum:
    return "maximum";
  case AtomicRMWInst::FMinimum:
    return "minimum";
  case AtomicRMWInst::UIncWrap:
    return "uinc";
  case AtomicRMWInst::UDecWrap:
    return "udec";
  default:
    return "";
  }
}

void FunctionPrinter::modify(AtomicRMWInst &operation) {
  Type *type = operation.getType();
  StringRef what = modification(operation.getOperation());
  std::string order = orderName(operation.getOrdering()), name = file.shortName(type), function;
  uint64_t bits = file.layout().getTypeStoreSizeInBits(type);
  if (what.empty() || !isNumber(type) || type->isPointerTy() ||
      (type->isIntegerTy() && type->getIntegerBitWidth() != containerBits(bits)))
    return fail(operation);
  if (type->isIntegerTy())
    function = file.use(("rmw" + what).str(), {name, order});
  else if (bits == 16 && what != "xchg")
    function = file.use(("rmwh" + what).str(), {name, order});
  else if (bits == 16)
    function = file.use("rmwxchg", {"u16", order});
  else
    function = file.use(("rmwf" + what).str(), {name, FilePrinter::bitsName(type), order});
  std::string call = function + "(" + use(operation.getPointerOperand()) + ", " +
                     use(operation.getValOperand()) + ")";
  if (operation.use_empty())
    return line("(void)" + call + ";");
  assign(operation, call);
}

/// A pair: what was there, and whether that was what was expected.
void FunctionPrinter::exchange(AtomicCmpXchgInst &operation) {
  Value *wanted = operation.getNewValOperand();
  Type *type = wanted->getType();
  if (!type->isIntegerTy() ||
      type->getIntegerBitWidth() != containerBits(type->getIntegerBitWidth()))
    return fail(operation);
  std::string call =
      file.use("cmpxchg", {file.shortName(type), orderName(operation.getSuccessOrdering()),
                           orderName(operation.getFailureOrdering())});
  std::string at = use(operation.getPointerOperand()), own = variable(operation);
  if (own.empty())
    own = newVariable(operation.getType());
  line(own + ".f0 = " + use(operation.getCompareOperand()) + ";");
  line(own + ".f1 = " + call + "(" + at + ", &" + own + ".f0, " + use(wanted) + ");");
}

//===----------------------------------------------------------------------===//
// Values of several parts
//===----------------------------------------------------------------------===//

std::string FunctionPrinter::part(const Twine &of, Type *type, unsigned number) {
  return (of + (isa<StructType>(type) ? ".f" + Twine(number) : ".e[" + Twine(number) + "]")).str();
}

std::string FunctionPrinter::member(ExtractValueInst &extract) {
  Type *type = extract.getAggregateOperand()->getType();
  std::string text = use(extract.getAggregateOperand());
  for (unsigned index : extract.indices()) {
    text = part(text, type, index);
    type = isa<StructType>(type) ? type->getStructElementType(index) : type->getArrayElementType();
  }
  return text;
}

std::string FunctionPrinter::element(ExtractElementInst &extract) {
  Value *vector = extract.getVectorOperand();
  return elementOf(vectorVariable(vector), vector->getType(), use(extract.getIndexOperand()));
}

void FunctionPrinter::insert(Instruction &instruction, Value *into, Value *value,
                             const std::string &member) {
  if (instruction.use_empty())
    return;
  assign(instruction, use(into));
  line(variable(instruction) + member + " = " + use(value) + ";");
}
