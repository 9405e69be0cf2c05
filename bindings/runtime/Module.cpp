// Module and Kernel for Python: queries go to libmetate each time, parameters
// are read once.
#include "Module.h"

#include <cstring>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace metate::python {
namespace {

Parameter parameterOf(const metate_kernel *kernel, uint32_t index) {
  metate_argument_description info{};
  info.struct_size = sizeof(info);
  check(metate_kernel_argument_info(kernel, index, &info));
  Parameter parameter{};
  parameter.name = info.name;
  parameter.kind = info.kind;
  parameter.element = {info.dtype, info.rows, info.columns, info.element_rank};
  parameter.rank = info.rank;
  parameter.access = info.access;
  parameter.flags = info.flags;
  std::memcpy(parameter.fixed, info.fixed, sizeof(parameter.fixed));
  if (info.kind == METATE_ARGUMENT_TREE) {
    metate_type_description type{};
    type.struct_size = sizeof(type);
    check(metate_type_describe(info.type, &type));
    std::memcpy(parameter.typeHash, type.hash, sizeof(type.hash));
    parameter.typeName = type.name;
    parameter.typeText = type.text;
  }
  return parameter;
}

} // namespace

std::string Parameter::expected() const {
  switch (kind) {
  case METATE_ARGUMENT_TREE:
    return "a tree of type " + (typeName.empty() ? typeText : "'" + typeName + "': " + typeText);
  case METATE_ARGUMENT_NDARRAY: {
    uint32_t outer = rank - element.rank;
    std::string text = isContiguous() ? "a row-major array of " : "an array of ";
    text +=
        element.text() + " with " + std::to_string(outer) + " dimension" + (outer == 1 ? "" : "s");
    if (access & METATE_ACCESS_WRITE)
      text += " that may be written";
    return text;
  }
  default:
    return element.text();
  }
}

static metate_dim_description dimOf(const metate_kernel *kernel, uint32_t index) {
  metate_dim_description dim{};
  dim.struct_size = sizeof dim;
  check(metate_kernel_dim_info(kernel, index, &dim));
  return dim;
}

std::string Parameter::shapeText(const metate_kernel *kernel) const {
  std::string text;
  bool isOpen = true;
  for (uint32_t k = 0; k < rank - element.rank; ++k) {
    isOpen &= fixed[k] == -1;
    text += k ? ", " : "";
    text += fixed[k] == -1  ? ":"
            : fixed[k] >= 0 ? std::to_string(fixed[k])
                            : dimOf(kernel, uint32_t(METATE_EXTENT_OF_DIM(fixed[k]))).name;
  }
  return isOpen ? "" : text;
}

Kernel::Kernel(std::shared_ptr<ModuleHandle> ofModule, const metate_kernel *borrowed)
    : module(std::move(ofModule)), kernel(borrowed) {
  info.struct_size = sizeof(info);
  check(metate_kernel_describe(kernel, &info));
  name = info.name;
  for (uint32_t index = 0; index < info.argument_count; ++index) {
    Parameter parameter = parameterOf(kernel, index);
    returned += parameter.isResult() && !parameter.name.starts_with("local.");
    (parameter.isResult() ? outputs : inputs).push_back(std::move(parameter));
  }
}

