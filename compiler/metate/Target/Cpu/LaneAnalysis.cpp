//===- LaneAnalysis.cpp - what differs from lane to lane -------------------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Of numbers of 32 bits; lanes are few, so that the first one's is not far from any other's.
static constexpr int64_t mostNarrowStride = 1 << 10;

/// Bytes of an iteration's own array that lanes have a row of: all of them stay in the first cache.
static constexpr int64_t mostOwnBytes = 1024;

/// The number of 32 bits that is a coordinate by itself: nothing but products of other coordinates is added to it.
static bool isCoordinate(const LinearForm &offset, Value number, int64_t coefficient) {
  auto cast = number.getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getType().isInteger(32) &&
         llvm::all_of(offset.terms, [&](auto &term) {
           return term.first == number || term.second != coefficient ||
                  term.first.template getDefiningOp<arith::MulIOp>();
         });
}

std::optional<int64_t> LaneAnalysis::narrowStride(Value number) const {
  int64_t stride = 0;
  for (auto [term, coefficient] : LinearForm::of(number).terms) {
    if (isSame(term))
      continue;
    auto narrowed = term.getDefiningOp<arith::IndexCastOp>();
    if (term.getType().isIndex() || !narrowed || narrowed.getIn() != variable)
      return std::nullopt;
    stride += isMutant(Mutant::FallingRowRises) ? std::abs(coefficient) : coefficient;
  }
  return std::abs(stride) <= mostNarrowStride ? std::optional(stride) : std::nullopt;
}

std::optional<int64_t> LaneAnalysis::stride(Value offset) const {
  LinearForm form = LinearForm::of(offset);
  int64_t stride = form.coefficient(variable);
  for (auto [term, coefficient] : form.terms) {
    if (term == variable || isSame(term))
      continue;
    // The numbers of lanes that access anything are coordinates: not negative, and less than 2^31. So they are as far apart
    // as they are modulo 2^32, and the first lane's, from which the others are counted, has not wrapped either.
    std::optional<int64_t> narrow = isCoordinate(form, term, coefficient)
                                        ? narrowStride(term.getDefiningOp()->getOperand(0))
                                        : std::nullopt;
    if (!narrow)
      return std::nullopt;
    stride += coefficient * *narrow;
  }
  return stride;
}

bool LaneAnalysis::isRow(Value offset, Type type) const {
  if (type.isInteger(1)) // lanes would be bits
    return false;
  return stride(offset) == int64_t(type.getIntOrFloatBitWidth() / 8);
}

std::optional<LaneAnalysis::MemberRow> LaneAnalysis::memberRow(Operation *access, Value offset,
                                                               Type type) const {
  auto member = access->getAttrOfType<DenseI64ArrayAttr>(mark::member);
  if (!member || !isStored(type))
    return std::nullopt;
  int64_t begin = member[1], bytes = member[2], size = type.getIntOrFloatBitWidth() / 8;
  if (stride(offset) != bytes || bytes % size || begin % size)
    return std::nullopt;
  return MemberRow{member[0], bytes, bytes / size, begin / size};
}

bool LaneAnalysis::isNumber(Type type) const {
  if (auto vector = dyn_cast<VectorType>(type))
    return isNumber(vector.getElementType());
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() <= 64)
    return integer.getWidth() == 1 || integer.getWidth() >= least;
  return type.isIndex() || type.isF32() || type.isF64();
}

bool LaneAnalysis::isOwnArray(Value array) const {
  auto alloca = array.getDefiningOp<memref::AllocaOp>();
  if (!arrays || !alloca || !body->getParentOp()->isProperAncestor(alloca))
    return false;
  MemRefType type = alloca.getType();
  return type.hasStaticShape() && type.getRank() <= 1 && type.getLayout().isIdentity() &&
         isStored(type.getElementType()) && type.getElementTypeBitWidth() >= least &&
         type.getNumElements() * type.getElementTypeBitWidth() / 8 <= mostOwnBytes &&
         llvm::all_of(alloca->getUsers(), [&](Operation *user) {
           auto store = dyn_cast<memref::StoreOp>(user);
           return store ? store.getValue() != array : isa<memref::LoadOp>(user);
         });
}

