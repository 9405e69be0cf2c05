//===- GatherSums.cpp - loops that add to neighbours take from them ---*- C++ -*-===//
//
// `for i: y[i - 1] += a[i]; y[i + 1] += b[i]` adds atomically, for iterations meet. The same sums are `for j: y[j] += a[j + 1] + b[j - 1]`,
// where what is not an iteration's is left out: each iteration owns a place, and rows are vectors. Gradients of stencils are
// such loops. What is added is computed anew for each place, so that it must be cheap.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ConstantSum.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/IR/IRMapping.h"

#include <map>

namespace metate {
#define GEN_PASS_DEF_GATHERSUMS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// What computing a place's sum may take, in operations for each addition: an atomic addition takes longer.
static constexpr int64_t mostSumOperations = 32, elementaryOperations = 16;

/// Places along an axis between the first and the last addition of an iteration: those between others are read and written, too.
static constexpr int64_t mostBetween = 16;

namespace {
/// A loop variable, or what is the same in all iterations, and a constant.
struct ShiftedVariable {
  std::optional<unsigned> variable;
  ConstantSum sum;

  static std::optional<ShiftedVariable> of(Value value, RangeOp loop) {
    ShiftedVariable found{std::nullopt, ConstantSum::of(value)};
    auto argument = dyn_cast_or_null<BlockArgument>(found.sum.base);
    if (argument && argument.getOwner() == &loop.getBody().front())
      found.variable = argument.getArgNumber();
    else if (found.sum.base && !isOfLaunch(found.sum.base))
      return std::nullopt;
    return found;
  }
};

/// What an operation reads or writes.
struct SumAccess {
  AccessTarget target;
  ValueRange coordinates, components;

  static std::optional<SumAccess> of(Operation *op) {
    if (auto cell = dyn_cast<CellOpInterface>(op))
      return SumAccess{
          {cell.getTree(), cell.getPath()}, cell.getCellCoordinates(), cell.getCellComponents()};
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return SumAccess{{load.getMemRef(), ""}, load.getIndices(), {}};
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return SumAccess{{store.getMemRef(), ""}, store.getIndices(), {}};
    if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
      return SumAccess{{atomic.getMemref(), ""}, atomic.getIndices(), {}};
    return std::nullopt;
  }

  bool mayMeet(const SumAccess &other) const {
    if (target != other.target)
      return false;
    auto areApartAt = [](auto pair) {
      return areApart(ConstantSum::of(std::get<0>(pair)), ConstantSum::of(std::get<1>(pair)));
    };
    return coordinates.size() != other.coordinates.size() ||
           llvm::none_of(llvm::zip(coordinates, other.coordinates), areApartAt);
  }
};

/// One atomic addition of the loop.
struct Addition {
  Operation *op;
  Value value;
  SmallVector<Value> coordinates, components;
  SmallVector<int64_t> shift; // for each loop variable
};

/// Additions to one place, and where that is.
struct Sum {
  SmallVector<Addition> additions;
  SmallVector<int64_t> least, most; // of the shifts

  bool isAtIteration() const {
    auto isNone = [](int64_t by) { return by == 0; };
    return llvm::all_of(least, isNone) && llvm::all_of(most, isNone);
  }

  bool isWide() const {
    return llvm::any_of(llvm::zip(least, most), [](auto pair) {
      auto [first, last] = pair;
      return last - first > mostBetween;
    });
  }
};

class Gatherer {
public:
  explicit Gatherer(RangeOp loop)
      : loop(loop), body(loop.getBody().front()), rank(body.getNumArguments()) {}

  /// Why not; nullptr: it is one that can be turned.
  const char *judge() {
    for (Operation &op : body.without_terminator())
      if (op.getNumRegions() || op.hasTrait<MayStop>() || isa<CallOp>(op))
        return "its iterations do more than to compute and to add";
    if (!collect())
      return "what it adds to is not named by its variables and constants";
    if (!addsToNeighbours())
      return "it adds to places that its iterations own";
    for (auto &[key, sum] : sums) {
      if (sum.isWide())
        return "what it adds to lies far apart";
      for (Addition &addition : sum.additions)
        if (const char *why = judgeSlice(addition))
          return why;
    }
    return cost > mostSumOperations * count
               ? "what it adds would take too long to compute for each place"
               : nullptr;
  }

  /// Of what has been seen of it: does an iteration add beside the place that it is at?
  bool addsToNeighbours() const {
    return llvm::any_of(sums, [](auto &entry) { return !entry.second.isAtIteration(); });
  }

