// Kernels on quantised members as the tests write and interpret them.
#ifndef METATE_TESTS_COMPILER_QUANTKERNELS_H
#define METATE_TESTS_COMPILER_QUANTKERNELS_H

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

#include <gtest/gtest.h>

namespace metate::test {
using interp::Finding;

/// The words of the tests: 5 + 4 + 11 + 12 bits; an exponent of 6 bits with 13, 13 and 20, and 12 beside; and elements.
inline const std::string words =
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

inline std::string dense() { return "!metate.tree<#metate.dense<\"i\", [8], [" + words + "]>>"; }
inline std::string sparse() {
  return "!metate.tree<#metate.pointer<\"i\", [4], [#metate.dense<\"i\", [2], [" + words +
         ", #metate.quant_array<\"i\", [3], [#metate.place<\"n\" : !metate.quant_int<7, true, "
         "i32>, "
         "background = 5 : i32>], word = 16>]>]>>";
}
inline std::string elements() {
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
} // namespace metate::test

#endif
