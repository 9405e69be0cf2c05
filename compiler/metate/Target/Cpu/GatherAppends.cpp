//===- GatherAppends.cpp - places are taken for many iterations at once ----*- C++ -*-===//
//
// `if x[i] < h: out[atomic_add(count[None], 1)] = x[i]`, and appends to one list: each iteration changes the same place, and which one does is
// not to be foreseen. Here a block of iterations first puts what it will write side by side in an array of its own, then takes room for all of it by one
// atomic operation, and writes it there. Which iteration gets which place is as free as before; of one worker's it stays in their order.
//
// A loop in order that counts what it keeps (`out[n] = x[i]; n += 1`) is one too: its places are in memory of its own (CarriedPlaces.h).
//
// What follows the place alone (the moved operations) must be accesses that the rest of the loop does not meet. Where not, the loop stays.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/CarriedPlaces.h"
#include "metate/Target/Cpu/GatheredRun.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_GATHERAPPENDS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// What an iteration may do besides: a block is the least that a worker gets.
static constexpr size_t mostGathered = 96;

/// Values that an iteration hands on: all arrays together stay in the first-level cache.
static constexpr size_t mostValues = 8;

/// Turns of a loop in order that are worth arrays.
static constexpr int64_t leastGatheredTurns = 32;

namespace {
/// An access of a block of memory.
struct Access {
  Value block, offset; ///< no offset: anywhere
  bool reads, writes;

  bool meets(const Access &other) const {
    IntegerAttr a, b;
    if (block != other.block || !(writes || other.writes))
      return false;
    bool isApart = offset && other.offset && matchPattern(offset, m_Constant(&a)) &&
                   matchPattern(other.offset, m_Constant(&b)) &&
                   (a.getValue() - b.getValue()).abs().uge(16);
    return !isApart;
  }
};
using Accesses = SmallVector<Access>;

/// Adds what the operation itself accesses; false: nobody knows.
bool addAccesses(Operation *op, Accesses &accesses) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (!read.getInvariant())
      accesses.push_back({read.getBlock(), read.getOffset(), true, false});
  } else if (auto write = dyn_cast<WriteOp>(op)) {
    accesses.push_back({write.getBlock(), write.getOffset(), false, true});
  } else if (auto rmw = dyn_cast<RmwOp>(op)) {
    accesses.push_back({rmw.getBlock(), rmw.getOffset(), true, true});
  } else if (auto call = dyn_cast<TreeCallOp>(op)) {
    accesses.push_back({call.getBlock(), {}, true, true});
  } else {
    // What is local is an iteration's own, or an array like those that are made here.
    return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op) ||
           isa<memref::LoadOp, memref::StoreOp, memref::AtomicRMWOp>(op);
  }
  return true;
}

/// One loop with one place.
class Gathering {
public:
  explicit Gathering(Operation *site, const llvm::SmallPtrSetImpl<Operation *> &gathered)
      : run{site, nullptr, {}, {}, {}} {
    Operation *loop = site->getParentOp();
    while (isa<scf::IfOp>(loop))
      loop = loop->getParentOp();
    run.loop = loop;
    isKnownLong = gathered.contains(loop);
  }

  bool isPossible() {
    return isLoop() && takesOnePlace() && findMoved() && isApart() && findValues();
  }

  GatheredRun run;

private:
  bool isLoop() {
    if (auto range = dyn_cast<RangeOp>(run.loop))
      return !range->hasAttr(mark::cells) && !range->hasAttr(mark::rest);
    auto loop = dyn_cast<scf::ForOp>(run.loop);
    if (!loop || loop->hasAttr(mark::nest) || loop->hasAttr(mark::row))
      return false;
    if (isKnownLong)
      return true;
    if (std::optional<APInt> turns = loop.getStaticTripCount())
      return turns->sge(leastGatheredTurns);
    // What an argument says, or one task of its own, is likely to be long.
    Operation *task = taskBlockOf(loop).getParentOp();
    return isa<memref::AtomicRMWOp>(run.site) &&
           (loop->getParentOp() == task ||
            !task->isAncestor(loop.getUpperBound().getParentRegion()->getParentOp()));
  }

  bool isOutside(Value value) {
    return !run.loop->isAncestor(value.getParentRegion()->getParentOp()) ||
           matchPattern(value, m_Constant());
  }

  bool takesOnePlace() {
    if (auto rmw = dyn_cast<RmwOp>(run.site))
      return rmw.getKind() == arith::AtomicRMWKind::addi && !rmw.getOld().use_empty() &&
             isOutside(rmw.getBlock()) && isOutside(rmw.getOffset()) && isOutside(rmw.getValue());
    if (auto kept = dyn_cast<memref::AtomicRMWOp>(run.site))
      return isOutside(kept.getMemref()) && isOutside(kept.getValue());
    auto call = cast<TreeCallOp>(run.site);
    return call.getCallee() == "append" && call.getResult() && isOutside(call.getBlock()) &&
           llvm::all_of(call.getNumbers(), [&](Value value) { return isOutside(value); }) &&
           llvm::all_of(call.getCoordinates(), [&](Value value) { return isOutside(value); });
  }

