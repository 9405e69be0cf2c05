// Binds what comes after the import stage: layouts, stages, code in memory,
// module files. Python's lock is released while the compiler works.
#include "Choices.h"
#include "Report.h"

#include "metate/Dialect/Tree.h"
#include "metate/Jit/Jit.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"
#include "metate/Remarks/Remarks.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace metate::python {
namespace {

using frontend::SourceModule;

nb::bytes treeTypeBlob(const std::string &text) {
  SourceModule module("type");
  std::string error;
  TreeType type = module.parseTree(text, error);
  if (!type)
    throwCompileError(error);
  return toBytes(valueOf(layout::treeTypeBlob(type)));
}

void runTo(SourceModule &module, Stage from, Stage to, const CompileOptions &options) {
  std::string error;
  {
    nb::gil_scoped_release unlocked;
    if (llvm::Error failure = runStages(module.op(), from, to, options))
      error = llvm::toString(std::move(failure));
  }
  if (!error.empty())
    throwCompileError(error);
}

/// The home of JIT code, and the code of one module in it; the code keeps its
/// home alive.
struct JitHome {
  explicit JitHome(PerfOutput perf) : jit(valueOf(Jit::create(perf))) {}
  std::unique_ptr<Jit> jit;
};

/// What the kernel's derivative reads as it was before the primal ran: names of arguments, with the tree's member ("" of an array), and as
/// users call it.
std::vector<std::array<std::string, 3>> readBefore(SourceModule &module, const Choices &choices) {
  std::vector<std::array<std::string, 3>> found;
  std::string error;
  CompileOptions options = optionsOf(choices);
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  {
    nb::gil_scoped_release unlocked;
    copy = module.op().clone();
    if (llvm::Error failure = makeDerivatives(*copy, options))
      error = llvm::toString(std::move(failure));
  }
  if (!error.empty())
    throwCompileError(error);
  for (KernelOp kernel : copy->getOps<KernelOp>())
    for (unsigned k = 0; k < kernel.getNumArguments(); ++k)
      if (auto paths = kernel.getArgAttrOfType<mlir::ArrayAttr>(k, mark::before))
        for (mlir::StringAttr path : paths.getAsRange<mlir::StringAttr>()) {
          std::string name = kernel.getArgAttrOfType<mlir::StringAttr>(k, mark::name).str();
          found.push_back(
              {name, path.str(), path.empty() ? name : shownMember(kernel, k, path).name});
        }
  return found;
}

/// (file, line, column, text) of what a derivative is zero for (ZeroDerivatives.h).
std::vector<std::tuple<std::string, unsigned, unsigned, std::string>>
zeroGradients(SourceModule &module, const Choices &choices) {
  CompileOptions options = optionsOf(choices);
  std::vector<Remark> remarks;
  {
    nb::gil_scoped_release unlocked;
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.op().clone();
    CollectedRemarks collected(copy->getContext(), remarks);
    llvm::consumeError(makeDerivatives(*copy, options)); // who compiles it says why
  }
  std::vector<std::tuple<std::string, unsigned, unsigned, std::string>> found;
  for (const Remark &remark : remarks)
    if (remark.pass == "differentiate" && remark.subject == "gradients")
      found.emplace_back(remark.file, remark.line, remark.column, remark.text);
  return found;
}

using PlaceTexts = std::vector<std::array<std::string, 3>>;

/// What each part of the kernel reads and writes, as read_before says it.
std::vector<std::pair<PlaceTexts, PlaceTexts>> partsOf(SourceModule &module) {
  std::vector<std::pair<PlaceTexts, PlaceTexts>> found;
  std::optional<llvm::Expected<std::vector<PartAccesses>>> known;
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  {
    nb::gil_scoped_release unlocked;
    copy = module.op().clone();
    known.emplace(partsOfKernel(*copy));
  }
  std::vector<PartAccesses> parts = valueOf(std::move(*known));
  KernelOp kernel = *copy->getOps<KernelOp>().begin();
  auto textsOf = [&](const std::vector<PartAccesses::Place> &places) {
    PlaceTexts texts;
    for (auto &[k, path] : places) {
      std::string name = kernel.getArgAttrOfType<mlir::StringAttr>(k, mark::name).str();
      texts.push_back({name, path, path.empty() ? name : shownMember(kernel, k, path).name});
    }
    return texts;
  };
  for (PartAccesses &part : parts)
    found.emplace_back(textsOf(part.read), textsOf(part.written));
  return found;
}

/// A report gets what the stages told, also where one failed.
void runTold(SourceModule &module, CompileOptions &options, Report *report) {
  if (report)
    options.report = &report->compile;
  runTo(module, Stage::Import, Stage::Emit, options);
  if (report)
    readCode(module, *report);
}

void explain(SourceModule &module, const Choices &choices, Report &report) {
  CompileOptions options = optionsOf(choices);
  runTold(module, options, &report);
}

std::unique_ptr<JitModule> compileJit(JitHome &home, SourceModule &module, const Choices &choices,
                                      Report *report) {
  CompileOptions options = optionsOf(choices);
  if (options.targets.size() != 1)
    throwCompileError("targets: expected one, which this machine runs, got " +
                      std::to_string(options.targets.size()));
  runTold(module, options, report);
  std::optional<llvm::Expected<std::unique_ptr<JitModule>>> added;
  {
    nb::gil_scoped_release unlocked;
    added.emplace(home.jit->add(module.op(), *options.targets.front()));
  }
  return valueOf(std::move(*added));
}

nb::bytes packUnlocked(SourceModule &module, bool strip) {
  std::optional<llvm::Expected<std::string>> packed;
  {
    nb::gil_scoped_release unlocked;
    PackOptions packing;
    packing.strip = strip;
    packed.emplace(pack(module.op(), ownTargets(), packing));
  }
  return toBytes(valueOf(std::move(*packed)));
}

nb::bytes packEmitted(SourceModule &module) { return packUnlocked(module, /*strip=*/false); }

nb::bytes buildModule(SourceModule &module, const Choices &choices, bool strip) {
  CompileOptions options = optionsOf(choices);
  runTo(module, Stage::Import, Stage::Emit, options);
  return packUnlocked(module, strip);
}

/// (header, [file of each target]).
template <auto packing>
nb::tuple buildWithHeader(SourceModule &module, const Choices &choices, bool strip) {
  runTo(module, Stage::Import, Stage::Emit, optionsOf(choices));
  std::optional<llvm::Expected<StaticCarrier>> packed;
  {
    nb::gil_scoped_release unlocked;
    PackOptions options;
    options.strip = strip;
    packed.emplace(packing(module.op(), ownTargets(), options));
  }
  StaticCarrier carrier = valueOf(std::move(*packed));
  nb::list files;
  for (const std::string &file : carrier.files)
    files.append(toBytes(file));
  return nb::make_tuple(carrier.header, files);
}

nb::bytes makeArchiveOf(const nb::bytes &object, const std::string &member) {
  return toBytes(valueOf(makeArchive(llvm::StringRef(object.c_str(), object.size()), member)));
}

nb::bytes makeWasmOf(const nb::bytes &object) {
  return toBytes(valueOf(makeWasm(llvm::StringRef(object.c_str(), object.size()), false)));
}

Stage stageOf(const std::string &name) {
  std::optional<Stage> stage = parseStage(name);
  if (!stage)
    throwCompileError("unknown stage '" + name + "': expected one of " +
                      llvm::join(stageNames(), ", "));
  return *stage;
}

/// A dump that has left stage `start`, taken to the end of `stop`: text, or
/// bytes after pack.
nb::object runStagesOnText(const std::string &text, const std::string &start,
                           const std::string &stop, const Choices &choices, bool strip) {
  Stage from = stageOf(start), to = stageOf(stop);
  if (to < from)
    throwCompileError("stage '" + stop + "' comes before '" + start + "'");
  SourceModule module("module");
  std::string error;
  {
    nb::gil_scoped_release unlocked;
    error = module.parse(text);
  }
  if (!error.empty())
    throwCompileError(error);
  CompileOptions options = optionsOf(choices);
  Stage last = to == Stage::Pack ? Stage::Emit : to;
  if (from < last)
    runTo(module, from, last, options);
  if (to != Stage::Pack)
    return nb::cast(dumpModule(module.op(), to, options));
  return packUnlocked(module, strip);
}

/// (name, type, default, role, documentation) of each option: what python/metate/_options.py is made of.
std::vector<std::array<std::string, 5>> allOptions() {
  std::vector<std::array<std::string, 5>> rows;
  for (const OptionInfo &info : optionTable())
    rows.push_back({info.name.str(), info.type.str(), info.value.str(),
                    optionRoleName(info.role).str(), info.documentation.str()});
  return rows;
}

std::vector<std::string> perTargetStageNames() {
  std::vector<std::string> names;
  for (llvm::StringRef name : stageNames())
    if (isPerTarget(*parseStage(name)))
      names.push_back(name.str());
  return names;
}

std::vector<std::string> allStageNames() {
  std::vector<std::string> names;
  for (llvm::StringRef name : stageNames())
    names.push_back(name.str());
  return names;
}

} // namespace

