//===- StageLeaves.cpp - neighbour reads through a local tile ---*- C++ -*-===//
//
// For each member that a nest reads at offsets from the own cell and does not write:
// one tile, the leaf with its halo, filled once per leaf; the loads become loads of the tile.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Quant.h"
#include "metate/Layout/TreeLayout.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/Passes.h"

#include <set>

namespace metate {
#define GEN_PASS_DEF_STAGELEAVES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct Candidate {
  LoadOp load;
  LeafForm form;
};

struct StageLeaves : metate::impl::StageLeavesBase<StageLeaves> {
  using StageLeavesBase::StageLeavesBase;
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
    return walkWithCalls(cells,
                         [&](Operation *op) {
                           auto access = CellAccess::of(op);
                           auto change = changedCell(op);
                           bool isStore = writesMember(op) && access->path == member &&
                                          mayBeSameTree(getOperation(), access->tree, tree);
                           if (isStore && isa<StoreOp>(op) && access->tree == tree) {
                             std::optional<LeafForm> form = LeafForm::of(cells, *access);
                             isStore = !form || !form->isOwnCell(cells, access->resolve());
                           }
                           bool writes =
                               (change && mayBeSameTree(getOperation(), change->tree, tree)) ||
                               isStore;
                           return writes ? WalkResult::interrupt() : WalkResult::advance();
                         })
        .wasInterrupted();
  }

  bool isStored(CellsOp cells, Value tree, StringAttr member) {
    return walkWithCalls(cells,
                         [&](Operation *op) {
                           auto store = dyn_cast<StoreOp>(op);
                           bool stores = store && store.getPathAttr() == member &&
                                         mayBeSameTree(getOperation(), store.getTree(), tree);
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

  static std::string nameOf(LoadOp load) { return accessName(load.getTree(), load.getPath()).name; }

  static void remarkNotStaged(LoadOp load, StringRef why) {
    if (auto remark = remarkDeclined(load, "stage-leaves", "rows"))
      remark << "'" << nameOf(load) << "' is not staged: " << why;
  }

  /// Why the load can not come from a copy of the leaf; empty: it can.
  static StringRef problemOf(LoadOp load, const std::optional<LeafForm> &form) {
    TreePath path = CellAccess::of(load)->resolve();
    if (!form || llvm::any_of(form->slot, [](Value slot) { return !slot; }))
      return "its coordinates are not the loop's variables and constants";
    if (!form->staysNear())
      return "it is read beyond the neighbouring leaves";
    if (!load.getComponents().empty() || isa<VectorType>(path.place.getType()) ||
        path.place.getType().isInteger(1))
      return "it is no scalar number";
    if (isQuantised(path.place.getType()))
      return "it shares words with others";
    if (!hasPlainLeaf(load, path))
      return "its leaf is not one dense level with all axes right below a slot";
    return "";
  }

  void visit(CellsOp cells) {
    if (nestOf(cells).empty())
      return;
    llvm::MapVector<std::pair<Value, StringAttr>, SmallVector<Candidate, 0>> members;
    cells.walk([&](LoadOp load) {
      std::optional<LeafForm> form = LeafForm::of(cells, *CellAccess::of(load));
      StringRef problem = problemOf(load, form);
      if (problem.empty())
        members[{load.getTree(), load.getPathAttr()}].push_back({load, std::move(*form)});
      else
        remarkNotStaged(load, problem);
    });
    for (auto &[key, candidates] : members) {
      LoadOp front = candidates.front().load;
      if (isWritten(cells, key.first, key.second) && !isMutant(Mutant::StaleTile)) {
        remarkNotStaged(
            front,
            "the loop writes it elsewhere than at its own cell, or changes which cells are active");
        continue;
      }
      // What the iteration has written itself it reads where it wrote it.
      bool stored = isStored(cells, key.first, key.second);
      if (stored && !ownWrites) {
        remarkNotStaged(front, "the loop writes it, which this target's sanitizer would report");
        continue;
      }
      if (stored && !isMutant(Mutant::StaleTile))
        llvm::erase_if(candidates, [&](Candidate &candidate) {
          return candidate.form.isOwnCell(cells, CellAccess::of(candidate.load)->resolve());
        });
      if (candidates.empty())
        continue;
      if (!crossesLeaves(cells, candidates)) {
        remarkNotStaged(candidates.front().load, "its cells are read in place: none is in another "
                                                 "leaf, or only some iterations read them");
        continue;
      }
      if (rows && areRows(cells, candidates) && mayReadWhole(cells, candidates.front().load))
        stageRows(cells, candidates);
      else
        stage(cells, candidates);
    }
  }

  /// Halos along rows as wide as a vector of 16 bytes: rows are copied by vectors then, and begin where a vector may.
  static void padRows(int64_t &low, int64_t &high, int64_t extent, int64_t bytes) {
    int64_t lanes = 16 / bytes;
    if (lanes > extent || extent % lanes != 0)
      return;
    for (int64_t *halo : {&low, &high})
      if (*halo > 0 && *halo < lanes)
        *halo = lanes;
  }

  /// Staging pays for what crosses leaves, for about every cell; what stays inside is read in place.
  static bool crossesLeaves(CellsOp cells, ArrayRef<Candidate> candidates) {
    bool always = llvm::any_of(candidates, [&](const Candidate &candidate) {
      return runsForManyCells(cells, candidate.load);
    });
    return always && llvm::any_of(candidates, [](const Candidate &candidate) {
             return !candidate.form.staysInLeaf();
           });
  }

  /// Members side by side are read together. A row of which single numbers have just been stored waits until they are in the cache, so the nest
  /// stores none in such leaves, or each turn its own, which go by whole rows then (metate-whole-rows).
  bool mayReadWhole(CellsOp cells, LoadOp load) {
    if (isOnePiece(load))
      return true;
    DenseSet<StringAttr> stored;
    TreePath leaf = CellAccess::of(load)->resolve();
    unsigned bits = load.getType().getIntOrFloatBitWidth();
    return !walkWithCalls(cells, [&](Operation *op) {
              auto access = CellAccess::of(op);
              if (!access || !mayBeSameTree(getOperation(), access->tree, load.getTree()))
                return WalkResult::advance();
              if (auto other = dyn_cast<LoadOp>(op))
                return stored.contains(other.getPathAttr()) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
              TreePath path = access->resolve();
              if (!writesMember(op) || ArrayRef(path.levels) != ArrayRef(leaf.levels))
                return WalkResult::advance();
              auto store = dyn_cast<StoreOp>(op);
              std::optional<LeafForm> form = store ? LeafForm::of(cells, *access) : std::nullopt;
              bool isOwn = form && form->isOwnCell(cells, path) && store.getComponents().empty() &&
                           store.getValue().getType().isIntOrFloat() &&
                           store.getValue().getType().getIntOrFloatBitWidth() == bits &&
                           runsForEveryActiveCell(cells, store);
              if (isOwn)
                stored.insert(store.getPathAttr());
              return isOwn ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
  }

  /// The nest's innermost loop goes along the rows of a leaf, and each load reads whole rows in it, moved by a constant.
  bool areRows(CellsOp cells, ArrayRef<Candidate> candidates) {
    scf::ForOp row = nestOf(cells).back();
    LoadOp front = candidates.front().load;
    TreePath path = CellAccess::of(front)->resolve();
    int64_t extent = candidates.front().form.extents.back();
    int64_t bytes = front.getType().getIntOrFloatBitWidth() / 8;
    llvm::Expected<layout::TreeLayout> layout = layout::TreeLayout::get(front.getTreeType());
    if (!layout) {
      llvm::consumeError(layout.takeError());
      return false;
    }
    const layout::Node &leaf = layout->nodes[layout->nodesOf(path)[path.levels.size() - 1]];
    if (leaf.numbersAside(bytes) == 0 || !llvm::isPowerOf2_64(extent) || extent * bytes % 16 != 0 ||
        extent * int64_t(leaf.cellBytes) > rowBytes ||
        boundsOf(row.getInductionVar()) != std::pair(int64_t(0), extent))
      return false;
    return llvm::all_of(candidates, [&](const Candidate &candidate) {
      ArrayRef<LinearForm> local = candidate.form.local;
      const LinearForm &along = local.back();
      return row->isProperAncestor(candidate.load) && along.terms.size() == 1 &&
             along.terms.front() == std::pair(Value(row.getInductionVar()), int64_t(1)) &&
             llvm::all_of(local.drop_back(), [&](const LinearForm &form) {
               return form.coefficient(row.getInductionVar()) == 0;
             });
    });
  }

  /// Is a row of the member one piece of memory, without other members in between?
  static bool isOnePiece(LoadOp load) {
    TreePath path = CellAccess::of(load)->resolve();
    layout::TreeLayout layout = cantFail(layout::TreeLayout::get(load.getTreeType()));
    const layout::Node &leaf = layout.nodes[layout.nodesOf(path)[path.levels.size() - 1]];
    return leaf.numbersAside(load.getType().getIntOrFloatBitWidth() / 8) == 1;
  }

  void stageRows(CellsOp cells, ArrayRef<Candidate> candidates) {
    bool inOnePiece = isOnePiece(candidates.front().load);
    if (auto remark = remarkDone(candidates.front().load, "stage-leaves", "rows"))
      remark << "'" << nameOf(candidates.front().load) << "' is staged by rows of "
             << Number("cells", candidates.front().form.extents.back()) << " cells for "
             << Number("loads", candidates.size())
             << " loads: neighbours are looked up once a leaf, rows are vectors";
    scf::ForOp loop = nestOf(cells).back();
    OpBuilder before(leafPoint(cells)), builder(loop);
    SmallVector<Value> base =
        candidates.front().form.base(before, LoadOp(candidates.front().load).getLoc());
    for (const Candidate &candidate : candidates) {
      const LeafForm &form = candidate.form;
      LoadOp load = candidate.load;
      // The own row is read in place, where it is one piece of memory.
      if (inOnePiece && form.staysInLeaf() && form.local.back().constant == 0 &&
          !isMutant(Mutant::StaleTile))
        continue;
      SmallVector<Value> at;
      IndexBuilder index(builder, load.getLoc());
      SmallVector<int64_t> low, high;
      for (unsigned k = 0; k + 1 < form.extents.size(); ++k) {
        at.push_back(form.local[k].emit(index));
        low.push_back(std::max<int64_t>(0, -form.least[k]));
        high.push_back(std::max<int64_t>(0, form.greatest[k] - form.extents[k] +
                                                !isMutant(Mutant::HaloShort)));
      }
      auto row = StageRowOp::create(
          builder, load.getLoc(), MemRefType::get(form.extents.back(), load.getType()),
          load.getTree(), load.getPathAttr(), base, at,
          builder.getI64IntegerAttr(form.local.back().constant), builder.getDenseI64ArrayAttr(low),
          builder.getDenseI64ArrayAttr(high));
      OpBuilder inside(load);
      replace(load,
              memref::LoadOp::create(inside, load.getLoc(), row.getRow(), loop.getInductionVar()));
      ++rowsStaged;
    }
  }

  static void replace(LoadOp load, Value value) {
    load.replaceAllUsesWith(value);
    load.erase();
  }

  void stage(CellsOp cells, ArrayRef<Candidate> candidates) {
    ArrayRef<int64_t> extents = candidates.front().form.extents;
    SmallVector<int64_t> low(extents.size(), 0), high(extents.size(), 0), shape;
    for (const Candidate &candidate : candidates)
      for (unsigned k = 0; k < extents.size(); ++k) {
        low[k] = std::max(low[k], -candidate.form.least[k]);
        high[k] = std::max(high[k],
                           candidate.form.greatest[k] - extents[k] + !isMutant(Mutant::HaloShort));
      }
    LoadOp front = candidates.front().load;
    int64_t bytes = front.getType().getIntOrFloatBitWidth() / 8;
    padRows(low.back(), high.back(), extents.back(), bytes);
    for (unsigned k = 0; k < extents.size(); ++k) {
      shape.push_back(low[k] + extents[k] + high[k]);
      bytes *= shape.back();
    }
    if (bytes > tileBytes)
      return remarkNotStaged(front, "a leaf with its halo is larger than a tile may be");
    if (auto remark = remarkDone(front, "stage-leaves", "rows"))
      remark << "'" << nameOf(front) << "' is staged by a tile, the leaf and its halo, of "
             << Number("bytes", bytes) << " bytes for " << Number("loads", candidates.size())
             << " loads: neighbours are looked up once a leaf";
    OpBuilder builder(leafPoint(cells));
    SmallVector<Value> base =
        candidates.front().form.base(builder, LoadOp(candidates.front().load).getLoc());
    auto tile = StageLeafOp::create(
        builder, front.getLoc(), MemRefType::get(shape, front.getType()), front.getTree(),
        front.getPathAttr(), base, builder.getDenseI64ArrayAttr(low),
        builder.getDenseI64ArrayAttr(high), partsOf(builder, candidates),
        /*besides=*/rows ? builder.getUnitAttr() : UnitAttr());
    for (const Candidate &candidate : candidates) {
      LoadOp load = candidate.load;
      OpBuilder inside(load);
      IndexBuilder index(inside, load.getLoc());
      SmallVector<Value> indices;
      for (auto [form, shift] : llvm::zip(candidate.form.local, low))
        indices.push_back(form.plus(shift).emit(index));
      replace(load, memref::LoadOp::create(inside, load.getLoc(), tile.getTile(), indices));
      ++staged;
    }
  }

  /// Which neighbours the loads reach; null where these are many, or all.
  DenseI64ArrayAttr partsOf(OpBuilder &builder, ArrayRef<Candidate> candidates) {
    std::set<SmallVector<int64_t>> parts;
    int64_t all = 1;
    for (const Candidate &candidate : candidates) {
      const LeafForm &form = candidate.form;
      SmallVector<SmallVector<int64_t>> reached{{}};
      for (auto [extent, least, greatest] : llvm::zip(form.extents, form.least, form.greatest)) {
        SmallVector<SmallVector<int64_t>> longer;
        for (int64_t direction : {-1, 0, 1})
          if (least < (direction + 1) * extent && greatest >= direction * extent)
            for (SmallVector<int64_t> part : reached) {
              part.push_back(direction);
              longer.push_back(std::move(part));
            }
        reached = std::move(longer);
      }
      parts.insert(reached.begin(), reached.end());
    }
    for (size_t k = 0; k < candidates.front().form.extents.size(); ++k) {
      std::set<int64_t> directions;
      for (const SmallVector<int64_t> &part : parts)
        directions.insert(part[k]);
      all *= directions.size();
    }
    if (int64_t(parts.size()) > unrolledParts || int64_t(parts.size()) == all ||
        isMutant(Mutant::HaloShort))
      return {};
    SmallVector<int64_t> flat;
    for (const SmallVector<int64_t> &part : parts)
      flat.append(part);
    return builder.getDenseI64ArrayAttr(flat);
  }
};
} // namespace
