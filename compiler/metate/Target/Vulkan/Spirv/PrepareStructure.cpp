//===- PrepareStructure.cpp - structured control flow -----------*- C++ -*-===//
//
// LLVM's StructurizeCFG is not used: it gets some functions wrong (22.1). Here blocks are laid out along the dominator tree, loop by
// loop, as Ramsey does for WebAssembly ("Beyond Relooper", 2022); but SPIR-V leaves one loop at a time and nothing else, so that a jump
// is a flag that is set:
//   - A block of which the only way in is one of two ways of a branch stands in that way.
//   - Any other one stands behind all that it is dominated by and that may lead there, in a selection of those that got its flag, or in
//     none where every way leads there.
//   - A loop is left, or begins again, at its end alone, as a flag says. What it leads to stands behind it.
// Flags, phis and what is used behind its loop are local variables meanwhile, of which LLVM makes values again.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;
using namespace metate;

namespace {
/// A block, or a loop in the loop around it, named by its header.
struct Node {
  BasicBlock *block = nullptr;
  Loop *loop = nullptr; ///< null: the block alone
};

class Structurizer {
public:
  explicit Structurizer(Function &function) : function(function), builder(function.getContext()) {}
  Expected<spirv::Structure> run();

private:
  Error check();
  void analyse();
  /// Where the block, or the loop that it begins, stands.
  Loop *loopAround(BasicBlock *block) const {
    Loop *loop = loops.getLoopFor(block);
    return loop && loop->getHeader() == block ? loop->getParentLoop() : loop;
  }
  Node nodeOf(BasicBlock *block, Loop *around) const;
  SmallVector<BasicBlock *> waysOut(const Node &node) const;
  bool isInline(BasicBlock *from, BasicBlock *to) const;
  bool isAlwaysReached(const Node &from, BasicBlock *to, Loop *around) const;
  void findGuards();

  void demoteValues();
  AllocaInst *slot(StringRef name);
  void store(Value *value, AllocaInst *to) { builder.CreateStore(value, to); }
  void jump(BasicBlock *from, BasicBlock *to, Value *condition);
  void layOut(Node node, Loop *around);
  void layOutBlock(BasicBlock *block, Loop *around);
  void layOutArm(BasicBlock *arm, BasicBlock *join, Loop *around);
  void layOutInside(Node node, Loop *around);
  void layOutLoop(Loop &loop);
  void layOutGuarded(Node node, Loop *around);
  void promote();

  BasicBlock *newBlock() { return BasicBlock::Create(function.getContext(), "", &function); }
  /// Code goes on in that block.
  void goOn(BasicBlock *block) {
    builder.CreateBr(block);
    builder.SetInsertPoint(block);
  }

  Function &function;
  IRBuilder<> builder; ///< at the end of what is laid out
  DominatorTree dominators;
  LoopInfo loops;
  DenseMap<BasicBlock *, unsigned> order; ///< dominators and what leads there first
  DenseMap<BasicBlock *, SmallVector<BasicBlock *>>
      following;                              ///< by what stands before: a node's name
  DenseMap<BasicBlock *, unsigned> waysIn;    ///< edges that do not lead back
  DenseMap<BasicBlock *, AllocaInst *> flags; ///< of blocks that are not always reached
  DenseMap<Loop *, AllocaInst *> again;
  DenseMap<BasicBlock *, SmallVector<BasicBlock *>> successorsOf;
  SmallVector<AllocaInst *> slots;
  unsigned depth = 0;                ///< selections around what is laid out
  BasicBlock *mergeAround = nullptr; ///< of the loop around what is laid out
  spirv::Structure structure;
};
} // namespace

// ---- what leads where ----

Error Structurizer::check() {
  for (BasicBlock &block : function)
    if (!isa<BranchInst, ReturnInst>(block.getTerminator()))
      return spirv::problemAt(*block.getTerminator(), "control flow that SPIR-V lacks");
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
    for (BasicBlock *to : successors(block))
      if (order.lookup(to) <= order.lookup(block) && !dominators.dominates(to, block))
        return createStringError(function.getName() + ": a loop with two beginnings");
  return Error::success();
}

