//===- PrepareControl.cpp - structured control flow -------------*- C++ -*-===//
//
// LLVM's passes leave loops with one latch and one way out, and branches that meet again. Here each loop gets a header, a continue and a
// merge block of its own, and each selection a merge block of its own, so that SPIR-V's rules hold by construction.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace metate;

StringRef spirv::structurePasses() {
  return "function(mergereturn,fix-irreducible,unify-loop-exits,loop-simplify,structurizecfg,dce,"
         "loop-simplify)";
}

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
}

// ---- merge blocks ----

/// Edges from `from` blocks into `to` go through a new block.
static BasicBlock *funnel(BasicBlock *to, ArrayRef<BasicBlock *> from) {
  Function &function = *to->getParent();
  auto *block = BasicBlock::Create(function.getContext(), "", &function);
  for (PHINode &phi : make_early_inc_range(to->phis())) {
    auto *part = PHINode::Create(phi.getType(), from.size(), "", block);
    for (BasicBlock *before : from) {
      part->addIncoming(phi.getIncomingValueForBlock(before), before);
      phi.removeIncomingValue(before, /*DeletePHIIfEmpty=*/false);
    }
    phi.addIncoming(part, block);
  }
  BranchInst::Create(to, block);
  for (BasicBlock *before : from)
    before->getTerminator()->replaceSuccessorWith(to, block);
  return block;
}

/// Branches of which both ways are one are none.
static void joinBranches(Function &function) {
  for (BasicBlock &block : function) {
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) != branch->getSuccessor(1))
      continue;
    BasicBlock *to = branch->getSuccessor(0);
    for (PHINode &phi : to->phis())
      phi.removeIncomingValue(&block, /*DeletePHIIfEmpty=*/false);
    ReplaceInstWithInst(branch, BranchInst::Create(to));
  }
}

namespace {
class StructureFinder {
public:
  explicit StructureFinder(Function &function) : function(function) {}
  Expected<spirv::Structure> run();

private:
  Error problem(const Twine &what) const {
    return createStringError(function.getName() + ": " + what);
  }
  Error makeLoops();
  Error makeLoop(Loop &loop, LoopInfo &loops);
  Error makeSelections();
  bool leaves(BasicBlock *block, LoopInfo &loops) const;
  void putInOrder();
  SmallVector<BasicBlock *> after(BasicBlock *block) const;

  Function &function;
  spirv::Structure structure;
};
} // namespace

Error StructureFinder::makeLoop(Loop &loop, LoopInfo &loops) {
  BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch();
  BasicBlock *exit = loop.getExitBlock(), *exiting = loop.getExitingBlock();
  if (!latch || !exit || !exiting)
    return problem("a loop without one latch and one exit");
  BasicBlock *again = funnel(header, latch);
  loop.addBasicBlockToLoop(again, loops);
  BasicBlock *merge = funnel(exit, exiting);
  if (Loop *outer = loop.getParentLoop())
    outer->addBasicBlockToLoop(merge, loops);
  // The header has phis and nothing else.
  BasicBlock *body = header->splitBasicBlock(header->getFirstNonPHIIt());
  loop.addBasicBlockToLoop(body, loops);
  structure.loops[header] = {merge, again};
  return Error::success();
}

Error StructureFinder::makeLoops() {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SmallVector<Loop *> outerFirst = loops.getLoopsInPreorder();
  for (Loop *loop : reverse(outerFirst))
    if (Error error = makeLoop(*loop, loops))
      return error;
  return Error::success();
}

/// Does the branch end its loop's turn or the loop? It needs no merge block then.
bool StructureFinder::leaves(BasicBlock *block, LoopInfo &loops) const {
  Loop *loop = loops.getLoopFor(block);
  if (!loop)
    return false;
  auto found = structure.loops.find(loop->getHeader());
  return found != structure.loops.end() && any_of(successors(block), [&](BasicBlock *to) {
           return to == found->second.merge || to == found->second.again;
         });
}

Error StructureFinder::makeSelections() {
  DominatorTree dominators(function);
  PostDominatorTree joins(function);
  LoopInfo loops(dominators);
  SmallVector<std::pair<BasicBlock *, BasicBlock *>> selections;
  for (DomTreeNode *node : post_order(&dominators)) { // inner ones first
    BasicBlock *block = node->getBlock();
    auto *branch = dyn_cast<BranchInst>(block->getTerminator());
    if (!branch || !branch->isConditional() || leaves(block, loops))
      continue;
    DomTreeNode *own = joins.getNode(block);
    BasicBlock *join = own && own->getIDom() ? own->getIDom()->getBlock() : nullptr;
    if (!join || loops.getLoopFor(join) != loops.getLoopFor(block))
      return problem("a selection without a join");
    selections.push_back({block, join});
  }
  for (auto [block, join] : selections) {
    SmallSetVector<BasicBlock *, 4> inside;
    for (BasicBlock *before : predecessors(join))
      if (dominators.dominates(block, before))
        inside.insert(before);
    BasicBlock *merge = funnel(join, inside.getArrayRef());
    dominators.addNewBlock(merge, block); // good enough for who dominates the selection
    structure.selections[block] = merge;
  }
  return Error::success();
}

/// Blocks that come behind: first those that belong to the last part of a construct.
SmallVector<BasicBlock *> StructureFinder::after(BasicBlock *block) const {
  SmallVector<BasicBlock *> blocks;
  if (auto loop = structure.loops.find(block); loop != structure.loops.end())
    blocks = {loop->second.merge, loop->second.again};
  if (BasicBlock *merge = structure.selections.lookup(block))
    blocks.push_back(merge);
  SmallVector<BasicBlock *> next(successors(block));
  append_range(blocks, reverse(next));
  return blocks;
}

void StructureFinder::putInOrder() {
  struct Visit {
    BasicBlock *block;
    SmallVector<BasicBlock *> left;
    size_t next = 0;
  };
  BasicBlock *entry = &function.getEntryBlock();
  SmallPtrSet<BasicBlock *, 32> seen = {entry};
  std::vector<Visit> stack;
  stack.push_back({entry, after(entry)});
  while (!stack.empty()) {
    Visit &visit = stack.back();
    if (visit.next == visit.left.size()) {
      structure.order.push_back(visit.block);
      stack.pop_back();
    } else if (BasicBlock *to = visit.left[visit.next++]; seen.insert(to).second) {
      stack.push_back({to, after(to)});
    }
  }
  std::reverse(structure.order.begin(), structure.order.end());
}

Expected<spirv::Structure> StructureFinder::run() {
  EliminateUnreachableBlocks(function);
  joinBranches(function);
  if (Error error = makeLoops())
    return std::move(error);
  if (Error error = makeSelections())
    return std::move(error);
  putInOrder();
  return std::move(structure);
}

Expected<spirv::Structure> spirv::findStructure(Function &function) {
  return StructureFinder(function).run();
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
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  Value *top = builder.CreateLShr(function.getArg(0), 63); // no address has its highest bit set
  Value *zero = builder.CreateTrunc(top, builder.getInt32Ty());
  for (Instruction *value : work) {
    Type *array = ArrayType::get(value->getType(), 2);
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
    LoopValue kept = {array, builder.CreateAlloca(array), zero};
    keepBehind(*value, *loops.getLoopFor(value->getParent()), kept);
  }
}
