//===- Memory.cpp - references and what is done with them -------*- C++ -*-===//
//
// Load, store and read-modify-write of locals, array elements and members,
// whole or by component. A read-modify-write is indivisible for each component
// where other workers may see the place, and plain on a local of the same
// iteration.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

Reference KernelBuilder::declareLocal(const DataType &type, std::optional<unsigned> scope) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(scopes[scope.value_or(currentScope())]);
  Reference reference;
  reference.kind = Reference::Kind::Local;
  reference.base = memref::AllocaOp::create(builder, loc(), MemRefType::get({}, ir(type)));
  reference.whole = reference.type = type;
  return reference;
}

/// A local that lives outside the parallel loop that uses it: all workers see
/// it.
bool KernelBuilder::isShared(const Reference &reference) const {
  if (reference.kind != Reference::Kind::Local)
    return true;
  return parallelOp && !parallelOp->isProperAncestor(reference.base.getDefiningOp());
}

SmallVector<Value> KernelBuilder::componentValues(const Reference &reference) {
  return llvm::map_to_vector(reference.components,
                             [&](const KernelValue &k) { return toIndex(k); });
}

/// Indices of component number `flat` of a whole element of an array.
SmallVector<Value> KernelBuilder::elementIndices(const Reference &reference, int64_t flat) {
  SmallVector<Value> indices = reference.indices;
  if (reference.whole.isMatrix())
    indices.push_back(indexConstant(flat / reference.whole.shape[1]));
  if (!reference.whole.isScalar())
    indices.push_back(indexConstant(flat % reference.whole.shape.back()));
  return indices;
}

/// Each index held between the first component of its axis and the last one.
SmallVector<KernelValue> KernelBuilder::clampedIndices(const DataType &type,
                                                       ArrayRef<KernelValue> indices) {
  SmallVector<KernelValue> flat;
  if (!flattenIndices(indices, flat) || flat.size() != type.shape.size())
    return SmallVector<KernelValue>(indices); // componentIndices says what is wrong
  for (auto [index, extent] : llvm::zip(flat, type.shape)) {
    KernelValue last = {constant(index.type, extent - 1), index.type};
    KernelValue zero = {constant(index.type, int64_t(0)), index.type};
    index = binary("max", binary("min", index, last), zero);
  }
  return flat;
}

Reference KernelBuilder::component(const Reference &reference, ArrayRef<KernelValue> given) {
  if (!reference.components.empty()) {
    fail("subscript of a component: expected a vector or matrix, got " + reference.type.name());
    return {};
  }
  SmallVector<KernelValue> indices(given);
  if (reference.isClamped)
    indices = clampedIndices(reference.type, given);
  std::optional<SmallVector<KernelValue>> flat = componentIndices(reference.type, indices);
  if (!flat)
    return {};
  Reference part = reference;
  part.components = *flat;
  part.type = reference.whole.element();
  return part;
}

KernelValue KernelBuilder::load(const Reference &reference) {
  if (!reference)
    return {};
  KernelValue loaded = loadPlainly(reference);
  return reference.isConstant ? stopGradient(loaded) : loaded;
}

KernelValue KernelBuilder::loadPlainly(const Reference &reference) {
  const DataType &type = reference.type;
  switch (reference.kind) {
  case Reference::Kind::Local: {
    Value value = memref::LoadOp::create(builder, loc(), reference.base, ValueRange{});
    KernelValue whole = {value, reference.whole};
    return reference.components.empty() ? whole : component(whole, reference.components);
  }
  case Reference::Kind::Member:
    if (reference.quantised)
      return loadQuantised(reference);
    return {LoadOp::create(builder, loc(), ir(type), reference.base, reference.path,
                           reference.indices, componentValues(reference)),
            type};
  case Reference::Kind::Array:
    break;
  }
  SmallVector<Value> parts;
  if (!reference.components.empty()) {
    SmallVector<Value> indices = reference.indices;
    llvm::append_range(indices, componentValues(reference));
    return {memref::LoadOp::create(builder, loc(), reference.base, indices), type};
  }
  for (int64_t k = 0; k < type.count(); ++k)
    parts.push_back(
        memref::LoadOp::create(builder, loc(), reference.base, elementIndices(reference, k)));
  if (type.isScalar())
    return {parts[0], type};
  return {vector::FromElementsOp::create(builder, loc(), ir(type), parts), type};
}

//===-- cells that stay inactive --------------------------------------------===//

