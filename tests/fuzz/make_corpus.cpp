// Writes the seed corpora: metate_make_corpus FOLDER [MODULE.metate ...]. Modules of the compiler
// are taken without their code. scripts/fuzz --seeds calls it.
#include "damage/damage.h"
#include "grid_module.h"
#include "seeds.h"
#include "support/library.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace metate::fuzz;
using namespace metate::test;

namespace {

void write(const fs::path &folder, const std::string &name, const Bytes &bytes) {
  fs::create_directories(folder);
  std::ofstream stream(folder / name, std::ios::binary);
  stream.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  if (!stream) {
    std::fprintf(stderr, "cannot write %s\n", (folder / name).c_str());
    std::exit(1);
  }
}

Bytes mark() {
  Bytes bytes;
  bytes.append("metate fuzz code", 16);
  return bytes;
}

ModuleSpec withVariant(ModuleSpec spec, const char *features) {
  spec.variants = {{METATE_ARCH_X86_64, 1, METATE_FORMAT_SHARED_OBJECT, "x86-64", features}};
  return spec;
}

void modules(const fs::path &folder) {
  write(folder, "test", carrier(descriptor(testModuleSpec()), {mark()}));
  write(folder, "seed", carrier(descriptor(seedModule()), {}));
  ModuleSpec two = withVariant(seedModule(), "");
  two.variants.push_back({METATE_ARCH_AARCH64, 0, METATE_FORMAT_SHARED_OBJECT, "generic", "sve"});
  write(folder, "variants", carrier(descriptor(two), {mark(), mark()}));
  ModuleSpec featured = withVariant(testModuleSpec(), "avx512f,amx-tile");
  write(folder, "features", carrier(descriptor(featured), {mark()}));
  for (auto &[name, blob] : seedTypes()) {
    ModuleSpec one;
    one.name = name;
    one.types = {{name, blob}};
    write(folder, "type-" + name, carrier(descriptor(one), {}));
  }
  write(folder, "nothing", carrier(descriptor({}), {}));
}

void libraries(const fs::path &folder) {
  write(folder, "test", library(descriptor(withVariant(testModuleSpec(), "avx2"))));
  write(folder, "seed", library(descriptor(withVariant(seedModule(), ""))));
  ModuleSpec arm = seedModule();
  arm.variants = {{METATE_ARCH_AARCH64, 0, METATE_FORMAT_SHARED_OBJECT, "generic", ""}};
  write(folder, "aarch64", library(descriptor(arm), 183));
  for (auto &[name, blob] : seedTypes()) {
    ModuleSpec one;
    one.name = name;
    one.types = {{name, blob}};
    write(folder, "type-" + name, library(descriptor(withVariant(one, ""))));
  }
  ModuleSpec nothing;
  nothing.name = "nothing";
  write(folder, "nothing", library(descriptor(nothing)));
}

void descriptors(const fs::path &folder) {
  write(folder, "test", descriptor(testModuleSpec()));
  write(folder, "seed", descriptor(seedModule()));
  // One kernel each, so that a change of a kernel or an argument is likely.
  for (const KernelSpec &kernel : seedModule().kernels) {
    ModuleSpec one;
    one.name = kernel.name;
    one.kernels = {kernel};
    one.texts = seedModule().texts;
    if (kernel.name == "trees")
      one.types = seedModule().types;
    write(folder, "kernel-" + kernel.name, descriptor(one));
  }
  for (auto &[name, blob] : seedTypes()) {
    ModuleSpec one;
    one.name = name;
    one.types = {{name, blob}};
    write(folder, "type-" + name, descriptor(one));
  }
}

// Damage that only a comparison of all containers finds: the first two of the hash level at the end of
// the type's levels, in the cells of a level of the root, get one stamp, and their slots bear it.
void shareStamp(const Bytes &blob, uint8_t *memory) {
  const auto *type = reinterpret_cast<const metate_tree_type *>(blob.data());
  const auto *levels = reinterpret_cast<const metate_level *>(type + 1);
  uint32_t hash = 0;
  while (levels[hash].kind != METATE_LEVEL_HASH)
    ++hash;
  const metate_level &outer = levels[levels[hash].parent];
  const auto *header = reinterpret_cast<const metate_tree_header *>(memory);
  const auto &pool = reinterpret_cast<const metate_pool *>(header + 1)[levels[hash].pool];
  uint8_t *first = memory + header->root_offset + outer.offset + levels[hash].offset;
  auto stampOf = [&](uint64_t cell) {
    return reinterpret_cast<uint32_t *>(first + cell * outer.cell_bytes);
  };
  for (uint32_t slot = 1; slot <= pool.high_water; ++slot) {
    auto *record = reinterpret_cast<uint32_t *>(memory + pool.meta_offset +
                                                slot * metate_record_bytes(&levels[hash]));
    if (record[0] && record[1] == *stampOf(0))
      record[1] = *stampOf(1);
  }
  *stampOf(0) = *stampOf(1);
}

// A type and a block of it: fresh, with some cells active, and with a slot on each free list; damaged
// where `damage` is there.
void block(const fs::path &folder, const std::string &name, const Bytes &blob, uint32_t active,
           void (*damage)(const Bytes &blob, uint8_t *memory) = nullptr) {
  metate_device *device = nullptr;
  metate_type *type = nullptr;
  metate_tree *tree = nullptr;
  metate_device_open(nullptr, &device);
  metate_type_open_blob(device, blob.data(), blob.size(), "t", &type);
  auto info = metate::sized<metate_type_description>();
  metate_type_describe(type, &info);
  auto wanted = metate::sized<metate_capacities>();
  wanted.workers = 2;
  metate_capacity few{"h", 6}; // a hash level has no natural maximum
  uint32_t known;
  wanted.count = metate_type_find_level(type, "h", &known) == METATE_OK;
  wanted.entries = &few;
  uint64_t bytes = 0, align = 0;
  metate_type_size(type, &wanted, &bytes, &align);
  Exact memory(bytes);
  std::memset(memory.data, 0, bytes);
  metate_tree_bind(type, memory.data, bytes, &wanted, METATE_BIND_RESET, &tree);
  for (uint32_t n = 0; n < active; ++n) {
    auto level = metate::sized<metate_level_description>();
    metate_type_level(type, n % info.level_count, &level);
    int64_t at[METATE_MAX_AXES];
    for (uint32_t k = 0; k < level.path_rank; ++k)
      at[k] = level.shape[k] ? int64_t(n * (k + 1)) % level.shape[k] : int64_t(n * (k + 3)) - 5;
    metate_tree_activate(tree, level.index, at, level.path_rank);
  }
  auto *pools = reinterpret_cast<metate_pool *>(memory.data + sizeof(metate_tree_header));
  for (uint32_t i = 0; active > 4 && i < info.pool_count; ++i)
    if (pools[i].high_water < pools[i].physical)
      pools[i].free_head = (uint64_t(3) << 32) | ++pools[i].high_water;
  if (metate_tree_check(type, memory.data, bytes) != METATE_OK) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), metate_last_error());
    std::exit(1);
  }
  metate_tree_unbind(tree);
  if (damage) {
    damage(blob, memory.data);
    if (metate_tree_check(type, memory.data, bytes) != METATE_E_CORRUPT) {
      std::fprintf(stderr, "%s: check does not see the damage\n", name.c_str());
      std::exit(1);
    }
  }
  metate_type_close(type);
  metate_device_close(device);
  const uint16_t blobBytes = uint16_t(blob.size());
  Bytes whole;
  whole.append(&blobBytes, 2);
  whole.append(blob.data(), blob.size());
  whole.append(memory.data, bytes);
  write(folder, name, whole);
}

