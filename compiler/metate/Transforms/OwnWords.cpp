//===- OwnWords.cpp - words that one iteration writes -----------*- C++ -*-===//
//
// Members of one word are told apart by their bits alone: two iterations that write two members of a word meet, though each member
// is written by one of them. A word is an iteration's own where all that the task writes of its members lies in words of its own.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/OwnWords.h"

#include "metate/Dialect/Quant.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/OwnPlaces.h"

using namespace mlir;
using namespace metate;

namespace {
/// All that a task writes of the words of one bit_struct or quant_array.
struct WordWrites {
  SmallVector<Operation *> ops;
  SmallVector<SmallVector<Value>> places; ///< coordinates that tell the words apart
  bool isKnown = true;
};
} // namespace

/// The node that the member's word belongs to: a bit_struct, or a quant_array.
static Attribute wordOf(const TreePath &path) {
  LevelInterface last = path.levels.empty() ? LevelInterface() : path.levels.back();
  if (last && last.hasWords())
    return last;
  auto holds = [&](Attribute node) {
    auto word = dyn_cast<BitStructAttr>(node);
    return word && llvm::any_of(word.getChildren(), [&](Attribute child) {
             auto shared = dyn_cast<SharedExponentAttr>(child);
             return child == path.place ||
                    (shared && llvm::is_contained(shared.getChildren(), path.place));
           });
  };
  ArrayRef<Attribute> children = last ? last.getLevelChildren() : ArrayRef<Attribute>();
  const auto *found = llvm::find_if(children, holds);
  return found == children.end() ? Attribute() : *found;
}

int64_t metate::elementsOfWord(const TreePath &path) {
  LevelInterface packed = path.levels.empty() ? LevelInterface() : path.levels.back();
  if (!packed || !packed.hasWords() || levelAxes(packed).back() != path.axes.back())
    return 1;
  int64_t elements = packed.getWordBits() / QuantFormat::of(path.place.getType())->bits;
  return packed.getLevelExtents().back() % elements == 0 ? elements : 1;
}

std::optional<SmallVector<Value>> metate::wordPlace(const TreePath &path,
                                                    OperandRange coordinates) {
  SmallVector<Value> place;
  LevelInterface packed = path.levels.back();
  if (!packed.hasWords())
    return llvm::to_vector(coordinates);
  SmallVector<unsigned> own = levelAxes(packed);
  int64_t elements = packed.getWordBits() / QuantFormat::of(path.place.getType())->bits;
  bool hasWholeRows = packed.getLevelExtents().back() % elements == 0;
  for (auto [k, axis] : llvm::enumerate(path.axes)) {
    Value coordinate = coordinates[k];
    bool isLast = axis == own.back();
    if (!llvm::is_contained(own, axis) || (hasWholeRows && !isLast)) {
      place.push_back(coordinate);
      continue;
    }
    // A block of cells and a cell in it: the block, of words or of other levels' cells.
    int64_t within = packed.getLevelExtents()[llvm::find(own, axis) - own.begin()];
    auto block = [&](int64_t size) -> Value {
      auto parts = LinearForm::of(coordinate).divide(size);
      bool isVariable = parts && parts->first.terms.size() == 1 &&
                        parts->first.terms[0].second == 1 && parts->first.constant == 0;
      return isVariable ? parts->first.terms[0].first : Value();
    };
    if (Value word = hasWholeRows && isLast ? block(elements) : Value())
      place.push_back(word);
    else if (within != path.extents[k]) { // other levels split the axis, too
      Value cell = block(within);
      if (!cell)
        return std::nullopt;
      place.push_back(cell);
    }
  }
  return place;
}

static void add(DenseMap<std::pair<Value, Attribute>, WordWrites> &words, Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (!cell || !cell.writesMember())
    return;
  CellAccess access = CellAccess::from(cell);
  TreePath path = access.resolve();
  if (!isQuantised(path.place.getType()))
    return;
  WordWrites &writes = words[{access.tree, wordOf(path)}];
  writes.ops.push_back(op);
  if (path.levels.empty()) // one word at the root
    return writes.places.push_back({});
  auto place = wordPlace(path, access.coordinates);
  writes.isKnown &= place.has_value();
  writes.places.push_back(place.value_or(SmallVector<Value>()));
}

llvm::DenseSet<Operation *> metate::writersOfOwnWords(KernelOp kernel) {
  llvm::DenseSet<Operation *> owners;
  for (Operation &task : kernel.getBody().front()) {
    DenseMap<std::pair<Value, Attribute>, WordWrites> words;
    bool isInCall = false; // a function's writes are not this task's alone
    walkWithCalls(&task, [&](Operation *op) {
      isInCall |= isa<CallOp>(op);
      add(words, op);
      return WalkResult::advance();
    });
    for (auto &[key, writes] : words) {
      auto [tree, word] = key;
      bool mayMeet = llvm::any_of(words, [&, tree = tree](auto &other) {
        return other.first.first != tree && mayBeSameTree(kernel, tree, other.first.first);
      });
      bool isOwn = isMutant(Mutant::EveryWordOwn) || isa<SerialOp>(task);
      if (isa<RangeOp>(task) && !mayMeet && !isInCall && writes.isKnown) {
        SmallVector<ValueRange> places(writes.places.begin(), writes.places.end());
        isOwn |= areOwnPlaces(&task, places);
      }
      // One worker goes over a slot.
      if (auto cells = dyn_cast<CellsOp>(task); cells && !mayMeet && !isInCall)
        isOwn |=
            !mayDeactivate(kernel, cells, tree) && llvm::all_of(writes.ops, [&](Operation *op) {
              return staysInOwnSlot(cells, *CellAccess::of(op));
            });
      if (isOwn)
        owners.insert(writes.ops.begin(), writes.ops.end());
    }
  }
  return owners;
}
