//===- StageLeaves.cpp - neighbour reads through a local tile ---*- C++ -*-===//
//
// For each member that a nest reads at offsets from the own cell and does not write:
// one tile, the leaf with its halo, filled once per leaf; the loads become loads of the tile.
//
//===----------------------------------------------------------------------===//
#include "metate/Layout/TreeLayout.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_STAGELEAVES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A tile beyond this does not stay in the first-level cache beside the rest.
constexpr int64_t maxTileBytes = 64 * 1024;

struct Candidate {
  LoadOp load;
  LeafForm form;
};

struct StageLeaves : metate::impl::StageLeavesBase<StageLeaves> {
  void runOnOperation() override {
    SmallVector<CellsOp> tasks;
    getOperation().walk([&](CellsOp cells) { tasks.push_back(cells); });
    for (CellsOp cells : tasks)
      visit(cells);
  }

private:
  /// Whether the nest may write the member, elsewhere than at the iteration's own cell, or activate cells of its
  /// tree. Other members of the tree are other bytes, as fields of one root are.
  bool isWritten(CellsOp cells, Value tree, StringAttr member) {
    return cells
        .walk([&](Operation *op) {
          auto access = CellAccess::of(op);
          auto change = changedCell(op);
          bool isStore = isa<StoreOp, AtomicOp>(op) && access->path == member &&
                         mayBeSameTree(getOperation(), access->tree, tree);
          if (isStore && isa<StoreOp>(op) && access->tree == tree) {
            std::optional<LeafForm> form = LeafForm::of(cells, *access);
            isStore = !form || !form->isOwnCell(cells, access->resolve());
          }
          bool writes = (change && mayBeSameTree(getOperation(), change->tree, tree)) || isStore;
          return writes ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool isStored(CellsOp cells, Value tree, StringAttr member) {
    return cells
        .walk([&](StoreOp store) {
          bool stores =
              store.getPathAttr() == member && mayBeSameTree(getOperation(), store.getTree(), tree);
          return stores ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The leaf below the pool is one inline level over all axes of the path: its rows are contiguous. What
  /// is not active in it holds background.
  /// Without an ambient slot each row would need a branch: not worth a tile.
  static bool hasPlainLeaf(LoadOp load, const TreePath &path) {
    int depth = path.lastPool();
    if (depth + 2 != int(path.levels.size()) || path.levels.back().hasPool() ||
        levelAxes(path.levels.back()) != path.axes)
      return false;
    llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(load.getTreeType());
    if (!layout) {
      llvm::consumeError(layout.takeError());
      return false;
    }
    return llvm::all_of(layout->nodes,
                        [](const layout::Node &node) { return node.pool < 0 || node.ambient; });
  }

  void visit(CellsOp cells) {
    if (nestOf(cells).empty())
      return;
    llvm::MapVector<std::pair<Value, StringAttr>, SmallVector<Candidate, 0>> members;
    cells.walk([&](LoadOp load) {
      TreePath path = CellAccess::of(load)->resolve();
      std::optional<LeafForm> form = LeafForm::of(cells, *CellAccess::of(load));
      if (form && form->staysNear() && hasPlainLeaf(load, path) && load.getComponents().empty() &&
          !isa<VectorType>(path.place.getType()) && !path.place.getType().isInteger(1) &&
          llvm::all_of(form->slot, [](Value slot) { return bool(slot); }))
        members[{load.getTree(), load.getPathAttr()}].push_back({load, std::move(*form)});
    });
    for (auto &[key, candidates] : members) {
      if (isWritten(cells, key.first, key.second) && !isMutant(Mutant::StaleTile))
        continue;
      // What the iteration has written itself it reads where it wrote it.
      if (isStored(cells, key.first, key.second))
        llvm::erase_if(candidates, [&](Candidate &candidate) {
          return candidate.form.isOwnCell(cells, CellAccess::of(candidate.load)->resolve());
        });
      if (!candidates.empty())
        stage(cells, candidates);
    }
  }

  void stage(CellsOp cells, ArrayRef<Candidate> candidates) {
    ArrayRef<int64_t> extents = candidates.front().form.extents;
    SmallVector<int64_t> low(extents.size(), 0), high(extents.size(), 0), shape;
    bool leaves = false, always = false;
    for (const Candidate &candidate : candidates) {
      leaves |= !candidate.form.staysInLeaf();
      always |= runsForEveryActiveCell(cells, candidate.load);
      for (unsigned k = 0; k < extents.size(); ++k) {
        low[k] = std::max(low[k], -candidate.form.least[k]);
        high[k] = std::max(high[k],
                           candidate.form.greatest[k] - extents[k] + !isMutant(Mutant::HaloShort));
      }
    }
    LoadOp front = candidates.front().load;
    int64_t bytes = front.getType().getIntOrFloatBitWidth() / 8;
    for (unsigned k = 0; k < extents.size(); ++k) {
      shape.push_back(low[k] + extents[k] + high[k]);
      bytes *= shape.back();
    }
    // A tile pays for what crosses leaves; what stays inside is read in place.
    if (!leaves || !always || bytes > maxTileBytes)
      return;
    OpBuilder builder(leafPoint(cells));
    SmallVector<Value> base;
    for (auto [slot, extent] : llvm::zip(candidates.front().form.slot, extents))
      base.push_back(
          arith::MulIOp::create(builder, front.getLoc(), slot,
                                arith::ConstantIndexOp::create(builder, front.getLoc(), extent)));
    auto tile =
        StageLeafOp::create(builder, front.getLoc(), MemRefType::get(shape, front.getType()),
                            front.getTree(), front.getPathAttr(), base,
                            builder.getDenseI64ArrayAttr(low), builder.getDenseI64ArrayAttr(high));
    for (const Candidate &candidate : candidates)
      replace(candidate, tile, low);
  }

  void replace(const Candidate &candidate, StageLeafOp tile, ArrayRef<int64_t> low) {
    LoadOp load = candidate.load;
    OpBuilder builder(load);
    Location loc = load.getLoc();
    SmallVector<Value> indices;
    for (auto [form, shift] : llvm::zip(candidate.form.local, low)) {
      Value index = arith::ConstantIndexOp::create(builder, loc, form.constant + shift);
      for (auto &[term, coefficient] : form.terms) {
        Value scaled =
            coefficient == 1
                ? term
                : arith::MulIOp::create(builder, loc, term,
                                        arith::ConstantIndexOp::create(builder, loc, coefficient))
                      .getResult();
        index = arith::AddIOp::create(builder, loc, scaled, index);
      }
      indices.push_back(index);
    }
    Value value = memref::LoadOp::create(builder, loc, tile.getTile(), indices);
    load.replaceAllUsesWith(value);
    load.erase();
    ++staged;
  }
};
} // namespace
