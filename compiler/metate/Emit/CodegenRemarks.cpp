//===- CodegenRemarks.cpp - LLVM's messages while code is made --*- C++ -*-===//
#include "metate/Emit/CodegenRemarks.h"

#include "metate/Emit/Windows.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"

using namespace metate;
using llvm::StringRef;

using Base = llvm::DiagnosticInfoOptimizationBase;

static bool isOfInterest(StringRef pass) {
  return pass == "loop-vectorize" || pass == "loop-unroll" || pass == "regalloc" ||
         pass == windowsPass;
}

/// Why LLVM's vectoriser declined, by its name for that; empty: nothing that a reader could use.
static StringRef reasonOf(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases(
          {"CantReorderFPOps"},
          "it accumulates floats in an order that counts: what it also reads, fast_math=False or "
          "deterministic=True keep it")
      .Cases({"NonReductionValueUsedOutsideLoop", "NonReductionValueUsedOutsideLoop2"},
             "a value that goes from turn to turn is no sum, product, least or greatest")
      .Cases({"CantVectorizeLibcall", "CantVectorizeCall", "CantVectorizeIntrinsic",
              "CantVectorizeCallReturnType"},
             "it calls a function that has no form for vectors")
      .Cases({"CantComputeNumberOfIterations", "UnsupportedUncountableLoop", "CFGNotUnderstood",
              "CantComputeNumberOfLoopIterations"},
             "the number of turns is not known before it, or it ends in several places")
      .Cases({"IfConversionForDisabled", "NoCFGForSelect", "NoCFGForSwitch", "LoopContainsSwitch",
              "IfConversionFailed"},
             "it branches around what can not be computed for nothing")
      .Cases({"UnsafeDep", "CantReorderMemOps", "UnsafeMemDep"},
             "a turn may read or write what an earlier one wrote")
      .Cases({"CantIdentifyArrayBounds", "TooManyMemoryRuntimeChecks", "CantCheckMemDepsAtRunTime"},
             "places that depend on memory (a gather or scatter) may meet")
      .Cases({"CantVectorizeInstruction", "CantVectorizeInstructionReturnType",
              "CantVectorizeStore", "CantVectorizeLoad", "NonSimpleLoad", "NonSimpleStore"},
             "it has an operation that vectors have not: an atomic one, or on vectors themselves")
      .Cases({"VectorizationNotBeneficial", "InterleavingNotBeneficial"},
             "vectors would not be faster, by LLVM's estimate")
      .Cases({"LoopInvariantStore", "CantVectorizeStoreToLoopInvariantAddress"},
             "each turn writes one place")
      .Default("");
}

/// What is said once more by another remark, or of loops that are not meant to be vectors.
static bool isNoise(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"MissedDetails", "MissedExplicitlyDisabled", "AllDisabled", "NotInnermostLoop"}, true)
      .Cases({"InterleavingNotBeneficialAndDisabled", "InterleavingBeneficialButDisabled",
              "VectorizationNotBeneficialAndDisabled", "NoTailLoopWithOptForSize"},
             true)
      .Default(false);
}

static std::string argumentOf(const Base &info, StringRef key) {
  for (const Base::Argument &argument : info.getArgs())
    if (argument.Key == key)
      return argument.Val;
  return "";
}

/// False: it says nothing.
static bool readVectorizer(const Base &info, CodegenRemark &remark) {
  remark.pass = "loop-vectorize";
  remark.subject = "vectors";
  StringRef name = info.getRemarkName();
  if (isNoise(name))
    return false;
  if (info.isPassed()) {
    std::string width = argumentOf(info, "VectorizationFactor"),
                interleaved = argumentOf(info, "InterleaveCount");
    remark.outcome = Outcome::Done;
    if (width.empty() || width == "1")
      return false;
    remark.parts = {
        {"", "the loop is computed as vectors of "}, {"width", width}, {"", " iterations"}};
    if (interleaved != "1")
      remark.parts.insert(
          remark.parts.end(),
          {{"", ", "}, {"interleaved", interleaved}, {"", " of them side by side"}});
    return true;
  }
  remark.outcome = Outcome::Declined;
  StringRef reason = reasonOf(name);
  std::string text = reason.empty() ? "LLVM says: " + info.getMsg() : reason.str();
  remark.parts = {{"", "the loop is no vectors: " + text}};
  return true;
}

static bool readUnroller(const Base &info, CodegenRemark &remark) {
  remark.pass = "loop-unroll";
  remark.subject = "unrolling";
  remark.outcome = Outcome::Done;
  std::string count = argumentOf(info, "UnrollCount");
  if (!info.isPassed() || count.empty())
    return false;
  remark.parts = {{"", "the loop is unrolled, "}, {"turns", count}, {"", " turns in one"}};
  return true;
}

