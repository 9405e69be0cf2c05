//===- ExpandQuant.cpp - stored bits and values as arithmetic ---*- C++ -*-===//
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/QuantArith.h"

namespace metate {
#define GEN_PASS_DEF_EXPANDQUANT
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct ExpandQuant : metate::impl::ExpandQuantBase<ExpandQuant> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      OpBuilder builder(op);
      Value expanded;
      if (auto decode = dyn_cast<DecodeOp>(op))
        expanded = expandDecode(builder, op->getLoc(), decode.getBits(),
                                *QuantFormat::of(decode.getFormat(), decode.getShared()));
      else if (auto encode = dyn_cast<EncodeOp>(op))
        expanded = expandEncode(builder, op->getLoc(), encode.getValue(),
                                *QuantFormat::of(encode.getFormat()));
      if (!expanded)
        return;
      op->getResult(0).replaceAllUsesWith(expanded);
      op->erase();
    });
  }
};
} // namespace
