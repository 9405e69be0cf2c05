//===- Pieces.cpp - tasks whose partial results are kept --------*- C++ -*-===//
//
// An executor cuts a loop as it likes, so partial results that are rounded differ with the number of
// workers. Here a task with such results is a loop over pieces that the task alone decides; each piece
// stores its partial results, and when all are done they are combined in the order of the pieces. A task behind it may ask for
// what a piece has stored (metate-skip-pieces).
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Common/Order.h"
#include "metate/Target/Cpu/MapTasks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static SmallVector<RmwOp> partialsOf(RangeOp range) {
  SmallVector<RmwOp> partials;
  range.walk([&](RmwOp rmw) {
    if (rmw->hasAttr(mark::reduction))
      partials.push_back(rmw);
  });
  return partials;
}

bool cpu::hasRoundedPartials(RangeOp range) {
  return llvm::any_of(partialsOf(range), target::isRounded);
}

Pieces cpu::cutInPieces(RangeOp range, LLVM::LLVMFuncOp entry, OpBuilder &builder, Value count,
                        Value grain) {
  Location loc = range.getLoc();
  Value most = arith::ConstantIndexOp::create(builder, loc, Pieces::most);
  Value step = arith::CeilDivUIOp::create(builder, loc, count, most);
  step = arith::MaxUIOp::create(builder, loc, step, grain);
  Value number = arith::CeilDivUIOp::create(builder, loc, count, step);
  OpBuilder atStart = OpBuilder::atBlockBegin(&entry.getBody().front());
  Code code(atStart, loc);
  int64_t bytes = int64_t(partialsOf(range).size()) * Pieces::most * 8;
  Value results = LLVM::AllocaOp::create(atStart, loc, code.pointer(), builder.getI8Type(),
                                         code.constant(bytes, 64), /*alignment=*/64);
  return {count, step, number, results};
}

/// Where partial result `k` of a piece is.
static Value resultOf(OpBuilder &builder, Location loc, const Pieces &values, Value piece,
                      int64_t k) {
  Value first = arith::ConstantIndexOp::create(builder, loc, k * Pieces::most);
  Value at = arith::AddIOp::create(builder, loc, piece, first);
  at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
  return LLVM::GEPOp::create(builder, loc, values.results.getType(), builder.getI64Type(),
                             values.results, ArrayRef<LLVM::GEPArg>{at});
}

Value cpu::holdsExtreme(RangeOp range, OpBuilder &builder, const Pieces &values, Value piece) {
  Operation *comparison = nullptr;
  range.walk([&](Operation *op) {
    if (op->hasAttr(mark::withExtreme))
      comparison = op;
  });
  auto which = comparison->getAttrOfType<DenseI64ArrayAttr>(mark::withExtreme).asArrayRef();
  Value value = comparison->getOperand(which[1]), asked = comparison->getOperand(1 - which[1]);
  IRMapping mapping;
  mapping.map(value,
              LLVM::LoadOp::create(builder, range.getLoc(), value.getType(),
                                   resultOf(builder, range.getLoc(), values, piece, which[0])));
  // What is asked for is a read at a constant place.
  Operation *read = asked.getDefiningOp();
  for (Value operand : read->getOperands())
    if (Operation *constant = operand.getDefiningOp(); constant && range->isAncestor(constant))
      builder.clone(*constant, mapping);
  builder.clone(*read, mapping);
  comparison->removeAttr(mark::withExtreme);
  return builder.clone(*comparison, mapping)->getResult(0);
}

void cpu::storePartials(ArrayRef<RmwOp> merges, scf::ForOp pieces, const Pieces &values,
                        Value begin, Value end) {
  Location loc = pieces.getLoc();
  OpBuilder after(pieces->getContext());
  after.setInsertionPointAfter(pieces);
  Value zero = arith::ConstantIndexOp::create(after, loc, 0);
  Value one = arith::ConstantIndexOp::create(after, loc, 1);
  Value isLast = arith::CmpIOp::create(after, loc, arith::CmpIPredicate::eq, begin, end);
  Value number = arith::SelectOp::create(after, loc, isLast, values.number, zero);
  auto each = scf::ForOp::create(after, loc, zero, number, one);
  after.setInsertionPointToStart(each.getBody());
  for (int64_t k = 0; k < int64_t(merges.size()); ++k) {
    RmwOp merge = merges[k];
    OpBuilder inPiece(merge);
    LLVM::StoreOp::create(inPiece, loc, merge.getValue(),
                          resultOf(inPiece, loc, values, pieces.getInductionVar(), k));
    Value partial = LLVM::LoadOp::create(after, loc, merge.getValue().getType(),
                                         resultOf(after, loc, values, each.getInductionVar(), k));
    merge.getValueMutable().assign(partial);
    merge->moveBefore(after.getBlock(), after.getInsertionPoint());
    after.setInsertionPointAfter(merge);
    makePlain(merge);
    after.setInsertionPoint(each.getBody()->getTerminator());
  }
}
