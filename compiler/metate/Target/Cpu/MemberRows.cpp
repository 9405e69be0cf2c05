//===- MemberRows.cpp - members side by side, as vectors --------*- C++ -*-===//
//
// Members that were placed side by side are every other number of memory. LLVM takes vectors of them apart if a loop reads, or writes, all of
// them; a store of one member alone is a store for each number. Here cells are loaded whole, taken apart in registers, and stored whole:
// members that nothing in the loop writes are written back as they were. Kernels that run at once leave alone the cells that another one writes.
// Cells of more numbers go by windows (CellWindows.cpp), of which nothing is written back; numbers at places that memory says are gathered.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/CellWindows.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Target/Cpu/StoresLater.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
class MemberRows {
public:
  explicit MemberRows(scf::ForOp loop)
      : loop(loop), analysis(*loop.getBody(), loop.getInductionVar()) {}

  bool find() {
    Block &body = *loop.getBody();
    size_t operations = llvm::range_size(body);
    if (loop.getNumResults() != 0 || operations > mostOfWindows || !analysis.run())
      return false;
    windows.emplace(body, analysis);
    // LLVM gathers as well, but stores members one by one.
    bool gathers = windows->anyGather() && llvm::any_of(body.getOps<WriteOp>(), [&](WriteOp write) {
                     return rowOf(write, write.getOffset(), write.getValue().getType());
                   });
    if (!gathers && (!windows->any() || windows->areTakenApart()))
      windows.reset();
    if (!windows && operations > mostOperations)
      return false;
    return llvm::all_of(body.without_terminator(), [&](Operation &op) { return isPlain(op); }) &&
           (windows ? gains() : anyMember) && llvm::all_of(writes, [&](WriteOp write) {
             return isOfWindows(write) ||
                    (isOwn(write) && (!waitsFor(write) || (!windows && mayStoreLater())));
           });
  }

  void run() {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
    Value none = arith::ConstantIndexOp::create(builder, loc, 0);
    Value span = arith::SubIOp::create(builder, loc, upper, lower);
    span = arith::MaxSIOp::create(builder, loc, span, none);
    Value whole = arith::ConstantIndexOp::create(builder, loc, -lanes());
    whole = arith::AndIOp::create(builder, loc, span, whole);
    Value middle = arith::AddIOp::create(builder, loc, lower, whole);
    scf::ForOp wide =
        Widening(loop, analysis, lanes(), /*wholeCells=*/true, windows ? &*windows : nullptr)
            .run(lower, middle);
    if (storesLater)
      storeLater(wide, llvm::to_vector(wide.getBody()->getOps<WriteOp>()));
    loop.getLowerBoundMutable().assign(middle);
    loop->setAttr("loop_annotation", LoopAnnotation::asItIs().in(loop.getContext()));
    markLanes(loop->getParentOfType<LLVM::LLVMFuncOp>());
    remarkDone(loop, "member-rows", "members")
        << "cells are read and written whole, " << Number("lanes", lanes())
        << " at a time: members side by side are taken apart in registers";
  }

private:
  static constexpr int64_t bytesOfVectors = 32;
  /// A body of more operations computes rather than waits for memory, and would need more registers than there are.
  static constexpr size_t mostOperations = 200;
  /// Matrices of 16 numbers: their arithmetic is what gains.
  static constexpr size_t mostOfWindows = 1000;
  /// What vectors of iterations must gain, by the estimate.
  static constexpr double leastGain = 1.3;

  int64_t lanes() const { return bytesOfVectors / least; }

  /// Members of cells of several numbers, few enough to be taken apart.
  std::optional<LaneAnalysis::MemberRow> rowOf(Operation *access, Value offset, Type type) const {
    auto row = analysis.memberRow(access, offset, type);
    return row && row->members > 1 && row->members <= mostMembers ? row : std::nullopt;
  }

  /// Nothing but arithmetic, rows and rows of members.
  bool isPlain(Operation &op) {
    if (auto read = dyn_cast<ReadOp>(op))
      return !read.getAcquire() && isNear(read, read.getOffset(), read.getType());
    if (auto write = dyn_cast<WriteOp>(op)) {
      writes.push_back(write);
      Type type = write.getValue().getType();
      return !write.getRelease() && !analysis.isSame(write.getOffset()) &&
             isNear(write, write.getOffset(), type);
    }
    return op.getNumRegions() == 0 && isMemoryEffectFree(&op);
  }

