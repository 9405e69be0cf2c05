// Kernels on quantised members, interpreted after each stage up to offload: all must leave the same bytes, and hosts read from
// these what the kernels meant.
#include "QuantKernels.h"

using namespace metate;
using namespace metate::test;

namespace {
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

TEST_F(QuantKernels, AWordIsReadAndWrittenWithAllItsElements) {
  Body body; // elements 6, 7 and 8: 1, 2 and 3, and once more from the front on
  std::string one = body.index(1), zero = body.index(0);
  std::string word =
      body.value("arith.constant " + std::to_string(4 | 8 << 10 | 12 << 20) + " : i32");
  body.text += "metate.store_word " + word + ", %f[\"b\"][" + one + ", " + one + "] : i32, !tree\n";
  std::string loaded =
      body.value("metate.load_word %f[\"b\"][" + one + ", " + zero + "] : !tree -> i32");
  std::string low =
      body.value("arith.andi " + loaded + ", " + body.whole((1 << 30) - 1) + " : i32");
  body.text += "metate.store_word " + low + ", %f[\"b\"][" + zero + ", " + one + "] : i32, !tree\n";
  makeTree(elements());
  EXPECT_EQ(run(elements(), body.text, Stage::Import), METATE_OK);
  double expected[8] = {1, 2, 3, 1, 1, 1, 1, 2}; // of row 0, and the first of row 1
  for (int64_t k = 0; k < 8; ++k)
    EXPECT_EQ(read<double>("b", {k / 7, k % 7}), expected[k]) << k;
  EXPECT_EQ(read<double>("b", {1, 1}), 3.0);
  EXPECT_EQ(read<double>("b", {1, 2}), 1.0);
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
