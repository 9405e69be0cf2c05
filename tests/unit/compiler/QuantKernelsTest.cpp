// Kernels on quantised members, interpreted after each stage up to offload: all must leave the same bytes, and hosts read from
// these what the kernels meant.
#include "metate/Interp/Interpreter.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"
#include "metate/metate.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace metate;
using interp::Finding;

namespace {
/// The words of the tests: 5 + 4 + 11 + 12 bits; an exponent of 6 bits with 13, 13 and 20, and 12 beside; and elements.
const std::string words =
    "#metate.bit_struct<32, [#metate.place<\"x\" : !metate.quant_int<5, true, i32>, background = "
    "-3 : i32>, "
    "#metate.place<\"y\" : !metate.quant_int<4, false, ui32>>, "
    "#metate.place<\"z\" : !metate.quant_fixed<11, true, 1.0e-3, f32>, background = 0.5 : f32>, "
    "#metate.place<\"w\" : !metate.quant_float<5, 7, true, f32>>]>, "
    "#metate.place<\"plain\" : f32>, "
    "#metate.bit_struct<64, [#metate.shared_exponent<["
    "#metate.place<\"u\" : !metate.quant_float<6, 13, true, f32>>, "
    "#metate.place<\"v\" : !metate.quant_float<6, 13, true, f32>, background = 1.5 : f32>, "
    "#metate.place<\"s\" : !metate.quant_float<6, 20, false, f32>>]>, "
    "#metate.place<\"t\" : !metate.quant_int<12, true, i16>>]>";

std::string dense() { return "!metate.tree<#metate.dense<\"i\", [8], [" + words + "]>>"; }
std::string sparse() {
  return "!metate.tree<#metate.pointer<\"i\", [4], [#metate.dense<\"i\", [2], [" + words +
         ", #metate.quant_array<\"i\", [3], [#metate.place<\"n\" : !metate.quant_int<7, true, "
         "i32>, "
         "background = 5 : i32>], word = 16>]>]>>";
}
std::string elements() {
  return "!metate.tree<#metate.quant_array<\"ij\", [3, 7], [#metate.place<\"b\" : "
         "!metate.quant_fixed<10, false, 0.25, f64>, background = 1.0 : f64>], word = 32>>";
}

class QuantKernels : public testing::Test {
protected:
  QuantKernels() {
    context
        .loadDialect<MetateDialect, mlir::arith::ArithDialect, mlir::memref::MemRefDialect,
                     mlir::scf::SCFDialect, mlir::vector::VectorDialect, mlir::math::MathDialect>();
    EXPECT_EQ(metate_device_open(nullptr, &device), METATE_OK);
  }
  ~QuantKernels() override {
    forget();
    metate_device_close(device);
  }

  void forget() {
    if (tree)
      metate_tree_unbind(tree);
    if (type)
      metate_type_close(type);
    tree = nullptr;
    type = nullptr;
  }
  /// A fresh tree.
  void makeTree(const std::string &text) {
    forget();
    auto parsed = llvm::cast<TreeType>(mlir::parseType(text, &context));
    blob = llvm::cantFail(layout::treeTypeBlob(parsed));
    ASSERT_EQ(metate_type_open_blob(device, blob.data(), blob.size(), "t", &type), METATE_OK)
        << metate_last_error();
    ASSERT_EQ(metate_tree_new(type, nullptr, &tree), METATE_OK) << metate_last_error();
    info.struct_size = sizeof info;
    ASSERT_EQ(metate_tree_describe(tree, &info), METATE_OK);
  }

