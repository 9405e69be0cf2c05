//===- PrepareLoops.cpp - loops that are vectors before C is ----*- C++ -*-===//
//
// C has one order of additions, so no C compiler makes vectors of a loop that adds floats, or takes their extreme: where the
// language allows any order, LLVM makes them here. So it does of rows, loops of a few turns, which C compilers unroll before they
// look for vectors. All other loops are left to the C compiler, which knows its machine.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/Prepare.h"

#include "metate/Emit/Analyses.h"

#include "llvm/Analysis/IVDescriptors.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace llvm;
using namespace metate;

/// Of one vector, and vectors of a sum that do not wait for each other. Machines with smaller registers have several for one.
static constexpr unsigned vectorBytes = 64, sumsAtOnce = 4;
/// Turns of a row.
static constexpr unsigned leastTurns = 8, mostTurns = 64;

/// Does it add floats in an order that counts, or count in floats? LLVM takes a loop that is forced for one of any order.
static bool hasOrder(Loop &loop, ScalarEvolution &evolution) {
  return any_of(loop.getHeader()->phis(), [&](PHINode &phi) {
    RecurrenceDescriptor sum;
    InductionDescriptor counter;
    return phi.getType()->isFloatingPointTy() &&
           ((RecurrenceDescriptor::isReductionPHI(&phi, &loop, sum) && sum.hasExactFPMath()) ||
            (InductionDescriptor::isFPInductionPHI(&phi, &loop, &evolution, counter) &&
             counter.getExactFPMathInst()));
  });
}

/// The size of the numbers that the loop sums up; 0: it does not.
static unsigned bytesOfSum(Loop &loop) {
  unsigned bytes = 0;
  for (PHINode &phi : loop.getHeader()->phis()) {
    RecurrenceDescriptor sum;
    if (phi.getType()->isFloatingPointTy() &&
        RecurrenceDescriptor::isReductionPHI(&phi, &loop, sum) && !sum.isOrdered())
      bytes = std::max(bytes, unsigned(phi.getType()->getPrimitiveSizeInBits() / 8));
  }
  return bytes;
}

/// The size of the numbers that each turn writes one of, most of its accesses behind those of the turn before; 0: it does something
/// else as well.
static unsigned bytesOfRow(Loop &loop, ScalarEvolution &evolution, const DataLayout &layout) {
  unsigned bytes = 0;
  int inOrder = 0;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      if (auto *call = dyn_cast<CallInst>(&instruction)) {
        auto *own = dyn_cast<IntrinsicInst>(call);
        if (!own || !isTriviallyVectorizable(own->getIntrinsicID()))
          return 0;
        continue;
      }
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *store = dyn_cast<StoreInst>(&instruction);
      if (!load && !store) {
        if (instruction.mayReadOrWriteMemory())
          return 0;
        continue;
      }
      Value *place = getLoadStorePointerOperand(&instruction);
      Type *type = getLoadStoreType(&instruction);
      const SCEV *where = evolution.getSCEV(place);
      if (load && load->isSimple() && evolution.isLoopInvariant(where, &loop))
        continue;
      auto *sequence = dyn_cast<SCEVAddRecExpr>(where);
      auto *step = sequence && sequence->getLoop() == &loop
                       ? dyn_cast<SCEVConstant>(sequence->getStepRecurrence(evolution))
                       : nullptr;
      uint64_t size = layout.getTypeStoreSize(type);
      bool isSimple = load ? load->isSimple() : store->isSimple();
      if (!isSimple || type->isPointerTy() || !step)
        return 0;
      bytes = std::max(bytes, store ? unsigned(size) : 0);
      inOrder += step->getAPInt() == size ? 1 : -1;
    }
  return inOrder > 0 ? bytes : 0;
}

namespace {
/// LLVM prints remarks of loops that were forced and are none for vectors, whether anybody asks for them or not.
struct Silence : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    return info.getSeverity() == DS_Remark;
  }
};
} // namespace

static void force(Loop &loop, unsigned width, unsigned atOnce) {
  addStringMetadataToLoop(&loop, "llvm.loop.vectorize.enable", 1);
  addStringMetadataToLoop(&loop, "llvm.loop.vectorize.width", width);
  addStringMetadataToLoop(&loop, "llvm.loop.interleave.count", atOnce);
}

/// Whether it is one for vectors.
static bool choose(Loop &loop, ScalarEvolution &evolution, const DataLayout &layout) {
  if (!loop.isInnermost() || !loop.getLoopPreheader() || !loop.getLoopLatch() ||
      hasOrder(loop, evolution))
    return false;
  if (unsigned bytes = bytesOfSum(loop)) {
    force(loop, vectorBytes / bytes, sumsAtOnce);
    return true;
  }
  unsigned turns = evolution.getSmallConstantTripCount(&loop);
  unsigned bytes =
      turns < leastTurns || turns > mostTurns ? 0 : bytesOfRow(loop, evolution, layout);
  unsigned width = bytes ? std::min(turns, vectorBytes / bytes) : 0;
  if (!width || !isPowerOf2_32(width) || turns % width)
    return false;
  force(loop, width, /*atOnce=*/1);
  return true;
}

Error c::widenLoops(Function &function) {
  Analyses analyses;
  PassBuilder builder;
  analyses.add(builder);
  FunctionPassManager before, after;
  if (Error error = builder.parsePassPipeline(before, "loop-simplify,lcssa,loop(loop-rotate)"))
    return error;
  if (Error error = builder.parsePassPipeline(
          after, "instcombine<no-verify-fixpoint>,simplifycfg,early-cse,loop-mssa(licm),adce"))
    return error;
  FunctionAnalysisManager &results = analyses.functions;
  if (results.getResult<LoopAnalysis>(function).empty())
    return Error::success();
  results.invalidate(function, before.run(function, results));
  bool any = false;
  for (Loop *loop : results.getResult<LoopAnalysis>(function).getLoopsInPreorder())
    any |= choose(*loop, results.getResult<ScalarEvolutionAnalysis>(function),
                  function.getDataLayout());
  if (!any)
    return Error::success();
  function.getContext().setDiagnosticHandler(std::make_unique<Silence>());
  LoopVectorizePass vectorise(
      {/*InterleaveOnlyWhenForced=*/true, /*VectorizeOnlyWhenForced=*/true});
  results.invalidate(function, vectorise.run(function, results));
  after.run(function, results);
  return Error::success();
}
