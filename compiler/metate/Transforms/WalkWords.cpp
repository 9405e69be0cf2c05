//===- WalkWords.cpp - loops over elements go word by word ------*- C++ -*-===//
//
// A loop whose variable is the last coordinate of what it stores in quant_arrays, with rows of whole words, becomes one over words: an
// iteration owns its words, so that nothing is atomic, and all elements of a word are computed together. Where their arithmetic is
// that of small integers, it is logic on planes of bits (SlicedBody); else the elements come one after the other. The first and the last word of
// a loop may be in it with some of their elements: these come one after the other as well.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Quant.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/OwnWords.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/SlicedBody.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_WALKWORDS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// Operations of all elements of a word together that are written out.
static constexpr size_t mostOfElements = 512;

namespace {
/// A loop along the elements of words: the last dimension of a parallel loop, or one in order.
struct ElementLoop {
  Operation *op;

  static std::optional<ElementLoop> of(Operation *op) {
    if (isa<RangeOp>(op))
      return ElementLoop{op};
    auto serial = dyn_cast<scf::ForOp>(op);
    if (serial && serial.getNumResults() == 0 && getConstantIntValue(serial.getStep()) == 1 &&
        serial.getInductionVar().getType().isIndex())
      return ElementLoop{op};
    return std::nullopt;
  }

  Block &body() const { return op->getRegion(0).front(); }
  BlockArgument variable() const { return body().getArguments().back(); }
  OpOperand &lower() const {
    if (auto range = dyn_cast<RangeOp>(op))
      return range.getLowerMutable()[range.getLower().size() - 1];
    return cast<scf::ForOp>(op).getLowerBoundMutable();
  }
  OpOperand &upper() const {
    if (auto range = dyn_cast<RangeOp>(op))
      return range.getUpperMutable()[range.getUpper().size() - 1];
    return cast<scf::ForOp>(op).getUpperBoundMutable();
  }
};

/// What kind of words a loop walks.
struct Words {
  unsigned width = 0, bits = 0;
  bool onlySliced = false;  ///< the loop stays as it is if its body has no form on planes
  bool neverSliced = false; ///< a turn may see what one before it has written
  unsigned elements() const { return width / bits; }
};

struct WalkWords : metate::impl::WalkWordsBase<WalkWords> {
  void runOnOperation() override {
    SmallVector<Operation *> loops;
    // Inner loops first; a loop around one that goes by words is no loop along elements.
    getOperation().walk([&](Operation *op) {
      if (ElementLoop::of(op))
        loops.push_back(op);
    });
    llvm::DenseSet<Operation *> around;
    for (Operation *op : loops) {
      if (around.contains(op))
        continue;
      ElementLoop loop = *ElementLoop::of(op);
      std::optional<Words> words = wordsOf(loop);
      if (!words)
        continue;
      Walked walked = walk(loop, *words);
      if (walked == Not)
        continue;
      for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
        around.insert(parent);
      ++this->walked;
      auto serial = dyn_cast<scf::ForOp>(op);
      // Words that are computed whole do not see one another.
      bool isAll = serial && walked == InPlanes && addDimension(serial);
      if (!isAll)
        dropDimension(loop);
    }
  }

private:
  /// How a loop goes now.
  enum Walked { Not, ByElements, InPlanes };

  /// The words that it writes, each element at its variable; nullopt: it writes none, several kinds, or is not to go by words.
  std::optional<Words> wordsOf(const ElementLoop &loop) {
    if (getOperation().getMayAlias())
      return std::nullopt;
    Words words;
    bool isSum = false;
    bool isFit = !loop.op
                      ->walk([&](Operation *op) {
                        auto cell = dyn_cast<CellOpInterface>(op);
                        if (isa<CallOp>(op) || (cell && cell.changesActivity()))
                          return WalkResult::interrupt();
                        isSum |= isa<AtomicOp, memref::AtomicRMWOp>(op);
                        return !cell || addWords(cell, loop.variable(), words)
                                   ? WalkResult::advance()
                                   : WalkResult::interrupt();
                      })
                      .wasInterrupted();
    // What only counts elements goes by words if these are counted together.
    if (isFit && !words.width && isSum)
      loop.op->walk([&](LoadOp load) {
        std::optional<ElementAccess> access = ElementAccess::of(load, loop.variable());
        if (access && access->bits <= 4) {
          words = {access->word(), access->bits};
          words.onlySliced = true;
        }
      });
    if (!isFit || !words.width || words.elements() < 2)
      return std::nullopt;
    words.neverSliced = isa<scf::ForOp>(loop.op) && readsWhatItWrites(loop);
    if (words.neverSliced && words.onlySliced)
      return std::nullopt;
    return words;
  }