  using Module = mlir::OwningOpRef<mlir::ModuleOp>;
  /// A kernel @k of the tree %f.
  Module parse(const std::string &treeText, const std::string &body,
               const std::string &attributes = "", bool verified = true) {
    std::string text = "!tree = " + treeText +
                       "\nmetate.kernel @k(%f: !tree {metate.name = \"f\"})" + attributes + " {\n" +
                       body + "\n  metate.return\n}\n";
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context, verified));
    EXPECT_TRUE(bool(module)) << text;
    return module;
  }
  /// Of a module that has left the stage.
  static std::string descriptorOf(Module lowered, Stage stage) {
    llvm::cantFail(runStages(*lowered, stage, Stage::Offload, CompileOptions()));
    llvm::cantFail(recordInterfaces(*lowered));
    return llvm::cantFail(buildDescriptor(*lowered));
  }
  /// Runs the kernel on the tree that is there.
  int32_t launch(Module source, const std::string &descriptor, const interp::Checks &checks) {
    auto module =
        llvm::cantFail(interp::InterpretedModule::create(std::move(source), descriptor, checks));
    metate_slot slot = {};
    slot.p = info.block;
    int32_t status = module->launch(0, &slot, nullptr);
    findings = module->takeFindings();
    EXPECT_EQ(metate_tree_check(type, info.block, info.bytes), METATE_OK) << metate_last_error();
    return status;
  }
  /// As the kernel is after the stage.
  int32_t run(const std::string &treeText, const std::string &body, Stage stage,
              llvm::ArrayRef<const char *> checks = {}, bool stop = false) {
    Module source = parse(treeText, body);
    llvm::cantFail(runStages(*source, Stage::Import, stage, CompileOptions()));
    interp::Checks looked;
    for (const char *check : checks)
      EXPECT_TRUE(looked.set(check));
    looked.stop = stop;
    std::string descriptor = descriptorOf(source->clone(), stage);
    return launch(std::move(source), descriptor, looked);
  }
  /// On a fresh tree after each stage; what it leaves is the same.
  void runAfterAllStages(const std::string &treeText, const std::string &body) {
    std::string first;
    for (Stage stage : {Stage::Import, Stage::Simplify, Stage::Activate, Stage::Offload}) {
      SCOPED_TRACE(stageName(stage).str());
      makeTree(treeText);
      EXPECT_EQ(run(treeText, body, stage), METATE_OK);
      std::string bytes(static_cast<const char *>(info.block) + info.root_offset,
                        info.bytes - info.root_offset);
      bytes.resize(std::min<size_t>(bytes.size(), 4096)); // the rest is pools, which may be large
      if (stage == Stage::Import)
        first = bytes;
      EXPECT_EQ(bytes, first);
    }
  }

  template <typename Value> Value read(const char *member, llvm::ArrayRef<int64_t> at) {
    uint32_t level = 0;
    EXPECT_EQ(metate_type_find_member(type, member, &level), METATE_OK) << member;
    Value value = {};
    EXPECT_EQ(metate_tree_read(tree, level, at.data(), uint32_t(at.size()), &value, sizeof value),
              METATE_OK)
        << metate_last_error();
    return value;
  }
  int32_t integer(const char *member, int64_t at) { return read<int32_t>(member, {at}); }
  float number(const char *member, int64_t at) { return read<float>(member, {at}); }

  std::string found(llvm::StringRef kind) const {
    std::string all;
    for (const Finding &finding : findings)
      if (finding.kind == kind)
        all += finding.message + "\n";
    return all;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  metate_device *device = nullptr;
  std::string blob;
  metate_type *type = nullptr;
  metate_tree *tree = nullptr;
  metate_tree_description info = {};
  std::vector<Finding> findings;
};

/// Operations as the front end writes them; names of values count up.
class Body {
public:
  std::string text;

  std::string value(const std::string &made) {
    std::string name = "%v" + std::to_string(++count);
    text += "    " + name + " = " + made + "\n";
    return name;
  }
  std::string index(int64_t at) {
    return value("arith.constant " + std::to_string(at) + " : index");
  }
  std::string real(const std::string &number) {
    return value("arith.constant " + number + " : f32");
  }
  std::string whole(int64_t number) {
    return value("arith.constant " + std::to_string(number) + " : i32");
  }
  std::string encode(const std::string &of, const std::string &format, const std::string &types) {
    return value("metate.encode " + of + " as " + format + " : " + types);
  }
  void store(const std::string &bits, const std::string &member, const std::string &at,
             const std::string &scalar) {
    text += "    metate.store " + bits + ", %f[\"" + member + "\"][" + at + "] : " + scalar +
            ", !tree\n";
  }
  void storeX(const std::string &x, const std::string &at) {
    store(encode(x, intX, "i32 -> i5"), "x", at, "i5");
  }
  void storeY(const std::string &y, const std::string &at) {
    store(encode(y, intY, "i32 -> i4"), "y", at, "i4");
  }
  void storeZ(const std::string &z, const std::string &at) {
    store(encode(z, fixedZ, "f32 -> i11"), "z", at, "i11");
  }
  void storeW(const std::string &w, const std::string &at) {
    store(encode(w, floatW, "f32 -> i12"), "w", at, "i12");
  }
  std::string atomic(const std::string &kind, const std::string &bits, const std::string &member,
                     const std::string &at, const std::string &scalar,
                     const std::string &more = "") {
    return value("metate.atomic " + kind + " " + bits + ", %f[\"" + member + "\"][" + at + "]" +
                 more + " : " + scalar + ", !tree");
  }
  std::string update(const std::string &kind, const std::string &by, const std::string &member,
                     const std::string &at) {
    return value("metate.update " + kind + " " + by + ", %f[\"" + member + "\"][" + at +
                 "] : f32, !tree");
  }
  void loop(int64_t count, const Body &inner) {
    std::string zero = index(0), end = index(count);
    text += "    metate.range (%i) = (" + zero + ") to (" + end + ") {\n" + inner.text +
            "      metate.yield\n    }\n";
  }

