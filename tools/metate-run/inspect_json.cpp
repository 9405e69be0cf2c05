// metate-run inspect --json: what is in a module, for programs. Maps no code.
#include "common.h"
#include "json.h"

#include <cstdio>

namespace metate::tool {

namespace {

std::string hashText(const uint64_t (&hash)[2]) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash[1]),
                static_cast<unsigned long long>(hash[0]));
  return text;
}

void addLevels(Json &json, const TreeType &type) {
  json.key("levels").array();
  for (uint32_t i = 0; i < type.describe().level_count; ++i) {
    metate_level_description level = type.level(i);
    json.object().pair("name", level.name).pair("kind", levelKindName(level.kind));
    json.key("parent");
    level.parent == METATE_NONE ? json.null() : json.value(level.parent);
    if (level.kind == METATE_LEVEL_PLACE)
      json.pair("type", showElement(level.dtype, level.rows, level.columns, level.element_rank));
    json.key("axes").array();
    for (uint32_t k = 0; k < level.axis_count; ++k)
      json.value(std::string(1, char('i' + level.axes[k])));
    json.end().key("extents").array();
    for (uint32_t k = 0; k < level.axis_count; ++k)
      json.value(level.extents[k]);
    json.end().pair("cell_bytes", level.cell_bytes).pair("most_slots", level.natural_slots);
    json.end();
  }
  json.end();
}

void addTypes(Json &json, const Module &module) {
  json.key("types").array();
  for (uint32_t i = 0; i < module.describe().type_count; ++i) {
    const metate_type *raw = nullptr;
    check(metate_module_type_at(module.get(), i, &raw));
    TreeType type(raw);
    auto info = type.describe();
    json.object().pair("name", info.name).pair("text", info.text);
    json.pair("hash", hashText(info.hash)).pair("align", info.align).key("most_bytes");
    auto bytes = type.try_size();
    bytes ? json.value(uint64_t(*bytes)) : json.null();
    addLevels(json, type);
    json.end();
  }
  json.end();
}

void addArguments(Json &json, const Kernel &kernel) {
  json.key("arguments").array();
  for (const auto &argument : kernel.arguments()) {
    json.object().pair("name", argument.name).pair("type", showArgument(argument));
    json.key("access").array();
    for (const std::string &name : accessNames(argument.access))
      json.value(name);
    json.end().pair("result", bool(argument.flags & METATE_ARGUMENT_RESULT)).end();
  }
  json.end();
}

void addKernels(Json &json, const Module &module) {
  json.key("kernels").array();
  for (uint32_t i = 0; i < module.describe().kernel_count; ++i) {
    const metate_kernel *raw = nullptr;
    check(metate_module_kernel_at(module.get(), i, &raw));
    Kernel kernel(raw);
    auto info = kernel.describe();
    json.object().pair("name", info.name).pair("file", info.file).pair("line", info.line);
    json.pair("documentation", documentationOf(module, i));
    json.pair("tasks", info.task_count).pair("graph", bool(info.flags & METATE_KERNEL_GRAPH));
    json.pair("may_alias", !(info.flags & METATE_KERNEL_NO_ALIAS));
    json.pair("debug", bool(info.flags & METATE_KERNEL_DEBUG));
    addArguments(json, kernel);
    json.key("derivatives").object();
    for (auto [mode, name] : {std::pair(METATE_DERIVATIVE_REVERSE, "reverse"),
                              std::pair(METATE_DERIVATIVE_FORWARD, "forward")})
      if (auto derivative = kernel.try_derivative(mode))
        json.pair(name, derivative->name());
    json.end().end();
  }
  json.end();
}

void addVariants(Json &json, const Module &module) {
  json.key("variants").array();
  for (uint32_t i = 0; i < module.describe().variant_count; ++i) {
    auto variant = sized<metate_variant_description>();
    check(metate_module_variant(module.get(), i, &variant));
    json.object().pair("machine", machineName(variant)).pair("cpu", variant.cpu);
    json.pair("triple", variant.triple).pair("features", variant.features);
    json.pair("payload_bytes", variant.payload_bytes).end();
  }
  json.end();
}

} // namespace

std::string moduleAsJson(const File &file) {
  Device device = Device::open();
  Module module = Module::open(std::as_bytes(std::span(file.data(), file.bytes)), device,
                               METATE_MODULE_QUERY_ONLY);
  auto info = module.describe();
  Json json;
  json.object().pair("name", info.name).pair("bytes", file.bytes).pair("producer", info.producer);
  json.pair("signature", hashText(info.signature_hash));
  addTypes(json, module);
  addKernels(json, module);
  addVariants(json, module);
  return json.end().text();
}

} // namespace metate::tool
