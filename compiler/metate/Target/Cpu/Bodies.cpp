//===- Bodies.cpp - tasks' functions become bodies --------------*- C++ -*-===//
//
// A task's function becomes a body that runs a chunk of its iterations, a launch the call of the executor. The context of a
// body is a struct on the entry's stack: the host pointer first, then whether one worker runs the whole task, then every
// captured value.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Common/Order.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Transforms/LaneValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "metate/abi/base.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// What LLVM is told of the loop of a range's last dimension; null: nothing.
static LLVM::LoopAnnotationAttr annotationOf(RangeOp range) {
  MLIRContext *context = range.getContext();
  LoopAnnotation noVectors{.vectorize = false};
  if (range->hasAttr(mark::rest)) // compiled for the time that it takes to compile
    return noVectors.in(context);
  // Cells of a leaf lie together: those are what vectors are made of, not the leaves.
  auto isNest = [](scf::ForOp loop) { return loop->hasAttr(mark::nest); };
  if (llvm::any_of(range.getBody().front().getOps<scf::ForOp>(), isNest))
    return noVectors.in(context);
  ArrayAttr groups;
  range.walk([&](Operation *op) {
    groups = op->getAttrOfType<ArrayAttr>("access_groups");
    return groups ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!groups)
    return {};
  auto group = cast<LLVM::AccessGroupAttr>(groups[0]);
  // What is stored under a mask is not at hand for a read of it and its neighbour: the next vector's reads wait until it is in the cache. So eight
  // vectors read before the first one is stored.
  bool isMasked = range
                      .walk([](WriteOp write) {
                        return isa<scf::IfOp>(write->getParentOp()) ? WalkResult::interrupt()
                                                                    : WalkResult::advance();
                      })
                      .wasInterrupted();
  return LoopAnnotation{.interleave = isMasked ? 8u : 0u, .parallelAccesses = group}.in(context);
}

/// Iterations to share out: the variable itself, or the rows of all dimensions but the last.
static Value rowsOf(const LaunchedTask &task, OpBuilder &builder) {
  RangeOp range = task.range;
  Location loc = range.getLoc();
  auto lower = task.inHost(range.getLower(), builder),
       upper = task.inHost(range.getUpper(), builder);
  Value count, zero = arith::ConstantIndexOp::create(builder, loc, 0);
  size_t outer = std::max<size_t>(lower.size() - 1, 1);
  for (size_t k = 0; k < outer; ++k) {
    Value size = builder.createOrFold<arith::SubIOp>(loc, upper[k], lower[k]);
    size = builder.createOrFold<arith::MaxSIOp>(loc, size, zero);
    count = count ? builder.createOrFold<arith::MulIOp>(loc, count, size) : size;
  }
  return count;
}

/// What a chunk of the task is.
static void remarkChunks(RangeOp range, const TaskCost &cost, uint64_t chunkNs) {
  auto remark = remarkAt(range.getLoc(), Outcome::Done, "map-tasks-cpu", "chunks");
  if (!remark)
    return;
  StringRef what = range->hasAttr(mark::cells)   ? "slot"
                   : range.getLower().size() > 1 ? "row"
                                                 : "iteration";
  remark << "a worker runs chunks of ";
  APInt grain;
  if (matchPattern(cost.grain, m_ConstantInt(&grain)))
    remark << "at least " << Number("iterations", grain.getSExtValue()) << " " << what << "s, ";
  else
    remark << what << "s, so many as this launch's trip counts make ";
  remark << "about " << Number("chunk_ns", chunkNs)
         << " ns of estimated work; less than two of them go to threads that are awake, or run on "
            "the calling one";
}

/// The pieces that a chunk is, one at least.
static Value piecesOf(Value grain, const Pieces &pieces, OpBuilder &builder) {
  return builder.createOrFold<arith::CeilDivUIOp>(grain.getLoc(), grain, pieces.step);
}

std::optional<Cut> KernelMapping::cutOf(RangeOp range, OpBuilder &builder, Value count,
                                        Value grain) {
  if (auto pair = range->getAttrOfType<IntegerAttr>(mark::skipsPieces))
    return Cut{kept.lookup(pair.getInt()), /*skips=*/true};
  if (auto pair = range->getAttrOfType<IntegerAttr>(mark::keepsPieces)) {
    // To ask costs less than a thousand values.
    Value few = arith::ConstantIndexOp::create(builder, range.getLoc(), chunkNs ? 4096 : 1);
    Value least = builder.createOrFold<arith::MinUIOp>(range.getLoc(), grain, few);
    Pieces pieces = cutInPieces(range, entry, builder, count, least);
    kept[pair.getInt()] = pieces;
    return Cut{pieces, /*skips=*/false};
  }
  if (!isDeterministic() || !hasRoundedPartials(range))
    return std::nullopt;
  remarkAt(range.getLoc(), Outcome::Done, "map-tasks-cpu", "reductions")
      << "up to " << Number("pieces", Pieces::most)
      << " pieces have partial results of their own, combined in order: the same bits for any "
         "number of workers";
  return Cut{cutInPieces(range, entry, builder, count, grain), /*skips=*/false};
}

void KernelMapping::mapLaunch(LaunchOp launch) {
  // Into the entry first: what is captured is then defined above it.
  launch->moveBefore(current, current->end());
  LaunchedTask task(launch);
  RangeOp range = task.range;
  llvm::SetVector<Value> captured(llvm::from_range, launch.getCaptured());
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  Location loc = range.getLoc();
  Code code(builder, loc);
  Value count = rowsOf(task, builder);
  Value nontemporal =
      kernel.getMayAlias() ? Value() : isNontemporal(task, count, builder, nontemporalBytes);
  if (nontemporal)
    captured.insert(nontemporal);
  TaskCost cost = costOf(task, builder, chunkNs);
  remarkChunks(range, cost, chunkNs);
  std::optional<Cut> pieces = cutOf(range, builder, count, cost.grain);
  for (Value value : pieces ? pieces->values() : SmallVector<Value>())
    captured.insert(value);
  SmallVector<Type> fields{code.pointer(), builder.getI64Type()};
  for (Value value : captured)
    fields.push_back(converter.convertType(value.getType()));
  auto frame = LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value context;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry.getBody().front());
    context = LLVM::AllocaOp::create(builder, loc, code.pointer(), frame, code.constant(1, 64),
                                     /*alignment=*/64);
  }
  auto fieldAt = [&](size_t k) {
    return LLVM::GEPOp::create(builder, loc, code.pointer(), frame, context,
                               ArrayRef<LLVM::GEPArg>{0, int32_t(k)},
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  LLVM::StoreOp::create(builder, loc, entry.getArgument(2), fieldAt(0));
  code.store(code.constant(0, 64), context, aloneOffset);
  for (auto [k, value] : llvm::enumerate(captured))
    LLVM::StoreOp::create(builder, loc, toLLVM(code, value), fieldAt(k + 2));
  Value total = toLLVM(code, pieces ? pieces->number : count);
  Body body = bodyOf(task, captured.getArrayRef(), frame, nontemporal, pieces);
  Value grain = toLLVM(code, pieces ? piecesOf(cost.grain, *pieces, builder) : cost.grain);
  Value part = code.constant(pieces || !sharesChunks ? 0 : cost.part, 32);
  Value loners = body.isInOrder ? code.constant(inOrder, 64) : toLLVM(code, cost.loners);
  Value address =
      LLVM::AddressOfOp::create(builder, loc, code.pointer(), body.function.getSymName());
  LLVM::LLVMFuncOp run = parallelFor(kernel->getParentOfType<ModuleOp>());
  tellBegin(loc, toLLVM(code, count));
  builder.setInsertionPointToEnd(current);
  auto call = LLVM::CallOp::create(
      builder, loc, run,
      ValueRange{entry.getArgument(2), total, grain, workers, loners, address, context, part});
  tellEnd(loc);
  returnIfNonzero(call.getResult(), loc);
  launch.erase();
  if (!pieces || pieces->skips)
    return;
  // No more pieces: what they have stored is combined.
  OpBuilder after = OpBuilder::atBlockEnd(current);
  Value zero = LLVM::ConstantOp::create(after, loc, after.getI32IntegerAttr(0));
  call = LLVM::CallOp::create(after, loc, body.function, ValueRange{context, total, total, zero});
  returnIfNonzero(call.getResult(), loc);
}

KernelMapping::Body KernelMapping::bodyOf(LaunchedTask task, ArrayRef<Value> captured,
                                          LLVM::LLVMStructType frame, Value nontemporal,
                                          const std::optional<Cut> &pieces) {
  func::FuncOp function = task.function;
  StringAttr name = function.getSymNameAttr();
  // Launches that are mapped have left the kernel.
  auto left = llvm::count_if(kernel.getBody().getOps<LaunchOp>(),
                             [&](LaunchOp other) { return other.getTaskAttr().getAttr() == name; });
  // Operands that are one value are one field.
  auto fields = llvm::map_to_vector(task.launch.getCaptured(), [&](Value value) {
    return size_t(llvm::find(captured, value) - captured.begin());
  });
  bool isOfOneLaunch = pieces || nontemporal;
  auto known = bodies.find(name);
  bool isMade = known != bodies.end();
  if (isMade && !isOfOneLaunch && !known->second.isOfOneLaunch && known->second.fields == fields) {
    if (!left)
      function.erase();
    return known->second;
  }
  func::FuncOp whole = left ? function.clone() : func::FuncOp();
  if (isMade) // this launch needs one of its own
    function.setSymName((name.getValue() + "_again" + Twine(left)).str());
  Body body = makeBody(task, captured, frame, nontemporal, pieces);
  body.fields = std::move(fields);
  body.isOfOneLaunch = isOfOneLaunch;
  if (whole) {
    function->getBlock()->getOperations().insert(function->getIterator(), whole);
    bodies.try_emplace(name, body);
  }
  function.erase();
  return body;
}

Operation *KernelMapping::buildBody(Code &code, RangeOp range, LLVM::LLVMFuncOp body,
                                    const std::optional<Cut> &pieces,
                                    llvm::function_ref<Value(Value)> inside) {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  Value begin = fromLLVM(code, body.getArgument(1), builder.getIndexType());
  Value end = fromLLVM(code, body.getArgument(2), builder.getIndexType());
  if (!pieces) {
    Operation *loops = buildLoops(code, range, begin, end);
    gatherReductions(body, loops, loops);
    return withoutBorders(loops);
  }
  auto here = llvm::map_to_vector(pieces->values(), inside);
  Pieces values{here[0], here[1], here[2], here[3]};
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto each = scf::ForOp::create(builder, loc, begin, end, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(each.getBody());
  Value from = arith::MulIOp::create(builder, loc, each.getInductionVar(), values.step);
  Value to = arith::AddIOp::create(builder, loc, from, values.step);
  to = arith::MinUIOp::create(builder, loc, to, values.count);
  if (pieces->skips) {
    Value isHeld = holdsExtreme(range, builder, values, each.getInductionVar());
    auto ifHeld = scf::IfOp::create(builder, loc, isHeld, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(ifHeld.thenBlock());
    Operation *loops = buildLoops(code, range, from, to);
    gatherReductions(body, loops, loops);
    return withoutBorders(loops);
  }
  Operation *loops = buildLoops(code, range, from, to);
  storePartials(gatherReductions(body, loops, each), each, values, begin, end);
  return withoutBorders(loops);
}

Operation *KernelMapping::withoutBorders(Operation *loops) {
  if (acrossIterations && loops == innermost && !isDeterministic())
    loops = interchange(innermost);
  if (!splitsBorders)
    return loops;
  if (!kernel.getMayAlias())
    hoistReadsFrom(innermost);
  bool isOutermost = loops == innermost;
  Block *block = loops->getBlock();
  Operation *next = loops->getNextNode();
  // Loops whose turns are cut for each iteration anew are no loops that lanes take together.
  bool keepsLoops = acrossIterations && !isDeterministic() && gainsAcrossIterations(innermost);
  innermost = cpu::splitBorders(innermost, guesses, sizes, keepsLoops);
  return isOutermost ? (next ? next->getPrevNode() : &block->back()) : loops;
}

/// What was made vectors for the additions is computed number by number beside them: LLVM makes vectors of it.
static void splitScatters(LLVM::LLVMFuncOp body, bool always) {
  SmallVector<scf::ForOp> loops;
  body.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (splitScatter(loop, always))
      takeVectorsApart(loop);
}

KernelMapping::Body KernelMapping::makeBody(LaunchedTask task, ArrayRef<Value> captured,
                                            LLVM::LLVMStructType frame, Value nontemporal,
                                            const std::optional<Cut> &pieces) {
  RangeOp range = task.range;
  OpBuilder builder(entry);
  Location loc = range.getLoc();
  auto body = LLVM::LLVMFuncOp::create(builder, loc, task.function.getSymName(),
                                       bodyType(builder.getContext()), LLVM::Linkage::Internal);
  builder.setInsertionPointToStart(body.addEntryBlock(builder));
  Code code(builder, loc);
  llvm::DenseMap<Value, Value> inside;
  for (auto [k, value] : llvm::enumerate(captured)) {
    Value field = LLVM::GEPOp::create(builder, loc, code.pointer(), frame, body.getArgument(0),
                                      ArrayRef<LLVM::GEPArg>{0, int32_t(k + 2)},
                                      LLVM::GEPNoWrapFlags::inbounds);
    Type type = converter.convertType(value.getType());
    inside[value] =
        fromLLVM(code, LLVM::LoadOp::create(builder, loc, type, field), value.getType());
  }
  Block &function = task.function.getBody().front();
  for (auto [argument, value] : llvm::zip(function.getArguments(), task.launch.getCaptured()))
    argument.replaceAllUsesWith(inside.lookup(value));
  // The range with what stands before it: constants that are its bounds.
  Block *to = builder.getInsertionBlock();
  to->getOperations().splice(builder.getInsertionPoint(), function.getOperations(),
                             function.begin(), Block::iterator(function.getTerminator()));
  Operation *loops =
      buildBody(code, range, body, pieces, [&](Value value) { return inside.lookup(value); });
  bool isOfPieces = runPiecesInLanes(body);
  bool isRest = range->hasAttr(mark::rest);
  auto isAround = [](WriteOp write) {
    return write->hasAttr(mark::nontemporal) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (body.walk(isAround).wasInterrupted())
    fenceNontemporal(loops);
  if (range->hasAttr(mark::sideBySide)) {
    splitScatters(body, /*always=*/chunkNs == 0);
    markLanes(body);
  }
  range.erase();
  bool isInOrder = isDeterministic() && target::showsOrder(body);
  if (isInOrder)
    remarkAt(loc, Outcome::Declined, "map-tasks-cpu", "chunks")
        << "one worker runs the whole task: the order of iterations would show in a deterministic "
           "kernel";
  if (isInOrder)
    makeAlone(body.getBody());
  std::optional<AloneVersion> alone;
  if (!isInOrder && !isDeterministic()) // two versions might round differently
    alone = splitOffAlone(body, loops, innermost);
  // The ends of rows are ordinary stores: shorter rows than 1 KiB do not gain. For tests (0), all do.
  if (nontemporal)
    writeNontemporal(body, innermost, loops, inside.lookup(nontemporal), nontemporalBytes ? 16 : 1);
  else if (acrossIterations && !isRest && !isOfPieces &&
           !isInOrder) // two iterations may change one place, in their order
    runInLanes(innermost, alone ? alone->innermost : scf::ForOp());
  if (alone)
    makeAlone(*alone->code);
  OpBuilder atStart = OpBuilder::atBlockBegin(&body.getBody().front());
  PollOp::create(atStart, loc); // once a chunk
  LLVM::ReturnOp::create(builder, loc, code.constant(METATE_OK, 32));
  builder.setInsertionPointToStart(&body.getBody().front());
  Value host = code.load(code.pointer(), body.getArgument(0), 0);
  lowerPrints(body, host);
  hoistAllocas(body);
  return {body, isInOrder, {}, false};
}

bool KernelMapping::runPiecesInLanes(LLVM::LLVMFuncOp body) {
  SmallVector<scf::ForOp> loops;
  body.walk([&](scf::ForOp loop) {
    if (loop->removeAttr(mark::piece))
      loops.push_back(loop);
  });
  // What is written outside of these loops is the copy, which is filled before.
  std::optional<uint64_t> scope;
  body.walk([&](WriteOp fill) {
    if (llvm::none_of(loops, [&](scf::ForOp loop) { return loop->isAncestor(fill); }))
      scope = fill.getScope();
  });
  for (scf::ForOp loop : loops)
    if (acrossIterations)
      runAcrossIterations(loop, {}, kernel.getMayAlias(), /*always=*/chunkNs == 0);
  // One worker has a piece.
  SmallVector<RmwOp> additions;
  body.walk([&](RmwOp addition) {
    if (!loops.empty() && scope == addition.getScope())
      additions.push_back(addition);
  });
  llvm::for_each(additions, makePlain);
  return !loops.empty();
}

void KernelMapping::runInLanes(scf::ForOp loop, scf::ForOp alone) {
  bool mayAlias = kernel.getMayAlias(), always = chunkNs == 0;
  // Before its atomic operations are plain: two lanes may change one place.
  if (alone)
    runAcrossIterations(alone, {}, mayAlias, always);
  if (!runAcrossIterations(loop, rows, mayAlias, always) && !mayAlias)
    runCellByCell(loop);
}

Operation *KernelMapping::buildLoops(Code &code, RangeOp range, Value begin, Value end) {
  OpBuilder &builder = code.builder;
  ValueRange lower = range.getLower(), upper = range.getUpper();
  Location loc = code.loc;
  OpBuilder::InsertionGuard guard(builder);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> variables;
  Operation *outermost;
  guesses.clear();
  sizes.clear();
  for (ValueRange bounds : {lower, upper})
    for (Value bound : bounds)
      addSources(bound, sizes);
  rows = nullptr;
  size_t rank = lower.size();
  if (rank == 1) {
    Value from = arith::AddIOp::create(builder, loc, lower[0], begin);
    if (isMutant(Mutant::LowerBoundForgotten))
      from = begin;
    Value to = arith::AddIOp::create(builder, loc, lower[0], end);
    if (isMutant(Mutant::ChunkEndShort))
      to = arith::SubIOp::create(builder, loc, to, one);
    auto loop = scf::ForOp::create(builder, loc, from, to, one);
    outermost = innermost = loop;
    guesses[from] = guess(lower[0], guesses);
    guesses[to] = guess(upper[0], guesses);
    builder.setInsertionPointToStart(loop.getBody());
    variables.push_back(loop.getInductionVar());
  } else {
    outermost = rows = scf::ForOp::create(builder, loc, begin, end, one);
    builder.setInsertionPointToStart(rows.getBody());
    // One division per row and outer dimension; none inside the row.
    Value rest = rows.getInductionVar();
    for (size_t k = rank - 1; k-- > 0;) {
      Value position = rest;
      if (k > 0) {
        Value size = arith::SubIOp::create(builder, loc, upper[k], lower[k]);
        position = arith::RemUIOp::create(builder, loc, rest, size);
        rest = arith::DivUIOp::create(builder, loc, rest, size);
      }
      variables.insert(variables.begin(), arith::AddIOp::create(builder, loc, lower[k], position));
    }
    Value first = lower.back();
    if (isMutant(Mutant::InnerBoundForgotten))
      first = arith::ConstantIndexOp::create(builder, loc, 0);
    auto loop = scf::ForOp::create(builder, loc, first, upper.back(), one);
    innermost = loop;
    builder.setInsertionPointToStart(loop.getBody());
    variables.push_back(loop.getInductionVar());
  }
  for (auto [variable, first, end] : llvm::zip(variables, lower, upper))
    guesses[variable] = (guess(first, guesses) + guess(end, guesses)) / 2;
  Block &from = range.getBody().front();
  if (LLVM::LoopAnnotationAttr annotation = annotationOf(range))
    innermost->setAttr("loop_annotation", annotation);
  from.getTerminator()->erase();
  for (auto [argument, variable] : llvm::zip(from.getArguments(), variables))
    argument.replaceAllUsesWith(variable);
  Block *to = builder.getInsertionBlock();
  to->getOperations().splice(builder.getInsertionPoint(), from.getOperations());
  // The loop's own yield stays last.
  OpBuilder restore(range.getContext());
  from.push_back(YieldOp::create(restore, loc));
  return outermost;
}
