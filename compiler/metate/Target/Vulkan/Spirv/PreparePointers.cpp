//===- PreparePointers.cpp - addresses as numbers ---------------*- C++ -*-===//
//
// Global memory: an address is a number of 64 bits, of which an access makes a pointer that nothing else sees. Local memory (alloca) has no
// addresses in Vulkan: a pointer of it is the number of a byte in it (32 bits), and an access one of an element, whose size
// is the least that anything accesses there.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace metate;

namespace {
/// The memory that a pointer is of. `local` null: global memory. What no pointer has (null, poison) is of any.
struct Root {
  bool isKnown = false;
  AllocaInst *local = nullptr;
};

/// A local array, or the workgroup's: elements of `bytes`, which a wider type may hold.
struct Room {
  Value *array = nullptr;
  Type *type = nullptr; ///< of the array
  Type *element = nullptr;
  unsigned bytes = 0;
};

class PointerNumbering {
public:
  PointerNumbering(Function &function, const spirv::Constants &constants, uint32_t sharedBytes)
      : function(function), layout(function.getDataLayout()), constants(constants),
        sharedBytes(sharedBytes), context(function.getContext()), i32(Type::getInt32Ty(context)),
        i64(Type::getInt64Ty(context)) {}
  Expected<Function *> run();

private:
  void placeShared();
  Room makeShared();
  Error findRoots();
  Error join(Instruction &at, Value *pointer, Root other, bool &changed);
  Root rootOf(Value *pointer) const;
  void makeRooms();
  Room makeRoom(AllocaInst &local, ArrayRef<Type *> accessed);
  Type *numberType(Value *pointer) const { return rootOf(pointer).local ? i32 : i64; }

  void fail(Instruction &at, const Twine &what) {
    if (!problem)
      problem = spirv::problemAt(at, what);
  }
  Value *numberOf(Value *pointer, Type *type, IRBuilder<> &builder);
  Value *ofConstant(Constant *pointer, IRBuilder<> &builder);
  Value *offset(GEPOperator &element, Value *base, IRBuilder<> &builder);
  Value *pointerOf(Value *pointer, IRBuilder<> &builder);
  void makePhis(Function &body);
  void fillPhis();
  void visit(Instruction &instruction);
  void visitMemory(Instruction &instruction);
  void compare(ICmpInst &comparison, IRBuilder<> &builder);
  Value *localLoad(const Room &room, Value *number, Type *type, IRBuilder<> &builder);
  void localStore(const Room &room, Value *number, Value *value, IRBuilder<> &builder);
  Value *elementAt(const Room &room, Value *number, unsigned k, IRBuilder<> &builder);
  void replace(Instruction &instruction, Value *by);

  Function &function;
  const DataLayout &layout;
  const spirv::Constants &constants;
  const uint32_t sharedBytes;
  AllocaInst *shared = nullptr; ///< stands for the workgroup's memory
  LLVMContext &context;
  Type *i32, *i64;
  Argument *constantsAddress = nullptr;
  DenseMap<Value *, Root> roots;
  MapVector<AllocaInst *, Room> rooms;
  DenseMap<Value *, Value *> numbers;
  SmallVector<PHINode *> phis;
  SmallVector<Instruction *> dead;
  Error problem = Error::success();
};
} // namespace

// ---- which memory ----

Root PointerNumbering::rootOf(Value *pointer) const {
  if (isa<ConstantPointerNull, UndefValue>(pointer))
    return {};
  auto found = roots.find(pointer);
  if (found != roots.end())
    return found->second;
  // Not reached yet, or nothing that leads to an alloca.
  bool leads = isa<GetElementPtrInst, PHINode, SelectInst, FreezeInst, AddrSpaceCastInst>(pointer);
  return {!leads, nullptr};
}

