// Stage emit on a hand-written module: objects in, functions out, determinism, the allow-list.
#include "Saxpy.h"

#include "metate/Emit/Emit.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Machine.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

static std::string emitted(const std::string &text, const char *cpu, unsigned optLevel = 2) {
  Compiled compiled(text);
  EXPECT_TRUE(bool(compiled.module));
  if (llvm::Error error = emitFor(*compiled.module, {cpu}, optimised(optLevel)))
    return "error: " + textOf(std::move(error));
  std::string dump;
  llvm::raw_string_ostream stream(dump);
  compiled.module->print(stream);
  return dump;
}

TEST(Emit, ReplacesFunctionsByOnePayloadATarget) {
  Compiled compiled(saxpyText);
  ASSERT_TRUE(bool(compiled.module));
  const char *const targets[] = {"x86-64-v2", "x86-64-v4", "aarch64"};
  ASSERT_EQ(textOf(emitFor(*compiled.module, targets)), "");
  EXPECT_EQ(textOf(verifyEmitted(*compiled.module)), "");
  unsigned count = 0;
  for (PayloadOp payload : compiled.module->getOps<PayloadOp>()) {
    EXPECT_EQ(payload.getSymName(), "payload" + std::to_string(count));
    EXPECT_EQ(payload.getTriple(),
              count == 2 ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu");
    ++count;
  }
  EXPECT_EQ(count, 3u);
}

TEST(Emit, IsDeterministic) {
  EXPECT_EQ(emitted(saxpyText, "x86-64-v3"), emitted(saxpyText, "x86-64-v3"));
  EXPECT_NE(emitted(saxpyText, "x86-64-v3"), emitted(saxpyText, "x86-64-v2"));
}

TEST(Emit, RefusesSymbolsOutsideTheAllowList) {
  std::string text =
      replaced(saxpyText, "llvm.func private @saxpy_body",
               "llvm.func @printf(!llvm.ptr) -> i32\n  llvm.func private @saxpy_body");
  text = replaced(text,
                  "%status = llvm.call @saxpy_body(%slots, %zero64, %n, %zero) : (!llvm.ptr, i64, "
                  "i64, i32) -> i32",
                  "%status = llvm.call @printf(%slots) : (!llvm.ptr) -> i32");
  EXPECT_NE(emitted(text, "x86-64").find("undefined symbol 'printf'"), std::string::npos);
}

/// As bitcode: LLVM IR of a family's own tree protocol.
static std::string bitcodeOf(const char *text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(bool(module)) << diagnostic.getMessage().str();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module, stream);
  return bytes;
}

TEST(Emit, LinksTheTreeProtocolThatTheTargetBrings) {
  std::string text = replaced(saxpyText, "llvm.func private @saxpy_body",
                              "llvm.func @metate_rt_own(!llvm.ptr) -> i32\n"
                              "  llvm.func private @saxpy_body");
  text = replaced(text,
                  "%status = llvm.call @saxpy_body(%slots, %zero64, %n, %zero) : (!llvm.ptr, i64, "
                  "i64, i32) -> i32",
                  "%status = llvm.call @metate_rt_own(%slots) : (!llvm.ptr) -> i32");
  auto emittedWith = [&](llvm::StringRef bitcode) {
    Compiled compiled(text);
    EmitOptions options;
    options.treeProtocol = bitcode;
    return textOf(emit(*compiled.module, llvm::cantFail(parseMachine("x86-64-v3")), options));
  };
  EXPECT_NE(emittedWith("").find("the target brings no bitcode of the tree protocol"),
            std::string::npos);
  EXPECT_NE(emittedWith(bitcodeOf("define void @other() { ret void }"))
                .find("the tree protocol has no function 'metate_rt_own'"),
            std::string::npos);
  EXPECT_EQ(emittedWith(bitcodeOf("define i32 @metate_rt_own(ptr %x) { ret i32 7 }")), "");
  EXPECT_NE(emitted(text, "x86-64-v3").find("the tree protocol has no function 'metate_rt_own'"),
            std::string::npos);
}

