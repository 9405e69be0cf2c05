//===- ForwardStores.cpp - what an iteration stores and reads again -*- C++ -*-===//
//
// `p.v += a; p.v += b` stores what the next statement reads, at a place that only this iteration has. LLVM sees that in code that runs one number
// at a time; what makes lanes of iterations looks at reads and writes before, and a vector that is read over numbers that were just stored
// waits for them. Here the value goes to its readers, and a store that another one follows is left out.
//
// `x[j] = x[i] - t; x[i] += t` reads x[i] again behind a store that may be to it. The two places are one or apart, so what is read is the number stored or the
// one known, and a comparison of the places says which: no turn then reads what it has written, and turns may be lanes.
//
// Must not move anything across what may stop the kernel or has an order: what was stored before it is stored.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/ByteAccess.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_FORWARDSTORES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// What is known to be stored.
struct Stored {
  ByteAccess place;
  Value offset, value;
  WriteOp
      unread; ///< the write, where nobody can have read it and nothing needs it so far; else null
  bool isRead = false; ///< known since it was read
  struct Store {
    Value offset, value;
  };
  SmallVector<Store> since = {}; ///< behind it, each to this place or to none of its bytes

  /// May the store be told apart from the place by comparing where they are?
  bool isComparable(WriteOp write) const {
    ByteAccess other = *ByteAccess::of(write);
    if (place.block != other.block || place.bytes != other.bytes ||
        value.getType() != write.getValue().getType() || !value.getType().isIntOrFloat() ||
        since.size() == mostSince)
      return false;
    LinearForm distance = place.form.minus(other.form);
    return distance.constant % place.bytes == 0 &&
           llvm::all_of(distance.terms, [&](auto &term) { return term.second % place.bytes == 0; });
  }

  /// What is there now.
  Value at(OpBuilder builder, Location loc) const {
    Value now = value;
    for (const Store &store : since) {
      Value isSame =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, offset, store.offset);
      now = arith::SelectOp::create(builder, loc, isSame, store.value, now);
    }
    return isMutant(Mutant::OverwrittenForwarded) ? value : now;
  }

private:
  static constexpr size_t mostSince = 2;
};

/// What a region reads and writes.
struct Effects {
  SmallVector<ByteAccess> reads, writes;
  bool isKnown = true;

  static Effects of(Operation *region) {
    Effects effects;
    region->walk([&](Operation *op) {
      if (op != region)
        effects.add(op);
    });
    return effects;
  }

  void add(Operation *op) {
    if (auto access = ByteAccess::of(op)) {
      (isa<ReadOp>(op) ? reads : writes).push_back(*access);
      if (isa<RmwOp, CasOp>(op))
        reads.push_back(*access);
      isKnown &= !access->isOrdered;
    } else if (!op->getNumRegions() && !op->hasTrait<OpTrait::IsTerminator>()) {
      isKnown &= isPlain(op);
    }
  }

  /// Local variables are no trees' and no arrays' memory.
  static bool isPlain(Operation *op) {
    return isMemoryEffectFree(op) || isa<memref::LoadOp, memref::StoreOp, memref::AllocaOp>(op);
  }
};

class Forwarding {
public:
  void run(Block &block, SmallVector<Stored> known = {}) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto read = dyn_cast<ReadOp>(op))
        visit(read, known);
      else if (auto write = dyn_cast<WriteOp>(op))
        visit(write, known);
      else if (op.getNumRegions())
        visitRegions(op, known);
      else
        visitOther(op, known);
    }
  }

private:
  /// Bodies have few places that they store more than once; looking for each of many would take long.
  static constexpr size_t mostPlaces = 64;

  void visit(ReadOp read, SmallVector<Stored> &known) {
    ByteAccess place = *ByteAccess::of(read);
    if (place.isOrdered)
      return known.clear();
    for (Stored &stored : llvm::reverse(known))
      if (stored.place.isSameAs(place) && stored.value.getType() == read.getType()) {
        read.replaceAllUsesWith(stored.at(OpBuilder(read), read.getLoc()));
        read.erase();
        return;
      }
    keepReadBy(place, known);
    add({place, read.getOffset(), read.getResult(), nullptr, /*isRead=*/true}, known);
  }

  static void add(Stored one, SmallVector<Stored> &known) {
    if (known.size() == mostPlaces)
      known.erase(known.begin());
    known.push_back(std::move(one));
  }

  void visit(WriteOp write, SmallVector<Stored> &known) {
    ByteAccess place = *ByteAccess::of(write);
    if (place.isOrdered)
      return known.clear();
    for (Stored &stored : known)
      if (stored.unread && stored.place.isSameAs(place))
        stored.unread.erase();
    llvm::erase_if(known, [&](Stored &stored) {
      if (stored.place.isSameAs(place))
        return true;
      if (!stored.place.mayOverlap(place) || isMutant(Mutant::OverwrittenForwarded))
        return false;
      if (!stored.isComparable(write))
        return true;
      stored.since.push_back({write.getOffset(), write.getValue()});
      stored.unread = nullptr;
      return false;
    });
    add({place, write.getOffset(), write.getValue(), write}, known);
  }

  void visitRegions(Operation &op, SmallVector<Stored> &known) {
    Effects effects = Effects::of(&op);
    if (!effects.isKnown)
      return known.clear();
    // What others may have stored meanwhile is read again: a loop may wait for it.
    SmallVector<Stored> inside = known;
    llvm::erase_if(inside, [](Stored &stored) { return stored.isRead; });
    for (Stored &stored : inside)
      stored.unread = nullptr;
    if (!isa<scf::IfOp>(op)) // a turn follows another one
      forgetAll(effects.writes, inside);
    for (ByteAccess &place : effects.reads)
      keepReadBy(place, known);
    forgetAll(effects.writes, known);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        run(block, inside);
  }

  static void visitOther(Operation &op, SmallVector<Stored> &known) {
    if (auto place = ByteAccess::of(&op)) {
      if (place->isOrdered) // what others stored before it may be read behind it
        llvm::erase_if(known, [](Stored &stored) { return stored.isRead; });
      keepReadBy(*place, known);
      forget(*place, known);
    } else if (!Effects::isPlain(&op)) {
      known.clear();
    }
  }

  static void forgetAll(ArrayRef<ByteAccess> places, SmallVector<Stored> &known) {
    for (const ByteAccess &place : places)
      forget(place, known);
  }

  static void forget(const ByteAccess &place, SmallVector<Stored> &known) {
    llvm::erase_if(known, [&](Stored &stored) {
      return stored.place.isSameAs(place) ||
             (stored.place.mayOverlap(place) && !isMutant(Mutant::OverwrittenForwarded));
    });
  }

  static void keepReadBy(const ByteAccess &place, SmallVector<Stored> &known) {
    for (Stored &stored : known)
      if (stored.place.mayOverlap(place))
        stored.unread = nullptr;
  }
};

struct ForwardStores : metate::impl::ForwardStoresBase<ForwardStores> {
  void runOnOperation() override {
    if (getOperation().getMayAlias())
      return;
    getOperation().walk([](RangeOp range) { Forwarding().run(range.getBody().front()); });
  }
};
} // namespace
