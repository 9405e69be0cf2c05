//===- FunctionVectors.cpp - numbers side by side as C ----------*- C++ -*-===//
//
// A vector is a struct of parts (Support/Vectors.txt). What most loops consist of are functions of whole vectors; all else is a
// loop over the elements whose body is the operation on numbers. An element of a vector of booleans is 32 bits, all of them
// set or none; one of a vector of addresses is a number.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

/// The loop's variable.
static constexpr StringLiteral lane = "lane";

static FixedVectorType *vectorType(const Value &value) {
  return dyn_cast<FixedVectorType>(value.getType());
}

static bool isMask(const Type *type) { return type->getScalarSizeInBits() == 1; }

std::vector<std::string> FilePrinter::vectorName(FixedVectorType *type) {
  Type *element = type->getElementType();
  std::string name = shortName(element);
  if (isMask(type))
    name = "u32";
  else if (element->isPointerTy())
    name = "u" + std::to_string(layout().getPointerSizeInBits());
  else if (element->getScalarSizeInBits() == 16)
    name = "u16";
  return {name, std::to_string(type->getNumElements())};
}

static std::string named(FilePrinter &file, StringRef function, FixedVectorType *type) {
  return file.use(function, file.vectorName(type));
}

//===----------------------------------------------------------------------===//
// Whole vectors
//===----------------------------------------------------------------------===//

/// Numbers that are computed as they are, without bits to cut off.
static bool isWhole(const Type *type) {
  type = type->getScalarType();
  return type->isFloatTy() || type->isDoubleTy() || type->isIntegerTy(32) || type->isIntegerTy(64);
}

static StringRef wholeBinary(const BinaryOperator &operation) {
  bool isBits = isMask(operation.getType());
  if (!isBits && !isWhole(operation.getType()))
    return "";
  switch (operation.getOpcode()) {
  case Instruction::And:
    return "vand";
  case Instruction::Or:
    return "vor";
  case Instruction::Xor:
    return "vxor";
  case Instruction::Add:
  case Instruction::FAdd:
    return isBits ? "" : "vadd";
  case Instruction::Sub:
  case Instruction::FSub:
    return isBits ? "" : "vsub";
  case Instruction::Mul:
  case Instruction::FMul:
    return isBits ? "" : "vmul";
  case Instruction::FDiv:
    return "vdiv";
  default:
    return "";
  }
}

namespace {
struct WholeComparison {
  CmpInst::Predicate predicate;
  const char *function;
  bool isSwapped;
};
} // namespace

static constexpr WholeComparison wholeComparisons[] = {
    {CmpInst::ICMP_EQ, "veq", false},   {CmpInst::ICMP_NE, "vne", false},
    {CmpInst::ICMP_ULT, "vlt", false},  {CmpInst::ICMP_ULE, "vle", false},
    {CmpInst::ICMP_UGT, "vlt", true},   {CmpInst::ICMP_UGE, "vle", true},
    {CmpInst::ICMP_SLT, "vslt", false}, {CmpInst::ICMP_SLE, "vsle", false},
    {CmpInst::ICMP_SGT, "vslt", true},  {CmpInst::ICMP_SGE, "vsle", true},
    {CmpInst::FCMP_OEQ, "veq", false},  {CmpInst::FCMP_UNE, "vne", false},
    {CmpInst::FCMP_OLT, "vlt", false},  {CmpInst::FCMP_OLE, "vle", false},
    {CmpInst::FCMP_OGT, "vlt", true},   {CmpInst::FCMP_OGE, "vle", true}};

/// Of numbers as wide as what a mask has for each.
static const WholeComparison *wholeComparison(const CmpInst &comparison) {
  Type *type = comparison.getOperand(0)->getType();
  if (!isWhole(type) || type->getScalarSizeInBits() != 32)
    return nullptr;
  for (const WholeComparison &one : wholeComparisons)
    if (one.predicate == comparison.getPredicate())
      return &one;
  return nullptr;
}

static bool isWholeSelect(const SelectInst &choice) {
  Type *type = choice.getType();
  return choice.getCondition()->getType()->isVectorTy() &&
         (isMask(type) || (isWhole(type) && type->getScalarSizeInBits() == 32));
}

static bool isWholeCast(const CastInst &cast) {
  if (isa<BitCastInst>(cast))
    return cast.getSrcTy()->isVectorTy() && isWhole(cast.getSrcTy()) && isWhole(cast.getDestTy());
  return isa<SExtInst>(cast) && isMask(cast.getSrcTy()) && cast.getDestTy()->isIntOrIntVectorTy(32);
}

