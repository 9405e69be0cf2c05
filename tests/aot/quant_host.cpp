// Quantised members of a shipped module in a C++ host: a tree that another process saved is loaded, measured by the module's kernel
// and by a walk from here, changed, and saved again; what the level table says; level tables that are damaged, with hashes that are
// right. quant_host MODULE.metate LOADED.tree SAVED.tree
#include <metate/metate.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

namespace {

void expect(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "failed: %s (%s)\n", what, metate_last_error());
  std::exit(1);
}

/// What the kernel `total` adds up, from here.
double walked(const metate::Tree &tree) {
  auto masses = tree.cells<float>("mass"), speeds = tree.cells<float>("v1");
  auto kinds = tree.cells<uint32_t>("kind");
  double sum = 0;
  for (size_t n = 0; n < masses.size(); ++n)
    sum += double(masses.values[n]) * (1 + kinds.values[n]) + double(speeds.values[n]);
  for (uint32_t bit : tree.cells<uint32_t>("bit").values)
    sum += 1000 * bit;
  for (int32_t item : tree.cells<int32_t>("item").values)
    sum += item;
  return sum;
}

/// Single values, whole members, several at once; what does not fit is rounded or cut.
void change(metate::Tree &tree) {
  tree.write("kind", {15, 15}, uint32_t(9));
  tree.write("mass", {15, 15}, 1.3f);
  std::printf("written %u %.17g\n", tree.read<uint32_t>("kind", {15, 15}),
              double(tree.read<float>("mass", {15, 15})));
  expect(!tree.try_read<double>("mass", {15, 15}).ok(), "values have the compute type");
  std::vector<float> both(2 * 16 * 16), found(both.size());
  for (size_t n = 0; n < both.size(); ++n)
    both[n] = n % 2 ? 0.5f * float(n) : -float(n);
  tree.write_members({"v0", "v1"}, both);
  tree.read_members({"v0", "v1"}, found);
  for (size_t n = 0; n < 16 * 16; ++n)
    if (tree.is_active("v0", {int64_t(n / 16), int64_t(n % 16)}))
      expect(found[2 * n] == both[2 * n] && found[2 * n + 1] == both[2 * n + 1], "v0 and v1");
    else
      expect(found[2 * n] == 0 && found[2 * n + 1] == 0, "the background of v0 and v1");
  std::vector<uint32_t> bits(16 * 32);
  tree.read_dense("bit", bits);
  for (uint32_t &bit : bits)
    bit ^= 3; // its low bit is kept
  tree.write_dense("bit", bits);
}

void describe(const metate::TreeType &type) {
  for (const char *name : {"v0", "mass", "kind", "bit", "item"}) {
    auto level = type.member(name);
    std::printf("%s %s %u bits from %u of %u, %.9g, %u\n", name, metate_dtype_name(level.dtype),
                level.quant.bits, level.quant.shift, 8 * level.quant.word_bytes, level.quant.scale,
                type.level(level.parent).word_cells);
  }
}

using Damage = std::function<void(metate_level &, metate_quant &)>;

/// A copy of the blob with one place changed, or its parent, and its hash made right again.
bool isRefused(const metate::Device &device, const metate_type_description &of, uint32_t place,
               bool parent, const Damage &damage) {
  std::vector<uint64_t> words((of.blob_bytes + 7) / 8);
  auto *bytes = reinterpret_cast<unsigned char *>(words.data());
  std::memcpy(bytes, of.blob, of.blob_bytes);
  auto *head = reinterpret_cast<metate_tree_type *>(bytes);
  auto *levels = reinterpret_cast<metate_level *>(head + 1);
  auto *quant = reinterpret_cast<metate_quant *>(bytes + levels[place].quant);
  damage(levels[parent ? levels[place].parent : place], *quant);
  head->hash[0] = head->hash[1] = 0;
  XXH128_hash_t hash = XXH3_128bits(bytes, of.blob_bytes);
  head->hash[0] = hash.low64, head->hash[1] = hash.high64;
  metate_type *type = nullptr;
  metate_status code = metate_type_open_blob(device.get(), bytes, of.blob_bytes, "damaged", &type);
  if (!code)
    metate_type_close(type);
  return code == METATE_E_CORRUPT;
}

