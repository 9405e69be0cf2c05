// Opening, inputs, launching through libmetate.
#include "session.h"

#include "metate/abi/library.h"
#include "metate/metate_threads.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>

namespace metate::tool {

struct Session::Hooks {
  metate_executor executor{};
  metate_print_sink sink{};
  GuardedAllocator allocator;
  metate_allocator guarded{};

  Hooks() = default;
  Hooks(const Hooks &) = delete;
  ~Hooks() { metate_threads_executor_destroy(executor.parallel_for ? &executor : nullptr); }
};

// What kernels print goes to stderr where stdout is one JSON document.
static void printText(void *self, const char *text, size_t bytes) {
  std::fwrite(text, 1, bytes, static_cast<FILE *>(self));
}

/// Whether all that the loader would map is in the file: it does not look itself.
static bool isWhole(const File &file) {
  Elf64_Ehdr head{};
  if (file.bytes < sizeof head)
    return false;
  std::memcpy(&head, file.data(), sizeof head);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
      head.e_phoff > file.bytes || head.e_phnum > (file.bytes - head.e_phoff) / sizeof(Elf64_Phdr))
    return false;
  for (uint32_t k = 0; k < head.e_phnum; ++k) {
    Elf64_Phdr part{};
    std::memcpy(&part, file.data() + head.e_phoff + k * sizeof part, sizeof part);
    if (part.p_offset > file.bytes || part.p_filesz > file.bytes - part.p_offset)
      return false;
  }
  return true;
}

static bool isLibrary(const File &file) {
  return file.bytes >= SELFMAG && !std::memcmp(file.data(), ELFMAG, SELFMAG);
}

/// Does the file say that it is a module (abi/metate/abi/library.h)? One that a linker made of an object says nothing.
static bool isModule(const File &file) {
  const char name[] = "\0" METATE_LIBRARY_SECTION;
  const char *end = reinterpret_cast<const char *>(file.data()) + file.bytes;
  return std::search(reinterpret_cast<const char *>(file.data()), end, name, name + sizeof name) !=
         end;
}

/// A library that was linked of an object, or whose bytes were verified.
static void *openLibrary(const std::string &path, const File &bytes) {
  if (!isWhole(bytes))
    throw Error("cannot load " + path + ": it is damaged, or no library of a 64-bit machine");
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error("cannot load " + path + ": " + dlerror());
  return library;
}

/// The module of a library that was linked of its object: its symbol is NAME_module, NAME.so or libNAME.so the file.
static Module linkedModule(void *library, const std::string &path, const Device &device) {
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  void *found = dlsym(library, (name + "_module").c_str());
  if (!found && name.rfind("lib", 0) == 0)
    found = dlsym(library, (name.substr(3) + "_module").c_str());
  if (!found)
    throw Error(path + ": expected the module '" + name + "' in it, and found no symbol " + name +
                "_module: call the library after the module");
  return Module::open_static(*static_cast<const metate_static_module *>(found), device);
}

Session::Session(const Options &options) : options(options), hooks(std::make_unique<Hooks>()) {
  auto given = sized<metate_device_hooks>();
  if (options.threads > 1) {
    check(metate_threads_executor_create(options.threads, &hooks->executor));
    given.executor = &hooks->executor;
  }
  hooks->sink = {options.json ? stderr : stdout, printText};
  given.print = &hooks->sink;
  if (options.guard) {
    hooks->guarded = hooks->allocator.hooks();
    given.allocator = &hooks->guarded;
    watchGuards();
  }
  device.emplace(Device::open(&given));
  File file = readFile(options.file);
  bool isCarrier = !isLibrary(file) || isModule(file);
  if (isCarrier) // after all of its bytes were verified
    module.emplace(Module::open(options.file.c_str(), *device));
  if (isLibrary(file) && (!isCarrier || options.level == CallLevel::Packed))
    library = openLibrary(options.file, file);
  if (options.level == CallLevel::Packed && !library)
    throw Error("--level: a .metate file has no packed entries: objects and the shared libraries "
                "that are made of them "
                "have (metate build --emit o, cc -shared)");
  if (!isCarrier)
    module.emplace(linkedModule(library, options.file, *device));
}

