//===- ForwardStores.cpp - what an iteration stores and reads again -*- C++ -*-===//
//
// `p.v += a; p.v += b` stores what the next statement reads, at a place that only this iteration has. LLVM sees that in code that runs one number
// at a time; what makes lanes of iterations looks at reads and writes before, and a vector that is read over numbers that were just stored
// waits for them. Here the value goes to its readers, and a store that another one follows is left out.
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
  Value value;
  WriteOp
      unread; ///< the write, where nobody can have read it and nothing needs it so far; else null
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
        read.replaceAllUsesWith(stored.value);
        read.erase();
        return;
      }
    keepReadBy(place, known);
  }

  void visit(WriteOp write, SmallVector<Stored> &known) {
    ByteAccess place = *ByteAccess::of(write);
    if (place.isOrdered)
      return known.clear();
    for (Stored &stored : known)
      if (stored.unread && stored.place.isSameAs(place))
        stored.unread.erase();
    forget(place, known);
    if (known.size() == mostPlaces)
      known.erase(known.begin());
    known.push_back({place, write.getValue(), write});
  }

  void visitRegions(Operation &op, SmallVector<Stored> &known) {
    Effects effects = Effects::of(&op);
    if (!effects.isKnown)
      return known.clear();
    SmallVector<Stored> inside = known;
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
