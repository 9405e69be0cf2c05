//===- WidenedMemory.cpp - what lanes read and write -----------------------*- C++ -*-===//
//
// Lanes that lie one after the other are read and written as vectors, others one by one. A lane that is not alive touches
// no memory but a place of the function's own: its offset may lead anywhere.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/CellWindows.h"
#include "metate/Target/Cpu/Host.h"
#include "metate/Target/Cpu/LoopAnnotation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static unsigned bytesOf(Type type) { return std::max(1u, type.getIntOrFloatBitWidth() / 8); }

/// Machines have masked accesses of numbers of these bits.
static bool isMaskable(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) || type.isInteger(64);
}

void cpu::copyScopes(Operation *from, Operation *to) {
  for (StringRef name : {"alias_scopes", "noalias_scopes", "access_groups"})
    if (Attribute scopes = from->getAttr(name))
      to->setAttr(name, scopes);
}

Value Widening::pointerTo(Value block, Value offset) {
  auto cast = [&](Type type, Value value) {
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  };
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  if (auto vector = dyn_cast<VectorType>(offset.getType())) {
    pointer = wideType(pointer);
    i64 = wideType(i64);
  }
  Value base = cast(LLVM::LLVMPointerType::get(builder.getContext()), block);
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{cast(i64, offset)});
}

Value Widening::pointersUnderMask(Value block, Value offsets) {
  return underMask(pointerTo(block, offsets));
}

Value Widening::underMask(Value pointers) {
  if (!spare) {
    auto function = loop->getParentOfType<LLVM::LLVMFuncOp>();
    OpBuilder atStart = OpBuilder::atBlockBegin(&function.getBody().front());
    Code code(atStart, loc);
    spare = LLVM::AllocaOp::create(atStart, loc, code.pointer(), builder.getI64Type(),
                                   code.constant(1, 64), /*alignment=*/8);
  }
  return LLVM::SelectOp::create(builder, loc, mask, pointers, splat(spare));
}

Value Widening::readRow(ReadOp read) {
  Value block = same.lookupOrDefault(read.getBlock()), offset = same.lookup(read.getOffset());
  Type type = wideType(read.getType());
  if (!mask) {
    auto made = ReadOp::create(builder, read.getLoc(), type, block, offset, read.getScope(), false,
                               read.getInvariant());
    made->setDiscardableAttrs(read->getDiscardableAttrDictionary());
    return made.getValue();
  }
  Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return LLVM::MaskedLoadOp::create(builder, read.getLoc(), type, pointerTo(block, offset), mask,
                                    nothing, builder.getI32IntegerAttr(bytesOf(read.getType())),
                                    UnitAttr());
}

/// Whole cells, one after the other.
Value Widening::readCells(Operation *access, Value block, Value offset, uint64_t scope, Type type,
                          LaneAnalysis::MemberRow row) {
  auto cells = VectorType::get(lanes * row.members, type);
  auto read = ReadOp::create(builder, access->getLoc(), cells, block, offset, scope, false, false);
  copyScopes(access, read);
  return read;
}

/// Where the cell of the first lane begins.
static Value cellsBegin(OpBuilder &builder, Location loc, Value offset, int64_t before) {
  Value distance = arith::ConstantIndexOp::create(builder, loc, before);
  return arith::SubIOp::create(builder, loc, offset, distance, arith::IntegerOverflowFlags::nsw);
}

Value Widening::readMembers(ReadOp read, LaneAnalysis::MemberRow row) {
  Location where = read.getLoc();
  int64_t size = bytesOf(read.getType());
  Value block = same.lookupOrDefault(read.getBlock());
  Value begin = cellsBegin(builder, where, same.lookup(read.getOffset()), row.position * size);
  Value cells = readCells(read, block, begin, read.getScope(), read.getType(), row);
  auto which = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes), [&](int64_t lane) {
    return int32_t(lane * row.members + row.position);
  });
  return LLVM::ShuffleVectorOp::create(builder, where, cells, cells, which);
}

/// The other members are written back.
void Widening::writeMembers(WriteOp write, Value value, LaneAnalysis::MemberRow row) {
  Location where = write.getLoc();
  Type type = write.getValue().getType();
  Value block = same.lookupOrDefault(write.getBlock());
  Value begin =
      cellsBegin(builder, where, same.lookup(write.getOffset()), row.position * bytesOf(type));
  Value cells = readCells(write, block, begin, write.getScope(), type, row);
  int32_t all = int32_t(lanes * row.members);
  int64_t position = (row.position + isMutant(Mutant::MemberExchanged)) % row.members;
  SmallVector<int32_t> spread, chosen; // shuffles have operands of one length
  for (int32_t k = 0; k < all; ++k) {
    bool isOwn = k % row.members == position;
    spread.push_back(isOwn ? int32_t(k / row.members) : -1);
    chosen.push_back(isOwn ? all + k : k);
  }
  Value wide = LLVM::ShuffleVectorOp::create(builder, where, value, value, spread);
  cells = LLVM::ShuffleVectorOp::create(builder, where, cells, wide, chosen);
  copyScopes(write, WriteOp::create(builder, where, cells, block, begin, write.getScope(), false));
}

