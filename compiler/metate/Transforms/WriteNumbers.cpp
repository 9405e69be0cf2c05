//===- WriteNumbers.cpp - which write a place holds the value of -*- C++ -*-===//
#include "metate/Transforms/WriteNumbers.h"
#include "metate/Dialect/Tree.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Checks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

SmallVector<Operation *> metate::numberedWrites(KernelOp kernel) {
  SmallVector<Operation *> found;
  kernel.walk([&](Operation *op) {
    auto writes = [](const MemoryAccess &access) { return access.writes(); };
    if (llvm::any_of(MemoryAccess::allOf(op), writes) || isa<DeactivateOp>(op))
      found.push_back(op);
  });
  return found;
}

WriteNumbers::WriteNumbers(KernelOp kernel) {
  for (auto op : llvm::make_early_inc_range(kernel.getBody().getOps<WrittenOp>())) {
    places.push_back({op.getPrimal(), op.getNumbers(), op.getCall()});
    op.erase();
  }
}

const WriteNumbers::Place *WriteNumbers::find(Value base) const {
  const Place *found = llvm::find_if(places, [&](auto &place) { return place.primal == base; });
  return found == places.end() ? nullptr : found;
}

Value WriteNumbers::number(OpBuilder &builder, Location loc, Value base, int64_t site) const {
  Value own = arith::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(std::min(site, sitesPerCall - 1)));
  return arith::AddIOp::create(builder, loc, find(base)->call, own);
}

void WriteNumbers::note(OpBuilder &builder, const MemoryAccess &write, int64_t site) const {
  Location loc = write.op->getLoc();
  Value numbers = numbersOf(write.base), value = number(builder, loc, write.base, site);
  if (auto vector = dyn_cast<VectorType>(write.written.getType()))
    value = vector::BroadcastOp::create(
        builder, loc, VectorType::get(vector.getShape(), builder.getI64Type()), value);
  auto kind = arith::AtomicRMWKind::maxs; // iterations that add to one place have no order
  if (write.path.empty() && write.combined)
    memref::AtomicRMWOp::create(builder, loc, kind, value, numbers, write.coordinates);
  else if (write.path.empty())
    memref::StoreOp::create(builder, loc, value, numbers, write.coordinates);
  else if (write.combined)
    AtomicOp::create(builder, loc, value.getType(),
                     arith::AtomicRMWKindAttr::get(builder.getContext(), kind), value, numbers,
                     builder.getStringAttr(write.path), write.coordinates, write.components);
  else
    StoreOp::create(builder, loc, value, numbers, builder.getStringAttr(write.path),
                    write.coordinates, write.components);
}

/// The greatest of what a read finds.
static Value greatestOf(OpBuilder &builder, Location loc, Value numbers) {
  if (!isa<VectorType>(numbers.getType()))
    return numbers;
  auto elements = vector::ToElementsOp::create(builder, loc, numbers).getElements();
  Value greatest = elements.front();
  if (!isMutant(Mutant::NumberOfOneComponent))
    for (Value element : elements.drop_front())
      greatest = arith::MaxSIOp::create(builder, loc, greatest, element);
  return greatest;
}

void WriteNumbers::check(OpBuilder &builder, KernelOp kernel, const MemoryAccess &read) const {
  Location loc = read.op->getLoc();
  const Place *place = find(read.base);
  Value found;
  if (read.path.empty()) {
    found = memref::LoadOp::create(builder, loc, place->numbers, read.coordinates);
  } else {
    Type type = builder.getI64Type();
    if (auto vector = dyn_cast<VectorType>(read.result.getType()))
      type = VectorType::get(vector.getShape(), type);
    found = LoadOp::create(builder, loc, type, place->numbers, builder.getStringAttr(read.path),
                           read.coordinates, read.components);
  }
  found = greatestOf(builder, loc, found);
  Value last = number(builder, loc, read.base, sitesPerCall - 1);
  Value isOwn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, found, last);
  ShownMember member = accessName(read.base, read.path);
  SmallVector<Value> shown = shownIndices(builder, loc, member, read.coordinates);
  std::string message =
      "gradient of kernel '" + kernel.getSymName().str() + "': the value of '" + member.name;
  for (auto [k, index] : llvm::enumerate(shown)) {
    message += k ? ", {}" : "[{}";
    index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  }
  message += shown.empty() ? "[None]" : "]";
  message += "' that is read here is needed again, and was overwritten since, by write {}";
  shown.push_back(found);
  AssertOp::create(builder, loc, isOwn, builder.getStringAttr(message),
                   builder.getDenseBoolArrayAttr(SmallVector<bool>(shown.size(), false)), shown);
}
