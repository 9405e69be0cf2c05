//===- WholeRows.cpp - members side by side are stored by rows --*- C++ -*-===//
//
// A row of a leaf with `place(a, b)` that stores b alone is a store for each cell, and what the next row reads of it waits until all of them are
// in the cache. Here the row is computed into a local one, as vectors; then its cells are written whole, as large as they are read: members that
// the row does not write as they were. Kernels that run at once leave alone the cells that another one writes.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Target/Cpu/StoresLater.h"
#include "metate/Transforms/ByteAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_WHOLEROWS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Bytes of a row's cells, at most: registers hold the rows that a body reads, and this one.
constexpr int64_t mostBytes = 128;

/// Where a store of a member goes: which level's cells, in which place of them, how large they are.
struct Member {
  int64_t node, begin, bytes;

  static std::optional<Member> of(Operation *access) {
    auto mark = access->getAttrOfType<DenseI64ArrayAttr>(mark::member);
    return mark ? std::optional(Member{mark[0], mark[1], mark[2]}) : std::nullopt;
  }
};

/// The stores of a row to members of the cells of one level.
struct Row {
  SmallVector<WriteOp> stores;
  Member member;
  LinearForm cell; ///< the byte offset of the cell
  int64_t size;    ///< bytes of a number

  int64_t numbers() const { return member.bytes / size; }

  /// Is the store one to the same cells?
  bool takes(WriteOp store) const {
    std::optional<Member> other = Member::of(store);
    WriteOp front = stores.front();
    if (!other || other->node != member.node || store.getBlock() != front.getBlock() ||
        store.getValue().getType().getIntOrFloatBitWidth() != unsigned(8 * size))
      return false;
    LinearForm distance = LinearForm::of(store.getOffset()).plus(-other->begin).minus(cell);
    return distance.terms.empty() && distance.constant == 0;
  }
};

struct WholeRows : metate::impl::WholeRowsBase<WholeRows> {
  void runOnOperation() override {
    if (getOperation().getMayAlias())
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(mark::row))
        loops.push_back(loop);
    });
    // All are looked at before one is changed: what a row has become says no longer whose it is.
    SmallVector<std::pair<scf::ForOp, Row>> found;
    for (scf::ForOp loop : loops)
      for (Row &row : rowsOf(loop)) {
        StringRef problem = problemOf(loop, row);
        if (problem.empty())
          found.emplace_back(loop, std::move(row));
        else if (auto remark = remarkDeclined(row.stores.front(), "whole-rows", "members"))
          remark << "the row stores cells one by one: " << problem;
      }
    for (auto &[loop, row] : found)
      store(loop, row);
  }

