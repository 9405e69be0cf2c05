//===- IndexLocals.cpp - local vectors that are arrays in memory -*- C++ -*-===//
//
// A component that is known at run time only is a chain of selections, one for each component: the front end's way to say it, and the best one
// once loops are written out, for the selections fold then. Where they do not, each access costs as much as the vector is long
// (rows of 25 for an edit distance, 8 x 8 matrices in an elimination: 7 to 23 times slower than a place in memory).
//
// Which ones fold is seen by trying: a copy of the kernel goes through the passes that would do it. A variable with a selection that is left in a loop
// becomes an array in the iteration's own memory, with one element more, which takes what is stored out of range.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/ParallelLoops.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/MapVector.h"

namespace metate {
#define GEN_PASS_DEF_INDEXLOCALS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Fewer components are registers: a chain of selections is short, and iterations may be lanes. Where loops stay loops, only one is.
constexpr int64_t leastComponents = 8, leastWithLoops = 2;

/// What the variable is local to: a parallel loop, a function, or the kernel.
Operation *scopeOf(Operation *op) {
  while ((op = op->getParentOp()) && !isa<KernelOp, FunctionOp>(op))
    if (isParallel(op))
      return op;
  return op;
}

/// The component that indices name: along each axis a value, or a number.
struct Position {
  SmallVector<arith::CmpIOp, 2> tests; ///< of the value; null: the number
  SmallVector<int64_t, 2> numbers;
};

/// The selections that are one access, told by the conditions under which each component is meant.
class Chain {
public:
  explicit Chain(VectorType type) : shape(type.getShape()) {}

  /// Component `k` is meant where the condition holds; false: it is no comparison of indices.
  bool add(int64_t k, Value condition) {
    if (matchPattern(condition, m_Zero()))
      return true;
    SmallVector<arith::CmpIOp, 2> compares;
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      compares = {both.getLhs().getDefiningOp<arith::CmpIOp>(),
                  both.getRhs().getDefiningOp<arith::CmpIOp>()};
    } else {
      compares = {condition.getDefiningOp<arith::CmpIOp>()};
    }
    Tests tests;
    for (arith::CmpIOp compare : compares) {
      APInt number;
      if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
          !matchPattern(compare.getRhs(), m_ConstantInt(&number)) ||
          number.getSignificantBits() > 63)
        return false;
      tests.push_back({compare, number.getZExtValue()});
      comparisons.push_back(compare);
    }
    return components.insert({k, std::move(tests)}).second;
  }

  /// What the conditions say, if they are those of one component along each axis. `last`: the last component has a condition, too.
  std::optional<Position> position(bool last) const {
    int64_t count = ShapedType::getNumElements(shape), named = last ? count : count - 1;
    for (unsigned varying = 1; varying < (1u << shape.size()); ++varying)
      if (std::optional<Position> found = positionAlong(varying, named))
        return found;
    return std::nullopt;
  }

  ArrayRef<arith::CmpIOp> tests() const { return comparisons; }

