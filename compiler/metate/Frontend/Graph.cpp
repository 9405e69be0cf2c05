//===- Graph.cpp - kernels that run kernels ---------------------*- C++ -*-===//
#include "metate/Frontend/Graph.h"

#include "metate/Dialect/Graph.h"
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

static std::optional<DataType> resultOf(KernelOp kernel, unsigned number) {
  if (!kernel.getArgAttr(number, mark::result))
    return std::nullopt;
  auto array = cast<MemRefType>(kernel.getArgumentTypes()[number]);
  auto sign = kernel.getArgAttrOfType<TypeAttr>(number, mark::type);
  DataType scalar = fromMemberType(sign ? sign.getValue() : array.getElementType());
  return DataType(scalar.scalar, array.getShape());
}

std::vector<WrittenArgument> frontend::argumentsOf(SourceModule &module, StringRef name) {
  std::vector<WrittenArgument> found;
  auto kernel = module.op().lookupSymbol<KernelOp>(name);
  for (unsigned k = 0; kernel && k < kernel.getArgumentTypes().size(); ++k)
    found.push_back(
        {kernel.getArgAttrOfType<StringAttr>(k, mark::name).str(), resultOf(kernel, k)});
  return found;
}

void frontend::placePool(SourceModule &module, StringRef name, StringRef pool, StringRef memory,
                         const ProgramPlace &said) {
  auto kernel = module.op().lookupSymbol<KernelOp>(name);
  NamedAttrList places;
  if (auto known = kernel->getAttrOfType<DictionaryAttr>(mark::places))
    places = NamedAttrList(known);
  Builder builder(kernel.getContext());
  Attribute at = FileLineColLoc::get(kernel.getContext(), said.file, said.line, said.column);
  places.set(pool, builder.getArrayAttr({builder.getStringAttr(memory), at}));
  kernel->setAttr(mark::places, places.getDictionary(kernel.getContext()));
}

std::vector<std::pair<std::string, std::string>> frontend::plannedMemory(SourceModule &module) {
  std::vector<std::pair<std::string, std::string>> notes;
  for (InterfaceOp interface : module.op().getOps<InterfaceOp>())
    if (auto text = interface->getAttrOfType<StringAttr>(mark::documentation)) {
      StringRef last = text.getValue().rsplit('\n').second;
      last = last.empty() ? text.getValue() : last;
      if (last.starts_with(intermediatesNote))
        notes.emplace_back(interface.getSymName().str(), last.str());
    }
  return notes;
}

void KernelBuilder::makeNode() {
  SymbolTable::setSymbolVisibility(kernel, SymbolTable::Visibility::Private);
}

Reference KernelBuilder::localResult(const DataType &type) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  SmallVector<int64_t> shape(type.shape.begin(), type.shape.end());
  Type scalar = registerType(context(), type.scalar);
  Reference reference;
  reference.kind = Reference::Kind::Array;
  reference.whole = reference.type = type;
  // Without dimensions it would be a variable, which becomes a value.
  auto room = MemRefType::get(shape.empty() ? SmallVector<int64_t>{1} : shape, scalar);
  reference.base = memref::AllocaOp::create(builder, loc(), room);
  if (shape.empty())
    reference.base =
        memref::CollapseShapeOp::create(builder, loc(), MemRefType::get({}, scalar), reference.base,
                                        ArrayRef<ReassociationIndices>());
  return reference;
}

KernelArray KernelBuilder::intermediate(StringRef name, const DataType &element,
                                        ArrayRef<Attribute> shape) {
  SmallVector<int64_t> extents;
  SmallVector<Value> values;
  Block &body = kernel.getBody().front();
  for (Attribute extent : shape) {
    auto number = dyn_cast<IntegerAttr>(extent);
    extents.push_back(number ? number.getInt() : ShapedType::kDynamic);
    for (auto [k, attributes] : llvm::enumerate(argumentAttributes)) {
      auto own = cast<DictionaryAttr>(attributes).getAs<ArrayAttr>(mark::shape);
      auto *at = own ? llvm::find(own, extent) : nullptr;
      if (number || !own || at == own.end())
        continue;
      values.push_back(
          memref::DimOp::create(builder, loc(), body.getArgument(k), int64_t(at - own.begin())));
      break;
    }
  }
  extents.append(element.shape.begin(), element.shape.end());
  auto type = MemRefType::get(extents, registerType(context(), element.scalar));
  if (values.size() != size_t(llvm::count_if(shape, llvm::IsaPred<DimAttr>))) {
    problems.typeError("intermediate '" + name + "': a dim in its shape is no argument's");
    return {};
  }
  auto made =
      IntermediateOp::create(builder, loc(), type, builder.getStringAttr(name),
                             builder.getArrayAttr(shape), values, IntegerAttr(), IntegerAttr());
  return {made, element, unsigned(shape.size()), 0};
}

/// What users call the members of a tree, where a kernel says it and the graph does not.
static void takeMembers(DictionaryAttr from, Attribute &to) {
  auto members = from ? from.getAs<DictionaryAttr>(mark::members) : DictionaryAttr();
  if (!members)
    return;
  NamedAttrList all(cast<DictionaryAttr>(to)), own;
  if (auto known = dyn_cast_or_null<DictionaryAttr>(all.get(mark::members)))
    own = NamedAttrList(known);
  for (NamedAttribute member : members)
    if (!own.get(member.getName()))
      own.set(member.getName(), member.getValue());
  all.set(mark::members, own.getDictionary(to.getContext()));
  to = all.getDictionary(to.getContext());
}

void KernelBuilder::run(StringRef name, ArrayRef<Value> operands) {
  auto node = module.op().lookupSymbol<KernelOp>(name);
  if (!node) {
    problems.typeError("the module has no kernel '" + name + "'");
    return;
  }
  // Where a loop goes round, the host may end it.
  if (!frames.empty())
    PollOp::create(builder, loc());
  RunOp::create(builder, loc(), name, operands);
  for (auto [number, operand] : llvm::enumerate(operands))
    if (auto argument = dyn_cast<BlockArgument>(operand);
        argument && argument.getOwner() == &kernel.getBody().front())
      takeMembers(function_interface_impl::getArgAttrDict(node, number),
                  argumentAttributes[argument.getArgNumber()]);
}
