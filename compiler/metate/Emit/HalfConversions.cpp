//===- HalfConversions.cpp - f16 and bf16 in integer arithmetic -*- C++ -*-===//
//
// Round to nearest, ties to even; NaNs stay NaNs and become quiet. From f64 the value first becomes
// an f32 by rounding to odd, which keeps what the second rounding needs to know (Boldo and
// Melquiond, "Emulation of a FMA and correctly rounded sums", 2008), so that the result is rounded
// once.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/HalfConversions.h"
#include "metate/Mutants/Mutants.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

// f16 is 1 sign, 5 exponent, 10 mantissa bits; bf16 is the upper half of an f32. 1199570944 =
// 65536.0f, the first power of two that f16 cannot hold; 947912704 = 2^-14, its least normal
// number; 1056964608 = 0.5f, whose unit in the last place is f16's least denormal, 2^-24: adding it
// leaves the denormal's mantissa in the low bits. Weak: each part of the code may bring them.
static constexpr const char *functions = R"(
define weak_odr hidden half @__truncsfhf2(float %value) nounwind {
  %bits = bitcast float %value to i32
  %sign = and i32 %bits, -2147483648
  %magnitude = xor i32 %bits, %sign
  %absolute = bitcast i32 %magnitude to float
  %shifted = fadd float %absolute, 5.000000e-01
  %shifted.bits = bitcast float %shifted to i32
  %denormal = sub i32 %shifted.bits, 1056964608
  %down = lshr i32 %magnitude, 13
  %odd = and i32 %down, 1
  %rebased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebased, %odd
  %normal = lshr i32 %rounded, 13
  %payload = and i32 %down, 1023
  %nan = or i32 %payload, 32256
  %is.nan = icmp ugt i32 %magnitude, 2139095040
  %special = select i1 %is.nan, i32 %nan, i32 31744
  %is.small = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is.small, i32 %denormal, i32 %normal
  %is.large = icmp uge i32 %magnitude, 1199570944
  %result = select i1 %is.large, i32 %special, i32 %finite
  %sign.half = lshr i32 %sign, 16
  %signed = or i32 %result, %sign.half
  %half.bits = trunc i32 %signed to i16
  %half = bitcast i16 %half.bits to half
  ret half %half
}

define weak_odr hidden float @__extendhfsf2(half %value) nounwind {
  %half.bits = bitcast half %value to i16
  %bits = zext i16 %half.bits to i32
  %sign = and i32 %bits, 32768
  %sign.float = shl i32 %sign, 16
  %magnitude = and i32 %bits, 32767
  %up = shl i32 %magnitude, 13
  %normal = add i32 %up, 939524096
  %infinite = or i32 %up, 2139095040
  %is.nan = icmp ugt i32 %magnitude, 31744
  %quiet = or i32 %infinite, 4194304
  %special = select i1 %is.nan, i32 %quiet, i32 %infinite
  %integer = uitofp i32 %magnitude to float
  %scaled = fmul float %integer, 0x3E70000000000000
  %denormal = bitcast float %scaled to i32
  %is.small = icmp ult i32 %magnitude, 1024
  %finite = select i1 %is.small, i32 %denormal, i32 %normal
  %is.large = icmp uge i32 %magnitude, 31744
  %result = select i1 %is.large, i32 %special, i32 %finite
  %signed = or i32 %result, %sign.float
  %float = bitcast i32 %signed to float
  ret float %float
}

define weak_odr hidden bfloat @__truncsfbf2(float %value) nounwind {
  %bits = bitcast float %value to i32
  %up = lshr i32 %bits, 16
  %odd = and i32 %up, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %nan = or i32 %up, 64
  %is.nan = fcmp uno float %value, 0.000000e+00
  %result = select i1 %is.nan, i32 %nan, i32 %rounded
  %half.bits = trunc i32 %result to i16
  %half = bitcast i16 %half.bits to bfloat
  ret bfloat %half
}

define weak_odr hidden float @metate_round_to_odd(double %value) nounwind {
  %near = fptrunc double %value to float
  %back = fpext float %near to double
  %inexact = fcmp one double %back, %value
  %back.bits = bitcast double %back to i64
  %value.bits = bitcast double %value to i64
  %back.magnitude = and i64 %back.bits, 9223372036854775807
  %magnitude = and i64 %value.bits, 9223372036854775807
  %above = icmp ugt i64 %back.magnitude, %magnitude
  %step = sext i1 %above to i32
  %bits = bitcast float %near to i32
  %down = add i32 %bits, %step
  %odd = or i32 %down, 1
  %result = select i1 %inexact, i32 %odd, i32 %bits
  %float = bitcast i32 %result to float
  ret float %float
}

define weak_odr hidden half @__truncdfhf2(double %value) nounwind {
  %float = call float @metate_round_to_odd(double %value)
  %half = call half @__truncsfhf2(float %float)
  ret half %half
}

define weak_odr hidden bfloat @__truncdfbf2(double %value) nounwind {
  %float = call float @metate_round_to_odd(double %value)
  %half = call bfloat @__truncsfbf2(float %float)
  ret bfloat %half
}
)";

namespace {
/// How code generators call what the text above has, where a half is an integer to calls.
struct IntegerForm {
  StringLiteral narrow, narrowDouble, widen; ///< symbols
  StringLiteral convention;                  ///< of the calls
};
} // namespace