  static constexpr const char *intX = "!metate.quant_int<5, true, i32>",
                              *intY = "!metate.quant_int<4, false, ui32>",
                              *fixedZ = "!metate.quant_fixed<11, true, 1.0e-3, f32>",
                              *floatW = "!metate.quant_float<5, 7, true, f32>",
                              *sharedU = "!metate.quant_float<6, 13, true, f32>";
  explicit Body(int count = 0) : count(count) {}

private:
  int count;
};

TEST_F(QuantKernels, IterationsWriteMembersOfOneWord) { // QV5
  Body inner(100), body;
  std::string i = inner.value("arith.index_cast %i : index to i32");
  std::string half = inner.value("arith.shrsi " + i + ", " + inner.whole(1) + " : i32");
  std::string cell = inner.value("arith.index_cast " + half + " : i32 to index");
  std::string odd = inner.value("arith.trunci " + i + " : i32 to i1");
  inner.text += "scf.if " + odd + " {\n";
  inner.storeX(inner.value("arith.subi " + half + ", " + inner.whole(4) + " : i32"), cell);
  inner.text += "} else {\n";
  inner.storeY(inner.value("arith.addi " + half + ", " + inner.whole(8) + " : i32"), cell);
  std::string real = inner.value("arith.sitofp " + half + " : i32 to f32");
  inner.storeW(inner.value("arith.divf " + real + ", " + inner.real("-3.0") + " : f32"), cell);
  inner.text += "}\n";
  body.loop(16, inner);
  runAfterAllStages(dense(), body.text);
  for (int64_t k = 0; k < 8; ++k) {
    EXPECT_EQ(integer("x", k), k - 4);
    EXPECT_EQ(integer("y", k), k + 8);
    EXPECT_EQ(number("z", k), 0.5f); // the background, where nothing was written
    EXPECT_NEAR(number("w", k), double(k) / -3, double(k) / 3 / 128);
    EXPECT_EQ(number("v", k), 1.5f);
  }
}

TEST_F(QuantKernels, LoadsGiveWhatTheBitsMean) { // QV1, QV2, QV3
  Body body;
  std::string at = body.index(3), to = body.index(4);
  body.storeX(body.whole(-11), at);
  body.storeZ(body.real("0.1234"), at);
  body.storeW(body.real("3.1415926"), at);
  std::string x =
      body.value("metate.decode " + body.value("metate.load %f[\"x\"][" + at + "] : !tree -> i5") +
                 " as " + Body::intX + " : i5 -> i32");
  std::string z =
      body.value("metate.decode " + body.value("metate.load %f[\"z\"][" + at + "] : !tree -> i11") +
                 " as " + Body::fixedZ + " : i11 -> f32");
  std::string w =
      body.value("metate.decode " + body.value("metate.load %f[\"w\"][" + at + "] : !tree -> i12") +
                 " as " + Body::floatW + " : i12 -> f32");
  std::string sum = body.value("arith.addf " + z + ", " + w + " : f32");
  std::string real = body.value("arith.sitofp " + x + " : i32 to f32");
  body.store(body.value("arith.addf " + sum + ", " + real + " : f32"), "plain", to, "f32");
  runAfterAllStages(dense(), body.text);
  EXPECT_EQ(integer("x", 3), -11);
  EXPECT_EQ(number("z", 3), 123 * 0.001f);
  EXPECT_EQ(number("w", 3), 3.15625f); // six digits behind the first one
  EXPECT_EQ(number("plain", 4), 123 * 0.001f + 3.15625f - 11);
}

