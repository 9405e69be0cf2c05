//===- ExtremeLanes.h - lanes that each keep the least one -----------------*- C++ -*-===//
//
// The code of ExtremesInLanes.cpp: what a vector's turns do, and what is made of all lanes. Must not decide whether it pays.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_EXTREMELANES_H
#define METATE_TARGET_CPU_EXTREMELANES_H

#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/CarriedExtremes.h"

namespace metate::cpu {

/// Bytes of a vector: of one register of a machine with AVX-512, of two with AVX2.
inline constexpr int64_t extremeVectorBytes = 64;

/// Vectors that take turns: a comparison waits for the one before.
inline constexpr int64_t extremeGroups = 2;

/// A loop whose turns become lanes.
class ExtremeLanes {
public:
  /// What the lanes of one group carry: of each extreme a vector and, if it matters, one of turns; a vector of each total.
  struct Group {
    llvm::SmallVector<mlir::Value> values, turns, totals;

    llvm::SmallVector<mlir::Value> all() const {
      llvm::SmallVector<mlir::Value> list(values);
      llvm::append_range(list, turns);
      llvm::append_range(list, totals);
      return list;
    }
    Group like(mlir::ValueRange list) const {
      Group other;
      other.values = llvm::to_vector(list.take_front(values.size()));
      list = list.drop_front(values.size());
      other.turns = llvm::to_vector(list.take_front(turns.size()));
      other.totals = llvm::to_vector(list.drop_front(turns.size()));
      return other;
    }
  };

  ExtremeLanes(mlir::scf::ForOp loop, const StraightLoop &straight, const CarriedExtremes &carried)
      : loop(loop), straight(straight), carried(carried), builder(loop), loc(loop.getLoc()) {
    collectInputs();
    unsigned bits = 32;
    for (mlir::Value input : inputs)
      bits = std::max(bits, input.getType().getIntOrFloatBitWidth());
    lanes = extremeVectorBytes * 8 / int64_t(bits);
  }
  ~ExtremeLanes() {
    if (turns)
      turns.erase();
  }
  ExtremeLanes(const ExtremeLanes &) = delete;
  ExtremeLanes &operator=(const ExtremeLanes &) = delete;

  /// Can they, and do they gain?
  bool run(bool always);

private:
  void collectInputs();
  mlir::scf::ForOp loopOfInputs();
  void write();
  mlir::Value blocksOf();
  Group start();
  Group turn(mlir::OpBuilder &at, mlir::Value block, int64_t number, const Group &before);
  void blocks(mlir::Value from, mlir::Value to, int64_t count, llvm::SmallVector<Group> &state);
  /// Is `value`, of `turn`, the one to keep? Turns: null where they do not matter.
  mlir::Value isBetter(const Extreme &extreme, mlir::Value value, mlir::Value turn,
                       mlir::Value than, mlir::Value thanTurn);
  mlir::Value combined(const Total &total, mlir::Value a, mlir::Value b);
  Group joined(const Group &a, const Group &b);
  Group half(const Group &whole, int64_t size, int64_t first);
  llvm::SmallVector<mlir::Value> results(Group all, mlir::Value count);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<unsigned> which, mlir::Value turn,
                                          mlir::OpBuilder &at);
  void takeChosen(const Extreme &extreme, mlir::Value turn,
                  llvm::MutableArrayRef<mlir::Value> results);

  mlir::Value index(int64_t number) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, number);
  }
  mlir::Value splat(mlir::OpBuilder &at, mlir::Value scalar) {
    return mlir::vector::BroadcastOp::create(
        at, loc, mlir::VectorType::get(lanes, scalar.getType()), scalar);
  }
  mlir::Value select(mlir::OpBuilder &at, mlir::Value condition, mlir::Value yes, mlir::Value no) {
    return mlir::arith::SelectOp::create(at, loc, condition, yes, no);
  }
  bool hasTurn(size_t number) const { return carried.extremes[number].needsTurn(); }

  mlir::scf::ForOp loop;
  const StraightLoop &straight;
  const CarriedExtremes &carried;
  mlir::OpBuilder builder;
  mlir::Location loc;
  int64_t lanes = 0;
  llvm::SmallVector<mlir::Value>
      inputs;             ///< of the straight loop: what is compared and added, and masks
  mlir::scf::ForOp turns; ///< a loop of nothing but that
  llvm::DenseMap<mlir::Value, mlir::Value> own; ///< input -> what it is in `turns`
  llvm::SetVector<mlir::Value> strides;         ///< what must be 1
  std::optional<LaneAnalysis> analysis;
};

} // namespace metate::cpu

#endif
