// Opening and closing modules and asking for what is in them. Every way in ends in the same object,
// so that JIT, static linking and files cannot be told apart afterwards.
#include "module/module.h"

#include <cstring>

using namespace metate;

namespace {

void destroy(metate_module *module) {
  metate_device *device = module->device;
  if (module->descriptor) {
    const metate_descriptor &head = module->description().header();
    for (uint32_t i = 0; module->types && i < head.types.count; ++i)
      if (module->types[i])
        release(module->types[i]);
    device->release(module->types, head.types.count * sizeof *module->types, 8);
    device->release(module->kernels, head.kernels.count * sizeof *module->kernels, 8);
    device->release(module->payloadBytes, head.variants.count * sizeof *module->payloadBytes, 8);
  }
  device->driver->unload(device->machine, &module->code);
  device->release(module->copy, module->descriptorBytes, 64);
  device->drop(module);
}

metate_status failMemory() {
  return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for a module");
}

template <typename T> T *makeArray(metate_device *device, uint32_t count) {
  void *place = device->allocate(count * sizeof(T), 8);
  if (place)
    memset(place, 0, count * sizeof(T));
  return static_cast<T *>(place);
}

metate_status makeTypes(metate_module &module) {
  Descriptor descriptor = module.description();
  uint32_t count = descriptor.header().types.count;
  module.types = makeArray<metate_type *>(module.device, count);
  if (!module.types)
    return failMemory();
  for (uint32_t i = 0; i < count; ++i) {
    const metate_type_info &info = descriptor.types()[i];
    METATE_TRY(makeType(module.device, descriptor.at(info.offset), info.bytes,
                        descriptor.text(info.name), &module.types[i]));
  }
  return METATE_OK;
}

// Kernels find their slices, which stand behind all kernels, in the same order.
void linkSlices(metate_module &module) {
  Descriptor descriptor = module.description();
  uint32_t offered = descriptor.kernelCount(), next = 0;
  for (uint32_t i = offered; i < descriptor.header().kernels.count; ++i) {
    const metate_kernel &slice = module.kernels[i];
    for (uint32_t at = next; at < offered; ++at) {
      metate_kernel &kernel = module.kernels[at];
      size_t length = strlen(kernel.name);
      if (strncmp(slice.name, kernel.name, length) ||
          strcmp(slice.name + length, METATE_SLICE_SUFFIX) ||
          slice.info->slot_count != kernel.info->slot_count + 1)
        continue;
      kernel.slice = &slice;
      next = at + 1;
      break;
    }
  }
}

void linkDerivatives(metate_module &module) {
  Descriptor descriptor = module.description();
  for (uint32_t i = 0; i < descriptor.header().derivatives.count; ++i) {
    const metate_derivative_info &one = descriptor.derivatives()[i];
    module.kernels[one.primal].derivatives[one.mode - 1] = &module.kernels[one.kernel];
  }
}

// The pools that the code in use plans; in a module for queries, the first variant's.
void choosePools(const metate_module &module, metate_kernel &kernel) {
  uint32_t variant = module.variant == METATE_NONE ? 0 : module.variant;
  const metate_pool_info *all = module.description().pools() + kernel.info->first_pool;
  for (uint32_t i = 0; i < kernel.info->pool_count; ++i) {
    if (all[i].variant != METATE_NONE && all[i].variant != variant)
      continue;
    kernel.pools = kernel.pools ? kernel.pools : &all[i];
    ++kernel.poolCount;
    kernel.perWorker |= all[i].kind == METATE_POOL_WORKER;
  }
}

// Without `code` in a module that is opened for queries.
metate_status makeKernels(metate_module &module, const Code *code) {
  Descriptor descriptor = module.description();
  uint32_t count = descriptor.header().kernels.count;
  module.kernels = makeArray<metate_kernel>(module.device, count);
  if (!module.kernels)
    return failMemory();
  for (uint32_t i = 0; i < count; ++i) {
    metate_kernel &kernel = *new (&module.kernels[i]) metate_kernel();
    kernel.device = module.device;
    kernel.info = &descriptor.kernels()[i];
    kernel.arguments = descriptor.arguments() + kernel.info->first_argument;
    kernel.name = descriptor.text(kernel.info->name);
    kernel.descriptor = module.descriptor;
    kernel.types = module.types;
    kernel.uses = &module.uses;
    kernel.code = code;
    kernel.number = i;
    kernel.entry = code && code->entries ? code->entries[i] : nullptr;
    if (code && code->entries && !kernel.entry)
      return fail(METATE_E_NULL, "the entry of kernel '%s' is NULL", kernel.name);
    for (uint32_t k = 0; k < kernel.info->argument_count; ++k) {
      const metate_argument_info &argument = kernel.arguments[k];
      bool memory =
          argument.kind == METATE_ARGUMENT_NDARRAY || argument.kind == METATE_ARGUMENT_TREE;
      kernel.trees += argument.kind == METATE_ARGUMENT_TREE;
      kernel.writes |= memory && (argument.access & (METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE));
      kernel.activates |=
          argument.kind == METATE_ARGUMENT_TREE && (argument.access & METATE_ACCESS_ACTIVATE);
    }
    choosePools(module, kernel);
    kernel.dims = descriptor.dims() + kernel.info->first_dim;
    while (kernel.info->first_dim + kernel.dimCount < descriptor.header().dims.count &&
           kernel.dims[kernel.dimCount].kernel == i)
      ++kernel.dimCount;
  }
  linkSlices(module);
  linkDerivatives(module);
  return METATE_OK;
}

// Copies the descriptor, which a verified file's module keeps; the rest of the file may go.
metate_status adoptCarrier(metate_module &module, const CarrierFormat &format, Span carrier,
                           uint32_t flags) {
  Span descriptor = format.descriptor(carrier.data, carrier.bytes);
  module.copy = static_cast<uint8_t *>(module.device->allocate(descriptor.bytes, 64));
  if (!module.copy)
    return failMemory();
  memcpy(module.copy, descriptor.data, descriptor.bytes);
  module.descriptor = module.copy;
  module.descriptorBytes = descriptor.bytes;
  uint32_t variants = module.description().header().variants.count;
  module.payloadBytes = makeArray<uint64_t>(module.device, variants);
  if (!module.payloadBytes)
    return failMemory();
  for (uint32_t i = 0; i < variants; ++i)
    module.payloadBytes[i] = format.payload(carrier.data, carrier.bytes, i).bytes;
  METATE_TRY(makeTypes(module));
  if (!(flags & METATE_MODULE_QUERY_ONLY)) {
    const Driver &driver = *module.device->driver;
    void *machine = module.device->machine;
    METATE_TRY(chooseVariant(driver, machine, module.description(), &module.variant));
    METATE_TRY(driver.load(machine, module.description(), module.variant,
                           format.payload(carrier.data, carrier.bytes, module.variant),
                           &module.code));
    return makeKernels(module, &module.code);
  }
  return makeKernels(module, nullptr);
}

metate_status finish(metate_module *made, metate_status status, metate_module **module) {
  if (status != METATE_OK) {
    destroy(made);
    return status;
  }
  made->device->live.fetch_add(1, std::memory_order_relaxed);
  *module = made;
  return METATE_OK;
}

// The file's bytes, aligned for reading in place.
metate_status openAligned(metate_device *device, const void *bytes, uint64_t count, uint32_t flags,
                          metate_module **module) {
  const CarrierFormat &format = carrierFormat(bytes, count);
  METATE_TRY(format.verify(bytes, count));
  auto *made = device->make<metate_module>(device);
  if (!made)
    return failMemory();
  Span carrier = {static_cast<const uint8_t *>(bytes), count};
  return finish(made, adoptCarrier(*made, format, carrier, flags), module);
}

metate_status checkFlags(const char *function, uint32_t flags) {
  if (flags & ~uint32_t(METATE_MODULE_QUERY_ONLY))
    return fail(METATE_E_INVALID_ARGUMENT, "%s: flags: unknown bits 0x%x", function, flags);
  return METATE_OK;
}

} // namespace

