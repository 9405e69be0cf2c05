//===- PrepareControl.cpp - ways out of loops ------------------*- C++ -*-===//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace metate;

// ---- ways out ----

static BasicBlock *findEndless(Function &function) {
  SmallPtrSet<BasicBlock *, 32> ending;
  SmallVector<BasicBlock *> work;
  for (BasicBlock &block : function)
    if (isa<ReturnInst>(block.getTerminator()) && ending.insert(&block).second)
      work.push_back(&block);
  while (!work.empty())
    for (BasicBlock *before : predecessors(work.pop_back_val()))
      if (ending.insert(before).second)
        work.push_back(before);
  for (BasicBlock *block : post_order(&function))
    if (!ending.contains(block))
      return block;
  return nullptr;
}

static void returnOnce(Function &function) {
  SmallVector<ReturnInst *> returns;
  for (BasicBlock &block : function)
    if (auto *end = dyn_cast<ReturnInst>(block.getTerminator()))
      returns.push_back(end);
  if (returns.size() < 2)
    return;
  auto *all = BasicBlock::Create(function.getContext(), "", &function);
  ReturnInst::Create(function.getContext(), all);
  for (ReturnInst *end : returns)
    ReplaceInstWithInst(end, BranchInst::Create(all));
}

void spirv::giveExits(Function &function) {
  LLVMContext &context = function.getContext();
  for (BasicBlock &block : function)
    if (isa<UnreachableInst>(block.getTerminator()))
      ReplaceInstWithInst(block.getTerminator(), ReturnInst::Create(context));
  EliminateUnreachableBlocks(function);
  while (BasicBlock *block = findEndless(function)) { // a way that is never taken
    BasicBlock *on = block->splitBasicBlock(block->getTerminator());
    auto *end = BasicBlock::Create(context, "", &function);
    ReturnInst::Create(context, end);
    ReplaceInstWithInst(block->getTerminator(),
                        BranchInst::Create(on, end, ConstantInt::getTrue(context)));
  }
  returnOnce(function);
}

// ---- lanes of nobody ----

void spirv::runOneLane(Function &function) {
  BasicBlock &entry = function.getEntryBlock();
  BasicBlock *body = entry.splitBasicBlock(entry.getFirstNonPHIOrDbgOrAlloca());
  BasicBlock *end = nullptr;
  for (BasicBlock &block : function)
    if (isa<ReturnInst>(block.getTerminator()))
      end = &block;
  if (end->size() > 1) // alone, as a way around all
    end = end->splitBasicBlock(end->getTerminator());
  IRBuilder<> builder(entry.getTerminator());
  FunctionCallee lane = function.getParent()->getOrInsertFunction(laneName, builder.getInt32Ty());
  Value *isFirst = builder.CreateICmpEQ(builder.CreateCall(lane), builder.getInt32(0));
  ReplaceInstWithInst(entry.getTerminator(), BranchInst::Create(body, end, isFirst));
}

// ---- values behind loops ----

namespace {
/// A place in local memory for one value; its index is 0, which nobody can know.
struct LoopValue {
  Type *array;
  AllocaInst *room;
  Value *zero;

  Value *place(IRBuilder<> &builder) const {
    return builder.Insert(
        GetElementPtrInst::CreateInBounds(array, room, {builder.getInt32(0), zero}));
  }
  Value *load(IRBuilder<> &builder) const {
    return builder.CreateLoad(array->getArrayElementType(), place(builder));
  }
};
} // namespace

static void keepBehind(Instruction &value, const Loop &loop, const LoopValue &kept) {
  IRBuilder<> builder(isa<PHINode>(value) ? &*value.getParent()->getFirstInsertionPt()
                                          : value.getNextNode());
  builder.CreateStore(&value, kept.place(builder));
  for (Use &use : make_early_inc_range(value.uses())) {
    auto *user = cast<Instruction>(use.getUser());
    if (loop.contains(user->getParent()))
      continue;
    auto *phi = dyn_cast<PHINode>(user);
    if (!phi) {
      builder.SetInsertPoint(user);
      use.set(kept.load(builder));
    } else if (BasicBlock *from = phi->getIncomingBlock(use); !loop.contains(from)) {
      builder.SetInsertPoint(from->getTerminator());
      use.set(kept.load(builder));
    } else if (phi->getNumIncomingValues() == 1) { // of the loop's own merge block
      builder.SetInsertPoint(&*phi->getParent()->getFirstInsertionPt());
      phi->replaceAllUsesWith(kept.load(builder));
      phi->eraseFromParent();
    }
  }
}

void spirv::keepBehindLoops(Function &function) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function)) {
    Loop *loop = loops.getLoopFor(instruction.getParent());
    if (loop && !instruction.getType()->isVoidTy() && !instruction.getType()->isPointerTy() &&
        any_of(instruction.users(),
               [&](User *user) { return !loop->contains(cast<Instruction>(user)->getParent()); }))
      work.push_back(&instruction);
  }
  if (work.empty())
    return;
  auto *unknown = cast<Instruction>(unknownZero(function));
  IRBuilder<> builder(unknown->getNextNode());
  Value *zero = builder.CreateTrunc(unknown, builder.getInt32Ty());
  for (Instruction *value : work) {
    Type *array = ArrayType::get(value->getType(), 2);
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
    LoopValue kept = {array, builder.CreateAlloca(array), zero};
    keepBehind(*value, *loops.getLoopFor(value->getParent()), kept);
  }
}
