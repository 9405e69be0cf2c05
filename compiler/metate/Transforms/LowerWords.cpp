//===- LowerWords.cpp - quantised members to bits of words ------*- C++ -*-===//
//
// A read takes the word and shifts the member's bits down. A write of a word that nobody else writes meanwhile is a read, a merge in
// registers and a write; stores of it are forwarded, so that a word is read once and written once. Else a store is metate.merge, and what
// depends on the old bits tries until nobody came between.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/Levels.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"
#include "metate/Transforms/PlainAtomics.h"
#include "metate/Transforms/QuantArith.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

WordAccess::WordAccess(CellSite &site, bool own)
    : site(site), bytes(site.bytes), node(site.node()), packed(*node.packed), own(own),
      width(packed.wordBytes * 8) {}

Value WordAccess::resized(Value value, unsigned bits) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  Type type = bytes.builder.getIntegerType(bits);
  if (from == bits)
    return value;
  if (from < bits)
    return arith::ExtUIOp::create(bytes.builder, bytes.loc, type, value);
  return arith::TruncIOp::create(bytes.builder, bytes.loc, type, value);
}

/// i of the word's width by which an element's bits are moved, null where it is a constant.
static Value elementShift(CellSite &site, ByteBuilder &bytes, const layout::Node &node,
                          unsigned width) {
  if (site.argument.node(node.parent).kind != METATE_LEVEL_QUANT_ARRAY)
    return {};
  Value bits = bytes.multiply(site.address.elementInWord(), int64_t(node.packed->bits()));
  return bytes.toInteger(bits, width);
}

/// Bits in their place in the word.
Value WordAccess::shifted(Value bits) {
  Value whole = resized(bits, width);
  Value by = elementShift(site, bytes, node, width);
  if (!by && packed.shift)
    by = integer(packed.shift);
  return by ? arith::ShLIOp::create(bytes.builder, bytes.loc, whole, by).getResult() : whole;
}

/// Which bits of the word are the member's.
Value WordAccess::mask() {
  Value own = integer(site.argument.layout->maskOf(node));
  Value by = elementShift(site, bytes, node, width);
  return by ? arith::ShLIOp::create(bytes.builder, bytes.loc, own, by).getResult() : own;
}

Value WordAccess::extract(Value word, const layout::Node &member) {
  const layout::PackedBits &at = *member.packed;
  auto from = [&](unsigned shift, unsigned bits) {
    Value moved =
        shift ? arith::ShRUIOp::create(bytes.builder, bytes.loc, word, integer(shift)).getResult()
              : word;
    return resized(moved, bits);
  };
  if (!at.format.isShared) {
    Value by = elementShift(site, bytes, member, width);
    if (!by)
      return from(at.shift, at.bits());
    return resized(arith::ShRUIOp::create(bytes.builder, bytes.loc, word, by), at.bits());
  }
  Value fraction = resized(from(at.shift, at.bits()), at.format.bits);
  Value exponent = resized(from(at.exponentShift, at.format.exponentBits), at.format.bits);
  Value above = bytes.integer(at.bits(), at.format.bits);
  exponent = arith::ShLIOp::create(bytes.builder, bytes.loc, exponent, above);
  return arith::OrIOp::create(bytes.builder, bytes.loc, fraction, exponent);
}

/// The word with other bits in the member's place.
Value WordAccess::insert(Value word, Value bits) {
  Value all = integer(~uint64_t(0));
  Value rest = arith::XOrIOp::create(bytes.builder, bytes.loc, mask(), all);
  if (isMutant(Mutant::WordLosesNeighbour))
    rest = integer(0);
  Value kept = arith::AndIOp::create(bytes.builder, bytes.loc, word, rest);
  return arith::OrIOp::create(bytes.builder, bytes.loc, kept, shifted(bits));
}

