// Asking an open module what is in it.
#include "module/module.h"

#include <cstring>

using namespace metate;

metate_status metate_module_describe(const metate_module *module, metate_module_info *info) {
  METATE_REQUIRE(module);
  METATE_REQUIRE_STRUCT(info);
  Descriptor descriptor = module->description();
  const metate_descriptor &head = descriptor.header();
  metate_module_info filled{};
  filled.struct_size = sizeof filled;
  filled.type_count = head.types.count;
  filled.kernel_count = descriptor.kernelCount();
  filled.variant_count = head.variants.count;
  filled.variant = module->variant;
  uint32_t shown = module->variant == METATE_NONE ? 0 : module->variant;
  filled.arch = shown < head.variants.count ? descriptor.variants()[shown].arch : 0;
  filled.name = descriptor.text(head.name);
  filled.producer = descriptor.text(head.producer);
  filled.descriptor = module->descriptor;
  filled.descriptor_bytes = module->descriptorBytes;
  filled.signature_hash[0] = head.signature_hash[0];
  filled.signature_hash[1] = head.signature_hash[1];
  *info = filled;
  return METATE_OK;
}

static metate_status checkIndex(const char *function, uint32_t index, uint32_t count) {
  if (index < count)
    return METATE_OK;
  return fail(METATE_E_OUT_OF_RANGE, "%s: index: expected less than %u, got %u", function, count,
              index);
}

metate_status metate_module_variant(const metate_module *module, uint32_t index,
                                    metate_variant_description *variant) {
  METATE_REQUIRE(module);
  METATE_REQUIRE_STRUCT(variant);
  Descriptor descriptor = module->description();
  METATE_TRY(checkIndex(__func__, index, descriptor.header().variants.count));
  const metate_variant_info &info = descriptor.variants()[index];
  *variant = {sizeof *variant,
              info.arch,
              info.level,
              info.format,
              module->payloadBytes[index],
              descriptor.text(info.cpu),
              descriptor.text(info.features),
              descriptor.text(info.triple)};
  return METATE_OK;
}

metate_status metate_module_type_at(const metate_module *module, uint32_t index,
                                    const metate_type **type) {
  METATE_REQUIRE(module);
  METATE_REQUIRE(type);
  METATE_TRY(checkIndex(__func__, index, module->description().header().types.count));
  *type = module->types[index];
  return METATE_OK;
}

metate_status metate_module_kernel_at(const metate_module *module, uint32_t index,
                                      const metate_kernel **kernel) {
  METATE_REQUIRE(module);
  METATE_REQUIRE(kernel);
  METATE_TRY(checkIndex(__func__, index, module->description().kernelCount()));
  *kernel = &module->kernels[index];
  return METATE_OK;
}

// The text of METATE_E_NOT_FOUND lists what there is: names are what one mistypes.
template <typename NameAt>
static metate_status failNotFound(const metate_module *module, const char *kind, const char *name,
                                  uint32_t count, NameAt nameAt) {
  char known[400] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const char *next = nameAt(i);
    size_t length = strlen(next);
    if (used + length + 8 > sizeof known) {
      memcpy(known + used, ", ...", 6);
      break;
    }
    if (used) {
      memcpy(known + used, ", ", 2);
      used += 2;
    }
    memcpy(known + used, next, length + 1);
    used += length;
  }
  Descriptor descriptor = module->description();
  return fail(METATE_E_NOT_FOUND, "module '%s' has no %s named '%s': it has %s",
              descriptor.text(descriptor.header().name), kind, name, *known ? known : "none");
}

metate_status metate_module_find_type(const metate_module *module, const char *name,
                                      const metate_type **type) {
  METATE_REQUIRE(module);
  METATE_REQUIRE(name);
  METATE_REQUIRE(type);
  uint32_t count = module->description().header().types.count;
  for (uint32_t i = 0; i < count; ++i)
    if (strcmp(module->types[i]->name, name) == 0) {
      *type = module->types[i];
      return METATE_OK;
    }
  return failNotFound(module, "type", name, count,
                      [&](uint32_t i) { return module->types[i]->name; });
}

metate_status metate_module_find_kernel(const metate_module *module, const char *name,
                                        const metate_kernel **kernel) {
  METATE_REQUIRE(module);
  METATE_REQUIRE(name);
  METATE_REQUIRE(kernel);
  uint32_t count = module->description().kernelCount();
  for (uint32_t i = 0; i < count; ++i)
    if (strcmp(module->kernels[i].name, name) == 0) {
      *kernel = &module->kernels[i];
      return METATE_OK;
    }
  return failNotFound(module, "kernel", name, count,
                      [&](uint32_t i) { return module->kernels[i].name; });
}
