//===- Reductions.cpp - partial results of invocations ----------*- C++ -*-===//
//
// What metate-private-reductions has marked: an invocation accumulates in a local variable, and combines it with the place when its
// iterations are done. How invocations of a subgroup do that together is each family's (metate_grid_reduce_*).
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Order.h"
#include "metate/Target/Common/ValuesBefore.h"
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// What the function that combines is called; "": there is none.
static std::string functionOf(arith::AtomicRMWKind kind, Type type) {
  using Kind = arith::AtomicRMWKind;
  StringRef name = "";
  switch (kind) {
  case Kind::addf:
  case Kind::addi:
    name = "add";
    break;
  case Kind::minnumf:
  case Kind::mins:
    name = "min";
    break;
  case Kind::maxnumf:
  case Kind::maxs:
    name = "max";
    break;
  default:
    return "";
  }
  if (!type.isF32() && !type.isF64() && !type.isInteger(32) && !type.isInteger(64))
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << "metate_grid_reduce_" << name << "_" << type;
  return text;
}

/// The address of what is combined with.
static Value addressOf(OpBuilder &at, RmwOp merged) {
  Location loc = merged.getLoc();
  Code code(at, loc);
  Value base =
      UnrealizedConversionCastOp::create(at, loc, code.pointer(), merged.getBlock()).getResult(0);
  Value offset = arith::IndexCastOp::create(at, loc, at.getI64Type(), merged.getOffset());
  return LLVM::GEPOp::create(at, loc, code.pointer(), at.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

namespace {
class Reductions {
public:
  Reductions(scf::ForOp loop, bool keepsRounded)
      : loop(loop), keepsRounded(keepsRounded), before(loop), builder(loop) {}

  SmallVector<RmwOp> run(bool &reduces) {
    SmallVector<RmwOp> work;
    loop.walk([&](RmwOp rmw) {
      if (rmw->hasAttr(mark::reduction) && rmw.getOld().use_empty())
        work.push_back(rmw);
    });
    for (RmwOp rmw : work)
      gather(rmw);
    reduces = !partials.empty();
    return kept;
  }

private:
  struct Partial {
    arith::AtomicRMWKind kind;
    Type type;
    Value block, offset, variable;
  };

  static bool isSame(Value a, Value b) {
    APInt x, y;
    return a == b ||
           (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y);
  }

  void gather(RmwOp rmw) {
    Value block = before.of(rmw.getBlock()), offset = block ? before.of(rmw.getOffset()) : Value();
    if (!offset)
      return;
    auto known = llvm::find_if(partials, [&](Partial &one) {
      return one.block == block &&
             (isSame(one.offset, offset) || isMutant(Mutant::GridPlacesJoined)) &&
             one.kind == rmw.getKind() && one.type == rmw.getValue().getType();
    });
    Value variable = known == partials.end() ? addPartial(rmw, block, offset) : known->variable;
    OpBuilder here(rmw);
    Location loc = rmw.getLoc();
    Value old = LLVM::LoadOp::create(here, loc, rmw.getValue().getType(), variable);
    Value next = arith::getReductionOp(rmw.getKind(), here, loc, old, rmw.getValue());
    LLVM::StoreOp::create(here, loc, next, variable);
    rmw.erase();
  }

  /// The variable, with the neutral value before the loop, and what combines it with the place behind it.
  Value addPartial(RmwOp rmw, Value block, Value offset) {
    Location loc = rmw.getLoc();
    Type type = rmw.getValue().getType();
    Code code(builder, loc);
    Value variable;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(
          &loop->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
      variable = LLVM::AllocaOp::create(builder, loc, code.pointer(), type, code.constant(1, 64));
    }
    Value neutral =
        arith::ConstantOp::create(builder, loc, neutralOf(builder, loc, rmw.getKind(), type));
    if (type.isInteger() && isMutant(Mutant::GridPartialStartsAtOne))
      neutral = code.constant(1, type.getIntOrFloatBitWidth());
    LLVM::StoreOp::create(builder, loc, neutral, variable);
    OpBuilder after(loop->getContext());
    after.setInsertionPointAfter(loop);
    Value result = LLVM::LoadOp::create(after, loc, type, variable);
    auto merged =
        RmwOp::create(after, loc, type, rmw.getKind(), result, block, offset, rmw.getScope());
    if (keepsRounded && target::isRounded(merged)) {
      kept.push_back(merged);
    } else if (std::string name = functionOf(rmw.getKind(), type); !name.empty()) {
      combineBy(name, merged);
      merged.erase();
    }
    partials.push_back({rmw.getKind(), type, block, offset, variable});
    return variable;
  }

  static void combineBy(StringRef name, RmwOp merged) {
    OpBuilder at(merged);
    Location loc = merged.getLoc();
    Code code(at, loc);
    Value place = addressOf(at, merged);
    auto module = merged->getParentOfType<ModuleOp>();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(at.getContext()),
                                              {code.pointer(), merged.getValue().getType()});
      function = LLVM::LLVMFuncOp::create(top, module.getLoc(), name, type);
    }
    LLVM::CallOp::create(at, loc, function, ValueRange{place, merged.getValue()});
  }

  scf::ForOp loop;
  const bool keepsRounded;
  SmallVector<RmwOp> kept;
  target::ValuesBefore before;
  OpBuilder builder;
  SmallVector<Partial> partials;
};
} // namespace