TEST_F(QuantKernels, AtomicsOfBitsWrap) { // QV6
  Body body;
  std::string at = body.index(2);
  auto x = [&](int64_t number) { return body.encode(body.whole(number), Body::intX, "i32 -> i5"); };
  auto z = [&](const char *number) {
    return body.encode(body.real(number), Body::fixedZ, "f32 -> i11");
  };
  std::string old = body.atomic("addi", x(20), "x", at, "i5"); // -3 + 20 = 17
  std::string shown = body.value("metate.decode " + old + " as " + Body::intX + " : i5 -> i32");
  body.store(body.value("arith.sitofp " + shown + " : i32 to f32"), "plain", at, "f32");
  body.atomic("addi", z("0.6"), "z", at, "i11"); // 0.5 + 0.6 = 1.1
  std::string next = body.index(3);
  body.atomic("mins", z("-0.25"), "z", next, "i11");
  body.atomic("maxs", x(-7), "x", next, "i5");
  runAfterAllStages(dense(), body.text);
  EXPECT_EQ(integer("x", 2), 17 - 32);
  EXPECT_EQ(number("plain", 2), -3.0f);
  EXPECT_EQ(number("z", 2), (1100 - 2048) * 0.001f);
  EXPECT_EQ(number("z", 3), -250 * 0.001f);
  EXPECT_EQ(integer("x", 3), -3);
}

TEST_F(QuantKernels, UpdatesRoundEachTime) { // QV6
  Body inner(100), body;
  inner.update("addf", inner.real("1.0"), "w", inner.index(5));
  body.loop(500, inner);
  body.update("mulf", body.real("0.333"), "z", body.index(1));
  std::string old = body.update("assign", body.real("9.0"), "w", body.index(1));
  body.store(old, "plain", body.index(1), "f32");
  runAfterAllStages(dense(), body.text);
  EXPECT_EQ(number("w", 5), 256.0f); // from there on the next one is 260
  EXPECT_EQ(number("z", 1), 167 * 0.001f);
  EXPECT_EQ(number("w", 1), 9.0f);
  EXPECT_EQ(number("plain", 1), 0.0f);
}

TEST_F(QuantKernels, AStoreOfOneIsAStoreOfAllThatShareItsExponent) { // QV4
  Body body;
  std::string at = body.index(6);
  body.update("assign", body.real("0.3"), "u", at);
  body.update("assign", body.real("-1000.0"), "v", at);
  body.update("addf", body.real("0.7"), "s", at);
  std::string bits = body.value("metate.load_shared %f[\"u\"][" + at + "] : !tree -> i19");
  body.store(body.value("metate.decode " + bits + " as " + std::string(Body::sharedU) +
                        " shared : i19 -> f32"),
             "plain", at, "f32");
  runAfterAllStages(dense(), body.text);
  EXPECT_EQ(number("v", 6), -1000.0f);
  EXPECT_EQ(number("u", 6), 0.25f); // twelve digits of 1000: steps of a quarter
  EXPECT_EQ(number("plain", 6), 0.25f);
  EXPECT_NEAR(number("s", 6), 0.7f, 1.0 / 1024);
  EXPECT_EQ(read<int16_t>("t", {6}), 0);
  EXPECT_EQ(number("v", 5), 1.5f);
}

TEST_F(QuantKernels, ElementsOfAWordAreMembersOfTheirOwn) {
  Body inner(100), body;
  std::string i = inner.value("arith.index_cast %i : index to i32");
  std::string real = inner.value("arith.sitofp " + i + " : i32 to f64");
  std::string bits = inner.encode(real, "!metate.quant_fixed<10, false, 0.25, f64>", "f64 -> i10");
  inner.text += "metate.store " + bits + ", %f[\"b\"][" + inner.index(1) + ", %i] : i10, !tree\n";
  body.loop(6, inner);
  runAfterAllStages(elements(), body.text);
  for (int64_t j = 0; j < 7; ++j) {
    EXPECT_EQ(read<double>("b", {1, j}), j < 6 ? double(j) : 1.0);
    EXPECT_EQ(read<double>("b", {0, j}), 1.0);
    EXPECT_EQ(read<double>("b", {2, j}), 1.0);
  }
}