/// As it is seen in the loop `around` it (null: in the function).
Node Structurizer::nodeOf(BasicBlock *block, Loop *around) const {
  Loop *inside = nullptr;
  for (Loop *loop = loops.getLoopFor(block); loop != around; loop = loop->getParentLoop())
    inside = loop;
  return inside ? Node{inside->getHeader(), inside} : Node{block, nullptr};
}

SmallVector<BasicBlock *> Structurizer::waysOut(const Node &node) const {
  if (!node.loop)
    return SmallVector<BasicBlock *>(successors(node.block));
  SmallVector<BasicBlock *> blocks;
  node.loop->getExitBlocks(blocks);
  return blocks;
}

void Structurizer::analyse() {
  dominators.recalculate(function);
  loops.analyze(dominators);
  unsigned number = 0;
  SmallVector<BasicBlock *> blocks;
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function)) {
    order[block] = number++;
    blocks.push_back(block);
  }
  for (BasicBlock *block : blocks)
    for (BasicBlock *to : successors(block)) {
      successorsOf[block].push_back(to);
      if (order.lookup(to) > order.lookup(block))
        ++waysIn[to];
    }
  for (BasicBlock *block : blocks) {
    DomTreeNode *above = dominators.getNode(block)->getIDom();
    if (!above)
      continue;
    Node before = nodeOf(above->getBlock(), loopAround(block));
    if (before.loop || !isInline(before.block, block))
      following[before.block].push_back(block);
  }
}

/// Does `to` stand in one of the ways of the branch?
bool Structurizer::isInline(BasicBlock *from, BasicBlock *to) const {
  ArrayRef<BasicBlock *> ways = successorsOf.find(from)->second;
  return ways.size() == 2 && ways[0] != ways[1] && is_contained(ways, to) &&
         waysIn.lookup(to) == 1 && loopAround(to) == loops.getLoopFor(from);
}

/// Do all ways from the node lead there, in the same turn of the loop around both?
bool Structurizer::isAlwaysReached(const Node &from, BasicBlock *to, Loop *around) const {
  SmallVector<Node> work = {from};
  SmallPtrSet<BasicBlock *, 16> seen;
  while (!work.empty()) {
    Node node = work.pop_back_val();
    SmallVector<BasicBlock *> ways = waysOut(node);
    if (ways.empty())
      return false;
    for (BasicBlock *way : ways) {
      if (way == to)
        continue;
      bool isInside = !around || (around->contains(way) && way != around->getHeader());
      if (!isInside || order.lookup(way) > order.lookup(to))
        return false;
      Node next = nodeOf(way, around);
      if (seen.insert(next.block).second)
        work.push_back(next);
    }
  }
  return true;
}

void Structurizer::findGuards() {
  for (auto &[before, blocks] : following)
    for (BasicBlock *block : blocks) {
      Loop *around = loopAround(block);
      if (!isAlwaysReached(nodeOf(before, around), block, around))
        flags[block] = nullptr; // made in an order that does not depend on addresses
    }
}

// ---- variables ----

AllocaInst *Structurizer::slot(StringRef name) {
  BasicBlock &entry = function.getEntryBlock();
  auto *made = new AllocaInst(builder.getInt1Ty(), 0, name, entry.begin());
  slots.push_back(made);
  return made;
}