Error PointerNumbering::join(Instruction &at, Value *pointer, Root other, bool &changed) {
  if (!other.isKnown)
    return Error::success();
  Root &own = roots[pointer];
  if (own.isKnown && own.local != other.local)
    return spirv::problemAt(at, "a pointer of one memory or of another one");
  changed |= !own.isKnown;
  own = other;
  return Error::success();
}

Error PointerNumbering::findRoots() {
  for (Instruction &instruction : instructions(function))
    if (auto *local = dyn_cast<AllocaInst>(&instruction))
      roots[local] = {true, local};
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
      for (Instruction &instruction : *block) {
        if (!instruction.getType()->isPointerTy())
          continue;
        SmallVector<Value *> from;
        if (isa<GetElementPtrInst, FreezeInst, AddrSpaceCastInst>(instruction))
          from = {instruction.getOperand(0)};
        else if (auto *phi = dyn_cast<PHINode>(&instruction))
          append_range(from, phi->incoming_values());
        else if (auto *select = dyn_cast<SelectInst>(&instruction))
          from = {select->getTrueValue(), select->getFalseValue()};
        for (Value *value : from)
          if (Error error = join(instruction, &instruction, rootOf(value), changed))
            return error;
      }
  }
  return Error::success();
}

// ---- local memory ----

/// The workgroup's memory is one more local array until its accesses are known.
void PointerNumbering::placeShared() {
  Function *asked = function.getParent()->getFunction(spirv::sharedName);
  if (!asked || !sharedBytes)
    return;
  shared = new AllocaInst(ArrayType::get(i32, divideCeil(sharedBytes, 4)), spirv::sharedSpace, "",
                          function.getEntryBlock().begin());
  for (User *user : make_early_inc_range(asked->users()))
    if (auto *call = cast<CallInst>(user); call->getFunction() == &function) {
      call->replaceAllUsesWith(shared);
      call->eraseFromParent();
    }
}

/// What other invocations see is a global: no pass may take it for the invocation's own.
Room PointerNumbering::makeShared() {
  Room room;
  room.type = shared->getAllocatedType();
  room.element = i32;
  room.bytes = 4;
  room.array = new GlobalVariable(
      *function.getParent(), room.type, /*isConstant=*/false, GlobalValue::ExternalLinkage, nullptr,
      function.getName() + ".shared", nullptr, GlobalValue::NotThreadLocal, spirv::sharedSpace);
  return room;
}

/// What all accesses are of, if they are alike; else numbers of the least size.
Room PointerNumbering::makeRoom(AllocaInst &local, ArrayRef<Type *> accessed) {
  Room room;
  room.bytes = 8;
  for (Type *type : accessed)
    room.bytes = std::min<unsigned>(room.bytes, layout.getTypeStoreSize(type));
  bool alike = all_equal(accessed) && !accessed.empty() && accessed[0]->isFloatingPointTy() &&
               !accessed[0]->isBFloatTy();
  room.element = alike ? accessed[0] : room.bytes == 8 ? i64 : i32;
  uint64_t size = layout.getTypeAllocSize(local.getAllocatedType());
  if (auto *count = dyn_cast<ConstantInt>(local.getArraySize()))
    size *= count->getZExtValue();
  else
    fail(local, "local memory of a size that is not known");
  if (size > UINT32_MAX / 2)
    fail(local, "more local memory than there can be");
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  uint64_t count = std::max<uint64_t>(divideCeil(size, room.bytes), 1);
  room.type = ArrayType::get(room.element, count);
  AllocaInst *array = builder.CreateAlloca(room.type);
  array->setAlignment(Align(8));
  room.array = array;
  return room;
}

void PointerNumbering::makeRooms() {
  MapVector<AllocaInst *, SmallVector<Type *>> accessed;
  for (Instruction &instruction : instructions(function)) {
    if (auto *local = dyn_cast<AllocaInst>(&instruction))
      accessed[local];
    Value *pointer = getLoadStorePointerOperand(&instruction);
    if (!pointer)
      continue;
    Type *type = getLoadStoreType(&instruction);
    if (Root root = rootOf(pointer); root.local)
      accessed[root.local].push_back(type->isPointerTy() ? i64 : type);
  }
  for (auto &[local, types] : accessed)
    rooms[local] = local == shared ? makeShared() : makeRoom(*local, types);
}