private:
  static int64_t extentOf(scf::ForOp loop) {
    auto bounds = boundsOf(loop.getInductionVar());
    return bounds && bounds->first == 0 ? bounds->second : 0;
  }

  /// What the loop stores to members side by side, one number after the other, the same cells together.
  static SmallVector<Row> rowsOf(scf::ForOp loop) {
    SmallVector<Row> rows;
    int64_t extent = extentOf(loop);
    loop.walk([&](WriteOp store) {
      std::optional<Member> member = Member::of(store);
      Type type = store.getValue().getType();
      if (!member || !type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 8)
        return;
      int64_t size = type.getIntOrFloatBitWidth() / 8;
      LinearForm cell = LinearForm::of(store.getOffset()).plus(-member->begin);
      if (cell.coefficient(loop.getInductionVar()) != member->bytes || member->bytes % size ||
          member->begin % size || member->bytes == size ||
          member->bytes > cpu::mostMembers * size || !llvm::isPowerOf2_64(extent) ||
          extent * size < 16 || extent * member->bytes > mostBytes)
        return;
      auto same = llvm::find_if(rows, [&](const Row &row) { return row.takes(store); });
      if (same != rows.end())
        same->stores.push_back(store);
      else
        rows.push_back({{store}, *member, std::move(cell), size});
    });
    return rows;
  }

  /// Does the operation change bytes of the row's cells that are not stored with it?
  static bool interferes(Operation *op, scf::ForOp loop, const Row &row) {
    WriteOp front = row.stores.front();
    if (auto write = dyn_cast<WriteOp>(op)) {
      if (write.getBlock() != front.getBlock() || llvm::is_contained(row.stores, write))
        return false;
      std::optional<Member> member = Member::of(write);
      // Cells of the own iteration that are written in another loop are written before or after the row.
      bool isApart =
          write->hasAttr(mark::onlyWriter) && !loop->getBlock()->findAncestorOpInBlock(*write);
      return !member || (member->node == row.member.node && !isApart);
    }
    if (isa<ReadOp>(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(op))
      return false;
    return !isa<memref::AllocaOp, memref::LoadOp, memref::StoreOp, vector::StoreOp, YieldOp>(op);
  }

  /// Does a turn read what it has stored?
  static bool readsBack(scf::ForOp loop, const Row &row) {
    SmallVector<ByteAccess> stored;
    return loop
        .walk([&](Operation *op) {
          std::optional<ByteAccess> access = ByteAccess::of(op);
          if (access && isa<WriteOp>(op))
            stored.push_back(*access);
          bool readsIt = access && isa<ReadOp>(op) && llvm::any_of(stored, [&](auto &other) {
                           return access->mayOverlap(other);
                         });
          return readsIt ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  static StringRef problemOf(scf::ForOp loop, const Row &row) {
    if (!llvm::all_of(row.stores, [&](WriteOp store) {
          return !store.getRelease() && store->getParentOp() == loop;
        }))
      return "a store is made under a condition";
    if (!llvm::all_of(row.cell.terms, [&](auto &term) {
          return term.first == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(term.first);
        }))
      return "the row is not at one place";
    if (readsBack(loop, row))
      return "a turn reads what it has stored";
    // Of the task: iterations run at once.
    Operation *task = loop;
    while (!isa<KernelOp, FunctionOp>(task->getParentOp()))
      task = task->getParentOp();
    bool isAlone =
        !task->walk([&](Operation *op) {
               return interferes(op, loop, row) ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
    return isAlone ? "" : "the loop may write other members of the cells, elsewhere than here";
  }

  /// A vector of the row's cells, with the numbers at one place of each taken from `row`, or `row` from it.
  static SmallVector<int64_t> placesOf(int64_t extent, int64_t numbers, int64_t which) {
    SmallVector<int64_t> places;
    for (int64_t cell = 0; cell < extent; ++cell)
      places.push_back(cell * numbers + which);
    return places;
  }

  /// A vector of the same bits.
  static Value as(OpBuilder &builder, Location loc, Value vector, Type number) {
    auto type = cast<VectorType>(vector.getType());
    if (type.getElementType() == number)
      return vector;
    return arith::BitcastOp::create(builder, loc, type.clone(number), vector);
  }

  void store(scf::ForOp loop, Row &row) {
    int64_t extent = extentOf(loop), numbers = row.numbers();
    WriteOp front = row.stores.front();
    Location loc = front.getLoc();
    OpBuilder before(loop), after(loop->getBlock(), std::next(loop->getIterator()));
    IndexBuilder at(before, loc);
    Value offset = row.cell.without(loop.getInductionVar()).emit(at), block = front.getBlock();
    uint64_t scope = front.getScope();
    Type first = front.getValue().getType();
    auto cells = VectorType::get(extent * numbers, first);
    Value old = ReadOp::create(before, loc, cells, block, offset, scope, false, false);
    Value whole = old;
    DenseMap<int64_t, Value> rows; // by where in a cell
    for (WriteOp store : row.stores) {
      int64_t which = Member::of(store)->begin / row.size;
      Type type = store.getValue().getType();
      Value &local = rows[which];
      if (!local) {
        local = memref::AllocaOp::create(before, loc, MemRefType::get(extent, type), ValueRange(),
                                         before.getI64IntegerAttr(64));
        SmallVector<int64_t> places = placesOf(extent, numbers, which);
        Value typed = as(before, loc, old, type);
        Value kept = vector::ShuffleOp::create(before, loc, typed, typed, places);
        vector::StoreOp::create(before, loc, kept, local, at.index(0));
        Value stored =
            vector::LoadOp::create(after, loc, VectorType::get(extent, type), local, at.index(0));
        stored = as(after, loc, stored, first);
        SmallVector<int64_t> chosen = llvm::to_vector(llvm::seq<int64_t>(extent * numbers));
        bool isOther = isMutant(Mutant::RowOfNextMember);
        for (auto [cell, place] :
             llvm::enumerate(placesOf(extent, numbers, (which + isOther) % numbers)))
          chosen[place] = extent * numbers + int64_t(cell);
        whole = vector::ShuffleOp::create(after, loc, whole, stored, chosen);
      }
      OpBuilder here(store);
      memref::StoreOp::create(here, loc, store.getValue(), local, loop.getInductionVar());
      store.erase();
    }
    auto write = WriteOp::create(after, loc, whole, block, offset, scope, /*release=*/false);
    remarkDone(loop, "whole-rows", "members")
        << "the row's " << Number("cells", extent) << " cells are written whole, members that lie "
        << "between what is stored as they were";
    ++stored;
    // The next row reads this one: what it computes would wait for what is stored here, all the way through the cache.
    auto around = dyn_cast<scf::ForOp>(loop->getParentOp());
    if (around && around->hasAttr(mark::nest) && around.getNumResults() == 0 &&
        !readsBehind(write) && !hasVectors(loop))
      setMark(cpu::storeLater(around, write), mark::carriesRows);
  }

  /// Does the loop compute with vectors of the language, which LLVM is to take apart?
  static bool hasVectors(scf::ForOp loop) {
    return loop
        .walk([](Operation *op) {
          return llvm::any_of(op->getResultTypes(), llvm::IsaPred<VectorType>)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Does the turn read any of the tree behind the store?
  static bool readsBehind(WriteOp write) {
    for (Operation *op = write->getNextNode(); op; op = op->getNextNode())
      if (op->walk([&](ReadOp read) {
              return read.getBlock() == write.getBlock() ? WalkResult::interrupt()
                                                         : WalkResult::advance();
            }).wasInterrupted())
        return true;
    return false;
  }
};
} // namespace