void Structurizer::demoteValues() {
  SmallVector<PHINode *> phis;
  for (Instruction &instruction : instructions(function))
    if (auto *phi = dyn_cast<PHINode>(&instruction))
      phis.push_back(phi);
  auto start = function.getEntryBlock().begin();
  for (PHINode *phi : phis)
    if (AllocaInst *made = DemotePHIToStack(phi, start))
      slots.push_back(made);
  SmallVector<Instruction *> behind;
  for (Instruction &instruction : instructions(function)) {
    Loop *loop = loops.getLoopFor(instruction.getParent());
    if (loop && any_of(instruction.users(), [&](User *user) {
          return !loop->contains(cast<Instruction>(user)->getParent());
        }))
      behind.push_back(&instruction);
  }
  for (Instruction *instruction : behind)
    if (AllocaInst *made = DemoteRegToStack(*instruction, /*VolatileLoads=*/false, start))
      slots.push_back(made);
}

void Structurizer::promote() {
  EliminateUnreachableBlocks(function);
  dominators.recalculate(function);
  PromoteMemToReg(slots, dominators);
  for (BasicBlock &block : function)
    SimplifyInstructionsInBlock(&block);
}

// ---- layout ----

/// Where the condition holds, the way leads to that block: so its flag says.
void Structurizer::jump(BasicBlock *from, BasicBlock *to, Value *condition) {
  bool isBack = order.lookup(to) <= order.lookup(from);
  if (isBack)
    store(condition, again.lookup(loops.getLoopFor(to)));
  else if (AllocaInst *flag = flags.lookup(to))
    store(condition, flag);
}

/// The node, and what follows it.
void Structurizer::layOut(Node node, Loop *around) {
  while (true) {
    ArrayRef<BasicBlock *> next;
    if (auto found = following.find(node.block); found != following.end())
      next = found->second;
    // What follows a loop and what follows its header in it are told apart by where they are.
    SmallVector<BasicBlock *> own;
    copy_if(next, std::back_inserter(own),
            [&](BasicBlock *block) { return loopAround(block) == around; });
    llvm::sort(own,
               [&](BasicBlock *a, BasicBlock *b) { return order.lookup(a) < order.lookup(b); });
    for (BasicBlock *block : own)
      if (AllocaInst *flag = flags.lookup(block))
        store(builder.getFalse(), flag);
    if (node.loop)
      layOutLoop(*node.loop);
    else
      layOutBlock(node.block, around);
    if (own.empty())
      return;
    for (BasicBlock *block : ArrayRef(own).drop_back())
      layOutGuarded(nodeOf(block, around), around);
    Node last = nodeOf(own.back(), around);
    if (flags.lookup(own.back()))
      return layOutGuarded(last, around);
    node = last; // no deeper than selections and loops are nested
  }
}

void Structurizer::layOutGuarded(Node node, Loop *around) {
  AllocaInst *flag = flags.lookup(node.block);
  if (!flag || isMutant(Mutant::SpirvGuardIgnored))
    return layOut(node, around);
  BasicBlock *from = builder.GetInsertBlock(), *inside = newBlock(), *join = newBlock();
  builder.CreateCondBr(builder.CreateLoad(builder.getInt1Ty(), flag), inside, join);
  structure.selections[from] = join;
  builder.SetInsertPoint(inside);
  layOutInside(node, around);
  goOn(join);
}

/// In a selection more.
void Structurizer::layOutInside(Node node, Loop *around) {
  structure.depth = std::max(structure.depth, ++depth);
  layOut(node, around);
  --depth;
}

void Structurizer::layOutArm(BasicBlock *arm, BasicBlock *join, Loop *around) {
  layOutInside(nodeOf(arm, around), around);
  builder.CreateBr(join);
}

