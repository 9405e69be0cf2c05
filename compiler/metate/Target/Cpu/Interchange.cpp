//===- Interchange.cpp - what lies side by side is innermost ----*- C++ -*-===//
//
// `for j in range(m): for i in range(n): b[i, j] = ...`, columns in parallel, walks memory across its lines. Iterations of a parallel
// loop have no order, so a chunk of them may take each turn of the serial loop together: the chunk's loop becomes the innermost one,
// and its turns are what vectors are made of. Each iteration still sees its own turns in order.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// The loop that is all that the iterations do; null: they do more, or carry values from turn to turn.
static scf::ForOp onlyLoop(scf::ForOp parallel) {
  scf::ForOp serial;
  for (Operation &op : parallel.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && !serial)
      serial = loop;
    else if (loop || !isPure(&op))
      return {};
  }
  return serial && serial.getNumResults() == 0 && !serial->hasAttr(mark::nest) ? serial
                                                                               : scf::ForOp();
}

/// Does nothing in it but plain accesses have an order?
static bool isPlain(scf::ForOp serial) {
  return !serial
              .walk([&](Operation *op) {
                auto read = dyn_cast<ReadOp>(op);
                auto write = dyn_cast<WriteOp>(op);
                bool isAccess = (read && !read.getAcquire()) || (write && !write.getRelease());
                bool isControl = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op);
                return isAccess || isControl || isPure(op) ? WalkResult::advance()
                                                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// More accesses lie side by side in the parallel loop than in the serial one, all writes among them.
static bool isAcross(scf::ForOp parallel, scf::ForOp serial) {
  int balance = 0;
  bool isWritten = false, isWithin = true;
  auto look = [&](Value offset, Type type, bool isWrite) {
    if (!type.isIntOrFloat())
      return;
    LinearForm form = LinearForm::of(offset);
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    bool isRow = form.coefficient(parallel.getInductionVar()) == bytes;
    balance += int(isRow) - int(form.coefficient(serial.getInductionVar()) == bytes);
    isWritten |= isWrite;
    isWithin &= isRow || !isWrite;
  };
  serial.walk([&](ReadOp read) { look(read.getOffset(), read.getType(), false); });
  serial.walk([&](WriteOp write) { look(write.getOffset(), write.getValue().getType(), true); });
  return isWritten && isWithin && balance > 0;
}

Operation *cpu::interchange(scf::ForOp parallel) {
  scf::ForOp serial = onlyLoop(parallel);
  if (!serial || !isPlain(serial) || !isAcross(parallel, serial))
    return parallel;
  moveLoopInvariantCode(parallel);
  for (Value bound : {serial.getLowerBound(), serial.getUpperBound(), serial.getStep()})
    if (!parallel.isDefinedOutsideOfLoop(bound))
      return parallel;
  remarkDone(parallel, "map-tasks-cpu", "order")
      << "iterations of a chunk take the inner loop's turns together, side by side";
  OpBuilder builder(parallel);
  Value first = isMutant(Mutant::ColumnsFromOne) ? serial.getStep() : serial.getLowerBound();
  auto outer =
      scf::ForOp::create(builder, serial.getLoc(), first, serial.getUpperBound(), serial.getStep());
  parallel->moveBefore(outer.getBody()->getTerminator());
  serial.getInductionVar().replaceAllUsesWith(outer.getInductionVar());
  Block *turns = serial.getBody();
  turns->getTerminator()->erase();
  parallel.getBody()->getOperations().splice(serial->getIterator(), turns->getOperations());
  serial.erase();
  return outer;
}