/// Lanes that are known to lie at one distance from each other need no vector of offsets.
Value Widening::offsetOfLane(Value offset, int64_t lane) {
  if (std::optional<int64_t> stride = analysis.stride(offset); stride && same.contains(offset))
    return plus(same.lookup(offset), lane * *stride);
  return laneOf(lanesOf(offset)[0], lane);
}

/// Lane by lane.
Value Widening::gather(ReadOp read) {
  Value block = same.lookupOrDefault(read.getBlock());
  SmallVector<Value> values;
  Value pointers = mask ? pointersUnderMask(block, lanesOf(read.getOffset())[0]) : Value();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (!pointers) {
      auto made = ReadOp::create(builder, read.getLoc(), read.getType(), block,
                                 offsetOfLane(read.getOffset(), lane), read.getScope(), false,
                                 read.getInvariant());
      made->setDiscardableAttrs(read->getDiscardableAttrDictionary());
      values.push_back(made.getValue());
      continue;
    }
    Value number = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, number);
    auto made = LLVM::LoadOp::create(builder, read.getLoc(), read.getType(), pointer,
                                     bytesOf(read.getType()));
    copyScopes(read, made);
    values.push_back(made);
  }
  return vector::FromElementsOp::create(builder, loc, wideType(read.getType()), values);
}

void Widening::widenRead(ReadOp read) {
  if (const WindowGroup *group = windows ? windows->groupOf(read) : nullptr)
    return read == group->accesses.front() ? readWindows(*group) : void();
  Type type = read.getType();
  bool isRow = analysis.isRow(read.getOffset(), type) && same.contains(read.getOffset()) &&
               (!mask || isMaskable(type));
  auto row = mask || !same.contains(read.getOffset())
                 ? std::nullopt
                 : analysis.memberRow(read, read.getOffset(), type);
  bool isMember = row && row->members > 1 && row->members <= mostMembers;
  parts[read.getValue()] = {isRow      ? readRow(read)
                            : isMember ? readMembers(read, *row)
                                       : gather(read)};
}

void Widening::scatter(WriteOp write, Value value) {
  Value block = same.lookupOrDefault(write.getBlock());
  bool isMasked = mask && !isMutant(Mutant::LanesLeftWrite);
  Value pointers = isMasked ? pointersUnderMask(block, lanesOf(write.getOffset())[0]) : Value();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value number = laneOf(value, lane);
    if (!pointers) {
      auto made = WriteOp::create(builder, write.getLoc(), number, block,
                                  offsetOfLane(write.getOffset(), lane), write.getScope(), false);
      made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
      continue;
    }
    Value at = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(lane));
    Value pointer = LLVM::ExtractElementOp::create(builder, loc, pointers, at);
    copyScopes(write, LLVM::StoreOp::create(builder, write.getLoc(), number, pointer,
                                            bytesOf(number.getType())));
  }
}

void Widening::widenWrite(WriteOp write) {
  if (const WindowGroup *group = windows ? windows->groupOf(write) : nullptr)
    return write == group->accesses.back() ? writeWindows(*group) : void();
  Value value = lanesOf(write.getValue())[0];
  Type type = write.getValue().getType();
  if (auto row = wholeCells ? analysis.memberRow(write, write.getOffset(), type) : std::nullopt)
    return writeMembers(write, value, *row);
  if (!analysis.isRow(write.getOffset(), type) || !same.contains(write.getOffset()) ||
      (mask && !isMaskable(type)))
    return scatter(write, value);
  Value block = same.lookupOrDefault(write.getBlock()), offset = same.lookup(write.getOffset());
  if (!mask) {
    auto made =
        WriteOp::create(builder, write.getLoc(), value, block, offset, write.getScope(), false);
    made->setDiscardableAttrs(write->getDiscardableAttrDictionary());
    return;
  }
  LLVM::MaskedStoreOp::create(builder, write.getLoc(), value, pointerTo(block, offset), mask,
                              builder.getI32IntegerAttr(bytesOf(type)));
}

/// The operation of one lane; what was there, if anybody asks for it.
Value Widening::changeLane(RmwOp atomic, int64_t lane) {
  Location where = atomic.getLoc();
  Type type = atomic.getValue().getType();
  Value block = same.lookupOrDefault(atomic.getBlock()),
        offset = laneOf(lanesOf(atomic.getOffset())[0], lane),
        value = laneOf(lanesOf(atomic.getValue())[0], lane);
  bool isUsed = !atomic.getOld().use_empty();
  auto change = [&](OpBuilder &at) {
    auto made = RmwOp::create(at, where, atomic.getKind(), value, block, offset, atomic.getScope());
    made->setDiscardableAttrs(atomic->getDiscardableAttrDictionary());
    return made.getOld();
  };
  if (!mask || isMutant(Mutant::LanesLeftAdd))
    return change(builder);
  auto branch = scf::IfOp::create(builder, where, isUsed ? TypeRange(type) : TypeRange(),
                                  laneOf(mask, lane), /*withElseRegion=*/isUsed);
  OpBuilder then = branch.getThenBodyBuilder();
  Value old = change(then);
  if (!isUsed)
    return Value();
  scf::YieldOp::create(then, where, old);
  OpBuilder otherwise = branch.getElseBodyBuilder();
  Value none = arith::ConstantOp::create(otherwise, where, otherwise.getZeroAttr(type));
  scf::YieldOp::create(otherwise, where, none);
  return branch.getResult(0);
}