/// "vminnum": the lesser or the greater ones, which are never NaNs where there is another number.
static StringRef wholeExtreme(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !isWhole(call->getType()) || !call->getType()->isFPOrFPVectorTy())
    return "";
  switch (call->getIntrinsicID()) {
  case Intrinsic::minnum:
  case Intrinsic::minimumnum:
    return "vminnum";
  case Intrinsic::maxnum:
  case Intrinsic::maximumnum:
    return "vmaxnum";
  default:
    return "";
  }
}

/// The number in all elements, which is there before.
static Value *splatOf(const Value &value) {
  auto *shuffle = dyn_cast<ShuffleVectorInst>(&value);
  Value *number = shuffle ? const_cast<Value *>(getSplatValue(shuffle)) : nullptr;
  auto *inserted = shuffle ? dyn_cast<Instruction>(shuffle->getOperand(0)) : nullptr;
  return number && inserted && inserted->getParent() == shuffle->getParent() ? number : nullptr;
}

bool c::isSplatSource(const Instruction &instruction) {
  return isa<InsertElementInst>(instruction) &&
         all_of(instruction.users(), [](const User *user) { return splatOf(*user) != nullptr; });
}

bool c::continuesInsertion(const Instruction &instruction) {
  auto *into = dyn_cast<InsertElementInst>(&instruction);
  auto *before = into ? dyn_cast<InsertElementInst>(into->getOperand(0)) : nullptr;
  return before && before->hasOneUse() && before->getParent() == into->getParent() &&
         !isSplatSource(*before);
}

bool c::isWholeVectors(const Instruction &instruction) {
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return vectorType(*store->getValueOperand()) != nullptr;
  if (!vectorType(instruction))
    return false;
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return !wholeBinary(*operation).empty();
  if (isa<UnaryOperator>(instruction)) // fneg
    return isWhole(instruction.getType());
  if (auto *comparison = dyn_cast<CmpInst>(&instruction))
    return wholeComparison(*comparison) != nullptr;
  if (auto *choice = dyn_cast<SelectInst>(&instruction))
    return isWholeSelect(*choice);
  if (auto *cast = dyn_cast<CastInst>(&instruction))
    return isWholeCast(*cast);
  return isa<FreezeInst>(instruction) || splatOf(instruction) || !wholeExtreme(instruction).empty();
}

/// The bits that an element of a vector has of the number.
std::string FunctionPrinter::asElement(const Type *type, const std::string &number) {
  if (isMask(type))
    return "(0u - (uint32_t)" + number + ")";
  if (type->isPtrOrPtrVectorTy())
    return "(uint" + std::to_string(file.layout().getPointerSizeInBits()) + "_t)(uintptr_t)" +
           number;
  return number;
}

std::string FilePrinter::vectorConstant(Constant &value) {
  auto *type = cast<FixedVectorType>(value.getType());
  auto element = [&](Constant &number) {
    std::string text = constant(number);
    if (isMask(type))
      return std::string(number.isOneValue() ? "4294967295u" : "0u");
    return type->getElementType()->isPointerTy()
               ? "(uint" + std::to_string(layout().getPointerSizeInBits()) + "_t)(uintptr_t)" + text
               : text;
  };
  if (Constant *same = value.getSplatValue(/*AllowPoison=*/true))
    return use("vsplat", vectorName(type)) + "(" + element(*same) + ")";
  std::vector<std::string> pieces;
  for (unsigned k = 0; k < type->getNumElements(); ++k)
    pieces.push_back(element(*value.getAggregateElement(k)));
  std::vector<std::string> name = vectorName(type);
  return use("vof", name) + "((const " + numberType(name[0]) + "[" + name[1] + "]){" +
         join(pieces, ", ") + "})";
}

