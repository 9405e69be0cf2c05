//===- PrepareMemory.cpp - copies, fills and unaligned accesses -*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace metate;

/// More accesses than these are a loop.
static constexpr unsigned mostPieces = 16;
static constexpr unsigned widest = 8; // bytes of a word

namespace {
struct Piece {
  uint64_t offset;
  unsigned bytes; ///< 1, 2, 4 or 8
};

/// One memcpy, memmove or memset.
class MemoryExpansion {
public:
  explicit MemoryExpansion(MemIntrinsic &call)
      : call(call), fill(dyn_cast<MemSetInst>(&call)), transfer(dyn_cast<MemTransferInst>(&call)),
        align(call.getDestAlign().valueOrOne()) {
    if (transfer)
      align = std::min(align, transfer->getSourceAlign().valueOrOne());
  }
  void run();

private:
  void straight(ArrayRef<Piece> pieces);
  /// By loops in front of `at`.
  void loops(Instruction *at, Value *length, unsigned bytes);
  void loop(Instruction *at, Value *begin, Value *count, unsigned bytes);
  Value *isInWords(IRBuilder<> &builder, Value *length);
  Value *valueOf(IRBuilder<> &builder, unsigned bytes);

  MemIntrinsic &call;
  MemSetInst *fill;
  MemTransferInst *transfer;
  Align align;
};
} // namespace

static Type *wordType(IRBuilder<> &builder, unsigned bytes) { return builder.getIntNTy(bytes * 8); }

/// `bytes` from an address of this alignment on, in as few pieces as are aligned.
static SmallVector<Piece> piecesOf(uint64_t bytes, Align align, unsigned most = ~0u) {
  SmallVector<Piece> pieces;
  for (uint64_t offset = 0; offset < bytes && pieces.size() <= most;) {
    uint64_t size = std::min<uint64_t>(commonAlignment(align, offset).value(), 8);
    while (size > bytes - offset)
      size /= 2;
    pieces.push_back({offset, unsigned(size)});
    offset += size;
  }
  return pieces;
}

/// What is stored by a fill: the byte so many times.
Value *MemoryExpansion::valueOf(IRBuilder<> &builder, unsigned bytes) {
  Type *type = wordType(builder, bytes);
  APInt ones = APInt::getSplat(bytes * 8, APInt(8, 1));
  return builder.CreateMul(builder.CreateZExt(fill->getValue(), type),
                           ConstantInt::get(type, ones));
}

/// All is read before anything is written: right for a memmove too.
void MemoryExpansion::straight(ArrayRef<Piece> pieces) {
  IRBuilder<> builder(&call);
  SmallVector<Value *> values;
  for (Piece piece : pieces) {
    if (fill) {
      values.push_back(valueOf(builder, piece.bytes));
      continue;
    }
    Value *at = builder.CreatePtrAdd(transfer->getRawSource(), builder.getInt64(piece.offset));
    values.push_back(builder.CreateAlignedLoad(wordType(builder, piece.bytes), at,
                                               commonAlignment(align, piece.offset)));
  }
  for (auto [piece, value] : zip(pieces, values)) {
    Value *at = builder.CreatePtrAdd(call.getRawDest(), builder.getInt64(piece.offset));
    builder.CreateAlignedStore(value, at, commonAlignment(align, piece.offset));
  }
}

/// `count` words from the byte `begin` on; backwards where a memmove's destination lies above its source.
void MemoryExpansion::loop(Instruction *at, Value *begin, Value *count, unsigned bytes) {
  IRBuilder<> builder(at);
  Value *backwards = nullptr;
  if (isa<MemMoveInst>(call))
    backwards = builder.CreateICmpUGT(
        builder.CreatePtrToInt(call.getRawDest(), builder.getInt64Ty()),
        builder.CreatePtrToInt(transfer->getRawSource(), builder.getInt64Ty()));
  Value *value = fill ? valueOf(builder, bytes) : nullptr;
  Instruction *then = at;
  if (!isa<ConstantInt>(count))
    then = SplitBlockAndInsertIfThen(builder.CreateICmpNE(count, builder.getInt64(0)), at,
                                     /*Unreachable=*/false);
  auto [inside, index] = SplitBlockAndInsertSimpleForLoop(count, then->getIterator());
  builder.SetInsertPoint(inside);
  Value *turn = index;
  if (backwards)
    turn = builder.CreateSelect(
        backwards, builder.CreateSub(builder.CreateSub(count, builder.getInt64(1)), turn), turn);
  Value *offset = builder.CreateAdd(begin, builder.CreateMul(turn, builder.getInt64(bytes)));
  if (transfer)
    value = builder.CreateAlignedLoad(wordType(builder, bytes),
                                      builder.CreatePtrAdd(transfer->getRawSource(), offset),
                                      Align(bytes));
  builder.CreateAlignedStore(value, builder.CreatePtrAdd(call.getRawDest(), offset), Align(bytes));
}

/// The lowest bits of an address. Local memory has none: there its distance from an aligned beginning; null: it is not known.
static Value *lowAddress(IRBuilder<> &builder, Value *pointer) {
  auto *local = dyn_cast<AllocaInst>(getUnderlyingObject(pointer, /*MaxLookup=*/0));
  if (!local)
    return builder.CreatePtrToInt(pointer, builder.getInt64Ty());
  const DataLayout &layout = local->getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
  if (pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true) !=
      local)
    return nullptr;
  local->setAlignment(std::max(local->getAlign(), Align(widest)));
  return builder.getInt64(offset.getZExtValue());
}