// Arguments are choices, not records: zeros are sound arguments for the kernel that the first byte
// chooses.
void arguments(const fs::path &folder) {
  for (uint8_t kernel = 0; kernel < seedModule().kernels.size(); ++kernel) {
    Bytes zeros(40);
    zeros.data()[0] = kernel;
    write(folder, "kernel-" + seedModule().kernels[kernel].name, zeros);
  }
}

// A module of the compiler with the mark in the place of each payload.
Bytes withoutCode(const Bytes &file) {
  Bytes copy = file;
  const auto *head = copy.at<metate_carrier>(0);
  const auto *sections = copy.at<metate_section>(head->section_offset);
  Bytes description;
  description.append(copy.data() + sections[0].offset, sections[0].bytes);
  return carrier(description, std::vector<Bytes>(head->section_count - 1, mark()));
}

// What the payload of a grid says, with a few bytes for each image.
GridSpec gridOf(Bytes payload) {
  const auto *head = payload.at<metate_grid>(0);
  auto text = [&](uint32_t at) { return std::string(payload.at<char>(at)); };
  auto expression = [&](uint32_t first, uint32_t count) {
    const auto *steps = payload.at<metate_grid_step>(head->expressions.offset) + first;
    return std::vector<metate_grid_step>(steps, steps + count);
  };
  GridSpec spec;
  for (uint32_t i = 0; i < head->kernels.count; ++i) {
    const auto &kernel = payload.at<metate_grid_kernel>(head->kernels.offset)[i];
    GridKernelSpec one{kernel.flags, kernel.slot_count, {}, kernel.frame_bytes};
    for (uint32_t k = 0; k < kernel.task_count; ++k) {
      const auto &task = payload.at<metate_grid_task>(head->tasks.offset)[kernel.first_task + k];
      one.tasks.push_back({text(task.name), task.group,
                           expression(task.first_step, task.step_count), task.most_invocations,
                           task.shared_bytes, task.line});
    }
    for (uint32_t k = 0; k < kernel.node_count; ++k) {
      const auto &node = payload.at<metate_grid_node>(head->nodes.offset)[kernel.first_node + k];
      auto &made = one.nodes.emplace_back(node.kernel);
      made.body = node.node_count;
      const uint32_t count =
          node.kernel == METATE_NONE
              ? 1
              : payload.at<metate_grid_kernel>(head->kernels.offset)[node.kernel].slot_count;
      for (uint32_t n = 0; n < count; ++n) {
        const auto &operand =
            payload.at<metate_grid_operand>(head->operands.offset)[node.first_operand + n];
        made.operands.push_back(expression(operand.first_step, operand.step_count));
      }
    }
    spec.kernels.push_back(one);
  }
  for (uint32_t i = 0; i < head->prints.count; ++i) {
    const auto &print = payload.at<metate_grid_print>(head->prints.offset)[i];
    auto &parts = spec.prints.emplace_back();
    for (uint32_t k = 0; k < print.part_count; ++k) {
      const auto &part = payload.at<metate_grid_part>(head->parts.offset)[print.first_part + k];
      bool hasText = part.kind == METATE_PRINT_TEXT || part.kind == METATE_PRINT_FORMAT;
      parts.push_back({part.kind, hasText ? text(part.text) : ""});
    }
  }
  for (uint32_t i = 0; i < head->images.count; ++i) {
    const auto &image = payload.at<metate_grid_image>(head->images.offset)[i];
    spec.images.push_back({image.format, image.level, Bytes(16)});
  }
  spec.constants.append(payload.at<uint8_t>(head->constants.offset), head->constants.count);
  return spec;
}