  bool uses(Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          bool any = llvm::any_of(inner->getOperands(), [&](Value value) {
            Operation *from = value.getDefiningOp();
            return from && (from == run.site || run.moved.contains(from));
          });
          return any ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// What needs the place, and only accesses memory.
  bool findMoved() {
    for (Operation *op = run.site->getNextNode(); op; op = op->getNextNode()) {
      if (!uses(op))
        continue;
      if (op->hasTrait<OpTrait::IsTerminator>())
        return false;
      run.moved.insert(op);
      bool isPlain = !op->walk([](Operation *inner) {
                          bool isKnown =
                              isa<ReadOp, WriteOp, scf::IfOp, scf::ForOp, scf::YieldOp>(inner) ||
                              (!inner->getNumRegions() && isMemoryEffectFree(inner));
                          return isKnown ? WalkResult::advance() : WalkResult::interrupt();
                        }).wasInterrupted();
      if (!isPlain)
        return false;
    }
    return !run.moved.empty();
  }

  /// May what is moved happen later than all else that the loop's iterations do?
  bool isApart() {
    Accesses moved, stays, own;
    bool isKnown = true;
    size_t count = 0;
    auto visit = [&](Operation *op) {
      if (op == run.loop)
        return WalkResult::advance();
      ++count;
      if (run.moved.contains(op)) {
        op->walk([&](Operation *inner) { isKnown &= addAccesses(inner, moved); });
        return WalkResult::skip();
      }
      // Loops make iterations long, which workers share out one by one.
      isKnown &= !isa<scf::ForOp, scf::WhileOp>(op) || isKnownLong;
      isKnown &= addAccesses(op, op == run.site ? own : stays);
      return WalkResult::advance();
    };
    run.loop->walk<WalkOrder::PreOrder>(visit);
    auto meet = [](const Accesses &some, const Accesses &others) {
      return llvm::any_of(some, [&](const Access &one) {
        return llvm::any_of(others, [&](const Access &other) { return one.meets(other); });
      });
    };
    // A list's chunks are in the block of its length.
    bool isList = isa<TreeCallOp>(run.site);
    return isKnown && count <= mostGathered && !meet(moved, stays) && !meet(own, stays) &&
           (isList ? readsPlacesAlone() : !meet(own, moved));
  }

  /// A list's length counts the appends of a whole block of iterations: what is moved may read cells at the place, and nothing else of it.
  bool readsPlacesAlone() {
    Value block = cast<TreeCallOp>(run.site).getBlock();
    return llvm::none_of(run.moved, [&](Operation *op) {
      return op
          ->walk([&](ReadOp read) {
            bool isOther =
                read.getBlock() == block && !read.getInvariant() && !comesOfPlace(read.getOffset());
            return isOther ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
    });
  }

  bool comesOfPlace(Value value) {
    SmallVector<Value> work = {value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *from = work.pop_back_val().getDefiningOp();
      if (from == run.site)
        return true;
      if (from && run.loop->isAncestor(from) && seen.insert(from).second)
        llvm::append_range(work, from->getOperands());
    }
    return false;
  }

  bool findValues() {
    bool isScalar = true;
    for (Operation *op : run.moved)
      op->walk([&](Operation *inner) {
        for (Value value : inner->getOperands()) {
          Operation *from = value.getDefiningOp();
          Operation *owner = value.getParentBlock()->getParentOp();
          bool isOfMoved = llvm::any_of(
              run.moved, [&](Operation *one) { return one == from || one->isAncestor(owner); });
          if (isOfMoved || from == run.site)
            continue;
          if (matchPattern(value, m_Constant()) && !isOutside(owner))
            run.constants.insert(value);
          else if (!isOutside(value))
            run.values.insert(value);
          else
            continue;
          isScalar &= value.getType().isIntOrIndexOrFloat();
        }
      });
    return isScalar && run.values.size() <= mostValues;
  }

  bool isOutside(Operation *owner) { return !run.loop->isAncestor(owner); }

  bool isKnownLong;
};

struct GatherAppends : metate::impl::GatherAppendsBase<GatherAppends> {
  using GatherAppendsBase::GatherAppendsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMayAlias())
      return;
    SmallVector<Operation *> sites;
    kernel.walk([&](Operation *op) {
      auto call = dyn_cast<TreeCallOp>(op);
      if (isa<RmwOp>(op) || (call && call.getCallee() == "append"))
        if (op->getParentOfType<RangeOp>())
          sites.push_back(op);
    });
    for (Operation *site : sites)
      gather(site);
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (loop.getNumResults() != 0 && isa<RangeOp, SerialOp>(taskBlockOf(loop).getParentOp()))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      gatherCarried(loop);
  }

private:
  bool gather(Operation *site) {
    Gathering gathering(site, gathered);
    if (!gathering.isPossible())
      return false;
    if (auto remark = remarkDone(gathering.run.loop, "gather-appends", "appends"))
      remark << "places for " << Number("iterations", block)
             << " iterations are taken at once: what is written there waits in an array";
    gathered.insert(gatherRun(gathering.run, block));
    ++gatheredPlaces;
    return true;
  }

  /// Of a loop in order that counts its places.
  void gatherCarried(scf::ForOp loop) {
    CarriedPlaces carried(loop);
    SmallVector<unsigned> chosen(carried.numbers());
    while (!chosen.empty()) {
      SmallVector<memref::AtomicRMWOp> sites = carried.copy(chosen);
      SmallVector<unsigned> possible;
      for (auto [number, site] : llvm::zip(chosen, sites))
        if (Gathering(site, gathered).isPossible())
          possible.push_back(number);
      if (possible == chosen) {
        carried.keep();
        for (memref::AtomicRMWOp site : sites)
          if (!gather(site))
            takePlainly(site);
        return;
      }
      carried.drop();
      chosen = possible;
    }
  }

  llvm::SmallPtrSet<Operation *, 4> gathered; ///< loops over a block
};
} // namespace
