// What the runtime's unit tests share: a device, types from the builder, aligned memory, and a
// matcher for a status with its text.
#ifndef METATE_TESTS_FIXTURE_H
#define METATE_TESTS_FIXTURE_H

#include "kernels.h"
#include "metate/metate.hpp"
#include "module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace metate::test {

// EXPECT_FAILS(code, call, "piece", ...): the call fails with the code and the text has each piece.
inline ::testing::AssertionResult failsWith(metate_status expected, metate_status got,
                                            std::initializer_list<const char *> pieces) {
  if (got != expected)
    return ::testing::AssertionFailure()
           << "expected " << metate_status_name(expected) << ", got " << metate_status_name(got)
           << " (" << metate_last_error() << ")";
  for (const char *piece : pieces)
    if (!std::strstr(metate_last_error(), piece))
      return ::testing::AssertionFailure()
             << "expected '" << piece << "' in '" << metate_last_error() << "'";
  return ::testing::AssertionSuccess();
}
#define EXPECT_FAILS(code, call, ...) EXPECT_TRUE(failsWith(code, (call), {__VA_ARGS__}))
#define ASSERT_OK(call) ASSERT_EQ(METATE_OK, (call)) << metate_last_error()
#define EXPECT_OK(call) EXPECT_EQ(METATE_OK, (call)) << metate_last_error()

struct Memory {
  void *data;
  size_t size;
  explicit Memory(size_t bytes)
      : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), size(bytes) {
    std::memset(data, 0xa5, bytes); // never zero by luck
  }
  ~Memory() { std::free(data); }
  Memory(const Memory &) = delete;
};

class Runtime : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  std::vector<metate_type *> types;
  std::vector<metate_tree *> trees;

  void SetUp() override { ASSERT_OK(metate_device_open(nullptr, &device)); }
  void TearDown() override {
    for (metate_tree *tree : trees)
      EXPECT_OK(metate_tree_unbind(tree));
    for (metate_type *type : types)
      EXPECT_OK(metate_type_close(type));
    EXPECT_OK(metate_device_close(device));
  }

  metate_type *open(const Bytes &blob, const char *name = "t") {
    metate_type *type = nullptr;
    EXPECT_OK(metate_type_open_blob(device, blob.data(), blob.size(), name, &type));
    if (type)
      types.push_back(type);
    return type;
  }
  metate_tree *make(const metate_type *type, const metate_capacities *capacities = nullptr) {
    metate_tree *tree = nullptr;
    EXPECT_OK(metate_tree_new(type, capacities, &tree));
    if (tree)
      trees.push_back(tree);
    return tree;
  }
  void unbind(metate_tree *tree) {
    EXPECT_OK(metate_tree_unbind(tree));
    std::erase(trees, tree);
  }
};

inline uint32_t member(const metate_type *type, const char *name) {
  uint32_t level = METATE_NONE;
  EXPECT_EQ(METATE_OK, metate_type_find_member(type, name, &level));
  return level;
}

template <typename T>
T read(const metate_tree *tree, uint32_t level, std::initializer_list<int64_t> at) {
  T value{};
  EXPECT_EQ(METATE_OK,
            metate_tree_read(tree, level, at.begin(), uint32_t(at.size()), &value, sizeof value))
      << metate_last_error();
  return value;
}

template <typename T>
metate_status write(metate_tree *tree, uint32_t level, std::initializer_list<int64_t> at, T value) {
  return metate_tree_write(tree, level, at.begin(), uint32_t(at.size()), &value, sizeof value);
}

inline uint32_t active(const metate_tree *tree, uint32_t level, std::initializer_list<int64_t> at) {
  uint32_t result = 99;
  EXPECT_EQ(METATE_OK,
            metate_tree_is_active(tree, level, at.begin(), uint32_t(at.size()), &result));
  return result;
}

inline metate_pool_stats stats(const metate_tree *tree, uint32_t pool) {
  auto info = sized<metate_pool_stats>();
  EXPECT_EQ(METATE_OK, metate_tree_stats(tree, pool, &info));
  return info;
}

inline metate_tree_description describe(const metate_tree *tree) {
  auto info = sized<metate_tree_description>();
  EXPECT_EQ(METATE_OK, metate_tree_describe(tree, &info));
  return info;
}

inline metate_status check(const metate_tree *tree) {
  auto info = describe(tree);
  return metate_tree_check(info.type, info.block, info.bytes);
}

// pointer -> pointer -> dense, 3-D, with a background: 4^3 x 4^3 x 2^3.
inline Bytes nestedBlob() {
  return typeBlob({pointer("pointer0", "ijk", {4, 4, 4},
                           {pointer("pointer1", "ijk", {4, 4, 4},
                                    {dense("dense2", "ijk", {2, 2, 2},
                                           {withBackground<float>(place("d", METATE_F32), {2.5f}),
                                            place("n", METATE_U1)})})})},
                  "nested");
}

} // namespace metate::test

#endif