void KernelBuilder::noActivate(const KernelTree &tree, StringRef member) {
  noActivations.push_back({tree.ir, member.str(), parallelOp});
}

bool KernelBuilder::leavesInactive(const Reference &reference) const {
  return llvm::any_of(noActivations, [&](const NoActivation &declared) {
    return declared.tree == reference.base && declared.member == reference.path &&
           (!declared.loop || declared.loop == parallelOp);
  });
}

void KernelBuilder::guardStore(const Reference &reference, function_ref<void(bool)> store) {
  bool isGuarded = !reference.isActive && leavesInactive(reference);
  if (isGuarded) {
    Value active =
        IsActiveOp::create(builder, loc(), reference.base, reference.path, reference.indices);
    beginIf({active, DataType(METATE_U1)});
  }
  store(isGuarded || reference.isActive);
  if (isGuarded)
    endIf();
}

void KernelBuilder::storeMember(const Reference &reference, Value value) {
  guardStore(reference, [&](bool active) {
    if (reference.quantised)
      return storeQuantised(reference, value, active);
    StoreOp::create(builder, loc(), value, reference.base, reference.path, reference.indices,
                    componentValues(reference), active);
  });
}

/// The old value; where the cell has to stay inactive and is, what it reads as.
Value KernelBuilder::atomicOfMember(arith::AtomicRMWKind kind, const Reference &reference,
                                    Value value, bool subtracts, Value expected) {
  auto make = [&](bool active) -> Value {
    if (reference.quantised)
      return atomicOfQuantised(kind, reference, value, subtracts, active, expected);
    Value given = expected ? ExchangeIfOp::create(builder, loc(), expected, value) : value;
    auto made = AtomicOp::create(builder, loc(), kind, given, reference.base, reference.path,
                                 reference.indices, componentValues(reference), active);
    if (subtracts)
      setMark(made, mark::subtracts);
    return made.getOld();
  };
  if (reference.isActive || !leavesInactive(reference))
    return make(reference.isActive);
  Value active =
      IsActiveOp::create(builder, loc(), reference.base, reference.path, reference.indices);
  auto branch = scf::IfOp::create(builder, loc(), value.getType(), active, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc(), make(/*active=*/true));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc(), load(reference).ir);
  return branch.getResult(0);
}

//===-- stores --------------------------------------------------------------===//

void KernelBuilder::store(const Reference &reference, const KernelValue &value, StringRef what) {
  if (!reference || !value)
    return;
  KernelValue converted = convert(value, reference.type, what);
  if (!converted)
    return;
  if (reference.kind == Reference::Kind::Local) {
    if (isShared(reference)) {
      fail(what + ": made outside the parallel loop that assigns it",
           "accumulate in an array or a tree, or return it from the kernel");
      return;
    }
    if (!isLossless(value.type.scalar, reference.type.scalar))
      problems.warning(what + ": a value of type " + scalarName(value.type.scalar) +
                       " is cast to the variable's type " + scalarName(reference.type.scalar) +
                       ", set by its first assignment, and may lose bits");
    if (!reference.components.empty()) {
      Value whole = memref::LoadOp::create(builder, loc(), reference.base, ValueRange{});
      converted = replaceComponent({whole, reference.whole}, reference.components, converted);
    }
    memref::StoreOp::create(builder, loc(), converted.ir, reference.base, ValueRange{});
    return;
  }
  if (reference.kind == Reference::Kind::Member)
    return storeMember(reference, converted.ir);
  if (!reference.components.empty() || reference.type.isScalar()) {
    SmallVector<Value> indices = reference.indices;
    llvm::append_range(indices, componentValues(reference));
    memref::StoreOp::create(builder, loc(), converted.ir, reference.base, indices);
    return;
  }
  for (auto [k, part] : llvm::enumerate(elements(converted)))
    memref::StoreOp::create(builder, loc(), part.ir, reference.base, elementIndices(reference, k));
}

static std::optional<arith::AtomicRMWKind> atomicKind(StringRef op, const DataType &type) {
  using K = arith::AtomicRMWKind;
  bool isFloat = type.isFloat(), isSigned = type.isSigned();
  if (op == "exchange")
    return K::assign;
  if (!isFloat) {
    if (op == "and")
      return K::andi;
    if (op == "or")
      return K::ori;
    if (op == "xor")
      return K::xori;
  }
  if (type.isBool())
    return std::nullopt;
  return llvm::StringSwitch<std::optional<K>>(op)
      .Case("add", isFloat ? K::addf : K::addi)
      .Case("mul", isFloat ? K::mulf : K::muli)
      .Case("min", isFloat    ? K::minnumf
                   : isSigned ? K::mins
                              : K::minu)
      .Case("max", isFloat    ? K::maxnumf
                   : isSigned ? K::maxs
                              : K::maxu)
      .Default(std::nullopt);
}

