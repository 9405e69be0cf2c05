// Binds what comes after the import stage: layouts, stages, code in memory,
// module files. Python's lock is released while the compiler works.
#include "Choices.h"

#include "metate/Jit/Jit.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
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

Sanitizer sanitizerOf(const std::string &name) {
  if (name.empty())
    return Sanitizer::None;
  if (name == "address")
    return Sanitizer::Address;
  if (name == "thread")
    return Sanitizer::Thread;
  throwCompileError("sanitizer: expected 'address' or 'thread', got '" + name + "'");
}

Slices slicesOf(const std::string &name) {
  if (name.empty())
    return Slices::None;
  if (name == "beside")
    return Slices::Beside;
  if (name == "only")
    return Slices::Only;
  throwCompileError("slices: expected '', 'beside' or 'only', got '" + name + "'");
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
  std::unique_ptr<Jit> jit = valueOf(Jit::create());
};

std::unique_ptr<JitModule> compileJit(JitHome &home, SourceModule &module, const Choices &choices) {
  CompileOptions options = optionsOf(choices);
  runTo(module, Stage::Import, Stage::Emit, options);
  std::optional<llvm::Expected<std::unique_ptr<JitModule>>> added;
  {
    nb::gil_scoped_release unlocked;
    added.emplace(home.jit->add(module.op()));
  }
  return valueOf(std::move(*added));
}

nb::bytes packUnlocked(SourceModule &module, bool strip) {
  std::optional<llvm::Expected<std::string>> packed;
  {
    nb::gil_scoped_release unlocked;
    PackOptions packing;
    packing.strip = strip;
    packed.emplace(pack(module.op(), packing));
  }
  return toBytes(valueOf(std::move(*packed)));
}

nb::bytes buildModule(SourceModule &module, const Choices &choices, bool strip) {
  CompileOptions options = optionsOf(choices);
  runTo(module, Stage::Import, Stage::Emit, options);
  return packUnlocked(module, strip);
}

/// (header, [object of each target]).
nb::tuple packStaticUnlocked(SourceModule &module, bool strip) {
  std::optional<llvm::Expected<StaticCarrier>> packed;
  {
    nb::gil_scoped_release unlocked;
    PackOptions packing;
    packing.strip = strip;
    packed.emplace(packStatic(module.op(), packing));
  }
  StaticCarrier carrier = valueOf(std::move(*packed));
  nb::list objects;
  for (const std::string &object : carrier.objects)
    objects.append(toBytes(object));
  return nb::make_tuple(carrier.header, objects);
}

nb::tuple buildStatic(SourceModule &module, const Choices &choices, bool strip) {
  CompileOptions options = optionsOf(choices);
  runTo(module, Stage::Import, Stage::Emit, options);
  return packStaticUnlocked(module, strip);
}

nb::bytes makeArchiveOf(const nb::bytes &object, const std::string &member) {
  return toBytes(valueOf(makeArchive(llvm::StringRef(object.c_str(), object.size()), member)));
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
    return nb::cast(dumpModule(module.op()));
  return packUnlocked(module, strip);
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
  for (const std::string &name : choices.targets)
    options.targets.push_back(valueOf(parseMachine(name, choices.optLevel)));
  options.hoistLeaves = choices.hoistLeaves;
  options.proveActivity = choices.proveActivity;
  options.scanMasks = choices.scanMasks;
  options.demoteAtomics = choices.demoteAtomics;
  options.privateReductions = choices.privateReductions;
  // Without an optimiser, vectors of sixteen would only be in the way.
  options.acrossIterations =
      choices.acrossIterations && choices.optLevel > 0 && choices.sanitizer.empty();
  options.deterministic = choices.deterministic;
  options.chunkNanoseconds = choices.chunkNanoseconds;
  options.nontemporalBytes = choices.optLevel > 0 ? choices.nontemporalBytes : UINT64_MAX;
  options.debug = choices.debug;
  options.contract = choices.contract;
  options.sanitizer = sanitizerOf(choices.sanitizer);
  options.slices = slicesOf(choices.slices);
  options.verify = choices.verify;
  return options;
}

void bindStages(nb::module_ &module) {
  nb::class_<Choices>(module, "Choices", "Targets and which optimisations run.")
      .def(nb::init<>())
      .def_rw("targets", &Choices::targets,
              "Names as `parseMachine` reads them: native, x86-64-v3, znver4, ...")
      .def_rw("opt_level", &Choices::optLevel)
      .def_rw("hoist_leaves", &Choices::hoistLeaves)
      .def_rw("prove_activity", &Choices::proveActivity)
      .def_rw("scan_masks", &Choices::scanMasks)
      .def_rw("demote_atomics", &Choices::demoteAtomics)
      .def_rw("private_reductions", &Choices::privateReductions)
      .def_rw("across_iterations", &Choices::acrossIterations)
      .def_rw("deterministic", &Choices::deterministic)
      .def_rw("chunk_ns", &Choices::chunkNanoseconds)
      .def_rw("nontemporal_bytes", &Choices::nontemporalBytes, "2**64 - 1: never")
      .def_rw("debug", &Choices::debug)
      .def_rw("contract", &Choices::contract)
      .def_rw("sanitizer", &Choices::sanitizer)
      .def_rw("slices", &Choices::slices,
              "Kernels that count the slots others take: '' none, 'beside' those, 'only'")
      .def_rw("verify", &Choices::verify);
  nb::class_<JitModule>(module, "CompiledModule",
                        "Code in this process; it goes when this object does.")
      .def_prop_ro("descriptor", [](const JitModule &self) { return toBytes(self.descriptor()); })
      .def_prop_ro("entries", [](const JitModule &self) { return addressesOf(self.entries()); });
  nb::class_<JitHome>(module, "Jit", "The home of compiled modules.")
      .def(nb::init<>())
      .def("compile", &compileJit, nb::arg("module"), nb::arg("choices"),
           "Takes a SourceModule through all stages; the SourceModule is used "
           "up.");
  module.def("tree_type_blob", &treeTypeBlob, "The type blob of a tree type's text.");
  module.def("build_module", &buildModule, nb::arg("module"), nb::arg("choices"),
             nb::arg("strip") = false, "The bytes of a .metate file; the SourceModule is used up.");
  module.def("build_static", &buildStatic, nb::arg("module"), nb::arg("choices"),
             nb::arg("strip") = false,
             "The C header and a relocatable object for each target; the SourceModule is used up.");
  module.def("make_archive", &makeArchiveOf, nb::arg("object"), nb::arg("member"),
             "The bytes of a static library of one object.");
  module.def("run_stages", &runStagesOnText, nb::arg("text"), nb::arg("start"), nb::arg("stop"),
             nb::arg("choices"), nb::arg("strip") = false);
  module.def("stage_names", &allStageNames);
}

} // namespace metate::python
