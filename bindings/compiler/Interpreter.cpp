// Binds the reference interpreter: the same SourceModule as the JIT takes, the same descriptor and
// entries as it gives, and what was found on the way.
#include "Choices.h"
#include "Compiler.h"

#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Interp/Interpreter.h"
#include "metate/Jit/Jit.h"
#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"
#include "metate/Target/Interp/Thunks.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace metate::python {
namespace {

using frontend::SourceModule;
using interp::Finding;
using interp::InterpretedModule;

/// Kernels that are interpreted, behind entries that look like any other's.
struct InterpretedCode {
  std::unique_ptr<InterpretedModule> module;
  std::unique_ptr<JitModule> thunks; // first to go
};

struct Interpreter {
  std::unique_ptr<Jit> jit = valueOf(Jit::create()); // home of the thunks
  std::shared_ptr<interp::Workspace> workspace = interp::makeWorkspace();
};

interp::Checks checksOf(const std::vector<std::string> &names, bool stop) {
  interp::Checks checks;
  for (const std::string &name : names)
    if (!checks.set(name))
      throwCompileError("checks: expected " + llvm::join(interp::Checks::names(), ", ") +
                        ", got '" + name + "'");
  checks.stop = stop;
  return checks;
}

bool standsForDerivative(KernelOp kernel, llvm::StringRef mode) {
  auto mark = kernel->getAttrOfType<mlir::StringAttr>(mark::differentiate);
  return mark && mark.getValue() == mode;
}

/// The compiled derivative may have memory of its own behind the arguments; the one that is interpreted takes it, and leaves it.
void addArgumentsOf(mlir::ModuleOp lowered, mlir::ModuleOp interpreted) {
  for (auto kernel : interpreted.getOps<KernelOp>()) {
    auto other = lowered.lookupSymbol<KernelOp>(kernel.getSymName());
    if (!other || !standsForDerivative(kernel, forwardMode))
      continue;
    for (unsigned k = kernel.getNumArguments(); k < other.getNumArguments(); ++k)
      if (mlir::failed(kernel.insertArgument(k, other.getArgument(k).getType(),
                                             other.getArgAttrDict(k), kernel.getLoc())))
        llvm_unreachable("an argument more");
  }
}

/// All of the work, without Python's lock.
llvm::Expected<std::unique_ptr<InterpretedCode>> interpret(Interpreter &self, mlir::ModuleOp source,
                                                           Stage stage,
                                                           const CompileOptions &options,
                                                           const interp::Checks &checks) {
  mlir::OwningOpRef<mlir::ModuleOp> interpreted = source.clone();
  if (llvm::Error error = runStages(*interpreted, Stage::Import, stage, options))
    return error;
  // After import a gradient is not written yet: it is what the pass makes. A forward derivative is interpreted as it is, in dual
  // numbers, which know nothing of the pass.
  if (llvm::any_of(interpreted->getOps<KernelOp>(),
                   [](KernelOp kernel) { return standsForDerivative(kernel, reverseMode); }))
    if (llvm::Error error = makeDerivatives(*interpreted, options))
      return error;
  // The interface is the compiler's, so that a kernel looks the same to its host on any target.
  mlir::OwningOpRef<mlir::ModuleOp> lowered = interpreted->clone();
  if (llvm::Error error = runStages(*lowered, stage, Stage::Offload, options))
    return error;
  addArgumentsOf(*lowered, *interpreted);
  if (llvm::Error error = recordInterfaces(*lowered))
    return error;
  // The interpreter asks for interrupts at each turn of a loop, as debug kernels do.
  for (InterfaceOp interface : lowered->getOps<InterfaceOp>())
    interface.setDebug(true);
  llvm::Expected<std::string> descriptor = buildDescriptor(*lowered);
  if (!descriptor)
    return descriptor.takeError();
  auto code = std::make_unique<InterpretedCode>();
  auto module =
      InterpretedModule::create(std::move(interpreted), *descriptor, checks, self.workspace);
  if (!module)
    return module.takeError();
  code->module = std::move(*module);
  mapToInterpreter(*lowered, *code->module);
  CompileOptions plain = options;
  plain.sanitizer = Sanitizer::None;
  plain.optLevel = 0; // thunks
  if (llvm::Error error = runStages(*lowered, Stage::Map, Stage::Emit, plain))
    return error;
  auto thunks = self.jit->add(*lowered, *options.targets.front());
  if (!thunks)
    return thunks.takeError();
  code->thunks = std::move(*thunks);
  return code;
}

std::unique_ptr<InterpretedCode> compile(Interpreter &self, SourceModule &module,
                                         const Choices &choices, const std::string &stageName,
                                         const std::vector<std::string> &checkNames, bool stop) {
  std::optional<Stage> stage = parseStage(stageName);
  if (!stage || *stage > Stage::Offload)
    throwCompileError("stage: expected import, simplify, activate or offload, got '" + stageName +
                      "'");
  CompileOptions options = optionsOf(choices);
  if (options.reserve != Reserve::None)
    stage = std::max(*stage, Stage::Activate); // where slices are made
  interp::Checks checks = checksOf(checkNames, stop);
  std::optional<llvm::Expected<std::unique_ptr<InterpretedCode>>> code;
  {
    nb::gil_scoped_release unlocked;
    code.emplace(interpret(self, module.op(), *stage, options, checks));
  }
  return valueOf(std::move(*code));
}

} // namespace