/// Several that nothing else of the loop is at, and nobody asks what was there: each lane does all of its own at the end, in a loop.
/// Sixteen of one after the other would wait for each other, where lanes change the same places.
void Widening::findDeferred() {
  DenseSet<int64_t> others;
  loop.getBody()->walk([&](Operation *op) {
    auto atomic = dyn_cast<RmwOp>(op);
    if (atomic && op->getBlock() == loop.getBody() && atomic.getOld().use_empty())
      deferred.insert(op);
    else if (atomic)
      others.insert(atomic.getScope());
    else if (auto read = dyn_cast<ReadOp>(op))
      others.insert(read.getScope());
    else if (auto write = dyn_cast<WriteOp>(op))
      others.insert(write.getScope());
  });
  bool isAlone = llvm::all_of(deferred, [&](Operation *op) {
    return isApartFromOthers(op) && !others.contains(cast<RmwOp>(op).getScope());
  });
  if (!isAlone || deferred.size() < 2)
    deferred.clear();
}

/// What lanes have of a value, in memory of this function's own: a number of the lane's in a loop over lanes.
Value Widening::keptForLanes(Value value) {
  Value vector = lanesOf(value)[0];
  if (cast<VectorType>(vector.getType()).getElementType().isIndex())
    vector = arith::IndexCastOp::create(builder, loc, wideType(builder.getI64Type()), vector);
  auto function = loop->getParentOfType<LLVM::LLVMFuncOp>();
  OpBuilder atStart = OpBuilder::atBlockBegin(&function.getBody().front());
  Code code(atStart, loc);
  Value row = LLVM::AllocaOp::create(atStart, loc, code.pointer(), vector.getType(),
                                     code.constant(1, 64), /*alignment=*/64);
  LLVM::StoreOp::create(builder, loc, vector, row);
  return row;
}

void Widening::changeDeferred(Value first, Value upper) {
  if (deferred.empty())
    return;
  llvm::MapVector<Value, Value> kept;
  for (Operation *op : deferred)
    for (Value operand : {Value(cast<RmwOp>(op).getOffset()), Value(cast<RmwOp>(op).getValue())})
      if (!analysis.isSame(operand) && !kept.contains(operand))
        kept[operand] = keptForLanes(operand);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value alive = constant(lanes);
  if (mask && !isMutant(Mutant::LanesLeftAdd))
    alive = arith::MinSIOp::create(builder, loc, alive,
                                   arith::SubIOp::create(builder, loc, upper, first));
  auto each = scf::ForOp::create(builder, loc, constant(0), alive, constant(1));
  each->setAttr("loop_annotation", LoopAnnotation::asItIs().in(builder.getContext()));
  OpBuilder inside(each.getBody()->getTerminator());
  Value lane = arith::IndexCastOp::create(inside, loc, inside.getI64Type(), each.getInductionVar());
  llvm::DenseMap<Value, Value> loaded;
  auto ofLane = [&](Value operand) -> Value {
    if (analysis.isSame(operand))
      return same.lookupOrDefault(operand);
    Value &number = loaded[operand];
    if (number)
      return number;
    Type type = operand.getType().isIndex() ? inside.getI64Type() : operand.getType();
    Value row = kept.lookup(operand);
    Value place = LLVM::GEPOp::create(inside, loc, row.getType(), type, row,
                                      ArrayRef<LLVM::GEPArg>{lane}, LLVM::GEPNoWrapFlags::inbounds);
    number = LLVM::LoadOp::create(inside, loc, type, place);
    if (operand.getType().isIndex())
      number = arith::IndexCastOp::create(inside, loc, operand.getType(), number);
    return number;
  };
  for (Operation *op : deferred) {
    auto atomic = cast<RmwOp>(op);
    auto made = RmwOp::create(inside, atomic.getLoc(), atomic.getKind(), ofLane(atomic.getValue()),
                              same.lookupOrDefault(atomic.getBlock()), ofLane(atomic.getOffset()),
                              atomic.getScope());
    made->setDiscardableAttrs(atomic->getDiscardableAttrDictionary());
  }
}

/// Lane by lane, those that are alive; what a lane finds is what the one before has left, if they are at one place.
void Widening::widenAtomic(RmwOp atomic) {
  if (deferred.contains(atomic))
    return;
  Location where = atomic.getLoc();
  Type type = atomic.getValue().getType();
  bool isUsed = !atomic.getOld().use_empty();
  SmallVector<Value> found;
  for (int64_t lane = 0; lane < lanes; ++lane)
    found.push_back(changeLane(atomic, lane));
  if (isUsed)
    parts[atomic.getOld()] = {
        vector::FromElementsOp::create(builder, where, wideType(type), found)};
}
