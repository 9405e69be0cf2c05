//===- AcrossIterations.h - iterations as lanes of vectors -----------------*- C++ -*-===//
//
// What AcrossIterations.cpp (long loops side by side) and Nontemporal.cpp (stores around the caches) share: what differs from
// lane to lane (LaneAnalysis.cpp), whether lanes pay (LaneCost.cpp), and the code of lanes (Widening.cpp; branches and
// loops: WidenedControl.cpp; memory: WidenedMemory.cpp; arrays of an iteration's own: WidenedArrays.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_ACROSSITERATIONS_H
#define METATE_TARGET_CPU_ACROSSITERATIONS_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace metate::cpu {

class CellWindows;
struct WindowGroup;

/// Finds out whether the iterations of a loop can be lanes, and what differs from lane to lane.
///
/// Inside of a loop that lanes leave in different turns, "the same" means: of all lanes that are still in it. A counter of
/// its turns is the same there; what the loop gives is not.
class LaneAnalysis {
public:
  /// `variable` is the loop's, an argument of `body`.
  LaneAnalysis(mlir::Block &body, mlir::Value variable) : body(&body), variable(variable) {
    differs.insert(variable);
  }

  /// Can they? Only after this is the rest known. `withBytes`: numbers of 8 and 16 bits too. `withArrays`: where iterations have
  /// arrays of their own, too; those of several groups of lanes are one place, so that groups stay one after the other.
  bool run(bool withBytes = false, bool withArrays = false) {
    least = withBytes ? 8 : 32;
    arrays = withArrays;
    spread(*body);
    return isPossible(*body);
  }

  /// What is in the way, if they can not; of the loop itself, if its results are.
  mlir::Operation *obstacle() const { return blocking; }

  bool isSame(mlir::Value value) const { return !differs.contains(value); }

  /// Does it stand in the body itself, so that all lanes run it?
  bool isOfBody(mlir::Operation &op) const { return op.getBlock() == body; }

  /// Of a branch or loop: do all lanes take the same side, and as many turns?
  bool isCommon(mlir::Operation *control) const;

  /// Bytes from lane to lane, where they are known.
  std::optional<int64_t> stride(mlir::Value offset) const;

  /// Do the lanes of an access lie one after the other?
  bool isRow(mlir::Value offset, mlir::Type type) const;

  /// Of a read or write of a member of cells that follow each other from lane to lane: how it lies in them.
  struct MemberRow {
    int64_t node, bytes;       ///< of the cell: its level, and how large it is
    int64_t members, position; ///< numbers of the member's size in a cell, and which one it is
  };
  std::optional<MemberRow> memberRow(mlir::Operation *access, mlir::Value offset,
                                     mlir::Type type) const;

  /// Is it an array of each iteration's own, of which lanes have a row of vectors (IndexLocals.cpp)?
  bool isOwnArray(mlir::Value array) const;
  /// The element of such an array is one for all lanes: what the lanes have of it is a vector.
  bool isOwnRow(mlir::ValueRange indices) const {
    return llvm::all_of(indices, [&](mlir::Value index) { return isSame(index); });
  }

  /// Can a lane hold it?
  bool isNumber(mlir::Type type) const;

private:
  /// What differs because of what does; again where a loop carries it to its next turn.
  void spread(mlir::Block &block);
  void spread(mlir::Operation &op);
  void spread(mlir::scf::ForOp loop);
  void spread(mlir::scf::WhileOp loop);
  /// True if it is news that `value` differs.
  bool mark(mlir::Value value, bool isDifferent = true) {
    return isDifferent && differs.insert(value).second;
  }
  bool markWhere(mlir::ValueRange values, mlir::ValueRange from);

  /// Of a number of 32 bits, modulo 2^32.
  std::optional<int64_t> narrowStride(mlir::Value number) const;

