//===- Target.cpp - families of targets, asked by name ----------*- C++ -*-===//
#include "metate/Target/Target.h"

#include "metate/Emit/Disassembly.h"

using namespace metate;
using llvm::Expected;
using llvm::StringRef;

Target::~Target() = default;
TargetFamily::~TargetFamily() = default;

Expected<std::vector<CodeFunction>> Target::codeOf(PayloadOp) const {
  return std::vector<CodeFunction>();
}

Expected<std::string> Target::makeSource(PayloadOp, const SourceParts &) const {
  return llvm::createStringError("code of target '" + name() + "' is no source");
}

Expected<TargetPtr> TargetRegistry::parse(StringRef name) const {
  std::string expected;
  for (const std::unique_ptr<TargetFamily> &family : families) {
    Expected<TargetPtr> target = family->parse(name);
    if (!target || *target)
      return target;
    expected += (expected.empty() ? "" : ", ") + family->expectedNames().str();
  }
  return llvm::createStringError("unknown target '" + name + "'; expected " + expected);
}

std::vector<ListedTarget> TargetRegistry::list() const {
  std::vector<ListedTarget> rows;
  for (const std::unique_ptr<TargetFamily> &family : families)
    llvm::append_range(rows, family->list());
  return rows;
}

Expected<TargetPtr> TargetRegistry::targetOf(PayloadOp payload) const {
  for (const std::unique_ptr<TargetFamily> &family : families)
    if (family->name() == payload.getFamily())
      return family->targetOf(payload);
  return llvm::createStringError("payload '" + payload.getSymName() + "' is for '" +
                                 payload.getFamily() +
                                 "', a family of targets that this compiler does not have");
}

void TargetRegistry::registerDialects(mlir::DialectRegistry &registry) const {
  for (const std::unique_ptr<TargetFamily> &family : families)
    family->registerDialects(registry);
}

void TargetRegistry::registerPasses() const {
  for (const std::unique_ptr<TargetFamily> &family : families)
    family->registerPasses();
}