bool LaneAnalysis::isStored(Type type) const {
  return !isa<VectorType, IndexType>(type) && isNumber(type);
}

bool LaneAnalysis::isCommon(Operation *control) const {
  if (auto loop = dyn_cast<scf::ForOp>(control))
    return isSame(loop.getLowerBound()) && isSame(loop.getUpperBound()) && isSame(loop.getStep());
  if (auto loop = dyn_cast<scf::WhileOp>(control))
    return isSame(loop.getConditionOp().getCondition());
  return isSame(cast<scf::IfOp>(control).getCondition());
}

bool LaneAnalysis::markWhere(ValueRange values, ValueRange from) {
  bool isNews = false;
  for (auto [value, source] : llvm::zip(values, from))
    isNews |= mark(value, !isSame(source));
  return isNews;
}

void LaneAnalysis::spread(Block &block) {
  for (Operation &op : block.without_terminator())
    spread(op);
}

void LaneAnalysis::spread(scf::ForOp loop) {
  mark(loop.getInductionVar(), !isSame(loop.getLowerBound()) || !isSame(loop.getStep()));
  markWhere(loop.getRegionIterArgs(), loop.getInitArgs());
  do
    spread(*loop.getBody());
  while (markWhere(loop.getRegionIterArgs(), loop.getYieldedValues()));
  for (auto [result, carried] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    mark(result, !isCommon(loop) || !isSame(carried));
}

void LaneAnalysis::spread(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  markWhere(loop.getBeforeArguments(), loop.getInits());
  do {
    spread(*loop.getBeforeBody());
    markWhere(loop.getAfterArguments(), condition.getArgs());
    spread(*loop.getAfterBody());
  } while (markWhere(loop.getBeforeArguments(), loop.getYieldOp().getOperands()));
  for (auto [result, given] : llvm::zip(loop.getResults(), condition.getArgs()))
    mark(result, !isCommon(loop) || !isSame(given));
}

void LaneAnalysis::spread(Operation &op) {
  if (auto inner = dyn_cast<scf::ForOp>(op))
    return spread(inner);
  if (auto inner = dyn_cast<scf::WhileOp>(op))
    return spread(inner);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &side : branch->getRegions())
      if (!side.empty()) {
        spread(side.front());
        markWhere(branch.getResults(), side.front().getTerminator()->getOperands());
      }
    for (Value result : branch.getResults())
      mark(result, !isCommon(branch));
    return;
  }
  // Of one place, each lane gets what the lane before has left; what is in arrays of their own, each has computed.
  bool isDifferent = isa<RmwOp, memref::LoadOp>(op) ||
                     !llvm::all_of(op.getOperands(), [&](Value value) { return isSame(value); });
  for (Value result : op.getResults())
    mark(result, isDifferent);
}

std::optional<Accumulation> Accumulation::of(Operation &op) {
  auto store = dyn_cast<LLVM::StoreOp>(op);
  for (Operation *step = &op; !store && step->getNumResults() == 1 && step->hasOneUse();)
    store = dyn_cast<LLVM::StoreOp>(step = *step->user_begin());
  Operation *step = store ? store.getValue().getDefiningOp() : nullptr;
  if (!step || !store.getAddr().getDefiningOp<LLVM::AllocaOp>() || step->getNumResults() != 1 ||
      step->getNumOperands() != 2 || !step->hasOneUse() || step->getBlock() != store->getBlock())
    return std::nullopt;
  for (unsigned k : {0u, 1u}) {
    auto load = step->getOperand(k).getDefiningOp<LLVM::LoadOp>();
    if (load && load->hasOneUse() && load.getAddr() == store.getAddr() &&
        load->getBlock() == store->getBlock() && (&op == load || &op == step || &op == store))
      return Accumulation{load, step, store, k};
  }
  return std::nullopt;
}

