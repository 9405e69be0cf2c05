//===- FunctionWriterNumbers.cpp - arithmetic -------------------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Vulkan/Spirv/FunctionWriter.h"

using namespace llvm;
using namespace metate;
using namespace metate::spirv;

static Op binaryOp(unsigned opcode) {
  switch (opcode) {
  case Instruction::Add:
    return Op::IAdd;
  case Instruction::Sub:
    return Op::ISub;
  case Instruction::Mul:
    return Op::IMul;
  case Instruction::UDiv:
    return Op::UDiv;
  case Instruction::SDiv:
    return Op::SDiv;
  case Instruction::URem:
    return Op::UMod;
  case Instruction::Shl:
    return Op::ShiftLeftLogical;
  case Instruction::LShr:
    return Op::ShiftRightLogical;
  case Instruction::AShr:
    return Op::ShiftRightArithmetic;
  case Instruction::And:
    return Op::BitwiseAnd;
  case Instruction::Or:
    return Op::BitwiseOr;
  case Instruction::Xor:
    return Op::BitwiseXor;
  case Instruction::FAdd:
    return Op::FAdd;
  case Instruction::FSub:
    return Op::FSub;
  case Instruction::FMul:
    return Op::FMul;
  default:
    return Op::FDiv;
  }
}

void FunctionWriter::binary(BinaryOperator &operation) {
  if (operation.getType()->isIntegerTy(1))
    return logical(operation);
  if (operation.getOpcode() == Instruction::SRem)
    return remainder(operation);
  if (operation.getOpcode() == Instruction::FRem)
    return fail(operation, "a remainder that is not exact");
  result(binaryOp(operation.getOpcode()), operation,
         {idOf(operation.getOperand(0)), idOf(operation.getOperand(1))});
  if (operation.getType()->isFloatingPointTy() && !operation.hasAllowContract() &&
      !isMutant(Mutant::SpirvContracts))
    module.noContraction(idOf(&operation));
}

/// Booleans are no numbers.
void FunctionWriter::logical(BinaryOperator &operation) {
  uint32_t a = idOf(operation.getOperand(0)), b = idOf(operation.getOperand(1));
  switch (operation.getOpcode()) {
  case Instruction::And:
  case Instruction::Mul:
    return result(Op::LogicalAnd, operation, {a, b});
  case Instruction::Or:
    return result(Op::LogicalOr, operation, {a, b});
  case Instruction::Xor:
  case Instruction::Add:
  case Instruction::Sub:
    return result(Op::LogicalNotEqual, operation, {a, b});
  case Instruction::Shl: // by 0, as are divisors 1: else there is no result
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::UDiv:
  case Instruction::SDiv:
    return result(Op::LogicalAnd, operation, {a, a});
  default:
    return result(Op::LogicalNotEqual, operation, {a, a});
  }
}

/// Vulkan's OpSRem is undefined of negative numbers.
void FunctionWriter::remainder(BinaryOperator &operation) {
  uint32_t a = idOf(operation.getOperand(0)), b = idOf(operation.getOperand(1));
  uint32_t type = typeOf(operation.getType());
  uint32_t product = value(Op::IMul, type, {value(Op::SDiv, type, {a, b}), b});
  result(Op::ISub, operation, {a, product});
}

static Op integerComparison(CmpInst::Predicate predicate) {
  switch (predicate) {
  case CmpInst::ICMP_EQ:
    return Op::IEqual;
  case CmpInst::ICMP_NE:
    return Op::INotEqual;
  case CmpInst::ICMP_UGT:
    return Op::UGreaterThan;
  case CmpInst::ICMP_UGE:
    return Op::UGreaterThanEqual;
  case CmpInst::ICMP_ULT:
    return Op::ULessThan;
  case CmpInst::ICMP_ULE:
    return Op::ULessThanEqual;
  case CmpInst::ICMP_SGT:
    return Op::SGreaterThan;
  case CmpInst::ICMP_SGE:
    return Op::SGreaterThanEqual;
  case CmpInst::ICMP_SLT:
    return Op::SLessThan;
  default:
    return Op::SLessThanEqual;
  }
}

void FunctionWriter::compare(ICmpInst &comparison) {
  if (comparison.getOperand(0)->getType()->isIntegerTy(1))
    return compareBooleans(comparison);
  result(integerComparison(comparison.getPredicate()), comparison,
         {idOf(comparison.getOperand(0)), idOf(comparison.getOperand(1))});
}