TEST_F(QuantKernels, CellsComeWithBackgroundInAllWords) {
  Body body;
  std::string at = body.index(3);
  body.storeY(body.whole(9), at);
  std::string n = body.encode(body.whole(-60), "!metate.quant_int<7, true, i32>", "i32 -> i7");
  body.store(n, "n", body.index(11), "i7");
  runAfterAllStages(sparse(), body.text);
  EXPECT_EQ(integer("y", 3), 9);
  EXPECT_EQ(integer("x", 3), -3);
  EXPECT_EQ(number("z", 2), 0.5f);
  EXPECT_EQ(number("v", 2), 1.5f);
  EXPECT_EQ(integer("n", 11), -60);
  EXPECT_EQ(integer("n", 10), 5);
  EXPECT_EQ(integer("n", 22), 5); // of a cell that is not active
  EXPECT_EQ(number("v", 7), 1.5f);
}

TEST_F(QuantKernels, CellsThatAreGivenUpAreBackgroundAgain) {
  Body body;
  std::string at = body.index(3);
  body.storeX(body.whole(9), at);
  body.update("assign", body.real("1000.0"), "u", at);
  body.text += "metate.deactivate %f[\"x\"][" + at + "] : !tree\n";
  body.storeY(body.whole(2), at);
  runAfterAllStages(sparse(), body.text);
  EXPECT_EQ(integer("x", 3), -3);
  EXPECT_EQ(integer("y", 3), 2);
  EXPECT_EQ(number("u", 3), 0.0f);
  EXPECT_EQ(number("v", 3), 1.5f);
}

TEST_F(QuantKernels, TheCheckTellsWhatDoesNotFit) {
  Body body;
  std::string at = body.index(2);
  int line = 0;
  auto here = [&] { // findings are told apart by their places
    size_t end = body.text.rfind('\n');
    body.text.insert(end, " loc(\"a.py\":" + std::to_string(++line) + ":1)");
  };
  body.storeX(body.whole(15), at);
  body.storeX(body.whole(20), at), here();
  body.storeY(body.whole(-1), at), here();
  body.storeZ(body.real("1.5"), at), here();
  body.storeW(body.real("1.0e9"), at), here();
  body.storeZ(body.real("0x7FC00000"), at), here();
  std::string x = body.encode(body.whole(-7), Body::intX, "i32 -> i5");
  body.atomic("addi", x, "x", at, "i5", " {metate.subtracts}"), here();
  body.atomic("addi", body.encode(body.real("0.03"), Body::fixedZ, "f32 -> i11"), "z",
              body.index(4), "i11");
  body.atomic("addi", body.encode(body.real("0.6"), Body::fixedZ, "f32 -> i11"), "z", body.index(4),
              "i11"),
      here();
  body.update("addf", body.real("1.0e12"), "v", at), here();
  makeTree(dense());
  EXPECT_EQ(run(dense(), body.text, Stage::Import), METATE_OK);
  EXPECT_EQ(findings.size(), 0u);
  makeTree(dense());
  EXPECT_EQ(run(dense(), body.text, Stage::Import, {"quant-range"}), METATE_OK);
  EXPECT_EQ(
      found("quant-range"),
      "20 does not fit quant.int(5) and becomes -12\n"
      "4294967295 does not fit quant.int(4, signed=False) and becomes 15\n"
      "1.5 does not fit quant.fixed(11, scale=0.001) and becomes -0.54800004\n"
      "1e+09 does not fit quant.float(5, 7) and becomes 130048\n"
      "nan does not fit quant.fixed(11, scale=0.001) and becomes 0\n"
      "-12 - 7 is -19, which does not fit quant.int(5) and becomes 13\n"
      "0.53 + 0.6 is 1.13, which does not fit quant.fixed(11, scale=0.001) and becomes -0.918\n"
      "1e+12 does not fit quant.float(6, 13) and becomes 8.5878374e+09\n");
  EXPECT_EQ(run(dense(), body.text, Stage::Import, {"quant-range"}, /*stop=*/true),
            METATE_E_ASSERT);
}

