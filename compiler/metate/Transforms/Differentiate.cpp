//===- Differentiate.cpp - a kernel becomes its derivative ------*- C++ -*-===//
//
// Prepares the kernel (variables are values, functions stand where they are called), finds out what matters, and has one of the
// modes write the derivative. Everything behind this pass sees a kernel like any other.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Quant.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ForwardMode.h"
#include "metate/Transforms/IterationVariables.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/ReverseMode.h"
#include "metate/Transforms/StaleReads.h"
#include "metate/Transforms/ZeroDerivatives.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// Of arithmetic, while its kernel is differentiated: it is to be rounded as it is written.
static constexpr StringLiteral staysExact = "stays_exact";

namespace {
struct Differentiate : metate::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      auto mode = kernel->getAttrOfType<StringAttr>(mark::differentiate);
      if (mode && failed(differentiate(kernel, mode)))
        return signalPassFailure();
      kernel.walk([](StopGradientOp op) { // only derivatives know it
        op.replaceAllUsesWith(op.getValue());
        op.erase();
      });
    }
  }

private:
  LogicalResult differentiate(KernelOp kernel, StringRef mode) {
    kernel->removeAttr(mark::differentiate);
    if (kernel.getMayAlias())
      return kernel.emitError(subject(kernel, mode) +
                              "arrays that overlap have no derivatives of their own; give it "
                              "arrays that lie apart");
    inlineFunctions(kernel);
    if (failed(prepare(kernel)))
      return failure();
    dropFunctions(kernel);
    DerivativePlaces places(kernel);
    if (failed(checkPlaces(kernel, mode, places)))
      return failure();
    remarkZeroDerivatives(kernel, places);
    WriteNumbers numbers(kernel);
    dropWhatOnlyShows(kernel, /*asserts=*/mode == reverseMode);
    ++differentiated;
    arith::FastMathFlags flags = flagsOf(kernel);
    if (failed(mode == forwardMode ? forward(kernel, places) : reverse(kernel, places, numbers)))
      return failure();
    allow(kernel, flags);
    inlineDerivatives(kernel);
    return success();
  }

  /// What all of its arithmetic allows that allows anything. The rest is marked: it, and what is a copy of it, stays as it is.
  static arith::FastMathFlags flagsOf(KernelOp kernel) {
    auto flags = arith::FastMathFlags::fast;
    bool any = false;
    kernel.walk([&](arith::ArithFastMathInterface op) {
      arith::FastMathFlagsAttr allowed = op.getFastMathFlagsAttr(); // null: of a conversion
      if (!allowed || allowed.getValue() == arith::FastMathFlags::none)
        return op->setAttr(staysExact, UnitAttr::get(kernel.getContext()));
      flags = flags & allowed.getValue();
      any = true;
    });
    return any ? flags : arith::FastMathFlags::none;
  }

  /// Derivatives may be computed as what they are derivatives of: their products and sums fused, say.
  static void allow(KernelOp kernel, arith::FastMathFlags flags) {
    auto attribute = arith::FastMathFlagsAttr::get(kernel.getContext(), flags);
    kernel.walk([&](arith::ArithFastMathInterface op) {
      arith::FastMathFlagsAttr allowed = op.getFastMathFlagsAttr();
      bool isNew = allowed && allowed.getValue() == arith::FastMathFlags::none;
      if (!op->removeAttr(staysExact) && isNew)
        op->setAttr(op.getFastMathAttrName(), attribute);
    });
  }

  LogicalResult forward(KernelOp kernel, const DerivativePlaces &places) {
    auto isNoSum = [](const MemoryAccess &access) { return !access.isSum(); };
    if (hasAtomic(kernel, isNoSum) && failed(useVariables(kernel)))
      return failure();
    DerivativeActivity activity(kernel, places);
    if (failed(checkCalls(kernel, forwardMode, activity)))
      return failure();
    return ForwardMode(kernel, places, activity).run();
  }

  /// What is known of a kernel before its reverse is written.
  struct Analysis {
    Analysis(KernelOp kernel, const DerivativePlaces &places)
        : activity(kernel, places), combined(kernel, places, activity),
          needed(kernel, places, activity, combined) {}
    DerivativeActivity activity;
    CombinedPlaces combined;
    NeededValues needed;
  };

  LogicalResult reverse(KernelOp kernel, const DerivativePlaces &places,
                        const WriteNumbers &numbers) {
    if (!callsIn(kernel).empty() &&
        failed(checkCalls(kernel, reverseMode, DerivativeActivity(kernel, places))))
      return failure();
    auto known = std::make_unique<Analysis>(kernel, places);
    auto states = ReadStates::of(kernel, known->combined, known->needed, /*reports=*/false);
    auto isUnknown = [](const MemoryAccess &access) {
      return !access.isSum() && !access.isProduct() && !access.isExtreme();
    };
    if (!states || hasAtomic(kernel, isUnknown) ||
        failed(silently(known->combined, places, known->activity))) {
      if (failed(useVariables(kernel)))
        return failure();
      known = std::make_unique<Analysis>(kernel, places);
      states = ReadStates::of(kernel, known->combined, known->needed, /*reports=*/true);
    }
    if (!states || failed(known->combined.check(places, known->activity)) ||
        failed(checkVisitedCells(kernel, known->needed)))
      return failure();
    states->mark(kernel);
    return ReverseMode(kernel, places, known->activity, known->combined, known->needed, numbers)
        .run();
  }

  /// Its check, whose errors may be mended by variables.
  LogicalResult silently(const CombinedPlaces &combined, const DerivativePlaces &places,
                         const DerivativeActivity &activity) {
    ScopedDiagnosticHandler nobody(&getContext(), [](Diagnostic &) { return success(); });
    return combined.check(places, activity);
  }

  LogicalResult useVariables(KernelOp kernel) {
    makeIterationVariables(kernel);
    return prepare(kernel);
  }

  /// One that is a store where nobody else is at its place.
  static bool hasAtomic(KernelOp kernel, llvm::function_ref<bool(const MemoryAccess &)> isOne) {
    return kernel
        ->walk([&](Operation *op) {
          std::optional<MemoryAccess> access = MemoryAccess::of(op);
          bool found = access && access->combined && isOne(*access);
          return found ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The kernel comes from the front end: variables become values, then each value is computed once.
  LogicalResult prepare(KernelOp kernel) {
    OpPassManager passes(KernelOp::getOperationName());
    passes.addPass(createPromoteLocals());
    passes.addPass(createUpliftWhile());
    if (unroll)
      passes.addPass(createUnrollLoops());
    passes.addPass(createScalarizeIndices());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createFoldIndexCasts());
    passes.addPass(createCSEPass());
    return runPipeline(passes, kernel);
  }

  /// Derivatives are not used where they are computed, and cells that hold them stay.
  static LogicalResult checkPlaces(KernelOp kernel, StringRef mode,
                                   const DerivativePlaces &places) {
    auto refuse = [&](Operation *op) {
      StringRef what = mode == reverseMode ? "gradient" : "derivative";
      return op->emitError() << what << " of kernel '" << kernel.getSymName() << "': ";
    };
    WalkResult found = kernel.walk([&](Operation *op) -> WalkResult {
      std::optional<MemoryAccess> access = MemoryAccess::of(op);
      if (access && places.isDerivative(*access))
        return refuse(op) << "'" << shownName(kernel, *access)
                          << "' is used here, and is where the derivative is computed; use it in "
                             "another kernel";
      if (std::string problem = problemOfQuantised(op, places); !problem.empty())
        return refuse(op) << problem;
      auto gone = dyn_cast<DeactivateOp>(op);
      if (gone && !isMutant(Mutant::DeactivationTrusted) &&
          places.hasBelow(gone.getTree(), CellAccess::from(gone).resolve()))
        return refuse(op) << "cells are deactivated here whose members have derivatives, which "
                             "does not go back; deactivate cells in another kernel, under a "
                             "tape in a function with @mt.ad.no_grad";
      return WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  /// What has no derivative where quantised numbers have one; empty: there is no problem.
  static std::string problemOfQuantised(Operation *op, const DerivativePlaces &places) {
    if (auto together = dyn_cast<StoreSharedOp>(op)) {
      OperandRange none = op->getOperands().take_front(0);
      for (auto member : together.getMembers().getAsRange<StringAttr>())
        if (places.has({op, together.getTree(), member.getValue(), together.getCoordinates(), none,
                        Value(), Value(), std::nullopt}))
          return "an assignment of a vector whose components share an exponent has no derivative; "
                 "assign them one by one";
    }
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (!access || !access->isQuantised() || !places.has(*access))
      return "";
    if (access->combined && !access->isSum())
      return "of the atomic operations on a quantised number only + and - have a derivative; "
             "compute "
             "with a variable, and store it";
    auto isDecoded = [](Operation *user) { return isa<DecodeOp>(user); };
    bool isBits = access->written
                      ? !isa<FloatType>(access->written.getType())
                      : isa<LoadOp, LoadSharedOp>(op) && !llvm::all_of(op->getUsers(), isDecoded);
    return isBits ? "bits of a quantised number are used as they are, and have no derivative" : "";
  }

  /// A derivative prints nothing. In reverse, what was asserted held when the kernel ran.
  static void dropWhatOnlyShows(KernelOp kernel, bool asserts) {
    kernel.walk([&](Operation *op) {
      if (asserts && isa<PrintOp, AssertOp, CheckOp, PollOp>(op))
        op->erase();
    });
  }

  /// What an error is about.
  static std::string subject(KernelOp kernel, StringRef mode) {
    return ((mode == reverseMode ? "gradient" : "derivative") + Twine(" of kernel '") +
            kernel.getSymName() + "': ")
        .str();
  }

  static SmallVector<CallOp> callsIn(KernelOp kernel) {
    SmallVector<CallOp> calls;
    kernel.walk([&](CallOp call) {
      if (!call->getParentOfType<FunctionOp>())
        calls.push_back(call);
    });
    return calls;
  }

  /// A function's gradient is that of its body at each call, unless it has a derivative of its own or calls itself.
  static void inlineFunctions(KernelOp kernel) {
    for (bool found = true; found;) {
      found = false;
      for (CallOp call : callsIn(kernel)) {
        FunctionOp function = functionOf(call);
        if (function->hasAttr(givenDerivative) || mayCallItself(function))
          continue;
        inlineCall(call, function);
        found = true;
      }
    }
  }

  /// Of functions that call themselves: what is a constant is had by another call.
  static LogicalResult checkCalls(KernelOp kernel, StringRef mode,
                                  const DerivativeActivity &activity) {
    for (CallOp call : callsIn(kernel)) {
      if (functionOf(call)->hasAttr(givenDerivative))
        continue;
      bool isActive =
          llvm::any_of(call.getResults(), [&](Value result) { return activity.isActive(result); });
      if (isActive || callsIntoMemory(call))
        return call.emitError(subject(kernel, mode) + "'" + call.getCallee() +
                              "' calls itself, and functions that do have no derivative where "
                              "they " +
                              (isActive ? "compute with variables" : "touch fields or arrays") +
                              "; write it as a loop");
    }
    return success();
  }

  /// What was written calls functions with derivatives, and these derivatives: they stand where they are called from here on, unless they call themselves.
  static void inlineDerivatives(KernelOp kernel) {
    for (bool found = true; found;) {
      found = false;
      for (CallOp call : callsIn(kernel)) {
        FunctionOp function = functionOf(call);
        if (mayCallItself(function))
          continue;
        inlineCall(call, function);
        found = true;
      }
    }
    for (auto function : kernel.getBody().getOps<FunctionOp>()) {
      function->removeAttr(givenDerivative);
      function->removeAttr(givenAgain);
    }
    dropFunctions(kernel);
  }

  /// Those that nothing calls, and that are no derivative of one that is called.
  static void dropFunctions(KernelOp kernel) {
    SmallVector<FunctionOp> used;
    auto use = [&](auto &&functions) {
      for (FunctionOp function : functions)
        if (function && !llvm::is_contained(used, function))
          used.push_back(function);
    };
    use(llvm::map_range(callsIn(kernel), functionOf));
    for (size_t k = 0; k < used.size(); ++k) {
      use(functionsCalledIn(used[k]));
      use(SmallVector<FunctionOp>{derivativeOf(used[k]), calledAgain(used[k])});
    }
    for (auto function : llvm::make_early_inc_range(kernel.getBody().getOps<FunctionOp>()))
      if (!llvm::is_contained(used, function))
        function.erase();
  }

  static void inlineCall(CallOp call, FunctionOp function) {
    Block &body = function.getBody().front();
    OpBuilder builder(call);
    IRMapping map;
    map.map(body.getArguments(), call.getOperands());
    for (Operation &op : body.without_terminator())
      if (!isa<EnterOp>(op))
        builder.clone(op, map);
    SmallVector<Value> given =
        llvm::map_to_vector(body.getTerminator()->getOperands(),
                            [&](Value value) { return map.lookupOrDefault(value); });
    call.replaceAllUsesWith(given);
    call.erase();
  }
};
} // namespace