  /// Whether a turn may read what another one writes: at another place than the own element.
  static bool readsWhatItWrites(const ElementLoop &loop) {
    SmallVector<std::pair<AccessTarget, OperandRange>> writes;
    loop.op->walk([&](Operation *op) {
      if (auto write = writeOf(op))
        writes.push_back(*write);
    });
    return loop.op
        ->walk([&](Operation *op) {
          auto cell = dyn_cast<LoadOp>(op);
          auto array = dyn_cast<memref::LoadOp>(op);
          if (!cell && !array)
            return WalkResult::advance();
          AccessTarget read = cell ? AccessTarget(cell.getTree(), cell.getPath())
                                   : AccessTarget(array.getMemRef(), "");
          OperandRange at = cell ? cell.getCoordinates() : array.getIndices();
          // Each turn has a place of its own only where the variable tells places apart.
          bool isOwn = llvm::any_of(at, [&](Value coordinate) {
            return LinearForm::of(coordinate).coefficient(loop.variable()) != 0;
          });
          bool isOther = llvm::any_of(writes, [&](auto &write) {
            return write.first == read && !(isOwn && llvm::equal(write.second, at));
          });
          return isOther ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Adds the words that an operation writes; false: they are of another kind, or not at the loop's variable.
  static bool addWords(CellOpInterface cell, Value variable, Words &words) {
    if (!cell.writesMember())
      return true;
    TreePath path = CellAccess::from(cell).resolve();
    bool isPacked = !path.levels.empty() && path.levels.back().hasWords();
    if (!isPacked)
      return true;
    std::optional<ElementAccess> access = ElementAccess::of(cell, variable);
    if (!access || access->shift != 0)
      return false;
    Words own{access->word(), access->bits};
    if (words.width && own.elements() != words.elements())
      return false;
    words = own;
    return true;
  }

  Walked walk(const ElementLoop &loop, const Words &words) {
    int64_t elements = words.elements();
    Location loc = loop.op->getLoc();
    OpBuilder builder(loop.op);
    IndexBuilder before(builder, loc);
    Value lower = loop.lower().get(), upper = loop.upper().get();
    std::optional<int64_t> first = getConstantIntValue(lower), end = getConstantIntValue(upper);
    loop.lower().set(first ? before.index(llvm::divideFloorSigned(*first, elements))
                           : before.divideFloor(lower, elements));
    loop.upper().set(end ? before.index(llvm::divideCeilSigned(*end, elements))
                         : before.divideFloor(before.add(upper, elements - 1), elements));
    bool isWhole = first && end && *first % elements == 0 && *end % elements == 0;

    // The body goes into a block of its own, without its end, of which the elements are copies.
    Block &body = loop.body();
    Block element;
    Operation *terminator = body.getTerminator();
    element.getOperations().splice(element.begin(), body.getOperations(), body.begin(),
                                   terminator->getIterator());
    builder.setInsertionPoint(terminator);
    IndexBuilder at(builder, loc);
    bool isOnlyWord = isWhole && *first == 0 && *end == elements;
    Value start = isOnlyWord ? at.index(0) : at.multiply(loop.variable(), elements);
    ElementLimits limits{lower, upper};
    bool keepsLimits = !isWhole && !isMutant(Mutant::BorderWordWhole);
    bool isSliced = !words.neverSliced &&
                    writeSliced(builder, loop, words, element, start, limits, keepsLimits);
    if (!isSliced && words.onlySliced) { // as it was
      while (&body.front() != terminator)
        terminator->getPrevNode()->erase();
      body.getOperations().splice(body.begin(), element.getOperations());
      loop.lower().set(lower);
      loop.upper().set(upper);
      return Not;
    }
    if (!isSliced && keepsLimits)
      writeElements(builder, loop, words, element, start, limits);
    else if (!isSliced)
      writeAll(builder, loop, words, element, start);
    element.dropAllReferences();
    element.clear();
    return isSliced ? InPlanes : ByElements;
  }

  static bool isOneTurn(Value lower, Value upper) {
    return getConstantIntValue(lower) == 0 && getConstantIntValue(upper) == 1;
  }

  /// A loop that is left with one word is none; of a parallel one the dimension before it is the last one then.
  static void dropDimension(const ElementLoop &loop) {
    if (auto serial = dyn_cast<scf::ForOp>(loop.op)) {
      if (serial->getParentOfType<CellsOp>())
        return; // a nest over the cells of a slot stays one
      serial->removeAttr(mark::nest);
      serial->removeAttr(mark::row);
      OpBuilder builder(serial);
      IRRewriter rewriter(builder);
      if (isOneTurn(serial.getLowerBound(), serial.getUpperBound()))
        (void)serial.promoteIfSingleIteration(rewriter);
      return;
    }
    auto range = dyn_cast<RangeOp>(loop.op);
    if (!range || range.getLower().size() < 2 ||
        !isOneTurn(range.getLower().back(), range.getUpper().back()))
      return;
    OpBuilder builder(range);
    auto shorter = RangeOp::create(builder, range.getLoc(), range.getLower().drop_back(),
                                   range.getUpper().drop_back());
    shorter->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Value only = range.getLower().back();
    range.getBody().front().getArguments().back().replaceAllUsesWith(only);
    range.getBody().front().eraseArgument(range.getBody().front().getNumArguments() - 1);
    shorter.getBody().takeBody(range.getBody());
    range.erase();
  }

  /// The value before the operation; null: it is computed inside.
  static Value outside(Operation *op, Value value) {
    if (!op->isAncestor(value.getParentRegion()->getParentOp()))
      return value;
    OpBuilder builder(op);
    if (std::optional<int64_t> known = getConstantIntValue(value))
      return IndexBuilder(builder, op->getLoc()).index(*known);
    return {};
  }

  /// A loop over words in a parallel loop that does nothing else, and is itself parallel, becomes a dimension of it. False: it is none.
  static bool addDimension(scf::ForOp serial) {
    auto range = dyn_cast<RangeOp>(serial->getParentOp());
    if (!range || isOneTurn(serial.getLowerBound(), serial.getUpperBound()))
      return false;
    Value from = outside(range, serial.getLowerBound()),
          to = outside(range, serial.getUpperBound());
    if (!from || !to)
      return false;
    Block &around = range.getBody().front();
    for (Operation &op : around.without_terminator())
      if (&op != serial && (!isPure(&op) || op.getNumRegions()))
        return false;
    OpBuilder builder(range);
    SmallVector<Value> lower(range.getLower()), upper(range.getUpper());
    lower.push_back(from);
    upper.push_back(to);
    auto wider = RangeOp::create(builder, range.getLoc(), lower, upper);
    wider->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &body = wider.getBody().front();
    for (BlockArgument variable : around.getArguments())
      variable.replaceAllUsesWith(body.getArgument(variable.getArgNumber()));
    serial.getInductionVar().replaceAllUsesWith(body.getArguments().back());
    Operation *end = body.getTerminator();
    body.getOperations().splice(end->getIterator(), around.getOperations(), around.begin(),
                                around.getTerminator()->getIterator());
    body.getOperations().splice(end->getIterator(), serial.getBody()->getOperations(),
                                serial.getBody()->begin(),
                                serial.getBody()->getTerminator()->getIterator());
    serial.erase();
    range.erase();
    return true;
  }

  static scf::ForOp forElements(OpBuilder &builder, Location loc, int64_t elements) {
    IndexBuilder at(builder, loc);
    auto each = scf::ForOp::create(builder, loc, at.index(0), at.index(elements), at.index(1));
    builder.setInsertionPoint(each.getBody()->getTerminator());
    return each;
  }

  static void writeElement(OpBuilder &builder, const ElementLoop &loop, Block &element,
                           Value number) {
    IRMapping mapping;
    mapping.map(loop.variable(), number);
    for (Operation &op : element)
      builder.clone(op, mapping);
  }

  /// Whether no other iteration of the loop's task writes a word that it stores whole.
  bool ownsWords(Operation *loop) {
    Operation *task = loop;
    while (task->getParentOp() != getOperation())
      task = task->getParentOp();
    SmallVector<CellOpInterface> stores;
    loop->walk([&](StoreWordOp store) { stores.push_back(store); });
    auto cells = dyn_cast<CellsOp>(task);
    if (isa<SerialOp>(task) || stores.empty())
      return true;
    if ((!cells && !isa<RangeOp>(task)) ||
        (cells && mayDeactivate(getOperation(), task, cells.getTree())))
      return false;
    for (CellOpInterface store : stores) {
      SmallVector<ValueRange> places;
      SmallVector<SmallVector<Value>> words;
      bool isOwn = true;
      walkWithCalls(task, [&](Operation *op) {
        auto write = dyn_cast<CellOpInterface>(op);
        if (!write || !write.writesMember() || write.getTree() != store.getTree() ||
            write.getPath() != store.getPath())
          return WalkResult::advance();
        places.push_back(write.getCellCoordinates());
        words.push_back(wordPlace(CellAccess::from(write).resolve(), write.getCellCoordinates())
                            .value_or(SmallVector<Value>()));
        // Another element of a word is as far from it as another word.
        isOwn &= isa<StoreWordOp>(op) && (!cells || staysInOwnSlot(cells, CellAccess::from(write)));
        return WalkResult::advance();
      });
      SmallVector<ValueRange> wordPlaces(words.begin(), words.end());
      if (!isOwn || (!cells && !areOwnPlaces(task, places) && !areOwnPlaces(task, wordPlaces)))
        return false;
    }
    return true;
  }

  /// All elements of the word that begins at `start`, on planes of bits. False, and nothing is written: something in the body is no
  /// small integer.
  bool writeSliced(OpBuilder &builder, const ElementLoop &loop, const Words &words, Block &element,
                   Value start, ElementLimits limits, bool keepsLimits) {
    Location loc = loop.op->getLoc();
    Operation *anchor = &*builder.getInsertionPoint(), *previous = anchor->getPrevNode();
    Value word = getConstantIntValue(start) ? start : Value(loop.variable()); // the only one is 0
    SlicedBody body({builder, loc, words.width, words.bits}, loop.variable(), word, start, limits);
    if (keepsLimits)
      body.keepLimits();
    bool isSliced = body.write(element), isOwn = isSliced && ownsWords(loop.op);
    builder.setInsertionPoint(anchor);
    if (isOwn) {
      ++sliced;
      if (auto remark = remarkDone(loop.op, "walk-words", "words"))
        remark << "the loop goes word by word, all elements of a word at once by logic on planes "
                  "of bits";
      return true;
    }
    while (anchor->getPrevNode() != previous)
      anchor->getPrevNode()->erase();
    if (auto remark = remarkNoted(loop.op, "walk-words", "words"))
      remark << "the loop goes word by word, element by element: "
             << (isSliced ? "other iterations may write the same words" : body.problem());
    return false;
  }

  /// The same one by one; of words that are in the loop with some of their elements, each asks whether it is.
  static void writeElements(OpBuilder &builder, const ElementLoop &loop, const Words &words,
                            Block &element, Value start, ElementLimits limits) {
    Location loc = loop.op->getLoc();
    IndexBuilder at(builder, loc);
    int64_t elements = words.elements();
    Value isWhole = arith::AndIOp::create(
        builder, loc, at.compare(arith::CmpIPredicate::sle, limits.lower, start),
        at.compare(arith::CmpIPredicate::sle, at.add(start, elements), limits.upper));
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), isWhole, /*withElse=*/true);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    writeAll(builder, loop, words, element, start);
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    auto each = forElements(builder, loc, elements);
    Value number = at.add(start, each.getInductionVar());
    Value isInside = arith::AndIOp::create(
        builder, loc, at.compare(arith::CmpIPredicate::sle, limits.lower, number),
        at.compare(arith::CmpIPredicate::slt, number, limits.upper));
    auto only = scf::IfOp::create(builder, loc, isInside);
    builder.setInsertionPoint(only.thenBlock()->getTerminator());
    writeElement(builder, loop, element, number);
  }

  static void writeAll(OpBuilder &builder, const ElementLoop &loop, const Words &words,
                       Block &element, Value start) {
    size_t size = 0;
    for (Operation &op : element)
      op.walk([&](Operation *) { ++size; });
    IndexBuilder at(builder, loop.op->getLoc());
    int64_t elements = words.elements();
    if (size * elements > mostOfElements) {
      auto each = forElements(builder, at.loc, elements);
      return writeElement(builder, loop, element, at.add(start, each.getInductionVar()));
    }
    for (int64_t k = 0; k < elements; ++k)
      writeElement(builder, loop, element, at.add(start, k));
  }
};
} // namespace