Value *PointerNumbering::elementAt(const Room &room, Value *number, unsigned k,
                                   IRBuilder<> &builder) {
  Value *index = builder.CreateLShr(number, Log2_32(room.bytes));
  if (k)
    index = builder.CreateAdd(index, builder.getInt32(k));
  // Of a global the builder would make a constant.
  return builder.Insert(
      GetElementPtrInst::CreateInBounds(room.type, room.array, {builder.getInt32(0), index}));
}

Value *PointerNumbering::localLoad(const Room &room, Value *number, Type *type,
                                   IRBuilder<> &builder) {
  unsigned bytes = layout.getTypeStoreSize(type);
  if (type == room.element && bytes == room.bytes)
    return builder.CreateLoad(type, elementAt(room, number, 0, builder));
  Type *whole = builder.getIntNTy(bytes * 8);
  Value *value = ConstantInt::get(whole, 0);
  for (unsigned k = 0; k < bytes / room.bytes; ++k) {
    Value *part = builder.CreateLoad(room.element, elementAt(room, number, k, builder));
    if (part->getType()->isFloatingPointTy())
      part = builder.CreateBitCast(part, builder.getIntNTy(room.bytes * 8));
    part = builder.CreateZExtOrTrunc(part, whole);
    value = builder.CreateOr(value, builder.CreateShl(part, k * room.bytes * 8));
  }
  return builder.CreateBitCast(value, type);
}

void PointerNumbering::localStore(const Room &room, Value *number, Value *value,
                                  IRBuilder<> &builder) {
  Type *type = value->getType();
  unsigned bytes = layout.getTypeStoreSize(type);
  if (type == room.element && bytes == room.bytes) {
    builder.CreateStore(value, elementAt(room, number, 0, builder));
    return;
  }
  Type *part = builder.getIntNTy(room.bytes * 8);
  Value *whole = builder.CreateBitCast(value, builder.getIntNTy(bytes * 8));
  for (unsigned k = 0; k < bytes / room.bytes; ++k) {
    Value *shifted = builder.CreateTrunc(builder.CreateLShr(whole, k * room.bytes * 8), part);
    builder.CreateStore(builder.CreateZExtOrTrunc(shifted, room.element),
                        elementAt(room, number, k, builder));
  }
}

// ---- numbers ----

Value *PointerNumbering::ofConstant(Constant *pointer, IRBuilder<> &builder) {
  if (isa<ConstantPointerNull, UndefValue>(pointer))
    return builder.getInt64(0);
  if (auto *global = dyn_cast<GlobalVariable>(pointer)) {
    auto found = constants.offsets.find(global);
    return found == constants.offsets.end()
               ? nullptr
               : builder.CreateAdd(constantsAddress, builder.getInt64(found->second));
  }
  auto *expression = dyn_cast<ConstantExpr>(pointer);
  if (!expression)
    return nullptr;
  if (expression->getOpcode() == Instruction::IntToPtr)
    return builder.CreateZExtOrTrunc(expression->getOperand(0), i64);
  if (expression->getOpcode() == Instruction::AddrSpaceCast)
    return ofConstant(expression->getOperand(0), builder);
  if (auto *element = dyn_cast<GEPOperator>(expression)) {
    Value *base = ofConstant(cast<Constant>(element->getPointerOperand()), builder);
    return base ? offset(*element, base, builder) : nullptr;
  }
  return nullptr;
}

