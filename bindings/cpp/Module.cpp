// Modules, code and tree types of metate/builder.hpp: what comes before a kernel is written, and after it.
#include "State.h"

#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"
#include "metate/Target/Targets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace metate::builder {

using detail::Access;

//===-- tree types ---------------------------------------------------------===//

static std::string joined(const Levels &children) {
  std::string text;
  for (const Level &child : children)
    text += (text.empty() ? "" : ", ") + child.text;
  return text;
}

// Extents are one for each axis.
static std::string extentsText(const std::string &axes, const Extents &extents) {
  std::string text;
  for (size_t k = 0; k < axes.size(); ++k) {
    size_t which = extents.each.size() == 1 ? 0 : k;
    if (which >= extents.each.size() ||
        (extents.each.size() != 1 && extents.each.size() != axes.size()))
      throw Error("a level over the axes '" + axes + "': expected one extent or " +
                  std::to_string(axes.size()) + ", got " + std::to_string(extents.each.size()));
    text += (k ? ", " : "") + std::to_string(extents.each[which]);
  }
  return text;
}

static Level level(const char *kind, const std::string &axes, const std::string &extents,
                   const Levels &children, const std::string &more, const std::string &name) {
  return {std::string("#metate.") + kind + "<\"" + axes + "\", " + extents + "[" +
          joined(children) + "]" + more + (name.empty() ? "" : ", name = \"" + name + "\"") + ">"};
}

Level place(const std::string &name, Type type) {
  std::string scalar = frontend::scalarName(type.scalar).str();
  // MLIR's spelling: an integer is signed unless it says u.
  if (frontend::isInteger(type.scalar))
    scalar = (frontend::isSigned(type.scalar) ? "i" : "ui") +
             std::to_string(frontend::bitWidth(type.scalar));
  else if (type.scalar == METATE_U1)
    scalar = "i1";
  std::string text = scalar;
  if (type.rank)
    text = "vector<" + std::to_string(type.rows) + "x" +
           (type.rank == 2 ? std::to_string(type.columns) + "x" : std::string()) + scalar + ">";
  return {"#metate.place<\"" + name + "\" : " + text + ">"};
}

Level dense(const std::string &axes, Extents extents, Levels children, const std::string &name) {
  return level("dense", axes, "[" + extentsText(axes, extents) + "], ", children, "", name);
}
Level pointer(const std::string &axes, Extents extents, Levels children, const std::string &name) {
  return level("pointer", axes, "[" + extentsText(axes, extents) + "], ", children, "", name);
}
Level bitmasked(const std::string &axes, Extents extents, Levels children,
                const std::string &name) {
  return level("bitmasked", axes, "[" + extentsText(axes, extents) + "], ", children, "", name);
}
Level dynamic(const std::string &axis, int64_t most, int64_t chunk, Levels children,
              const std::string &name) {
  return level("dynamic", axis, "[" + std::to_string(most) + "], ", children,
               ", chunk = " + std::to_string(chunk), name);
}
Level hash(const std::string &axes, Levels children, const std::string &name) {
  return level("hash", axes, "", children, "", name);
}

TreeType::TreeType(Levels children) : spelling("!metate.tree<" + joined(children) + ">") {}

//===-- modules ------------------------------------------------------------===//

Module::Module(const std::string &name) : state(std::make_unique<detail::ModuleState>(name)) {}
Module::~Module() = default;
Module::Module(Module &&) noexcept = default;
Module &Module::operator=(Module &&) noexcept = default;

void Module::add_type(const std::string &name, const TreeType &type) {
  std::string problem = state->source.addNamedType(name, type.text());
  if (!problem.empty())
    throw Error("type '" + name + "': " + problem);
}