namespace {

std::shared_ptr<ModuleHandle> openFile(std::shared_ptr<Device> device, const std::string &path,
                                       bool queryOnly) {
  auto handle = std::make_shared<ModuleHandle>(std::move(device));
  uint32_t flags = queryOnly ? METATE_MODULE_QUERY_ONLY : 0;
  check(metate_module_open_file(handle->device->get(), path.c_str(), flags, &handle->module));
  return handle;
}

std::shared_ptr<ModuleHandle> openBytes(std::shared_ptr<Device> device, nb::bytes bytes,
                                        bool queryOnly) {
  auto handle = std::make_shared<ModuleHandle>(std::move(device));
  uint32_t flags = queryOnly ? METATE_MODULE_QUERY_ONLY : 0;
  check(metate_module_open_bytes(handle->device->get(), bytes.c_str(), bytes.size(), flags,
                                 &handle->module));
  return handle;
}

std::shared_ptr<ModuleHandle> openStatic(std::shared_ptr<Device> device, nb::bytes descriptor,
                                         const std::vector<uint64_t> &entries,
                                         nb::object keepalive) {
  auto handle = std::make_shared<ModuleHandle>(std::move(device));
  handle->descriptor.resize((descriptor.size() + 7) / 8);
  std::memcpy(handle->descriptor.data(), descriptor.c_str(), descriptor.size());
  handle->keepalive = std::move(keepalive);
  std::vector<metate_entry> addresses;
  for (uint64_t entry : entries)
    addresses.push_back(reinterpret_cast<metate_entry>(uintptr_t(entry)));
  check(metate_module_open_static(handle->device->get(), handle->descriptor.data(),
                                  descriptor.size(), addresses.data(), uint32_t(addresses.size()),
                                  &handle->module));
  return handle;
}

metate_module_info describe(const ModuleHandle &handle) {
  metate_module_info info{};
  info.struct_size = sizeof(info);
  check(metate_module_describe(handle.module, &info));
  return info;
}

nb::list types(const std::shared_ptr<ModuleHandle> &handle) {
  nb::list found;
  for (uint32_t index = 0, count = describe(*handle).type_count; index < count; ++index) {
    const metate_type *type = nullptr;
    check(metate_module_type_at(handle->module, index, &type));
    found.append(std::make_shared<Type>(handle->device, type, handle));
  }
  return found;
}

nb::list kernels(const std::shared_ptr<ModuleHandle> &handle) {
  nb::list found;
  for (uint32_t index = 0, count = describe(*handle).kernel_count; index < count; ++index) {
    const metate_kernel *kernel = nullptr;
    check(metate_module_kernel_at(handle->module, index, &kernel));
    found.append(std::make_shared<Kernel>(handle, kernel));
  }
  return found;
}

nb::list variants(const ModuleHandle &handle) {
  nb::list found;
  for (uint32_t index = 0, count = describe(handle).variant_count; index < count; ++index) {
    metate_variant_description info{};
    info.struct_size = sizeof(info);
    check(metate_module_variant(handle.module, index, &info));
    nb::dict entry;
    entry["arch"] = info.arch;
    entry["level"] = info.level;
    entry["format"] = info.format;
    entry["payload_bytes"] = info.payload_bytes;
    entry["cpu"] = std::string(info.cpu);
    entry["features"] = std::string(info.features);
    entry["triple"] = std::string(info.triple);
    found.append(entry);
  }
  return found;
}

} // namespace

nb::tuple describePool(const metate_planned_pool &pool) {
  auto bytes = [](uint64_t number) {
    return number == UINT64_MAX ? nb::object(nb::none()) : nb::object(nb::cast(number));
  };
  return nb::make_tuple(pool.name, bytes(pool.bytes), pool.align,
                        pool.kind == METATE_POOL_WORKER ? "worker" : "launch", bytes(pool.maximum),
                        pool.memory);
}