/// `type`: i32 of local memory, where nowhere is -1; i64 of global memory.
Value *PointerNumbering::numberOf(Value *pointer, Type *type, IRBuilder<> &builder) {
  Value *number = nullptr;
  if (isa<ConstantPointerNull>(pointer))
    return type == i32 ? Constant::getAllOnesValue(type) : ConstantInt::get(type, 0);
  if (isa<UndefValue>(pointer))
    return ConstantInt::get(type, 0);
  if (isa<AllocaInst>(pointer))
    number = builder.getInt32(0);
  else if (auto *constant = dyn_cast<Constant>(pointer))
    number = ofConstant(constant, builder);
  else
    number = numbers.lookup(pointer);
  if (number && number->getType() == type)
    return number;
  if (!problem)
    problem = isa<Instruction>(pointer)
                  ? spirv::problemAt(*cast<Instruction>(pointer), "a pointer without an address")
                  : createStringError(function.getName() + ": a pointer without an address");
  return ConstantInt::get(type, 0);
}

Value *PointerNumbering::offset(GEPOperator &element, Value *base, IRBuilder<> &builder) {
  SmallMapVector<Value *, APInt, 4> variables;
  APInt constant(64, 0);
  Type *type = base->getType();
  if (!element.collectOffset(layout, 64, variables, constant)) {
    if (!problem)
      problem = createStringError(function.getName() + ": an element of unknown offset");
    return base;
  }
  Value *sum = base;
  for (auto &[variable, scale] : variables) {
    Value *index = builder.CreateSExtOrTrunc(variable, type);
    sum = builder.CreateAdd(
        sum,
        builder.CreateMul(index, ConstantInt::get(type, scale.trunc(type->getIntegerBitWidth()))));
  }
  return builder.CreateAdd(sum, ConstantInt::get(type, constant.trunc(type->getIntegerBitWidth())));
}

/// Of an access of global memory, which has it for itself.
Value *PointerNumbering::pointerOf(Value *pointer, IRBuilder<> &builder) {
  Value *number = numberOf(pointer, i64, builder);
  return builder.Insert(new IntToPtrInst(number, PointerType::get(context, 1)));
}

void PointerNumbering::replace(Instruction &instruction, Value *by) {
  instruction.replaceAllUsesWith(by);
  dead.push_back(&instruction);
}

void PointerNumbering::compare(ICmpInst &comparison, IRBuilder<> &builder) {
  Value *a = comparison.getOperand(0), *b = comparison.getOperand(1);
  Root first = rootOf(a), second = rootOf(b);
  if (first.local == second.local || !first.isKnown || !second.isKnown) {
    Type *type = first.local || second.local ? i32 : i64;
    return replace(comparison,
                   builder.CreateICmp(comparison.getPredicate(), numberOf(a, type, builder),
                                      numberOf(b, type, builder)));
  }
  // Memories do not overlap.
  if (!comparison.isEquality())
    fail(comparison, "pointers of two memories are in no order");
  replace(comparison, builder.getInt1(comparison.getPredicate() == CmpInst::ICMP_NE));
}

void PointerNumbering::visitMemory(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  auto *modify = dyn_cast<AtomicRMWInst>(&instruction);
  auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction);
  Value *pointer = modify     ? modify->getPointerOperand()
                   : exchange ? exchange->getPointerOperand()
                              : getLoadStorePointerOperand(&instruction);
  AllocaInst *local = rootOf(pointer).local;
  if (local && instruction.isAtomic()) {
    Type *type = modify     ? modify->getType()
                 : exchange ? exchange->getCompareOperand()->getType()
                            : getLoadStoreType(&instruction);
    if (local != shared || type != i32)
      return fail(instruction, "an atomic operation on local memory");
    unsigned at = isa<StoreInst>(instruction) ? 1 : 0;
    Value *number = numberOf(pointer, i32, builder);
    instruction.setOperand(at, elementAt(rooms[shared], number, 0, builder));
    return;
  }
  if (modify || exchange) { // the operands are numbers already
    instruction.setOperand(0, pointerOf(pointer, builder));
    return;
  }
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    Type *type = load->getType()->isPointerTy() ? i64 : load->getType();
    Value *value;
    if (local)
      value = localLoad(rooms[local], numberOf(pointer, i32, builder), type, builder);
    else
      value = builder.Insert(new LoadInst(type, pointerOf(pointer, builder), "", load->isVolatile(),
                                          load->getAlign(), load->getOrdering(),
                                          load->getSyncScopeID()));
    if (load->getType()->isPointerTy()) {
      numbers[load] = value;
      dead.push_back(load);
    } else {
      replace(*load, value);
    }
    return;
  }
  auto &store = cast<StoreInst>(instruction);
  Value *value = store.getValueOperand();
  if (value->getType()->isPointerTy()) {
    if (rootOf(value).local)
      return fail(instruction, "an address of local memory is kept in memory");
    value = numberOf(value, i64, builder);
  }
  if (local)
    localStore(rooms[local], numberOf(pointer, i32, builder), value, builder);
  else
    builder.Insert(new StoreInst(value, pointerOf(pointer, builder), store.isVolatile(),
                                 store.getAlign(), store.getOrdering(), store.getSyncScopeID()));
  dead.push_back(&store);
}