void refuseDamage(const metate::Device &device, const metate::TreeType &type) {
  const std::pair<const char *, Damage> places[] = {
      {"nothing", [](metate_level &, metate_quant &) {}}, // the one that is accepted
      {"kind", [](metate_level &, metate_quant &q) { q.kind = 4; }},
      {"flags", [](metate_level &, metate_quant &q) { q.flags |= 4; }},
      {"no bits", [](metate_level &, metate_quant &q) { q.bits = 0; }},
      {"bits", [](metate_level &, metate_quant &q) { q.bits += 50; }},
      {"shift", [](metate_level &, metate_quant &q) { q.shift += 64; }},
      {"exponent", [](metate_level &, metate_quant &q) { q.exponent_bits += 9; }},
      {"exponent's shift", [](metate_level &, metate_quant &q) { q.exponent_shift += 60; }},
      {"group", [](metate_level &, metate_quant &q) { q.group = 1; }},
      {"word", [](metate_level &, metate_quant &q) { q.word_bytes ^= 12; }},
      {"scale", [](metate_level &, metate_quant &q) { q.scale = -1; }},
      {"endless scale",
       [](metate_level &, metate_quant &q) { q.scale = std::numeric_limits<double>::infinity(); }},
      {"reserved", [](metate_level &, metate_quant &q) { q.reserved = 1; }},
      {"compute type", [](metate_level &l, metate_quant &) { l.dtype = METATE_U1; }},
      {"rows", [](metate_level &l, metate_quant &) { l.rows = 2; }},
      {"offset", [](metate_level &l, metate_quant &) { l.offset = 4; }},
      {"no record", [](metate_level &l, metate_quant &) { l.quant = 0; }},
      {"record", [](metate_level &l, metate_quant &) { l.quant += 4; }},
      {"record beyond", [](metate_level &l, metate_quant &) { l.quant += 1u << 30; }},
      {"kind of the level", [](metate_level &l, metate_quant &) { l.kind = METATE_LEVEL_DENSE; }},
  };
  const std::pair<const char *, Damage> parents[] = {
      {"kind", [](metate_level &l, metate_quant &) { l.kind ^= 1; }},
      {"elements", [](metate_level &l, metate_quant &) { l.slot_cells += 1; }},
      {"word", [](metate_level &l, metate_quant &) { l.cell_bytes /= 2; }},
      {"no word", [](metate_level &l, metate_quant &) { l.cell_bytes = 0; }},
      {"cells", [](metate_level &l, metate_quant &) { l.cells += 1; }},
      {"background", [](metate_level &l, metate_quant &) { l.background = 1u << 30; }},
  };
  metate_type_description of = type.describe();
  for (const char *name : {"v0", "v1", "mass", "kind", "bit", "item"}) {
    uint32_t place = type.member(name).index;
    for (const auto &[what, damage] : places)
      if (isRefused(device, of, place, false, damage) == !std::strcmp(what, "nothing"))
        std::printf("not as expected: %s of %s\n", what, name);
    for (const auto &[what, damage] : parents)
      if (!isRefused(device, of, place, true, damage))
        std::printf("not as expected: %s of the level of %s\n", what, name);
  }
}

} // namespace

int main(int count, char **words) {
  expect(count == 4, "usage: quant_host MODULE.metate LOADED.tree SAVED.tree");
  auto device = metate::Device::open();
  auto module = metate::Module::open(words[1], device);
  auto type = module.tree_type("sparse");
  describe(type);
  auto mapped = type.load(words[2], METATE_BIND_READ_ONLY), tree = type.load(words[2]);
  expect(mapped.check().ok() && walked(mapped) == walked(tree), "the file, mapped");
  expect(type.try_load(words[1]).status().code != METATE_OK, "a module is no tree");
  expect(module.tree_type("nested").try_load(words[2]).status().code == METATE_E_TYPE_MISMATCH,
         "a tree of another type");
  double total = 0;
  module.kernel("total")(tree, metate::ArrayView<double>{&total, {}});
  expect(total == walked(tree), "the host finds what the kernel finds");
  std::printf("total %.17g\n", total);
  change(tree);
  expect(tree.check().ok(), "a sound block");
  module.kernel("total")(tree, metate::ArrayView<double>{&total, {}});
  expect(total == walked(tree), "the same after changes");
  std::printf("total %.17g\n", total);
  tree.save(words[3]);
  refuseDamage(device, type);
  return 0;
}
