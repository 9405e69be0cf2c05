// The reader of what was accepted: every describing and reading function, with cross-checks between
// them. Work is bounded by the memory that is handed out here.
#include "damage.h"

#include <cstdio>
#include <vector>

namespace metate::test {

Random::Random() : state(0x6d65746174652033ull) {
  if (const char *text = std::getenv("METATE_DAMAGE_SEED"))
    state = std::strtoull(text, nullptr, 0);
  std::printf("METATE_DAMAGE_SEED=0x%llx\n", static_cast<unsigned long long>(state));
}

uint64_t Random::bits() {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t Random::nasty(uint64_t old) {
  switch (below(8)) {
  case 0:
    return below(20);
  case 1:
    return ~below(20);
  case 2:
    return uint64_t(1) << below(64);
  case 3:
    return (uint64_t(1) << below(64)) - 1;
  case 4:
    return old + 1 + below(8);
  case 5:
    return old - 1 - below(8);
  case 6:
    return old ^ (uint64_t(1) << below(32));
  default:
    return bits();
  }
}

static std::string failure(const char *what) {
  return std::string(what) + ": " + metate_last_error();
}

// One member of a tree: enumerate, then ask for each cell again.
static std::string readMember(metate_tree *tree, const metate_level_description &level) {
  uint64_t count = 0;
  if (metate_tree_cells(tree, level.index, 0, nullptr, nullptr, &count))
    return failure("cells");
  uint64_t shown = std::min<uint64_t>(count, 2000);
  std::vector<int64_t> at(shown * level.path_rank + 1);
  std::vector<uint8_t> values(shown * level.cell_bytes + 1), value(level.cell_bytes);
  if (metate_tree_cells(tree, level.index, shown, at.data(), values.data(), &count))
    return failure("cells");
  for (uint64_t n = 0; n < shown; ++n) {
    const int64_t *where = at.data() + n * level.path_rank;
    uint32_t active = 0;
    if (metate_tree_read(tree, level.index, where, level.path_rank, value.data(), value.size()))
      return failure("read");
    if (metate_tree_is_active(tree, level.index, where, level.path_rank, &active))
      return failure("is_active");
    if (!active || std::memcmp(value.data(), values.data() + n * level.cell_bytes, value.size()))
      return "cells and read disagree";
  }
  uint64_t dense = level.cell_bytes;
  for (uint32_t k = 0; k < level.path_rank && dense < (1u << 22); ++k)
    dense *= level.shape[k] ? uint64_t(level.shape[k]) : 1u << 22; // without bounds: no array
  if (dense < (1u << 22)) {
    std::vector<uint8_t> all(dense);
    if (metate_tree_read_dense(tree, level.index, all.data(), dense))
      return failure("read_dense");
    auto info = sized<metate_tree_description>();
    if (metate_tree_describe(tree, &info))
      return failure("describe");
    bool isReadOnly = info.flags & METATE_BIND_READ_ONLY;
    metate_status expected = isReadOnly ? METATE_E_INVALID_ARGUMENT : METATE_OK;
    if (metate_tree_write_dense(tree, level.index, all.data(), dense) != expected)
      return failure("write_dense");
  }
  return "";
}

std::string readAll(metate_tree *tree) {
  auto info = sized<metate_tree_description>();
  if (metate_tree_describe(tree, &info))
    return failure("describe");
  for (uint32_t pool = 0; pool < info.pool_count; ++pool) {
    auto stats = sized<metate_pool_stats>();
    if (metate_tree_stats(tree, pool, &stats))
      return failure("stats");
    if (stats.high_water > stats.capacity + info.workers)
      return "high water above the pool";
  }
  auto type = sized<metate_type_description>();
  metate_type_describe(info.type, &type);
  for (uint32_t i = 0; i < type.level_count; ++i) {
    auto level = sized<metate_level_description>();
    if (metate_type_level(info.type, i, &level))
      return failure("level");
    if (level.kind != METATE_LEVEL_PLACE)
      continue;
    std::string problem = readMember(tree, level);
    if (!problem.empty())
      return problem;
  }
  return "";
}

// Is the value read the one written? Of a quantised member's number the low bits of an integer say so.
static bool isStored(const metate_level_description &level, const std::vector<uint8_t> &written,
                     const std::vector<uint8_t> &read) {
  uint64_t a = 0, b = 0;
  if (!level.quant.kind)
    return written == read;
  std::memcpy(&a, written.data(), written.size());
  std::memcpy(&b, read.data(), read.size());
  return level.quant.kind != METATE_QUANT_INT || (a ^ b) << (64 - level.quant.bits) == 0;
}

std::string writeSome(metate_tree *tree, const metate_type *type, Random &random) {
  auto info = sized<metate_type_description>();
  metate_type_describe(type, &info);
  for (int round = 0; round < 20; ++round) {
    auto level = sized<metate_level_description>();
    if (metate_type_level(type, uint32_t(random.below(info.level_count)), &level))
      return failure("level");
    int64_t at[METATE_MAX_AXES];
    for (uint32_t k = 0; k < level.path_rank; ++k)
      at[k] = level.shape[k] ? int64_t(random.below(uint64_t(level.shape[k])))
                             : int64_t(random.below(64)) - 32;
    metate_status status;
    if (random.below(8) == 0) { // lists are named by the cells that hold them: refused, with reason
      status = metate_tree_deactivate(tree, level.index, at, level.path_rank);
      if (status != METATE_OK && status != METATE_E_INVALID_ARGUMENT && status != METATE_E_CORRUPT)
        return failure("deactivate");
      continue;
    }
    std::vector<uint8_t> value(level.cell_bytes < 70000 ? level.cell_bytes : 1, uint8_t(round & 1));
    if (level.kind == METATE_LEVEL_PLACE)
      status =
          metate_tree_write(tree, level.index, at, level.path_rank, value.data(), value.size());
    else
      status = metate_tree_activate(tree, level.index, at, level.path_rank);
    if (status != METATE_OK && status != METATE_E_CAPACITY)
      return failure("write");
    if (status == METATE_OK && level.kind == METATE_LEVEL_PLACE) {
      std::vector<uint8_t> got(value.size());
      if (metate_tree_read(tree, level.index, at, level.path_rank, got.data(), got.size()))
        return failure("read");
      if (!isStored(level, value, got))
        return "read is not what was written";
    }
  }
  return "";
}

std::string exercise(const metate_type *type, Random &random) {
  auto info = sized<metate_type_description>();
  if (metate_type_describe(type, &info))
    return failure("describe");
  if (std::strlen(info.text) > info.blob_bytes)
    return "its text is longer than its blob";
  for (uint32_t i = 0; i < info.level_count; ++i) {
    auto level = sized<metate_level_description>();
    if (metate_type_level(type, i, &level))
      return failure("level");
    uint32_t found;
    bool member = level.kind == METATE_LEVEL_PLACE;
    if (member ? metate_type_find_member(type, level.name, &found)
               : metate_type_find_level(type, level.name, &found))
      return failure("a level is not found by its name");
    volatile uint8_t sum = 0;
    for (uint64_t k = 0; member && k < level.cell_bytes; ++k)
      sum = sum + static_cast<const uint8_t *>(level.background)[k];
  }
  uint64_t bytes = 0, align = 0;
  metate_status sized_ = metate_type_size(type, nullptr, &bytes, &align);
  if (sized_ != METATE_OK && sized_ != METATE_E_OUT_OF_RANGE)
    return failure("size");
  Exact memory(1 << 20);
  metate_tree *tree = nullptr;
  metate_status bound = metate_tree_bind(type, memory.data, memory.bytes, nullptr,
                                         METATE_BIND_RESET | METATE_BIND_FIT, &tree);
  if (bound == METATE_E_TOO_SMALL || bound == METATE_E_OUT_OF_RANGE)
    return "";
  if (bound != METATE_OK)
    return failure("bind");
  std::string problem = readAll(tree);
  if (problem.empty())
    problem = writeSome(tree, type, random);
  auto about = sized<metate_tree_description>();
  metate_tree_describe(tree, &about);
  // Bytes of a boolean may be set to 1 above, never to more: the block must stay sound.
  if (problem.empty() && metate_tree_check(type, memory.data, about.bytes))
    problem = failure("check");
  if (problem.empty())
    problem = readAll(tree);
  metate_tree_unbind(tree);
  return problem;
}

static std::string exerciseKernel(const metate_kernel *kernel) {
  auto info = sized<metate_kernel_description>();
  if (metate_kernel_describe(kernel, &info))
    return failure("kernel");
  size_t characters = std::strlen(info.name) + std::strlen(info.file);
  for (uint32_t i = 0; i < info.argument_count; ++i) {
    auto argument = sized<metate_argument_description>();
    if (metate_kernel_argument_info(kernel, i, &argument))
      return failure("argument");
    characters += std::strlen(argument.name);
    if (argument.first_slot + argument.slot_count > info.slot_count)
      return "an argument's slots leave the kernel's";
    if ((argument.kind == METATE_ARGUMENT_TREE) != (argument.type != nullptr))
      return "a tree argument without a type";
  }
  for (uint32_t i = 0; i < info.dim_count; ++i) {
    auto dim = sized<metate_dim_description>();
    if (metate_kernel_dim_info(kernel, i, &dim))
      return failure("dim");
    characters += std::strlen(dim.name);
    if (dim.slot >= info.slot_count || dim.min > dim.max || dim.multiple < 1)
      return "a dim without extents";
  }
  auto largest = sized<metate_plan>();
  metate_planned_pool pools[4];
  largest.pools = pools;
  largest.pool_count = 4;
  largest.pool_size = sizeof pools[0];
  if (metate_kernel_plan(kernel, nullptr, 0, &largest))
    return failure("plan");
  for (uint32_t i = 0; i < largest.pool_count && i < 4; ++i)
    characters += std::strlen(pools[i].name) + std::strlen(pools[i].memory);
  for (uint32_t mode : {METATE_DERIVATIVE_REVERSE, METATE_DERIVATIVE_FORWARD}) {
    const metate_kernel *derivative = nullptr;
    auto about = sized<metate_kernel_description>();
    if (metate_kernel_derivative(kernel, mode, &derivative))
      continue;
    if (derivative == kernel || metate_kernel_describe(derivative, &about))
      return "a derivative is no kernel";
    characters += std::strlen(about.name);
  }
  // Wrong arguments of every kind: refused, because no code is mapped, before or after the check.
  std::vector<metate_argument> wrong(info.argument_count);
  auto plan = sized<metate_plan>();
  for (uint32_t kind = 0; kind < 6 && info.argument_count; ++kind) {
    for (metate_argument &argument : wrong)
      argument.kind = kind;
    metate_kernel_plan(kernel, wrong.data(), info.argument_count, &plan);
    if (metate_kernel_launch(kernel, wrong.data(), info.argument_count) == METATE_OK)
      return "a kernel without code ran";
  }
  return characters > (1u << 24) ? "impossibly long names" : "";
}

std::string exercise(metate_module *module, Random &random) {
  auto info = sized<metate_module_info>();
  if (metate_module_describe(module, &info))
    return failure("describe");
  if (std::strlen(info.name) + std::strlen(info.producer) > info.descriptor_bytes * 2)
    return "its name is longer than its descriptor";
  std::string problem;
  for (uint32_t i = 0; i < info.type_count && problem.empty(); ++i) {
    const metate_type *type = nullptr, *found = nullptr;
    if (metate_module_type_at(module, i, &type))
      return failure("type_at");
    auto about = sized<metate_type_description>();
    metate_type_describe(type, &about);
    if (metate_module_find_type(module, about.name, &found))
      return failure("a type is not found by its name");
    problem = exercise(type, random);
  }
  for (uint32_t i = 0; i < info.kernel_count && problem.empty(); ++i) {
    const metate_kernel *kernel = nullptr;
    if (metate_module_kernel_at(module, i, &kernel))
      return failure("kernel_at");
    problem = exerciseKernel(kernel);
  }
  for (uint32_t i = 0; i < info.variant_count && problem.empty(); ++i) {
    auto variant = sized<metate_variant_description>();
    if (metate_module_variant(module, i, &variant))
      return failure("variant");
    if (std::strlen(variant.cpu) + std::strlen(variant.features) + std::strlen(variant.triple) >
        info.descriptor_bytes * 3)
      return "a variant's texts are longer than the descriptor";
  }
  return problem;
}

} // namespace metate::test
