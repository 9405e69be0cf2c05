// The reference interpreter knows every operation that a kernel can be made of.
#include "metate/Interp/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace metate;

// What a kernel consists of rather than does: its own operation, ends of blocks, named types, whose derivative it is.
static const llvm::StringSet<> structure = {"metate.kernel", "metate.return",     "metate.yield",
                                            "metate.give",   "metate.named_type", "metate.derived"};
// Operations of the stages from layout on, where the interpreter ends.
static const llvm::StringSet<> later = {"metate.stage_leaf",
                                        "metate.stage_row",
                                        "metate.is_leaf_full",
                                        "metate.activate_leaf",
                                        "metate.deactivate_leaf",
                                        "metate.deactivate_word",
                                        "metate.read",
                                        "metate.write",
                                        "metate.rmw",
                                        "metate.cas",
                                        "metate.tree_call",
                                        "metate.return_status",
                                        "metate.merge",
                                        "metate.add_bits",
                                        "metate.pool",
                                        "metate.pool_bytes",
                                        "metate.worker_part",
                                        "metate.launch",
                                        "metate.interface",
                                        "metate.text",
                                        "metate.payload"};

TEST(Interp, EveryOperationUpToOffloadHasARule) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<MetateDialect>();
  unsigned rules = 0, others = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != MetateDialect::getDialectNamespace())
      continue;
    bool isOther = structure.contains(name.getStringRef()) || later.contains(name.getStringRef());
    EXPECT_NE(interp::hasRule(name), isOther)
        << name.getStringRef().str()
        << ": give it a rule in compiler/metate/Interp, or say here why it needs none";
    ++(isOther ? others : rules);
  }
  EXPECT_GT(rules, 10u);
  EXPECT_EQ(others, structure.size() + later.size());
}
