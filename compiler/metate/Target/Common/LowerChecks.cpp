//===- LowerChecks.cpp - what may stop a kernel -----------------*- C++ -*-===//
//
// Asserts, checks and polls become branches out of their function. What failed is recorded in the
// host's metate_failure; a poll reads the host's word through a pointer that is found once a
// function.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Format.h"
#include "metate/Dialect/Place.h"
#include "metate/Target/Common/Abi.h"
#include "metate/Target/Common/Passes.h"
#include "metate/abi/base.h"
#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace metate {
#define GEN_PASS_DEF_LOWERCHECKS
#include "metate/Target/Common/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::target;

namespace {
struct LowerChecks : metate::impl::LowerChecksBase<LowerChecks> {
  void runOnOperation() override {
    nextText = llvm::range_size(getOperation().getOps<TextOp>());
    SmallVector<Operation *> stops;
    getOperation().walk([&](Operation *op) {
      if (isa<AssertOp, CheckOp, PollOp, ReturnStatusOp, EnterOp>(op))
        stops.push_back(op);
    });
    for (Operation *op : stops) {
      if (auto assertion = dyn_cast<AssertOp>(op))
        lowerAssert(assertion);
      else if (auto check = dyn_cast<CheckOp>(op))
        lower(op, check.getCondition(), int64_t(check.getKind()), check.getWhat(), check.getIndex(),
              check.getShape());
      else if (auto status = dyn_cast<ReturnStatusOp>(op))
        lowerStatus(status);
      else if (auto enter = dyn_cast<EnterOp>(op))
        lowerEnter(enter);
      else
        lowerPoll(op);
      op->erase();
    }
  }

private:
  /// Ends the block before `op`: it goes on behind `op` if the condition holds. Returns the block
  /// of the other case, which is empty.
  Block *branchBefore(Operation *op, Value condition) {
    OpBuilder builder(op);
    Block *before = op->getBlock();
    Block *after = before->splitBlock(op->getNextNode());
    Block *failed = builder.createBlock(after);
    builder.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(builder, op->getLoc(), condition, after, ValueRange(), failed,
                           ValueRange(), std::pair<uint32_t, uint32_t>(1 << 20, 1));
    return failed;
  }

  /// Values of a message go where an access has its indices and extents, in turns; the message says
  /// of each what it is.
  void lowerAssert(AssertOp op) {
    OpBuilder builder(op);
    Code code(builder, op.getLoc());
    if (op.getValues().empty())
      return lower(op, op.getCondition(), METATE_E_ASSERT, op.getMessage(), {}, {});
    SmallVector<Value> even, odd;
    std::string message;
    FailureOr<SmallVector<MessagePart>> parts = splitMessage(op.getMessage());
    for (const MessagePart &part : *parts) {
      if (!part.isHole) {
        message += escapeMessage(part.text);
        continue;
      }
      size_t k = even.size() + odd.size();
      auto [kind, value] = shownValue(code, op.getValues()[k], (*op.getUnsigned_())[k]);
      (k % 2 ? odd : even).push_back(value);
      message += messageHole(kind, part.text);
    }
    lower(op, op.getCondition(), METATE_E_ASSERT, message, even, odd);
  }

  void lower(Operation *op, Value condition, int64_t code, StringRef text, ValueRange index,
             ValueRange shape) {
    Block *failed = branchBefore(op, condition);
    OpBuilder builder = OpBuilder::atBlockBegin(failed);
    Code c(builder, op->getLoc());
    Operation *function = functionAround(op);
    Value values = index.empty() ? c.null() : buffer(function, op->getLoc());
    for (auto [k, value] : llvm::enumerate(index)) {
      c.store(widen(c, value), values, int64_t(8 * k));
      Value extent = k < shape.size() ? widen(c, shape[k]) : c.constant(-1, 64);
      c.store(extent, values, int64_t(8 * (METATE_MAX_RANK + k)));
    }
    auto call = LLVM::CallOp::create(builder, op->getLoc(), recordFailure(getOperation()),
                                     ValueRange{hostOf(function, c), c.constant(code, 32),
                                                c.constant(textOf(op->getLoc(), text), 32),
                                                c.constant(int64_t(index.size()), 32), values});
    leave(builder, op, call.getResult());
  }

  /// An entry, a body, or a function that they call.
  static Operation *functionAround(Operation *op) {
    return op->getParentOfType<FunctionOpInterface>();
  }

