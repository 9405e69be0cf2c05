//===- DerivativePlaces.cpp - where derivatives are -------------*- C++ -*-===//
#include "metate/Transforms/DerivativePlaces.h"
#include "metate/Dialect/Quant.h"
#include "metate/Transforms/PlainAtomics.h"
#include "metate/Transforms/SameCell.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

static bool isLocal(Value array) {
  return isa_and_present<memref::AllocaOp>(array.getDefiningOp());
}

/// What is encoded, of the bits that are stored; integers have no derivative.
static Value encodedBy(Value bits) {
  auto encode = bits.getDefiningOp<EncodeOp>();
  return encode && isa<FloatType>(encode.getValue().getType()) ? encode.getValue() : bits;
}

/// The number of the bits that were there before.
static Value decodedOf(Value bits) {
  for (Operation *user : bits.getUsers())
    if (isa<DecodeOp>(user))
      return user->getResult(0);
  return bits;
}

bool MemoryAccess::isQuantised() const {
  if (path.empty())
    return false;
  std::optional<TreePath> way = findPath(cast<TreeType>(base.getType()), path);
  return way && metate::isQuantised(way->place.getType());
}

std::optional<MemoryAccess> MemoryAccess::of(Operation *op) {
  OperandRange none = op->getOperands().take_front(0);
  if (auto decode = dyn_cast<DecodeOp>(op)) {
    Operation *load = decode.getBits().getDefiningOp();
    if (!isa_and_present<LoadOp, LoadSharedOp>(load) || !isa<FloatType>(decode.getType()))
      return std::nullopt;
    MemoryAccess access = *of(load);
    access.op = op;
    access.result = decode.getValue();
    return access;
  }
  if (auto load = dyn_cast<LoadSharedOp>(op))
    return MemoryAccess{
        op, load.getTree(), load.getPath(), load.getCoordinates(), none, {}, load.getValue(), {}};
  if (auto update = dyn_cast<UpdateOp>(op)) {
    bool isStore = update.getKind() == arith::AtomicRMWKind::assign &&
                   update.getOld().use_empty() && !update.getValue().getDefiningOp<ExchangeIfOp>();
    return MemoryAccess{op,
                        update.getTree(),
                        update.getPath(),
                        update.getCoordinates(),
                        none,
                        update.getValue(),
                        isStore ? Value() : update.getOld(),
                        isStore ? std::nullopt : std::optional(update.getKind())};
  }
  if (auto load = dyn_cast<LoadOp>(op))
    return MemoryAccess{op,
                        load.getTree(),
                        load.getPath(),
                        load.getCoordinates(),
                        load.getComponents(),
                        {},
                        load.getValue(),
                        {}};
  if (auto store = dyn_cast<StoreOp>(op))
    return MemoryAccess{op,
                        store.getTree(),
                        store.getPath(),
                        store.getCoordinates(),
                        store.getComponents(),
                        encodedBy(store.getValue()),
                        {},
                        {}};
  if (auto atomic = dyn_cast<AtomicOp>(op)) {
    Value written = encodedBy(atomic.getValue());
    return MemoryAccess{op,
                        atomic.getTree(),
                        atomic.getPath(),
                        atomic.getCoordinates(),
                        atomic.getComponents(),
                        written,
                        decodedOf(atomic.getOld()),
                        kindOfNumbers(atomic.getKind(), written.getType())};
  }
  if (auto load = dyn_cast<memref::LoadOp>(op); load && !isLocal(load.getMemRef()))
    return MemoryAccess{op, load.getMemRef(), "", load.getIndices(), none,
                        {}, load.getResult(), {}};
  if (auto store = dyn_cast<memref::StoreOp>(op); store && !isLocal(store.getMemRef()))
    return MemoryAccess{op,   store.getMemRef(), "", store.getIndices(),
                        none, store.getValue(),  {}, {}};
  if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op); atomic && !isLocal(atomic.getMemref()))
    return MemoryAccess{op,
                        atomic.getMemref(),
                        "",
                        atomic.getIndices(),
                        none,
                        atomic.getValue(),
                        atomic.getResult(),
                        atomic.getKind()};
  return std::nullopt;
}