static bool readWindows(const Base &info, CodegenRemark &remark) {
  remark.pass = windowsPass;
  remark.subject = "gathers";
  remark.outcome = Outcome::Done;
  remark.parts = {
      {"", "numbers that lie side by side are read by lanes: windows of up to 16 bytes, "},
      {"windows", argumentOf(info, "Windows")},
      {"", " of them in place of "},
      {"gathers", argumentOf(info, "Gathers")},
      {"", " gathers"}};
  return true;
}

static bool readAllocator(const Base &info, CodegenRemark &remark) {
  remark.pass = "regalloc";
  remark.subject = "registers";
  remark.outcome = Outcome::Declined;
  std::string spills = argumentOf(info, "NumSpills"), reloads = argumentOf(info, "NumReloads");
  if (info.getRemarkName() != "LoopSpillReloadCopies" || (spills.empty() && reloads.empty()))
    return false;
  remark.parts = {{"", "the loop needs more registers than there are: values go to the stack "},
                  {"spills", spills.empty() ? "0" : spills},
                  {"", " times and come back "},
                  {"reloads", reloads.empty() ? "0" : reloads},
                  {"", " times"}};
  return true;
}

/// Where the innermost loop around the code begins that the vectoriser speaks of: it often names an instruction inside.
static llvm::DebugLoc startOf(const Base &info) {
  if (info.getKind() > llvm::DK_LastRemark) // of the code generator's own representation
    return {};
  auto &ofIR = static_cast<const llvm::DiagnosticInfoIROptimization &>(info);
  auto *block = llvm::dyn_cast_or_null<llvm::BasicBlock>(ofIR.getCodeRegion());
  if (!block)
    return {};
  llvm::DominatorTree tree(*const_cast<llvm::Function *>(block->getParent()));
  llvm::LoopInfo loops(tree);
  llvm::Loop *loop = loops.getLoopFor(block);
  return loop ? loop->getStartLoc() : llvm::DebugLoc();
}

namespace {
struct Messages : llvm::DiagnosticHandler {
  Messages(std::string &errors, std::vector<CodegenRemark> *remarks)
      : errors(errors), remarks(remarks) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (remarks && info.getKind() >= llvm::DK_FirstRemark &&
        info.getKind() <= llvm::DK_LastMachineRemark)
      addRemark(static_cast<const Base &>(info));
    // Its other warnings are about its own heuristics, nothing that the kernel's author could act on.
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream stream(errors);
    stream << (errors.empty() ? "" : "; ");
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

  bool isAnalysisRemarkEnabled(StringRef pass) const override { return isWanted(pass); }
  bool isMissedOptRemarkEnabled(StringRef pass) const override { return isWanted(pass); }
  bool isPassedOptRemarkEnabled(StringRef pass) const override { return isWanted(pass); }
  bool isAnyRemarkEnabled() const override { return remarks; }

private:
  bool isWanted(StringRef pass) const { return remarks && isOfInterest(pass); }

  void addRemark(const Base &info) {
    StringRef pass = info.getPassName();
    CodegenRemark remark;
    bool says = pass == "loop-vectorize" ? readVectorizer(info, remark)
                : pass == "loop-unroll"  ? readUnroller(info, remark)
                : pass == "regalloc"     ? readAllocator(info, remark)
                : pass == windowsPass    ? readWindows(info, remark)
                                         : false;
    if (!says)
      return;
    llvm::DiagnosticLocation place = info.getLocation();
    unsigned inside = place.isValid() ? place.getLine() : 0;
    if (pass == "loop-vectorize" || pass == windowsPass)
      if (llvm::DebugLoc start = startOf(info))
        place = llvm::DiagnosticLocation(start);
    if (!place.isValid() || place.getLine() == 0)
      return; // of the compiler's own code
    if (inside != 0 && inside != place.getLine())
      remark.parts.push_back({"", " (line " + std::to_string(inside) + ")"});
    remark.file = place.getAbsolutePath();
    remark.line = place.getLine();
    remark.column = place.getColumn();
    remarks->push_back(std::move(remark));
  }

  std::string &errors;
  std::vector<CodegenRemark> *remarks;
};
} // namespace

std::unique_ptr<llvm::DiagnosticHandler>
metate::codegenMessages(std::string &errors, std::vector<CodegenRemark> *remarks) {
  return std::make_unique<Messages>(errors, remarks);
}

void metate::emitRemarks(mlir::MLIRContext *context, llvm::ArrayRef<CodegenRemark> remarks) {
  for (const CodegenRemark &remark : remarks) {
    InFlightRemark made =
        remarkAt(mlir::FileLineColLoc::get(context, remark.file, remark.line, remark.column),
                 remark.outcome, remark.pass, remark.subject);
    for (auto &[name, text] : remark.parts)
      if (name.empty())
        made << text;
      else
        made << Number(name, StringRef(text));
  }
}
