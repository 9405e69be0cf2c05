//===- Pointer.cpp - the pointer level --------------------------*- C++ -*-===//
//
// Reads follow links; activation follows the protocol of abi/metate/abi/tree.h, steps 1 to 4. The
// claim is a function of its own: it runs once per slot, and keeping it out of line keeps loops
// small.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/Pointer.h"

#include "metate/Mutants/Mutants.h"
#include "metate/abi/base.h"

using namespace mlir;
using namespace metate;
using arith::CmpIPredicate;
namespace header = metate::layout::header;

Cell PointerLowering::locate(ByteBuilder &bytes, const layout::Node &node, Value container,
                             Value linear, Value inside, bool concurrent) const {
  if (inside)
    linear = bytes.select(inside, linear, bytes.index(0));
  Value link = bytes.readInteger(bytes.add(container, bytes.multiply(linear, 4)), 32, concurrent);
  if (inside)
    link = bytes.select(inside, link, bytes.integer(0, 32));
  Value offset =
      bytes.add(bytes.slotsBase(node.pool), bytes.multiply(bytes.toIndex(link), node.cellBytes));
  return {offset, bytes.isNonzero(link), !node.ambient};
}

Cell PointerLowering::activate(ByteBuilder &bytes, const layout::Node &node, Value container,
                               Value linear, ValueRange coordinates) const {
  OpBuilder &builder = bytes.builder;
  Value at = bytes.add(container, bytes.multiply(linear, 4));
  Value link = bytes.readInteger(at, 32, /*acquire=*/true);
  auto branch =
      scf::IfOp::create(builder, bytes.loc, builder.getI32Type(), bytes.isNonzero(link), true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, link);
    builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> operands{bytes.block, at};
    llvm::append_range(operands, coordinates);
    auto call =
        func::CallOp::create(builder, bytes.loc, bytes.claimFunction(node, bytes.strict), operands);
    scf::YieldOp::create(builder, bytes.loc, call.getResults());
  }
  Value slot = branch.getResult(0);
  Value offset =
      bytes.add(bytes.slotsBase(node.pool), bytes.multiply(bytes.toIndex(slot), node.cellBytes));
  return {offset, bytes.isNonzero(slot), true};
}

namespace {
/// Writes the body of one claim function.
class ClaimBuilder {
public:
  ClaimBuilder(func::FuncOp function, const layout::TreeLayout &layout, unsigned number,
               bool strict)
      : builder(OpBuilder::atBlockEnd(function.addEntryBlock())), loc(function.getLoc()),
        bytes(builder, loc, function.getArgument(0), /*scope=*/-1), layout(layout), number(number),
        node(layout.nodes[number]), link(function.getArgument(1)),
        coordinates(function.getArguments().drop_front(2)), strict(strict) {}

  void build() {
    Value slot = takeSlot();
    auto branch =
        makeIf(bytes.isNonzero(slot), [&] { return publish(slot); }, [&] { return giveUp(); });
    func::ReturnOp::create(builder, loc, branch);
  }

private:
  Value makeIf(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise) {
    auto branch = scf::IfOp::create(builder, loc, builder.getI32Type(), condition, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, then());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, otherwise());
    return branch.getResult(0);
  }