SmallVector<MemoryAccess, 1> MemoryAccess::allOf(Operation *op) {
  SmallVector<MemoryAccess, 1> all;
  if (std::optional<MemoryAccess> access = of(op))
    all.push_back(*access);
  auto together = dyn_cast<StoreSharedOp>(op);
  auto update = dyn_cast<UpdateOp>(op);
  if (!together && !update)
    return all;
  auto cell = cast<CellOpInterface>(op);
  Value written = together ? together.getValues().front() : update.getValue();
  for (PlaceAttr place : sharersOf(cast<TreeType>(cell.getTree().getType()), cell.getPath()))
    if (together || place.getName() != update.getPath())
      all.push_back({op, cell.getTree(), place.getName(), cell.getCellCoordinates(),
                     op->getOperands().take_front(0), written, Value(), std::nullopt});
  return all;
}

Operation *MemoryAccess::inMemory() const {
  auto decode = dyn_cast<DecodeOp>(op);
  return decode ? decode.getBits().getDefiningOp() : op;
}

bool MemoryAccess::isLeast() const {
  using enum arith::AtomicRMWKind;
  return combined == minnumf || combined == minimumf;
}

bool MemoryAccess::isExtreme() const {
  using enum arith::AtomicRMWKind;
  return isLeast() || combined == maxnumf || combined == maximumf;
}

static constexpr StringLiteral localPrefix = "local.";

bool metate::isLocalArray(KernelOp kernel, Value base) {
  auto argument = dyn_cast<BlockArgument>(base);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return false;
  auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), mark::name);
  return name && name.getValue().starts_with(localPrefix) &&
         kernel.getArgAttr(argument.getArgNumber(), mark::result);
}

Value metate::addLocalArray(KernelOp kernel, ArrayRef<int64_t> shape, Type scalar) {
  Builder builder(kernel.getContext());
  unsigned number = kernel.getNumArguments();
  NamedAttrList attributes;
  attributes.set(mark::result, builder.getUnitAttr());
  attributes.set(mark::name, builder.getStringAttr(localPrefix + "gradient" + Twine(number)));
  if (!shape.empty())
    attributes.set(mark::element, builder.getDenseI64ArrayAttr(shape));
  LogicalResult done =
      kernel.insertArgument(number, MemRefType::get(shape, scalar),
                            attributes.getDictionary(kernel.getContext()), kernel.getLoc());
  assert(succeeded(done) && "a kernel may have one argument more");
  (void)done;
  return kernel.getArgument(number);
}

void metate::clear(OpBuilder &builder, Location loc, Value array) {
  auto type = cast<MemRefType>(array.getType());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  for (int64_t k = 0; k < type.getNumElements(); ++k) {
    SmallVector<Value> indices(type.getRank());
    int64_t rest = k;
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      indices[axis] = arith::ConstantIndexOp::create(builder, loc, rest % type.getDimSize(axis));
      rest /= type.getDimSize(axis);
    }
    memref::StoreOp::create(builder, loc, zero, array, indices);
  }
}

DerivativePlaces::DerivativePlaces(KernelOp kernel) {
  for (BlockArgument argument : llvm::to_vector(kernel.getArguments())) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !isa<FloatType>(type.getElementType()) || !isLocalArray(kernel, argument))
      continue;
    localArrays.push_back(addLocalArray(kernel, type.getShape(), type.getElementType()));
    places.push_back({argument, "", localArrays.back(), ""});
  }
  for (auto op : llvm::make_early_inc_range(kernel.getBody().getOps<DerivativeOp>())) {
    places.push_back({op.getPrimal(), op.getPrimalPath().str(), op.getDerivative(),
                      op.getDerivativePath().str()});
    op.erase();
  }
}