  bool isStored(mlir::Type type) const;
  bool isPossible(mlir::Block &block);
  bool isPossible(mlir::Operation &op);
  bool holdsDiffering(mlir::ValueRange values) const;

  mlir::Block *body;
  mlir::Value variable;
  mlir::Operation *blocking = nullptr;
  unsigned least = 32; ///< bits of an integer, but for truth values
  bool arrays = false;
  llvm::DenseSet<mlir::Value> differs;
};

/// A step of a reduction (Reductions.cpp): what a variable of the chunk has, combined with a value, is stored there.
struct Accumulation {
  mlir::LLVM::LoadOp load;
  mlir::Operation *step;
  mlir::LLVM::StoreOp store;
  unsigned old; ///< which operand of the step is the variable's

  mlir::Value value() const { return step->getOperand(1 - old); }

  /// The one that the operation belongs to.
  static std::optional<Accumulation> of(mlir::Operation &op);
};

/// Writes iterations of a loop as lanes of vectors. A value that differs is as many vectors of lanes as
/// it has components.
///
/// Code under a mask runs only while at least one lane is alive. What the other lanes compute there is never used: their
/// memory is not touched, what they divide by is one.
class Widening {
public:
  /// `wholeCells`: nobody else writes cells that this loop writes members of. `windows`: accesses that are done together.
  Widening(mlir::scf::ForOp loop, const LaneAnalysis &analysis, int64_t lanes,
           bool wholeCells = false, const CellWindows *windows = nullptr)
      : loop(loop), analysis(analysis), builder(loop), loc(loop.getLoc()), lanes(lanes),
        wholeCells(wholeCells), windows(windows) {}

  /// A loop over [lower, upper), before the loop itself, which is left as it is. Whole vectors; or, `masked`, the last
  /// one with lanes that are not alive.
  mlir::scf::ForOp run(mlir::Value lower, mlir::Value upper, bool masked = false);

  /// One vector's iterations, from `first` on, where `at` stands; the lanes of values of the loop's body.
  llvm::SmallVector<mlir::Value> from(mlir::OpBuilder &at, mlir::Value first,
                                      mlir::ValueRange values);

private:
  mlir::Value begin(mlir::Value first);
  mlir::Type wideType(mlir::Type type) const { return mlir::VectorType::get(lanes, type); }
  llvm::SmallVector<mlir::Value> lanesOf(mlir::Value value);
  mlir::Value splat(mlir::Value scalar);
  void widen(mlir::Block &block);
  void widen(mlir::Operation &op);
  void widenElementwise(mlir::Operation &op);
  llvm::SmallVector<mlir::Value> widenComponent(mlir::Operation &op, mlir::ValueRange operands);
  llvm::SmallVector<mlir::Value> componentsOf(mlir::vector::ExtractOp extract);
  void widenAccumulation(Accumulation accumulation);
  mlir::Value widenDivision(mlir::Operation &op, mlir::Value a, mlir::Value b);
  mlir::Value laneOf(mlir::Value vector, int64_t lane);

