//===- KernelParts.cpp - a kernel as kernels that run one after the other --===//
#include "metate/Transforms/KernelParts.h"

#include "metate/Dialect/Call.h"
#include "metate/Dialect/Derivative.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/StaleReads.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_TAKEPART
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
class Cutter {
public:
  explicit Cutter(KernelOp kernel) : kernel(kernel), body(kernel.getBody().front()) {
    kernel.walk([&](Operation *op) {
      for (const MemoryAccess &access : MemoryAccess::allOf(op))
        if (access.writes())
          written.insert({access.base, access.path});
    });
    for (Operation &op : body.without_terminator())
      if (isStatement(op)) {
        numbers[&op] = statements.size();
        statements.push_back(&op);
      }
    isOne.resize(statements.size());
  }

  KernelParts run() {
    for (Operation &op : body.without_terminator())
      if (isStatement(op) || isa<memref::AllocaOp>(op))
        for (Value value : op.getResults())
          join(value, &op);
    for (BlockArgument argument : body.getArguments())
      if (isLocalArray(kernel, argument))
        join(argument, nullptr);
    KernelParts found;
    for (auto [k, statement] : llvm::enumerate(statements)) {
      if (k == 0 || !isOne[k])
        found.parts.emplace_back();
      found.parts.back().push_back(statement);
    }
    return found;
  }

private:
  /// Others are computed anew in each part that needs them, from what no part changes.
  bool isStatement(Operation &op) {
    if (op.hasTrait<OpTrait::ConstantLike>() ||
        isa<FunctionOp, DerivativeOp, WrittenOp, memref::AllocaOp>(op))
      return false;
    if (isa<RangeOp, ForEachOp, PhiloxOp>(op)) // a launch of its own draws other numbers
      return true;
    std::optional<MemoryAccess> access = MemoryAccess::of(&op);
    if (access && !access->writes() && !isLocalArray(kernel, access->base))
      return written.contains({access->base, access->path});
    return !isMemoryEffectFree(&op);
  }

  /// Statements that use a value, and what defines it, are of one part.
  void join(Value value, Operation *definition) {
    size_t first = statements.size(), last = 0;
    auto take = [&](Operation *op) {
      size_t number = numbers.lookup(op);
      first = std::min(first, number), last = std::max(last, number);
    };
    if (definition && numbers.contains(definition))
      take(definition);
    SmallVector<Value> work = {value};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      for (Operation *user : next.getUsers()) {
        Operation *top = body.findAncestorOpInBlock(*user);
        if (top && numbers.contains(top))
          take(top);
        else if (top)
          llvm::append_range(work, top->getResults());
      }
    }
    for (size_t k = first + 1; k <= last && k < isOne.size(); ++k)
      isOne[k] = true;
  }

  KernelOp kernel;
  Block &body;
  llvm::DenseSet<std::pair<Value, StringRef>> written;
  SmallVector<Operation *> statements;
  llvm::DenseMap<Operation *, size_t> numbers;
  SmallVector<bool> isOne; ///< with the statement before
};
} // namespace

static bool isIndivisible(KernelOp kernel) {
  return kernel
      ->walk([](Operation *op) {
        auto call = dyn_cast<CallOp>(op);
        return mayChangeCells(op) || (call && callsIntoMemory(call)) ? WalkResult::interrupt()
                                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

KernelParts KernelParts::of(KernelOp kernel) {
  KernelParts found = Cutter(kernel).run();
  if (found.parts.empty() || !isIndivisible(kernel))
    return found;
  KernelParts whole;
  whole.parts.emplace_back();
  for (auto &statements : found.parts)
    llvm::append_range(whole.parts.front(), statements);
  return whole;
}

std::vector<PartAccesses> KernelParts::accesses(KernelOp kernel) const {
  std::vector<PartAccesses> found;
  for (auto &statements : parts) {
    PartAccesses &part = found.emplace_back();
    for (Operation *statement : statements)
      statement->walk([&](Operation *op) {
        for (const MemoryAccess &access : MemoryAccess::allOf(op)) {
          auto argument = dyn_cast<BlockArgument>(access.base);
          if (!argument || isLocalArray(kernel, argument))
            continue;
          PartAccesses::Place place(argument.getArgNumber(), access.path.str());
          if (access.reads())
            part.read.push_back(place);
          if (access.writes())
            part.written.push_back(place);
        }
      });
  }
  return found;
}

void KernelParts::keep(size_t number) {
  llvm::SetVector<Operation *> gone;
  for (auto [k, statements] : llvm::enumerate(parts))
    if (k != number)
      gone.insert(statements.begin(), statements.end());
  // And what is computed of their results, which nobody else uses.
  for (size_t k = 0; k < gone.size(); ++k)
    for (Operation *user : gone[k]->getUsers())
      gone.insert(gone[k]->getBlock()->findAncestorOpInBlock(*user));
  for (Operation *op : gone)
    op->dropAllUses();
  for (Operation *op : gone)
    op->erase();
}

namespace {
struct TakePart : metate::impl::TakePartBase<TakePart> {
  using TakePartBase::TakePartBase;

  void runOnOperation() override {
    KernelParts found = KernelParts::of(getOperation());
    if (number >= found.parts.size()) {
      getOperation().emitError() << "there is no part " << number.getValue() << " of "
                                 << found.parts.size();
      return signalPassFailure();
    }
    found.keep(isMutant(Mutant::LastPartTwice) ? found.parts.size() - 1 : size_t(number));
  }
};
} // namespace
