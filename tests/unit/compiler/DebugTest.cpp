// Kernels that stop: a host asks them to, or debug mode does. From the import stage through the
// JIT to launches of the C API.
#include "metate/Dialect/Metate.h"
#include "metate/Jit/Jit.h"
#include "metate/Pipelines/Stages.h"
#include "metate/Target/Targets.h"
#include "metate/metate.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace metate;

// steps: prints and counts n times, in parallel. forever: prints, then spins. at: x[i] = 7.
static const char *const text = R"(
module {
  metate.kernel @steps(%n: i64 {metate.name = "n"}, %x: memref<?xi64> {metate.name = "x"}) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i64
    %first = arith.constant 1000 : index
    %end = arith.index_cast %n : i64 to index
    metate.range (%i) = (%c0) to (%end) {
      %is_first = arith.cmpi eq, %i, %first : index
      scf.if %is_first {
        metate.print ["here"] unsigned [] loc("k.py":4:1)
      } loc("k.py":4:1)
      %old = memref.atomic_rmw addi %one, %x[%c0] : (i64, memref<?xi64>) -> i64 loc("k.py":5:1)
      metate.yield loc("k.py":3:1)
    } loc("k.py":3:1)
    metate.return loc("k.py":2:1)
  } loc("k.py":2:1)
  metate.kernel @forever(%x: memref<?xi64> {metate.name = "x"}) {
    %true = arith.constant true
    metate.print ["here"] unsigned [] loc("k.py":12:1)
    scf.while : () -> () {
      scf.condition(%true) loc("k.py":13:1)
    } do {
      scf.yield loc("k.py":13:1)
    } loc("k.py":13:1)
    metate.return loc("k.py":11:1)
  } loc("k.py":11:1)
  metate.kernel @at(%i: i64 {metate.name = "i"}, %x: memref<?xi64> {metate.name = "x"}) {
    %seven = arith.constant 7 : i64
    %at = arith.index_cast %i : i64 to index
    memref.store %seven, %x[%at] : memref<?xi64> loc("k.py":22:5)
    metate.return loc("k.py":21:1)
  } loc("k.py":21:1)
} loc("k.py":1:1)
)";

namespace {
class DebugTest : public ::testing::Test {
protected:
  void open(bool debug, const metate_executor *executor = nullptr) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::DialectRegistry registry;
    registerDialects(registry);
    ownTargets().registerDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    CompileOptions options;
    options.debug = debug;
    options.targets.push_back(llvm::cantFail(ownTargets().parse("native")));
    if (llvm::Error error = runStages(*module, Stage::Import, Stage::Emit, options))
      FAIL() << llvm::toString(std::move(error));
    jit = llvm::cantFail(Jit::create());
    code = llvm::cantFail(jit->add(*module, *options.targets.front()));
    metate_print_sink sink{this, [](void *self, const char *, size_t) {
                             auto *test = static_cast<DebugTest *>(self);
                             std::atomic_ref(test->word).store(1, std::memory_order_relaxed);
                           }};
    metate_device_hooks hooks{sizeof hooks, 0, nullptr, executor, &sink};
    ASSERT_EQ(metate_device_open(&hooks, &device), METATE_OK);
    ASSERT_EQ(metate_module_open_static(device, code->descriptor().data(),
                                        code->descriptor().size(), code->entries().data(),
                                        uint32_t(code->entries().size()), &opened),
              METATE_OK)
        << metate_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(metate_module_close(opened), METATE_OK);
    EXPECT_EQ(metate_device_close(device), METATE_OK);
  }

  /// name(value, x) or name(x), with the word for interrupts.
  metate_status launch(const char *name, std::optional<int64_t> value = std::nullopt) {
    const metate_kernel *kernel = nullptr;
    EXPECT_EQ(metate_module_find_kernel(opened, name, &kernel), METATE_OK);
    const int64_t shape[1] = {4};
    metate_array array = {};
    array.data = x;
    array.dtype = METATE_I64;
    array.rank = 1;
    array.shape = shape;
    metate_argument arguments[2] = {};
    uint32_t count = 0;
    if (value) {
      arguments[count].kind = METATE_ARGUMENT_SCALAR;
      arguments[count].dtype = METATE_I64;
      arguments[count].rows = arguments[count].columns = 1;
      arguments[count++].value.bits = uint64_t(*value);
    }
    arguments[count].kind = METATE_ARGUMENT_NDARRAY;
    arguments[count++].value.array = &array;
    return metate_kernel_launch_interruptible(kernel, arguments, count, &word);
  }

