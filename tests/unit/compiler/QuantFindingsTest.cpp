// What the interpreter finds in kernels on quantised members, and how it shows their values.
#include "QuantKernels.h"

using namespace metate;
using namespace metate::test;

namespace {
using QuantFindings = QuantKernels;

TEST_F(QuantFindings, TheCheckTellsWhatDoesNotFit) {
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

TEST_F(QuantFindings, MessagesShowValues) {
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

TEST_F(QuantFindings, AMemberThatSharesItsExponentIsUnwrittenUntilItsValueIsWritten) {
  Body body;
  std::string at = body.index(1);
  body.update("assign", body.real("100.0"), "u", at);
  body.value("metate.load_shared %f[\"v\"][" + at + "] : !tree -> i19");
  makeTree(sparse());
  EXPECT_EQ(run(sparse(), body.text, Stage::Import, {"unwritten-read"}), METATE_OK);
  EXPECT_NE(found("unwritten-read").find("f.v[1] reads as 1.5, the background"), std::string::npos);
}

TEST_F(QuantFindings, SumsOfRoundedNumbersMayDependOnTheirOrder) {
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
} // namespace
