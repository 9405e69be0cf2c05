// Gathers of numbers that lie side by side become reads of 16 bytes a lane: which do, and what is read.
#include "metate/Emit/Windows.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace llvm;

namespace {
/// What is left of a function's gathers, and what its lanes read instead: (first byte, bytes) for each.
struct Reads {
  unsigned gathers = 0;
  std::vector<std::pair<int64_t, int64_t>> loads;

  int64_t begin() const {
    int64_t least = INT64_MAX;
    for (auto [at, bytes] : loads)
      least = std::min(least, at);
    return least;
  }
  int64_t end() const {
    int64_t most = INT64_MIN;
    for (auto [at, bytes] : loads)
      most = std::max(most, at + bytes);
    return most;
  }
};

/// Gathers of `lanes` numbers of the type at these bytes behind `%p[%i]`; `between` stands behind each.
std::string gathersOf(StringRef type, unsigned lanes, ArrayRef<int64_t> bytes,
                      StringRef between = "", StringRef mask = "splat (i1 true)") {
  std::string vector = ("<" + Twine(lanes) + " x " + type + ">").str(),
              pointers = ("<" + Twine(lanes) + " x ptr>").str(),
              offsets = ("<" + Twine(lanes) + " x i64>").str(),
              bits = ("<" + Twine(lanes) + " x i1>").str();
  std::string text = "declare void @other()\ndefine void @f(ptr %p, " + offsets +
                     " %i, ptr %out, " + bits + " %m) {\n  %scaled = mul " + offsets +
                     " %i, splat (i64 12)\n";
  for (auto [k, offset] : enumerate(bytes)) {
    std::string n = std::to_string(k);
    // Distances stand in the sum and in the address, as the loop vectoriser leaves them.
    text += "  %s" + n + " = add " + offsets + " %scaled, splat (i64 " +
            std::to_string(offset - 8) + ")\n";
    text += "  %b" + n + " = getelementptr i8, ptr %p, " + offsets + " %s" + n + "\n";
    text += "  %a" + n + " = getelementptr i8, " + pointers + " %b" + n + ", i64 8\n";
    text += "  %v" + n + " = call " + vector + " @llvm.masked.gather(" + pointers + " align 4 %a" +
            n + ", " + bits + " " + mask.str() + ", " + vector + " poison)\n" + between.str();
  }
  for (size_t k = 0; k < bytes.size(); ++k)
    text += "  %o" + std::to_string(k) + " = getelementptr " + vector + ", ptr %out, i64 " +
            std::to_string(k) + "\n  store " + vector + " %v" + std::to_string(k) + ", ptr %o" +
            std::to_string(k) + "\n";
  return text + "  ret void\n}\n";
}

Reads run(const std::string &text, StringRef triple = "x86_64-unknown-linux-gnu") {
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << "\n" << text;
  if (!module)
    return {};
  module->setTargetTriple(Triple(triple));
  PassBuilder builder;
  FunctionAnalysisManager analyses;
  builder.registerFunctionAnalyses(analyses);
  Function &function = *module->getFunction("f");
  metate::ReadWindows().run(function, analyses);
  EXPECT_FALSE(verifyModule(*module, &errs()));
  Reads reads;
  const DataLayout &layout = module->getDataLayout();
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    reads.gathers += call && call->getIntrinsicID() == Intrinsic::masked_gather;
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      EXPECT_LE(load->getAlign().value(), 4u);
      // Behind the first gather's lane.
      APInt offset(64, 0);
      load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
      reads.loads.push_back(
          {offset.getSExtValue(), int64_t(layout.getTypeStoreSize(load->getType()))});
    }
  }
  return reads;
}

TEST(Windows, OfAVectorAtAPlaceThatMemorySays) {
  for (unsigned lanes : {4u, 8u, 16u})
    for (StringRef type : {"float", "i32"}) {
      Reads two = run(gathersOf(type, lanes, {0, 4})),
            three = run(gathersOf(type, lanes, {0, 4, 8})),
            four = run(gathersOf(type, lanes, {0, 4, 8, 12}));
      EXPECT_EQ(two.gathers + three.gathers + four.gathers, 0u);
      EXPECT_EQ(two.loads.size(), lanes);       // of eight bytes
      EXPECT_EQ(three.loads.size(), 2 * lanes); // and of four
      EXPECT_EQ(four.loads.size(), lanes);
      for (const Reads &reads : {two, three, four})
        EXPECT_EQ(reads.begin(), 0);
      EXPECT_EQ(two.end(), 8);
      EXPECT_EQ(three.end(), 12);
      EXPECT_EQ(four.end(), 16);
    }
}