private:
  using Tests = SmallVector<std::pair<arith::CmpIOp, uint64_t>, 2>;

  int64_t along(int64_t component, unsigned axis) const {
    return shape.size() == 2 && axis == 0 ? component / shape[1] : component % shape.back();
  }

  /// The axes of the bits of `varying` are indexed by values, the others by one number, which all components share.
  std::optional<Position> positionAlong(unsigned varying, int64_t named) const {
    if (components.empty())
      return std::nullopt;
    const auto &[first, ofFirst] = components.front();
    Position position;
    size_t next = 0;
    for (unsigned axis = 0; axis < shape.size(); ++axis) {
      bool varies = varying & (1u << axis);
      if (varies && next >= ofFirst.size())
        return std::nullopt;
      position.tests.push_back(varies ? ofFirst[next++].first : arith::CmpIOp());
      position.numbers.push_back(along(first, axis));
    }
    if (next != ofFirst.size())
      return std::nullopt;
    size_t seen = 0;
    for (int64_t k = 0; k < named; ++k) {
      bool isThere = true;
      for (unsigned axis = 0; axis < shape.size(); ++axis)
        isThere &= position.tests[axis] || along(k, axis) == position.numbers[axis];
      if (!isThere)
        continue;
      auto known = components.find(k);
      if (known == components.end() || known->second.size() != next)
        return std::nullopt;
      size_t test = 0;
      for (unsigned axis = 0; axis < shape.size(); ++axis) {
        if (!position.tests[axis])
          continue;
        auto [compare, number] = known->second[test++];
        if (compare.getLhs() != position.tests[axis].getLhs() || number != uint64_t(along(k, axis)))
          return std::nullopt;
      }
      ++seen;
    }
    return seen == components.size() ? std::optional(position) : std::nullopt;
  }

  ArrayRef<int64_t> shape;
  llvm::MapVector<int64_t, Tests> components;
  SmallVector<arith::CmpIOp> comparisons;
};

/// The component's number, where the value is one of what the variable holds at `load`.
std::optional<int64_t> componentOf(Value value, Value whole) {
  auto extract = value.getDefiningOp<vector::ExtractOp>();
  if (!extract || extract.getSource() != whole || extract.hasDynamicPosition())
    return std::nullopt;
  ArrayRef<int64_t> at = extract.getStaticPosition();
  ArrayRef<int64_t> shape = cast<VectorType>(whole.getType()).getShape();
  if (at.size() != shape.size())
    return std::nullopt;
  return at.size() == 2 ? at[0] * shape[1] + at[1] : at[0];
}

/// A variable, with the accesses of its components that are chains of selections.
class Variable {
public:
  /// A chain that reads: its last selection is the component.
  struct Read {
    arith::SelectOp result;
    Position position;
  };
  /// One that writes: the store of the whole with a component replaced.
  struct Write {
    memref::StoreOp store;
    arith::SelectOp choice; ///< of the new value
    Position position;
  };

  /// One with some components replaced, of which it is known which.
  struct Partial {
    memref::StoreOp store;
    SmallVector<int64_t> components;
  };

  static std::optional<Variable> of(memref::AllocaOp alloca, int64_t least) {
    auto type = dyn_cast<VectorType>(alloca.getType().getElementType());
    if (alloca.getType().getRank() != 0 || !type || type.getNumElements() < least ||
        type.getRank() > 2)
      return std::nullopt;
    Variable variable(alloca, type);
    Operation *scope = scopeOf(alloca);
    for (Operation *user : alloca->getUsers()) {
      auto store = dyn_cast<memref::StoreOp>(user);
      if (!(store ? store.getValue() != alloca.getResult() : isa<memref::LoadOp>(user)) ||
          scopeOf(user) != scope)
        return std::nullopt;
      if (store)
        variable.findWrite(store);
      else
        variable.findReads(cast<memref::LoadOp>(user));
    }
    if (variable.reads.empty() && variable.writes.empty())
      return std::nullopt;
    return variable;
  }

  ArrayRef<arith::CmpIOp> tests() const { return comparisons; }

  /// The variable as an array: accesses of its components. What chains leave is dead code.
  void moveAccesses() {
    OpBuilder builder(local);
    Type element = type.getElementType();
    int64_t count = type.getNumElements();
    array =
        memref::AllocaOp::create(builder, local.getLoc(), MemRefType::get({count + 1}, element));
    for (Read &read : reads) {
      builder.setInsertionPoint(read.result);
      Value value = memref::LoadOp::create(builder, read.result.getLoc(), array,
                                           place(builder, read.result.getLoc(), read.position,
                                                 /*otherwise=*/count - 1));
      read.result.replaceAllUsesWith(value);
    }
    int64_t outside = isMutant(Mutant::StoredOutOfRange) ? count - 1 : count;
    for (Write &write : writes) {
      builder.setInsertionPoint(write.store);
      Location loc = write.store.getLoc();
      memref::StoreOp::create(builder, loc, write.choice.getTrueValue(), array,
                              place(builder, loc, write.position, /*otherwise=*/outside));
      write.store.erase();
    }
    for (Partial &partial : partials) {
      builder.setInsertionPoint(partial.store);
      auto whole = partial.store.getValue().getDefiningOp<vector::FromElementsOp>();
      for (int64_t k : partial.components)
        storeElement(builder, partial.store.getLoc(), whole.getElements()[k], k);
      partial.store.erase();
    }
  }