// Payloads of grids among a module's.
void grids(const fs::path &folder, const std::string &name, Bytes file) {
  const auto *head = file.at<metate_carrier>(0);
  const auto *sections = file.at<metate_section>(head->section_offset);
  Bytes description;
  description.append(file.data() + sections[0].offset, sections[0].bytes);
  for (uint32_t i = 1; i < head->section_count; ++i) {
    Bytes payload;
    payload.append(file.data() + sections[i].offset, sections[i].bytes);
    if (payload.size() >= sizeof(metate_grid) &&
        payload.at<metate_grid>(0)->magic == METATE_GRID_MAGIC)
      write(folder, name + "-" + std::to_string(i), gridPayload(gridOf(payload), description));
  }
}

// What comes to a server: settings, then steps of each kind.
void frames(const fs::path &folder) {
  const std::vector<std::pair<const char *, std::vector<uint8_t>>> steps = {
      {"noise", {0, 12, 'n', 'o', 0, 3, 'i', 's', 'e', 0, 0, 255, 1, 0}},
      {"make", {2, 6, 20, 3, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7}},
      {"tree", {3, 6, 16, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}},
      {"ranks", {2, 6, 120, 3, 0, 0, 0, 6, 0, 0, 0, 14, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}},
      {"keep", {5, 9, 5, 1, 0, 3, 0, 255, 7}},
      {"call",
       {6, 9, 3, 0, 1, 1, 6, 9, 7, 0, 0, 6, 9, 6, 0, 7, 6, 9, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8}},
      {"fail", {6, 9, 0, 14, 6, 9, 0, 16, 6, 9, 9, 8, 1, 1, 1, 1, 1, 1, 1, 1}},
      {"short", {6, 1, 1, 0, 9, 9, 6, 2, 3, 0, 0, 0, 6, 1, 2, 0}},
      {"vector", {6, 3, 2, 0, 1, 2, 3, 4}},
      {"damage", {6, 4, 6, 0, 34, 255, 8, 1, 6, 4, 6, 0, 0, 0, 34, 255}},
      {"tell", {2, 2, 4, 3, 0, 0, 0, 2, 3, 8, 3, 0, 0, 0, 1, 0,
                0, 0, 2, 4, 4, 0, 0, 0, 0, 2, 5, 4, 0, 0, 0, 0}},
      {"close", {2, 11, 0, 2, 10, 4, 0, 0, 0, 0, 7}},
  };
  for (const auto &[name, bytes] : steps) {
    Bytes made;
    const uint8_t settings[] = {60, 20, 11, 1};
    made.append(settings, sizeof settings);
    made.append(bytes.data(), bytes.size());
    write(folder, name, made);
  }
}

} // namespace