  void rewrite() {
    OpBuilder builder(loop);
    for (auto &[key, sum] : sums) {
      if (sum.isAtIteration()) {
        keepHere(sum);
        continue;
      }
      write(builder, sum);
      for (Addition &addition : sum.additions)
        addition.op->erase();
    }
    bool isOver = llvm::all_of(body.without_terminator(), [](Operation &op) {
      return isMemoryEffectFree(&op) || hasSingleEffect<MemoryEffects::Read>(&op);
    });
    if (isOver)
      loop.erase();
  }

private:
  /// Its additions stay in the loop: an iteration owns the place, unless another sum that stays may meet it.
  void keepHere(Sum &sum) {
    SumAccess mine = *SumAccess::of(sum.additions.front().op);
    bool isShared = llvm::any_of(sums, [&](auto &other) {
      return &other.second != &sum && other.second.isAtIteration() &&
             SumAccess::of(other.second.additions.front().op)->mayMeet(mine);
    });
    if (!isShared)
      for (Addition &addition : sum.additions)
        makePlain(addition.op);
  }

  static std::optional<Addition> additionOf(Operation *op) {
    auto isSum = [](arith::AtomicRMWKind kind) {
      return kind == arith::AtomicRMWKind::addf || kind == arith::AtomicRMWKind::addi;
    };
    if (auto atomic = dyn_cast<AtomicOp>(op)) {
      if (!isSum(atomic.getKind()) || !atomic.getOld().use_empty() || !atomic.getActive())
        return std::nullopt;
      if (CellAccess::of(op)->resolve().lastActivity() >= 0)
        return std::nullopt; // a cell that is not there has no sum
      return Addition{op, atomic.getValue(), atomic.getCoordinates(), atomic.getComponents(), {}};
    }
    auto atomic = dyn_cast<memref::AtomicRMWOp>(op);
    if (!atomic || !isSum(atomic.getKind()) || !atomic.getResult().use_empty())
      return std::nullopt;
    return Addition{op, atomic.getValue(), atomic.getIndices(), {}, {}};
  }

  /// Finds all additions; false: something that is added to is touched in another way, or named otherwise.
  bool collect() {
    SmallVector<SumAccess> added, touched;
    for (Operation &op : body.without_terminator()) {
      std::optional<Addition> addition = additionOf(&op);
      if (addition && !place(*addition))
        return false;
      if (std::optional<SumAccess> access = SumAccess::of(&op))
        (addition ? added : touched).push_back(*access);
    }
    return llvm::none_of(added, [&](const SumAccess &sum) {
      return llvm::any_of(touched, [&](const SumAccess &other) { return sum.mayMeet(other); });
    });
  }

  /// Each variable is in one coordinate; others, and components, are constants.
  bool place(Addition &addition) {
    addition.shift.resize(rank);
    SmallVector<bool> isNamed(rank);
    std::string key;
    llvm::raw_string_ostream text(key);
    AccessTarget target = SumAccess::of(addition.op)->target;
    text << numberOf(target.first) << target.second;
    for (Value coordinate : addition.coordinates) {
      std::optional<ShiftedVariable> found = ShiftedVariable::of(coordinate, loop);
      if (!found || (found->variable && isNamed[*found->variable]))
        return false;
      if (found->variable) {
        isNamed[*found->variable] = true;
        addition.shift[*found->variable] = found->sum.constant;
        text << " v" << *found->variable;
      } else {
        text << " " << numberOf(found->sum.base) << "+" << found->sum.constant;
      }
    }
    for (Value component : addition.components) {
      std::optional<ShiftedVariable> found = ShiftedVariable::of(component, loop);
      if (!found || found->variable)
        return false;
      text << " c" << numberOf(found->sum.base) << "+" << found->sum.constant;
    }
    if (!llvm::all_of(isNamed, [](bool is) { return is; }))
      return false;
    Sum &sum = sums[key];
    for (unsigned k = 0; k < rank; ++k) {
      bool isFirst = sum.additions.empty();
      if (isFirst) {
        sum.least.push_back(addition.shift[k]);
        sum.most.push_back(addition.shift[k]);
      }
      sum.least[k] = std::min(sum.least[k], addition.shift[k]);
      sum.most[k] = std::max(sum.most[k], addition.shift[k]);
    }
    sum.additions.push_back(addition);
    ++count;
    return true;
  }

