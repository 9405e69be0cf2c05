// The names of the ahead-of-time RFC over metate.hpp: with `namespace taichi = metate::rfc;` its
// listing compiles. No exceptions: what fails returns a status with a text, or NULL and the
// module's error(). A module here owns its device; kernels print to stdout.
//
//   auto m = LoadModule("out/aot_module");
//   auto *t = m.GetSNodeTreeType("ab_aos");
//   auto typed = MakeMemoryResourceTyped(memory, t);
//   auto *k = m.GetKernel("run1");
//   k->Run({typed});
#ifndef METATE_RFC_HPP
#define METATE_RFC_HPP

#include "metate/metate.hpp"

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

namespace metate::rfc {

/// The device of a module and the hooks it was opened with; NULL parts as in metate_device_hooks.
struct LoadOptions {
  const metate_allocator *allocator = nullptr;
  const metate_executor *executor = nullptr;
  const metate_print_sink *print = nullptr; // NULL: stdout
};

namespace detail {
inline void printToStdout(void *, const char *text, size_t bytes) {
  std::fwrite(text, 1, bytes, stdout);
}
} // namespace detail

/// A tree type of a module.
class SNodeTreeType {
public:
  explicit SNodeTreeType(TreeType type) : type(type) {}
  /// Bytes of an instance whose pools hold everything the type can ever activate; 0 if no size
  /// does.
  size_t GetSize() const {
    auto size = type.try_size();
    return size ? size_t(*size) : 0;
  }
  size_t GetSize(const Capacities &capacities) const {
    auto size = type.try_size(capacities);
    return size ? size_t(*size) : 0;
  }
  size_t GetAlignment() const { return type.align(); }
  std::string name() const { return type.name(); }
  const TreeType &get() const { return type; }

private:
  TreeType type;
};

/// Memory seen as an instance of a type; copies share it.
class MemoryResourceTyped {
public:
  explicit MemoryResourceTyped(Result<Tree> bound) {
    if (bound)
      tree_ = std::make_shared<Tree>(std::move(*bound));
    else
      status_ = bound.status();
  }
  const Status &status() const { return status_; }
  bool ok() const { return status_.ok(); }
  /// NULL when status() is not METATE_OK.
  Tree *tree() const { return tree_.get(); }

private:
  std::shared_ptr<Tree> tree_;
  Status status_;
};

/// Binds and resets `bytes` bytes at `memory`.
inline MemoryResourceTyped MakeMemoryResourceTyped(void *memory, size_t bytes,
                                                   const SNodeTreeType *type,
                                                   const Capacities &capacities = {}) {
  if (!type)
    return MemoryResourceTyped(
        Status{METATE_E_NULL, "MakeMemoryResourceTyped: argument 'type' is NULL"});
  return MemoryResourceTyped(type->get().try_bind(memory, bytes, capacities));
}
/// Memory with data and size (functions or fields, in bytes), or a pointer to GetSize() bytes.
template <typename M>
MemoryResourceTyped MakeMemoryResourceTyped(M &&memory, const SNodeTreeType *type) {
  if constexpr (std::is_pointer_v<std::remove_cvref_t<M>>)
    return MakeMemoryResourceTyped(memory, type ? type->GetSize() : 0, type);
  else if constexpr (requires {
                       std::data(memory);
                       std::size(memory);
                     })
    return MakeMemoryResourceTyped(std::data(memory),
                                   std::size(memory) * sizeof(*std::data(memory)), type);
  else
    return MakeMemoryResourceTyped(memory.data, memory.size, type);
}

/// A kernel of a module.
class Kernel {
public:
  explicit Kernel(metate::Kernel kernel) : kernel(kernel) {}