TEST(Emit, TakesWhatAllPayloadsShareFromAnObject) {
  std::string text = replaced(saxpyText, "llvm.func private @saxpy_body",
                              "llvm.func @metate_rt_settle(!llvm.ptr, !llvm.ptr, i32)\n"
                              "  llvm.func private @saxpy_body");
  text = replaced(
      text, "%status = llvm.call @saxpy_body",
      "%level = llvm.mlir.constant(0 : i32) : i32\n"
      "llvm.call @metate_rt_settle(%slots, %slots, %level) : (!llvm.ptr, !llvm.ptr, i32) -> ()\n"
      "%status = llvm.call @saxpy_body");
  auto objects = [](const std::string &text, Sanitizer sanitizer, const char *target) {
    Compiled compiled(text);
    Options options = optimised(2);
    options.sanitizer = sanitizer;
    EXPECT_EQ(textOf(emitFor(*compiled.module, {target}, options)), "");
    EXPECT_EQ(textOf(verifyEmitted(*compiled.module)), "");
    return (*compiled.module->getOps<PayloadOp>().begin()).getObjectFiles().size();
  };
  EXPECT_EQ(objects(saxpyText, Sanitizer::None, "x86-64-v3"), 1u);
  EXPECT_EQ(objects(text, Sanitizer::None, "x86-64-v3"), 2u);
  EXPECT_EQ(objects(text, Sanitizer::None, "aarch64"), 2u);
  EXPECT_EQ(objects(text, Sanitizer::Thread, "x86-64-v3"),
            1u); // what it has not instrumented it does not see
}

TEST(Emit, RefusesAnInterfaceWithoutEntry) {
  std::string text = replaced(saxpyText, "entry \"metate_k_saxpy\"", "entry \"other\"");
  EXPECT_NE(emitted(text, "x86-64").find("entry 'other' is not defined"), std::string::npos);
}

TEST(Emit, LeavesTheModuleAloneOnFailure) {
  Compiled compiled(replaced(saxpyText, "entry \"metate_k_saxpy\"", "entry \"other\""));
  EXPECT_NE(textOf(emitFor(*compiled.module, {"x86-64"})), "");
  EXPECT_TRUE(compiled.module->getOps<PayloadOp>().empty());
  EXPECT_FALSE(compiled.module->getOps<mlir::LLVM::LLVMFuncOp>().empty());
}

TEST(Emit, CodeCarriesLinesOfTheSource) {
  for (unsigned optLevel : {0u, 2u}) {
    Compiled compiled(saxpyText);
    llvm::cantFail(emitFor(*compiled.module, {"x86-64"}, optimised(optLevel)));
    PayloadOp payload = *compiled.module->getOps<PayloadOp>().begin();
    llvm::StringRef bytes = payload.getObjectFiles().front();
    auto object = llvm::cantFail(
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "payload")));
    std::unique_ptr<llvm::DWARFContext> dwarf = llvm::DWARFContext::create(*object);
    ASSERT_EQ(dwarf->getNumCompileUnits(), 1u);
    const auto *table = dwarf->getLineTableForUnit(dwarf->getUnitAtIndex(0));
    ASSERT_NE(table, nullptr);
    bool found = false;
    for (const auto &row : table->Rows)
      found |=
          row.Line == 5 && table->Prologue.getFileNameEntry(row.File).Name.getAsCString().get() ==
                               llvm::StringRef("saxpy.py");
    EXPECT_TRUE(found) << "no code of saxpy.py:5 at -O" << optLevel;
  }
}

/// All symbols that an object leaves undefined.
static std::vector<std::string> undefinedOf(PayloadOp payload) {
  llvm::StringRef bytes = payload.getObjectFiles().front();
  auto object = llvm::cantFail(
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "payload")));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : object->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      names.push_back(llvm::cantFail(symbol.getName()).str());
  return names;
}