void PointerNumbering::visit(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  auto keep = [&](Value *number) {
    numbers[&instruction] = number;
    dead.push_back(&instruction);
  };
  Type *type = instruction.getType()->isPointerTy() ? numberType(&instruction) : nullptr;
  if (auto *element = dyn_cast<GetElementPtrInst>(&instruction)) {
    Value *base = numberOf(element->getPointerOperand(), type, builder);
    return keep(offset(*cast<GEPOperator>(element), base, builder));
  }
  if (isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction))
    return visitMemory(instruction);
  if (isa<AllocaInst>(instruction)) {
    if (rooms.contains(cast<AllocaInst>(&instruction)))
      dead.push_back(&instruction);
    return;
  }
  if (auto *select = dyn_cast<SelectInst>(&instruction); select && type)
    return keep(builder.CreateSelect(select->getCondition(),
                                     numberOf(select->getTrueValue(), type, builder),
                                     numberOf(select->getFalseValue(), type, builder)));
  if (isa<AddrSpaceCastInst>(instruction))
    return keep(numberOf(instruction.getOperand(0), type, builder));
  if (isa<FreezeInst>(instruction) && type)
    return keep(builder.CreateFreeze(numberOf(instruction.getOperand(0), type, builder)));
  if (auto *comparison = dyn_cast<ICmpInst>(&instruction);
      comparison && comparison->getOperand(0)->getType()->isPointerTy())
    return compare(*comparison, builder);
  if (isa<PtrToIntInst, PtrToAddrInst>(instruction)) {
    if (rootOf(instruction.getOperand(0)).local)
      return fail(instruction, "local memory has no address");
    Value *number = numberOf(instruction.getOperand(0), i64, builder);
    return replace(instruction, builder.CreateZExtOrTrunc(number, instruction.getType()));
  }
  if (isa<IntToPtrInst>(instruction))
    return keep(builder.CreateZExtOrTrunc(instruction.getOperand(0), i64));
  if (type && !isa<PHINode>(instruction))
    return fail(instruction, "a pointer that is made in an unknown way");
  if (isa<PHINode>(instruction))
    return;
  for (Value *operand : instruction.operands())
    if (operand->getType()->isPointerTy() && !isa<Function>(operand))
      return fail(instruction, "a pointer that is used in an unknown way");
}

/// They may be used before they are reached.
void PointerNumbering::makePhis(Function &body) {
  for (Instruction &instruction : instructions(body))
    if (auto *phi = dyn_cast<PHINode>(&instruction); phi && phi->getType()->isPointerTy())
      phis.push_back(phi);
  for (PHINode *phi : phis) {
    IRBuilder<> builder(phi);
    numbers[phi] = builder.CreatePHI(numberType(phi), phi->getNumIncomingValues());
    dead.push_back(phi);
  }
}