void Module::kernel(const std::string &name, const std::function<void(Kernel &)> &write,
                    KernelOptions options, Where where) {
  if (mlir::SymbolTable::lookupSymbolIn(state->source.op(), name))
    Access::fail(where, "kernel '" + name + "': the module has this name already");
  frontend::KernelOptions given;
  given.mayAlias = options.may_alias;
  given.asserts = options.asserts;
  auto kernel = std::make_shared<detail::KernelState>();
  kernel->writer.emplace(state->source, name, given, where.file_name(), where.line(),
                         where.column());
  kernel->name = name;
  kernel->at = where;
  Kernel shown(kernel);
  try {
    write(shown);
    kernel->builder().finish();
    Access::check(*kernel);
  } catch (...) {
    kernel->builder().abandon();
    kernel->writer.reset();
    throw;
  }
  kernel->writer.reset();
}

std::string Module::text(bool locations) const { return state->source.text(locations); }

/// The value, or an Error.
template <typename T> static T valueOf(llvm::Expected<T> expected) {
  if (!expected)
    throw Error(llvm::toString(expected.takeError()));
  return std::move(*expected);
}

static void check(llvm::Error error) {
  if (error)
    throw Error(llvm::toString(std::move(error)));
}

/// A copy of the module, which has been through all stages up to emit.
static mlir::OwningOpRef<mlir::ModuleOp> emitted(detail::ModuleState &state,
                                                 const CompileOptions &options) {
  std::string problem = state.source.verify();
  if (!problem.empty())
    throw Error(problem);
  mlir::OwningOpRef<mlir::ModuleOp> copy = state.source.op().clone();
  check(runStages(*copy, Stage::Import, Stage::Emit, options));
  return copy;
}

static CompileOptions optionsOf(const Options &given) {
  CompileOptions options;
  for (const auto &[name, value] : given.values)
    check(setOption(options, name, value));
  TargetRegistry registry = ownTargets();
  for (const std::string &name : given.targets)
    options.targets.push_back(valueOf(registry.parse(name)));
  return options;
}

Code Module::compile(const Options &given) const {
  if (given.targets.size() != 1)
    throw Error("compile: targets: expected one, which this machine runs, got " +
                std::to_string(given.targets.size()));
  CompileOptions options = optionsOf(given);
  mlir::OwningOpRef<mlir::ModuleOp> module = emitted(*state, options);
  Code code;
  code.state = std::make_shared<detail::CodeState>();
  code.state->home = valueOf(Jit::create());
  code.state->code = valueOf(code.state->home->add(*module, *options.targets.front()));
  return code;
}

metate_static_module Code::get() const {
  if (!state)
    throw Error("expected code that Module::compile made, got an empty Code");
  llvm::StringRef descriptor = state->code->descriptor();
  llvm::ArrayRef<metate_entry> entries = state->code->entries();
  return {descriptor.data(), descriptor.size(), entries.data(), uint32_t(entries.size()), 0};
}

std::string Module::build(const Options &given) const {
  return valueOf(pack(*emitted(*state, optionsOf(given)), ownTargets()));
}

static void write(const std::string &path, llvm::StringRef bytes) {
  check(llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) { // complete or not there
    stream << bytes;
    return llvm::Error::success();
  }));
}

void Module::save(const std::string &path, const Options &given) const {
  llvm::StringRef ending = llvm::sys::path::extension(path);
  if (ending == ".metate")
    return write(path, build(given));
  if (ending != ".o" && ending != ".a")
    throw Error("save: expected a path that ends in .metate, .o or .a, got '" + path + "'");
  if (given.targets.size() != 1)
    throw Error("save: an object is for one machine: expected one target, got " +
                std::to_string(given.targets.size()));
  StaticCarrier carrier = valueOf(packStatic(*emitted(*state, optionsOf(given)), ownTargets()));
  std::string member = llvm::sys::path::stem(path).str() + ".o";
  llvm::SmallString<128> header(path);
  llvm::sys::path::replace_extension(header, ".h");
  write(path, ending == ".o" ? carrier.files.front()
                             : valueOf(makeArchive(carrier.files.front(), member)));
  write(header.str().str(), carrier.header);
}

} // namespace metate::builder