/// The word with other values of members that share an exponent: all of the group are encoded anew.
Value WordAccess::insertShared(Value word, NewValues given) {
  OpBuilder &builder = bytes.builder;
  SmallVector<const layout::Node *> members;
  for (const layout::Node &other : site.argument.layout->nodes)
    if (other.packed && other.packed->group == packed.group)
      members.push_back(&other);
  SmallVector<Value> values;
  SmallVector<QuantFormat> formats;
  uint64_t used = 0;
  auto bitsAt = [](unsigned shift, unsigned count) {
    return ((uint64_t(1) << count) - 1) << shift;
  };
  for (const layout::Node *member : members) {
    formats.push_back(member->packed->format);
    const auto *found = llvm::find_if(given, [&](auto &one) { return one.first == member->name; });
    values.push_back(found != given.end() ? found->second
                                          : expandDecode(builder, bytes.loc, extract(word, *member),
                                                         formats.back()));
    used |= bitsAt(member->packed->shift, member->packed->bits());
  }
  used |= bitsAt(packed.exponentShift, packed.format.exponentBits);
  SharedBits encoded = expandShared(builder, bytes.loc, values, formats);
  Value result = arith::AndIOp::create(builder, bytes.loc, word, integer(~used));
  auto place = [&](Value bits, unsigned shift) {
    Value moved = arith::ShLIOp::create(builder, bytes.loc, resized(bits, width), integer(shift));
    result = arith::OrIOp::create(builder, bytes.loc, result, moved);
  };
  place(encoded.exponent, packed.exponentShift);
  for (auto [member, bits] : llvm::zip(members, encoded.fractions))
    place(bits, member->packed->shift);
  return result;
}

Value WordAccess::change(Value offset, Change changed) {
  OpBuilder &builder = bytes.builder;
  Value word = bytes.readInteger(offset, width);
  if (own) {
    bytes.write(changed(word), offset);
    return word;
  }
  auto loop = scf::WhileOp::create(builder, bytes.loc, word.getType(), word);
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&loop.getBefore(), {}, word.getType(), bytes.loc);
  Value seen = before->getArgument(0);
  Value found = bytes.compareExchange(offset, seen, changed(seen));
  Value lost = bytes.compare(arith::CmpIPredicate::ne, found, seen);
  scf::ConditionOp::create(builder, bytes.loc, lost, found);
  Block *after = builder.createBlock(&loop.getAfter(), {}, word.getType(), bytes.loc);
  scf::YieldOp::create(builder, bytes.loc, after->getArgument(0));
  return loop.getResult(0);
}

Value WordAccess::load(Value offset) { return extract(bytes.readInteger(offset, width), node); }

void WordAccess::store(Value bits, Value offset) {
  if (own) {
    change(offset, [&](Value word) { return insert(word, bits); });
    return;
  }
  MergeOp::create(bytes.builder, bytes.loc, shifted(bits), mask(), bytes.block, offset,
                  uint64_t(bytes.scope));
}

/// `isAsked`: somebody looks at the bits from before.
Value WordAccess::atomic(arith::AtomicRMWKind kind, Value bits, Value offset, bool isAsked) {
  using Kind = arith::AtomicRMWKind;
  OpBuilder &builder = bytes.builder;
  if (!own && !isAsked && kind == Kind::addi) {
    uint64_t all = site.argument.layout->maskOf(node);
    Value top = integer(all & ~(all >> 1));
    if (Value by = elementShift(site, bytes, node, width))
      top = arith::ShLIOp::create(builder, bytes.loc, top, by);
    AddBitsOp::create(builder, bytes.loc, shifted(bits), top, bytes.block, offset,
                      uint64_t(bytes.scope));
    return bits;
  }
  // Of whole words, where what stands beside the member stays as it is.
  if (!own && (kind == Kind::ori || kind == Kind::xori))
    return extract(bytes.atomic(kind, offset, shifted(bits)), node);
  if (!own && kind == Kind::andi) {
    Value others = arith::XOrIOp::create(builder, bytes.loc, mask(), integer(~uint64_t(0)));
    Value kept = arith::OrIOp::create(builder, bytes.loc, shifted(bits), others);
    return extract(bytes.atomic(kind, offset, kept), node);
  }
  Value old = change(offset, [&](Value word) {
    Value before = extract(word, node);
    return insert(word, combinePlain(bytes.builder, bytes.loc, kind, before, bits));
  });
  return extract(old, node);
}

Value WordAccess::update(arith::AtomicRMWKind kind, Value value, Value offset) {
  OpBuilder &builder = bytes.builder;
  auto decoded = [&](Value word) {
    return expandDecode(builder, bytes.loc, extract(word, node), packed.format);
  };
  Value old = change(offset, [&](Value word) {
    Value now =
        combinePlain(builder, bytes.loc, kind, decoded(word), value, arith::FastMathFlags::none);
    if (packed.format.isShared)
      return insertShared(word, {{node.name, now}});
    return insert(word, expandEncode(builder, bytes.loc, now, packed.format));
  });
  return decoded(old);
}

void WordAccess::storeShared(NewValues given, Value offset) {
  change(offset, [&](Value word) { return insertShared(word, given); });
}