bool LaneAnalysis::isPossible(Block &block) {
  auto found =
      llvm::find_if(block.without_terminator(), [&](Operation &op) { return !isPossible(op); });
  if (found == block.without_terminator().end())
    return true;
  if (!blocking)
    blocking = &*found;
  return false;
}

llvm::StringRef cpu::obstacleName(Operation *op) {
  if (isa<RmwOp, CasOp>(op))
    return "an atomic operation on what is no number of 32 or 64 bits, or in several places";
  if (isa<scf::IfOp, scf::WhileOp, scf::ForOp>(op))
    return "a branch or loop that gives what is no number";
  if (isa<ReadOp>(op))
    return "a read of what is no number of 32 or 64 bits";
  if (isa<WriteOp>(op))
    return "a write of one place, or of what is no number of 32 or 64 bits";
  if (isa<memref::AllocaOp, memref::LoadOp, memref::StoreOp>(op))
    return "an array of the iteration's own that is large, or of what is no number of 32 or 64 "
           "bits";
  if (isa<math::MathDialect>(op->getDialect()))
    return "a function of the C library";
  if (op->hasTrait<OpTrait::Elementwise>())
    return "arithmetic in a type that is not computed in lanes";
  return "a call, or an operation with effects of its own";
}

static bool isWidened(Operation &op) {
  if (auto extract = dyn_cast<vector::ExtractOp>(op))
    return !extract.hasDynamicPosition();
  if (isa<vector::FromElementsOp, vector::ToElementsOp, vector::ShapeCastOp>(op))
    return true;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(broadcast.getSourceType());
  // Functions of the C library take one number at a time.
  if (isa<math::MathDialect>(op.getDialect()) &&
      !isa<math::SqrtOp, math::RsqrtOp, math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
           math::CeilOp, math::CopySignOp>(op))
    return false;
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemFOp>(op))
    return false;
  return op.hasTrait<OpTrait::Elementwise>() && !isa<arith::ConstantOp>(op);
}

/// Has each value that differs a type of lanes?
bool LaneAnalysis::holdsDiffering(ValueRange values) const {
  return llvm::all_of(values,
                      [&](Value value) { return isSame(value) || isNumber(value.getType()); });
}

bool LaneAnalysis::isPossible(Operation &op) {
  if (isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op)) {
    for (Region &region : op.getRegions())
      for (Block &block : region)
        if (!holdsDiffering(block.getArguments()) || !isPossible(block))
          return false;
    return holdsDiffering(op.getResults());
  }
  if (auto read = dyn_cast<ReadOp>(op))
    return !read.getAcquire() && isSame(read.getBlock()) &&
           (isSame(read.getOffset()) || isStored(read.getType()));
  if (auto write = dyn_cast<WriteOp>(op))
    return !write.getRelease() && isStored(write.getValue().getType()) &&
           isSame(write.getBlock()) && !isSame(write.getOffset());
  if (auto atomic = dyn_cast<RmwOp>(op)) {
    // Lanes of one vector would wait for a lock that one of them has.
    bool mayWait =
        atomic.getKind() == arith::AtomicRMWKind::assign && op.getParentOfType<scf::WhileOp>();
    return !mayWait && isStored(atomic.getValue().getType()) && isSame(atomic.getBlock());
  }
  if (Accumulation::of(op))
    return true;
  if (isa<memref::AllocaOp>(op))
    return isOwnArray(op.getResult(0));
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isOwnArray(load.getMemRef());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return isOwnArray(store.getMemRef());
  if (op.getNumRegions() || !isMemoryEffectFree(&op))
    return false;
  return llvm::all_of(op.getOperands(), [&](Value value) { return isSame(value); }) ||
         (holdsDiffering(op.getResults()) &&
          llvm::all_of(op.getOperandTypes(), [&](Type type) { return isNumber(type); }) &&
          isWidened(op));
}
