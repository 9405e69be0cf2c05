// Code that is compiled in parts, side by side: which modules are, the same bytes from any number of threads, parts
// that find one another.
#include "LongTasks.h"
#include "Saxpy.h"

#include "metate/Emit/Emit.h"
#include "metate/Emit/Parts.h"
#include "metate/Jit/Jit.h"

#include <dirent.h>
#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

static size_t partsOf(const std::string &text) {
  Compiled compiled(text);
  EXPECT_TRUE(bool(compiled.module));
  std::vector<CodePart> parts = splitCode(*compiled.module, {"metate_k_long", "metate_k_saxpy"});
  for (CodePart &part : parts)
    EXPECT_FALSE(part.code->getBody()->empty());
  return parts.size();
}

TEST(Parts, OnlyLongFunctionsAreApart) {
  EXPECT_EQ(partsOf(saxpyText), 1u);
  EXPECT_EQ(partsOf(longTasksText(2, 10)), 1u);
  EXPECT_EQ(partsOf(longTasksText(1)), 1u); // the entry is short and stays with it
  EXPECT_EQ(partsOf(longTasksText(2)), 2u);
  EXPECT_EQ(partsOf(longTasksText(5)), 5u);
  EXPECT_EQ(partsOf(longTasksText(12)), 8u);
}

TEST(Parts, AVariableIsNotDoubled) {
  EXPECT_EQ(partsOf(longTasksText(2, longTaskSteps,
                                  "  llvm.mlir.global internal @count(0 : i64) : i64\n")),
            1u);
}

TEST(Parts, AFunctionIsInOnePartAndExportedWhereAnotherNamesIt) {
  Compiled compiled(longTasksText(3));
  std::vector<CodePart> parts = splitCode(*compiled.module, {"metate_k_long"});
  ASSERT_EQ(parts.size(), 3u);
  std::vector<std::string> exported;
  for (CodePart &part : parts)
    for (llvm::StringRef name : part.exported) {
      exported.push_back(name.str());
      EXPECT_FALSE(part.code->lookupSymbol<mlir::LLVM::LLVMFuncOp>(name).isExternal());
    }
  // One task is in the entry's part, which alone names it.
  llvm::sort(exported);
  ASSERT_EQ(exported.size(), 3u);
  EXPECT_EQ(exported[0], "metate_k_long");
  EXPECT_TRUE(llvm::StringRef(exported[1]).starts_with("task"));
  EXPECT_NE(exported[1], exported[2]);
}

static std::string emitted(const std::string &text, unsigned threads, const char *cpu) {
  Compiled compiled(text);
  EmitOptions options;
  options.threads = threads;
  EXPECT_EQ(textOf(emit(*compiled.module, llvm::cantFail(parseMachine(cpu)), options)), "");
  EXPECT_EQ(textOf(verifyEmitted(*compiled.module)), "");
  PayloadOp payload = *compiled.module->getOps<PayloadOp>().begin();
  EXPECT_EQ(payload.getObjectFiles().size(), 5u);
  std::string dump;
  llvm::raw_string_ostream stream(dump);
  compiled.module->print(stream);
  return dump;
}

static size_t threadsOfProcess() {
  size_t count = 0;
  if (DIR *tasks = opendir("/proc/self/task")) {
    while (dirent *entry = readdir(tasks))
      count += entry->d_name[0] != '.';
    closedir(tasks);
  }
  return count;
}

TEST(Parts, ThreadsMakeNoDifferenceAndEnd) {
  size_t before = threadsOfProcess();
  for (const char *cpu : {"x86-64", "x86-64-v3", "aarch64"}) {
    std::string alone = emitted(longTasksText(5), 1, cpu);
    for (unsigned threads : {2u, 4u, 0u})
      EXPECT_TRUE(alone == emitted(longTasksText(5), threads, cpu)) << threads << " on " << cpu;
  }
  EXPECT_EQ(threadsOfProcess(), before);
}

TEST(Parts, FindOneAnotherInTheJit) {
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  for (const char *cpu : {"x86-64", "native"}) // f16 by our own functions; by instructions, mostly
    for (unsigned optLevel : {0u, 2u})
      for (int tasks : {1, 2, 5, 12}) {
        Compiled compiled(longTasksText(tasks));
        ASSERT_EQ(textOf(emitFor(*compiled.module, {cpu}, optimised(optLevel))), "");
        std::unique_ptr<JitModule> module =
            llvm::cantFail(jit->add(*compiled.module, *named("native")));
        EXPECT_TRUE(runsLongTasks(module->entries()[0], tasks)) << cpu << " " << tasks;
      }
}

TEST(Parts, AnErrorInAnyOfThemIsTold) {
  std::string text = longTasksText(5);
  text = replaced(text, "  llvm.func internal @task4(",
                  "  llvm.func @printf(!llvm.ptr)\n  llvm.func internal @task4(");
  std::string store = "    llvm.store %all, %to : i64, !llvm.ptr\n";
  text.insert(text.rfind(store), "    llvm.call @printf(%to) : (!llvm.ptr) -> ()\n");
  Compiled compiled(text);
  ASSERT_TRUE(bool(compiled.module));
  std::string error = textOf(emitFor(*compiled.module, {"x86-64"}));
  EXPECT_NE(error.find("undefined symbol 'printf'"), std::string::npos) << error;
  EXPECT_TRUE(compiled.module->getOps<PayloadOp>().empty());
}