TEST(Emit, SanitizersSeeAccessesAndAtomics) {
  struct {
    Sanitizer sanitizer;
    const char *symbols[2];
  } cases[] = {{Sanitizer::Thread, {"__tsan_write4", "__tsan_atomic32_compare_exchange_val"}},
               {Sanitizer::Address, {"__asan_report_store4", "__asan_report_load4"}}};
  // A floating-point sum has no function of its own in ThreadSanitizer's runtime.
  std::string text =
      replaced(saxpyText, "%x_value = llvm.load %x_at : !llvm.ptr -> f32",
               "%x_value = llvm.atomicrmw fadd %x_at, %a monotonic : !llvm.ptr, f32");
  for (auto &[sanitizer, symbols] : cases)
    for (unsigned optLevel : {0u, 2u}) {
      Compiled compiled(text);
      Options options;
      options.sanitizer = sanitizer;
      options.optLevel = optLevel;
      ASSERT_EQ(textOf(emitFor(*compiled.module, {"x86-64"}, options)), "");
      EXPECT_EQ(textOf(verifyEmitted(*compiled.module)), "");
      PayloadOp payload = *compiled.module->getOps<PayloadOp>().begin();
      std::vector<std::string> names = undefinedOf(payload);
      for (const char *symbol : symbols)
        EXPECT_TRUE(llvm::is_contained(names, symbol)) << symbol << " at -O" << optLevel;
      // The same code is not allowed to a payload that does not say what it needs.
      payload.removeSanitizerAttr();
      EXPECT_NE(textOf(verifyEmitted(*compiled.module)).find("undefined symbol '__"),
                std::string::npos);
    }
}

TEST(Emit, WideAccessesAreRangesToThreadSanitizer) {
  std::string text = replaced(saxpyText, "%x_value = llvm.load %x_at : !llvm.ptr -> f32",
                              "%wide = llvm.load %x_at : !llvm.ptr -> vector<16xf32>\n"
                              "    llvm.store %wide, %y_at : vector<16xf32>, !llvm.ptr\n"
                              "    %x_value = llvm.load %x_at : !llvm.ptr -> f32");
  Compiled compiled(text);
  ASSERT_TRUE(bool(compiled.module));
  Options options;
  options.sanitizer = Sanitizer::Thread;
  ASSERT_EQ(textOf(emitFor(*compiled.module, {"x86-64-v4"}, options)), "");
  std::vector<std::string> names = undefinedOf(*compiled.module->getOps<PayloadOp>().begin());
  EXPECT_TRUE(llvm::is_contained(names, "__tsan_read_range"));
  EXPECT_TRUE(llvm::is_contained(names, "__tsan_write_range"));
}

TEST(Emit, ConstructorsAreNotMade) {
  for (Sanitizer sanitizer : {Sanitizer::Thread, Sanitizer::Address}) {
    Compiled compiled(saxpyText);
    Options options;
    options.sanitizer = sanitizer;
    llvm::cantFail(emitFor(*compiled.module, {"x86-64"}, options));
    PayloadOp payload = *compiled.module->getOps<PayloadOp>().begin();
    llvm::StringRef bytes = payload.getObjectFiles().front();
    auto object = llvm::cantFail(
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "payload")));
    for (const llvm::object::SectionRef &section : object->sections()) {
      llvm::StringRef name = llvm::cantFail(section.getName());
      EXPECT_FALSE(name.starts_with(".init_array") || name.starts_with(".ctors")) << name.str();
    }
  }
}

TEST(Machine, NamesAreRead) {
  EXPECT_EQ(llvm::cantFail(parseMachine("aarch64:cortex-a72")).cpu, "cortex-a72");
  EXPECT_EQ(llvm::cantFail(parseMachine("x86-64-v3")).cpu, "x86-64-v3");
}

TEST(Machine, CodeUsesOnlyFeaturesAHostCheckCanSee) {
  Machine target = llvm::cantFail(
      resolveMachine(llvm::cantFail(parseMachine("bdver4")))); // has fma4, xop, tbm, sse4a
  for (const char *hidden : {"-fma4", "-xop", "-tbm", "-sse4a"})
    EXPECT_NE(target.features.find(hidden), std::string::npos) << target.features;
  for (const std::string &name : llvm::cantFail(machineFeatures(target)))
    EXPECT_TRUE(name != "fma4" && name != "xop");
}

TEST(Externals, AreFoundByName) {
  for (const char *name : {"bcmp", "memcpy", "truncf", "fmod", "roundevenf"}) {
    const External *found = findExternal(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_STREQ(found->name, name);
  }
  EXPECT_EQ(findExternal("printf"), nullptr);
  EXPECT_EQ(findExternal("expf"), nullptr); // differs from library to library
  EXPECT_EQ(findExternal(""), nullptr);
  EXPECT_EQ(findExternal("zzz"), nullptr);
}