void Structurizer::layOutBlock(BasicBlock *block, Loop *around) {
  if (!block->isEntryBlock())
    goOn(block);
  Instruction *end = block->getTerminator();
  auto *branch = dyn_cast<BranchInst>(end);
  Value *condition = branch && branch->isConditional() ? branch->getCondition() : nullptr;
  end->eraseFromParent();
  builder.SetInsertPoint(block);
  if (!branch)
    return; // run() returns
  ArrayRef<BasicBlock *> ways = successorsOf.find(block)->second;
  if (!condition || ways[0] == ways[1])
    return jump(block, ways[0], builder.getTrue());
  bool isFirst = isInline(block, ways[0]), isSecond = isInline(block, ways[1]);
  if (!isFirst)
    jump(block, ways[0], condition);
  if (!isSecond)
    jump(block, ways[1], builder.CreateNot(condition));
  if (!isFirst && !isSecond)
    return;
  BasicBlock *join = newBlock(),
             *arms[] = {isFirst ? newBlock() : join, isSecond ? newBlock() : join};
  builder.CreateCondBr(condition, arms[0], arms[1]);
  structure.selections[block] = join;
  for (unsigned k = 0; k < 2; ++k)
    if (arms[k] != join) {
      builder.SetInsertPoint(arms[k]);
      layOutArm(ways[k], join, around);
    }
  builder.SetInsertPoint(join);
}

void Structurizer::layOutLoop(Loop &loop) {
  BasicBlock *header = newBlock(), *back = newBlock(), *merge = newBlock();
  AllocaInst *flag = slot("");
  again[&loop] = flag;
  goOn(header);
  store(builder.getFalse(), flag);
  goOn(newBlock()); // a header has phis and nothing else
  BasicBlock *around = std::exchange(mergeAround, merge);
  layOut({loop.getHeader(), nullptr}, &loop);
  mergeAround = around;
  builder.CreateCondBr(builder.CreateLoad(builder.getInt1Ty(), flag), back, merge);
  builder.SetInsertPoint(back);
  builder.CreateBr(header);
  builder.SetInsertPoint(merge);
  structure.loops[header] = {merge, back, around};
  structure.depth = std::max(structure.depth, depth + 1); // of leaveEndedLoops()
}

/// Constructs in one piece: what merges them comes behind all that is inside.
std::vector<BasicBlock *> spirv::orderOfBlocks(Function &function, const Structure &structure) {
  auto after = [&](BasicBlock *block) {
    SmallVector<BasicBlock *> blocks;
    if (auto loop = structure.loops.find(block); loop != structure.loops.end())
      blocks = {loop->second.merge, loop->second.again};
    if (BasicBlock *merge = structure.selections.lookup(block))
      blocks.push_back(merge);
    SmallVector<BasicBlock *> next(successors(block));
    append_range(blocks, reverse(next));
    return blocks;
  };
  struct Visit {
    BasicBlock *block;
    SmallVector<BasicBlock *> left;
    size_t next = 0;
  };
  BasicBlock *entry = &function.getEntryBlock();
  SmallPtrSet<BasicBlock *, 32> seen = {entry};
  std::vector<Visit> stack;
  std::vector<BasicBlock *> blocks;
  stack.push_back({entry, after(entry)});
  while (!stack.empty()) {
    Visit &visit = stack.back();
    if (visit.next == visit.left.size()) {
      blocks.push_back(visit.block);
      stack.pop_back();
    } else if (BasicBlock *to = visit.left[visit.next++]; seen.insert(to).second) {
      stack.push_back({to, after(to)});
    }
  }
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

Expected<spirv::Structure> Structurizer::run() {
  EliminateUnreachableBlocks(function);
  BasicBlock &entry = function.getEntryBlock();
  entry.splitBasicBlock(entry.getFirstNonPHIOrDbgOrAlloca()); // variables begin before all else
  analyse();
  if (Error error = check())
    return std::move(error);
  findGuards();
  SmallVector<BasicBlock *> guarded;
  for (auto &[block, flag] : flags)
    guarded.push_back(block);
  llvm::sort(guarded,
             [&](BasicBlock *a, BasicBlock *b) { return order.lookup(a) < order.lookup(b); });
  demoteValues();
  for (BasicBlock *block : guarded)
    flags[block] = slot("");
  layOut({&function.getEntryBlock(), nullptr}, nullptr);
  builder.CreateRetVoid();
  promote();
  structure.order = orderOfBlocks(function, structure);
  return std::move(structure);
}

Expected<spirv::Structure> spirv::makeStructure(Function &function) {
  return Structurizer(function).run();
}