TEST_F(QuantKernels, MessagesShowValues) {
  Body inner(100), body;
  std::string i = inner.value("arith.index_cast %i : index to i32");
  std::string real = inner.value("arith.sitofp " + i + " : i32 to f32");
  inner.storeZ(inner.value("arith.mulf " + real + ", " + inner.real("0.125") + " : f32"),
               inner.index(1));
  body.loop(3, inner);
  makeTree(dense());
  EXPECT_EQ(run(dense(), body.text, Stage::Import, {"conflict"}), METATE_OK);
  EXPECT_NE(found("conflict")
                .find("conflicting writes of f.z[1]: 0.125 in iteration (1), 0 in iteration (0)"),
            std::string::npos)
      << found("conflict");
  Body reads;
  reads.value("metate.load %f[\"z\"][" + reads.index(1) + "] : !tree -> i11");
  reads.value("metate.load_shared %f[\"v\"][" + reads.index(1) + "] : !tree -> i19");
  makeTree(sparse());
  EXPECT_EQ(run(sparse(), reads.text, Stage::Import, {"inactive-read"}), METATE_OK);
  EXPECT_NE(found("inactive-read").find("f.z[1] reads as 0.5, the background"), std::string::npos);
}

TEST_F(QuantKernels, AMemberThatSharesItsExponentIsUnwrittenUntilItsValueIsWritten) {
  Body body;
  std::string at = body.index(1);
  body.update("assign", body.real("100.0"), "u", at);
  body.value("metate.load_shared %f[\"v\"][" + at + "] : !tree -> i19");
  makeTree(sparse());
  EXPECT_EQ(run(sparse(), body.text, Stage::Import, {"unwritten-read"}), METATE_OK);
  EXPECT_NE(found("unwritten-read").find("f.v[1] reads as 1.5, the background"), std::string::npos);
}

TEST_F(QuantKernels, SumsOfRoundedNumbersMayDependOnTheirOrder) {
  Body inner(100), body;
  std::string i = inner.value("arith.index_cast %i : index to i32");
  std::string real = inner.value("arith.sitofp " + i + " : i32 to f32");
  inner.update("addf", inner.value("arith.mulf " + real + ", " + inner.real("0.37") + " : f32"),
               "w", inner.index(0));
  inner.update("addf", real, "u", inner.index(0));
  body.loop(20, inner);
  makeTree(dense());
  EXPECT_EQ(run(dense(), body.text, Stage::Import, {"order", "conflict"}), METATE_OK);
  EXPECT_EQ(findings.size(), 0u) << found("order");
}

// What the interpreter says of it; the compiler does not write such derivatives, and the verifier refuses them.
TEST_F(QuantKernels, DerivativesPassThroughBits) {
  std::string text = "!metate.tree<#metate.dense<\"i\", [2], [#metate.bit_struct<32, ["
                     "#metate.place<\"x\" : !metate.quant_fixed<11, true, 1.0e-3, f32>>, "
                     "#metate.place<\"y\" : !metate.quant_float<5, 7, true, f32>>]>, "
                     "#metate.place<\"dx\" : f32>, #metate.place<\"dy\" : f32>]>>";
  Body body;
  std::string at = body.index(1);
  body.text += "metate.derivative %f[\"x\"], %f[\"dx\"] : !tree, !tree\n"
               "metate.derivative %f[\"y\"], %f[\"dy\"] : !tree, !tree\n";
  std::string x =
      body.value("metate.decode " + body.value("metate.load %f[\"x\"][" + at + "] : !tree -> i11") +
                 " as " + Body::fixedZ + " : i11 -> f32");
  std::string square = body.value("arith.mulf " + x + ", " + x + " : f32");
  body.store(body.encode(square, Body::floatW, "f32 -> i12"), "y", at, "i12");
  body.update("addf", x, "y", at);
  body.atomic("addi", body.encode(square, Body::fixedZ, "f32 -> i11"), "x", at, "i11");
  makeTree(text);
  auto write = [&](const char *member, float value) {
    uint32_t level = 0;
    int64_t cell = 1;
    ASSERT_EQ(metate_type_find_member(type, member, &level), METATE_OK);
    ASSERT_EQ(metate_tree_write(tree, level, &cell, 1, &value, sizeof value), METATE_OK);
  };
  write("x", 0.5f);
  write("dx", 1.0f);
  Module dual = parse(text, body.text, " attributes {metate.differentiate = \"forward\"}",
                      /*verified=*/false);
  EXPECT_EQ(launch(std::move(dual), descriptorOf(parse(text, ""), Stage::Import), {}), METATE_OK);
  EXPECT_EQ(number("x", 1), 750 * 0.001f);
  EXPECT_EQ(number("y", 1), 0.75f);
  EXPECT_EQ(number("dy", 1), 2.0f); // 2 x + 1
  EXPECT_EQ(number("dx", 1), 2.0f); // 1 + 2 x
}
} // namespace
