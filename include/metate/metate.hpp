// The C++ API of libmetate: RAII over metate.h, header-only, C++20.
//
// Every operation that can fail exists as `try_x`, which returns Result<T> and needs no exceptions,
// and, where exceptions are enabled, as `x`, which returns T and throws metate::Exception. Objects
// are move-only; a type and a kernel are borrowed from their module and must not outlive it. An
// object that is destroyed while a launch on it runs stays open (METATE_E_BUSY) and is lost.
//
//   auto device = metate::Device::open();
//   auto module = metate::Module::open("ab.metate", device);
//   auto ab     = module.tree_type("ab_aos");
//   auto memory = my_allocate(ab.size(), ab.align());   // anything with data() and size()
//   auto tree   = ab.bind(memory);
//   module.kernel("run1")(tree);
#ifndef METATE_METATE_HPP
#define METATE_METATE_HPP

#include "metate/kernel.hpp"
#include "metate/result.hpp"
#include "metate/tree.hpp"

namespace metate {

/// A machine with the given hooks, by the name of its driver ("cpu", the host's); it must outlive what is opened on it.
class Device {
public:
  static Result<Device> try_open(const metate_device_hooks *hooks = nullptr) {
    return try_open_driver("cpu", hooks);
  }
  static Result<Device> try_open_driver(const char *driver,
                                        const metate_device_hooks *hooks = nullptr) {
    metate_device *raw = nullptr;
    if (metate_status code = metate_device_open_driver(driver, hooks, &raw))
      return Status::of(code);
    return Device(raw);
  }
  /// Another device on the same machine, with hooks of its own: trees of one go into kernels of the other.
  Result<Device> try_open_beside(const metate_device_hooks *hooks = nullptr) const {
    metate_device *raw = nullptr;
    if (metate_status code = metate_device_open_beside(get(), hooks, &raw))
      return Status::of(code);
    return Device(raw);
  }
  /// One that a driver's library opened (metate_vulkan_device_open, ...): it is closed with this object.
  static Device adopt(metate_device *opened) { return Device(opened); }
  metate_device *get() const { return handle.get(); }
  metate_device_info describe() const {
    auto info = sized<metate_device_info>();
    metate_device_describe(get(), &info);
    return info;
  }
  /// What kernels may use of the machine, its memory, its driver's version.
  Result<metate_machine_info> try_inspect() const {
    auto info = sized<metate_machine_info>();
    if (metate_status code = metate_device_inspect(get(), &info))
      return Status::of(code);
    return info;
  }
  /// Whom launches tell what they took (metate_profiler); null: nobody.
  Status profile(const metate_profiler *profiler) {
    return Status::of(metate_device_profile(get(), profiler));
  }
#if METATE_EXCEPTIONS
  static Device open(const metate_device_hooks *hooks = nullptr) { return unwrap(try_open(hooks)); }
  static Device open_driver(const char *driver, const metate_device_hooks *hooks = nullptr) {
    return unwrap(try_open_driver(driver, hooks));
  }
  Device open_beside(const metate_device_hooks *hooks = nullptr) const {
    return unwrap(try_open_beside(hooks));
  }
  metate_machine_info inspect() const { return unwrap(try_inspect()); }
#endif

private:
  explicit Device(metate_device *raw) : handle(raw) {}
  detail::Handle<metate_device, metate_device_close> handle;
};

/// An open module.
class Module {
public:
  static Result<Module> try_open(const char *path, const Device &device, uint32_t flags = 0) {
    metate_module *raw = nullptr;
    if (metate_status code = metate_module_open_file(device.get(), path, flags, &raw))
      return Status::of(code);
    return Module(raw);
  }
  static Result<Module> try_open(std::span<const std::byte> bytes, const Device &device,
                                 uint32_t flags = 0) {
    metate_module *raw = nullptr;
    if (metate_status code =
            metate_module_open_bytes(device.get(), bytes.data(), bytes.size(), flags, &raw))
      return Status::of(code);
    return Module(raw);
  }
  /// A module that is linked into this program: what its generated header declares.
  static Result<Module> try_open_static(const metate_static_module &linked, const Device &device) {
    metate_module *raw = nullptr;
    if (metate_status code =
            metate_module_open_static(device.get(), linked.descriptor, linked.bytes, linked.entries,
                                      linked.entry_count, &raw))
      return Status::of(code);
    return Module(raw);
  }
  metate_module *get() const { return handle.get(); }
  metate_module_info describe() const {
    auto info = sized<metate_module_info>();
    metate_module_describe(get(), &info);
    return info;
  }
  Result<TreeType> try_tree_type(const char *name) const {
    const metate_type *type = nullptr;
    if (metate_status code = metate_module_find_type(get(), name, &type))
      return Status::of(code);
    return TreeType(type);
  }
  Result<Kernel> try_kernel(const char *name) const {
    const metate_kernel *kernel = nullptr;
    if (metate_status code = metate_module_find_kernel(get(), name, &kernel))
      return Status::of(code);
    return Kernel(kernel);
  }
#if METATE_EXCEPTIONS
  static Module open(const char *path, const Device &device, uint32_t flags = 0) {
    return unwrap(try_open(path, device, flags));
  }
  static Module open(std::span<const std::byte> bytes, const Device &device, uint32_t flags = 0) {
    return unwrap(try_open(bytes, device, flags));
  }
  static Module open_static(const metate_static_module &linked, const Device &device) {
    return unwrap(try_open_static(linked, device));
  }
  TreeType tree_type(const char *name) const { return unwrap(try_tree_type(name)); }
  Kernel kernel(const char *name) const { return unwrap(try_kernel(name)); }
#endif

private:
  explicit Module(metate_module *raw) : handle(raw) {}
  detail::Handle<metate_module, metate_module_close> handle;
};

} // namespace metate

#endif