std::string FunctionPrinter::wholeVectors(Instruction &instruction) {
  auto *type = cast<FixedVectorType>(instruction.getType());
  auto operand = [&](unsigned k) { return bare(use(instruction.getOperand(k))).str(); };
  auto call = [&](StringRef function, FixedVectorType *of, std::initializer_list<unsigned> list) {
    std::vector<std::string> given;
    for (unsigned k : list)
      given.push_back(operand(k));
    return named(file, function, of) + "(" + join(given, ", ") + ")";
  };
  if (Value *number = splatOf(instruction))
    return named(file, "vsplat", type) + "(" + asElement(type, use(number)) + ")";
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return call(wholeBinary(*operation), type, {0, 1});
  if (isa<UnaryOperator>(instruction))
    return call("vneg", type, {0});
  if (auto *comparison = dyn_cast<CmpInst>(&instruction)) {
    const WholeComparison *known = wholeComparison(*comparison);
    auto *compared = cast<FixedVectorType>(comparison->getOperand(0)->getType());
    return known->isSwapped ? call(known->function, compared, {1, 0})
                            : call(known->function, compared, {0, 1});
  }
  if (isa<SelectInst>(instruction))
    return call("vselect", type, {0, 1, 2});
  if (StringRef extreme = wholeExtreme(instruction); !extreme.empty()) {
    file.needsMath();
    std::vector<std::string> names = file.vectorName(type);
    names.push_back("u" + names[0].substr(1));
    return file.use(extreme, names) + "(" + operand(0) + ", " + operand(1) + ")";
  }
  if (isa<BitCastInst>(instruction)) {
    std::vector<std::string> names = file.vectorName(type),
                             from = file.vectorName(
                                 cast<FixedVectorType>(instruction.getOperand(0)->getType()));
    names.insert(names.end(), from.begin(), from.end());
    return file.use("vcast", names) + "(" + operand(0) + ")";
  }
  return use(instruction.getOperand(0)); // freeze; the mask as it is
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// The number that an element of a vector says.
std::string FunctionPrinter::asNumber(const Type *type, const std::string &element) {
  if (isMask(type))
    return "((uint8_t)(" + element + " & 1u))";
  return type->isPtrOrPtrVectorTy() ? "((unsigned char *)(uintptr_t)" + element + ")" : element;
}

std::string FunctionPrinter::elementOf(const std::string &vector, const Type *type,
                                       const std::string &index) {
  return asNumber(type, "METATE_ELEMENT(" + vector + ", " + index + ")");
}

/// A variable with the vector: of constants and expressions one is made.
std::string FunctionPrinter::vectorVariable(Value *value) {
  std::string known = isa<Constant>(value) || sizes.contains(value) ? "" : variable(*value);
  if (!known.empty())
    return known;
  std::string made = newVariable(value->getType());
  line(made + " = " + use(value) + ";");
  return made;
}

/// What stands for an operand in the operation on numbers.
Value *FunctionPrinter::laneOf(Value *value) {
  auto *type = vectorType(*value);
  if (!type)
    return value;
  if (isa<UndefValue>(value))
    return Constant::getNullValue(type->getElementType());
  if (auto *constant = dyn_cast<Constant>(value))
    if (Constant *same = constant->getSplatValue(/*AllowPoison=*/true))
      return same;
  std::string array = "x" + std::to_string(spread.size());
  spread.push_back({vectorVariable(value), numberType(file.vectorName(type)[0]) + " " + array});
  return standIn(type->getElementType(), asNumber(type, array + "[" + lane.str() + "]"));
}

Value *FunctionPrinter::standIn(Type *type, const std::string &text) {
  standIns.push_back(new FreezeInst(PoisonValue::get(type)));
  names[standIns.back()] = text;
  return standIns.back();
}

void FunctionPrinter::dropStandIns() {
  for (Instruction *one : standIns) {
    names.erase(one);
    one->deleteValue();
  }
  standIns.clear();
  spread.clear();
}

/// The same operation on numbers.
Instruction *FunctionPrinter::onNumbers(Instruction &instruction) {
  SmallVector<Value *> operands;
  unsigned count = isa<CallInst>(instruction) ? cast<CallInst>(instruction).arg_size()
                                              : instruction.getNumOperands();
  for (unsigned k = 0; k < count; ++k)
    operands.push_back(laneOf(instruction.getOperand(k)));
  Type *type = instruction.getType()->getScalarType();
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return BinaryOperator::Create(operation->getOpcode(), operands[0], operands[1]);
  if (auto *operation = dyn_cast<UnaryOperator>(&instruction))
    return UnaryOperator::Create(operation->getOpcode(), operands[0]);
  if (auto *comparison = dyn_cast<CmpInst>(&instruction))
    return CmpInst::Create(comparison->getOpcode(), comparison->getPredicate(), operands[0],
                           operands[1]);
  if (auto *cast = dyn_cast<CastInst>(&instruction))
    return CastInst::Create(cast->getOpcode(), operands[0], type);
  if (isa<SelectInst>(instruction))
    return SelectInst::Create(operands[0], operands[1], operands[2]);
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return GetElementPtrInst::Create(address->getSourceElementType(), operands[0],
                                     ArrayRef(operands).drop_front());
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || !isTriviallyVectorizable(call->getIntrinsicID()))
    return nullptr;
  Intrinsic::ID id = call->getIntrinsicID();
  SmallVector<Type *, 2> types;
  for (int k = -1; k < int(count); ++k)
    if (isVectorIntrinsicWithOverloadTypeAtArg(id, k, /*TTI=*/nullptr))
      types.push_back(k < 0 ? type : operands[unsigned(k)]->getType());
  return CallInst::Create(Intrinsic::getOrInsertDeclaration(call->getModule(), id, types),
                          operands);
}