/// None: halves are passed as halves.
static const IntegerForm *integerForm(const Triple &triple) {
  // Arm's run-time ABI: floats in integer registers, whatever the program does.
  static constexpr IntegerForm arm = {"__aeabi_f2h", "__aeabi_d2h", "__aeabi_h2f", "arm_aapcscc "};
  static constexpr IntegerForm wasm = {"__truncsfhf2", "__truncdfhf2", "__extendhfsf2", ""};
  return triple.isThumb() ? &arm : triple.isWasm() ? &wasm : nullptr;
}

/// The text in that form: bits come in and go out as i16.
static std::string inIntegerForm(std::string text, const IntegerForm &form) {
  auto replace = [&](StringRef from, const Twine &to) {
    std::string by = to.str();
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += by.size())
      text.replace(at, from.size(), by);
  };
  replace("  %half = bitcast i16 %half.bits to half\n  ret half %half", "  ret i16 %half.bits");
  replace("  %half.bits = bitcast half %value to i16\n", "");
  replace("float @__extendhfsf2(half %value)",
          form.convention + "float @" + form.widen + "(i16 %half.bits)");
  replace("  %half = call half @__truncsfhf2(float %float)\n  ret half %half",
          "  %half = call " + form.convention + "i16 @" + form.narrow +
              "(float %float)\n  ret i16 %half");
  replace("half @__truncsfhf2(", form.convention + "i16 @" + form.narrow + "(");
  replace("half @__truncdfhf2(", form.convention + "i16 @" + form.narrowDouble + "(");
  return text;
}

static bool isHalf(Type *type) {
  Type *scalar = type->getScalarType();
  return scalar->isHalfTy() || scalar->isBFloatTy();
}

static bool usesHalves(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isHalf(instruction.getType()) ||
          any_of(instruction.operands(), [](const Use &use) { return isHalf(use->getType()); }))
        return true;
  return false;
}

/// A number as a bf16, by a call.
static Value *toBFloat(IRBuilder<> &builder, Value *number) {
  Module &module = *builder.GetInsertBlock()->getModule();
  StringRef name = number->getType()->isDoubleTy() ? "__truncdfbf2" : "__truncsfbf2";
  return builder.CreateCall(
      module.getOrInsertFunction(name, builder.getBFloatTy(), number->getType()), number);
}

/// LLVM 22's selection takes the sign of what it rounds to bf16 to be clear, when the bits are looked at, and folds questions
/// about it. Of what a function gives it knows nothing.
static void callForBFloats(Module &module) {
  SmallVector<CastInst *> casts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isa<FPTruncInst, SIToFPInst, UIToFPInst>(instruction) &&
          instruction.getType()->getScalarType()->isBFloatTy())
        casts.push_back(cast<CastInst>(&instruction));
  for (CastInst *cast : casts) {
    IRBuilder<> builder(cast);
    Value *from = cast->getOperand(0), *made;
    auto *vector = dyn_cast<FixedVectorType>(cast->getType());
    if (!isa<FPTruncInst>(cast)) // by way of f32, as the selection goes
      from = builder.CreateCast(cast->getOpcode(), from,
                                from->getType()->getWithNewType(builder.getFloatTy()));
    if (vector) {
      made = PoisonValue::get(vector);
      for (unsigned k = 0; k < vector->getNumElements(); ++k)
        made = builder.CreateInsertElement(
            made, toBFloat(builder, builder.CreateExtractElement(from, k)), k);
    } else {
      made = toBFloat(builder, from);
    }
    cast->replaceAllUsesWith(made);
    cast->eraseFromParent();
  }
}

/// LLVM 22 cannot select loads and stores of bf16 for WebAssembly, and would end the process.
static Error checkSelection(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      const Type *type = isa<StoreInst>(instruction) ? instruction.getOperand(0)->getType()
                                                     : instruction.getType();
      if (!type->getScalarType()->isBFloatTy())
        continue;
      std::string place = "a kernel";
      if (const DILocation *at = instruction.getDebugLoc())
        place = (at->getFilename() + ":" + Twine(at->getLine())).str();
      return createStringError(place + ": bf16 has no code for '" + module.getTargetTriple().str() +
                               "': use f16 or f32 there");
    }
  return Error::success();
}

Error metate::addHalfConversions(Module &module) {
  const Triple &triple = module.getTargetTriple();
  if (triple.getArch() == Triple::aarch64 || !usesHalves(module)) // it has instructions
    return Error::success();
  if (triple.isWasm())
    if (Error error = checkSelection(module))
      return error;
  callForBFloats(module);
  SMDiagnostic diagnostic;
  LLVMContext &context = module.getContext();
  bool discards = context.shouldDiscardValueNames();
  context.setDiscardValueNames(false); // the text names its values
  std::string text = functions;
  if (const IntegerForm *form = integerForm(triple))
    text = inIntegerForm(text, *form);
  if (isMutant(Mutant::HalfTruncates)) // the exponent's change without half a unit
    text.replace(text.find("-939520001"), 10, "-939524096");
  std::unique_ptr<Module> library = parseAssemblyString(text, diagnostic, context);
  context.setDiscardValueNames(discards);
  if (!library)
    return createStringError("the half conversions do not parse: " + diagnostic.getMessage());
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  if (Linker::linkModules(module, std::move(library)))
    return createStringError("the half conversions could not be linked");
  return Error::success();
}
