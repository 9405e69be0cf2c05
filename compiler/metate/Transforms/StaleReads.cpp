//===- StaleReads.cpp - what a kernel reads and then overwrites -*- C++ -*-===//
//
// A write comes after a read if it stands behind it, or in a later turn of a loop around both (and before it likewise). The second is
// asked of each loop: turns in order that write what earlier ones have read, and iterations of a parallel loop that do not own what they touch.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/StaleReads.h"
#include "metate/Dialect/Place.h"
#include "metate/Dialect/Quant.h"
#include "metate/Dialect/Tree.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ConstantSum.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/SameCell.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

std::string metate::shownName(KernelOp kernel, const MemoryAccess &access) {
  auto argument = dyn_cast<BlockArgument>(access.base);
  if (!argument)
    return "a place";
  if (!access.path.empty())
    return shownMember(kernel, argument.getArgNumber(), access.path).name;
  auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), mark::name);
  if (name && isLocalArray(kernel, access.base))
    return name.getValue().split('.').second.str(); // a variable of the kernel
  return name ? name.str() : "an array";
}

namespace {
/// A read and a write of one member or array: may they meet, and in which order?
class Meeting {
public:
  Meeting(const MemoryAccess &read, const MemoryAccess &write) : read(read), write(write) {
    for (auto [a, b] : llvm::zip(read.coordinates, write.coordinates))
      pairs.emplace_back(ConstantSum::of(a), ConstantSum::of(b));
    for (auto [a, b] : llvm::zip(read.components, write.components))
      pairs.emplace_back(ConstantSum::of(a), ConstantSum::of(b));
  }

  /// May the write overwrite what was read, after it was read?
  bool mayWriteAfter() const { return mayBe(/*writesFirst=*/false); }
  /// May what is read be what was written?
  bool mayWriteBefore() const { return mayBe(/*writesFirst=*/true); }

private:
  bool mayBe(bool writesFirst) const {
    if (llvm::any_of(pairs, [](auto &pair) { return areApart(pair.first, pair.second); }))
      return false;
    Block *common = commonBlock();
    Operation *reader = common->findAncestorOpInBlock(*read.op);
    Operation *writer = common->findAncestorOpInBlock(*write.op);
    if (reader != writer && writer->isBeforeInBlock(reader) == writesFirst && !areApartInOneTurn())
      return true; // of two branches of one if, one runs
    // One stands before the condition of a while, the other behind it: that loop is around both.
    bool isAround = reader == writer && !isMutant(Mutant::ConditionReadTrusted);
    Operation *around = isAround ? reader : common->getParentOp();
    for (Operation *loop = around; !isa<KernelOp>(loop); loop = loop->getParentOp())
      if (isInAnotherTurn(loop, writesFirst))
        return true;
    return false;
  }

  Block *commonBlock() const {
    Block *block = read.op->getBlock();
    while (!block->findAncestorOpInBlock(*write.op))
      block = block->getParentOp()->getBlock();
    return block;
  }

  /// One turn of all loops around both: coordinates that differ by a constant name two places.
  bool areApartInOneTurn() const {
    return llvm::any_of(pairs, [](auto &pair) {
      return pair.first.base == pair.second.base && pair.first.constant != pair.second.constant;
    });
  }

  /// May a turn of the loop write what was read in an earlier one, or in a later one?
  bool isInAnotherTurn(Operation *loop, bool writesFirst) const {
    if (isa<scf::IfOp>(loop))
      return false;
    if (isa<RangeOp, ForEachOp>(loop)) {
      SmallVector<ValueRange> places = {read.coordinates, write.coordinates};
      return !areOwnPlaces(loop, places);
    }
    auto counted = dyn_cast<scf::ForOp>(loop);
    if (!counted)
      return true;
    // The turn that writes what turn i reads is i + (what the read adds) - (what the write adds).
    return llvm::none_of(pairs, [&](auto &pair) {
      Value variable = counted.getInductionVar();
      return pair.first.base == variable && pair.second.base == variable &&
             (writesFirst ? pair.first.constant >= pair.second.constant
                          : pair.first.constant <= pair.second.constant);
    });
  }

  const MemoryAccess &read, &write;
  SmallVector<std::pair<ConstantSum, ConstantSum>> pairs;
};
} // namespace

bool metate::mayOverwrite(const MemoryAccess &read, const MemoryAccess &write) {
  return Meeting(read, write).mayWriteAfter();
}

static InFlightDiagnostic &operator<<(InFlightDiagnostic &diagnostic, FileLineColLoc place) {
  if (place)
    diagnostic << place.getFilename().getValue() << ":" << place.getLine() << ":"
               << place.getColumn();
  return diagnostic;
}

/// A statement that deactivates the cell of a read, in the read's own or in one behind it; nullptr: there is none.
static Operation *deactivationBehind(KernelOp kernel, const MemoryAccess &read) {
  auto cell = dyn_cast<CellOpInterface>(read.inMemory());
  if (!cell || !isa<LoadOp, LoadSharedOp>(*cell))
    return nullptr;
  TreePath path = CellAccess::from(cell).resolve();
  Operation *found = nullptr;
  for (Operation *next = kernel.getBody().front().findAncestorOpInBlock(*read.op); next && !found;
       next = next->getNextNode())
    next->walk([&](DeactivateOp op) {
      if (op.getTree() == cell.getTree() && isBelow(path, CellAccess::from(op).resolve()))
        found = op;
    });
  return found;
}