  /// Returns the status; with zeros, where the function has results that nobody will look at.
  static void leave(OpBuilder &builder, Operation *op, Value status) {
    auto function = dyn_cast<func::FuncOp>(functionAround(op));
    if (!function) {
      LLVM::ReturnOp::create(builder, op->getLoc(), status);
      return;
    }
    SmallVector<Value> values{status};
    for (Type type : function.getResultTypes().drop_front())
      values.push_back(arith::ConstantOp::create(builder, op->getLoc(), builder.getZeroAttr(type)));
    func::ReturnOp::create(builder, op->getLoc(), values);
  }

  static Value widen(Code &code, Value value) {
    if (!value.getType().isIndex())
      return value; // of 64 bits already
    return arith::IndexCastOp::create(code.builder, code.loc, code.builder.getI64Type(), value);
  }

  /// A function's room for the indices and extents of a failed check.
  Value buffer(Operation *function, Location loc) {
    Value &room = buffers[function];
    if (!room) {
      OpBuilder builder = OpBuilder::atBlockBegin(&function->getRegion(0).front());
      Code code(builder, loc);
      auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), 2 * METATE_MAX_RANK);
      room = LLVM::AllocaOp::create(builder, loc, code.pointer(), type, code.constant(1, 64));
    }
    return room;
  }

  /// Index of a text in the descriptor's table; copies of one check share it.
  int64_t textOf(Location loc, StringRef text) {
    FileLineColLoc place = placeOf(loc);
    auto [known, isNew] = texts.try_emplace(
        {place ? Attribute(place) : Attribute(), StringAttr::get(&getContext(), text)}, nextText);
    if (isNew) {
      OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
      TextOp::create(builder, loc, nextText++, place ? place.getFilename().getValue() : "",
                     place ? place.getLine() : 0, place ? place.getColumn() : 0, text);
    }
    return known->second;
  }

  /// Of a kernel that was run: its failure is recorded already.
  void lowerStatus(ReturnStatusOp op) {
    OpBuilder builder(op);
    Code code(builder, op.getLoc());
    Value isOk = LLVM::ICmpOp::create(builder, op.getLoc(), LLVM::ICmpPredicate::eq, op.getStatus(),
                                      code.constant(METATE_OK, 32));
    builder.setInsertionPointToStart(branchBefore(op, isOk));
    leave(builder, op, op.getStatus());
  }

  /// The stack grows downwards: what is left of it for calls ends where the function's second argument says.
  void lowerEnter(EnterOp op) {
    OpBuilder builder(op);
    Code code(builder, op.getLoc());
    auto function = cast<func::FuncOp>(functionAround(op));
    Value top = LLVM::StackSaveOp::create(builder, op.getLoc(), code.pointer());
    top = LLVM::PtrToIntOp::create(builder, op.getLoc(), builder.getI64Type(), top);
    Value isInside = LLVM::ICmpOp::create(builder, op.getLoc(), LLVM::ICmpPredicate::ugt, top,
                                          function.getArgument(1));
    lower(op, isInside, METATE_E_OUT_OF_MEMORY, callDepthMessage(op.getName(), callBytes), {}, {});
  }

  void lowerPoll(Operation *op) {
    Operation *function = functionAround(op);
    Value &word = words[function];
    if (!word)
      word = interruptWord(function, op->getLoc());
    OpBuilder builder(op);
    Code code(builder, op->getLoc());
    Value asked = LLVM::LoadOp::create(builder, op->getLoc(), builder.getI32Type(), word,
                                       /*alignment=*/4, false, false, false, false,
                                       LLVM::AtomicOrdering::monotonic);
    Value isOff = LLVM::ICmpOp::create(builder, op->getLoc(), LLVM::ICmpPredicate::eq, asked,
                                       code.constant(0, 32));
    builder.setInsertionPointToStart(branchBefore(op, isOff));
    leave(builder, op, code.constant(METATE_E_INTERRUPTED, 32));
  }

  /// Where the function finds its host's word, in its entry block; a zero where there is none.
  Value interruptWord(Operation *function, Location loc) {
    OpBuilder builder = OpBuilder::atBlockBegin(&function->getRegion(0).front());
    Code code(builder, loc);
    Value host = hostOf(function, code), none = noHost(getOperation(), code);
    auto orNone = [&](Value pointer) {
      return LLVM::SelectOp::create(builder, loc, code.isNull(pointer), none, pointer);
    };
    return orNone(code.load(code.pointer(), orNone(host), offsetof(metate_host, interrupt)));
  }

  int64_t nextText = 0;
  llvm::DenseMap<std::pair<Attribute, StringAttr>, int64_t> texts;
  llvm::DenseMap<Operation *, Value> buffers, words;
};
} // namespace
