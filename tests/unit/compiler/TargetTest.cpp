// Targets as an interface: names, a copy of the module for each, payloads together again, and families that the compiler
// does not have.
#include "null/Null.h"

#include "Saxpy.h"

#include "metate/Module/Module.h"
#include "metate/abi/pool.h"

#include "metate/Jit/Jit.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

// After import: a stencil over a sparse tree, of which a CPU stages its leaves in tiles.
static const char *const stencil = R"(
!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
module @stencil_module {
  metate.kernel @stencil(%f: !t {metate.name = "f"}, %x: memref<?xf32> {metate.name = "x"}) {
    metate.for_each (%i) in %f["a"] : !t {
      %one = arith.constant 1 : index
      %right = arith.addi %i, %one : index loc("k.py":3:1)
      %a = metate.load %f["a"][%right] : !t -> f32 loc("k.py":3:1)
      memref.store %a, %x[%i] : memref<?xf32> loc("k.py":3:1)
      metate.yield loc("k.py":2:1)
    } loc("k.py":2:1)
    metate.return loc("k.py":1:1)
  } loc("k.py":1:1)
} loc("k.py":1:1)
)";

namespace {
/// A family whose code is a few bytes that go into the file as they are: what a target without objects does.
struct BytesTarget : Target {
  using Target::Target;
  llvm::StringRef family() const override { return "bytes"; }
  LayoutTuning layoutTuning(const Options &) const override { return {}; }
  void buildMap(mlir::OpPassManager &, const Options &) const override {}
  std::string problemAfterMap(mlir::Operation *op) const override {
    return llvm::isa<KernelOp>(op) && name() == "bytes-strict" ? "expected no kernels" : "";
  }
  llvm::Error emit(mlir::ModuleOp module, const Options &) const override {
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
      if (!llvm::isa<InterfaceOp, NamedTypeOp, TextOp>(op))
        op.erase();
    auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
    if (name() == "bytes-frame") // keeps in memory what others have in registers
      for (InterfaceOp interface : module.getOps<InterfaceOp>())
        interface.setPoolsAttr(builder.getArrayAttr(
            PoolAttr::get(builder.getContext(), "frame", PoolKind::Launch, 64, 16, 0, {}, -1, "")));
    if (name() == "bytes-text")
      TextOp::create(builder, module.getLoc(), 0, "k.py", 1, 1, "a text of one target alone");
    mlir::Attribute object = builder.getDenseI8ArrayAttr({'c', 'o', 'd', 'e'});
    PayloadOp::create(builder, module.getLoc(), "payload0", "bytes", "bytes-unknown", "any", "",
                      builder.getArrayAttr(object), mlir::StringAttr());
    return llvm::Error::success();
  }
  bool isExternal(llvm::StringRef, Sanitizer) const override { return false; }
  llvm::Error verifyPayload(PayloadOp, llvm::ArrayRef<llvm::StringRef>) const override {
    return llvm::Error::success();
  }
  llvm::Expected<Variant> variantOf(PayloadOp payload) const override {
    return Variant{7, 0, 9, payload.getCpu().str(), "", payload.getTriple().str()};
  }
  llvm::Expected<std::string> makeSection(PayloadOp payload,
                                          const SectionRequest &request) const override {
    return payload.getObjectFiles().front().str() + "/" + std::to_string(request.entries.size());
  }
};

struct BytesFamily : TargetFamily {
  llvm::StringRef name() const override { return "bytes"; }
  llvm::StringRef expectedNames() const override { return "bytes"; }
  llvm::Expected<TargetPtr> parse(llvm::StringRef name) const override {
    return name.starts_with("bytes") ? std::make_shared<BytesTarget>(name) : TargetPtr();
  }
  llvm::Expected<TargetPtr> targetOf(PayloadOp) const override { return parse("bytes"); }
  void registerDialects(mlir::DialectRegistry &) const override {}
  void registerPasses() const override {}
};

TargetRegistry allTargets() {
  TargetRegistry registry = ownTargets();
  registry.add(createNullFamily());
  registry.add(std::make_unique<BytesFamily>());
  return registry;
}

CompileOptions optionsFor(std::initializer_list<const char *> names) {
  CompileOptions options;
  for (const char *name : names)
    options.targets.push_back(llvm::cantFail(allTargets().parse(name)));
  return options;
}

/// The module's text after stages, or "error: ...".
std::string ran(Stage to, const CompileOptions &options) {
  Compiled compiled(stencil);
  if (!compiled.module)
    return "error: does not parse";
  if (llvm::Error error = runStages(*compiled.module, Stage::Import, to, options))
    return "error: " + textOf(std::move(error));
  return dumpModule(*compiled.module, to, options);
}

std::string packedFor(std::initializer_list<const char *> names) {
  Compiled compiled(stencil);
  llvm::cantFail(runStages(*compiled.module, Stage::Import, Stage::Emit, optionsFor(names)));
  return llvm::cantFail(pack(*compiled.module, allTargets()));
}

std::string sectionOf(const std::string &carrier, unsigned index) {
  metate_section record;
  std::memcpy(&record, carrier.data() + sizeof(metate_carrier) + index * sizeof record,
              sizeof record);
  return carrier.substr(record.offset, record.bytes);
}
} // namespace