/// A loop over arrays of the elements. `result`: a vector whose elements the statement makes.
void FunctionPrinter::forEach(unsigned first, unsigned count, const std::string &statement,
                              const Instruction *result) {
  std::string size = "[" + std::to_string(count) + "]";
  line("{");
  for (const Spread &one : spread)
    line("  " + one.declaration + size + ";");
  if (result)
    line("  " + numberType(file.vectorName(cast<FixedVectorType>(result->getType()))[0]) + " r" +
         size + ";");
  line("  unsigned " + lane + ";");
  for (auto [k, one] : enumerate(spread))
    line("  memcpy(x" + Twine(k) + ", &" + one.vector + ", sizeof x" + Twine(k) + ");");
  line("  for (" + lane + " = " + Twine(first) + "; " + lane + " < " + Twine(count) + "u; ++" +
       lane + ")");
  line("    " + statement);
  if (result)
    line("  memcpy(&" + variable(*result) + ", r, sizeof r);");
  line("}");
}

/// Before its elements get their values one by one, of which a compiler may not see that they all do.
void FunctionPrinter::clear(const Instruction &instruction) {
  assign(instruction, file.constant(*Constant::getNullValue(instruction.getType())));
}

void FunctionPrinter::elementByElement(Instruction &instruction) {
  auto *type = cast<FixedVectorType>(instruction.getType());
  Instruction *one = onNumbers(instruction);
  if (!one)
    return fail(instruction);
  std::string number = expression(*one);
  one->deleteValue();
  forEach(0, type->getNumElements(), "r[" + lane.str() + "] = " + asElement(type, number) + ";",
          &instruction);
  dropStandIns();
}

//===----------------------------------------------------------------------===//
// Memory, order
//===----------------------------------------------------------------------===//

/// Of each element that the mask has.
bool FunctionPrinter::maskedIntrinsic(IntrinsicInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  bool isLoad = id == Intrinsic::masked_load, isGather = id == Intrinsic::masked_gather;
  bool isStore = id == Intrinsic::masked_store, isScatter = id == Intrinsic::masked_scatter;
  if (!isLoad && !isGather && !isStore && !isScatter)
    return false;
  bool reads = isLoad || isGather;
  Value *address = call.getArgOperand(reads ? 0 : 1);
  Value *mask = call.getArgOperand(reads ? 1 : 2);
  Value *moved = reads ? call.getArgOperand(2) : call.getArgOperand(0); // or what else is read
  auto *type = cast<FixedVectorType>(moved->getType());
  Type *number = type->getElementType();
  Align align = call.getParamAlign(reads ? 0 : 1).valueOrOne();
  uint64_t bytes = file.layout().getTypeStoreSize(number);
  if (isMask(type) || number->isPointerTy()) {
    fail(call);
    return true;
  }
  if (reads && call.use_empty())
    return true;
  std::string place = use(laneOf(address));
  if (isLoad || isStore)
    place = "(" + place + " + " + std::to_string(bytes) + " * " + lane.str() + ")";
  std::string wanted = use(laneOf(mask));
  bool isAligned = align.value() >= bytes;
  std::string name = file.shortName(number);
  Value *other = laneOf(moved);
  if (reads) {
    std::string loaded = file.use(isAligned ? "load" : "loadany", {name}) + "(" + place + ")";
    forEach(0, type->getNumElements(),
            "r[" + lane.str() + "] = " + wanted + " ? " + loaded + " : " + use(other) + ";", &call);
  } else {
    forEach(0, type->getNumElements(),
            "if (" + wanted + ") " + file.use(isAligned ? "store" : "storeany", {name}) + "(" +
                place + ", " + use(other) + ");",
            nullptr);
  }
  dropStandIns();
  return true;
}