  /// Names a value, in the order in which values come up.
  unsigned numberOf(Value value) {
    return numbers.try_emplace(value, unsigned(numbers.size())).first->second;
  }

  /// What is added must be what it is before the loop has written anything.
  const char *judgeSlice(const Addition &addition) {
    SmallVector<Value> work = {addition.value};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || op->getBlock() != &body || !seen.insert(op).second)
        continue;
      cost += isa<ElementaryOp>(op) ? elementaryOperations : 1;
      if (!isMemoryEffectFree(op) && !isUnchanged(op))
        return "what it adds depends on what its iterations write";
      llvm::append_range(work, op->getOperands());
    }
    return nullptr;
  }

  /// A read of a place that the loop does not write, or that only the same iteration writes, later.
  bool isUnchanged(Operation *read) {
    std::optional<SumAccess> access = SumAccess::of(read);
    if (!access || !hasSingleEffect<MemoryEffects::Read>(read))
      return false;
    SmallVector<ValueRange> places = {access->coordinates};
    for (Operation &op : body.without_terminator()) {
      std::optional<SumAccess> other = SumAccess::of(&op);
      if (!other || !access->mayMeet(*other) || hasSingleEffect<MemoryEffects::Read>(&op))
        continue;
      if (!writeOf(&op) || op.isBeforeInBlock(read))
        return false;
      places.push_back(other->coordinates);
    }
    return places.size() == 1 || areOwnPlaces(loop, places);
  }