  // Control.
  using Values = llvm::SmallVector<mlir::Value>;
  void widenLoop(mlir::scf::ForOp inner);
  void widenLoop(mlir::scf::WhileOp inner);
  void widenLoopAlone(mlir::scf::ForOp inner);
  mlir::Value valueOfLane(mlir::Value value, mlir::Value lane, mlir::IRMapping &own);
  void widenLoopApart(mlir::scf::ForOp inner);
  void widenLoopApart(mlir::scf::WhileOp inner);
  void widenBranch(mlir::scf::IfOp branch);
  void widenFlat(mlir::scf::IfOp branch);
  void widenBranchApart(mlir::scf::IfOp branch);
  Values widenSide(mlir::scf::IfOp branch, mlir::Region &side, mlir::Value taken);
  bool isFlat(mlir::Region &region) const;
  /// What goes to `receivers`: of one that is the same the scalar, else vectors of lanes.
  void give(Values &to, mlir::ValueRange values, mlir::ValueRange receivers);
  /// `receivers` are the first ones of `from`, which are taken away.
  void take(mlir::ValueRange receivers, mlir::ValueRange &from);
  /// Of a loop that lanes leave one by one: a vector for each component of the results that somebody uses.
  Values emptyResults(mlir::ValueRange results);
  /// The results, where `alive` those of this turn.
  Values keepResults(mlir::ValueRange results, mlir::ValueRange kept, mlir::ValueRange values,
                     mlir::Value alive);
  void takeResults(mlir::ValueRange results, mlir::ValueRange from);
  mlir::Value allAlive();
  mlir::Value anyOf(mlir::Value mask);
  mlir::Value inverted(mlir::Value mask);
  /// The lanes of `mask` (null: all) with a condition, which may be anything where the mask is not set.
  mlir::Value both(mlir::Value mask, mlir::Value condition);
  mlir::Value choose(mlir::Value condition, mlir::Value yes, mlir::Value no);

  // Memory.
  void widenRead(ReadOp read);
  void widenWrite(WriteOp write);
  void widenAtomic(RmwOp atomic);
  mlir::Value changeLane(RmwOp atomic, int64_t lane);
  void findDeferred();
  void changeDeferred(mlir::Value first, mlir::Value upper);
  mlir::Value keptForLanes(mlir::Value value);
  mlir::Value readRow(ReadOp read);
  mlir::Value readCells(mlir::Operation *access, mlir::Value block, mlir::Value offset,
                        uint64_t scope, mlir::Type type, LaneAnalysis::MemberRow row);
  mlir::Value readMembers(ReadOp read, LaneAnalysis::MemberRow row);
  void writeMembers(WriteOp write, mlir::Value value, LaneAnalysis::MemberRow row);
  void readWindows(const WindowGroup &group);
  void writeWindows(const WindowGroup &group);
  llvm::SmallVector<mlir::Value> offsetsOfLanes(mlir::Value offset);
  mlir::Value inLane(mlir::Value value, mlir::IRMapping &lane);
  mlir::Value plus(mlir::Value offset, int64_t distance);
  mlir::Value offsetOfLane(mlir::Value offset, int64_t lane);
  mlir::Value gather(ReadOp read);
  mlir::Value gather(const WindowGroup &group, int64_t position);
  void scatter(WriteOp write, mlir::Value value);
  mlir::Value pointerTo(mlir::Value block, mlir::Value offset);
  /// Where each lane reads or writes: a place of this function's own where the lane is not alive.
  mlir::Value pointersUnderMask(mlir::Value block, mlir::Value offsets);

  // Arrays of an iteration's own.
  void widenArray(mlir::memref::AllocaOp array);
  void widenLoad(mlir::memref::LoadOp load);
  void widenStore(mlir::memref::StoreOp store);
  /// Where the lanes' vector of an element lies that is one for all of them.
  mlir::Value rowOf(mlir::Value array, mlir::ValueRange indices);
  /// Where each lane's element lies.
  mlir::Value elementsOf(mlir::Value array, mlir::ValueRange indices);
  mlir::Value underMask(mlir::Value pointers);

  mlir::scf::ForOp loop;
  const LaneAnalysis &analysis;
  mlir::OpBuilder builder;
  mlir::Location loc;
  int64_t lanes;
  bool wholeCells;
  const CellWindows *windows;
  llvm::SetVector<mlir::Operation *> deferred; ///< atomic operations that lanes do at the end
  mlir::Value mask;                            ///< lanes that are alive here; null: all
  mlir::Value spare;                           ///< see underMask
  bool isFlattened = false; ///< is this a side of a branch that no lane may have taken?
  mlir::IRMapping
      same; ///< what is one for all lanes, and of what differs but for reads, the first lane
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> parts;
  llvm::DenseMap<mlir::Value, mlir::Value>
      rows; ///< of an iteration's own arrays: the lanes' memory
};

