// The JIT on a hand-written module: calls, many modules, removal, threads, targets that do not fit.
#include "Saxpy.h"

#include "metate/Emit/Emit.h"
#include "metate/Jit/Jit.h"
#include "metate/abi/module.h"

#include "llvm/ExecutionEngine/JITSymbol.h"
#include <chrono>
#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

using namespace metate;
using namespace metate::test;

static std::unique_ptr<JitModule> compiledBy(Jit &jit, const std::string &text,
                                             const char *cpu = "native") {
  Compiled compiled(text);
  llvm::cantFail(emitFor(*compiled.module, {cpu}));
  return llvm::cantFail(jit.add(*compiled.module, *named("native")));
}

/// y += a * x on a few values; true if the result is right.
static bool runsSaxpy(metate_entry entry, float a = 2, int64_t n = 37) {
  std::vector<float> x(n), y(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = float(i);
    y[i] = float(100 - i);
  }
  metate_slot slots[7] = {};
  slots[0].f = a;
  slots[1].p = x.data();
  slots[2].i = n;
  slots[4].p = y.data();
  slots[5].i = n;
  if (entry(slots, nullptr, nullptr) != METATE_OK)
    return false;
  for (int64_t i = 0; i < n; ++i)
    if (y[i] != float(100 - i) + a * float(i))
      return false;
  return true;
}

TEST(Jit, RunsAKernel) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> module = compiledBy(*jit, saxpyText);
  ASSERT_EQ(module->entries().size(), 1u);
  EXPECT_TRUE(runsSaxpy(module->entries()[0]));
  const auto *head = reinterpret_cast<const metate_descriptor *>(module->descriptor().data());
  EXPECT_EQ(head->magic, METATE_DESCRIPTOR_MAGIC);
  EXPECT_EQ(head->bytes, module->descriptor().size());
  ASSERT_EQ(head->variants.count, 1u);
  const auto *variant = reinterpret_cast<const metate_variant_info *>(module->descriptor().data() +
                                                                      head->variants.offset);
  EXPECT_EQ(variant->format, uint32_t(METATE_FORMAT_IN_MEMORY));
}

TEST(Jit, ModulesWithTheSameEntriesLiveSideBySideAndGoAlone) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> first = compiledBy(*jit, saxpyText, "x86-64");
  std::unique_ptr<JitModule> second = compiledBy(*jit, saxpyText, "x86-64");
  EXPECT_NE(first->entries()[0], second->entries()[0]);
  first.reset();
  EXPECT_TRUE(runsSaxpy(second->entries()[0]));
  jit.reset(); // what the module needs stays
  EXPECT_TRUE(runsSaxpy(second->entries()[0]));
}

TEST(Jit, ResolvesTheCLibrary) {
  std::string text = replaced(saxpyText, "llvm.func private @saxpy_body",
                              "llvm.func @ceilf(f32) -> f32\n  llvm.func private @saxpy_body");
  text = replaced(text, "llvm.store %sum,",
                  "%e = llvm.call @ceilf(%sum) : (f32) -> f32\n llvm.store %e,");
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> module = compiledBy(*jit, text, "x86-64");
  float x = 1, y = 0.5f;
  metate_slot slots[7] = {};
  slots[0].f = 0.25f;
  slots[1].p = &x;
  slots[2].i = 1;
  slots[4].p = &y;
  EXPECT_EQ(module->entries()[0](slots, nullptr, nullptr), METATE_OK);
  EXPECT_EQ(y, 1.0f);
}

TEST(Jit, IsThreadSafe) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k)
        right += runsSaxpy(compiledBy(*jit, saxpyText, "x86-64")->entries()[0], float(k));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 12);
}

TEST(Jit, RefusesAnotherArchitectureAndSeveralPayloads) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  Compiled foreign(saxpyText), two(saxpyText);
  llvm::cantFail(emitFor(*foreign.module, {"aarch64"}));
  EXPECT_NE(textOf(jit->add(*foreign.module, *named("native")).takeError())
                .find("the payload is for 'aarch64"),
            std::string::npos);
  const char *const targets[] = {"x86-64", "x86-64-v2"};
  llvm::cantFail(emitFor(*two.module, targets));
  EXPECT_NE(textOf(jit->add(*two.module, *named("native")).takeError()).find("one payload"),
            std::string::npos);
}

TEST(Jit, RefusesFeaturesThatTheMachineLacks) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  Compiled compiled(saxpyText);
  Machine machine = llvm::cantFail(parseMachine("x86-64-v4"));
  machine.features = "+amx-tile"; // no machine of the tests may use it without asking the system
  llvm::cantFail(emit(*compiled.module, machine));
  llvm::Expected<std::unique_ptr<JitModule>> module = jit->add(*compiled.module, *named("native"));
  if (llvm::is_contained(llvm::cantFail(machineFeatures(llvm::cantFail(resolveMachine({})))),
                         "amx-tile"))
    GTEST_SKIP() << "this machine has amx-tile";
  ASSERT_FALSE(bool(module));
  EXPECT_NE(textOf(module.takeError()).find("which this machine lacks"), std::string::npos);
}

TEST(Jit, DebuggersSeeItsCode) {
  struct Entry { // the debugger's JIT interface, GDB manual "JIT Interface"
    Entry *next, *previous;
    const char *file;
    uint64_t size;
  };
  struct Descriptor {
    uint32_t version, action;
    Entry *relevant, *first;
  };
  auto *descriptor = static_cast<Descriptor *>(dlsym(RTLD_DEFAULT, "__jit_debug_descriptor"));
  ASSERT_NE(descriptor, nullptr);
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> module = compiledBy(*jit, saxpyText, "x86-64");
  ASSERT_NE(descriptor->first, nullptr);
  EXPECT_NE(llvm::StringRef(descriptor->first->file, descriptor->first->size).find("saxpy.py"),
            llvm::StringRef::npos);
}

TEST(Jit, PrintsWhereTheTimeGoes) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto ms = [](auto from, auto to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };
  auto t0 = now();
  Compiled compiled(saxpyText);
  auto t1 = now();
  llvm::cantFail(emitFor(*compiled.module, {"native"}));
  auto t2 = now();
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  auto t3 = now();
  std::unique_ptr<JitModule> module = llvm::cantFail(jit->add(*compiled.module, *named("native")));
  auto t4 = now();
  std::printf("parse %.2f ms, emit %.2f ms, create %.2f ms, add %.2f ms\n", ms(t0, t1), ms(t1, t2),
              ms(t2, t3), ms(t3, t4));
  EXPECT_LT(ms(t0, t4), 1000);
}
