//===- BriefKernel.cpp - is a launch over in no time? -----------*- C++ -*-===//
//
// Only loops whose turns are known from constants and from extents of arrays, over trees without pools, and without calls.
// Later stages change the order of the work and spread it, they do not add to it, but for copies of what is added to, which
// are counted here.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/BriefKernel.h"

#include "metate/Dialect/Elementary.h"
#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Tree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

namespace {
/// So many simple operations, most of which the next stages remove, take some ten microseconds; below a millisecond even if
/// each access misses all caches. Python's threads wait 5 ms for one another before they ask.
constexpr int64_t most = 1 << 15;
constexpr int64_t anyExtent = std::numeric_limits<int32_t>::max();
/// What may be added to an extent in a bound: 32-bit integers do not wrap then.
constexpr int64_t mostOffset = 1 << 20;

/// The work of a kernel whose arrays have no extent larger than `extent`; nullopt: more than `most`, or no bound.
class Work {
public:
  using Bound = std::optional<int64_t>;

  explicit Work(int64_t extent) : extent(extent) {}

  Bound ofKernel(Block &body) {
    Bound loops = of(body);
    return loops && copies && *loops + *copies <= most ? loops : std::nullopt;
  }

private:
  Bound of(Block &block) {
    int64_t sum = 0;
    for (Operation &op : block) {
      Bound one = of(op);
      if (!one || (sum += *one) > most)
        return std::nullopt;
    }
    return sum;
  }

  static Bound product(Bound a, Bound b) {
    int64_t result;
    if (!a || !b || llvm::MulOverflow(*a, *b, result) || result > most)
      return std::nullopt;
    return result;
  }

  Bound of(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return product(turns(loop.getLowerBound(), loop.getUpperBound()), turnOf(*loop.getBody()));
    if (auto range = dyn_cast<RangeOp>(op)) {
      Bound all = 1;
      for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper()))
        all = product(all, turns(lower, upper));
      return product(all, turnOf(range.getBody().front()));
    }
    if (auto cells = dyn_cast<ForEachOp>(op))
      return product(cellsOf(cells.getTree(), cells.getPath()), turnOf(cells.getBody().front()));
    if (auto choice = dyn_cast<scf::IfOp>(op)) {
      int64_t sum = 1;
      for (Region &region : op.getRegions())
        for (Block &block : region) {
          Bound one = of(block);
          if (!one)
            return std::nullopt;
          sum += *one;
        }
      return sum;
    }
    if (op.getNumRegions() || op.getNumSuccessors())
      return std::nullopt;
    return product(componentsOf(op), ofSimple(op));
  }

  Bound turnOf(Block &block) {
    Bound inside = of(block);
    return inside ? Bound(*inside + 1) : std::nullopt;
  }

  Bound ofSimple(Operation &op) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<arith::ConstantOp>(op))
      return 0;
    if (auto atomic = dyn_cast<AtomicOp>(op))
      return ofAtomic(cellsOf(atomic.getTree(), atomic.getPath()));
    if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
      return ofAtomic(elementsOf(atomic.getMemRefType()));
    if (isa<LoadOp, StoreOp, IsActiveOp, memref::LoadOp, memref::StoreOp, AssertOp, CheckOp>(op))
      return 4;
    if (isa<ElementaryOp, PhiloxOp>(op) || isa<math::MathDialect>(op.getDialect()))
      return 32;
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::DivFOp,
            arith::RemFOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
      return 8;
    if (auto local = dyn_cast<memref::AllocaOp>(op))
      return local.getType().hasStaticShape() ? Bound(local.getType().getNumElements())
                                              : std::nullopt;
    if (isa<memref::DimOp>(op) || isa<arith::ArithDialect, vector::VectorDialect>(op.getDialect()))
      return 1;
    return std::nullopt;
  }

  Bound ofAtomic(Bound elements) {
    copies = copies && elements ? Bound(*copies + *elements) : std::nullopt;
    return 8;
  }

  static int64_t componentsOf(Operation &op) {
    int64_t most = 1;
    auto look = [&](Type type) {
      if (auto vector = dyn_cast<VectorType>(type))
        most = std::max(most, vector.getNumElements());
    };
    llvm::for_each(op.getOperandTypes(), look);
    llvm::for_each(op.getResultTypes(), look);
    return most;
  }

  static Bound cellsOf(Value tree, StringRef name) {
    std::optional<TreePath> path = findPath(cast<TreeType>(tree.getType()), name);
    if (!path || path->lastPool() >= 0)
      return std::nullopt;
    Bound cells = 1;
    for (int64_t along : path->extents)
      cells = product(cells, along);
    return cells;
  }

  Bound elementsOf(MemRefType type) {
    Bound elements = 1;
    for (int64_t along : type.getShape())
      elements = product(elements, ShapedType::isDynamic(along) ? extent : along);
    return elements;
  }

  Bound turns(Value lower, Value upper) {
    APInt first;
    Bound last = boundOf(upper);
    if (!last || !matchPattern(lower, m_ConstantInt(&first)))
      return std::nullopt;
    return std::max<int64_t>(*last - first.getSExtValue(), 0);
  }

  /// A value that this one never exceeds: of a constant, an extent, an extent and a constant.
  Bound boundOf(Value value) {
    value = withoutCasts(value);
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return number.getSExtValue();
    if (Bound found = ofExtent(value))
      return found;
    Operation *sum = value.getDefiningOp();
    if (!sum || !isa<arith::AddIOp, arith::SubIOp>(sum) ||
        !matchPattern(sum->getOperand(1), m_ConstantInt(&number)) || number.abs().sgt(mostOffset))
      return std::nullopt;
    Bound found = ofExtent(withoutCasts(sum->getOperand(0)));
    int64_t offset = number.getSExtValue();
    return found ? Bound(*found + (isa<arith::AddIOp>(sum) ? offset : -offset)) : std::nullopt;
  }

  static Value withoutCasts(Value value) {
    while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      value = cast.getIn();
    return value;
  }

  Bound ofExtent(Value value) {
    auto dimension = value.getDefiningOp<memref::DimOp>();
    auto array = dimension ? dyn_cast<BlockArgument>(dimension.getSource()) : BlockArgument();
    return array && isa<KernelOp>(array.getOwner()->getParentOp()) ? Bound(extent) : std::nullopt;
  }

  int64_t extent;
  Bound copies = 0; // elements of what is added to, each time that it is written
};

bool hasPool(TreeType type) {
  return llvm::any_of(type.getBranches(), [](Attribute node) { return hasPools(node); });
}
} // namespace

int64_t frontend::briefExtent(ModuleOp module) {
  auto kernels = llvm::to_vector(module.getOps<KernelOp>());
  if (kernels.size() != 1 || kernels[0].getDebug() || isGraph(kernels[0]) ||
      llvm::any_of(kernels[0].getArgumentTypes(), [](Type type) {
        auto tree = dyn_cast<TreeType>(type);
        return tree && hasPool(tree);
      }))
    return -1;
  Block &body = kernels[0].getBody().front();
  auto isBrief = [&](int64_t extent) { return Work(extent).ofKernel(body).has_value(); };
  if (isBrief(anyExtent))
    return anyExtent;
  int64_t brief = -1, longer = most + 1; // bisected: more work for each larger extent
  for (int64_t extent = 0; brief + 1 < longer; extent = brief + (longer - brief) / 2)
    (isBrief(extent) ? brief : longer) = extent;
  return brief;
}
