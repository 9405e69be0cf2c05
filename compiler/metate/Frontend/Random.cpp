//===- Random.cpp - random numbers ------------------------------*- C++ -*-===//
//
// A number is one or two words of a block of four, metate.philox of a counter and the launch's key.
// The counter is the iteration's number (of a struct-for: its cell's), the loop's number in the kernel,
// and how many blocks the iteration took before. So numbers depend on the seed and the iteration
// alone, not on workers, and no two are of the same words.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

/// The iteration's coordinates as one number: row-major, counted modulo 2^64.
Value KernelBuilder::iterationNumber(Operation *loop) {
  Block &body = loop->getRegion(0).front();
  SmallVector<Value> extents;
  if (auto range = dyn_cast<RangeOp>(loop)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper()))
      extents.push_back(builder.createOrFold<arith::SubIOp>(loc(), upper, lower));
  } else {
    auto cells = cast<ForEachOp>(loop);
    auto path = findPath(cast<TreeType>(cells.getTree().getType()), cells.getPath());
    // More than two coordinates without bounds do not fit a number: they are mixed.
    for (int64_t extent : path->extents)
      extents.push_back(indexConstant(
          extent == unboundedExtent && path->rank() > 2 ? int64_t(0x9e3779b97f4a7c15) : extent));
  }
  Value number = body.getArgument(0);
  for (unsigned k = 1; k < body.getNumArguments(); ++k) {
    number = builder.createOrFold<arith::MulIOp>(loc(), number, extents[k]);
    number = builder.createOrFold<arith::AddIOp>(loc(), number, body.getArgument(k));
  }
  return arith::IndexCastOp::create(builder, loc(), builder.getI64Type(), number);
}

Value KernelBuilder::wordConstant(int64_t value) {
  return arith::ConstantOp::create(builder, loc(), builder.getI32IntegerAttr(int32_t(value)));
}

/// What a stream belongs to: the function or parallel loop that the builder stands in; null: neither.
Operation *KernelBuilder::streamOwner() const {
  return isInFunction() ? scopes.front()->getParentOp() : parallelOp;
}

Value KernelBuilder::streamLocal(Value first) {
  Value place = memref::AllocaOp::create(builder, loc(), MemRefType::get({}, builder.getI32Type()));
  memref::StoreOp::create(builder, loc(), first, place, ValueRange{});
  return place;
}

/// What a stream counts with, from where the builder stands on; `blocks`: of words that were taken before.
void KernelBuilder::addCounters(RandomStream &stream, Value blocks) {
  stream.blocks = streamLocal(blocks);
  for (int k = 0; k < 4; ++k)
    stream.left.push_back(streamLocal(wordConstant(0)));
  stream.used = streamLocal(wordConstant(4));
}

/// The stream of the iteration, of the function, or of the statements outside of parallel loops. Its variables are
/// made where the iteration, or the kernel, begins.
KernelBuilder::RandomStream &KernelBuilder::randomStream() {
  RandomStream &stream = streams[streamOwner()];
  if (stream.blocks)
    return stream;
  assert(!isInFunction() && "a function gets its stream when it begins");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(parallelOp ? &parallelOp->getRegion(0).front()
                                              : &kernel.getBody().front());
  addCounters(stream, wordConstant(0));
  stream.low = stream.high = stream.task = wordConstant(0);
  if (!parallelOp)
    return stream;
  int64_t before = 0; // statements outside of loops have task 0
  for (Operation &op : *parallelOp->getBlock()) {
    if (&op == parallelOp)
      break;
    before += isa<RangeOp, ForEachOp>(op);
  }
  stream.task = wordConstant(before + 1);
  Value number = iterationNumber(parallelOp);
  Value shift = arith::ConstantOp::create(builder, loc(), builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc(), number, shift);
  stream.low = arith::TruncIOp::create(builder, loc(), builder.getI32Type(), number);
  stream.high = arith::TruncIOp::create(builder, loc(), builder.getI32Type(), high);
  return stream;
}

/// Of the iteration that calls the function: its number, its loop's, and how many blocks it took before. What a function leaves
/// of a block is not drawn any more.
void KernelBuilder::beginStream() {
  RandomStream &stream = streams[streamOwner()];
  for (Value *word : {&stream.low, &stream.high, &stream.task})
    *word = parameter(METATE_I32).ir;
  addCounters(stream, parameter(METATE_I32).ir);
}

bool KernelBuilder::mayDraw() const { return !isInFunction() || streams.count(streamOwner()); }

std::vector<KernelValue> KernelBuilder::streamState() {
  RandomStream &stream = randomStream();
  Value blocks = memref::LoadOp::create(builder, loc(), stream.blocks, ValueRange{});
  std::vector<KernelValue> state;
  for (Value word : {stream.low, stream.high, stream.task, blocks})
    state.push_back({word, METATE_I32});
  return state;
}

