// Constraints of the dialect that text cannot break, because the parser refuses first.
#include "Saxpy.h"

#include "mlir/IR/Diagnostics.h"
#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

/// The text of the diagnostics that `build` gives.
static std::string diagnosticsOf(mlir::MLIRContext &context,
                                 llvm::function_ref<void(mlir::Location)> build) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { text += diagnostic.str(); });
  build(mlir::UnknownLoc::get(&context));
  return text;
}

TEST(Dialect, LevelsAndTreesNeedChildren) {
  Compiled compiled("module {}");
  mlir::MLIRContext &context = compiled.context;
  context.loadDialect<MetateDialect>();
  std::string level = diagnosticsOf(context, [&](mlir::Location location) {
    EXPECT_EQ(DenseAttr::getChecked([&] { return mlir::emitError(location); }, &context,
                                    llvm::StringRef("i"), llvm::ArrayRef<int64_t>(4),
                                    llvm::ArrayRef<mlir::Attribute>(), mlir::StringAttr()),
              nullptr);
  });
  EXPECT_NE(level.find("(A4) a level needs at least one child"), std::string::npos) << level;
  std::string tree = diagnosticsOf(context, [&](mlir::Location location) {
    EXPECT_EQ(TreeType::getChecked([&] { return mlir::emitError(location); }, &context,
                                   llvm::ArrayRef<mlir::Attribute>()),
              nullptr);
  });
  EXPECT_NE(tree.find("(A4) a tree needs at least one branch"), std::string::npos) << tree;
}
