//===- FunctionCalls.cpp - calls and LLVM's own functions -------*- C++ -*-===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

/// An operand as a parameter of that type takes it.
std::string FunctionPrinter::argument(Value *value, StringRef type) {
  if (!value->getType()->isPointerTy())
    return use(value);
  auto *function = dyn_cast<Function>(value->stripPointerCasts());
  if (function && !type.ends_with("*")) // a type of functions
    return file.nameOf(*function);
  if (type.starts_with("metate_pointer"))
    return "(" + type.str() + ")" + file.use("tofunction") + "(" + use(value) + ")";
  if (type == "unsigned char *" || type == "void *")
    return use(value);
  return "(" + type.str() + ")" + use(value);
}

std::string FunctionPrinter::callOf(CallInst &call) {
  Function *callee = call.getCalledFunction();
  Prototype prototype =
      callee ? file.prototypeOf(*callee) : file.prototypeOf(*call.getFunctionType());
  std::string name;
  if (callee && callee->isDeclaration() && callee->getName() == pointerAt)
    name = file.use("pointerat");
  else if (callee)
    name = file.nameOf(*callee);
  else
    name = "((" + file.pointerType(prototype) + ")" + file.use("tofunction") + "(" +
           use(call.getCalledOperand()) + "))";
  if (callee && callee->isDeclaration())
    file.needsMath();
  std::vector<std::string> arguments;
  for (auto [k, value] : enumerate(call.args())) {
    if (call.isByValArgument(k))
      fail(call);
    arguments.push_back(bare(argument(value, prototype.parameters[k])).str());
  }
  std::string text = name + "(" + join(arguments, ", ") + ")";
  Type *type = call.getType();
  if (!type->isVoidTy() && prototype.result != file.typeName(type))
    text = "(" + file.typeName(type) + ")" + text;
  return text;
}

void FunctionPrinter::call(CallInst &call) {
  auto *own = dyn_cast<IntrinsicInst>(&call);
  if (own && memoryIntrinsic(*own))
    return;
  if (own && isa<WithOverflowInst>(own)) {
    if (!call.use_empty())
      line(overflow(*own));
    return;
  }
  if (call.isInlineAsm())
    return fail(call);
  if (own && call.use_empty())
    return;
  std::string text = own ? intrinsic(*own) : callOf(call);
  if (call.getType()->isVoidTy())
    return line(text + ";");
  if (call.use_empty())
    return line("(void)" + text + ";");
  assign(call, text);
}

/// What reads, writes or says something of memory; false: it is none of these.
bool FunctionPrinter::memoryIntrinsic(IntrinsicInst &call) {
  auto copy = [&](const char *function) {
    std::string to = use(call.getArgOperand(0)), from = use(call.getArgOperand(1));
    line(std::string(function) + "(" + to + ", " + from + ", (size_t)" +
         use(call.getArgOperand(2)) + ");");
    return true;
  };
  switch (call.getIntrinsicID()) {
  case Intrinsic::memcpy:
  case Intrinsic::memcpy_inline:
    return copy("memcpy");
  case Intrinsic::memmove:
    return copy("memmove");
  case Intrinsic::memset:
  case Intrinsic::memset_inline:
    return copy("memset");
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::assume:
  case Intrinsic::prefetch:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::sideeffect:
  case Intrinsic::donothing:
  case Intrinsic::stackrestore:
    return true;
  case Intrinsic::stacksave: // how deep calls are
    if (!all_of(call.users(), [](const User *user) {
          auto *other = dyn_cast<IntrinsicInst>(user);
          return other && other->getIntrinsicID() == Intrinsic::stackrestore;
        })) {
      file.use("frame");
      assign(call, "METATE_FRAME()");
    }
    return true;
  case Intrinsic::trap:
  case Intrinsic::ubsantrap:
    line("for (;;) {\n  }");
    return true;
  default:
    return false;
  }
}