/// True is 1, or -1 where it has a sign.
void FunctionWriter::compareBooleans(ICmpInst &comparison) {
  uint32_t a = idOf(comparison.getOperand(0)), b = idOf(comparison.getOperand(1));
  auto negated = [&](uint32_t id) { return value(Op::LogicalNot, module.boolType(), {id}); };
  switch (comparison.getPredicate()) {
  case CmpInst::ICMP_EQ:
    return result(Op::LogicalEqual, comparison, {a, b});
  case CmpInst::ICMP_NE:
    return result(Op::LogicalNotEqual, comparison, {a, b});
  case CmpInst::ICMP_ULT:
  case CmpInst::ICMP_SGT:
    return result(Op::LogicalAnd, comparison, {negated(a), b});
  case CmpInst::ICMP_UGT:
  case CmpInst::ICMP_SLT:
    return result(Op::LogicalAnd, comparison, {a, negated(b)});
  case CmpInst::ICMP_ULE:
  case CmpInst::ICMP_SGE:
    return result(Op::LogicalOr, comparison, {negated(a), b});
  default:
    return result(Op::LogicalOr, comparison, {a, negated(b)});
  }
}

static Op floatComparison(CmpInst::Predicate predicate) {
  switch (predicate) {
  case CmpInst::FCMP_OEQ:
    return Op::FOrdEqual;
  case CmpInst::FCMP_UEQ:
    return Op::FUnordEqual;
  case CmpInst::FCMP_ONE:
    return Op::FOrdNotEqual;
  case CmpInst::FCMP_UNE:
    return Op::FUnordNotEqual;
  case CmpInst::FCMP_OLT:
    return Op::FOrdLessThan;
  case CmpInst::FCMP_ULT:
    return Op::FUnordLessThan;
  case CmpInst::FCMP_OGT:
    return Op::FOrdGreaterThan;
  case CmpInst::FCMP_UGT:
    return Op::FUnordGreaterThan;
  case CmpInst::FCMP_OLE:
    return Op::FOrdLessThanEqual;
  case CmpInst::FCMP_ULE:
    return Op::FUnordLessThanEqual;
  case CmpInst::FCMP_OGE:
    return Op::FOrdGreaterThanEqual;
  default:
    return Op::FUnordGreaterThanEqual;
  }
}

void FunctionWriter::compare(FCmpInst &comparison) {
  Value *first = comparison.getOperand(0), *second = comparison.getOperand(1);
  uint32_t a = idOf(first), b = idOf(second), truth = module.boolType();
  CmpInst::Predicate predicate = comparison.getPredicate();
  if (predicate == CmpInst::FCMP_TRUE || predicate == CmpInst::FCMP_FALSE) {
    uint32_t known = module.integer(1, predicate == CmpInst::FCMP_TRUE);
    return result(Op::LogicalAnd, comparison, {known, known});
  }
  // A device may take a comparison of a number with itself for true, but not this question.
  bool isSelf =
      first == second && (predicate == CmpInst::FCMP_UNE || predicate == CmpInst::FCMP_OEQ);
  bool isNone = predicate == CmpInst::FCMP_UNO || predicate == CmpInst::FCMP_UNE;
  if (!isSelf && predicate != CmpInst::FCMP_UNO && predicate != CmpInst::FCMP_ORD)
    return result(floatComparison(predicate), comparison, {a, b});
  uint32_t none = value(Op::IsNan, truth, {a});
  if (first != second && !isa<Constant>(second))
    none = value(Op::LogicalOr, truth, {none, value(Op::IsNan, truth, {b})});
  result(isNone ? Op::LogicalOr : Op::LogicalNotEqual, comparison,
         {none, isNone ? none : module.integer(1, 1)});
}

void FunctionWriter::ofBoolean(CastInst &cast) {
  Type *to = cast.getType();
  bool isSigned = cast.getOpcode() == Instruction::SExt || cast.getOpcode() == Instruction::SIToFP;
  Constant *zero = Constant::getNullValue(to), *one;
  if (to->isIntegerTy())
    one = isSigned ? ConstantInt::getAllOnesValue(to) : ConstantInt::get(to, 1);
  else
    one = ConstantFP::get(to, isSigned ? -1.0 : 1.0);
  result(Op::Select, cast,
         {idOf(cast.getOperand(0)), module.constantOf(one), module.constantOf(zero)});
}