/// As the word has it that holds background; all elements of a quant_array are alike.
Value WordAccess::background() {
  const QuantFormat &format = packed.format;
  APInt word(64, site.argument.node(node.parent).word);
  APInt bits = word.lshr(packed.shift).trunc(packed.bits()).zext(format.bits);
  if (format.isShared) {
    APInt exponent = word.lshr(packed.exponentShift).trunc(format.exponentBits).zext(format.bits);
    bits |= exponent.shl(packed.bits());
  }
  Type type = bytes.builder.getIntegerType(format.bits);
  return arith::ConstantOp::create(bytes.builder, bytes.loc, IntegerAttr::get(type, bits));
}

Value WordAccess::shownBackground() {
  return expandDecode(bytes.builder, bytes.loc, background(), packed.format);
}

namespace {
struct LowerLoadShared : LayoutPattern<LoadSharedOp> {
  using LayoutPattern::LayoutPattern;
  void lower(LoadSharedOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    WordAccess word(site, /*own=*/false);
    auto body = [&](Value offset) { return SmallVector<Value>{word.load(offset)}; };
    auto otherwise = [&] { return SmallVector<Value>{word.background()}; };
    Value offset = offsetInSlot(kernel, rewriter, op, site);
    rewriter.replaceOp(op, offset ? word.load(offset)
                                  : site.address.read(op.getType(), body, otherwise).front());
  }
};

struct LowerStoreShared : LayoutPattern<StoreSharedOp> {
  using LayoutPattern::LayoutPattern;
  void lower(StoreSharedOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    WordAccess word(site, kernel.wordOwners.contains(op));
    SmallVector<std::pair<StringRef, Value>> given;
    for (auto [member, value] : llvm::zip(op.getMembers(), op.getValues()))
      given.push_back({cast<StringAttr>(member).getValue(), value});
    auto body = [&](Value offset) -> SmallVector<Value> {
      word.storeShared(given, offset);
      return {};
    };
    if (Value offset = offsetInSlot(kernel, rewriter, op, site))
      body(offset);
    else
      site.address.visitActive({}, body, [] { return SmallVector<Value>(); });
    rewriter.eraseOp(op);
  }
};

struct LowerLoadWord : LayoutPattern<LoadWordOp> {
  using LayoutPattern::LayoutPattern;
  void lower(LoadWordOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    unsigned width = op.getType().getIntOrFloatBitWidth();
    auto read = [&](Value offset) { return site.bytes.readInteger(offset, width); };
    auto body = [&](Value offset) { return SmallVector<Value>{read(offset)}; };
    auto otherwise = [&] {
      uint64_t background = site.argument.node(site.node().parent).word;
      return SmallVector<Value>{site.bytes.integer(int64_t(background), width)};
    };
    Value offset = offsetInSlot(kernel, rewriter, op, site);
    rewriter.replaceOp(op, offset ? read(offset)
                                  : site.address.read(op.getType(), body, otherwise).front());
  }
};

struct LowerStoreWord : LayoutPattern<StoreWordOp> {
  using LayoutPattern::LayoutPattern;
  void lower(StoreWordOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    auto body = [&](Value offset) -> SmallVector<Value> {
      site.bytes.write(op.getValue(), offset);
      return {};
    };
    if (Value offset = offsetInSlot(kernel, rewriter, op, site))
      body(offset);
    else
      site.address.visitActive({}, body, [] { return SmallVector<Value>(); });
    rewriter.eraseOp(op);
  }
};

struct LowerUpdate : LayoutPattern<UpdateOp> {
  using LayoutPattern::LayoutPattern;
  void lower(UpdateOp op, ConversionPatternRewriter &rewriter) const override {
    CellSite site(kernel, rewriter, op);
    WordAccess word(site, kernel.wordOwners.contains(op));
    auto body = [&](Value offset) {
      return SmallVector<Value>{word.update(op.getKind(), op.getValue(), offset)};
    };
    auto otherwise = [&] { return SmallVector<Value>{word.shownBackground()}; };
    SmallVector<Value> old;
    if (Value offset = offsetInSlot(kernel, rewriter, op, site))
      old = body(offset);
    else
      old = site.address.visitActive(op.getValue().getType(), body, otherwise);
    rewriter.replaceOp(op, old.front());
  }
};
} // namespace

void metate::addWordPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerLoadShared, LowerStoreShared, LowerLoadWord, LowerStoreWord, LowerUpdate>(
      kernel);
}