std::string FunctionPrinter::overflow(IntrinsicInst &call) {
  static const std::pair<Intrinsic::ID, const char *> names[] = {
      {Intrinsic::uadd_with_overflow, "uaddoverflow"},
      {Intrinsic::sadd_with_overflow, "saddoverflow"},
      {Intrinsic::usub_with_overflow, "usuboverflow"},
      {Intrinsic::ssub_with_overflow, "ssuboverflow"},
      {Intrinsic::umul_with_overflow, "umuloverflow"},
      {Intrinsic::smul_with_overflow, "smuloverflow"}};
  Type *type = call.getArgOperand(0)->getType();
  if (!type->isIntegerTy() ||
      type->getIntegerBitWidth() != containerBits(type->getIntegerBitWidth())) {
    fail(call);
    return "";
  }
  std::string own = variable(call);
  for (auto [id, name] : names)
    if (call.getIntrinsicID() == id)
      return own + ".f1 = " + file.use(name, {file.shortName(type)}) + "(" +
             use(call.getArgOperand(0)) + ", " + use(call.getArgOperand(1)) + ", &" + own + ".f0);";
  fail(call);
  return "";
}

/// Functions of the C library that are exact or rounded once.
std::string FunctionPrinter::mathIntrinsic(IntrinsicInst &call) {
  static const std::pair<Intrinsic::ID, const char *> names[] = {
      {Intrinsic::sqrt, "sqrt"},         {Intrinsic::floor, "floor"},    {Intrinsic::ceil, "ceil"},
      {Intrinsic::trunc, "trunc"},       {Intrinsic::round, "round"},    {Intrinsic::rint, "rint"},
      {Intrinsic::nearbyint, "rint"},    {Intrinsic::roundeven, "rint"}, {Intrinsic::fabs, "fabs"},
      {Intrinsic::copysign, "copysign"}, {Intrinsic::fma, "fma"}};
  Type *type = call.getType();
  auto arguments = [&] {
    std::vector<std::string> list;
    for (Value *value : call.args())
      list.push_back(bare(asFloat(value)).str());
    return "(" + join(list, ", ") + ")";
  };
  bool isHalf = type->getScalarSizeInBits() == 16;
  std::string kind = type->isDoubleTy() ? "f64" : "f32", text;
  for (auto [id, name] : names)
    if (call.getIntrinsicID() == id) {
      file.needsMath();
      if (id == Intrinsic::sqrt)
        file.use("errno");
      text = std::string(name) + (type->isDoubleTy() ? "" : "f") + arguments();
    }
  static const std::pair<Intrinsic::ID, const char *> extremes[] = {
      {Intrinsic::minnum, "minnum"},     {Intrinsic::maxnum, "maxnum"},
      {Intrinsic::minimumnum, "minnum"}, {Intrinsic::maximumnum, "maxnum"},
      {Intrinsic::minimum, "minimum"},   {Intrinsic::maximum, "maximum"}};
  for (auto [id, name] : extremes)
    if (call.getIntrinsicID() == id) {
      file.needsMath();
      text = file.use(name, {kind}) + arguments();
    }
  if (call.getIntrinsicID() == Intrinsic::fmuladd) {
    std::string product = asFloat(call.getArgOperand(0)) + " * " + asFloat(call.getArgOperand(1));
    if (isHalf) // rounded in between
      product = file.use(type->isHalfTy() ? "f16tof32" : "bf16tof32") + "(" +
                fromFloat(type, product) + ")";
    text = "(" + product + " + " + asFloat(call.getArgOperand(2)) + ")";
  }
  return text.empty() || !isHalf ? text : fromFloat(type, text);
}