  /// What is no access of single components.
  void moveRest() {
    OpBuilder builder(local);
    for (Operation *user : llvm::make_early_inc_range(local->getUsers())) {
      builder.setInsertionPoint(user);
      if (auto load = dyn_cast<memref::LoadOp>(user))
        readAll(builder, load);
      else
        writeAll(builder, cast<memref::StoreOp>(user));
    }
    local.erase();
  }

  memref::AllocaOp local;

private:
  Variable(memref::AllocaOp local, VectorType type) : local(local), type(type) {}

  void findReads(memref::LoadOp load) {
    // The last component is what a chain begins with.
    int64_t count = type.getNumElements();
    for (Operation *user : load->getUsers()) {
      auto extract = dyn_cast<vector::ExtractOp>(user);
      if (!extract || componentOf(extract, load) != count - 1)
        continue;
      for (OpOperand &use : extract->getUses())
        if (auto first = dyn_cast<arith::SelectOp>(use.getOwner());
            first && use.getOperandNumber() == 2)
          findRead(load, first);
    }
  }

  void findRead(memref::LoadOp load, arith::SelectOp first) {
    Chain chain(type);
    arith::SelectOp at = first;
    while (true) {
      std::optional<int64_t> component = componentOf(at.getTrueValue(), load);
      if (!component || !chain.add(*component, at.getCondition()))
        return;
      arith::SelectOp next =
          at->hasOneUse() ? dyn_cast<arith::SelectOp>(*at->getUsers().begin()) : arith::SelectOp();
      if (!next || next.getFalseValue() != at.getResult() ||
          !componentOf(next.getTrueValue(), load))
        break;
      at = next;
    }
    // The variable still has the value that it had then.
    if (load->getBlock() != at->getBlock() || isStoredBetween(load, at))
      return;
    if (std::optional<Position> position = chain.position(/*last=*/false)) {
      reads.push_back({at, *position});
      comparisons.append(chain.tests().begin(), chain.tests().end());
    }
  }

  void findWrite(memref::StoreOp store) {
    auto whole = store.getValue().getDefiningOp<vector::FromElementsOp>();
    if (!whole)
      return;
    arith::SelectOp choice;
    memref::LoadOp before;
    Chain chain(type);
    SmallVector<int64_t> others; // that have nothing of the old value
    for (auto [k, element] : llvm::enumerate(whole.getElements())) {
      if (auto load = loadOf(element, int64_t(k))) {
        if (before && before != load)
          return;
        before = load;
        continue;
      }
      auto select = element.getDefiningOp<arith::SelectOp>();
      auto load = select ? loadOf(select.getFalseValue(), int64_t(k)) : memref::LoadOp();
      if (!load) {
        others.push_back(int64_t(k));
        continue;
      }
      if ((before && before != load) ||
          (choice && choice.getTrueValue() != select.getTrueValue()) ||
          !chain.add(int64_t(k), select.getCondition()))
        return;
      before = load;
      choice = select;
    }
    // The variable still has the value that it had then.
    if (!before || before->getBlock() != store->getBlock() || isStoredBetween(before, store))
      return;
    if (!choice) {
      partials.push_back({store, others});
    } else if (std::optional<Position> position = chain.position(/*last=*/true);
               position && others.empty()) {
      writes.push_back({store, choice, *position});
      comparisons.append(chain.tests().begin(), chain.tests().end());
    }
  }