void KernelBuilder::continueStream(const KernelValue &blocks) {
  memref::StoreOp::create(builder, loc(), blocks.ir, randomStream().blocks, ValueRange{});
}

/// The iteration's next four words.
Value KernelBuilder::randomBlock(const RandomStream &stream, const KernelValue &key) {
  Value taken = memref::LoadOp::create(builder, loc(), stream.blocks, ValueRange{});
  Value next = arith::AddIOp::create(builder, loc(), taken, wordConstant(1));
  memref::StoreOp::create(builder, loc(), next, stream.blocks, ValueRange{});
  Value shift = arith::ConstantOp::create(builder, loc(), builder.getI64IntegerAttr(32));
  Value high = arith::ShRUIOp::create(builder, loc(), key.ir, shift);
  Value words[] = {arith::TruncIOp::create(builder, loc(), builder.getI32Type(), key.ir),
                   arith::TruncIOp::create(builder, loc(), builder.getI32Type(), high)};
  return PhiloxOp::create(builder, loc(), {stream.low, stream.high, stream.task, taken}, words);
}

/// How many words were used is known while running only: what is left moves up, and a new block is
/// made when too little is.
SmallVector<Value, 2> KernelBuilder::wordsInLoop(RandomStream &stream, const KernelValue &key,
                                                 unsigned count) {
  auto load = [&](Value place) -> Value {
    return memref::LoadOp::create(builder, loc(), place, ValueRange{});
  };
  auto store = [&](Value value, Value place) {
    memref::StoreOp::create(builder, loc(), value, place, ValueRange{});
  };
  Value isOver = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::ugt, load(stream.used),
                                       wordConstant(4 - count));
  auto branch = scf::IfOp::create(builder, loc(), TypeRange(), isOver, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value block = randomBlock(stream, key);
    for (int64_t k = 0; k < 4; ++k)
      store(vector::ExtractOp::create(builder, loc(), block, k), stream.left[k]);
    store(wordConstant(0), stream.used);
  }
  SmallVector<Value, 2> words;
  for (unsigned k = 0; k < count; ++k)
    words.push_back(load(stream.left[k]));
  for (unsigned k = 0; k + count < 4; ++k)
    store(load(stream.left[k + count]), stream.left[k]);
  Value used = load(stream.used);
  store(arith::AddIOp::create(builder, loc(), used, wordConstant(count)), stream.used);
  return words;
}

/// The next words of the iteration. Statements that follow each other share a block of words.
SmallVector<Value, 2> KernelBuilder::randomWords(const KernelValue &key, unsigned count) {
  RandomStream &stream = randomStream();
  bool isInLoop = llvm::any_of(llvm::reverse(frames), [&](const Frame &frame) {
    return isa<scf::ForOp, scf::WhileOp>(frame.op);
  });
  if (isInLoop)
    return wordsInLoop(stream, key, count);
  RandomWords &block = blockWords[builder.getInsertionBlock()];
  if (!block.words || block.used + count > 4)
    block = {randomBlock(stream, key), 0};
  SmallVector<Value, 2> words;
  for (unsigned k = 0; k < count; ++k)
    words.push_back(vector::ExtractOp::create(builder, loc(), block.words, int64_t(block.used++)));
  return words;
}

/// Two words as 64 bits, the first one lowest.
static Value joined(OpBuilder &builder, Location loc, ArrayRef<Value> words) {
  Value low = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), words[0]);
  Value high = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), words[1]);
  Value shift = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  return arith::OrIOp::create(builder, loc, low, arith::ShLIOp::create(builder, loc, high, shift));
}

KernelValue KernelBuilder::random(Scalar type, const KernelValue &key) {
  if (!key)
    return {};
  assert(bitWidth(key.type.scalar) == 64 && "the key is a u64");
  DataType data(type);
  unsigned width = bitWidth(type), wordBits = width == 64 ? 64 : 32;
  SmallVector<Value, 2> words = randomWords(key, wordBits / 32);
  Value word = words.size() == 1 ? words[0] : joined(builder, loc(), words);
  if (!data.isFloat()) {
    if (width < 32)
      word = arith::TruncIOp::create(builder, loc(), ir(data), word);
    return {word, data};
  }
  // As many of the upper bits as the type holds exactly, over two to their number.
  unsigned digits = cast<FloatType>(ir(data)).getFPMantissaWidth();
  auto shift = builder.getIntegerAttr(word.getType(), wordBits - digits);
  word = arith::ShRUIOp::create(builder, loc(), word,
                                arith::ConstantOp::create(builder, loc(), shift));
  Value number = arith::UIToFPOp::create(builder, loc(), ir(data), word);
  Value scale = constant(data, std::ldexp(1.0, -int(digits)));
  return {arith::MulFOp::create(builder, loc(), number, scale), data};
}