  /// scf.while over (state : inits' types) with `test` giving the condition and `step` the next
  /// state.
  ValueRange makeWhile(ValueRange inits, llvm::function_ref<Value(ValueRange)> test,
                       llvm::function_ref<SmallVector<Value>(ValueRange)> step) {
    auto loop = scf::WhileOp::create(
        builder, loc, inits.getTypes(), inits,
        [&](OpBuilder &, Location, ValueRange state) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(cast<BlockArgument>(state[0]).getOwner());
          scf::ConditionOp::create(builder, loc, test(state), state);
        },
        [&](OpBuilder &, Location, ValueRange state) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(cast<BlockArgument>(state[0]).getOwner());
          scf::YieldOp::create(builder, loc, step(state));
        });
    return loop.getResults();
  }

  Value field(uint64_t (*offset)(unsigned)) { return bytes.index(offset(node.pool)); }

  Value metaOf(Value slot, int64_t byte) {
    Value base = bytes.toIndex(bytes.readInteger(field(header::poolMeta), 64));
    return bytes.add(bytes.add(base, bytes.multiply(bytes.toIndex(slot), node.metaBytes())), byte);
  }

  Value truncate(Value value) {
    return arith::TruncIOp::create(builder, loc, builder.getI32Type(), value);
  }
  Value extend(Value value) {
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  }
  Value equal(Value a, Value b) { return bytes.compare(CmpIPredicate::eq, a, b); }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }

  /// A list head one generation on, with `slot` first.
  Value taggedHead(Value head, Value slot) {
    Value shift = bytes.integer(32, 64);
    Value tag = arith::ShRUIOp::create(builder, loc, head, shift);
    tag = arith::AddIOp::create(builder, loc, tag, bytes.integer(1, 64));
    tag = arith::ShLIOp::create(builder, loc, tag, shift);
    return arith::OrIOp::create(builder, loc, tag, extend(slot));
  }

  /// Step 2: the free list first, then a new slot below `physical`; 0 if there is none.
  Value takeSlot() {
    Value none = bytes.integer(0, 32);
    Value head = bytes.readInteger(field(header::poolFreeHead), 64, /*acquire=*/true);
    Value popped = makeWhile(
        {head, none},
        [&](ValueRange state) {
          return both(bytes.isNonzero(truncate(state[0])), equal(state[1], none));
        },
        [&](ValueRange state) -> SmallVector<Value> {
          Value slot = truncate(state[0]);
          Value next = bytes.readInteger(metaOf(slot, 4), 32, /*acquire=*/true);
          Value old = bytes.compareExchange(field(header::poolFreeHead), state[0],
                                            taggedHead(state[0], next));
          return {old, bytes.select(equal(old, state[0]), slot, none)};
        })[1];
    Value highWater = bytes.readInteger(field(header::poolHighWater), 32, /*acquire=*/true);
    Value physical = bytes.readInteger(field(header::poolPhysical), 32);
    return makeWhile(
        {highWater, popped},
        [&](ValueRange state) {
          return both(bytes.compare(CmpIPredicate::ult, state[0], physical), equal(state[1], none));
        },
        [&](ValueRange state) -> SmallVector<Value> {
          Value next = arith::AddIOp::create(builder, loc, state[0], bytes.integer(1, 32));
          Value old = bytes.compareExchange(field(header::poolHighWater), state[0], next);
          return {old, bytes.select(equal(old, state[0]), next, none)};
        })[1];
  }

  /// Steps 3 and 4: fill, link, count; a lost race gives the slot back.
  Value publish(Value slot) {
    Value base = bytes.toIndex(bytes.readInteger(field(header::poolSlots), 64));
    Value offset = bytes.add(base, bytes.multiply(bytes.toIndex(slot), node.cellBytes));
    fillBackground(bytes, layout, number, offset);
    for (auto [k, coordinate] : llvm::enumerate(coordinates))
      bytes.write(bytes.toInteger(isMutant(Mutant::SlotCoordinatesReversed)
                                      ? coordinates[coordinates.size() - 1 - k]
                                      : coordinate,
                                  32),
                  metaOf(slot, 4 + 4 * k), /*release=*/k == 0);
    // Atomic like the next one: a loop over the pool's slots may be reading the state of this one.
    bytes.write(bytes.readInteger(bytes.index(header::epoch()), 32), metaOf(slot, 0),
                /*release=*/true);
    Value old = bytes.compareExchange(link, bytes.integer(0, 32), slot);
    return makeIf(
        bytes.isNonzero(old), [&] { return giveBack(slot, old); }, [&] { return count(slot); });
  }

  Value giveBack(Value slot, Value winner) {
    bytes.write(bytes.integer(0, 32), metaOf(slot, 0), /*release=*/true);
    Value head = bytes.readInteger(field(header::poolFreeHead), 64, /*acquire=*/true);
    Value again = bytes.integer(1, 1);
    makeWhile(
        {head, again}, [&](ValueRange state) { return state[1]; },
        [&](ValueRange state) -> SmallVector<Value> {
          bytes.write(truncate(state[0]), metaOf(slot, 4), /*release=*/true);
          Value old = bytes.compareExchange(field(header::poolFreeHead), state[0],
                                            taggedHead(state[0], slot));
          return {old, bytes.compare(CmpIPredicate::ne, old, state[0])};
        });
    return winner;
  }

  Value count(Value slot) {
    Value before =
        bytes.atomic(arith::AtomicRMWKind::addi, field(header::poolUsed), bytes.integer(1, 32));
    Value used = arith::AddIOp::create(builder, loc, before, bytes.integer(1, 32));
    Value capacity = bytes.readInteger(field(header::poolCapacity), 32);
    Value isOver = bytes.compare(CmpIPredicate::ugt, used, capacity);
    auto branch = scf::IfOp::create(builder, loc, isOver);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    report(used);
    builder.setInsertionPointAfter(branch);
    return strict ? bytes.select(isOver, bytes.integer(0, 32), slot) : slot;
  }

  /// No slot left: another worker may have linked the cell meanwhile; if not, say what is needed.
  Value giveUp() {
    Value now = bytes.readInteger(link, 32, /*acquire=*/true);
    auto branch = scf::IfOp::create(builder, loc, equal(now, bytes.integer(0, 32)));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value capacity = bytes.readInteger(field(header::poolCapacity), 32);
    report(arith::AddIOp::create(builder, loc, capacity, bytes.integer(1, 32)));
    return now;
  }

  void report(Value needed) {
    Value old = bytes.compareExchange(bytes.index(header::status()), bytes.integer(METATE_OK, 32),
                                      bytes.integer(METATE_E_CAPACITY, 32));
    auto first = scf::IfOp::create(builder, loc, equal(old, bytes.integer(METATE_OK, 32)));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(first.thenBlock());
    bytes.write(bytes.integer(node.pool, 32), bytes.index(header::statusLevel()), /*release=*/true);
    builder.setInsertionPointAfter(first);
    bytes.atomic(arith::AtomicRMWKind::maxu, bytes.index(header::statusNeeded()), extend(needed));
  }

  OpBuilder builder;
  Location loc;
  ByteBuilder bytes;
  const layout::TreeLayout &layout;
  unsigned number;
  const layout::Node &node;
  Value link;
  ValueRange coordinates;
  bool strict;
};
} // namespace

void metate::buildClaim(func::FuncOp function, const layout::TreeLayout &layout, unsigned node,
                        bool strict) {
  ClaimBuilder(function, layout, node, strict).build();
}
