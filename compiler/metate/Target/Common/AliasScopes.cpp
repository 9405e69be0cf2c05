//===- AliasScopes.cpp - arguments that do not overlap ----------*- C++ -*-===//
//
// The `scope` of an access says which argument it belongs to; what LLVM knows of it are alias scopes. For targets that go on
// to LLVM, as long as a kernel's tasks stand in it: all of them share one domain.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Common/Passes.h"

namespace metate {
#define GEN_PASS_DEF_ALIASSCOPES
#include "metate/Target/Common/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

static std::optional<int64_t> scopeOf(Operation *op) {
  auto scope = op->getAttrOfType<IntegerAttr>("scope");
  return scope && scope.getInt() >= 0 ? std::optional(scope.getInt()) : std::nullopt;
}

namespace {
struct AliasScopes : metate::impl::AliasScopesBase<AliasScopes> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getMayAlias() && !isMutant(Mutant::ScopesOfOverlapping)) {
      for (RangeOp range : kernel.getOps<RangeOp>())
        remarkDeclined(range, "alias-scopes", "overlaps")
            << "reads and writes keep their order: the arguments of this call overlap";
      return;
    }
    MLIRContext *context = kernel.getContext();
    auto name = [&](Twine text) { return StringAttr::get(context, kernel.getSymName() + text); };
    auto domain = LLVM::AliasScopeDomainAttr::get(context, name(""), name(""));
    llvm::MapVector<int64_t, Attribute> scopes;
    kernel.walk([&](Operation *op) {
      if (auto scope = scopeOf(op); scope && !scopes.contains(*scope))
        scopes[*scope] = LLVM::AliasScopeAttr::get(context, name("." + Twine(*scope)), domain,
                                                   name("." + Twine(*scope)));
    });
    kernel.walk([&](Operation *op) {
      if (auto scope = scopeOf(op))
        annotate(op, *scope, scopes);
    });
  }

private:
  static void annotate(Operation *op, int64_t scope,
                       const llvm::MapVector<int64_t, Attribute> &scopes) {
    SmallVector<Attribute> others;
    for (auto &[number, attribute] : scopes)
      if (number != scope)
        others.push_back(attribute);
    op->setAttr("alias_scopes", ArrayAttr::get(op->getContext(), scopes.lookup(scope)));
    if (!others.empty())
      op->setAttr("noalias_scopes", ArrayAttr::get(op->getContext(), others));
  }
};
} // namespace