  /// The load of the variable whose component `k` the value is.
  memref::LoadOp loadOf(Value value, int64_t k) {
    auto extract = value.getDefiningOp<vector::ExtractOp>();
    auto load = extract ? extract.getSource().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    bool isOwn = load && load.getMemRef() == local.getResult() && componentOf(value, load) == k;
    return isOwn ? load : memref::LoadOp();
  }

  bool isStoredBetween(Operation *first, Operation *last) {
    for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode()) {
      bool stores = op->walk([&](memref::StoreOp store) {
                        return store.getMemRef() == local.getResult() ? WalkResult::interrupt()
                                                                      : WalkResult::advance();
                      }).wasInterrupted();
      if (stores)
        return true;
    }
    return false;
  }

  /// Where the component is; `otherwise` where the indices are out of range.
  Value place(OpBuilder &builder, Location loc, const Position &position, int64_t otherwise) const {
    Value sum, isInside;
    for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
      Value at;
      if (arith::CmpIOp test = position.tests[axis]) {
        Value value = test.getLhs();
        if (value.getType().isInteger() && value.getType().getIntOrFloatBitWidth() < 32)
          value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
        Value bound = arith::ConstantOp::create(builder, loc,
                                                builder.getIntegerAttr(value.getType(), extent));
        Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value, bound);
        isInside = isInside ? arith::AndIOp::create(builder, loc, isInside, below) : below;
        at = value.getType().isIndex()
                 ? value
                 : arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
      } else {
        at = arith::ConstantIndexOp::create(builder, loc, position.numbers[axis]);
      }
      if (!sum) {
        sum = at;
        continue;
      }
      Value columns = arith::ConstantIndexOp::create(builder, loc, extent);
      sum = arith::MulIOp::create(builder, loc, sum, columns);
      sum = arith::AddIOp::create(builder, loc, sum, at);
    }
    Value other = arith::ConstantIndexOp::create(builder, loc, otherwise);
    return arith::SelectOp::create(builder, loc, isInside, sum, other);
  }

  Value element(OpBuilder &builder, Location loc, int64_t number) const {
    Value at = arith::ConstantIndexOp::create(builder, loc, number);
    return memref::LoadOp::create(builder, loc, array, at);
  }

  /// Components that are known, one by one; whoever wants all of them gets all.
  void readAll(OpBuilder &builder, memref::LoadOp load) {
    for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
      auto extract = dyn_cast<vector::ExtractOp>(user);
      std::optional<int64_t> component = extract ? componentOf(extract, load) : std::nullopt;
      if (!component)
        continue;
      extract.replaceAllUsesWith(element(builder, load.getLoc(), *component));
      extract.erase();
    }
    if (!load->use_empty()) {
      auto elements = llvm::map_to_vector(llvm::seq(type.getNumElements()), [&](int64_t k) {
        return element(builder, load.getLoc(), k);
      });
      load.replaceAllUsesWith(
          vector::FromElementsOp::create(builder, load.getLoc(), type, elements).getResult());
    }
    load.erase();
  }

  void writeAll(OpBuilder &builder, memref::StoreOp store) {
    Location loc = store.getLoc();
    auto elements = vector::ToElementsOp::create(builder, loc, store.getValue()).getElements();
    for (auto [k, value] : llvm::enumerate(elements))
      storeElement(builder, loc, value, int64_t(k));
    store.erase();
  }

  void storeElement(OpBuilder &builder, Location loc, Value value, int64_t number) const {
    Value at = arith::ConstantIndexOp::create(builder, loc, number);
    memref::StoreOp::create(builder, loc, value, array, at);
  }

  Value array;
  VectorType type;
  SmallVector<Read> reads;
  SmallVector<Write> writes;
  SmallVector<Partial> partials;
  SmallVector<arith::CmpIOp> comparisons;
};