namespace {

nb::dict describeParameter(const Parameter &parameter, const metate_kernel *kernel) {
  nb::dict entry;
  bool isArray = parameter.kind == METATE_ARGUMENT_NDARRAY && !parameter.isResult();
  std::string shape = isArray ? parameter.shapeText(kernel) : "";
  entry["name"] = parameter.name;
  entry["kind"] = parameter.kind;
  entry["dtype"] = parameter.element.dtype;
  entry["element_rank"] = parameter.element.rank;
  entry["rows"] = parameter.element.rows;
  entry["columns"] = parameter.element.columns;
  entry["rank"] = parameter.rank;
  entry["access"] = parameter.access;
  entry["contiguous"] = parameter.isContiguous();
  entry["type_name"] = parameter.typeName;
  entry["type"] = parameter.typeText;
  entry["text"] = parameter.kind == METATE_ARGUMENT_TREE ? parameter.typeName
                  : !shape.empty() ? parameter.element.text() + "[" + shape + "]"
                  : isArray ? "ndarray(" + parameter.element.text() + ", " +
                                  std::to_string(parameter.rank - parameter.element.rank) + ")"
                            : parameter.element.text();
  return entry;
}

nb::list largestPlan(const metate_kernel *kernel) {
  metate_plan plan{};
  plan.struct_size = sizeof plan;
  plan.pool_size = sizeof(metate_planned_pool);
  std::vector<metate_planned_pool> pools;
  for (int turn = 0; turn < 2; ++turn) { // the first one says how many there are
    check(metate_kernel_plan(kernel, nullptr, 0, &plan));
    pools.resize(plan.pool_count);
    plan.pools = pools.data();
  }
  nb::list found;
  for (const metate_planned_pool &pool : pools)
    found.append(describePool(pool));
  return found;
}

void bindKernel(nb::module_ &module) {
  nb::class_<Kernel>(module, "Kernel", nb::is_weak_referenceable(), "A kernel of an open module.")
      .def_prop_ro("name", &Kernel::getName)
      .def_prop_ro(
          "address", [](const Kernel &self) { return reinterpret_cast<uintptr_t>(self.get()); },
          "Of the metate_kernel, for other libraries; it lives as long as the module.")
      .def_prop_ro(
          "signature", [](const Kernel &self) { return self.description().signature; },
          "Hash of name and arguments: guards the direct pointer.")
      .def_prop_ro(
          "is_graph",
          [](const Kernel &self) { return bool(self.description().flags & METATE_KERNEL_GRAPH); })
      .def(
          "derivative",
          [](const Kernel &self, uint32_t mode) -> std::optional<std::string> {
            const metate_kernel *found = nullptr;
            metate_status status = metate_kernel_derivative(self.get(), mode, &found);
            if (status == METATE_E_NOT_FOUND)
              return std::nullopt;
            check(status);
            return Kernel(self.getModule(), found).getName();
          },
          nb::arg("mode"),
          "The name of its derivative, 1: in reverse, 2: in forward mode; None: there is none.")
      .def_prop_ro(
          "dims",
          [](const Kernel &self) {
            nb::list found;
            for (uint32_t k = 0; k < self.description().dim_count; ++k) {
              metate_dim_description dim = dimOf(self.get(), k);
              found.append(nb::make_tuple(dim.name, dim.min, dim.max, dim.multiple));
            }
            return found;
          },
          "(name, min, max, multiple) of each named extent of its arrays.")
      .def_prop_ro("task_count", [](const Kernel &self) { return self.description().task_count; })
      .def_prop_ro(
          "source",
          [](const Kernel &self) {
            return nb::make_tuple(std::string(self.description().file), self.description().line);
          },
          "(file, line) of the definition; line 0 = unknown.")
      .def(
          "largest_plan", [](const Kernel &self) { return largestPlan(self.get()); },
          "The pools that the largest launch needs, as Dispatcher.plan gives them.")
      .def_prop_ro("parameters",
                   [](const Kernel &self) {
                     nb::list found;
                     for (const Parameter &parameter : self.parameters())
                       found.append(describeParameter(parameter, self.get()));
                     return found;
                   })
      .def_prop_ro(
          "results",
          [](const Kernel &self) {
            nb::list found;
            for (size_t k = 0; k < self.returnedCount(); ++k)
              found.append(describeParameter(self.results()[k], self.get()));
            return found;
          },
          "Like parameters; several for the parts of a struct or tuple.");
}

} // namespace

void bindModule(nb::module_ &module) {
  bindKernel(module);
  nb::class_<ModuleHandle>(module, "Module", "An open module: types, kernels and their code.")
      .def_static("open_file", &openFile, nb::arg("device"), nb::arg("path"),
                  nb::arg("query_only") = false)
      .def_static("open_bytes", &openBytes, nb::arg("device"), nb::arg("data"),
                  nb::arg("query_only") = false)
      .def_static("open_static", &openStatic, nb::arg("device"), nb::arg("descriptor"),
                  nb::arg("entries"), nb::arg("keepalive").none() = nb::none(),
                  "Code that is in this process: entries[i] is the address of "
                  "kernel i; `keepalive` owns it.")
      .def_prop_ro("name",
                   [](const ModuleHandle &self) { return std::string(describe(self).name); })
      .def_prop_ro("producer",
                   [](const ModuleHandle &self) { return std::string(describe(self).producer); })
      .def_prop_ro("arch", [](const ModuleHandle &self) { return describe(self).arch; })
      .def_prop_ro("descriptor",
                   [](const ModuleHandle &self) {
                     metate_module_info info = describe(self);
                     return nb::bytes(static_cast<const char *>(info.descriptor),
                                      info.descriptor_bytes);
                   })
      .def_prop_ro("types", &types, "The tree types, in the module's order.")
      .def_prop_ro("kernels", &kernels, "The kernels, in the module's order.")
      .def_prop_ro("variants", &variants, "Each variant's machine, as a dict.");
  module.def(
      "verify", [](nb::bytes data) { check(metate_module_verify(data.c_str(), data.size())); },
      nb::arg("data"),
      "Checks the bytes of a .metate file without opening it; raises "
      "RuntimeError_.");
}

} // namespace metate::python
