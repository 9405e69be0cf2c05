//===- Bins.cpp - what a workgroup accumulates in its own memory -*- C++ -*-===//
//
// An atomic operation in the memory of a workgroup is done beside the invocation, one in global memory where all of the device meet. So what
// many invocations add to few numbers is added there first, and once a workgroup to its place.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/Bins.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Target/Grid/BinSpan.h"
#include "metate/Target/Grid/MapGrid.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

static LLVM::AtomicBinOp operationOf(arith::AtomicRMWKind kind) {
  using Kind = arith::AtomicRMWKind;
  switch (kind) {
  case Kind::addi:
    return LLVM::AtomicBinOp::add;
  case Kind::addf:
    return LLVM::AtomicBinOp::fadd;
  case Kind::mins:
    return LLVM::AtomicBinOp::min;
  case Kind::maxs:
    return LLVM::AtomicBinOp::max;
  case Kind::minu:
    return LLVM::AtomicBinOp::umin;
  case Kind::maxu:
    return LLVM::AtomicBinOp::umax;
  default:
    llvm_unreachable("a kind that metate-mark-bins marks");
  }
}

Type Bins::pointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, sharedSpace);
}

Bins::Bins(const target::LaunchedTask &task, KernelOp host, int64_t group) : group(group) {
  func::FuncOp function = task.function;
  Block &entry = function.getBody().front();
  function.walk([&](RmwOp rmw) {
    std::optional<BinSpan> span = BinSpan::of(rmw);
    auto argument = dyn_cast<BlockArgument>(rmw.getBlock());
    if (!span || !rmw.getOld().use_empty() || !argument || argument.getOwner() != &entry)
      return;
    // What only the launch knows would have to be read by an invocation that knows nothing of it.
    Value block = LaunchOp(task.launch).getCaptured()[argument.getArgNumber()];
    if (!isa<BlockArgument>(block) || block.getParentRegion() != &host.getBody())
      return;
    auto known = llvm::find_if(all, [&](const Bin &bin) {
      return bin.block == block && bin.begin == span->begin && bin.kind == rmw.getKind() &&
             bin.type == rmw.getValue().getType();
    });
    if (known == all.end()) {
      Type type = rmw.getValue().getType();
      int64_t bytes = type.getIntOrFloatBitWidth() / 8;
      all.push_back({block,
                     span->begin,
                     int64_t(rmw.getScope()),
                     end,
                     span->bytes / bytes,
                     rmw.getKind(),
                     type,
                     {}});
      end = int64_t(llvm::alignTo(end + span->bytes, 8));
      known = std::prev(all.end());
    }
    known->atomics.push_back(rmw);
  });
}

void Bins::enter(Code &code, ModuleOp module, int64_t phase) {
  OpBuilder &builder = code.builder;
  Value here =
      call(code, module, "metate_grid_phase", builder.getI32Type(), code.constant(phase, 32));
  here.getDefiningOp<LLVM::CallOp>().setConvergent(true);
  Value isHere =
      LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::ne, here, code.constant(0, 32));
  auto branch = scf::IfOp::create(builder, code.loc, isHere);
  builder.setInsertionPointToStart(branch.thenBlock());
}

void Bins::ofInvocation(Code &code, ModuleOp module, const Bin &bin, Value memory,
                        llvm::function_ref<void(Code &, Value, Value)> fill) const {
  OpBuilder &builder = code.builder;
  Location loc = code.loc;
  OpBuilder::InsertionGuard guard(builder);
  auto index = [&](Value value) { return target::fromLLVM(code, value, builder.getIndexType()); };
  Value own = call(code, module, "metate_grid_invocation", builder.getI64Type(), {});
  Value number = LLVM::URemOp::create(builder, loc, own, code.constant(group, 64));
  auto loop = scf::ForOp::create(builder, loc, index(number), index(code.constant(bin.count, 64)),
                                 index(code.constant(group, 64)));
  builder.setInsertionPointToStart(loop.getBody());
  Value offset =
      arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                            arith::ConstantIndexOp::create(builder, loc, bin.numberBytes()));
  Value bytes = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  Value from = LLVM::AddOp::create(builder, loc, bytes, code.constant(bin.at, 64));
  Value place = LLVM::GEPOp::create(builder, loc, pointer(builder.getContext()),
                                    builder.getI8Type(), memory, ArrayRef<LLVM::GEPArg>{from});
  fill(code, offset, place);
}

static Value neutral(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind, Type type) {
  return arith::ConstantOp::create(builder, loc, neutralOf(builder, loc, kind, type));
}

void Bins::clear(Code &code, ModuleOp module, Value memory) const {
  for (const Bin &bin : all)
    ofInvocation(code, module, bin, memory, [&](Code &at, Value, Value place) {
      Value value = neutral(at.builder, at.loc, bin.kind, bin.type);
      LLVM::StoreOp::create(at.builder, at.loc, value, place);
    });
}

void Bins::gather(Code &code, ModuleOp module, Value memory) const {
  for (const Bin &bin : all)
    ofInvocation(code, module, bin, memory, [&](Code &at, Value offset, Value place) {
      OpBuilder &builder = at.builder;
      Value value = LLVM::LoadOp::create(builder, at.loc, bin.type, place);
      Value none = neutral(builder, at.loc, bin.kind, bin.type);
      // Zeros of both signs are equal, and one of them is a sum.
      auto bits = [&](Value number) {
        return isa<FloatType>(bin.type) ? bitsOf(builder, at.loc, number) : number;
      };
      Value isSome =
          arith::CmpIOp::create(builder, at.loc, arith::CmpIPredicate::ne, bits(value), bits(none));
      auto branch = scf::IfOp::create(builder, at.loc, isSome);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value to = arith::AddIOp::create(builder, at.loc, offset,
                                       arith::ConstantIndexOp::create(builder, at.loc, bin.begin));
      RmwOp::create(builder, at.loc, bin.type, bin.kind, value, bin.block, to, bin.scope);
    });
}

void Bins::build(Code &code, ModuleOp module, llvm::function_ref<void(Value)> work) const {
  auto inPhase = [&](int64_t phase, llvm::function_ref<void(Value)> fill) {
    OpBuilder::InsertionGuard guard(code.builder);
    enter(code, module, phase);
    fill(call(code, module, "metate_grid_shared", pointer(code.builder.getContext()), {}));
  };
  if (!isMutant(Mutant::GridBinsNotCleared))
    inPhase(0, [&](Value memory) { clear(code, module, memory); });
  inPhase(1, [&](Value memory) {
    {
      OpBuilder::InsertionGuard guard(code.builder);
      work(memory);
    }
    if (isMutant(Mutant::GridBinsUnwaited))
      gather(code, module, memory);
  });
  if (!isMutant(Mutant::GridBinsUnwaited))
    inPhase(2, [&](Value memory) { gather(code, module, memory); });
}

void Bins::takeAtomics(Value memory) {
  for (Bin &bin : all)
    for (RmwOp rmw : bin.atomics) {
      OpBuilder builder(rmw);
      Location loc = rmw.getLoc();
      Value offset =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), rmw.getOffset());
      Value moved = LLVM::AddOp::create(builder, loc, offset,
                                        Code(builder, loc).constant(bin.at - bin.begin, 64));
      Value place = LLVM::GEPOp::create(builder, loc, pointer(builder.getContext()),
                                        builder.getI8Type(), memory, ArrayRef<LLVM::GEPArg>{moved});
      LLVM::AtomicRMWOp::create(builder, loc, operationOf(bin.kind), place, rmw.getValue(),
                                LLVM::AtomicOrdering::monotonic);
      rmw.erase();
    }
}