CompileOptions optionsOf(const Choices &choices) {
  CompileOptions options;
  static_cast<Options &>(options) = choices.options;
  TargetRegistry registry = ownTargets();
  for (const std::string &name : choices.targets)
    options.targets.push_back(valueOf(registry.parse(name)));
  return options;
}

static std::vector<std::tuple<std::string, std::string, std::string>> listedTargets() {
  std::vector<std::tuple<std::string, std::string, std::string>> rows;
  for (const ListedTarget &row : ownTargets().list())
    rows.emplace_back(row.name, row.what, row.carriers);
  return rows;
}

/// What machines of a target take as source.
static std::string sourceTarget(const std::string &name) {
  return valueOf(ownTargets().parse(name))->sourceTarget();
}

/// An option's value as Python has it: enumerators by their names.
template <typename T> using Shown = std::conditional_t<std::is_enum_v<T>, std::string, T>;

static Shown<Sanitizer> shown(Sanitizer value) { return sanitizerName(value).str(); }
static Shown<Reserve> shown(Reserve value) { return reserveName(value).str(); }
template <typename T> static T shown(T value) { return value; }

template <typename T> static void set(Options &, const char *, T &option, T value) {
  option = value;
}
template <typename T>
static void set(Options &options, const char *name, T &, const std::string &value) {
  if (llvm::Error error = setOption(options, name, value))
    throwCompileError(llvm::toString(std::move(error)));
}

