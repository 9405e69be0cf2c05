// metate-run inspect: what is in a module, as a table. Maps no code.
#include "common.h"

#include "metate/abi/library.h"

#include <charconv>
#include <cstdio>

namespace metate::tool {

namespace {

std::string axesOf(const metate_level_description &level) {
  std::string text;
  for (uint32_t k = 0; k < level.axis_count; ++k)
    text += char('i' + level.axes[k]);
  return text;
}

template <typename T> std::string list(const T *values, uint32_t count) {
  std::string text = "[";
  for (uint32_t k = 0; k < count; ++k)
    text += (k ? ", " : "") + std::to_string(values[k]);
  return text + "]";
}

std::string showBits(uint32_t first, uint32_t count) {
  std::string text = std::to_string(first);
  return "bits " + text + (count > 1 ? " to " + std::to_string(first + count - 1) : "");
}

// How a quantised member is stored, or how many of its elements a word has.
std::string showQuant(const metate_level_description &level) {
  if (level.word_cells)
    return std::to_string(level.word_cells) + " in a word";
  const metate_quant &quant = level.quant;
  if (!quant.kind)
    return "";
  const char *kinds[] = {"int", "fixed", "float"};
  std::string text = quant.flags & METATE_QUANT_SIGNED ? "" : "unsigned ";
  text += kinds[quant.kind - 1];
  text += ", " + showBits(quant.shift, quant.bits) + " of " + std::to_string(8 * quant.word_bytes);
  if (quant.kind == METATE_QUANT_FIXED) {
    char scale[32] = {}; // as few digits as say which number it is
    std::to_chars(scale, scale + sizeof scale - 1, quant.scale);
    text += std::string(", scale ") + scale;
  }
  if (quant.kind == METATE_QUANT_FLOAT)
    text += std::string(quant.flags & METATE_QUANT_SHARED ? ", shared" : ",") + " exponent " +
            showBits(quant.exponent_shift, quant.exponent_bits);
  return text;
}

void showLevels(const TreeType &type) {
  uint32_t count = type.describe().level_count;
  std::printf("    %-14s %-11s %-6s %-16s %12s %12s\n", "level", "kind", "axes", "extents",
              "cell bytes", "most slots");
  std::vector<uint32_t> depth(count, 0);
  for (uint32_t i = 0; i < count; ++i) {
    metate_level_description level = type.level(i);
    depth[i] = level.parent == METATE_NONE ? 0 : depth[level.parent] + 1;
    std::string name = std::string(depth[i], ' ') + (*level.name ? level.name : "root");
    std::string extents =
        level.kind == METATE_LEVEL_PLACE
            ? showElement(level.dtype, level.rows, level.columns, level.element_rank)
        : level.kind == METATE_LEVEL_HASH ? "any"
                                          : list(level.extents, level.axis_count);
    std::string slots = level.natural_slots ? std::to_string(level.natural_slots) : "";
    std::string quant = showQuant(level);
    std::printf("    %-14s %-11s %-6s %-16s %12llu %12s%s%s\n", name.c_str(),
                levelKindName(level.kind), axesOf(level).c_str(), extents.c_str(),
                static_cast<unsigned long long>(level.cell_bytes), slots.c_str(),
                quant.empty() ? "" : "  ", quant.c_str());
  }
}

void showTypes(const Module &module) {
  std::printf("\ntypes\n");
  for (uint32_t i = 0; i < module.describe().type_count; ++i) {
    const metate_type *raw = nullptr;
    check(metate_module_type_at(module.get(), i, &raw));
    TreeType type(raw);
    auto info = type.describe();
    auto bytes = type.try_size();
    std::printf("  %s\n    %s\n    hash %016llx%016llx, aligned to %llu, ", info.name, info.text,
                static_cast<unsigned long long>(info.hash[1]),
                static_cast<unsigned long long>(info.hash[0]),
                static_cast<unsigned long long>(info.align));
    if (bytes)
      std::printf("at most %llu bytes\n", static_cast<unsigned long long>(*bytes));
    else
      std::printf("bounded by its capacities only\n");
    showLevels(type);
  }
}

std::string accessOf(uint32_t access) {
  std::string text;
  for (const std::string &name : accessNames(access))
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// As metate_pool_bytes, of the extents that named ones may have at most.
uint64_t largest(const Kernel &kernel, const metate_kernel_info &info,
                 const metate_pool_info &pool) {
  std::vector<metate_slot> slots(info.slot_count);
  for (metate_slot &slot : slots)
    slot.i = INT64_MAX;
  for (const auto &argument : kernel.arguments())
    for (uint32_t k = 0; k < argument.rank; ++k) {
      int64_t fixed = argument.fixed[k];
      if (fixed < -1)
        fixed = kernel.dims()[size_t(METATE_EXTENT_OF_DIM(fixed))].max;
      if (fixed >= 0 && fixed != INT32_MAX)
        slots[argument.first_slot + 1 + k].i = fixed;
    }
  return metate_pool_bytes(&pool, slots.data());
}

/// "1000 + 8 * x.shape[0] bytes, aligned to 64": sizes depend on arguments, which are not known here.
std::string showPool(const Kernel &kernel, const metate_kernel_info &info,
                     const metate_pool_info &pool) {
  std::string text = pool.scale ? "" : std::to_string(pool.bytes);
  if (pool.scale)
    text = (pool.bytes ? std::to_string(pool.bytes) + " + " : "") + std::to_string(pool.scale);
  for (uint32_t slot : pool.factors) {
    if (slot == METATE_NONE)
      break;
    for (const auto &argument : kernel.arguments())
      if (slot - argument.first_slot < argument.slot_count)
        text += std::string(" * ") + argument.name +
                (argument.kind == METATE_ARGUMENT_NDARRAY
                     ? ".shape[" + std::to_string(slot - argument.first_slot - 1) + "]"
                     : "");
  }
  text += " bytes, aligned to " + std::to_string(pool.align);
  if (uint64_t most = largest(kernel, info, pool); pool.scale && most != UINT64_MAX)
    text += ", at most " + std::to_string(most);
  if (pool.kind == METATE_POOL_WORKER)
    text += ", for each worker";
  if (pool.variant != METATE_NONE)
    text += ", of variant " + std::to_string(pool.variant);
  return text;
}

/// ", in sram" where the program says so.
std::string showPlace(const char *base, const metate_pool_info *pool) {
  const auto *head = reinterpret_cast<const metate_descriptor *>(base);
  const auto *pools = reinterpret_cast<const metate_pool_info *>(base + head->pools.offset);
  const auto *places = reinterpret_cast<const metate_place_info *>(base + head->places.offset);
  for (uint32_t k = 0; k < head->places.count; ++k)
    if (&pools[places[k].pool] == pool)
      return std::string(", in ") + (base + places[k].memory);
  return "";
}

/// "1 to 4096, a multiple of 8"
std::string showBounds(const metate_dim_description &dim) {
  std::string text = std::to_string(dim.min) + " to " + std::to_string(dim.max);
  return text + (dim.multiple > 1 ? ", a multiple of " + std::to_string(dim.multiple) : "");
}

/// " [n, 3]" of an array of which something is required.
std::string showShape(const Kernel &kernel, const metate_argument_description &argument) {
  std::string text;
  bool isOpen = true;
  for (uint32_t k = 0; k + argument.element_rank < argument.rank; ++k) {
    int64_t fixed = argument.fixed[k];
    isOpen &= fixed == -1;
    text += k ? ", " : " [";
    text += fixed == -1  ? ":"
            : fixed >= 0 ? std::to_string(fixed)
                         : kernel.dims()[size_t(METATE_EXTENT_OF_DIM(fixed))].name;
  }
  return isOpen ? "" : text + "]";
}

void showPools(const Module &module, const Kernel &kernel, uint32_t number) {
  const auto *base = static_cast<const char *>(module.describe().descriptor);
  const auto *head = reinterpret_cast<const metate_descriptor *>(base);
  const auto &info =
      reinterpret_cast<const metate_kernel_info *>(base + head->kernels.offset)[number];
  const auto *pools = reinterpret_cast<const metate_pool_info *>(base + head->pools.offset);
  for (uint32_t k = 0; k < info.pool_count; ++k) {
    const metate_pool_info &pool = pools[info.first_pool + k];
    std::printf("    pool %-9s %s%s\n", base + pool.name, showPool(kernel, info, pool).c_str(),
                showPlace(base, &pool).c_str());
  }
}

void showKernels(const Module &module) {
  std::printf("\nkernels\n");
  for (uint32_t i = 0; i < module.describe().kernel_count; ++i) {
    const metate_kernel *raw = nullptr;
    check(metate_module_kernel_at(module.get(), i, &raw));
    Kernel kernel(raw);
    auto info = kernel.describe();
    std::printf("  %s%s: %u task%s%s%s", info.flags & METATE_KERNEL_GRAPH ? "graph " : "",
                info.name, info.task_count, info.task_count == 1 ? "" : "s",
                info.flags & METATE_KERNEL_NO_ALIAS ? ", written arguments must not overlap" : "",
                info.flags & METATE_KERNEL_DEBUG ? ", debug" : "");
    if (*info.file)
      std::printf(", from %s:%u", info.file, info.line);
    std::printf("\n");
    for (const std::string &line : split(documentationOf(module, i), '\n'))
      if (!line.empty())
        std::printf("    | %s\n", line.c_str());
    for (const auto &argument : kernel.arguments())
      std::printf("    %-14s %-24s %s%s\n", argument.name,
                  (showArgument(argument) + showShape(kernel, argument)).c_str(),
                  accessOf(argument.access).c_str(),
                  argument.flags & METATE_ARGUMENT_RESULT ? " (result)" : "");
    for (const metate_dim_description &dim : kernel.dims())
      std::printf("    dim %-10s %s\n", dim.name, showBounds(dim).c_str());
    showPools(module, kernel, i);
    for (auto [mode, name] : {std::pair(METATE_DERIVATIVE_REVERSE, "reverse"),
                              std::pair(METATE_DERIVATIVE_FORWARD, "forward")})
      if (auto derivative = kernel.try_derivative(mode))
        std::printf("    derivative     %s: %s\n", name, derivative->name().c_str());
  }
}

void showVariants(const Module &module) {
  std::printf("\nvariants\n");
  for (uint32_t i = 0; i < module.describe().variant_count; ++i) {
    auto variant = sized<metate_variant_description>();
    check(metate_module_variant(module.get(), i, &variant));
    std::printf("  %u: %s, compiled for %s (%s), %llu bytes%s%s\n", i, machineName(variant).c_str(),
                variant.cpu, variant.triple, static_cast<unsigned long long>(variant.payload_bytes),
                *variant.features ? ", needs " : "", variant.features);
  }
}

/// Of a shared object there is one: its descriptor. The rest is the system's loader's.
void showLibrary(const Module &module) {
  std::printf("\nshared object\n  section " METATE_LIBRARY_SECTION ": descriptor, %llu bytes\n",
              static_cast<unsigned long long>(module.describe().descriptor_bytes));
}

void showSections(const File &file) {
  const auto *head = reinterpret_cast<const metate_carrier *>(file.data());
  const auto *sections =
      reinterpret_cast<const metate_section *>(file.data() + head->section_offset);
  std::printf("\nsections\n");
  for (uint32_t i = 0; i < head->section_count; ++i)
    std::printf("  %u: %-10s offset %8llu, %8llu bytes\n", i,
                sections[i].kind == METATE_SECTION_DESCRIPTOR ? "descriptor" : "payload",
                static_cast<unsigned long long>(sections[i].offset),
                static_cast<unsigned long long>(sections[i].bytes));
}

} // namespace

void showModule(const File &file) {
  Device device = Device::open();
  Module module = Module::open(std::as_bytes(std::span(file.data(), file.bytes)), device,
                               METATE_MODULE_QUERY_ONLY);
  auto info = module.describe();
  std::printf("module %s: %llu bytes, by %s\n", info.name,
              static_cast<unsigned long long>(file.bytes), info.producer);
  showTypes(module);
  showKernels(module);
  showVariants(module);
  if (reinterpret_cast<const metate_carrier *>(file.data())->magic == METATE_CARRIER_MAGIC)
    showSections(file);
  else
    showLibrary(module);
}

int inspect(const std::vector<std::string> &arguments) {
  std::vector<std::string> files = arguments;
  bool json = std::erase(files, "--json") > 0;
  if (files.size() != 1)
    throw Error("inspect: expected one file, and perhaps --json: see metate-run --help");
  File file = readFile(files[0]);
  if (json)
    std::printf("%s\n", moduleAsJson(file).c_str());
  else
    showModule(file);
  return 0;
}

} // namespace metate::tool