TEST(Targets, NamesAreEachFamilysOwn) {
  TargetRegistry registry = allTargets();
  EXPECT_EQ(llvm::cantFail(registry.parse("aarch64:cortex-a72"))->family(), "cpu");
  EXPECT_EQ(llvm::cantFail(registry.parse("x86-64-v3"))->name(), "x86-64-v3");
  EXPECT_EQ(llvm::cantFail(registry.parse(""))->name(), "native");
  EXPECT_EQ(llvm::cantFail(registry.parse("null"))->family(), "null");
  std::string wrong = textOf(registry.parse("x86-64-v9").takeError());
  EXPECT_NE(wrong.find("unknown target 'x86-64-v9'"), std::string::npos) << wrong;
  std::string unknown = textOf(registry.parse("abacus").takeError());
  EXPECT_NE(unknown.find("unknown target 'abacus'; expected native"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find(", null, bytes"), std::string::npos) << unknown;
}

TEST(Targets, TheNullTargetComesToEmitAndRefuses) {
  EXPECT_NE(ran(Stage::Map, optionsFor({"null"})).find("metate.kernel"), std::string::npos);
  EXPECT_EQ(ran(Stage::Emit, optionsFor({"null"})), "error: target 'null' emits no code");
  EXPECT_EQ(ran(Stage::Emit, optionsFor({"x86-64-v2", "null"})),
            "error: target 'null' emits no code");
}

TEST(Targets, ASecondFamilyGetsFunctionsOfUpstreamsDialectsAndOurs) {
  Compiled compiled(stencil);
  CompileOptions options = optionsFor({"null"});
  llvm::cantFail(runStages(*compiled.module, Stage::Import, Stage::Map, options));
  unsigned tasks = 0, ranges = 0, launches = 0;
  compiled.module->walk([&](mlir::Operation *op) {
    EXPECT_FALSE(llvm::isa<mlir::LLVM::LLVMDialect>(op->getDialect()))
        << op->getName().getStringRef().str();
    launches += llvm::isa<LaunchOp>(op);
    tasks += op->hasAttr(mark::task);
    if (auto range = llvm::dyn_cast<RangeOp>(op)) {
      ++ranges;
      EXPECT_TRUE(range->getParentOp()->hasAttr(mark::task));
    }
  });
  EXPECT_EQ(ranges, 1u);
  EXPECT_EQ(tasks, launches);
  // A dump of the functions reads back, for whoever goes on from there.
  std::string dump = dumpModule(*compiled.module, Stage::Map, options);
  Compiled again(dump.c_str());
  ASSERT_TRUE(again.module) << dump;
  EXPECT_EQ(dumpModule(*again.module, Stage::Map, options), dump);
}

TEST(Targets, WhatOneLeavesAfterMapIsForIt) {
  std::string text = ran(Stage::Map, optionsFor({"bytes-strict"}));
  EXPECT_NE(text.find("after stage map: expected no kernels"), std::string::npos) << text;
}

TEST(Targets, EachTunesLayout) {
  EXPECT_NE(ran(Stage::Layout, optionsFor({"x86-64-v3"})).find("memref.alloca"), std::string::npos);
  EXPECT_EQ(ran(Stage::Layout, optionsFor({"null"})).find("memref.alloca"), std::string::npos);
}

TEST(Targets, FromLayoutToMapAModuleIsOneTargets) {
  for (Stage stage : {Stage::Layout, Stage::Map}) {
    std::string text = ran(stage, optionsFor({"x86-64", "null"}));
    EXPECT_NE(text.find("is one target's: expected one target, got 2"), std::string::npos) << text;
  }
  Compiled compiled(saxpyText);
  std::string text = textOf(
      runStages(*compiled.module, Stage::Map, Stage::Emit, optionsFor({"x86-64", "x86-64-v3"})));
  EXPECT_NE(text.find("after stage map is one target's"), std::string::npos) << text;
  EXPECT_NE(ran(Stage::Offload, optionsFor({"x86-64", "null"})).find("metate.cells"),
            std::string::npos);
  EXPECT_EQ(ran(Stage::Emit, optionsFor({})), "error: expected at least one target");
}

TEST(Targets, PayloadsOfSeveralAreThoseOfEach) {
  std::string both = packedFor({"x86-64-v2", "x86-64-v3"});
  Compiled compiled(stencil);
  llvm::cantFail(runStages(*compiled.module, Stage::Import, Stage::Emit,
                           optionsFor({"x86-64-v2", "x86-64-v3"})));
  unsigned number = 0;
  for (PayloadOp payload : compiled.module->getOps<PayloadOp>()) {
    EXPECT_EQ(payload.getSymName(), "payload" + std::to_string(number));
    const char *name = number++ ? "x86-64-v3" : "x86-64-v2";
    EXPECT_EQ(payload.getCpu(), name);
    Compiled alone(stencil);
    llvm::cantFail(runStages(*alone.module, Stage::Import, Stage::Emit, optionsFor({name})));
    PayloadOp own = *alone.module->getOps<PayloadOp>().begin();
    EXPECT_TRUE(own.getObjects() == payload.getObjects() ||
                own.getObjectFiles() == payload.getObjectFiles());
  }
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(both, packedFor({"x86-64-v2", "x86-64-v3"}));
}

TEST(Targets, OfDifferentFamiliesShareAModule) {
  std::string carrier = packedFor({"x86-64-v2", "bytes"});
  EXPECT_EQ(sectionOf(carrier, 2), "code/1");
  EXPECT_EQ(sectionOf(carrier, 1).substr(0, 4), "\177ELF");
  Compiled compiled(stencil);
  llvm::cantFail(runStages(*compiled.module, Stage::Import, Stage::Emit, optionsFor({"bytes"})));
  std::string error = textOf(packStatic(*compiled.module, allTargets()).takeError());
  EXPECT_NE(error.find("is for 'bytes': make a .metate file"), std::string::npos) << error;
  error = textOf(pack(*compiled.module, ownTargets()).takeError());
  EXPECT_NE(error.find("is for 'bytes', a family of targets that"), std::string::npos) << error;
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  error = textOf(jit->add(*compiled.module, *named("native")).takeError());
  EXPECT_NE(error.find("expected a payload for 'cpu', got one for 'bytes'"), std::string::npos)
      << error;
}

TEST(Targets, MustDescribeAModuleAlike) {
  Compiled compiled(stencil);
  std::string error = textOf(
      runStages(*compiled.module, Stage::Import, Stage::Emit, optionsFor({"bytes", "bytes-text"})));
  EXPECT_NE(error.find("targets 'bytes' and 'bytes-text' describe the module differently"),
            std::string::npos)
      << error;
}

static std::vector<metate_pool_info> poolsFor(std::initializer_list<const char *> names) {
  std::string descriptor = sectionOf(packedFor(names), 0);
  metate_descriptor head;
  std::memcpy(&head, descriptor.data(), sizeof head);
  std::vector<metate_pool_info> pools(head.pools.count);
  if (!pools.empty())
    std::memcpy(pools.data(), descriptor.data() + head.pools.offset,
                pools.size() * sizeof(metate_pool_info));
  return pools;
}

TEST(Targets, PlanPoolsOfTheirOwn) {
  EXPECT_TRUE(poolsFor({"x86-64-v2", "bytes"}).empty());
  std::vector<metate_pool_info> one = poolsFor({"x86-64-v2", "bytes-frame"});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].variant, 1u);
  std::vector<metate_pool_info> same = poolsFor({"bytes-frame", "bytes-frame"});
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].variant, METATE_NONE);
}
