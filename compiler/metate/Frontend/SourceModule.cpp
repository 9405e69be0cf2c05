//===- SourceModule.cpp - a module of kernels being written -----*- C++ -*-===//
#include "metate/Frontend/SourceModule.h"

#include "metate/Dialect/Derivative.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

// Kernels are compiled in parallel by their callers; a pool of threads a
// context would only cost its start.
SourceModule::SourceModule(StringRef name)
    : ownContext(makeRegistry(), MLIRContext::Threading::DISABLED) {
  ownContext.loadAllAvailableDialects();
  moduleOp = ModuleOp::create(FileLineColLoc::get(&ownContext, "module", 0, 0), name);
}

/// Runs `action` and returns the errors it reports.
static std::string collectErrors(MLIRContext *context, function_ref<void()> action) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (!text.empty())
      stream << "\n";
    stream << diagnostic;
    return success();
  });
  action();
  return text;
}

TreeType SourceModule::parseTree(StringRef text, std::string &error) {
  Type type;
  error = collectErrors(&ownContext, [&] { type = parseType(text, &ownContext); });
  auto tree = dyn_cast_or_null<TreeType>(type);
  if (!tree && error.empty())
    error = ("expected a tree type, got '" + text + "'").str();
  return tree;
}

std::string SourceModule::parse(StringRef text) {
  OwningOpRef<ModuleOp> parsed;
  std::string error = collectErrors(&ownContext, [&] {
    parsed = parseSourceString<ModuleOp>(text, ParserConfig(&ownContext), "module");
  });
  if (!parsed)
    return error.empty() ? "the text is no module" : error;
  moduleOp = std::move(parsed);
  return "";
}

std::string SourceModule::addNamedType(StringRef name, StringRef type) {
  if (SymbolTable::lookupSymbolIn(op(), name))
    return ("the module has '" + name + "' already").str();
  std::string error;
  TreeType tree = parseTree(type, error);
  if (!tree)
    return error;
  OpBuilder builder = OpBuilder::atBlockEnd(op().getBody());
  NamedTypeOp::create(builder, op().getLoc(), name, tree);
  return "";
}

void SourceModule::addDerived(StringRef kernel, StringRef mode, StringRef primal) {
  OpBuilder builder = OpBuilder::atBlockEnd(op().getBody());
  DerivedOp::create(builder, op().getLoc(), kernel, mode, primal);
}

void SourceModule::document(StringRef kernel, StringRef text) {
  SymbolTable::lookupSymbolIn(op(), kernel)
      ->setAttr(mark::documentation, StringAttr::get(&ownContext, text));
}

void SourceModule::check(StringRef kernel) {
  setMark(SymbolTable::lookupSymbolIn(op(), kernel), mark::checked);
}

std::string SourceModule::verify() {
  bool isValid = false;
  std::string errors = collectErrors(&ownContext, [&] { isValid = succeeded(mlir::verify(op())); });
  return isValid ? std::string() : errors.empty() ? "the module is not valid" : errors;
}

std::string SourceModule::text(bool withLocations) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  OpPrintingFlags flags;
  if (withLocations)
    flags.enableDebugInfo(true, false);
  op().print(stream, flags);
  stream << "\n";
  return result;
}