Session::~Session() = default;

const metate_executor &Session::executor() const { return hooks->executor; }

// A result that was not named: an array of its fixed extents.
static std::string resultSpelling(const metate_argument_description &argument) {
  std::string shape;
  for (uint32_t k = 0; k < argument.rank; ++k) {
    if (argument.fixed[k] < 0)
      throw Error(std::string(argument.name) + ": the result has no fixed shape: name it, for "
                                               "example zeros:[n]");
    shape += (k ? "," : "") + std::to_string(argument.fixed[k]);
  }
  return "zeros:[" + shape + "]";
}

Input &Session::inputFor(const metate_argument_description &argument) {
  auto known = made.find(argument.name);
  if (known != made.end())
    return known->second;
  auto spelled = options.inputs.find(argument.name);
  if (spelled == options.inputs.end() && !(argument.flags & METATE_ARGUMENT_RESULT))
    throw Error("argument '" + std::string(argument.name) + "' (" + showArgument(argument) +
                ") is missing: write " + argument.name + "=...: see metate-run --help");
  std::string spelling =
      spelled == options.inputs.end() ? resultSpelling(argument) : spelled->second;
  Input &input = made.emplace(argument.name, Input(argument, spelling)).first->second;
  if (options.guard && input.kind() == METATE_ARGUMENT_NDARRAY)
    input.guard(argument.name);
  return input;
}

std::function<void()> Session::launcher(const std::string &name) {
  Kernel kernel = module->kernel(name.c_str());
  std::vector<metate_argument> list;
  for (const metate_argument_description &argument : kernel.arguments()) {
    list.push_back(inputFor(argument).get());
    if (argument.access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE))
      written.insert(argument.name);
  }
  if (options.level == CallLevel::Packed)
    return packedLauncher(kernel);
  if (options.level == CallLevel::Direct)
    return directLauncher(kernel, std::move(list));
  return [kernel, list] {
    check(metate_kernel_launch(kernel.get(), list.data(), uint32_t(list.size())));
  };
}

static Array memberOf(const Tree &tree, const std::string &member) {
  const metate_type *type = tree.describe().type;
  uint32_t index = 0;
  check(metate_type_find_member(type, member.c_str(), &index));
  auto level = sized<metate_level_description>();
  check(metate_type_level(type, index, &level));
  Array array;
  array.dtype = level.dtype;
  array.shape.assign(level.shape, level.shape + level.path_rank);
  if (level.element_rank >= 1)
    array.shape.push_back(level.rows);
  if (level.element_rank == 2)
    array.shape.push_back(level.columns);
  array.allocate();
  check(metate_tree_read_dense(tree.get(), index, array.data(),
                               array.count() * metate_dtype_bytes(array.dtype)));
  return array;
}

Array Session::elementsOf(const std::string &option, const std::string &name) const {
  size_t dot = name.find('.');
  auto input = made.find(name); // gradients are called x.grad
  if (input == made.end())
    input = made.find(name.substr(0, dot));
  if (input == made.end())
    throw Error(option + ": no argument named '" + name.substr(0, dot) + "'");
  if (input->second.kind() != METATE_ARGUMENT_TREE)
    return input->second.elements();
  if (dot == std::string::npos)
    throw Error(option + ": '" + name + "' is a tree: name a member, like " + name + ".a");
  return memberOf(input->second.tree(), name.substr(input->first.size() + 1));
}

void Session::requireAllUsed() const {
  for (const auto &[name, spelling] : options.inputs)
    if (!made.count(name))
      throw Error("no kernel that ran has an argument named '" + name + "'");
}

} // namespace metate::tool