SmallVector<RmwOp> grid::gatherReductions(scf::ForOp loop, bool keepsRounded, bool &reduces) {
  return Reductions(loop, keepsRounded).run(reduces);
}

void grid::storePartials(OpBuilder &builder, ArrayRef<RmwOp> partials, Value frame,
                         const Pieces &pieces, Value begin, Value end, Value number) {
  RmwOp first = partials.front();
  Location loc = first.getLoc();
  Code code(builder, loc);
  auto pieceOf = [&](size_t k, Value piece) {
    Value base = code.at(frame, pieces.place + int64_t(k) * Pieces::most * 8);
    Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), piece);
    return LLVM::GEPOp::create(builder, loc, code.pointer(), builder.getI64Type(), base,
                               ArrayRef<LLVM::GEPArg>{at});
  };
  builder.setInsertionPoint(first->getBlock()->getTerminator());
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, begin, end);
  auto branch = scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.elseBlock());
  for (auto [k, partial] : llvm::enumerate(partials))
    LLVM::StoreOp::create(builder, loc, RmwOp(partial).getValue(), pieceOf(k, begin));
  builder.setInsertionPointToStart(branch.thenBlock());
  Value from =
      arith::ConstantIndexOp::create(builder, loc, isMutant(Mutant::GridPieceLeftOut) ? 1 : 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  // Of a single place the sum is kept: each atomic operation would wait for the last one. Two may be one place.
  Value place = partials.size() == 1 ? addressOf(builder, first) : Value();
  Type type = first.getValue().getType();
  SmallVector<Value> before;
  if (place)
    before.push_back(LLVM::LoadOp::create(builder, loc, type, place));
  auto each = scf::ForOp::create(builder, loc, from, number, one, before);
  Value piece = each.getInductionVar();
  if (isMutant(Mutant::GridPiecesReversed)) {
    builder.setInsertionPointToStart(each.getBody());
    Value last = arith::SubIOp::create(builder, loc, number, one);
    piece = arith::SubIOp::create(builder, loc, last, piece);
  }
  if (place) {
    builder.setInsertionPointToEnd(each.getBody());
    Value left = LLVM::LoadOp::create(builder, loc, type, pieceOf(0, piece));
    Value sum =
        arith::getReductionOp(first.getKind(), builder, loc, each.getRegionIterArg(0), left);
    scf::YieldOp::create(builder, loc, sum);
    builder.setInsertionPointAfter(each);
    LLVM::StoreOp::create(builder, loc, each.getResult(0), place);
    first.erase();
    return;
  }
  for (auto [k, partial] : llvm::enumerate(partials)) {
    RmwOp merge = partial;
    builder.setInsertionPoint(each.getBody()->getTerminator());
    Value left = LLVM::LoadOp::create(builder, loc, merge.getValue().getType(), pieceOf(k, piece));
    merge.getValueMutable().assign(left);
    merge->moveBefore(each.getBody()->getTerminator());
  }
}
