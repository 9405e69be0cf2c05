//===- Pools.cpp - the host's memory for a launch ---------------*- C++ -*-===//
//
// A pool's address is the entry's second argument's; a worker's part of one is as far behind it as the sizes of
// abi/metate/abi/pool.h say, which the host asks for.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/MapTasks.h"

#include "metate/Mutants/Mutants.h"
#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// metate_pool_bytes of the host, which has looked for overflow.
Value KernelMapping::poolBytes(Code &code, PoolOp pool, ArrayRef<unsigned> slots) {
  OpBuilder &builder = code.builder;
  Type i64 = builder.getI64Type();
  Value bytes = code.constant(pool.getScale(), 64);
  for (Value factor : pool.getFactors()) {
    unsigned slot = slots[cast<BlockArgument>(factor).getArgNumber()];
    Value number = code.load(i64, entry.getArgument(0), int64_t(sizeof(metate_slot)) * slot);
    number = LLVM::SMaxOp::create(builder, code.loc, number, code.constant(0, 64));
    bytes = LLVM::MulOp::create(builder, code.loc, bytes, number);
  }
  int64_t align = pool.getAlign();
  bytes =
      LLVM::AddOp::create(builder, code.loc, bytes, code.constant(pool.getBytes() + align - 1, 64));
  return LLVM::AndOp::create(builder, code.loc, bytes, code.constant(-align, 64));
}

/// "'copy', 'tile'", in the order of their numbers.
static std::string namesOf(ArrayRef<PoolOp> pools) {
  llvm::MapVector<uint64_t, StringRef> names;
  for (PoolOp pool : pools)
    names.insert({*pool.getIndex(), pool.getName()});
  std::string text;
  for (uint64_t k = 0; k < names.size(); ++k)
    text += (k ? ", '" : "'") + names.lookup(k).str() + "'";
  return text;
}

/// The module's function (host, text) -> i32: METATE_E_NULL, with the text for a host that asks for failures.
static LLVM::LLVMFuncOp refuseCall(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = IntegerType::get(context, 32);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, pointer});
  return target::helper(
      module, "metate_refuse_call", type, [&](LLVM::LLVMFuncOp function, Code &code) {
        OpBuilder &builder = code.builder;
        Block *begin = &function.getBody().front();
        auto block = [&] {
          return builder.createBlock(&function.getBody(), function.getBody().end());
        };
        Block *withHost = block(), *tell = block(), *done = block();
        builder.setInsertionPointToEnd(begin);
        Value host = function.getArgument(0), status = code.constant(METATE_E_NULL, 32);
        LLVM::CondBrOp::create(builder, code.loc, code.isNull(host), done, withHost);
        builder.setInsertionPointToEnd(withHost);
        Value failure = code.load(code.pointer(), host, offsetof(metate_host, failure));
        LLVM::CondBrOp::create(builder, code.loc, code.isNull(failure), done, tell);
        builder.setInsertionPointToEnd(tell);
        code.store(status, failure, offsetof(metate_failure, code));
        code.store(code.constant(METATE_NONE, 32), failure, offsetof(metate_failure, text));
        code.store(function.getArgument(1), failure, offsetof(metate_failure, detail));
        code.store(code.constant(0, 32), failure, offsetof(metate_failure, rank));
        LLVM::BrOp::create(builder, code.loc, done);
        builder.setInsertionPointToEnd(done);
        LLVM::ReturnOp::create(builder, code.loc, status);
      });
}

void KernelMapping::requirePools(Code &code) {
  SmallVector<PoolOp> pools;
  kernel.walk([&](PoolOp pool) { pools.push_back(pool); });
  if (pools.empty() || isMutant(Mutant::NoPoolsUnchecked))
    return;
  OpBuilder &builder = code.builder;
  std::string names = namesOf(pools);
  auto module = kernel->getParentOfType<ModuleOp>();
  StringRef name = kernel.getSymName();
  for (InterfaceOp interface : module.getOps<InterfaceOp>())
    if (interface.getEntry() == name)
      name = interface.getSymName();
  std::string text =
      "kernel '" + name.str() + "': pools: expected the addresses of " + names +
      ", got NULL: bring memory of the sizes that the module's header says, or launch it by "
      "metate_kernel_launch or metate_core_launch";
  LLVM::LLVMFuncOp refuse = refuseCall(module);
  Block *leave = builder.createBlock(&entry.getBody(), entry.getBody().end());
  Block *go = builder.createBlock(&entry.getBody(), entry.getBody().end());
  builder.setInsertionPointToEnd(current);
  auto branch =
      LLVM::CondBrOp::create(builder, code.loc, code.isNull(entry.getArgument(1)), leave, go);
  branch.setBranchWeights(ArrayRef<int32_t>{1, 1 << 20});
  builder.setInsertionPointToEnd(leave);
  Value status = LLVM::CallOp::create(
                     builder, code.loc, refuse,
                     ValueRange{entry.getArgument(2), target::textAddress(module, code, text)})
                     .getResult();
  LLVM::ReturnOp::create(builder, code.loc, status);
  current = go;
  builder.setInsertionPointToStart(current);
}

bool KernelMapping::mapPools(Code &code, ArrayRef<unsigned> slots) {
  SmallVector<PoolOp> pools;
  kernel.walk([&](PoolOp pool) { pools.push_back(pool); });
  bool isPerWorker = false;
  for (PoolOp pool : pools) {
    assert(pool.getIndex() && "metate-plan-pools gives pools their numbers");
    // An array of the machine's pointers, however large they are.
    Value place = LLVM::GEPOp::create(
        code.builder, code.loc, code.pointer(), code.pointer(), entry.getArgument(1),
        ArrayRef<LLVM::GEPArg>{int32_t(*pool.getIndex())}, LLVM::GEPNoWrapFlags::inbounds);
    Value start = code.load(code.pointer(), place, 0);
    if (pool.getOffset())
      start = LLVM::GEPOp::create(
          code.builder, code.loc, code.pointer(), code.builder.getI8Type(), start,
          ArrayRef<LLVM::GEPArg>{code.constant(int64_t(pool.getOffset()), 64)});
    Value address = fromLLVM(code, start, pool.getType());
    isPerWorker |= pool.getKind() == PoolKind::Worker;
    for (Operation *user : llvm::make_early_inc_range(pool->getUsers()))
      if (auto bytes = dyn_cast<PoolBytesOp>(user)) {
        bytes.replaceAllUsesWith(
            fromLLVM(code, poolBytes(code, pool, slots), code.builder.getIndexType()));
        bytes.erase();
      }
    pool.replaceAllUsesWith(address);
    pool.erase();
  }
  return isPerWorker;
}

/// At most as many workers as the host's pools are for: those that it says, and one where it says none.
Value KernelMapping::workersOfPools(Code &code, Value workers) {
  OpBuilder &builder = code.builder;
  Value host = entry.getArgument(2);
  host = LLVM::SelectOp::create(builder, code.loc, code.isNull(host),
                                noHost(kernel->getParentOfType<ModuleOp>(), code), host);
  Value most = code.load(builder.getI32Type(), host, offsetof(metate_host, max_workers));
  most = LLVM::UMaxOp::create(builder, code.loc, most, code.constant(1, 32));
  // No bound is 0, and the largest number when one is taken off.
  Value one = code.constant(1, 32);
  Value less =
      LLVM::UMinOp::create(builder, code.loc, LLVM::SubOp::create(builder, code.loc, most, one),
                           LLVM::SubOp::create(builder, code.loc, workers, one));
  return LLVM::AddOp::create(builder, code.loc, less, one);
}