/// Inner loops of several groups of lanes as one, where a group alone waits for its sums. `wide`, a loop over whole groups, keeps what
/// is left over. How many groups: 1 if it stays as it is.
int64_t jamLanes(mlir::scf::ForOp wide, int64_t lanes);
/// The same of several iterations of a parallel loop around loops of lanes, where these read what is the same for all iterations.
int64_t jamRows(mlir::scf::ForOp rows, int64_t lanes);

/// The arguments that a loop writes; nullopt: it does more than read and write, and change variables of its own.
std::optional<llvm::DenseSet<int64_t>> writtenScopes(mlir::Operation *loop);

/// Of a loop that will be lanes, and whose arguments do not overlap: what inner loops would gather in each turn of a loop around is read once,
/// into arrays of the iteration's own. Where they were read; if there are any, the analysis is of another loop.
llvm::SmallVector<mlir::Location> gatherOnce(mlir::scf::ForOp loop, const LaneAnalysis &analysis);
/// Would it be any?
bool gathersAgain(mlir::scf::ForOp loop, const LaneAnalysis &analysis);

/// Numbers of a cell that vectors of cells are taken apart in, at most: LLVM does that well.
inline constexpr int64_t mostMembers = 4;

/// Is it an integer division of lanes that is done in f64, where nothing can go wrong and nothing is rounded?
bool isDividedAsFloats(mlir::Operation &op);

/// Instructions, about, of an operation: of one iteration, of all lanes.
struct LaneCost {
  double scalar = 0, lanes = 0;
};
LaneCost costOfLanes(mlir::Operation &op, const LaneAnalysis &analysis, int64_t lanes);
/// Of the loop's body, with its turns.
LaneCost costOfLanes(mlir::Block &block, const LaneAnalysis &analysis, int64_t lanes);

/// Is it a loop along a row that lanes would gather or scatter, of which LLVM makes vectors without us? Each lane runs such a loop alone.
bool runsAlone(mlir::scf::ForOp loop, const LaneAnalysis &analysis);

/// Does what other scopes name lie elsewhere? Not where arguments may overlap (AliasScopes.cpp).
inline bool isApartFromOthers(mlir::Operation *access) { return access->hasAttr("alias_scopes"); }

/// Does the loop name elements of an iteration's own array? What has few turns is written out where it does not.
bool indexesArrays(mlir::Operation &loop);

/// An access of lanes aliases what the one of an iteration does.
void copyScopes(mlir::Operation *from, mlir::Operation *to);

/// A value of the loop's body, its arithmetic repeated where the builder stands; `mapping`: what the loop's variable is there.
mlir::Value repeated(mlir::Value value, mlir::scf::ForOp loop, mlir::IRMapping &mapping,
                     mlir::OpBuilder &builder);

/// What a reader calls an operation that keeps iterations from being lanes: "a branch", "an atomic operation", ...
llvm::StringRef obstacleName(mlir::Operation *op);

/// Values and reads that no turn changes leave the loop, reads behind a test that it runs. For arguments that do not overlap.
void hoistReadsFrom(mlir::scf::ForOp loop);
/// The same of all loops inside of one.
void hoistReads(mlir::scf::ForOp parallel);

/// An array's elements mostly lie one after the other: strides of the loop's variable that the launch knows become 1 in it. What must be 1.
llvm::SetVector<mlir::Value> guessStrides(mlir::scf::ForOp loop);

/// LLVM makes no vectors of loops with small vectors of the language, unless they are taken apart; where there are lanes they are not.
bool mayHoldLanes(mlir::LLVM::LLVMFuncOp function);

/// Tells stage emit that the function's vectors are lanes.
void markLanes(mlir::LLVM::LLVMFuncOp function);
/// Does it compute vectors already?
bool hasLanes(mlir::LLVM::LLVMFuncOp function);

} // namespace metate::cpu

#endif
