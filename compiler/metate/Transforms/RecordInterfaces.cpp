//===- RecordInterfaces.cpp - a kernel as its host sees it ------*- C++ -*-===//
#include "metate/Transforms/Passes.h"

#include "metate/abi/module.h"

namespace metate {
#define GEN_PASS_DEF_RECORDINTERFACES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

static ArgumentAttr argumentOf(KernelOp kernel, unsigned number) {
  Type type = kernel.getArgumentTypes()[number];
  auto name = kernel.getArgAttrOfType<StringAttr>(number, mark::name);
  auto sign = kernel.getArgAttrOfType<TypeAttr>(number, mark::type);
  auto element = kernel.getArgAttrOfType<DenseI64ArrayAttr>(number, mark::element);
  auto access = kernel.getArgAttrOfType<IntegerAttr>(number, mark::access);
  std::string text = name ? name.str() : "arg" + std::to_string(number);
  auto make = [&](StringRef kind, Type scalar, ArrayRef<int64_t> shape, int64_t rank,
                  int64_t flags) {
    return ArgumentAttr::get(kernel.getContext(), text, kind, sign ? sign.getValue() : scalar,
                             shape, rank, access ? access.getInt() : 0, flags);
  };
  if (isa<TreeType>(type))
    return make("tree", type, {}, 0, 0);
  if (auto vector = dyn_cast<VectorType>(type))
    return make("vector", vector.getElementType(), vector.getShape(), 0, 0);
  auto array = dyn_cast<MemRefType>(type);
  if (!array)
    return make("scalar", type, {}, 0, 0);
  int64_t flags = array.getLayout().isIdentity() ? METATE_ARGUMENT_CONTIGUOUS : 0;
  if (kernel.getArgAttr(number, mark::result))
    flags |= METATE_ARGUMENT_RESULT;
  return make("ndarray", array.getElementType(),
              element ? element.asArrayRef() : ArrayRef<int64_t>(), array.getRank(), flags);
}

/// The symbol of the interface is the kernel's name; the kernel becomes the entry.
static void recordInterface(KernelOp kernel) {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Attribute> arguments;
  for (unsigned k = 0; k < kernel.getArgumentTypes().size(); ++k)
    arguments.push_back(argumentOf(kernel, k));
  int64_t tasks = llvm::count_if(kernel.getBody().front(),
                                 [](Operation &op) { return isa<RangeOp, CellsOp, SerialOp>(op); });
  std::string entry = ("metate_entry_" + kernel.getSymName()).str();
  InterfaceOp::create(builder, kernel.getLoc(), kernel.getSymName(), entry,
                      builder.getArrayAttr(arguments), tasks, kernel.getMayAlias(),
                      kernel.getDebug());
  SymbolTable::setSymbolName(kernel, entry);
}

namespace {
struct RecordInterfaces : metate::impl::RecordInterfacesBase<RecordInterfaces> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      recordInterface(kernel);
  }
};
} // namespace
