//===- WidenedWindows.cpp - cells as rows, lanes as columns ---------------===//
//
// A table of as many cells as a window has numbers is transposed by rounds of shuffles that interleave halves of 16 bytes. Vectors of more lanes are
// several such tables beside each other.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/CellWindows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static SmallVector<int32_t> countFrom(int64_t begin, int64_t count) {
  return llvm::to_vector_of<int32_t>(llvm::seq(begin, begin + count));
}

/// The low or high halves of each `count` numbers of two vectors, number by number in turn.
static Value interleave(OpBuilder &builder, Location loc, Value a, Value b, int64_t count,
                        bool high) {
  int64_t all = cast<VectorType>(a.getType()).getNumElements();
  SmallVector<int32_t> which;
  for (int64_t begin = 0; begin < all; begin += count)
    for (int64_t k = 0; k < count / 2; ++k) {
      int64_t number = begin + k + (high ? count / 2 : 0);
      which.append({int32_t(number), int32_t(all + number)});
    }
  return LLVM::ShuffleVectorOp::create(builder, loc, a, b, which);
}

/// Rows become columns, in each group of as many lanes as there are rows.
static void transpose(OpBuilder &builder, Location loc, MutableArrayRef<Value> rows) {
  int64_t count = int64_t(rows.size());
  for (int64_t round = 1; round < count; round *= 2) {
    SmallVector<Value> next;
    for (int64_t k = 0; k < count / 2; ++k)
      for (bool high : {false, true})
        next.push_back(interleave(builder, loc, rows[k], rows[k + count / 2], count, high));
    llvm::copy(next, rows.begin());
  }
}

/// One after the other, in one vector.
static Value joined(OpBuilder &builder, Location loc, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> pairs;
    int64_t each = cast<VectorType>(parts[0].getType()).getNumElements();
    for (size_t k = 0; k < parts.size(); k += 2)
      pairs.push_back(LLVM::ShuffleVectorOp::create(builder, loc, parts[k], parts[k + 1],
                                                    countFrom(0, 2 * each)));
    parts = pairs;
  }
  return parts[0];
}

/// Of a value that is computed from the loop's variable alone: what it is in the lane whose variable `lane` has.
Value Widening::inLane(Value value, IRMapping &lane) {
  if (lane.contains(value))
    return lane.lookup(value);
  if (analysis.isSame(value))
    return same.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    lane.map(operand, inLane(operand, lane));
  builder.clone(*op, lane);
  return lane.lookup(value);
}

/// Where each lane accesses, as scalars.
SmallVector<Value> Widening::offsetsOfLanes(Value offset) {
  SmallVector<Value> offsets;
  std::optional<int64_t> stride = analysis.stride(offset);
  Value variable = loop.getInductionVar();
  bool isKnown = same.contains(offset);
  for (int64_t k = 0; k < lanes; ++k) {
    if (isKnown && stride) {
      offsets.push_back(plus(same.lookup(offset), k * *stride));
    } else if (isKnown) {
      IRMapping lane;
      lane.map(variable, plus(same.lookup(variable), k));
      offsets.push_back(inLane(offset, lane));
    } else {
      offsets.push_back(laneOf(lanesOf(offset)[0], k));
    }
  }
  return offsets;
}

Value Widening::plus(Value offset, int64_t distance) {
  if (distance == 0)
    return offset;
  return arith::AddIOp::create(builder, loc, offset,
                               arith::ConstantIndexOp::create(builder, loc, distance),
                               arith::IntegerOverflowFlags::nsw);
}

/// One number of each lane, at places that memory says.
Value Widening::gather(const WindowGroup &group, int64_t position) {
  auto first = cast<ReadOp>(group.accesses.front());
  Value offsets = lanesOf(first.getOffset())[0];
  if (int64_t distance = position * group.size()) {
    Value shift = arith::ConstantIndexOp::create(builder, loc, distance);
    offsets = arith::AddIOp::create(builder, loc, offsets, splat(shift),
                                    arith::IntegerOverflowFlags::nsw);
  }
  Value pointers = pointerTo(same.lookupOrDefault(first.getBlock()), offsets);
  return LLVM::masked_gather::create(builder, first.getLoc(), wideType(group.type), pointers,
                                     allAlive(), ValueRange(),
                                     builder.getI32IntegerAttr(int32_t(group.size())));
}

/// All reads of a group, where the first one stands.
void Widening::readWindows(const WindowGroup &group) {
  auto first = cast<ReadOp>(group.accesses.front());
  Value block = same.lookupOrDefault(first.getBlock());
  SmallVector<Value> offsets = offsetsOfLanes(first.getOffset());
  int64_t numbers = group.numbers();
  auto read = [&](Type type, int64_t lane, int64_t position) -> Value {
    auto made = ReadOp::create(builder, first.getLoc(), type, block,
                               plus(offsets[lane], position * group.size()), first.getScope(),
                               false, false);
    copyScopes(first, made);
    return made;
  };
  DenseMap<int64_t, Value> columns;
  for (int64_t begin : group.windows) {
    SmallVector<Value> rows;
    for (int64_t row = 0; row < numbers; ++row) {
      SmallVector<Value> parts;
      for (int64_t lane = row; lane < lanes; lane += numbers)
        parts.push_back(read(VectorType::get(numbers, group.type), lane, begin));
      rows.push_back(joined(builder, loc, parts));
    }
    transpose(builder, loc, rows);
    for (auto [k, column] : llvm::enumerate(rows))
      columns[begin + int64_t(k)] = column;
  }
  for (auto [access, position] : llvm::zip(group.accesses, group.positions)) {
    Value &column = columns[position];
    if (!column && !same.contains(first.getOffset()))
      column = gather(group, position);
    if (!column) {
      auto alone = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes), [&](int64_t lane) {
        return read(group.type, lane, position);
      });
      column =
          vector::FromElementsOp::create(builder, access->getLoc(), wideType(group.type), alone);
    }
    parts[access->getResult(0)] = {column};
  }
}

/// All writes of a group, where the last one stands; of two of one place the later one.
void Widening::writeWindows(const WindowGroup &group) {
  auto last = cast<WriteOp>(group.accesses.back());
  Value block = same.lookupOrDefault(last.getBlock());
  SmallVector<Value> offsets = offsetsOfLanes(last.getOffset());
  int64_t numbers = group.numbers();
  auto write = [&](Value value, int64_t lane, int64_t position) {
    int64_t distance = (position - group.positions.back()) * group.size();
    copyScopes(last, WriteOp::create(builder, last.getLoc(), value, block,
                                     plus(offsets[lane], distance), last.getScope(), false));
  };
  llvm::MapVector<int64_t, Value> columns;
  for (auto [access, position] : llvm::zip(group.accesses, group.positions))
    columns[position] = lanesOf(cast<WriteOp>(access).getValue())[0];
  for (int64_t begin : group.windows) {
    auto rows = llvm::map_to_vector(llvm::seq(begin, begin + numbers),
                                    [&](int64_t position) { return columns.lookup(position); });
    transpose(builder, loc, rows);
    if (isMutant(Mutant::WindowRowsExchanged))
      std::swap(rows[0], rows[1]);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value row = rows[lane % numbers];
      SmallVector<int32_t> which = countFrom(lane / numbers * numbers, numbers);
      write(LLVM::ShuffleVectorOp::create(builder, loc, row, row, which), lane, begin);
    }
  }
  for (auto [position, column] : columns)
    if (!group.isInWindow(position))
      for (int64_t lane = 0; lane < lanes; ++lane)
        write(laneOf(column, lane), lane, position);
}
