// Trees in other memory: trimmed, moved into larger blocks, saved, mapped, loaded at another address
// and in another process; blocks of more than 4 GiB.
#include "level_model.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

using namespace metate::test;
using metate::sized;

namespace {

Bytes everyLevel() {
  return typeBlob({pointer("p", "ij", {32, 32},
                           {bitmasked("b", "ij", {8, 8},
                                      {withBackground<int32_t>(place("x", METATE_I32), {7})})}),
                   dynamic("l", "i", 5000, 64, {place("y", METATE_F64)}),
                   hash("h", "ijk", {dense("d", "i", {4}, {place("z", METATE_I32)})})},
                  "every level");
}

// Resident bytes of this process.
uint64_t resident() {
  unsigned long long pages = 0, all = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "re")) {
    EXPECT_EQ(std::fscanf(file, "%llu %llu", &all, &pages), 2);
    std::fclose(file);
  }
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

class MemoryTest : public Runtime {
protected:
  std::filesystem::path folder;

  void SetUp() override {
    Runtime::SetUp();
    folder = std::filesystem::temp_directory_path() / ("metate-memory-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override {
    Runtime::TearDown();
    std::filesystem::remove_all(folder);
  }

  metate_capacities capacities(const std::vector<metate_capacity> &entries) {
    auto wanted = sized<metate_capacities>();
    wanted.count = uint32_t(entries.size());
    wanted.entries = entries.data();
    return wanted;
  }

  // Cells of every branch, some of them deactivated again.
  void fill(metate_tree *tree) {
    const metate_type *type = describe(tree).type;
    for (int64_t n = 0; n < 300; ++n) {
      ASSERT_OK(write(tree, member(type, "x"), {n * 7 % 256, n * 13 % 256}, int32_t(n)));
      ASSERT_OK(write(tree, member(type, "z"), {n * 1000 - 70000, -n, n % 3}, int32_t(2 * n)));
    }
    ASSERT_OK(write(tree, member(type, "y"), {1234}, 2.5));
    for (int64_t n = 0; n < 300; n += 3) {
      int64_t at[3] = {n * 7 % 256, n * 13 % 256, 0}, z[3] = {n * 1000 - 70000, -n, n % 3};
      ASSERT_OK(metate_tree_deactivate(tree, member(type, "x"), at, 2));
      ASSERT_OK(metate_tree_deactivate(tree, member(type, "z"), z, 3));
    }
  }

  // Everything that can be read of a tree.
  std::vector<std::pair<Coordinates, std::string>> contents(const metate_tree *tree) {
    std::vector<std::pair<Coordinates, std::string>> all;
    LevelModel levels(describe(tree).type);
    for (const auto &level : levels.levels) {
      if (level.kind != METATE_LEVEL_PLACE)
        continue;
      uint64_t count = 0;
      EXPECT_OK(metate_tree_cells(tree, level.index, 0, nullptr, nullptr, &count));
      std::vector<int64_t> at(count * level.path_rank);
      std::string values(count * level.cell_bytes, 0);
      EXPECT_OK(metate_tree_cells(tree, level.index, count, at.data(), values.data(), &count));
      for (uint64_t n = 0; n < count; ++n)
        all.emplace_back(Coordinates(at.begin() + int64_t(n * level.path_rank),
                                     at.begin() + int64_t((n + 1) * level.path_rank)),
                         values.substr(n * level.cell_bytes, level.cell_bytes));
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

} // namespace

TEST_F(MemoryTest, migratesIntoLargerBlocksAndGoesOn) {
  metate_type *type = open(everyLevel());
  std::vector<metate_capacity> few{{"p", 400}, {"l", 30}, {"h", 320}};
  auto small = capacities(few);
  metate_tree *tree = make(type, &small);
  fill(tree);
  ASSERT_OK(check(tree));
  // Until a pool is exhausted, and with cells in its slack.
  int32_t value = 5;
  metate_status status = METATE_OK;
  for (int64_t n = 0; n < 40000 && status == METATE_OK; ++n) {
    int64_t at[3] = {n * 4, 7, 7};
    status = metate_tree_write(tree, member(type, "z"), at, 3, &value, 4);
  }
  EXPECT_EQ(status, METATE_E_CAPACITY);
  auto before = contents(tree);
  uint64_t version = describe(tree).topology_version;
  EXPECT_FAILS(METATE_E_CAPACITY, metate_tree_migrate(tree, nullptr, 0, &small, 0), "'h'");
  EXPECT_EQ(contents(tree), before) << "where it was";
  std::vector<metate_capacity> more{{"p", 1024}, {"l", 79}, {"h", 3000}};
  auto large = capacities(more);
  uint64_t bytes = 0, align = 0;
  ASSERT_OK(metate_type_size(type, &large, &bytes, &align));
  Memory memory(bytes);
  ASSERT_OK(metate_tree_migrate(tree, memory.data, bytes, &large, 0));
  EXPECT_EQ(describe(tree).block, memory.data);
  EXPECT_EQ(describe(tree).status, uint32_t(METATE_OK));
  EXPECT_EQ(describe(tree).topology_version, version) << "the same cells are active";
  EXPECT_EQ(contents(tree), before);
  ASSERT_OK(check(tree));
  for (int64_t n = 0; n < 1000; ++n)
    ASSERT_OK(write(tree, member(type, "z"), {n * 4, 9, 9}, int32_t(n)));
  ASSERT_OK(check(tree));
  before = contents(tree);
  ASSERT_OK(metate_tree_migrate(tree, nullptr, 0, nullptr, 0)); // into memory of its own
  std::memset(memory.data, 0xee, bytes);
  EXPECT_EQ(contents(tree), before);
  EXPECT_OK(check(tree));
}

TEST_F(MemoryTest, migratesIntoFewerSlotsThanHaveBeenHandedOut) {
  metate_type *type = open(everyLevel());
  metate_tree *tree = make(type);
  for (int64_t n = 0; n < 100; ++n)
    ASSERT_OK(write(tree, member(type, "z"), {n * 4, 9, 9}, int32_t(n)));
  for (int64_t n = 0; n < 98; ++n) {
    int64_t at[3] = {n * 4, 9, 9};
    ASSERT_OK(metate_tree_deactivate(tree, member(type, "z"), at, 3));
  }
  std::filesystem::path unsorted = folder / "unsorted";
  ASSERT_OK(metate_tree_save(tree, unsorted.c_str()));
  auto before = contents(tree);
  uint64_t version = describe(tree).topology_version;
  std::vector<metate_capacity> few{{"p", 1}, {"l", 1}, {"h", 1}},
      enough{{"p", 1}, {"l", 1}, {"h", 2}};
  auto small = capacities(few), right = capacities(enough);
  EXPECT_FAILS(METATE_E_CAPACITY, metate_tree_migrate(tree, nullptr, 0, &small, 0),
               "level 'h' has 2 slots in use; the new capacity is 1");
  EXPECT_EQ(describe(tree).topology_version, version) << "it stays as it was";
  ASSERT_OK(metate_tree_migrate(tree, nullptr, 0, &right, 0));
  EXPECT_NE(describe(tree).topology_version, version) << "slots have other numbers";
  EXPECT_EQ(contents(tree), before);
  EXPECT_OK(check(tree));
  metate_tree *loaded = nullptr;
  EXPECT_FAILS(
      METATE_E_CAPACITY, metate_tree_load(type, unsorted.c_str(), &right, 0, &loaded),
      "up to number 100; the new capacity is 2: name a larger one, or sort the tree before");
  std::filesystem::path sorted = folder / "sorted";
  ASSERT_OK(metate_tree_save(tree, sorted.c_str()));
  ASSERT_OK(metate_tree_load(type, sorted.c_str(), &right, 0, &loaded));
  EXPECT_EQ(contents(loaded), before);
  ASSERT_OK(metate_tree_unbind(loaded));
}

TEST_F(MemoryTest, savedTreesLoadAnywhere) {
  metate_type *type = open(everyLevel());
  metate_tree *tree = make(type);
  fill(tree);
  auto before = contents(tree);
  std::string path = folder / "tree.metate-tree";
  ASSERT_OK(metate_tree_save(tree, path.c_str()));
  EXPECT_LT(std::filesystem::file_size(path), uint64_t(1) << 20) << "what is in use";
  metate_tree *mapped = nullptr, *loaded = nullptr;
  ASSERT_OK(metate_tree_load(type, path.c_str(), nullptr, METATE_BIND_READ_ONLY, &mapped));
  trees.push_back(mapped);
  EXPECT_EQ(contents(mapped), before);
  EXPECT_OK(check(mapped));
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, write(mapped, member(type, "y"), {0}, 1.0), "read-only");
  ASSERT_OK(metate_tree_load(type, path.c_str(), nullptr, 0, &loaded));
  trees.push_back(loaded);
  EXPECT_EQ(contents(loaded), before);
  ASSERT_OK(write(loaded, member(type, "y"), {4999}, 1.0)); // it may grow
  EXPECT_OK(check(loaded));
  metate_type *other = open(nestedBlob(), "nested");
  metate_tree *wrong = nullptr;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, metate_tree_load(other, path.c_str(), nullptr, 0, &wrong),
               "nested");
  EXPECT_FAILS(METATE_E_IO, metate_tree_load(type, "/nowhere/at/all", nullptr, 0, &wrong), "open");
  EXPECT_FAILS(METATE_E_IO, metate_tree_save(tree, "/nowhere/at/all"), "create");
  // A damaged file is refused.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4096);
  EXPECT_FAILS(METATE_E_CORRUPT, metate_tree_load(type, path.c_str(), nullptr, 0, &wrong),
               "outside");
}

TEST_F(MemoryTest, anotherProcessMapsTheFile) {
  metate_type *type = open(everyLevel());
  metate_tree *tree = make(type);
  fill(tree);
  std::string path = folder / "shared.metate-tree";
  ASSERT_OK(metate_tree_save(tree, path.c_str()));
  auto before = contents(tree);
  unbind(tree);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Something in the way: another address than the parent's.
    void *way = mmap(nullptr, 1 << 26, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    metate_tree *mapped = nullptr;
    bool good = way != MAP_FAILED &&
                metate_tree_load(type, path.c_str(), nullptr, METATE_BIND_READ_ONLY, &mapped) ==
                    METATE_OK &&
                contents(mapped) == before;
    _exit(good ? 0 : 1);
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

TEST_F(MemoryTest, copiedBlocksAreTrees) {
  metate_type *type = open(everyLevel());
  std::vector<metate_capacity> some{{"p", 400}, {"l", 40}, {"h", 400}};
  auto wanted = capacities(some);
  metate_tree *tree = make(type, &wanted);
  fill(tree);
  auto info = describe(tree);
  Memory memory(info.bytes);
  std::memcpy(memory.data, info.block, info.bytes);
  metate_tree *copy = nullptr;
  ASSERT_OK(metate_tree_bind(type, memory.data, info.bytes, nullptr, METATE_BIND_ADOPT, &copy));
  trees.push_back(copy);
  EXPECT_EQ(contents(copy), contents(tree));
  ASSERT_OK(metate_tree_deactivate_all(copy, 0));
  EXPECT_TRUE(contents(copy).empty());
  EXPECT_FALSE(contents(tree).empty());
  EXPECT_OK(check(copy));
}

TEST_F(MemoryTest, trimGivesPagesBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow stays resident";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer's shadow stays resident";
#endif
#endif
  metate_type *type =
      open(typeBlob({pointer("p", "i", {4096}, {dense("d", "j", {8192}, {place("x", METATE_F32)})}),
                     hash("h", "ij", {dense("e", "k", {256}, {place("y", METATE_F32)})})},
                    "large"));
  metate_tree *tree = make(type);
  int64_t first[3] = {0, 0, 0};
  ASSERT_OK(metate_tree_activate(tree, member(type, "x"), first, 2));
  ASSERT_OK(metate_tree_activate(tree, member(type, "y"), first, 3));
  ASSERT_OK(metate_tree_deactivate_all(tree, 0));
  ASSERT_OK(metate_tree_trim(tree));
  uint64_t start = resident();
  for (int64_t n = 0; n < 4096; ++n) {
    ASSERT_OK(write(tree, member(type, "x"), {n, 8000}, 1.0f));
    ASSERT_OK(write(tree, member(type, "y"), {n, -n, 1}, 1.0f));
  }
  EXPECT_GT(resident(), start + (uint64_t(100) << 20));
  ASSERT_OK(metate_tree_deactivate_all(tree, 0));
  ASSERT_OK(metate_tree_trim(tree));
  EXPECT_LT(resident(), start + (uint64_t(4) << 20));
  EXPECT_EQ(stats(tree, 0).high_water, 0u);
  ASSERT_OK(check(tree));
  // Half of them: the slots in the middle go, the others stay.
  for (int64_t n = 0; n < 4096; ++n)
    ASSERT_OK(write(tree, member(type, "x"), {n, 1}, float(n)));
  for (int64_t n = 0; n < 4095; ++n)
    if (n % 64) {
      int64_t at[2] = {n, 1};
      ASSERT_OK(metate_tree_deactivate(tree, member(type, "x"), at, 2));
    }
  ASSERT_OK(metate_tree_trim(tree));
  EXPECT_LT(resident(), start + (uint64_t(12) << 20));
  for (int64_t n = 0; n < 4096; n += 64)
    ASSERT_EQ(read<float>(tree, member(type, "x"), {n, 1}), float(n));
  ASSERT_EQ(read<float>(tree, member(type, "x"), {4095, 1}), 4095.0f);
  for (int64_t n = 0; n < 4096; ++n)
    ASSERT_OK(write(tree, member(type, "x"), {n, 2}, 3.0f));
  EXPECT_EQ(read<float>(tree, member(type, "x"), {77, 1}), 0.0f) << "a new slot is background";
  EXPECT_OK(check(tree));
  // Sorting lowers the high water mark, so the pages are behind it; trimming gives them back.
  for (int64_t n = 0; n < 4096; ++n)
    if (n % 64 != 63) {
      int64_t at[2] = {n, 1};
      ASSERT_OK(metate_tree_deactivate(tree, member(type, "x"), at, 2));
    }
  ASSERT_OK(metate_tree_sort(tree));
  EXPECT_EQ(stats(tree, 0).high_water, 64u);
  ASSERT_OK(metate_tree_trim(tree));
  EXPECT_LT(resident(), start + (uint64_t(12) << 20));
  for (int64_t n = 63; n < 4096; n += 64)
    ASSERT_EQ(read<float>(tree, member(type, "x"), {n, 2}), 3.0f);
  EXPECT_OK(check(tree));
}

// More than 2^32 bytes, slots behind them, more than 2^31 cells: only what is touched has pages.
TEST_F(MemoryTest, blocksOverFourGibibytes) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer's shadow is as large as the block";
#endif
#endif
  metate_type *type =
      open(typeBlob({pointer("p", "ijk", {64, 64, 64},
                             {bitmasked("b", "ijk", {32, 32, 32}, {place("x", METATE_I32)})})},
                    "big"));
  std::vector<metate_capacity> all{{"p", 200000}};
  auto wanted = capacities(all);
  metate_tree *tree = make(type, &wanted);
  ASSERT_GT(describe(tree).bytes, uint64_t(20) << 30);
  // As after many activations and deactivations: the free list gives the highest slots first, and
  // what lies below them is never touched.
  auto *block = static_cast<char *>(describe(tree).block);
  auto *pool = reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header));
  pool->high_water = 150000;
  pool->free_head = 150000;
  for (uint64_t n = 2; n <= 150000; ++n) // 20 bytes of metadata: state, next, three coordinates
    *reinterpret_cast<uint32_t *>(block + pool->meta_offset + n * 20 + 4) = uint32_t(n - 1);
  for (int64_t n = 0; n < 50; ++n)
    ASSERT_OK(write(tree, 3, {n * 40, 2047 - n, n * 31}, int32_t(n)));
  EXPECT_GT(uint64_t(stats(tree, 0).high_water) * 131072, uint64_t(16) << 30);
  for (int64_t n = 0; n < 50; ++n) {
    ASSERT_EQ(read<int32_t>(tree, 3, {n * 40, 2047 - n, n * 31}), int32_t(n));
    ASSERT_EQ(active(tree, 3, {n * 40, 2047 - n, n * 31}), 1u);
    ASSERT_EQ(active(tree, 3, {n * 40 + 1, 2047 - n, n * 31}), 0u);
  }
  uint64_t count = 0;
  ASSERT_OK(metate_tree_cells(tree, 3, 0, nullptr, nullptr, &count));
  EXPECT_EQ(count, 50u);
  EXPECT_OK(check(tree));
  // Put in order, its slots are the first ones, and the file is small.
  ASSERT_OK(metate_tree_sort(tree));
  EXPECT_EQ(stats(tree, 0).high_water, 50u);
  std::string path = folder / "big.metate-tree";
  ASSERT_OK(metate_tree_save(tree, path.c_str()));
  EXPECT_LT(std::filesystem::file_size(path), uint64_t(16) << 20);
  metate_tree *loaded = nullptr;
  ASSERT_OK(metate_tree_load(type, path.c_str(), &wanted, 0, &loaded));
  trees.push_back(loaded);
  EXPECT_EQ(describe(loaded).bytes, describe(tree).bytes);
  for (int64_t n = 0; n < 50; ++n)
    ASSERT_EQ(read<int32_t>(loaded, 3, {n * 40, 2047 - n, n * 31}), int32_t(n));
  EXPECT_OK(check(loaded));
  ASSERT_OK(metate_tree_deactivate_all(tree, 0));
  EXPECT_EQ(stats(tree, 0).used, 0u);
  ASSERT_OK(metate_tree_trim(tree));
  EXPECT_EQ(stats(tree, 0).high_water, 0u);
  EXPECT_OK(check(tree));
}