void FunctionWriter::convert(CastInst &cast) {
  Value *from = cast.getOperand(0);
  bool isBoolean = from->getType()->isIntegerTy(1);
  if (isBoolean && cast.getOpcode() != Instruction::BitCast)
    return ofBoolean(cast);
  uint32_t a = idOf(from);
  switch (cast.getOpcode()) {
  case Instruction::Trunc:
    if (cast.getType()->isIntegerTy(1)) {
      unsigned width = from->getType()->getIntegerBitWidth();
      uint32_t bit = value(Op::BitwiseAnd, typeOf(from->getType()), {a, module.integer(width, 1)});
      return result(Op::INotEqual, cast, {bit, module.integer(width, 0)});
    }
    return result(Op::UConvert, cast, {a});
  case Instruction::ZExt:
    return result(Op::UConvert, cast, {a});
  case Instruction::SExt:
    return result(Op::SConvert, cast, {a});
  case Instruction::FPTrunc:
  case Instruction::FPExt:
    return result(Op::FConvert, cast, {a});
  case Instruction::FPToUI:
    return result(Op::ConvertFToU, cast, {a});
  case Instruction::FPToSI:
    return result(Op::ConvertFToS, cast, {a});
  case Instruction::UIToFP:
    return result(Op::ConvertUToF, cast, {a});
  case Instruction::SIToFP:
    return result(Op::ConvertSToF, cast, {a});
  case Instruction::BitCast:
    return result(Op::Bitcast, cast, {a});
  default:
    fail(cast, "a conversion that SPIR-V lacks");
  }
}

/// Which invocation this is of the launch, or how many there are.
void FunctionWriter::invocation(CallInst &call, bool isCount) {
  uint32_t word = module.intType(32);
  uint32_t vector = module.vectorType();
  uint32_t variable =
      module.builtIn(isCount ? builtInNumWorkgroups : builtInGlobalInvocationId, vector);
  uint32_t all = value(Op::Load, vector, {variable});
  uint32_t first = value(Op::CompositeExtract, word, {all, 0});
  if (isCount)
    first = value(Op::IMul, word, {first, module.integer(32, group)});
  result(Op::UConvert, call, {first});
}

/// Its number among those that run in step.
void FunctionWriter::lane(CallInst &call) {
  module.need(Capability::GroupNonUniform);
  uint32_t word = module.intType(32);
  result(Op::Load, call, {module.builtIn(builtInSubgroupLocalInvocationId, word)});
}

void FunctionWriter::call(CallInst &call) {
  Function *callee = call.getCalledFunction();
  if (!callee || !isKept(call))
    return fail(call, "a call");
  if (callee->getName() == laneName)
    return lane(call);
  if (callee->getName() == barrierName)
    return barrier();
  if (!callee->isIntrinsic())
    return invocation(call, callee->getName() == "metate_grid_invocations");
  SmallVector<uint32_t> operands;
  for (Value *argument : call.args())
    operands.push_back(idOf(argument));
  auto extended = [&](Glsl which) {
    SmallVector<uint32_t> words = {module.glsl(), uint32_t(which)};
    append_range(words, operands);
    result(Op::ExtInst, call, words);
  };
  uint32_t type = typeOf(call.getType());
  switch (callee->getIntrinsicID()) {
  case Intrinsic::fabs:
    return extended(Glsl::FAbs);
  case Intrinsic::floor:
    return extended(Glsl::Floor);
  case Intrinsic::ceil:
    return extended(Glsl::Ceil);
  case Intrinsic::trunc:
    return extended(Glsl::Trunc);
  case Intrinsic::roundeven:
    return extended(Glsl::RoundEven);
  case Intrinsic::sqrt:
    return extended(Glsl::Sqrt);
  case Intrinsic::fma:
    extended(Glsl::Fma);
    return module.noContraction(idOf(&call));
  case Intrinsic::ctpop:
    return result(Op::BitCount, call, operands);
  case Intrinsic::bitreverse:
    return result(Op::BitReverse, call, operands);
  case Intrinsic::ctlz: // of zero the highest one is -1
    return result(Op::ISub, call,
                  {module.integer(32, 31), glsl(Glsl::FindUMsb, type, {operands[0]})});
  case Intrinsic::cttz:
    operands = {glsl(Glsl::FindILsb, type, {operands[0]}), module.integer(32, 32)};
    return extended(Glsl::UMin);
  default:
    return fail(call, "a call");
  }
}