struct IndexLocals : metate::impl::IndexLocalsBase<IndexLocals> {
  using IndexLocalsBase::IndexLocalsBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      std::vector<Variable> variables = variablesOf(kernel);
      if (variables.empty())
        continue;
      std::optional<llvm::DenseSet<int64_t>> selected = selectedAtLast(kernel, variables);
      if (!selected)
        return signalPassFailure();
      move(kernel, variables, *selected);
    }
  }

private:
  void move(KernelOp kernel, std::vector<Variable> &variables,
            const llvm::DenseSet<int64_t> &selected) {
    std::vector<Variable *> chosen;
    for (auto [k, variable] : llvm::enumerate(variables))
      if (selected.contains(int64_t(k)))
        chosen.push_back(&variable);
    for (Variable *variable : chosen) {
      remarkDone(variable->local, "index-locals", "registers")
          << "a local vector is an array in memory: a loop names its components by what is known "
             "at run time only";
      variable->moveAccesses();
      ++moved;
    }
    for (Variable *variable : chosen)
      variable->moveRest();
    IRRewriter rewriter(&getContext());
    if (!chosen.empty())
      (void)runRegionDCE(rewriter, kernel->getRegions());
  }

  /// Those whose accesses are all in the task, or the function, that they are local to.
  std::vector<Variable> variablesOf(KernelOp kernel) const {
    bool isOneTask = !kernel
                          .walk([](Operation *op) {
                            return isParallel(op) ? WalkResult::interrupt() : WalkResult::advance();
                          })
                          .wasInterrupted();
    std::vector<Variable> variables;
    kernel.walk([&](memref::AllocaOp alloca) {
      if (isa<KernelOp>(scopeOf(alloca)) && !isOneTask)
        return;
      if (std::optional<Variable> variable =
              Variable::of(alloca, unroll ? leastComponents : leastWithLoops))
        variables.push_back(std::move(*variable));
    });
    return variables;
  }

  /// The numbers of those with selections that are left in loops.
  std::optional<llvm::DenseSet<int64_t>> selectedAtLast(KernelOp kernel,
                                                        ArrayRef<Variable> variables) {
    OpBuilder builder(kernel);
    for (auto [k, variable] : llvm::enumerate(variables))
      for (arith::CmpIOp test : variable.tests())
        test->setAttr(mark::triedLocal, builder.getI64IntegerAttr(int64_t(k)));
    auto tried = cast<KernelOp>(builder.clone(*kernel));
    for (const Variable &variable : variables)
      for (arith::CmpIOp test : variable.tests())
        test->removeAttr(mark::triedLocal);
    tried.setSymName((kernel.getSymName() + ".tried").str());
    tried->setAttr(mark::tried, builder.getUnitAttr());
    OpPassManager passes(KernelOp::getOperationName());
    passes.addPass(createPromoteLocals());
    if (!kernel.getDebug()) {
      passes.addPass(createUpliftWhile());
      if (unroll)
        passes.addPass(createUnrollLoops());
    }
    // Users first: from the top 23,000 constants of loops that are written out took 0.8 s, so 0.02.
    passes.addPass(createCanonicalizerPass(GreedyRewriteConfig().setUseTopDownTraversal(false)));
    bool isFine = succeeded(runPipeline(passes, tried));
    llvm::DenseSet<int64_t> selected;
    tried.walk([&](arith::CmpIOp test) {
      auto number = test->getAttrOfType<IntegerAttr>(mark::triedLocal);
      if (number && !test->use_empty() && isInSerialLoop(test))
        selected.insert(number.getInt());
    });
    tried.erase();
    return isFine ? std::optional(selected) : std::nullopt;
  }

  static bool isInSerialLoop(Operation *op) {
    for (Operation *around = op->getParentOp(); around && !isParallel(around);
         around = around->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(around))
        return true;
    return false;
  }
};
} // namespace