void PointerNumbering::fillPhis() {
  for (PHINode *phi : phis) {
    auto *number = cast<PHINode>(numbers[phi]);
    DenseMap<BasicBlock *, Value *> known; // of a block that comes twice the same
    for (unsigned k = 0; k < phi->getNumIncomingValues(); ++k) {
      BasicBlock *from = phi->getIncomingBlock(k);
      IRBuilder<> builder(from->getTerminator());
      Value *&value = known[from];
      if (!value)
        value = numberOf(phi->getIncomingValue(k), number->getType(), builder);
      number->addIncoming(value, from);
    }
  }
}

/// The body goes to a function with three addresses.
static Function *withAddresses(Function &function) {
  LLVMContext &context = function.getContext();
  Type *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {i64, i64, i64}, /*isVarArg=*/false);
  auto *made = Function::Create(type, GlobalValue::ExternalLinkage, "", function.getParent());
  made->splice(made->begin(), &function);
  made->takeName(&function);
  return made;
}

/// What was said of pointers no longer holds of numbers.
static void forgetMetadata(Function &function) {
  for (Instruction &instruction : instructions(function)) {
    instruction.dropUnknownNonDebugMetadata();
    instruction.dropPoisonGeneratingFlags();
    if (auto *call = dyn_cast<CallInst>(&instruction))
      call->setAttributes(AttributeList());
  }
}

Expected<Function *> PointerNumbering::run() {
  EliminateUnreachableBlocks(function);
  placeShared();
  if (Error error = findRoots()) {
    consumeError(std::move(problem));
    return std::move(error);
  }
  makeRooms();
  Function *made = withAddresses(function);
  for (unsigned k = 0; k < 2; ++k)
    numbers[function.getArg(k)] = made->getArg(k);
  constantsAddress = made->getArg(2);
  makePhis(*made);
  SmallVector<Instruction *> work;
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(made))
    for (Instruction &instruction : *block)
      work.push_back(&instruction);
  for (Instruction *instruction : work)
    visit(*instruction);
  fillPhis();
  for (Instruction *instruction : reverse(dead)) {
    instruction->replaceAllUsesWith(PoisonValue::get(instruction->getType()));
    instruction->eraseFromParent();
  }
  function.eraseFromParent();
  forgetMetadata(*made);
  if (problem)
    return std::move(problem);
  return made;
}

Expected<Function *> spirv::numberPointers(Function &function, const Constants &constants,
                                           uint32_t sharedBytes) {
  return PointerNumbering(function, constants, sharedBytes).run();
}

/// Both parts of an exchange stand behind it.
static void ownParts(AtomicCmpXchgInst &exchange) {
  IRBuilder<> builder(exchange.getNextNode());
  Value *parts[] = {builder.CreateExtractValue(&exchange, 0),
                    builder.CreateExtractValue(&exchange, 1)};
  for (User *user : make_early_inc_range(exchange.users()))
    if (auto *part = dyn_cast<ExtractValueInst>(user);
        part && part != parts[0] && part != parts[1]) {
      part->replaceAllUsesWith(parts[part->getIndices()[0]]);
      part->eraseFromParent();
    }
}

void spirv::ownAccesses(Function &function) {
  SmallVector<Instruction *> accesses, pointers;
  for (Instruction &instruction : instructions(function)) {
    if (isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction))
      accesses.push_back(&instruction);
    else if (isa<IntToPtrInst, GetElementPtrInst>(instruction))
      pointers.push_back(&instruction);
  }
  for (Instruction *access : accesses) {
    unsigned index = isa<StoreInst>(access) ? 1 : 0;
    if (auto *pointer = dyn_cast<Instruction>(access->getOperand(index));
        isa_and_nonnull<IntToPtrInst, GetElementPtrInst>(pointer)) {
      Instruction *own = pointer->clone();
      own->insertBefore(access->getIterator());
      access->setOperand(index, own);
    }
    if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(access))
      ownParts(*exchange);
  }
  for (Instruction *pointer : pointers)
    if (pointer->use_empty())
      pointer->eraseFromParent();
}