  bool isNear(Operation *access, Value offset, Type type) {
    if (analysis.isSame(offset))
      return true;
    if (!type.isIntOrFloat())
      return false;
    least = std::min(least, int64_t(type.getIntOrFloatBitWidth() / 8));
    if (analysis.isRow(offset, type) || isOfWindows(access))
      return true;
    auto row = analysis.memberRow(access, offset, type);
    anyMember = true;
    return row && row->members <= mostMembers;
  }

  bool isOfWindows(Operation *access) const { return windows && windows->groupOf(access); }

  /// Are vectors of iterations faster than what LLVM makes of one?
  bool gains() {
    LaneCost cost = windows->cost(lanes());
    for (Operation &op : loop.getBody()->without_terminator())
      if (!isOfWindows(&op)) {
        LaneCost one = costOf(op);
        cost.scalar += one.scalar;
        cost.lanes += one.lanes;
      }
    return cost.scalar * double(lanes()) >= leastGain * cost.lanes;
  }

  LaneCost costOf(Operation &op) const {
    auto read = dyn_cast<ReadOp>(op);
    auto write = dyn_cast<WriteOp>(op);
    auto row = read    ? rowOf(read, read.getOffset(), read.getType())
               : write ? rowOf(write, write.getOffset(), write.getValue().getType())
                       : std::nullopt;
    if (!row) // members of one cell are as many vectors, which are read once
      return costOfLanes(op, analysis, lanes());
    return {1, double(row->members) * (read ? 1 : 4)};
  }

  /// Does the loop write nothing that a write of the whole cell would change back? Of the cell's level it writes members of this very cell
  /// alone.
  bool isOwn(WriteOp write) {
    auto row = analysis.memberRow(write, write.getOffset(), write.getValue().getType());
    if (!row)
      return true;
    LinearForm form = LinearForm::of(write.getOffset());
    return llvm::all_of(writes, [&](WriteOp other) {
      if (other.getBlock() != write.getBlock() || other == write)
        return true;
      auto member = other->getAttrOfType<DenseI64ArrayAttr>(mark::member);
      if (!member)
        return false;
      if (member[0] != row->node)
        return true;
      LinearForm distance = LinearForm::of(other.getOffset()).minus(form);
      int64_t own = write->getAttrOfType<DenseI64ArrayAttr>(mark::member)[1];
      return distance.terms.empty() && distance.constant == member[1] - own;
    });
  }

  /// Does the loop read cells beside the one that it writes? A vector of cells, of which a part has just been stored, waits until it is in the
  /// cache: 1.3 ns a cell of five points, numbers one by one 0.6.
  bool waitsFor(WriteOp write) {
    constexpr int64_t far = 4096; // stored long ago
    auto row = analysis.memberRow(write, write.getOffset(), write.getValue().getType());
    if (!row)
      return false;
    int64_t begin = -write->getAttrOfType<DenseI64ArrayAttr>(mark::member)[1];
    LinearForm form = LinearForm::of(write.getOffset());
    return llvm::any_of(loop.getBody()->getOps<ReadOp>(), [&](ReadOp read) {
      LinearForm distance = LinearForm::of(read.getOffset()).minus(form);
      return read.getBlock() == write.getBlock() && distance.terms.empty() &&
             std::abs(distance.constant) < far &&
             (distance.constant < begin || distance.constant >= begin + row->bytes);
    });
  }

  /// May each turn store what the one before it has computed? Not if it reads what it has written, or writes a cell in two steps.
  bool mayStoreLater() {
    DenseSet<Value> written;
    for (Operation &op : *loop.getBody()) {
      auto read = dyn_cast<ReadOp>(op);
      auto write = dyn_cast<WriteOp>(op);
      if ((read && written.contains(read.getBlock())) ||
          (write && !written.insert(write.getBlock()).second))
        return false;
    }
    return storesLater = true;
  }

  scf::ForOp loop;
  LaneAnalysis analysis;
  std::optional<CellWindows> windows; ///< where any have several numbers
  SmallVector<WriteOp> writes;
  int64_t least = 8; ///< bytes of a number
  bool anyMember = false, storesLater = false;
};
} // namespace

bool cpu::runCellByCell(scf::ForOp loop) {
  MemberRows rows(loop);
  if (!rows.find())
    return false;
  rows.run();
  return true;
}
