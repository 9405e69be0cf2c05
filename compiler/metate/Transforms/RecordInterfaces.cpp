//===- RecordInterfaces.cpp - a kernel as its host sees it ------*- C++ -*-===//
#include "metate/Dialect/Graph.h"
#include "metate/Mutants/Mutants.h"
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
  auto required = kernel.getArgAttrOfType<ArrayAttr>(number, mark::shape);
  int64_t accesses = access ? access.getInt() : 0;
  if (kernel.getArgAttr(number, mark::before))
    accesses |= METATE_ACCESS_BEFORE;
  std::string text = name ? name.str() : "arg" + std::to_string(number);
  auto make = [&](StringRef kind, Type scalar, ArrayRef<int64_t> shape, int64_t rank,
                  int64_t flags) {
    return ArgumentAttr::get(kernel.getContext(), text, kind, sign ? sign.getValue() : scalar,
                             shape, rank, accesses, flags, required);
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
  if (kernel.getArgAttr(number, mark::longExtents))
    flags |= METATE_ARGUMENT_LONG;
  if (kernel.getArgAttr(number, mark::besideMember) && !isMutant(Mutant::MembersOfAnyShape))
    flags |= METATE_ARGUMENT_MEMBER;
  return make("ndarray", array.getElementType(),
              element ? element.asArrayRef() : ArrayRef<int64_t>(), array.getRank(), flags);
}

static int64_t accessOf(KernelOp kernel, unsigned number) {
  auto access = kernel.getArgAttrOfType<IntegerAttr>(number, mark::access);
  return access ? access.getInt() : 0;
}

/// What a graph does with its arguments is what the kernels do that it runs.
static void takeAccess(KernelOp graph) {
  Builder builder(graph->getContext());
  graph.walk([&](RunOp run) {
    KernelOp node = kernelOf(run);
    for (auto [number, operand] : llvm::enumerate(run.getOperands()))
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && isa<TreeType, MemRefType>(argument.getType())) {
        unsigned own = argument.getArgNumber();
        int64_t access = accessOf(graph, own) | accessOf(node, number);
        graph.setArgAttr(own, mark::access, builder.getI64IntegerAttr(access));
      }
  });
}

/// Of a graph: those of the kernels that it runs, each as often as it is written.
static int64_t tasksOf(KernelOp kernel) {
  int64_t tasks = 0;
  kernel.walk([&](RunOp run) { tasks += tasksOf(kernelOf(run)); });
  if (isGraph(kernel))
    return tasks;
  return llvm::count_if(kernel.getBody().front(),
                        [](Operation &op) { return isa<RangeOp, CellsOp, SerialOp>(op); });
}

/// What a check says begins with the name of the kernel that it stands in, where that is not what hosts launch.
static void nameChecks(KernelOp node) {
  std::string name = shownName(node).str() + METATE_TEXT_KERNEL_END;
  node.walk([&](Operation *op) {
    if (auto assertion = dyn_cast<AssertOp>(op))
      assertion.setMessage(name + assertion.getMessage().str());
    else if (auto check = dyn_cast<CheckOp>(op))
      check.setWhat(name + check.getWhat().str());
  });
}

/// The symbol of the interface is the kernel's name; the kernel becomes the entry.
static void recordInterface(KernelOp kernel) {
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Attribute> arguments;
  for (unsigned k = 0; k < kernel.getArgumentTypes().size(); ++k)
    arguments.push_back(argumentOf(kernel, k));
  StringRef prefix = isGraph(kernel) ? StringRef(graphEntryPrefix) : "metate_entry_";
  std::string entry = (prefix + kernel.getSymName()).str();
  auto interface = InterfaceOp::create(builder, kernel.getLoc(), kernel.getSymName(), entry,
                                       builder.getArrayAttr(arguments), tasksOf(kernel),
                                       kernel.getMayAlias(), kernel.getDebug());
  if (Attribute documentation = kernel->removeAttr(mark::documentation))
    interface->setAttr(mark::documentation, documentation);
  SymbolTable::setSymbolName(kernel, entry);
}

namespace {
struct RecordInterfaces : metate::impl::RecordInterfacesBase<RecordInterfaces> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (isNode(kernel)) {
        nameChecks(kernel);
        continue;
      }
      takeAccess(kernel);
      recordInterface(kernel);
    }
  }
};
} // namespace