std::string FunctionPrinter::numberIntrinsic(IntrinsicInst &call) {
  static const std::pair<Intrinsic::ID, const char *> names[] = {
      {Intrinsic::smin, "smin"},        {Intrinsic::smax, "smax"},
      {Intrinsic::umin, "umin"},        {Intrinsic::umax, "umax"},
      {Intrinsic::abs, "abs"},          {Intrinsic::ctpop, "ctpop"},
      {Intrinsic::ctlz, "ctlz"},        {Intrinsic::cttz, "cttz"},
      {Intrinsic::bswap, "bswap"},      {Intrinsic::bitreverse, "bitreverse"},
      {Intrinsic::fshl, "fshl"},        {Intrinsic::fshr, "fshr"},
      {Intrinsic::uadd_sat, "uaddsat"}, {Intrinsic::usub_sat, "usubsat"},
      {Intrinsic::sadd_sat, "saddsat"}, {Intrinsic::ssub_sat, "ssubsat"}};
  Type *type = call.getType();
  for (auto [id, name] : names) {
    if (call.getIntrinsicID() != id)
      continue;
    unsigned width = type->getIntegerBitWidth();
    if (width == 1 && call.arg_size() == 2 && !isa<ConstantInt>(call.getArgOperand(1))) {
      // Of booleans -1 is the least with a sign.
      bool isOr = id == Intrinsic::umax || id == Intrinsic::smin;
      return "((uint8_t)(" + use(call.getArgOperand(0)) + (isOr ? " | " : " & ") +
             use(call.getArgOperand(1)) + "))";
    }
    bool isOdd = width != containerBits(width) && id != Intrinsic::umin && id != Intrinsic::umax &&
                 id != Intrinsic::ctpop && id != Intrinsic::usub_sat;
    if (isOdd && (id == Intrinsic::sadd_sat || id == Intrinsic::ssub_sat))
      return "";
    // Whether zero or the least number counts is no operand here: both have a result.
    bool hasFlag = id == Intrinsic::abs || id == Intrinsic::ctlz || id == Intrinsic::cttz;
    std::vector<std::string> list;
    for (unsigned k = 0; k < call.arg_size() - hasFlag; ++k)
      list.push_back(bare(use(call.getArgOperand(k))).str());
    std::string own =
        isOdd ? file.use(std::string(name) + "odd", {file.shortName(type), std::to_string(width)})
              : file.use(name, {file.shortName(type)});
    return own + "(" + join(list, ", ") + ")";
  }
  if (call.getIntrinsicID() == Intrinsic::scmp || call.getIntrinsicID() == Intrinsic::ucmp) {
    Type *compared = call.getArgOperand(0)->getType();
    unsigned width = compared->getIntegerBitWidth();
    if (width != containerBits(width) || type->getIntegerBitWidth() < 8)
      return "";
    StringRef name = call.getIntrinsicID() == Intrinsic::scmp ? "scmp" : "ucmp";
    return "((" + file.typeName(type) + ")" + file.use(name, {file.shortName(compared)}) + "(" +
           use(call.getArgOperand(0)) + ", " + use(call.getArgOperand(1)) + "))";
  }
  return "";
}

/// Which of the classes (llvm::FPClassTest) a number is of, by its bits.
std::string FunctionPrinter::classOf(IntrinsicInst &call) {
  Value *value = call.getArgOperand(0);
  auto wanted = FPClassTest(cast<ConstantInt>(call.getArgOperand(1))->getZExtValue());
  Type *type = value->getType();
  unsigned width = type->getScalarSizeInBits();
  if (type->isVectorTy() || width > 64)
    return "";
  std::string bits = use(value); // of 16 bits they are what C has
  if (width > 16)
    bits = file.use("bits", width == 64 ? ArrayRef<std::string>{"f64", "u64"}
                                        : ArrayRef<std::string>{"f32", "u32"}) +
           "(" + bits + ")";
  return "((uint8_t)((" + file.use("classof") + "(" + bits + ", " + std::to_string(width) + "u, " +
         std::to_string(type->getFPMantissaWidth() - 1) + "u) & " +
         std::to_string(unsigned(wanted)) + "u) != 0))";
}

std::string FunctionPrinter::intrinsic(IntrinsicInst &call) {
  Type *type = call.getType();
  std::string text;
  if (!type->isVectorTy() && type->isFloatingPointTy())
    text = mathIntrinsic(call);
  else if (type->isIntegerTy())
    text = numberIntrinsic(call);
  switch (call.getIntrinsicID()) {
  case Intrinsic::is_fpclass:
    text = classOf(call);
    break;
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat: {
    Value *from = call.getArgOperand(0);
    unsigned width = type->getIntegerBitWidth();
    if (width != containerBits(width))
      break;
    std::string kind = from->getType()->isDoubleTy() ? "f64" : "f32";
    text = file.use(call.getIntrinsicID() == Intrinsic::fptosi_sat ? "fptosisat" : "fptouisat",
                    {file.shortName(type), kind}) +
           "(" + asFloat(from) + ")";
    break;
  }
  case Intrinsic::expect:
  case Intrinsic::launder_invariant_group:
  case Intrinsic::strip_invariant_group:
  case Intrinsic::annotation:
    text = use(call.getArgOperand(0));
    break;
  case Intrinsic::ptrmask:
    text = "((unsigned char *)((uintptr_t)" + use(call.getArgOperand(0)) + " & (uintptr_t)" +
           use(call.getArgOperand(1)) + "))";
    break;
  case Intrinsic::is_constant:
    text = "0u";
    break;
  default:
    break;
  }
  if (text.empty())
    fail(call);
  return text;
}
