// Writes the seed corpora: metate_make_corpus FOLDER [MODULE.metate ...]. Modules of the compiler
// are taken without their code. scripts/fuzz --seeds calls it.
#include "seeds.h"

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

// A module of the compiler with the mark in the place of each payload.
Bytes withoutCode(const Bytes &file) {
  Bytes copy = file;
  const auto *head = copy.at<metate_carrier>(0);
  const auto *sections = copy.at<metate_section>(head->section_offset);
  Bytes description;
  description.append(copy.data() + sections[0].offset, sections[0].bytes);
  return carrier(description, std::vector<Bytes>(head->section_count - 1, mark()));
}

} // namespace

int main(int count, char **words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: metate_make_corpus FOLDER [MODULE.metate ...]\n");
    return 2;
  }
  fs::path folder = words[1];
  modules(folder / "module");
  for (int i = 2; i < count; ++i) {
    fs::path path = words[i];
    write(folder / "module", "compiled-" + path.stem().string(), withoutCode(readWhole(path)));
  }
  return 0;
}