TEST(Windows, OfNeighbours) {
  // Nine numbers: 16 bytes, 16 more, and the last 16, which begin among those.
  Reads nine = run(gathersOf("float", 8, {0, 4, 8, 12, 16, 20, 24, 28, 32}));
  EXPECT_EQ(nine.gathers, 0u);
  EXPECT_EQ(nine.loads.size(), 3u * 8);
  EXPECT_EQ(nine.begin(), 0);
  EXPECT_EQ(nine.end(), 36);
  // In any order, behind the first one or before it, one of them twice, with a gap.
  Reads mixed = run(gathersOf("float", 4, {100, 96, 108, 96, -400, -396}));
  EXPECT_EQ(mixed.gathers, 0u);
  EXPECT_EQ(mixed.begin(), -500);
  EXPECT_EQ(mixed.end(), 12);
  Reads wide = run(gathersOf("double", 8, {0, 8, 16}));
  EXPECT_EQ(wide.gathers, 3u); // the last 16 bytes have one number that is new
  EXPECT_EQ(run(gathersOf("double", 8, {0, 8, 16, 24})).loads.size(), 2u * 8);
  EXPECT_EQ(run(gathersOf("i64", 4, {16, 24})).gathers, 0u);
}

TEST(Windows, WindowsAreAlignedAsNumbersAre) {
  // The second window begins at byte 4, before the only number that is its own, which is better aligned (run() looks).
  std::string text = gathersOf("float", 8, {0, 4, 8, 12, 16});
  for (size_t at = 0; (at = text.find("align 4", at)) != std::string::npos; at += 8)
    text.replace(at, 7, "align 16");
  Reads reads = run(text);
  EXPECT_EQ(reads.gathers, 0u);
  EXPECT_EQ(reads.loads.size(), 2u * 8);
}

TEST(Windows, SumsOfSumsAreNotWalkedForEver) {
  std::string text = "define void @f(ptr %p, <8 x i64> %s0, <8 x i64> %s1, ptr %out) {\n";
  const int last = 90;
  for (int k = 2; k <= last; ++k)
    text += "  %s" + std::to_string(k) + " = add <8 x i64> %s" + std::to_string(k - 1) + ", %s" +
            std::to_string(k - 2) + "\n";
  text += "  %a = getelementptr float, ptr %p, <8 x i64> %s" + std::to_string(last) +
          "\n  %b = getelementptr i8, <8 x ptr> %a, i64 4\n";
  for (const char *name : {"a", "b"})
    text += std::string("  %v") + name +
            " = call <8 x float> @llvm.masked.gather(<8 x ptr> align 4 %" + name +
            ", <8 x i1> splat (i1 true), <8 x float> poison)\n";
  text += "  %sum = fadd <8 x float> %va, %vb\n  store <8 x float> %sum, ptr %out\n  ret void\n}\n";
  EXPECT_EQ(run(text).gathers, 0u);
}

TEST(Windows, WhatStays) {
  EXPECT_EQ(run(gathersOf("float", 8, {0})).gathers, 1u);
  EXPECT_EQ(run(gathersOf("float", 8, {0, 16, 32})).gathers, 3u); // far from one another
  EXPECT_EQ(run(gathersOf("float", 8, {0, 2})).gathers, 2u);      // parts of numbers
  EXPECT_EQ(run(gathersOf("half", 8, {0, 2, 4, 6})).gathers, 4u);
  EXPECT_EQ(run(gathersOf("float", 2, {0, 4})).gathers, 2u);
  EXPECT_EQ(run(gathersOf("float", 8, {0, 4}, "", "%m")).gathers,
            2u); // lanes that may read nothing
  EXPECT_EQ(run(gathersOf("float", 8, {0, 4}, "  store i32 1, ptr %out\n")).gathers, 2u);
  EXPECT_EQ(run(gathersOf("float", 8, {0, 4}, "  call void @other()\n")).gathers, 2u);
  EXPECT_EQ(run(gathersOf("float", 8, {0, 4}), "aarch64-unknown-linux-gnu").gathers, 2u);
}

TEST(Windows, OnlySumsThatDoNotWrapAreTakenApart) {
  auto text = [](StringRef flags) {
    return "define void @f(ptr %p, <8 x i32> %i, ptr %out) {\n"
           "  %a = sext <8 x i32> %i to <8 x i64>\n  %pa = getelementptr float, ptr %p, <8 x i64> "
           "%a\n"
           "  %n = add " +
           flags.str() +
           " <8 x i32> %i, splat (i32 1)\n"
           "  %b = sext <8 x i32> %n to <8 x i64>\n  %pb = getelementptr float, ptr %p, <8 x i64> "
           "%b\n"
           "  %x = call <8 x float> @llvm.masked.gather(<8 x ptr> align 4 %pa, <8 x i1> splat (i1 "
           "true), <8 x float> poison)\n"
           "  %y = call <8 x float> @llvm.masked.gather(<8 x ptr> align 4 %pb, <8 x i1> splat (i1 "
           "true), <8 x float> poison)\n"
           "  %s = fadd <8 x float> %x, %y\n  store <8 x float> %s, ptr %out\n  ret void\n}\n";
  };
  EXPECT_EQ(run(text("nsw")).gathers, 0u);
  EXPECT_EQ(run(text("nuw")).gathers, 2u);
}
} // namespace
