//===- PrepareTurns.cpp - loops that a device ends by itself ----*- C++ -*-===//
//
// A device that gives an invocation so many turns in all ends the loop in which they are used up, and each one behind it, as if the loop
// had been left. So each loop has a word in local memory, which says that it has begun until it is left by its own condition. Behind the loop
// that word is asked: where the device has ended it, the invocation leaves the loop around it as well, up to one around all others, behind
// which stands the note.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace metate;

/// The branch with which a turn ends.
static BranchInst *endOf(const spirv::Structure::Loop &loop) {
  return cast<BranchInst>(loop.merge->getSinglePredecessor()->getTerminator());
}

/// A loop of one turn around all that is done.
static void wrap(Function &function, spirv::Structure &structure) {
  BasicBlock &entry = function.getEntryBlock();
  auto *begin = cast<BranchInst>(entry.getTerminator());
  BasicBlock *first = begin->getSuccessor(0), *last = structure.order.back();
  for (BasicBlock &block : function)
    if (isa<ReturnInst>(block.getTerminator()))
      last = &block;
  auto newBlock = [&] { return BasicBlock::Create(function.getContext(), "", &function); };
  BasicBlock *header = newBlock(), *again = newBlock();
  BasicBlock *merge = last->splitBasicBlock(last->getTerminator());
  begin->setSuccessor(0, header);
  BranchInst::Create(first, header);
  first->replacePhiUsesWith(&entry, header);
  BranchInst::Create(header, again);
  ReplaceInstWithInst(
      last->getTerminator(),
      BranchInst::Create(again, merge, ConstantInt::getFalse(function.getContext())));
  for (auto &[other, loop] : structure.loops)
    if (!loop.around)
      loop.around = merge;
  structure.loops[header] = {merge, again};
}

void spirv::hideTurns(Function &function, Structure &structure) {
  if (structure.loops.empty())
    return;
  wrap(function, structure);
  Instruction *unknown = cast<Instruction>(unknownZero(function));
  IRBuilder<> builder(unknown->getNextNode());
  Value *never = builder.CreateICmpNE(unknown, ConstantInt::get(unknown->getType(), 0));
  Value *always = builder.CreateNot(never);
  structure.order = orderOfBlocks(function, structure);
  for (auto &[header, loop] : structure.loops)
    if (auto *known = dyn_cast<ConstantInt>(endOf(loop)->getCondition()))
      endOf(loop)->setCondition(known->isZero() ? never : always);
}

namespace {
/// The word of one loop; its index is 0, which nobody can know.
struct LoopWord {
  LoopWord(Function &function, Value *zero) : zero(zero) {
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    type = ArrayType::get(builder.getInt32Ty(), 2);
    room = builder.CreateAlloca(type);
  }
  Value *place(IRBuilder<> &builder) const {
    return builder.Insert(
        GetElementPtrInst::CreateInBounds(type, room, {builder.getInt32(0), zero}));
  }
  void set(IRBuilder<> &builder, bool isRunning) const {
    builder.CreateStore(builder.getInt32(isRunning), place(builder));
  }
  Value *isRunning(IRBuilder<> &builder) const {
    return builder.CreateICmpNE(builder.CreateLoad(builder.getInt32Ty(), place(builder)),
                                builder.getInt32(0));
  }

private:
  Value *zero;
  ArrayType *type;
  AllocaInst *room;
};
} // namespace

/// Written in a block of its own, which leads to `next`.
static BasicBlock *leaveNote(Function &function, const SpirvNote &note, BasicBlock *next) {
  IRBuilder<> builder(BasicBlock::Create(function.getContext(), "", &function));
  Value *at = builder.CreateAdd(function.getArg(1), builder.getInt64(note.offset));
  builder.CreateAtomicCmpXchg(builder.CreateIntToPtr(at, builder.getPtrTy(1)), builder.getInt32(0),
                              builder.getInt32(note.value), Align(4), AtomicOrdering::Monotonic,
                              AtomicOrdering::Monotonic);
  return builder.CreateBr(next)->getParent();
}

/// `end`: with which its turns end.
static void leaveEnded(Function &function, spirv::Structure &structure, BasicBlock *header,
                       BranchInst *end, const LoopWord &word, const SpirvNote &note) {
  auto [merge, again, around] = structure.loops.find(header)->second;
  for (BasicBlock *before : predecessors(header))
    if (before != again) {
      IRBuilder<> builder(before->getTerminator());
      word.set(builder, true);
    }
  IRBuilder<> builder(BasicBlock::Create(function.getContext(), "", &function));
  word.set(builder, false);
  BasicBlock *left = builder.CreateBr(merge)->getParent();
  end->replaceSuccessorWith(merge, left);
  merge->replacePhiUsesWith(end->getParent(), left);

  BasicBlock *rest = merge->splitBasicBlock(merge->getFirstNonPHIIt());
  if (BasicBlock *join = structure.selections.lookup(merge))
    structure.selections[rest] = join;
  structure.selections[merge] = rest;
  builder.SetInsertPoint(merge->getTerminator());
  Value *isEnded = word.isRunning(builder);
  BasicBlock *on = around ? around : leaveNote(function, note, rest);
  ReplaceInstWithInst(merge->getTerminator(), BranchInst::Create(on, rest, isEnded));
  if (around)
    for (PHINode &phi : around->phis()) // nobody reads it
      phi.addIncoming(Constant::getNullValue(phi.getType()), merge);
}

void spirv::leaveEndedLoops(Function &function, Structure &structure, const SpirvNote &note) {
  if (structure.loops.empty())
    return;
  SmallVector<std::pair<BasicBlock *, BranchInst *>> loops;
  for (BasicBlock *block : structure.order)
    if (auto loop = structure.loops.find(block); loop != structure.loops.end())
      loops.push_back({block, endOf(loop->second)});
  auto *unknown = cast<Instruction>(unknownZero(function));
  IRBuilder<> builder(unknown->getNextNode());
  Value *zero = builder.CreateTrunc(unknown, builder.getInt32Ty());
  for (auto [header, end] : loops)
    leaveEnded(function, structure, header, end, LoopWord(function, zero), note);
  structure.order = orderOfBlocks(function, structure);
}