  /// "{args: {ab_aos}, returns: {}}"
  std::string signature() const {
    std::string in, out;
    for (const metate_argument_description &argument : kernel.arguments()) {
      std::string &list = argument.flags & METATE_ARGUMENT_RESULT ? out : in;
      list += (list.empty() ? "" : ", ") + shown(argument);
    }
    return "{args: {" + in + "}, returns: {" + out + "}}";
  }
  /// Checks the arguments and runs to the end.
  Status Run(std::initializer_list<std::variant<MemoryResourceTyped, Argument>> arguments) const {
    std::vector<Argument> values;
    values.reserve(arguments.size());
    for (const auto &argument : arguments) {
      const auto *typed = std::get_if<MemoryResourceTyped>(&argument);
      if (typed && !typed->tree())
        return typed->status();
      values.push_back(typed ? Argument(*typed->tree()) : *std::get_if<Argument>(&argument));
    }
    std::vector<metate_argument> list;
    for (Argument &value : values)
      list.push_back(value.get());
    return Status::of(metate_kernel_launch(kernel.get(), list.data(), uint32_t(list.size())));
  }
  std::string name() const { return kernel.name(); }
  const metate::Kernel &get() const { return kernel; }

private:
  static std::string shown(const metate_argument_description &argument) {
    if (argument.kind == METATE_ARGUMENT_TREE) {
      TreeType type(argument.type);
      return type.name().empty() ? type.text() : type.name();
    }
    std::string scalar = metate_dtype_name(argument.dtype);
    if (argument.kind == METATE_ARGUMENT_NDARRAY)
      return "ndarray(" + scalar + ", " + std::to_string(argument.rank) + ")";
    if (argument.element_rank == 1)
      return "vector(" + std::to_string(argument.rows) + ", " + scalar + ")";
    if (argument.element_rank == 2)
      return "matrix(" + std::to_string(argument.rows) + ", " + std::to_string(argument.columns) +
             ", " + scalar + ")";
    return scalar;
  }

  metate::Kernel kernel;
};

/// A module and its device. Types and kernels it hands out live as long as it does.
class Module {
public:
  const Status &status() const { return state->status; }
  bool ok() const { return status().ok(); }
  /// "x64", "arm64"; "" when the module did not open.
  std::string arch() const {
    if (!state->module)
      return "";
    uint32_t arch = state->module->describe().arch;
    return arch == METATE_ARCH_X86_64 ? "x64" : arch == METATE_ARCH_AARCH64 ? "arm64" : "unknown";
  }
  /// NULL when there is none of that name; status() says what there is.
  SNodeTreeType *GetSNodeTreeType(const std::string &name) {
    return find(state->types, name, [&] { return state->module->try_tree_type(name.c_str()); });
  }
  Kernel *GetKernel(const std::string &name) {
    return find(state->kernels, name, [&] { return state->module->try_kernel(name.c_str()); });
  }

private:
  // On the heap, so that pointers handed out survive a move of the module.
  struct State {
    Status status;
    std::optional<Device> device;
    std::optional<metate::Module> module;
    std::map<std::string, SNodeTreeType> types;
    std::map<std::string, Kernel> kernels;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  template <typename T, typename Find>
  T *find(std::map<std::string, T> &known, const std::string &name, Find query) {
    if (!state->module)
      return nullptr;
    auto at = known.find(name);
    if (at != known.end())
      return &at->second;
    auto found = query();
    state->status = found.status();
    return found ? &known.emplace(name, T(*found)).first->second : nullptr;
  }

  friend Module LoadModule(const std::string &path, const LoadOptions &options);
};

/// Opens a .metate file, or the module.metate in a folder. Check ok() or status().
inline Module LoadModule(const std::string &path, const LoadOptions &options = {}) {
  metate_print_sink standard{nullptr, detail::printToStdout};
  auto hooks = sized<metate_device_hooks>();
  hooks.allocator = options.allocator;
  hooks.executor = options.executor;
  hooks.print = options.print ? options.print : &standard;
  Module loaded;
  auto device = Device::try_open(&hooks);
  loaded.state->status = device.status();
  if (!device)
    return loaded;
  loaded.state->device.emplace(std::move(*device));
  std::error_code ignored;
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file, ignored))
    file /= "module.metate";
  auto module = metate::Module::try_open(file.c_str(), *loaded.state->device);
  loaded.state->status = module.status();
  if (module)
    loaded.state->module.emplace(std::move(*module));
  return loaded;
}

} // namespace metate::rfc

#endif