metate_status metate_module_open_file(metate_device *device, const char *path, uint32_t flags,
                                      metate_module **module) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(path);
  METATE_REQUIRE(module);
  METATE_TRY(checkFlags(__func__, flags));
  uint8_t *bytes = nullptr;
  uint64_t count = 0;
  METATE_TRY(os::readFile(device->allocator, path, &bytes, &count));
  metate_status status = openAligned(device, bytes, count, flags, module);
  device->release(bytes, count, 64);
  return status;
}

metate_status metate_module_open_bytes(metate_device *device, const void *bytes, uint64_t count,
                                       uint32_t flags, metate_module **module) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(bytes);
  METATE_REQUIRE(module);
  METATE_TRY(checkFlags(__func__, flags));
  if (reinterpret_cast<uintptr_t>(bytes) % 8 == 0)
    return openAligned(device, bytes, count, flags, module);
  Array<uint64_t> aligned(*device);
  METATE_TRY(aligned.allocate(count / 8 + 1));
  memcpy(aligned.data(), bytes, count);
  return openAligned(device, aligned.data(), count, flags, module);
}

metate_status metate_module_open_static(metate_device *device, const void *descriptor,
                                        uint64_t bytes, const metate_entry *entries,
                                        uint32_t entry_count, metate_module **module) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(descriptor);
  METATE_REQUIRE(module);
  if (entry_count)
    METATE_REQUIRE(entries);
  if (reinterpret_cast<uintptr_t>(descriptor) % 8)
    return fail(METATE_E_MISALIGNED, "metate_module_open_static: descriptor: expected an address "
                                     "aligned to 8 bytes");
  METATE_TRY(verifyDescriptor(descriptor, bytes));
  Descriptor head(descriptor);
  if (entry_count != head.header().kernels.count)
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_module_open_static: entry_count: expected %u, got %u",
                head.header().kernels.count, entry_count);
  if (head.header().variants.count)
    METATE_TRY(checkVariant(*device->driver, device->machine, head, 0));
  auto *made = device->make<metate_module>(device);
  if (!made)
    return failMemory();
  made->descriptor = descriptor;
  made->descriptorBytes = bytes;
  made->variant = head.header().variants.count ? 0 : METATE_NONE;
  made->payloadBytes = makeArray<uint64_t>(device, head.header().variants.count);
  metate_status status = made->payloadBytes ? makeTypes(*made) : failMemory();
  if (status == METATE_OK)
    status = device->driver->adopt(device->machine, head, entries, &made->code);
  if (status == METATE_OK)
    status = makeKernels(*made, &made->code);
  return finish(made, status, module);
}

metate_status metate_module_verify(const void *bytes, uint64_t count) {
  METATE_REQUIRE(bytes);
  if (reinterpret_cast<uintptr_t>(bytes) % 8)
    return fail(METATE_E_MISALIGNED,
                "metate_module_verify: bytes: expected an address aligned to 8 bytes");
  return carrierFormat(bytes, count).verify(bytes, count);
}

metate_status metate_module_close(metate_module *module) {
  METATE_REQUIRE(module);
  if (uint32_t running = module->uses.count())
    return fail(METATE_E_BUSY,
                "metate_module_close: %u launches of its kernels are running: wait for them",
                running);
  metate_device *device = module->device;
  destroy(module);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}
