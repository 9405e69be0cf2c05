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
static constexpr size_t mostWritten = 512;

namespace {
/// A loop along the elements of words: the last dimension of a parallel loop, or one in order.
struct ElementLoop {
  Operation *op;

  static std::optional<ElementLoop> of(Operation *op) {
    if (isa<RangeOp>(op))
      return ElementLoop{op};
    auto serial = dyn_cast<scf::ForOp>(op);
    if (serial && serial.getNumResults() == 0 && getConstantIntValue(serial.getStep()) == 1 &&
        serial.getInductionVar().getType().isIndex() && !op->getParentOfType<CellsOp>())
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
  unsigned elements() const { return width / bits; }
};

/// Where a loop begins and ends, in elements.
struct Limits {
  Value lower, upper;
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
      for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
        around.insert(parent);
      walk(loop, *words);
      ++walked;
      dropDimension(loop);
    }
  }

private:
  /// The words that it writes, each element at its variable; nullopt: it writes none, several kinds, or is not to go by words.
  std::optional<Words> wordsOf(const ElementLoop &loop) {
    if (getOperation().getMayAlias())
      return std::nullopt;
    Words words;
    bool isFit = !loop.op->walk([&](Operation *op) {
                         auto cell = dyn_cast<CellOpInterface>(op);
                         if (isa<CallOp>(op) || (cell && cell.changesActivity()))
                           return WalkResult::interrupt();
                         if (!cell || !cell.writesMember())
                           return WalkResult::advance();
                         TreePath path = CellAccess::from(cell).resolve();
                         if (!isQuantised(path.place.getType()))
                           return WalkResult::advance();
                         std::optional<ElementAccess> access = ElementAccess::of(op, loop.variable());
                         if (!access)
                           return path.levels.empty() || !isa<QuantArrayAttr>(path.levels.back())
                                      ? WalkResult::advance()
                                      : WalkResult::interrupt();
                         Words own{unsigned(access->level.getWord()), access->bits};
                         if (access->shift != 0 || (words.width && own.elements() != words.elements()))
                           return WalkResult::interrupt();
                         words = own;
                         return WalkResult::advance();
                       }).wasInterrupted();
    if (!isFit || !words.width || words.elements() < 2)
      return std::nullopt;
    return words;
  }

  void walk(const ElementLoop &loop, const Words &words) {
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
    Value start = at.multiply(loop.variable(), elements);
    std::optional<Limits> limits;
    if (!isWhole && !isMutant(Mutant::BorderWordWhole))
      limits = Limits{lower, upper};
    if (!writeSliced(builder, loop, words, element, start, limits))
      writeElements(builder, loop, words, element, start, limits);
    element.dropAllReferences();
    element.clear();
  }

  /// A loop that is left with one word is none; of a parallel one the dimension before it is the last one then.
  static void dropDimension(const ElementLoop &loop) {
    if (auto serial = dyn_cast<scf::ForOp>(loop.op)) {
      serial->removeAttr(mark::nest);
      serial->removeAttr(mark::row);
      OpBuilder builder(serial);
      if (getConstantIntValue(serial.getLowerBound()) == 0 && getConstantIntValue(serial.getUpperBound()) == 1)
        { IRRewriter rewriter(builder); (void)serial.promoteIfSingleIteration(rewriter); }
      return;
    }
    auto range = dyn_cast<RangeOp>(loop.op);
    if (!range || range.getLower().size() < 2 || getConstantIntValue(range.getLower().back()) != 0 ||
        getConstantIntValue(range.getUpper().back()) != 1)
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

  static scf::ForOp forElements(OpBuilder &builder, Location loc, int64_t elements) {
    IndexBuilder at(builder, loc);
    auto each = scf::ForOp::create(builder, loc, at.index(0), at.index(elements), at.index(1));
    builder.setInsertionPoint(each.getBody()->getTerminator());
    return each;
  }

  static void writeElement(OpBuilder &builder, const ElementLoop &loop, Block &element, Value number) {
    IRMapping mapping;
    mapping.map(loop.variable(), number);
    for (Operation &op : element)
      builder.clone(op, mapping);
  }

  /// All elements of the word that begins at `start`, on planes of bits. False, and nothing is written: something in the body is no
  /// small integer.
  bool writeSliced(OpBuilder &builder, const ElementLoop &loop, const Words &words, Block &element,
                   Value start, std::optional<Limits> limits) {
    Location loc = loop.op->getLoc();
    Operation *anchor = &*builder.getInsertionPoint(), *previous = anchor->getPrevNode();
    SlicedBody body({builder, loc, words.width, words.bits}, loop.variable(), start, IRMapping());
    if (limits)
      body.limit(limits->lower, limits->upper);
    bool isSliced = body.write(element);
    builder.setInsertionPoint(anchor);
    if (isSliced) {
      ++sliced;
      if (auto remark = remarkDone(loop.op, "walk-words", "words"))
        remark << "the loop goes word by word, all elements of a word at once by logic on planes of bits";
      return true;
    }
    while (anchor->getPrevNode() != previous)
      anchor->getPrevNode()->erase();
    if (auto remark = remarkNoted(loop.op, "walk-words", "words"))
      remark << "the loop goes word by word, element by element: " << body.problem();
    return false;
  }

  /// The same one by one; of words that are in the loop with some of their elements, each asks whether it is.
  static void writeElements(OpBuilder &builder, const ElementLoop &loop, const Words &words, Block &element,
                            Value start, std::optional<Limits> limits) {
    Location loc = loop.op->getLoc();
    IndexBuilder at(builder, loc);
    if (!limits)
      return writeAll(builder, loop, words, element, start);
    int64_t elements = words.elements();
    Value isWhole = arith::AndIOp::create(
        builder, loc, at.compare(arith::CmpIPredicate::sle, limits->lower, start),
        at.compare(arith::CmpIPredicate::sle, at.add(start, elements), limits->upper));
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), isWhole, /*withElse=*/true);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    writeAll(builder, loop, words, element, start);
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    auto each = forElements(builder, loc, elements);
    Value number = at.add(start, each.getInductionVar());
    Value isInside = arith::AndIOp::create(
        builder, loc, at.compare(arith::CmpIPredicate::sle, limits->lower, number),
        at.compare(arith::CmpIPredicate::slt, number, limits->upper));
    auto only = scf::IfOp::create(builder, loc, isInside);
    builder.setInsertionPoint(only.thenBlock()->getTerminator());
    writeElement(builder, loop, element, number);
  }

  static void writeAll(OpBuilder &builder, const ElementLoop &loop, const Words &words, Block &element,
                       Value start) {
    size_t size = 0;
    for (Operation &op : element)
      op.walk([&](Operation *) { ++size; });
    IndexBuilder at(builder, loop.op->getLoc());
    int64_t elements = words.elements();
    if (size * elements > mostWritten) {
      auto each = forElements(builder, at.loc, elements);
      return writeElement(builder, loop, element, at.add(start, each.getInductionVar()));
    }
    for (int64_t k = 0; k < elements; ++k)
      writeElement(builder, loop, element, at.add(start, k));
  }
};
} // namespace