const DerivativePlaces::Place *DerivativePlaces::find(const MemoryAccess &access) const {
  const Place *found = llvm::find_if(places, [&](const Place &place) {
    return place.primal == access.base && place.path == access.path;
  });
  return found == places.end() ? nullptr : found;
}

bool DerivativePlaces::isDerivative(const MemoryAccess &access) const {
  return llvm::any_of(places, [&](const Place &place) {
    return place.derivative == access.base && place.derivativePath == access.path;
  });
}

bool DerivativePlaces::hasBelow(Value tree, const TreePath &path) const {
  return llvm::any_of(places, [&](const Place &place) {
    return place.primal == tree &&
           isBelow(*findPath(cast<TreeType>(tree.getType()), place.path), path);
  });
}

static SmallVector<Value> valuesAt(OperandRange range, DerivativePlaces::ValueAt at) {
  return llvm::map_to_vector(range, at);
}

static Value loadFrom(OpBuilder &builder, const MemoryAccess &access, Value base, StringRef path,
                      DerivativePlaces::ValueAt at) {
  SmallVector<Value> coordinates = valuesAt(access.coordinates, at);
  Location loc = access.op->getLoc();
  if (access.path.empty())
    return memref::LoadOp::create(builder, loc, base, coordinates);
  Type type = access.written ? access.written.getType() : access.result.getType();
  return LoadOp::create(builder, loc, type, base, path, coordinates,
                        valuesAt(access.components, at));
}

Value DerivativePlaces::load(OpBuilder &builder, const MemoryAccess &access, ValueAt at) const {
  const Place *place = find(access);
  return loadFrom(builder, access, place->derivative, place->derivativePath, at);
}

Value DerivativePlaces::loadPrimal(OpBuilder &builder, const MemoryAccess &access, ValueAt at) {
  return loadFrom(builder, access, access.base, access.path, at);
}

void DerivativePlaces::store(OpBuilder &builder, const MemoryAccess &access, Value value,
                             ValueAt at) const {
  const Place *place = find(access);
  SmallVector<Value> coordinates = valuesAt(access.coordinates, at);
  Location loc = access.op->getLoc();
  if (access.path.empty())
    memref::StoreOp::create(builder, loc, value, place->derivative, coordinates);
  else
    StoreOp::create(builder, loc, value, place->derivative,
                    builder.getStringAttr(place->derivativePath), coordinates,
                    valuesAt(access.components, at));
}

Value DerivativePlaces::combine(OpBuilder &builder, const MemoryAccess &access,
                                arith::AtomicRMWKind kind, Value value, ValueAt at) const {
  const Place *place = find(access);
  SmallVector<Value> coordinates = valuesAt(access.coordinates, at);
  Location loc = access.op->getLoc();
  if (access.path.empty())
    return memref::AtomicRMWOp::create(builder, loc, kind, value, place->derivative, coordinates);
  return AtomicOp::create(builder, loc, value.getType(),
                          arith::AtomicRMWKindAttr::get(builder.getContext(), kind), value,
                          place->derivative, builder.getStringAttr(place->derivativePath),
                          coordinates, valuesAt(access.components, at));
}

Value DerivativePlaces::take(OpBuilder &builder, const MemoryAccess &access,
                             ArrayRef<int64_t> position, ValueAt at) const {
  const Place *place = find(access);
  SmallVector<Value> coordinates = valuesAt(access.coordinates, at);
  SmallVector<Value> components = valuesAt(access.components, at);
  Location loc = access.op->getLoc();
  for (int64_t number : position)
    components.push_back(arith::ConstantIndexOp::create(builder, loc, number));
  Type scalar = getElementTypeOrSelf(access.written.getType());
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(scalar));
  auto kind = arith::AtomicRMWKind::assign;
  if (access.path.empty())
    return memref::AtomicRMWOp::create(builder, loc, kind, zero, place->derivative, coordinates);
  return AtomicOp::create(
      builder, loc, scalar, arith::AtomicRMWKindAttr::get(builder.getContext(), kind), zero,
      place->derivative, builder.getStringAttr(place->derivativePath), coordinates, components);
}