int main(int count, char **words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: metate_make_corpus FOLDER [MODULE.metate ...]\n");
    return 2;
  }
  fs::path folder = words[1];
  modules(folder / "module");
  libraries(folder / "library");
  descriptors(folder / "descriptor");
  for (auto &[name, blob] : seedTypes())
    for (uint32_t active : {0u, 3u, 20u})
      block(folder / "block", name + "-" + std::to_string(active), blob, active);
  for (auto &[name, blob] : seedTypes())
    if (name == "table")
      block(folder / "block", "table-one-stamp", blob, 20, shareStamp);
  arguments(folder / "arguments");
  frames(folder / "frames");
  Bytes described = descriptor(gridModuleSpec(METATE_ARCH_SIMT, 0));
  GridSpec kernels = gridSpec({gridText("text", 80)});
  write(folder / "grid", "kernels", gridPayload(kernels, described));
  // As many turns of the inner loop as the outer one has made.
  kernels.kernels[GRID_RELAY].nodes[1].operands = {{{METATE_GRID_TURN, 0, 0}}};
  write(folder / "grid", "triangle", gridPayload(kernels, described));
  for (int i = 2; i < count; ++i) {
    fs::path path = words[i];
    Bytes file = readWhole(path);
    write(folder / "module", "compiled-" + path.stem().string(), withoutCode(file));
    grids(folder / "grid", "compiled-" + path.stem().string(), file);
  }
  return 0;
}
