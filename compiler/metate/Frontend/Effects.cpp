//===- Effects.cpp - print and assert ---------------------------*- C++ -*-===//
#include "metate/Frontend/KernelBuilder.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

namespace {
/// Texts that stand side by side become one part.
struct PrintParts {
  OpBuilder &builder;
  SmallVector<Attribute> parts = {};
  SmallVector<Value> values = {};
  SmallVector<bool> isUnsigned = {};
  std::string pending = {};

  void text(StringRef more) { pending += more; }
  void scalar(const KernelValue &value) {
    flush();
    parts.push_back(builder.getUnitAttr());
    values.push_back(value.ir);
    isUnsigned.push_back(value.type.isInteger() && !value.type.isSigned());
  }
  void flush() {
    if (!pending.empty())
      parts.push_back(builder.getStringAttr(pending));
    pending.clear();
  }
};
} // namespace

void KernelBuilder::print(ArrayRef<PrintPart> given) {
  PrintParts out{builder};
  for (const PrintPart &part : given) {
    out.text(part.text);
    if (!part.value)
      continue;
    if (!*part.value)
      return;
    const DataType &type = part.value->type;
    int64_t columns = type.isScalar() ? 1 : type.shape.back();
    auto open = [&](int64_t k) {
      return StringRef(type.isScalar() || k % columns ? "" : type.isMatrix() && !k ? "[[" : "[");
    };
    SmallVector<KernelValue> scalars = elements(*part.value);
    for (auto [k, scalar] : llvm::enumerate(scalars)) {
      out.text(open(k));
      out.scalar(scalar);
      bool isRowEnd = int64_t(k + 1) % columns == 0, isEnd = k + 1 == scalars.size();
      if (!type.isScalar())
        out.text(!isRowEnd ? ", " : !isEnd ? "], " : type.isMatrix() ? "]]" : "]");
    }
  }
  out.flush();
  PrintOp::create(builder, loc(), builder.getArrayAttr(out.parts), out.isUnsigned, out.values);
}

void KernelBuilder::assertThat(const KernelValue &condition, StringRef message) {
  KernelValue isTrue = truth(condition, "assert");
  if (isTrue)
    AssertOp::create(builder, loc(), isTrue.ir, message);
}
