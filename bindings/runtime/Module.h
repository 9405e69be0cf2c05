// Modules and their kernels: the same class for a file, for bytes and for code
// in this process (JIT).
#ifndef METATE_BINDINGS_RUNTIME_MODULE_H
#define METATE_BINDINGS_RUNTIME_MODULE_H

#include "Type.h"

namespace metate::python {

/// An open module; shared by everything that borrows from it.
class ModuleHandle {
public:
  explicit ModuleHandle(std::shared_ptr<Device> device) : device(std::move(device)) {}
  ~ModuleHandle() {
    if (module)
      metate_module_close(module);
  }
  ModuleHandle(const ModuleHandle &) = delete;
  ModuleHandle &operator=(const ModuleHandle &) = delete;

  std::shared_ptr<Device> device;
  metate_module *module = nullptr;
  std::vector<uint64_t> descriptor; // open_static: libmetate reads it in place
  nb::object keepalive;             // open_static: whatever owns the code
};

/// A parameter of a kernel, as the dispatcher matches it.
struct Parameter {
  std::string name;
  uint32_t kind;
  ElementType element; // scalar, vector, an array's elements
  uint32_t rank;       // an array's, element dimensions included
  uint32_t access;
  uint32_t flags;
  uint64_t typeHash[2]; // a tree's
  std::string typeName; // a tree's, as the module calls it
  std::string typeText; // a tree's
  int64_t fixed[METATE_MAX_RANK];

  bool isResult() const { return flags & METATE_ARGUMENT_RESULT; }
  bool isContiguous() const { return flags & METATE_ARGUMENT_CONTIGUOUS; }
  /// "n, 3" of an array of which something is required, the element's dimensions not among them; else empty.
  std::string shapeText(const metate_kernel *kernel) const;
  /// What an argument for it must be, for error texts.
  std::string expected() const;
};

/// What Python's PlannedPool is made of; None for bytes that nothing bounds.
nb::tuple describePool(const metate_planned_pool &pool);

class Kernel {
public:
  Kernel(std::shared_ptr<ModuleHandle> module, const metate_kernel *kernel);

  const metate_kernel *get() const { return kernel; }
  Device &device() const { return *module->device; }
  const std::shared_ptr<Device> &sharedDevice() const { return module->device; }
  const std::string &getName() const { return name; }
  /// The caller's parameters; results are not among them.
  const std::vector<Parameter> &parameters() const { return inputs; }
  /// None, one, or one for each scalar, vector and matrix of a struct or tuple; then variables that
  /// the kernel's loops accumulate in, which are no results to its caller.
  const std::vector<Parameter> &results() const { return outputs; }
  size_t returnedCount() const { return returned; }
  const metate_kernel_description &description() const { return info; }
  const std::shared_ptr<ModuleHandle> &getModule() const { return module; }

private:
  std::shared_ptr<ModuleHandle> module;
  const metate_kernel *kernel;
  metate_kernel_description info{};
  std::string name;
  std::vector<Parameter> inputs, outputs;
  size_t returned = 0;
};

void bindModule(nb::module_ &module);

} // namespace metate::python

#endif