/// Do addresses and length happen to be multiples of the widest word? Null: nobody can ask.
Value *MemoryExpansion::isInWords(IRBuilder<> &builder, Value *length) {
  Value *to = lowAddress(builder, call.getRawDest());
  Value *from = transfer ? lowAddress(builder, transfer->getRawSource()) : to;
  if (!to || !from)
    return nullptr;
  Value *all = builder.CreateOr(builder.CreateOr(length, to), from);
  Value *rest = builder.CreateAnd(all, widest - 1);
  return builder.CreateICmpEQ(rest, builder.getInt64(0));
}

void MemoryExpansion::loops(Instruction *at, Value *length, unsigned bytes) {
  IRBuilder<> builder(at);
  if (isa<MemMoveInst>(call) && !isa<ConstantInt>(length))
    bytes = 1; // its order is that of one loop
  Value *size = builder.getInt64(bytes);
  Value *words = builder.CreateUDiv(length, size);
  Value *done = builder.CreateMul(words, size);
  loop(at, builder.getInt64(0), words, bytes);
  if (bytes > 1 && !isa<ConstantInt>(length))
    loop(at, done, builder.CreateSub(length, done), 1);
}

void MemoryExpansion::run() {
  IRBuilder<> builder(&call);
  auto *known = dyn_cast<ConstantInt>(call.getLength());
  if (known) {
    SmallVector<Piece> pieces = piecesOf(known->getZExtValue(), align, mostPieces);
    if (pieces.size() <= mostPieces)
      return straight(pieces);
  }
  Value *length = builder.CreateZExtOrTrunc(call.getLength(), builder.getInt64Ty());
  unsigned bytes = std::min<uint64_t>(align.value(), widest);
  if (known) // so that nothing is left over
    while (known->getZExtValue() % bytes)
      bytes /= 2;
  if (bytes == widest || (known && known->getZExtValue() % widest))
    return loops(&call, length, bytes);
  // What nobody has said is nearly always so: cells, leaves and slots are of whole words.
  Value *condition = isInWords(builder, length);
  if (!condition)
    return loops(&call, length, bytes);
  Instruction *inWords = nullptr, *others = nullptr;
  SplitBlockAndInsertIfThenElse(condition, &call, &inWords, &others);
  IRBuilder<> inside(inWords);
  Value *count = inside.CreateLShr(length, Log2_32(widest));
  loop(inWords, inside.getInt64(0), count, widest);
  loops(others, length, bytes);
}

// ---- accesses that are not aligned, or of a width that no access has ----

static Type *accessedType(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && !load->isAtomic())
    return load->getType();
  if (auto *store = dyn_cast<StoreInst>(&instruction); store && !store->isAtomic())
    return store->getValueOperand()->getType();
  return nullptr;
}

/// As a number of all the bytes that it takes in memory.
static Value *bytesOf(IRBuilder<> &builder, Value *value, unsigned bits, Type *whole) {
  if (value->getType()->isPointerTy())
    return builder.CreatePtrToInt(value, whole);
  return builder.CreateZExt(builder.CreateBitCast(value, builder.getIntNTy(bits)), whole);
}

static void splitAccess(Instruction &access, Type *type, ArrayRef<Piece> pieces, Align align,
                        unsigned bits, unsigned bytes) {
  IRBuilder<> builder(&access);
  Type *whole = wordType(builder, bytes);
  Value *pointer = getLoadStorePointerOperand(&access);
  auto *store = dyn_cast<StoreInst>(&access);
  Value *number =
      store ? bytesOf(builder, store->getValueOperand(), bits, whole) : ConstantInt::get(whole, 0);
  for (Piece piece : pieces) {
    Type *part = wordType(builder, piece.bytes);
    Value *at =
        piece.offset ? builder.CreatePtrAdd(pointer, builder.getInt64(piece.offset)) : pointer;
    Align own = commonAlignment(align, piece.offset);
    if (store) {
      Value *shifted = builder.CreateTrunc(builder.CreateLShr(number, piece.offset * 8), part);
      builder.CreateAlignedStore(shifted, at, own, store->isVolatile());
    } else {
      Value *loaded = builder.CreateAlignedLoad(part, at, own, cast<LoadInst>(access).isVolatile());
      number = builder.CreateOr(
          number, builder.CreateShl(builder.CreateZExt(loaded, whole), piece.offset * 8));
    }
  }
  if (!store) {
    Value *value =
        type->isPointerTy()
            ? builder.CreateIntToPtr(number, type)
            : builder.CreateBitCast(builder.CreateTrunc(number, builder.getIntNTy(bits)), type);
    access.replaceAllUsesWith(value);
  }
  access.eraseFromParent();
}

void spirv::expandMemory(Function &function) {
  SmallVector<MemIntrinsic *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<MemIntrinsic>(&instruction))
      calls.push_back(call);
  for (MemIntrinsic *call : calls) {
    MemoryExpansion(*call).run();
    call->eraseFromParent();
  }
  const DataLayout &layout = function.getDataLayout();
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    Type *type = accessedType(instruction);
    if (!type || !(type->isIntOrPtrTy() || type->isFloatingPointTy()))
      continue;
    unsigned bits = layout.getTypeSizeInBits(type), bytes = divideCeil(bits, 8);
    Align align = getLoadStoreAlignment(&instruction);
    SmallVector<Piece> pieces = piecesOf(bytes, align);
    if (pieces.size() > 1 || bits % 8)
      splitAccess(instruction, type, pieces, align, bits, bytes);
  }
}