static void report(KernelOp kernel, const MemoryAccess &read, StringRef what, Operation *writer) {
  InFlightDiagnostic error =
      read.op->emitError("gradient of kernel '" + kernel.getSymName() + "': ");
  error << "the value of '" << shownName(kernel, read)
        << "' that is read here is needed again, but may have been " << what << " by then, at ";
  error << placeOf(writer->getLoc());
  error << "; write to another field or array, or in another kernel";
}

namespace {
/// The reads of one member or array that are needed, and all its writes.
struct ReadPlace {
  SmallVector<MemoryAccess> reads, writes;

  /// The first read that is not what the place holds in that state, with the write that changes it.
  std::optional<std::pair<MemoryAccess, MemoryAccess>> changed(bool isBefore) const {
    if (isBefore ? isMutant(Mutant::WriteBetweenForgotten) : isMutant(Mutant::StaleReadTrusted))
      return std::nullopt;
    for (const MemoryAccess &read : reads)
      for (const MemoryAccess &write : writes)
        if (Meeting meeting(read, write);
            isBefore ? meeting.mayWriteBefore() : meeting.mayWriteAfter())
          return std::pair(read, write);
    return std::nullopt;
  }
};
} // namespace

void ReadStates::mark(KernelOp kernel) const {
  Builder builder(kernel.getContext());
  for (const MemoryAccess &read : before) {
    unsigned number = cast<BlockArgument>(read.base).getArgNumber();
    SmallVector<Attribute> paths;
    if (auto known = kernel.getArgAttrOfType<ArrayAttr>(number, mark::before))
      llvm::append_range(paths, known);
    paths.push_back(builder.getStringAttr(read.path));
    kernel.setArgAttr(number, mark::before, builder.getArrayAttr(paths));
  }
}

std::optional<ReadStates> ReadStates::of(KernelOp kernel, const CombinedPlaces &combined,
                                         const NeededValues &needed, bool reports) {
  llvm::MapVector<std::pair<Value, StringRef>, ReadPlace> places;
  kernel.walk([&](Operation *op) {
    for (const MemoryAccess &access : MemoryAccess::allOf(op)) {
      // The kernel's own statements read what it keeps for itself while that is written again, in order.
      bool isReplayed = isLocalArray(kernel, access.base) && isa<KernelOp>(op->getParentOp());
      ReadPlace &place = places[{access.base, access.path}];
      if (access.writes())
        place.writes.push_back(access);
      else if (needed.isNeeded(access.result) && !isReplayed)
        place.reads.push_back(access);
    }
  });
  ReadStates states;
  auto refuse = [&](const MemoryAccess &read, StringRef what, Operation *writer) {
    if (reports)
      report(kernel, read, what, writer);
    return std::nullopt;
  };
  for (auto &[target, place] : places) {
    for (const MemoryAccess &read : place.reads)
      if (Operation *gone = deactivationBehind(kernel, read))
        return refuse(read, "deactivated", gone);
    auto stale = place.changed(/*isBefore=*/false);
    if (!stale)
      continue;
    bool isAsked = llvm::any_of(place.writes, [&](const MemoryAccess &write) {
      return combined.has(write); // what the kernel left there
    });
    if (isAsked || isLocalArray(kernel, target.first) || place.changed(/*isBefore=*/true))
      return refuse(stale->first, "overwritten", stale->second.op);
    states.before.push_back(place.reads.front());
  }
  return states;
}

bool metate::mayChangeCells(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (!cell || !(cell.changesActivity() || (cell.writesMember() && !isAtOwnCell(cell))))
    return false;
  std::optional<TreePath> path = findPath(cast<TreeType>(cell.getTree().getType()), cell.getPath());
  return !path || path->lastActivity() >= 0;
}

LogicalResult metate::checkVisitedCells(KernelOp kernel, const NeededValues &needed) {
  Block &body = kernel.getBody().front();
  WalkResult found = kernel.walk([&](Operation *op) {
    auto loop = dyn_cast<ForEachOp>(op);
    auto asks = dyn_cast<CellOpInterface>(op);
    bool isAsked = asks && !loop && asks.asksActivity() && op->getNumResults() &&
                   needed.isAnyNeeded(op->getResults());
    if (!loop && !isAsked)
      return WalkResult::advance();
    Value tree = asks.getTree();
    TreePath path = *findPath(cast<TreeType>(tree.getType()), asks.getPath());
    if (path.lastActivity() < 0)
      return WalkResult::advance();
    Operation *top = body.findAncestorOpInBlock(*op), *changes = nullptr;
    for (Operation *next = top; next && !changes; next = next->getNextNode())
      next->walk([&](Operation *other) {
        auto cell = dyn_cast<CellOpInterface>(other);
        if (cell && cell.getTree() == tree && mayChangeCells(other))
          changes = other;
        return changes ? WalkResult::interrupt() : WalkResult::advance();
      });
    if (!changes || isMutant(Mutant::VisitedCellsTrusted))
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitError("gradient of kernel '" + kernel.getSymName() + "': ");
    error << "which cells of '"
          << shownMember(kernel, cast<BlockArgument>(tree).getArgNumber(), asks.getPath()).name
          << "' are active is asked here and needed again, but may have changed by then, at ";
    error << placeOf(changes->getLoc()) << "; activate cells in another kernel before";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