void bindStages(nb::module_ &module) {
  module.def("targets", listedTargets,
             "The targets that have names: (name, what it is, carriers).");
  module.def("source_target", sourceTarget, nb::arg("name"),
             "The target whose code is source for that target's machines. Raises CompileError.");
  nb::class_<Choices> choices(module, "Choices", "Targets, and the options of Options.def.");
  choices.def(nb::init<>())
      .def_rw("targets", &Choices::targets, "Names of targets: native, x86-64-v3, znver4, ...");
#define METATE_OPTION(member, name, type, value, role, documentation)                              \
  choices.def_prop_rw(                                                                             \
      #name, [](const Choices &self) { return shown(self.options.member); },                       \
      [](Choices &self, const Shown<type> &given) {                                                \
        set(self.options, #name, self.options.member, given);                                      \
      },                                                                                           \
      documentation);
#include "metate/Options/Options.def"
  nb::class_<JitModule>(module, "CompiledModule",
                        "Code in this process; it goes when this object does.")
      .def_prop_ro("descriptor", [](const JitModule &self) { return toBytes(self.descriptor()); })
      .def_prop_ro("entries", [](const JitModule &self) { return addressesOf(self.entries()); });
  nb::enum_<PerfOutput>(module, "PerfOutput", "What Linux's perf is told of functions.")
      .value("none", PerfOutput::None)
      .value("map", PerfOutput::Map, "their names: /tmp/perf-PID.map")
      .value("jitdump", PerfOutput::Dump, "names, code and lines, for perf inject --jit");
  nb::class_<JitHome>(module, "Jit", "The home of compiled modules.")
      .def(nb::init<PerfOutput>(), nb::arg("perf") = PerfOutput::None)
      .def("compile", &compileJit, nb::arg("module"), nb::arg("choices"),
           nb::arg("report") = nb::none(),
           "Takes a SourceModule through all stages; the SourceModule is used up. A Report is "
           "filled.");
  module.def("explain", &explain, nb::arg("module"), nb::arg("choices"), nb::arg("report"),
             "Fills the Report of a SourceModule that is taken through all stages, and used up.");
  module.def(
      "read_before", &readBefore, nb::arg("module"), nb::arg("choices"),
      "Of a SourceModule of one derivative: [argument, member, what users call it] of what it "
      "reads as it was before the primal ran; the member of an array is empty.");
  module.def("parts_of", &partsOf, nb::arg("module"),
             "For each part of a SourceModule's one kernel: what it reads "
             "and what it writes, as read_before says it.");
  module.def(
      "zero_gradients", &zeroGradients, nb::arg("module"), nb::arg("choices"),
      "Of a SourceModule of one derivative: (file, line, column, text) where all of what its "
      "kernel computes of a variable has the derivative zero.");
  module.def(
      "take_part",
      [](SourceModule &self, unsigned number) {
        std::string error;
        {
          nb::gil_scoped_release unlocked;
          if (llvm::Error failure = takePartOfKernel(self.op(), number))
            error = llvm::toString(std::move(failure));
        }
        if (!error.empty())
          throwCompileError(error);
      },
      nb::arg("module"), nb::arg("number"), "A SourceModule's one kernel keeps one of its parts.");
  module.def("tree_type_blob", &treeTypeBlob, "The type blob of a tree type's text.");
  module.def("pack", &packEmitted, nb::arg("module"),
             "The bytes of a .metate file of a SourceModule that was compiled.");
  module.def("build_module", &buildModule, nb::arg("module"), nb::arg("choices"),
             nb::arg("strip") = false, "The bytes of a .metate file; the SourceModule is used up.");
  module.def("build_static", &buildWithHeader<&packStatic>, nb::arg("module"), nb::arg("choices"),
             nb::arg("strip") = false,
             "The C header and a relocatable object for each target; the SourceModule is used up.");
  module.def("build_library", &buildWithHeader<&packLibrary>, nb::arg("module"), nb::arg("choices"),
             nb::arg("strip") = false,
             "The C header and a shared object for each target; the SourceModule is used up.");
  module.def("make_archive", &makeArchiveOf, nb::arg("object"), nb::arg("member"),
             "The bytes of a static library of one object.");
  module.def("make_wasm", &makeWasmOf, nb::arg("object"),
             "The bytes of a WebAssembly module of one object for it.");
  module.def("run_stages", &runStagesOnText, nb::arg("text"), nb::arg("start"), nb::arg("stop"),
             nb::arg("choices"), nb::arg("strip") = false);
  module.def("stage_names", &allStageNames);
  module.def("per_target_stage_names", &perTargetStageNames,
             "Stages after which a module is one target's.");
  module.def("option_table", &allOptions,
             "Rows of Options.def: name, type, default, role, documentation.");
}

} // namespace metate::python