/// The function's value, of f64 or of f32: for tests that compute what kernels do.
static double elementaryValue(const std::string &name, double x, double y, bool isDouble) {
  std::optional<ElementaryFunction> function = symbolizeElementaryFunction(name);
  if (!function)
    throw nb::value_error(("no elementary function '" + name + "'").c_str());
  auto which = elementary::Function(*function);
  return isDouble ? elementary::evaluate(which, x, y)
                  : double(elementary::evaluate(which, float(x), float(y)));
}

void bindInterpreter(nb::module_ &module) {
  module.def("elementary", &elementaryValue, nb::arg("name"), nb::arg("x"), nb::arg("y"),
             nb::arg("is_double"),
             "An elementary function of numbers, to the last bit as kernels have it.");
  nb::class_<Finding>(module, "Finding", "One thing that the interpreter found, at one place.")
      .def_ro("kind", &Finding::kind, "A check's name, or bounds, assert, capacity, undefined.")
      .def_ro("file", &Finding::file)
      .def_ro("line", &Finding::line, "0: unknown.")
      .def_ro("column", &Finding::column, "From 1.")
      .def_ro("callers", &Finding::callers,
              "Where functions were called that are inlined up to there, innermost first: "
              "'file:line:column'.")
      .def_ro("kernel", &Finding::kernel)
      .def_ro("iteration", &Finding::iteration, "'(3, 4)'; empty outside of parallel loops.")
      .def_ro("message", &Finding::message)
      .def_ro("count", &Finding::count, "How often; the rest is about the first time.")
      .def("__repr__", [](const Finding &self) {
        return "<finding " + self.kind + " at " + self.file + ":" + std::to_string(self.line) +
               ":" + std::to_string(self.column) + ": " + self.message + ">";
      });
  nb::class_<InterpretedCode>(module, "InterpretedModule",
                              "Interpreted kernels; as CompiledModule.")
      .def_prop_ro("descriptor",
                   [](const InterpretedCode &self) { return toBytes(self.thunks->descriptor()); })
      .def_prop_ro("entries",
                   [](const InterpretedCode &self) { return addressesOf(self.thunks->entries()); })
      .def(
          "take_findings", [](InterpretedCode &self) { return self.module->takeFindings(); },
          "What was found since the last call.");
  nb::class_<Interpreter>(module, "Interpreter", "The reference interpreter.")
      .def(nb::init<>())
      .def(
          "compile", &compile, nb::arg("module"), nb::arg("choices"), nb::arg("stage") = "import",
          nb::arg("checks") = std::vector<std::string>(), nb::arg("stop") = true,
          nb::keep_alive<0, 2>(), // its operations live in the SourceModule's context
          "Makes kernels of a SourceModule that are interpreted as they are after `stage`. `stop`: "
          "the first finding ends a launch with an error.");
  module.def("check_names", [] {
    std::vector<std::string> names;
    for (llvm::StringRef name : interp::Checks::names())
      names.push_back(name.str());
    return names;
  });
}

} // namespace metate::python
