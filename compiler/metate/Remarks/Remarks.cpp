//===- Remarks.cpp - what passes did about a loop, and why not --*- C++ -*-===//
#include "metate/Remarks/Remarks.h"

#include "metate/Dialect/Metate.h"
#include "metate/Dialect/Place.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <mutex>

using namespace mlir;
using namespace metate;

/// The part of a remark that names the loop; not of its text.
static constexpr llvm::StringLiteral loopKey = "Loop";

/// The task around an operation, as it is at this stage: what stands directly in a kernel or a task's function.
static Operation *taskOf(Operation *op) {
  while (Operation *parent = op->getParentOp()) {
    if (isa<KernelOp, func::FuncOp, LLVM::LLVMFuncOp>(parent))
      return op;
    op = parent;
  }
  return op;
}

static InFlightRemark begin(Location where, Location loop, Outcome outcome, StringRef pass,
                            StringRef subject) {
  remark::RemarkOpts options = remark::RemarkOpts::name(subject).category(pass);
  InFlightRemark remark = outcome == Outcome::Done       ? remark::passed(where, options)
                          : outcome == Outcome::Declined ? remark::missed(where, options)
                                                         : remark::analysis(where, options);
  if (FileLineColLoc place = placeOf(loop); remark && place)
    remark << Number(loopKey, (place.getFilename().strref() + ":" + Twine(place.getLine())).str());
  return remark;
}

static InFlightRemark begin(Operation *op, Outcome outcome, StringRef pass, StringRef subject) {
  if (!wantsRemarks(op->getContext()))
    return {};
  auto kernel = op->getParentOfType<KernelOp>();
  if (kernel && kernel->hasAttr(mark::tried))
    return {};
  return begin(op->getLoc(), taskOf(op)->getLoc(), outcome, pass, subject);
}

InFlightRemark metate::remarkDone(Operation *op, StringRef pass, StringRef subject) {
  return begin(op, Outcome::Done, pass, subject);
}
InFlightRemark metate::remarkDeclined(Operation *op, StringRef pass, StringRef subject) {
  return begin(op, Outcome::Declined, pass, subject);
}
InFlightRemark metate::remarkNoted(Operation *op, StringRef pass, StringRef subject) {
  return begin(op, Outcome::Noted, pass, subject);
}
InFlightRemark metate::remarkAt(Location where, Outcome outcome, StringRef pass,
                                StringRef subject) {
  if (!wantsRemarks(where.getContext()))
    return {};
  return begin(where, where, outcome, pass, subject);
}

std::string metate::atLine(Operation *op) {
  FileLineColLoc place = op ? placeOf(op->getLoc()) : FileLineColLoc();
  return place ? " (line " + std::to_string(place.getLine()) + ")" : "";
}

static std::string outcomeOf(remark::detail::Remark const &remark) {
  switch (remark.getRemarkType()) {
  case llvm::remarks::Type::Passed:
    return "done";
  case llvm::remarks::Type::Missed:
  case llvm::remarks::Type::Failure:
    return "declined";
  default:
    return "noted";
  }
}

static metate::Remark valueOf(const remark::detail::Remark &given) {
  metate::Remark made;
  made.pass = given.getCategoryName().str();
  made.subject = given.getRemarkName().str();
  made.outcome = outcomeOf(given);
  if (FileLineColLoc place = placeOf(given.getLocation())) {
    made.file = place.getFilename().str();
    made.line = place.getLine();
    made.column = place.getColumn();
  }
  for (const remark::detail::Remark::Arg &part : given.getArgs()) {
    if (part.key == loopKey) {
      auto [file, line] = StringRef(part.val).rsplit(':');
      made.loopFile = file.str();
      line.getAsInteger(10, made.loopLine);
      continue;
    }
    StringRef name = part.key;
    bool isShown = !name.consume_front("#");
    if (isShown)
      made.text += part.val;
    if (name != "Remark") // a plain part of the text
      made.numbers.emplace_back(name.str(), part.val);
  }
  return made;
}

namespace {
/// Passes may run on several threads at once; who collects has one list.
struct Collector : remark::detail::MLIRRemarkStreamerBase {
  explicit Collector(std::vector<metate::Remark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &given) override {
    metate::Remark made = valueOf(given);
    std::lock_guard<std::mutex> guard(mutex);
    bool isKnown = llvm::any_of(remarks, [&](const metate::Remark &other) {
      return other.text == made.text && other.line == made.line && other.column == made.column &&
             other.pass == made.pass && other.outcome == made.outcome && other.file == made.file;
    });
    if (!isKnown)
      remarks.push_back(std::move(made));
  }

  std::mutex mutex;
  std::vector<metate::Remark> &remarks;
};
} // namespace

CollectedRemarks::CollectedRemarks(MLIRContext *context, std::vector<metate::Remark> &remarks)
    : context(context) {
  remark::RemarkCategories all{"", ".*", ".*", ".*",
                               ".*"}; // each kind by itself: `all` is a part of the others
  LogicalResult enabled =
      remark::enableOptimizationRemarks(*context, std::make_unique<Collector>(remarks),
                                        std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
  assert(succeeded(enabled) && "a streamer of ours starts always");
  (void)enabled;
}

CollectedRemarks::~CollectedRemarks() { context->setRemarkEngine(nullptr); }