KernelValue KernelBuilder::updated(StringRef op, const KernelValue &old, const KernelValue &value) {
  if (op == "exchange")
    return value;
  StringRef symbol = llvm::StringSwitch<StringRef>(op)
                         .Case("add", "+")
                         .Case("sub", "-")
                         .Case("mul", "*")
                         .Case("and", "&")
                         .Case("or", "|")
                         .Case("xor", "^")
                         .Default(op);
  return binary(symbol, old, value);
}

KernelValue KernelBuilder::atomic(StringRef op, const Reference &reference,
                                  const KernelValue &value) {
  if (!reference || !value)
    return {};
  std::string what = ("atomic_" + op).str();
  KernelValue given = convert(value, reference.type, what);
  if (!given)
    return {};
  std::optional<arith::AtomicRMWKind> kind = atomicKind(op == "sub" ? "add" : op, reference.type);
  if (!kind) {
    fail(what + ": not defined for " + reference.type.name());
    return {};
  }
  if (reference.kind == Reference::Kind::Local) {
    KernelValue old = load(reference);
    // Of a variable that iterations share, it is the variable that is at fault.
    store(reference, updated(op, old, given), isShared(reference) ? "variable" : what);
    return old;
  }
  // Subtracting is adding the negative; the mark says so to who looks for results that wrap.
  auto marked = [&](auto made) {
    if (op == "sub")
      setMark(made, mark::subtracts);
    return made.getResult();
  };
  if (op == "sub" && given.type.isFloat())
    given = unary("-", given);
  else if (op == "sub")
    given.ir =
        builder.createOrFold<arith::SubIOp>(loc(), constant(given.type, int64_t(0)), given.ir);
  if (reference.kind == Reference::Kind::Member)
    return {atomicOfMember(*kind, reference, given.ir, op == "sub"), reference.type};
  if (!reference.components.empty() || reference.type.isScalar()) {
    SmallVector<Value> indices = reference.indices;
    llvm::append_range(indices, componentValues(reference));
    return {marked(memref::AtomicRMWOp::create(builder, loc(), *kind, given.ir, reference.base,
                                               indices)),
            reference.type};
  }
  SmallVector<KernelValue> olds;
  for (auto [k, part] : llvm::enumerate(elements(given)))
    olds.push_back(
        {marked(memref::AtomicRMWOp::create(builder, loc(), *kind, part.ir, reference.base,
                                            elementIndices(reference, k))),
         reference.type.element()});
  return fromElements(olds, reference.type);
}

KernelValue KernelBuilder::compareExchange(const Reference &reference, const KernelValue &expected,
                                           const KernelValue &desired) {
  constexpr StringRef what = "atomic_compare_exchange";
  if (!reference || !expected || !desired)
    return {};
  if (!reference.type.isScalar()) {
    fail(what + ": expected a place that holds one number, got " + reference.type.name() +
         "; name a component, as in x[i][0]");
    return {};
  }
  KernelValue wanted = convert(expected, reference.type, what),
              given = convert(desired, reference.type, what);
  if (!wanted || !given)
    return {};
  if (reference.kind == Reference::Kind::Local) {
    KernelValue old = load(reference);
    Value isExpected =
        arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::eq,
                              bitsOf(builder, loc(), old.ir), bitsOf(builder, loc(), wanted.ir));
    Value now = arith::SelectOp::create(builder, loc(), isExpected, given.ir, old.ir);
    store(reference, {now, reference.type}, isShared(reference) ? "variable" : what);
    return old;
  }
  constexpr auto kind = arith::AtomicRMWKind::assign;
  if (reference.kind == Reference::Kind::Member)
    return {atomicOfMember(kind, reference, given.ir, /*subtracts=*/false, wanted.ir),
            reference.type};
  SmallVector<Value> indices = reference.indices;
  llvm::append_range(indices, componentValues(reference));
  Value value = ExchangeIfOp::create(builder, loc(), wanted.ir, given.ir);
  return {memref::AtomicRMWOp::create(builder, loc(), kind, value, reference.base, indices),
          reference.type};
}
