//===- Effects.cpp - print and assert ---------------------------*- C++ -*-===//
#include "metate/Dialect/Format.h"
#include "metate/Frontend/KernelBuilder.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

namespace {
/// What a print or an assert shows: texts, and the scalars among them.
struct ShownParts {
  struct Part {
    std::string text; // of a scalar: its format
    bool isScalar = false;
  };
  SmallVector<Part> parts = {};
  SmallVector<Value> values = {};
  SmallVector<bool> isUnsigned = {};

  /// Texts that stand side by side become one part.
  void text(StringRef more) {
    if (more.empty())
      return;
    if (parts.empty() || parts.back().isScalar)
      parts.push_back({});
    parts.back().text += more;
  }
  void scalar(const KernelValue &value, StringRef format) {
    parts.push_back({format.str(), true});
    values.push_back(value.ir);
    isUnsigned.push_back(value.type.isInteger() && !value.type.isSigned());
  }
  /// A vector as a list of its scalars, a matrix as one of its rows.
  void value(const DataType &type, ArrayRef<KernelValue> scalars, StringRef format) {
    int64_t columns = type.isScalar() ? 1 : type.shape.back();
    for (auto [k, one] : llvm::enumerate(scalars)) {
      if (!type.isScalar() && k % columns == 0)
        text(type.isMatrix() && !k ? "[[" : "[");
      scalar(one, format);
      bool isRowEnd = int64_t(k + 1) % columns == 0, isEnd = k + 1 == scalars.size();
      if (!type.isScalar())
        text(!isRowEnd ? ", " : !isEnd ? "], " : type.isMatrix() ? "]]" : "]");
    }
  }
};
} // namespace

bool KernelBuilder::checkFormat(const KernelValue &value, StringRef format) {
  if (!value)
    return false;
  std::string problem = whyNotFormat(format, value.type.isFloat(), value.type.isSigned());
  if (!problem.empty())
    fail(problem);
  return problem.empty();
}

void KernelBuilder::print(ArrayRef<PrintPart> given) {
  ShownParts shown;
  for (const PrintPart &part : given) {
    shown.text(part.text);
    if (part.value && !checkFormat(*part.value, part.format))
      return;
    if (part.value)
      shown.value(part.value->type, elements(*part.value), part.format);
  }
  SmallVector<Attribute> parts;
  for (const ShownParts::Part &part : shown.parts) {
    Attribute text = builder.getStringAttr(part.text);
    parts.push_back(!part.isScalar      ? text
                    : part.text.empty() ? Attribute(builder.getUnitAttr())
                                        : builder.getArrayAttr(text));
  }
  PrintOp::create(builder, loc(), builder.getArrayAttr(parts), shown.isUnsigned, shown.values);
}

void KernelBuilder::assertThat(const KernelValue &condition, StringRef message) {
  KernelValue isTrue = truth(condition, "assert");
  if (isTrue && settings.asserts)
    AssertOp::create(builder, loc(), isTrue.ir, message);
}

void KernelBuilder::assertThat(const KernelValue &condition, ArrayRef<PrintPart> given) {
  ShownParts shown;
  for (const PrintPart &part : given) {
    shown.text(part.text);
    if (part.value && !checkFormat(*part.value, part.format))
      return;
    if (part.value)
      shown.value(part.value->type, elements(*part.value), part.format);
  }
  if (shown.values.size() > 2 * METATE_MAX_RANK) {
    fail("assert: expected at most " + llvm::Twine(2 * METATE_MAX_RANK) +
             " scalars in its message, got " + llvm::Twine(shown.values.size()),
         "show fewer components");
    return;
  }
  std::string message;
  for (const ShownParts::Part &part : shown.parts)
    message += !part.isScalar      ? escapeMessage(part.text)
               : part.text.empty() ? std::string("{}")
                                   : "{:" + part.text + "}";
  KernelValue isTrue = truth(condition, "assert");
  if (!isTrue || !settings.asserts)
    return;
  if (shown.values.empty())
    return assertThat(
        condition,
        llvm::join(llvm::map_range(shown.parts, [](auto &part) { return part.text; }), ""));
  AssertOp::create(builder, loc(), isTrue.ir, builder.getStringAttr(message),
                   builder.getDenseBoolArrayAttr(shown.isUnsigned), shown.values);
}
