//===- Kernel.cpp - the frame of a kernel: places, arguments ----*- C++ -*-===//
#include "metate/Frontend/KernelBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

KernelBuilder::KernelBuilder(SourceModule &module, StringRef name, const KernelOptions &options,
                             StringRef file, unsigned line, unsigned column)
    : module(module), settings(options), builder(module.context()),
      location(FileLineColLoc::get(module.context(), file, line, column)) {
  builder.setInsertionPointToEnd(module.op().getBody());
  kernel = KernelOp::create(builder, loc(), name, builder.getFunctionType({}, {}));
  if (options.mayAlias)
    kernel.setMayAlias(true);
  if (options.ordered)
    setMark(kernel, mark::ordered);
  Block *entry = &kernel.getBody().front();
  scopes.push_back(entry);
  builder.setInsertionPointToEnd(entry);
}

KernelBuilder::~KernelBuilder() = default;

void KernelBuilder::finish() {
  assert(frames.empty() && "a loop or branch is still open");
  ReturnOp::create(builder, kernel.getLoc());
  Block &entry = kernel.getBody().front();
  kernel.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  kernel.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
}

void KernelBuilder::abandon() {
  if (kernel)
    kernel.erase();
  kernel = {};
}

void KernelBuilder::setLocation(StringRef file, unsigned line, unsigned column) {
  Location place = FileLineColLoc::get(context(), file, line, column);
  location = callSites.empty() ? place : Location(CallSiteLoc::get(place, callSites.back()));
}

void KernelBuilder::enterCall() { callSites.push_back(location); }

void KernelBuilder::leaveCall() {
  location = callSites.back();
  callSites.pop_back();
}

Value KernelBuilder::addArgument(StringRef name, Type type, ArrayRef<NamedAttribute> extra) {
  SmallVector<NamedAttribute> attributes(extra);
  attributes.push_back(builder.getNamedAttr(mark::name, builder.getStringAttr(name)));
  DictionaryAttr added = builder.getDictionaryAttr(attributes);
  // Results stay last: arguments may be added while the body is being written.
  auto isResult = [](Attribute other) {
    return cast<DictionaryAttr>(other).contains(mark::result);
  };
  size_t at = argumentAttributes.size();
  if (!isResult(added))
    at = llvm::find_if(argumentAttributes, isResult) - argumentAttributes.begin();
  argumentAttributes.insert(argumentAttributes.begin() + at, added);
  return kernel.getBody().front().insertArgument(at, type, loc());
}

/// `metate.type`, where the signless type loses the sign.
static void addSign(OpBuilder &builder, Scalar scalar,
                    SmallVectorImpl<NamedAttribute> &attributes) {
  if (isInteger(scalar) && !isSigned(scalar))
    attributes.push_back(
        builder.getNamedAttr(mark::type, TypeAttr::get(signedType(builder.getContext(), scalar))));
}

KernelValue KernelBuilder::valueArgument(StringRef name, const DataType &type) {
  SmallVector<NamedAttribute> attributes;
  addSign(builder, type.scalar, attributes);
  return {addArgument(name, ir(type), attributes), type};
}

KernelArray KernelBuilder::arrayArgument(StringRef name, const DataType &element, unsigned rank,
                                         bool isContiguous, ArrayRef<Attribute> required,
                                         bool isBesideMember) {
  SmallVector<NamedAttribute> attributes;
  addSign(builder, element.scalar, attributes);
  if (!element.isScalar())
    attributes.push_back(
        builder.getNamedAttr(mark::element, builder.getDenseI64ArrayAttr(element.shape)));
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  for (auto [k, extent] : llvm::enumerate(required))
    if (auto number = dyn_cast<IntegerAttr>(extent); number && number.getInt() >= 0)
      shape[k] = number.getInt();
  uint32_t longAxes = 0;
  for (auto [k, extent] : llvm::enumerate(required)) {
    auto dim = dyn_cast<DimAttr>(extent);
    longAxes |= uint32_t((dim ? dim.getMax() : cast<IntegerAttr>(extent).getInt()) > INT32_MAX)
                << k;
  }
  if (!required.empty())
    attributes.push_back(builder.getNamedAttr(mark::shape, builder.getArrayAttr(required)));
  if (bitWidth(settings.defaultInteger) > 32) // the extents are numbers of that type
    attributes.push_back(builder.getNamedAttr(mark::longExtents, builder.getUnitAttr()));
  if (isBesideMember)
    attributes.push_back(builder.getNamedAttr(mark::besideMember, builder.getUnitAttr()));
  shape.append(element.shape.begin(), element.shape.end());
  MemRefLayoutAttrInterface layout;
  if (!isContiguous && !shape.empty())
    layout = StridedLayoutAttr::get(context(), 0,
                                    SmallVector<int64_t>(shape.size(), ShapedType::kDynamic));
  auto type = MemRefType::get(shape, registerType(context(), element.scalar), layout);
  return {addArgument(name, type, attributes), element, rank, longAxes};
}

Attribute KernelBuilder::extent(int64_t number) { return builder.getI64IntegerAttr(number); }

Attribute KernelBuilder::dim(StringRef name, int64_t min, int64_t max, int64_t multiple) {
  return DimAttr::get(context(), name, min, max, multiple);
}

KernelTree KernelBuilder::treeArgument(StringRef name, StringRef text) {
  std::string error;
  TreeType type = module.parseTree(text, error);
  if (!type) {
    fail("tree type of parameter '" + name + "': " + error);
    return {};
  }
  return {addArgument(name, type, {})};
}

void KernelBuilder::nameMember(const KernelTree &tree, StringRef member, StringRef shown,
                               ArrayRef<int64_t> offset) {
  Attribute &attributes = argumentAttributes[cast<BlockArgument>(tree.ir).getArgNumber()];
  NamedAttrList all(cast<DictionaryAttr>(attributes));
  NamedAttrList members;
  if (auto named = dyn_cast_or_null<DictionaryAttr>(all.get(mark::members)))
    members = NamedAttrList(named);
  members.set(member, builder.getDictionaryAttr(
                          {builder.getNamedAttr("name", builder.getStringAttr(shown)),
                           builder.getNamedAttr("offset", builder.getDenseI64ArrayAttr(offset))}));
  all.set(mark::members, members.getDictionary(context()));
  attributes = all.getDictionary(context());
}

Reference KernelBuilder::resultArgument(const DataType &type, StringRef name) {
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(mark::result, builder.getUnitAttr())};
  addSign(builder, type.scalar, attributes);
  SmallVector<int64_t> shape(type.shape.begin(), type.shape.end());
  Reference reference;
  reference.kind = Reference::Kind::Array;
  if (!type.isScalar())
    attributes.push_back(
        builder.getNamedAttr(mark::element, builder.getDenseI64ArrayAttr(type.shape)));
  auto memref = MemRefType::get(shape, registerType(context(), type.scalar));
  reference.base = addArgument(name, memref, attributes);
  reference.whole = reference.type = type;
  return reference;
}