/// One element after the other, from what a sum begins with.
bool FunctionPrinter::reduction(IntrinsicInst &call) {
  static const std::pair<Intrinsic::ID, unsigned> operations[] = {
      {Intrinsic::vector_reduce_add, Instruction::Add},
      {Intrinsic::vector_reduce_mul, Instruction::Mul},
      {Intrinsic::vector_reduce_and, Instruction::And},
      {Intrinsic::vector_reduce_or, Instruction::Or},
      {Intrinsic::vector_reduce_xor, Instruction::Xor},
      {Intrinsic::vector_reduce_fadd, Instruction::FAdd},
      {Intrinsic::vector_reduce_fmul, Instruction::FMul}};
  static const std::pair<Intrinsic::ID, Intrinsic::ID> extremes[] = {
      {Intrinsic::vector_reduce_smin, Intrinsic::smin},
      {Intrinsic::vector_reduce_smax, Intrinsic::smax},
      {Intrinsic::vector_reduce_umin, Intrinsic::umin},
      {Intrinsic::vector_reduce_umax, Intrinsic::umax},
      {Intrinsic::vector_reduce_fmin, Intrinsic::minnum},
      {Intrinsic::vector_reduce_fmax, Intrinsic::maxnum},
      {Intrinsic::vector_reduce_fminimum, Intrinsic::minimum},
      {Intrinsic::vector_reduce_fmaximum, Intrinsic::maximum}};
  auto *operation =
      find_if(operations, [&](auto &one) { return one.first == call.getIntrinsicID(); });
  auto *extreme = find_if(extremes, [&](auto &one) { return one.first == call.getIntrinsicID(); });
  if (operation == std::end(operations) && extreme == std::end(extremes))
    return false;
  if (call.use_empty())
    return true;
  bool hasStart = call.arg_size() == 2;
  Value *vector = call.getArgOperand(hasStart);
  auto *type = cast<FixedVectorType>(vector->getType());
  std::string from = vectorVariable(vector), own = variable(call);
  assign(call, hasStart ? use(call.getArgOperand(0)) : elementOf(from, type, "0u"));
  Value *number = laneOf(vector), *sum = standIn(call.getType(), own);
  Instruction *one =
      operation != std::end(operations)
          ? cast<Instruction>(
                BinaryOperator::Create(Instruction::BinaryOps(operation->second), sum, number))
          : CallInst::Create(Intrinsic::getOrInsertDeclaration(call.getModule(), extreme->second,
                                                               call.getType()),
                             {sum, number});
  forEach(hasStart ? 0 : 1, type->getNumElements(), own + " = " + expression(*one) + ";", nullptr);
  one->deleteValue();
  dropStandIns();
  return true;
}

/// Elements of other widths lie bit by bit in memory, those of a mask as well.
static bool isInBytes(const Type *type) {
  const Type *element = type->getScalarType();
  unsigned bits = element->getScalarSizeInBits();
  return !element->isIntegerTy() || (bits > 1 && bits == containerBits(bits));
}

/// False: it is nothing of vectors.
bool FunctionPrinter::ofVectors(Instruction &instruction) {
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
    if (maskedIntrinsic(*call) || reduction(*call))
      return true;
    if (!vectorType(instruction))
      return false;
    if (!instruction.use_empty() && isWholeVectors(instruction))
      assign(instruction, wholeVectors(instruction));
    else if (!instruction.use_empty())
      elementByElement(instruction);
    return true;
  }
  if (isa<CallInst, PHINode>(instruction))
    return false;
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    auto *type = vectorType(*store->getValueOperand());
    if (!type)
      return false;
    if (store->isVolatile() || !isInBytes(type))
      fail(instruction);
    line(named(file, "vstore", type) + "(" + bare(use(store->getPointerOperand())) + ", " +
         use(store->getValueOperand()) + ");");
    return true;
  }
  auto *type = vectorType(instruction);
  if (!type)
    return false;
  if (instruction.use_empty() || isSplatSource(instruction))
    return true;
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    if (load->isVolatile() || !isInBytes(type))
      fail(instruction);
    assign(instruction,
           named(file, "vload", type) + "(" + bare(use(load->getPointerOperand())).str() + ")");
  } else if (auto *into = dyn_cast<InsertElementInst>(&instruction)) {
    if (isa<UndefValue>(into->getOperand(0)))
      clear(instruction);
    else if (!continuesInsertion(*into))
      assign(instruction, use(into->getOperand(0)));
    line("METATE_ELEMENT(" + variable(instruction) + ", " + use(into->getOperand(2)) +
         ") = " + asElement(type, use(into->getOperand(1))) + ";");
  } else if (isWholeVectors(instruction)) {
    assign(instruction, wholeVectors(instruction));
  } else if (auto *mixed = dyn_cast<ShuffleVectorInst>(&instruction)) {
    shuffle(*mixed);
  } else if (auto *choice = dyn_cast<SelectInst>(&instruction);
             choice && !choice->getCondition()->getType()->isVectorTy()) {
    assign(instruction, expression(instruction));
  } else if (isa<ExtractValueInst>(instruction)) {
    return false;
  } else {
    elementByElement(instruction);
  }
  return true;
}