  std::unique_ptr<Jit> jit;
  std::unique_ptr<JitModule> code;
  metate_device *device = nullptr;
  metate_module *opened = nullptr;
  uint32_t word = 0;
  int64_t x[4] = {};
};
} // namespace

TEST_F(DebugTest, aLoopWithoutAnExecutorEndsAtItsNextChunk) {
  open(false);
  EXPECT_EQ(launch("steps", 1000000), METATE_E_INTERRUPTED);
  EXPECT_EQ(metate_last_error(), std::string("kernel 'steps': interrupted"));
  EXPECT_EQ(x[0], 1000000 / 256) << "one of 256 chunks: iteration 1000 of the first asked";
  EXPECT_EQ(launch("steps", 1000000), METATE_E_INTERRUPTED);
  EXPECT_EQ(x[0], 1000000 / 256) << "the word is still set: nothing runs";
  word = 0;
  EXPECT_EQ(launch("steps", 900), METATE_OK) << "no one asks";
  EXPECT_EQ(x[0], 1000000 / 256 + 900);
}

TEST_F(DebugTest, anExecutorsChunksLookAtTheWord) {
  // Four chunks, of which the first asks for the end: the others must not run.
  metate_executor executor{nullptr,
                           [](void *, int64_t count, int64_t, uint32_t, metate_task_body body,
                              void *context) -> int32_t {
                             int32_t status = METATE_OK;
                             for (int64_t k = 0; k < 4; ++k)
                               if (int32_t code =
                                       body(context, count / 4 * k, count / 4 * (k + 1), 0))
                                 status = code;
                             return status;
                           },
                           /*worker_count=*/4, 0};
  open(false, &executor);
  EXPECT_EQ(launch("steps", 8000), METATE_E_INTERRUPTED);
  EXPECT_EQ(x[0], 2000);
}

TEST_F(DebugTest, aDebugKernelLeavesItsLoops) {
  open(true);
  EXPECT_EQ(launch("forever"), METATE_E_INTERRUPTED);
  EXPECT_EQ(launch("forever"), METATE_E_INTERRUPTED) << "at its first turn";
}

TEST_F(DebugTest, anotherThreadMayAsk) {
  open(true);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic_ref(word).store(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(launch("forever"), METATE_E_INTERRUPTED);
  other.join();
}

TEST_F(DebugTest, accessesOutsideAreNamed) {
  open(true);
  for (int64_t i : {4ll, -1ll, 4294967296ll}) {
    EXPECT_EQ(launch("at", i), METATE_E_OUT_OF_RANGE);
    EXPECT_EQ(metate_last_error(), "k.py:22:5: kernel 'at': index out of range: x[" +
                                       std::to_string(i) + "] of shape (4,)");
  }
  for (int64_t value : x)
    EXPECT_EQ(value, 0);
  EXPECT_EQ(launch("at", 3), METATE_OK);
  EXPECT_EQ(x[3], 7);
}

// A host without failure, interrupt, print and executor, and no host at all.
TEST_F(DebugTest, hooksMayBeAbsent) {
  open(true);
  const metate_kernel *kernel = nullptr;
  ASSERT_EQ(metate_module_find_kernel(opened, "at", &kernel), METATE_OK);
  metate_kernel_description info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(metate_kernel_describe(kernel, &info), METATE_OK);
  EXPECT_TRUE(info.flags & METATE_KERNEL_DEBUG);
  metate_entry entry = nullptr;
  ASSERT_EQ(metate_kernel_direct(kernel, info.signature, &entry), METATE_OK);
  metate_slot slots[4];
  slots[0].i = 4;
  slots[1].p = x;
  slots[2].i = 4;
  slots[3].i = 1;
  metate_host host = {};
  host.struct_size = sizeof host;
  EXPECT_EQ(entry(slots, nullptr, &host), METATE_E_OUT_OF_RANGE);
  EXPECT_EQ(entry(slots, nullptr, nullptr), METATE_E_OUT_OF_RANGE);
  slots[0].i = 2;
  EXPECT_EQ(entry(slots, nullptr, nullptr), METATE_OK);
  EXPECT_EQ(x[2], 7);
}