  /// The loop over the places of one sum. It has none where the loop itself has no iterations.
  void write(OpBuilder &builder, Sum &sum) {
    Location loc = loop.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value isEmpty;
    for (auto [lower, upper] : llvm::zip(loop.getLower(), loop.getUpper())) {
      Value is = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, lower, upper);
      isEmpty = isEmpty ? builder.createOrFold<arith::OrIOp>(loc, isEmpty, is) : is;
    }
    SmallVector<Value> lower, upper;
    for (unsigned k = 0; k < rank; ++k) {
      lower.push_back(
          builder.createOrFold<arith::AddIOp>(loc, loop.getLower()[k], constant(sum.least[k])));
      Value end =
          builder.createOrFold<arith::AddIOp>(loc, loop.getUpper()[k], constant(sum.most[k]));
      upper.push_back(builder.createOrFold<arith::SelectOp>(loc, isEmpty, lower.back(), end));
    }
    auto made = RangeOp::create(builder, loc, lower, upper);
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block &block = made.getBody().front();
    OpBuilder::InsertionGuard guard(builder);
    if (block.empty()) {
      builder.setInsertionPointToEnd(&block);
      YieldOp::create(builder, loc);
    }
    builder.setInsertionPoint(block.getTerminator());
    writeBody(builder, sum, block.getArguments());
  }

  void writeBody(OpBuilder &builder, Sum &sum, ValueRange variables) {
    Addition &first = sum.additions.front();
    Location loc = first.op->getLoc();
    SmallVector<Value> coordinates = llvm::map_to_vector(first.coordinates, [&](Value coordinate) {
      ShiftedVariable shifted = *ShiftedVariable::of(coordinate, loop);
      return shifted.variable ? variables[*shifted.variable] : copyHere(builder, coordinate);
    });
    SmallVector<Value> components = llvm::map_to_vector(
        first.components, [&](Value component) { return copyHere(builder, component); });
    Value total;
    auto cell = dyn_cast<AtomicOp>(first.op);
    auto element = dyn_cast<memref::AtomicRMWOp>(first.op);
    arith::AtomicRMWKind kind = cell ? cell.getKind() : element.getKind();
    if (cell)
      total = LoadOp::create(builder, loc, first.value.getType(), cell.getTree(), cell.getPath(),
                             coordinates, components);
    else
      total = memref::LoadOp::create(builder, loc, element.getMemref(), coordinates);
    for (Addition &addition : sum.additions)
      total = add(builder, sum, addition, variables, kind, total);
    if (cell)
      StoreOp::create(builder, loc, total, cell.getTree(), cell.getPathAttr(), coordinates,
                      components, builder.getUnitAttr());
    else
      memref::StoreOp::create(builder, loc, total, element.getMemref(), coordinates);
  }

  /// The same value computed anew, of what is the same in all iterations.
  Value copyHere(OpBuilder &builder, Value value) {
    IRMapping made;
    return copyHere(builder, value, made);
  }

  Value copyHere(OpBuilder &builder, Value value, IRMapping &made) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &body || made.contains(value))
      return made.lookupOrDefault(value);
    for (Value operand : op->getOperands())
      copyHere(builder, operand, made);
    builder.clone(*op, made);
    return made.lookup(value);
  }

  static Value fixed(OpBuilder &builder, Location loc, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// What the iteration at `variables` less the shift adds, if it is one of the loop's.
  Value add(OpBuilder &builder, Sum &sum, Addition &addition, ValueRange variables,
            arith::AtomicRMWKind kind, Value total) {
    Location loc = addition.op->getLoc();
    Value isOne;
    auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
      Value is = arith::CmpIOp::create(builder, loc, predicate, a, b);
      isOne = isOne ? arith::AndIOp::create(builder, loc, isOne, is).getResult() : is;
    };
    SmallVector<Value> at;
    for (unsigned k = 0; k < rank; ++k) {
      int64_t by =
          isMutant(Mutant::NeighbourFromOtherSide) ? addition.shift[k] : -addition.shift[k];
      at.push_back(by == 0
                       ? variables[k]
                       : arith::AddIOp::create(builder, loc, variables[k], fixed(builder, loc, by))
                             .getResult());
      auto bound = [&](Value value) -> Value {
        return builder.createOrFold<arith::AddIOp>(loc, value,
                                                   fixed(builder, loc, addition.shift[k]));
      };
      if (addition.shift[k] != sum.least[k])
        require(arith::CmpIPredicate::sge, variables[k], bound(loop.getLower()[k]));
      if (addition.shift[k] != sum.most[k])
        require(arith::CmpIPredicate::slt, variables[k], bound(loop.getUpper()[k]));
    }
    auto sumAt = [&] {
      return combinePlain(builder, loc, kind, total, copySlice(builder, addition, variables, at));
    };
    if (!isOne)
      return sumAt();
    auto branch =
        scf::IfOp::create(builder, loc, TypeRange(total.getType()), isOne, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    Value added = sumAt();
    scf::YieldOp::create(builder, loc, added);
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, loc, total);
    return branch.getResult(0);
  }

  /// What computes the addition's value, for another iteration.
  Value copySlice(OpBuilder &builder, Addition &addition, ValueRange variables,
                  ArrayRef<Value> at) {
    llvm::SmallPtrSet<Operation *, 16> needed;
    SmallVector<Value> work = {addition.value};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (op && op->getBlock() == &body && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
    IRMapping map;
    map.map(body.getArguments(), at);
    for (Operation &op : body.without_terminator()) {
      if (!needed.contains(&op))
        continue;
      // A variable and a constant stay that, so that rows are seen.
      bool isIndex = op.getNumResults() == 1 && op.getResult(0).getType().isIndex();
      std::optional<ShiftedVariable> shifted =
          isIndex ? ShiftedVariable::of(op.getResult(0), loop) : std::nullopt;
      if (shifted && shifted->variable) {
        unsigned k = *shifted->variable;
        int64_t by = shifted->sum.constant - addition.shift[k];
        map.map(op.getResult(0), by == 0 ? variables[k]
                                         : arith::AddIOp::create(builder, op.getLoc(), variables[k],
                                                                 fixed(builder, op.getLoc(), by)));
        continue;
      }
      builder.clone(op, map);
    }
    return map.lookupOrDefault(addition.value);
  }

  RangeOp loop;
  Block &body;
  unsigned rank;
  std::map<std::string, Sum> sums;
  llvm::DenseMap<Value, unsigned> numbers;
  int64_t cost = 0, count = 0;
};

struct GatherSums : metate::impl::GatherSumsBase<GatherSums> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getDebug() || kernel.getMayAlias())
      return;
    for (auto loop : llvm::make_early_inc_range(kernel.getBody().getOps<RangeOp>())) {
      bool adds = llvm::any_of(loop.getBody().front(), [](Operation &op) {
        return isa<AtomicOp, memref::AtomicRMWOp>(op);
      });
      if (!adds)
        continue;
      Gatherer gatherer(loop);
      const char *why = gatherer.judge();
      if (why && gatherer.addsToNeighbours())
        remarkDeclined(loop, "gather-sums", "atomics")
            << "does not take sums from neighbours: " << why;
      if (why)
        continue;
      remarkDone(loop, "gather-sums", "atomics")
          << "takes from neighbours what they would add, so that no addition is atomic";
      gatherer.rewrite();
      ++gathered;
    }
  }
};
} // namespace
