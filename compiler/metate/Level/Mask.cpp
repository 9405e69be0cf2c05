//===- Mask.cpp - the mask of a leaf, by words ------------------*- C++ -*-===//
#include "metate/Level/Mask.h"

#include "metate/Mutants/Mutants.h"

using namespace mlir;
using namespace metate;

//===-- words that are known beforehand -------------------------------------===//

SmallVector<MaskRun> metate::runsOf(ArrayRef<int32_t> words) {
  SmallVector<MaskRun> runs;
  for (int64_t first = 0, end; first < int64_t(words.size()); first = end) {
    end = first + 1;
    while (end < int64_t(words.size()) && words[end] == words[first])
      ++end;
    if (words[first] != 0)
      runs.push_back({first, end, words[first]});
  }
  return runs;
}

MaskWords metate::allCells(int64_t cells) {
  MaskWords words((cells + 31) / 32, -1);
  if (cells % 32 != 0)
    words.back() = int32_t((uint32_t(1) << cells % 32) - 1);
  return words;
}

void metate::setWhereMissing(ByteBuilder &bytes, Value isMissing, llvm::function_ref<void()> set) {
  auto branch = scf::IfOp::create(bytes.builder, bytes.loc, isMissing);
  OpBuilder::InsertionGuard guard(bytes.builder);
  bytes.builder.setInsertionPointToStart(branch.thenBlock());
  set();
  bytes.markChanged();
}

/// Runs `make` with the byte offset of each word of the run, in a loop.
static void forEachWord(ByteBuilder &bytes, Value mask, const MaskRun &run,
                        llvm::function_ref<void(Value)> make) {
  OpBuilder::InsertionGuard guard(bytes.builder);
  auto loop = scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(run.first),
                                 bytes.index(run.end), bytes.index(1));
  bytes.builder.setInsertionPointToStart(loop.getBody());
  make(bytes.add(mask, bytes.multiply(loop.getInductionVar(), 4)));
}

/// i32: bits of the run's words that are not set.
static Value missingIn(ByteBuilder &bytes, Value mask, const MaskRun &run) {
  OpBuilder &builder = bytes.builder;
  Value all = bytes.integer(-1, 32);
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, bytes.loc, bytes.index(run.first), bytes.index(run.end),
                                 bytes.index(1), all);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = bytes.add(mask, bytes.multiply(loop.getInductionVar(), 4));
  Value word = bytes.readInteger(at, 32, /*acquire=*/true);
  Value set = arith::AndIOp::create(builder, bytes.loc, loop.getRegionIterArg(0), word);
  scf::YieldOp::create(builder, bytes.loc, set);
  builder.setInsertionPointAfter(loop);
  Value absent = arith::XOrIOp::create(builder, bytes.loc, loop.getResult(0), all);
  return arith::AndIOp::create(builder, bytes.loc, absent, bytes.integer(run.bits, 32));
}

void metate::setCells(ByteBuilder &bytes, Value mask, ArrayRef<int32_t> words, int64_t cells) {
  OpBuilder &builder = bytes.builder;
  SmallVector<MaskRun> runs = runsOf(words);
  MaskWords whole = allCells(cells);
  Value missing = bytes.integer(0, 32);
  for (const MaskRun &run : runs)
    missing = arith::OrIOp::create(builder, bytes.loc, missing, missingIn(bytes, mask, run));
  setWhereMissing(bytes, bytes.isNonzero(missing), [&] {
    for (const MaskRun &run : runs) {
      // All bits that the words have: storing them is setting them, whatever others set or clear meanwhile.
      bool isWhole = run.bits == whole[run.first] && run.bits == whole[run.end - 1];
      forEachWord(bytes, mask, run, [&](Value at) {
        Value bits = bytes.integer(run.bits, 32);
        if (isWhole)
          bytes.write(bits, at, /*release=*/true);
        else
          bytes.atomic(arith::AtomicRMWKind::ori, at, bits);
      });
    }
  });
}

//===-- words in a slot -----------------------------------------------------===//

LeafMask::LeafMask(ByteBuilder bytes, const layout::Node &node, unsigned width, Value slot,
                   bool entry)
    : bytes(bytes), node(node), width(width),
      first(this->bytes.add(slot, node.offset + node.maskOffset + (entry ? node.maskBytes() : 0))) {
}

unsigned LeafMask::widthOf(const layout::Node &node, const layout::Node &pool) {
  // Slot 0 begins at a multiple of METATE_BLOCK_ALIGN.
  uint64_t places[] = {node.offset + node.maskOffset, node.maskBytes(), pool.slotBytes};
  return llvm::all_of(places, [](uint64_t place) { return place % 8 == 0; }) ? 64 : 32;
}

Value LeafMask::at(Value word) { return bytes.add(first, bytes.multiply(word, width / 8)); }

Value LeafMask::read(Value word) { return bytes.readInteger(at(word), width, /*acquire=*/true); }

Value LeafMask::full(Value word) {
  uint64_t rest = node.cells % width;
  if (rest == 0)
    return ones();
  Value isLast = bytes.compare(arith::CmpIPredicate::eq, word, bytes.index(node.cells / width));
  return bytes.select(isLast, bytes.integer(int64_t(llvm::maskTrailingOnes<uint64_t>(rest)), width),
                      ones());
}

Value LeafMask::joinWords(int64_t first, llvm::function_ref<Value(Value joined, Value word)> join) {
  auto loop = scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(0), bytes.index(words()),
                                 bytes.index(1), bytes.integer(first, width));
  OpBuilder::InsertionGuard guard(bytes.builder);
  bytes.builder.setInsertionPointToStart(loop.getBody());
  Value joined = join(loop.getRegionIterArg(0), loop.getInductionVar());
  scf::YieldOp::create(bytes.builder, bytes.loc, joined);
  return loop.getResult(0);
}

Value LeafMask::isAnySet() {
  Value any = joinWords(0, [&](Value joined, Value word) -> Value {
    return arith::OrIOp::create(bytes.builder, bytes.loc, joined, read(word));
  });
  return bytes.isNonzero(any);
}

Value LeafMask::isFull() {
  Value missing = joinWords(0, [&](Value joined, Value word) -> Value {
    Value differs = arith::XOrIOp::create(bytes.builder, bytes.loc, read(word), full(word));
    Value both = arith::OrIOp::create(bytes.builder, bytes.loc, joined, differs);
    if (!isMutant(Mutant::LastWordUnasked))
      return both;
    Value last = bytes.index(words() - 1);
    return bytes.select(bytes.compare(arith::CmpIPredicate::eq, word, last), joined, both);
  });
  return bytes.compare(arith::CmpIPredicate::eq, missing, bytes.integer(0, width));
}

void LeafMask::setBits(llvm::function_ref<Value(Value)> wanted) {
  OpBuilder &builder = bytes.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, bytes.loc, bytes.index(0), bytes.index(words()), bytes.index(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value word = loop.getInductionVar();
  Value absent = arith::XOrIOp::create(builder, bytes.loc, read(word), ones());
  Value missing = arith::AndIOp::create(builder, bytes.loc, wanted(word), absent);
  setWhereMissing(bytes, bytes.isNonzero(missing),
                  [&] { bytes.atomic(arith::AtomicRMWKind::ori, at(word), missing); });
}
