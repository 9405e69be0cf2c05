// Quantised members: every kind and width against a slow model, what else is in their words, rows against single values, levels
// above them, and damaged types.
#include "quant_model.h"

#include <atomic>
#include <functional>
#include <set>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

constexpr uint32_t integers[] = {METATE_I8, METATE_I16, METATE_I32, METATE_I64,
                                 METATE_U8, METATE_U16, METATE_U32, METATE_U64};

uint64_t loadBits(const uint8_t *from, uint32_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);
  return bits;
}

// The words of a tree as they should be: element n is in word n / perWord.
struct ExpectedWords {
  const uint8_t *first; // in the block
  uint64_t step;
  uint32_t bytes, perWord;
  std::vector<uint64_t> words = {};

  void read() {
    for (size_t n = 0; n < words.size(); ++n)
      words[n] = loadBits(first + n * step, bytes);
  }
  void put(uint64_t element, uint32_t shift, uint32_t bits, uint64_t stored) {
    shift += uint32_t(element % perWord) * bits;
    uint64_t &word = words[element / perWord];
    word = (word & ~(lowest(bits) << shift)) | stored << shift;
  }
  uint64_t get(uint64_t element, uint32_t shift, uint32_t bits) const {
    shift += uint32_t(element % perWord) * bits;
    return words[element / perWord] >> shift & lowest(bits);
  }
  void compare() const {
    for (size_t n = 0; n < words.size(); ++n)
      ASSERT_EQ(loadBits(first + n * step, bytes), words[n]) << "word " << n;
  }
};

class QuantTest : public Runtime {
protected:
  std::mt19937_64 random{20261126};

  uint64_t below(uint64_t bound) { return random() % bound; }

  uint8_t *rootOf(const metate_tree *tree) {
    auto info = describe(tree);
    return static_cast<uint8_t *>(info.block) + info.root_offset;
  }
  metate_level_description levelOf(const metate_type *type, uint32_t index) {
    auto level = sized<metate_level_description>();
    EXPECT_OK(metate_type_level(type, index, &level));
    return level;
  }
  metate_level_description memberOf(const metate_type *type, const char *name) {
    return levelOf(type, member(type, name));
  }

  static std::vector<uint8_t> packed(const std::vector<uint64_t> &values, uint32_t bytes) {
    std::vector<uint8_t> all(values.size() * bytes + 1);
    for (size_t n = 0; n < values.size(); ++n)
      std::memcpy(all.data() + n * bytes, &values[n], bytes);
    return all;
  }

  // A member of one axis, whose words are known, against the model.
  void compareWithModel(metate_tree *tree, const QuantModel &model, uint64_t count,
                        ExpectedWords expected, uint32_t shift) {
    uint32_t level = member(describe(tree).type, "x"), bytes = model.bytes();
    for (uint64_t n = 0; n < expected.words.size(); ++n) {
      uint64_t noise = random(); // what is there stays there, whatever it is
      std::memcpy(const_cast<uint8_t *>(expected.first) + n * expected.step, &noise,
                  expected.bytes);
    }
    expected.read();
    std::vector<uint64_t> values(count);
    for (uint64_t n = 0; n < count; ++n)
      expected.put(n, shift, model.quant.bits, model.encode(values[n] = model.draw(random)));
    ASSERT_OK(metate_tree_write_dense(tree, level, packed(values, bytes).data(), count * bytes));
    expected.compare();
    compareReads(tree, model, count, expected, shift);
    for (uint64_t turn = 0; turn < 2 * count; ++turn) {
      uint64_t n = below(count), value = model.draw(random);
      expected.put(n, shift, model.quant.bits, model.encode(value));
      auto at = int64_t(n);
      ASSERT_OK(metate_tree_write(tree, level, &at, 1, &value, bytes));
      expected.compare();
    }
    compareReads(tree, model, count, expected, shift);
    uint64_t same = model.draw(random);
    for (uint64_t n = 0; n < count; ++n)
      expected.put(n, shift, model.quant.bits, model.encode(same));
    ASSERT_OK(metate_tree_fill(tree, level, &same, bytes));
    expected.compare();
  }

  void compareReads(metate_tree *tree, const QuantModel &model, uint64_t count,
                    const ExpectedWords &expected, uint32_t shift) {
    uint32_t level = member(describe(tree).type, "x"), bytes = model.bytes();
    std::vector<uint8_t> all(count * bytes), cells(count * bytes);
    uint64_t found = 0;
    ASSERT_OK(metate_tree_read_dense(tree, level, all.data(), all.size()));
    ASSERT_OK(metate_tree_cells(tree, level, count, nullptr, cells.data(), &found));
    ASSERT_EQ(found, count);
    ASSERT_EQ(all, cells);
    for (uint64_t n = 0; n < count; ++n) {
      uint64_t value = 0, wanted = model.decode(expected.get(n, shift, model.quant.bits));
      auto at = int64_t(n);
      ASSERT_EQ(loadBits(all.data() + n * bytes, bytes), wanted) << "element " << n;
      ASSERT_OK(metate_tree_read(tree, level, &at, 1, &value, bytes));
      ASSERT_EQ(value, wanted) << "element " << n;
    }
  }

  // In bit_structs side by side and apart, with others in the word, and in a quant_array.
  void compareInAllWords(const Node &x) {
    constexpr uint32_t count = 13;
    QuantModel model(x);
    uint32_t bits = x.quant.bits, word = 8;
    while (word < bits || (word < 64 && below(3) == 0))
      word *= 2;
    uint32_t low = uint32_t(below(word - bits + 1)), high = word - bits - low;
    std::vector<Node> members;
    if (low)
      members.push_back(quantInt("low", low, false, METATE_U64));
    members.push_back(x);
    if (high)
      members.push_back(quantInt("high", high, false, METATE_U64));
    SCOPED_TRACE("kind " + std::to_string(x.quant.kind) + ", " + std::to_string(bits) + " bits, " +
                 std::to_string(x.quant.exponentBits) + " of them exponent, signed " +
                 std::to_string(x.quant.isSigned) + ", " + metate_dtype_name(x.dtype) + ", word " +
                 std::to_string(word));
    for (bool apart : {false, true}) {
      std::vector<Node> children = {bitStruct(word, members)};
      if (apart)
        children.push_back(place("other", METATE_U8));
      metate_type *type = open(typeBlob({dense("d", "i", {count}, children)}, "words"));
      metate_tree *tree = make(type);
      ASSERT_NE(tree, nullptr);
      uint64_t step = levelOf(type, 1).cell_bytes;
      compareWithModel(tree, model, count,
                       {rootOf(tree), step, word / 8, 1, std::vector<uint64_t>(count)}, low);
      close(tree, type);
    }
    uint32_t perWord = word / bits, words = (count + perWord - 1) / perWord;
    metate_type *type = open(typeBlob({quantArray("q", "i", {count}, word, x)}, "array"));
    metate_tree *tree = make(type);
    ASSERT_NE(tree, nullptr);
    EXPECT_EQ(levelOf(type, 1).word_cells, perWord);
    compareWithModel(tree, model, count,
                     {rootOf(tree), word / 8, word / 8, perWord, std::vector<uint64_t>(words)}, 0);
    close(tree, type);
  }

  void close(metate_tree *tree, metate_type *type) {
    unbind(tree);
    EXPECT_OK(metate_type_close(type));
    std::erase(types, type);
  }
};

} // namespace

TEST_F(QuantTest, integersOfEveryWidth) {
  for (uint32_t dtype : integers)
    for (uint32_t bits = 1; bits <= 8 * metate_dtype_bytes(dtype); ++bits)
      for (bool isSigned : {false, true}) {
        compareInAllWords(quantInt("x", bits, isSigned, dtype));
        if (HasFatalFailure())
          return;
      }
}

TEST_F(QuantTest, fixedPointOfEveryWidth) {
  const double scales[] = {1.0, 1e-3, 0.37, 3e5, 1.0 / (1 << 20), 1e-9};
  for (uint32_t dtype : {METATE_F32, METATE_F64})
    for (uint32_t isSigned : {0u, 1u})
      for (uint32_t bits = 1; bits <= (dtype == METATE_F32 ? 24 : 53) + isSigned; ++bits)
        for (double scale : scales) {
          compareInAllWords(quantFixed("x", bits, isSigned, scale, dtype));
          if (HasFatalFailure())
            return;
        }
}

TEST_F(QuantTest, floatsOfEveryWidth) {
  for (uint32_t dtype : {METATE_F32, METATE_F64})
    for (uint32_t isSigned : {0u, 1u})
      for (uint32_t exponent = 1; exponent <= (dtype == METATE_F32 ? 8 : 11); ++exponent)
        for (uint32_t digits = 1; digits <= (dtype == METATE_F32 ? 23 : 52);
             digits += dtype == METATE_F32 || digits > 50 ? 1 : 1 + uint32_t(below(9))) {
          compareInAllWords(quantFloat("x", exponent, digits + isSigned, isSigned, dtype));
          if (HasFatalFailure())
            return;
        }
}

// Known by hand, so that the model cannot be wrong in the same way.
TEST_F(QuantTest, valuesThatAreKnown) {
  metate_type *type =
      open(typeBlob({bitStruct(64, {quantInt("n", 5, true, METATE_I32),
                                    quantFixed("f", 8, false, 0.25, METATE_F32),
                                    quantFloat("h", 5, 11, true, METATE_F32)}),
                     bitStruct(32, {shared({quantFloat("u", 5, 9, true, METATE_F32),
                                            quantFloat("v", 5, 9, true, METATE_F32),
                                            quantFloat("w", 5, 8, false, METATE_F32)})})},
                    "known"));
  metate_tree *tree = make(type);
  uint32_t n = member(type, "n"), f = member(type, "f"), h = member(type, "h");
  auto stored = [&]<typename T>(uint32_t level, T value) {
    EXPECT_OK(write<T>(tree, level, {}, value));
    return read<T>(tree, level, {});
  };
  EXPECT_EQ(stored(n, 15), 15);
  EXPECT_EQ(stored(n, 16), -16);
  EXPECT_EQ(stored(n, -17), 15);
  EXPECT_EQ(stored(f, 1.1f), 1.0f);
  EXPECT_EQ(stored(f, 1.125f), 1.25f); // half away from zero
  EXPECT_EQ(stored(f, 63.75f), 63.75f);
  EXPECT_EQ(stored(f, 64.0f), 0.0f);         // low bits
  EXPECT_EQ(stored(f, 536870880.0f), 32.0f); // 2^31 - 128 of them, in f32 the last
  EXPECT_EQ(stored(f, 536870912.0f), 0.0f);  // 2^31
  EXPECT_EQ(stored(f, -1e30f), 0.0f);
  EXPECT_EQ(stored(f, std::nanf("")), 0.0f);
  EXPECT_EQ(stored(h, 1.0f / 3), 0.333251953125f); // as a half
  EXPECT_EQ(stored(h, 65504.0f), 65504.0f);
  EXPECT_EQ(stored(h, 65520.0f), 65536.0f); // no infinity: one exponent more than a half has
  EXPECT_EQ(stored(h, 1e30f), 131008.0f);
  EXPECT_EQ(stored(h, -INFINITY), -131008.0f);
  EXPECT_EQ(stored(h, 5.9604645e-8f), 5.9604645e-8f);
  EXPECT_EQ(stored(h, 2.9802322e-8f), 5.9604645e-8f); // half away from zero
  EXPECT_TRUE(std::signbit(stored(h, -0.0f)));
  EXPECT_FALSE(std::signbit(stored(h, -std::nanf(""))));
  uint32_t u = member(type, "u"), v = member(type, "v"), w = member(type, "w");
  EXPECT_EQ(stored(u, 255.0f), 255.0f); // 8 digits
  EXPECT_EQ(stored(v, -1.5f), -2.0f);   // steps of 1: half away from zero
  EXPECT_EQ(stored(w, 512.0f), 512.0f); // steps of 4
  EXPECT_EQ(read<float>(tree, u, {}), 256.0f);
  EXPECT_EQ(read<float>(tree, v, {}), -4.0f); // from -2, which was stored
  EXPECT_EQ(stored(w, -3.0f), 0.0f);
  EXPECT_EQ(stored(u, 0.0f), 0.0f);
  EXPECT_EQ(stored(w, 1.0f / 3), 0.34375f); // the exponent falls: -4 is held in steps of 1/32
  EXPECT_EQ(read<float>(tree, v, {}), -4.0f);
  EXPECT_OK(check(tree));
}

// Random groups in words with others, a store at a time and rows of stores, of one member and of several.
TEST_F(QuantTest, sharedExponents) {
  for (int turn = 0; turn < 300; ++turn) {
    uint32_t dtype = below(2) ? METATE_F32 : METATE_F64, word = below(3) ? 64 : 32;
    uint32_t most = dtype == METATE_F32 ? 8 : 11;
    uint32_t exponent = 1 + uint32_t(below(most)), count = 2 + uint32_t(below(3));
    std::vector<Node> group;
    uint32_t left = word - exponent;
    for (uint32_t k = 0; k < count; ++k) {
      uint32_t isSigned = uint32_t(below(2)), rest = left - 2 * (count - k - 1);
      uint32_t digits =
          1 + uint32_t(below(std::min(rest - isSigned, dtype == METATE_F32 ? 23u : 52u)));
      left -= digits + isSigned;
      group.push_back(
          quantFloat("x" + std::to_string(k), exponent, digits + isSigned, isSigned, dtype));
    }
    std::vector<Node> members;
    uint32_t before = uint32_t(below(left + 1));
    if (before)
      members.push_back(quantInt("before", before, false, METATE_U64));
    members.push_back(shared(group));
    if (left - before)
      members.push_back(quantInt("behind", left - before, false, METATE_U64));
    constexpr uint32_t cells = 11;
    Node struct_ = bitStruct(word, members);
    std::vector<QuantModel> models;
    for (const Node &node : struct_.children)
      if (node.quant.group >= 0)
        models.emplace_back(node);
    std::vector<Node> children = {struct_};
    if (below(2))
      children.push_back(place("other", METATE_U16));
    metate_type *type = open(typeBlob({dense("d", "i", {cells}, children)}, "shared"));
    metate_tree *tree = make(type);
    ASSERT_NE(tree, nullptr);
    uint32_t bytes = models[0].bytes();
    std::vector<uint32_t> levels;
    for (uint32_t k = 0; k < count; ++k)
      levels.push_back(member(type, ("x" + std::to_string(k)).c_str()));
    metate_quant first = levelOf(type, levels[0]).quant;
    EXPECT_EQ(first.group, levels[0]);
    EXPECT_EQ(first.exponent_shift, before);
    ExpectedWords expected{rootOf(tree), levelOf(type, 1).cell_bytes, word / 8, 1,
                           std::vector<uint64_t>(cells)};
    if (before) {
      std::vector<uint64_t> noise(cells);
      for (uint64_t &value : noise)
        value = random();
      ASSERT_OK(metate_tree_write_dense(tree, member(type, "before"), noise.data(), cells * 8));
    }
    expected.read();
    // The values of a word with new ones for some members.
    auto store = [&](uint64_t n, const std::function<bool(uint32_t, uint64_t &)> &change) {
      std::vector<uint64_t> values(count);
      auto old = int(expected.get(n, first.exponent_shift, exponent));
      for (uint32_t k = 0; k < count; ++k) {
        metate_quant quant = levelOf(type, levels[k]).quant;
        values[k] = models[k].decode(expected.get(n, quant.shift, quant.bits), old);
        change(k, values[k]);
      }
      int now = sharedExponent(models, values);
      expected.put(n, first.exponent_shift, exponent, uint64_t(now));
      for (uint32_t k = 0; k < count; ++k) {
        metate_quant quant = levelOf(type, levels[k]).quant;
        expected.put(n, quant.shift, quant.bits, encodeAt(models[k], values[k], now));
      }
    };
    for (int step = 0; step < 30; ++step) {
      auto k = uint32_t(below(count));
      if (step % 10 == 9) { // all of a row, of one member or of all
        bool together = below(2);
        uint32_t from = together ? 0 : k, to = together ? count : k + 1;
        std::vector<uint64_t> row;
        for (uint64_t n = 0; n < cells; ++n)
          for (uint32_t j = from; j < to; ++j)
            row.push_back(models[j].draw(random));
        ASSERT_OK(metate_tree_write_members(tree, levels.data() + from, to - from,
                                            packed(row, bytes).data(), row.size() * bytes));
        for (uint64_t n = 0; n < cells; ++n)
          store(n, [&](uint32_t j, uint64_t &value) {
            if (j >= from && j < to)
              value = row[n * (to - from) + j - from];
            return true;
          });
      } else {
        auto at = int64_t(below(cells));
        uint64_t given = models[k].draw(random);
        ASSERT_OK(metate_tree_write(tree, levels[k], &at, 1, &given, bytes));
        store(uint64_t(at), [&](uint32_t j, uint64_t &value) {
          if (j == k)
            value = given;
          return true;
        });
      }
      expected.compare();
      std::vector<uint8_t> all(cells * bytes);
      ASSERT_OK(metate_tree_read_dense(tree, levels[k], all.data(), all.size()));
      metate_quant quant = levelOf(type, levels[k]).quant;
      for (uint64_t n = 0; n < cells; ++n)
        ASSERT_EQ(loadBits(all.data() + n * bytes, bytes),
                  models[k].decode(expected.get(n, quant.shift, quant.bits),
                                   int(expected.get(n, first.exponent_shift, exponent))));
      if (HasFatalFailure())
        return;
    }
    close(tree, type);
  }
}

namespace {

// An executor of some threads, each of which takes a chunk after another.
metate_executor threads() {
  metate_executor executor{};
  executor.worker_count = 3;
  executor.parallel_for = [](void *, int64_t count, int64_t grain, uint32_t, metate_task_body body,
                             void *context) -> int32_t {
    std::atomic<int64_t> next{0};
    std::vector<std::thread> workers;
    for (uint32_t worker = 0; worker < 3; ++worker)
      workers.emplace_back([&, worker] {
        for (int64_t begin; (begin = next.fetch_add(grain)) < count;)
          body(context, begin, std::min(begin + grain, count), worker);
      });
    for (std::thread &worker : workers)
      worker.join();
    return METATE_OK;
  };
  return executor;
}

Node tenth(const char *name) {
  return withBackground<float>(quantFixed(name, 10, true, 0.1, METATE_F32), {-2.5f});
}
Node bit(const char *name) { return quantInt(name, 1, false, METATE_U8); }
Node tiny(const char *name) {
  return withBackground<double>(quantFloat(name, 4, 9, true, METATE_F64), {307.0 / 1024});
}
Node word(uint32_t word = 32) {
  uint64_t tinyBits = QuantModel(tiny("t")).encode(0x3fd3333333333333ull);
  return bitStruct(word, {tenth("x"), bit("b"), tiny("t")}, 0x3e7 | tinyBits << 11);
}
Node tenths(std::string axes, std::vector<uint32_t> extents) {
  return quantArray("q", std::move(axes), std::move(extents), 32, tenth("y"),
                    0x3e7 | 0x3e7 << 10 | 0x3e7 << 20);
}

struct Nesting {
  const char *name;
  std::vector<Node> branches;
};

std::vector<Nesting> nestings() {
  return {
      {"root", {word(), tenths("ij", {5, 4})}},
      {"dense", {dense("d", "ij", {3, 4}, {word(), place("f", METATE_F32), tenths("j", {7})})}},
      {"other order",
       {dense("d", "j", {4}, {tenths("ij", {9, 5}), dense("e", "i", {6}, {word(64)})})}},
      {"axes apart",
       {dense("d", "ik", {3, 2}, {tenths("jk", {4, 5}), dense("e", "j", {3}, {word()})})}},
      {"pointer",
       {pointer("p", "ij", {3, 3}, {dense("d", "ij", {2, 4}, {word()}), tenths("ij", {5, 3})})}},
      {"bitmasked", {bitmasked("m", "ij", {6, 40}, {word(), tenths("k", {4})})}},
      {"pointer bitmasked",
       {pointer("p", "i", {4}, {bitmasked("m", "ij", {3, 33}, {dense("d", "j", {2}, {word()})})})}},
      {"dense bitmasked",
       {dense("d", "j", {5}, {bitmasked("m", "ij", {7, 9}, {tenths("i", {11})})})}},
      {"lists", {dense("d", "i", {3}, {dynamic("l", "j", 20, 6, {word(), tenths("k", {8})})})}},
      {"bitmasked pointer",
       {bitmasked("m", "i", {5}, {pointer("p", "i", {4}, {tenths("j", {37}), word()})})}},
  };
}

} // namespace

// Copies of whole members against single values, with and without threads, in all nestings.
TEST_F(QuantTest, rowsAreSingleValues) {
  metate_executor executor = threads();
  auto hooks = sized<metate_device_hooks>();
  hooks.executor = &executor;
  metate_device *busy = nullptr;
  ASSERT_OK(metate_device_open(&hooks, &busy));
  for (metate_device *on : {device, busy})
    for (const Nesting &nesting : nestings()) {
      SCOPED_TRACE(nesting.name);
      Bytes blob = typeBlob(nesting.branches, nesting.name);
      metate_type *type = nullptr;
      metate_tree *tree = nullptr;
      ASSERT_OK(metate_type_open_blob(on, blob.data(), blob.size(), "t", &type));
      ASSERT_OK(metate_tree_new(type, nullptr, &tree));
      auto info = sized<metate_type_description>();
      ASSERT_OK(metate_type_describe(type, &info));
      for (uint32_t index = 0; index < info.level_count; ++index) {
        auto level = levelOf(type, index);
        if (level.kind != METATE_LEVEL_PLACE || !level.quant.kind)
          continue;
        // Inactive cells read what the word's background stands for.
        Node node = strcmp(level.name, "b") == 0   ? bit("b")
                    : strcmp(level.name, "t") == 0 ? tiny("t")
                                                   : tenth(level.name);
        QuantModel model(node);
        uint64_t background = 0;
        if (!node.background.empty())
          std::memcpy(&background, node.background.data(), node.background.size());
        background = model.decode(model.encode(background));
        uint32_t bytes = model.bytes();
        EXPECT_EQ(loadBits(static_cast<const uint8_t *>(level.background), bytes), background);
        uint64_t cells = 1;
        for (uint32_t k = 0; k < level.path_rank; ++k)
          cells *= uint64_t(level.shape[k]);
        std::map<std::vector<int64_t>, uint64_t> known;
        auto place = [&](uint64_t n) {
          std::vector<int64_t> at(level.path_rank);
          for (uint32_t k = level.path_rank; k-- > 0; n /= uint64_t(level.shape[k]))
            at[k] = int64_t(n % uint64_t(level.shape[k]));
          return at;
        };
        auto isActive = [&](const std::vector<int64_t> &at) {
          uint32_t active = 9;
          EXPECT_OK(metate_tree_is_active(tree, index, at.data(), level.path_rank, &active));
          return active != 0;
        };
        auto compare = [&] {
          std::vector<uint8_t> all(cells * bytes);
          ASSERT_OK(metate_tree_read_dense(tree, index, all.data(), all.size()));
          for (uint64_t n = 0; n < cells; ++n) {
            auto at = place(n);
            uint64_t value = 0;
            ASSERT_OK(metate_tree_read(tree, index, at.data(), level.path_rank, &value, bytes));
            auto wanted = known.find(at);
            ASSERT_EQ(value, wanted == known.end() ? background : wanted->second) << n;
            ASSERT_EQ(loadBits(all.data() + n * bytes, bytes), value) << n;
          }
          ASSERT_OK(metate_tree_check(type, describe(tree).block, describe(tree).bytes));
        };
        compare();
        for (int turn = 0; turn < 12; ++turn) {
          auto at = place(below(cells));
          uint64_t value = model.draw(random);
          ASSERT_OK(metate_tree_write(tree, index, at.data(), level.path_rank, &value, bytes));
          known[at] = model.decode(model.encode(value));
        }
        compare();
        std::vector<uint64_t> values(cells);
        for (uint64_t n = 0; n < cells; ++n) {
          values[n] = model.draw(random);
          if (isActive(place(n)))
            known[place(n)] = model.decode(model.encode(values[n]));
        }
        ASSERT_OK(
            metate_tree_write_dense(tree, index, packed(values, bytes).data(), cells * bytes));
        compare();
        for (auto &[at, value] : known)
          value = model.decode(model.encode(values[0]));
        ASSERT_OK(metate_tree_fill(tree, index, &values[0], bytes));
        compare();
        if (HasFatalFailure())
          break;
      }
      ASSERT_OK(metate_tree_deactivate_all(tree, 0));
      ASSERT_OK(metate_tree_check(type, describe(tree).block, describe(tree).bytes));
      ASSERT_OK(metate_tree_unbind(tree));
      ASSERT_OK(metate_type_close(type));
      if (HasFatalFailure())
        break;
    }
  ASSERT_OK(metate_device_close(busy));
}

// Arrays of a quant_array that are large enough for several threads, which share no word: of all values each is what it was.
TEST_F(QuantTest, threadsShareNoWord) {
  metate_executor executor = threads();
  auto hooks = sized<metate_device_hooks>();
  hooks.executor = &executor;
  metate_device *busy = nullptr;
  ASSERT_OK(metate_device_open(&hooks, &busy));
  for (uint32_t bits : {1u, 7u, 10u, 31u})
    for (uint32_t word : {32u, 64u})
      for (bool turned : {false, true}) {
        Node x = quantInt("x", bits, false, METATE_U32);
        Bytes blob =
            typeBlob({turned ? dense("d", "j", {3}, {quantArray("q", "ij", {997, 211}, word, x)})
                             : quantArray("q", "ij", {997, 633}, word, x)},
                     "large");
        metate_type *type = nullptr;
        metate_tree *tree = nullptr;
        ASSERT_OK(metate_type_open_blob(busy, blob.data(), blob.size(), "t", &type));
        ASSERT_OK(metate_tree_new(type, nullptr, &tree));
        uint32_t level = member(type, "x");
        std::vector<uint32_t> values(997 * 633), back(values.size());
        for (uint32_t &value : values)
          value = uint32_t(random());
        ASSERT_OK(metate_tree_write_dense(tree, level, values.data(), values.size() * 4));
        ASSERT_OK(metate_tree_read_dense(tree, level, back.data(), back.size() * 4));
        for (size_t n = 0; n < values.size(); ++n)
          ASSERT_EQ(back[n], values[n] & lowest(bits)) << n;
        for (int turn = 0; turn < 100; ++turn) {
          auto n = int64_t(below(values.size()));
          EXPECT_EQ(read<uint32_t>(tree, level, {n / 633, n % 633}), back[size_t(n)]);
        }
        ASSERT_OK(metate_tree_check(type, describe(tree).block, describe(tree).bytes));
        ASSERT_OK(metate_tree_unbind(tree));
        ASSERT_OK(metate_type_close(type));
      }
  ASSERT_OK(metate_device_close(busy));
}

// Hosts' threads that write different members of one word: all writes survive.
TEST_F(QuantTest, writesOfOneWordAtOnce) {
  metate_type *type = open(typeBlob(
      {bitStruct(32, {quantInt("a", 9, true, METATE_I32), quantInt("b", 9, true, METATE_I32)}),
       quantArray("q", "i", {4}, 16, quantInt("c", 4, false, METATE_U8))},
      "at once"));
  metate_tree *tree = make(type);
  std::atomic<int> lost{0};
  auto task = [&](const char *name, int64_t at) {
    uint32_t level = member(type, name);
    bool isArray = *name == 'c';
    for (int32_t turn = 0; turn < 60000; ++turn) {
      int32_t value = turn % 16, got = 0;
      uint64_t bytes = isArray ? 1 : 4;
      if (metate_tree_write(tree, level, &at, isArray, &value, bytes) ||
          metate_tree_read(tree, level, &at, isArray, &got, bytes) || got != value)
        ++lost;
    }
  };
  std::vector<std::thread> workers;
  for (const char *name : {"a", "b", "c", "c"})
    workers.emplace_back(task, name, int64_t(workers.size()));
  for (std::thread &worker : workers)
    worker.join();
  EXPECT_EQ(lost, 0);
  EXPECT_OK(check(tree));
}

TEST_F(QuantTest, typesSayHowMembersAreStored) {
  metate_type *type = open(typeBlob(
      {dense("d", "i", {4}, {word(64), tenths("i", {5}), place("f", METATE_F32)})}, "described"));
  auto x = memberOf(type, "x"), t = memberOf(type, "t"), y = memberOf(type, "y");
  EXPECT_EQ(x.dtype, METATE_F32);
  EXPECT_EQ(x.cell_bytes, 4u);
  EXPECT_EQ(x.quant.kind, METATE_QUANT_FIXED);
  EXPECT_EQ(x.quant.flags, METATE_QUANT_SIGNED);
  EXPECT_EQ(x.quant.bits, 10u);
  EXPECT_EQ(x.quant.scale, 0.1);
  EXPECT_EQ(x.quant.word_bytes, 8u);
  EXPECT_EQ(t.quant.kind, METATE_QUANT_FLOAT);
  EXPECT_EQ(t.quant.bits, 13u);
  EXPECT_EQ(t.quant.shift, 11u);
  EXPECT_EQ(t.quant.exponent_bits, 4u);
  EXPECT_EQ(t.quant.exponent_shift, 19u);
  EXPECT_EQ(t.quant.group, METATE_NONE);
  EXPECT_EQ(y.quant.shift, 0u);
  EXPECT_EQ(y.shape[0], 20);
  EXPECT_EQ(memberOf(type, "f").quant.kind, 0u);
  uint32_t array = 0;
  ASSERT_OK(metate_type_find_level(type, "q", &array));
  EXPECT_EQ(levelOf(type, array).word_cells, 3u);
  EXPECT_EQ(levelOf(type, array).cell_bytes, 4u);
  metate::TreeType wrapped(type);
  EXPECT_EQ(wrapped.member("t").quant.shift, 11u);
  EXPECT_EQ(wrapped.try_member("nobody").status().code, METATE_E_NOT_FOUND);
  // A host that was compiled before there were such members.
  metate_level_description old{};
  std::memset(&old, 0xa5, sizeof old);
  old.struct_size = offsetof(metate_level_description, quant);
  ASSERT_OK(metate_type_level(type, array, &old));
  EXPECT_EQ(old.struct_size, offsetof(metate_level_description, quant));
  EXPECT_STREQ(old.name, "q");
  EXPECT_EQ(old.quant.kind, 0xa5a5a5a5u);
  old.struct_size += 4;
  EXPECT_FAILS(METATE_E_VERSION, metate_type_level(type, array, &old), "struct_size");
}

// What is not active holds the background of words, and goes back to it; what a tree holds moves as it is.
TEST_F(QuantTest, wordsOfInactiveCells) {
  metate_type *type = open(typeBlob({pointer("p", "i", {5}, {bitmasked("m", "i", {9}, {word()})}),
                                     hash("h", "jk", {tenths("j", {8})})},
                                    "inactive"));
  metate_capacity few{"h", 30};
  auto wanted = sized<metate_capacities>();
  wanted.count = 1;
  wanted.entries = &few;
  metate_tree *tree = make(type, &wanted);
  uint32_t x = member(type, "x"), t = member(type, "t"), y = member(type, "y");
  const float background = -25 * 0.1f;
  EXPECT_EQ(read<float>(tree, x, {44}), background);
  ASSERT_OK(write(tree, x, {44}, 3.14f));
  EXPECT_EQ(read<float>(tree, x, {44}), 31 * 0.1f);
  EXPECT_EQ(read<double>(tree, t, {44}), 307.0 / 1024);
  EXPECT_EQ(read<float>(tree, x, {43}), background);
  ASSERT_OK(write(tree, y, {-3, 17}, 7.0f));
  EXPECT_EQ(read<float>(tree, y, {-4, 17}), background);
  EXPECT_EQ(read<float>(tree, y, {-3, 17}), 70 * 0.1f);
  ASSERT_OK(check(tree));
  // Bits of an inactive cell, and those that no member has.
  auto *slot = static_cast<uint8_t *>(describe(tree).block) +
               reinterpret_cast<metate_pool *>(static_cast<uint8_t *>(describe(tree).block) +
                                               sizeof(metate_tree_header))
                   ->slots_offset;
  slot += levelOf(type, 1).cell_bytes; // number 1
  slot[4 * 3 + 3] ^= 0x80;
  EXPECT_FAILS(METATE_E_CORRUPT, check(tree), "an inactive cell is not background");
  slot[4 * 3 + 3] ^= 0x80;
  ASSERT_OK(check(tree));
  ASSERT_OK(metate_tree_migrate(tree, nullptr, 0, &wanted, 0));
  ASSERT_OK(metate_tree_sort(tree));
  EXPECT_EQ(read<float>(tree, x, {44}), 31 * 0.1f);
  EXPECT_EQ(read<float>(tree, y, {-3, 17}), 70 * 0.1f);
  int64_t at[2] = {44, 17};
  ASSERT_OK(metate_tree_deactivate(tree, t, at, 1));
  at[0] = -3;
  ASSERT_OK(metate_tree_deactivate(tree, y, at, 2));
  EXPECT_EQ(read<float>(tree, x, {44}), background);
  EXPECT_EQ(read<float>(tree, y, {-3, 17}), background);
  ASSERT_OK(check(tree));
  EXPECT_EQ(active(tree, y, {-3, 17}), 0u);
}

// Backgrounds of members that share an exponent are stored together: the smaller one is rounded further than alone.
TEST_F(QuantTest, backgroundsThatShareAnExponent) {
  Node u = withBackground<float>(quantFloat("u", 6, 9, true, METATE_F32), {0.30078125f});
  Node v = withBackground<float>(quantFloat("v", 6, 9, true, METATE_F32), {-100.0f});
  Node all = shared({u, v});
  std::vector<QuantModel> models;
  std::vector<uint64_t> values = {0x3e9a0000, 0xc2c80000};
  for (Node &node : all.children) {
    node.quant.group = 0;
    models.emplace_back(node);
  }
  int exponent = sharedExponent(models, values);
  uint64_t word = uint64_t(exponent) | encodeAt(models[0], values[0], exponent) << 6 |
                  encodeAt(models[1], values[1], exponent) << 15;
  metate_type *type =
      open(typeBlob({pointer("p", "i", {3}, {bitStruct(32, {all}, word)})}, "together"));
  metate_tree *tree = make(type);
  uint32_t level = member(type, "u");
  EXPECT_EQ(read<float>(tree, level, {0}), 0.5f); // steps of 1/2
  EXPECT_EQ(*static_cast<const float *>(memberOf(type, "u").background), 0.5f);
  ASSERT_OK(write(tree, member(type, "v"), {0}, 0.0f));
  EXPECT_EQ(read<float>(tree, level, {0}), 0.5f);
  EXPECT_EQ(read<float>(tree, member(type, "v"), {1}), -100.0f);
  EXPECT_OK(check(tree));
}

// Each contradiction a verifier must see, one at a time, with the hash made right.
TEST_F(QuantTest, verifierSeesContradictions) {
  struct Parts {
    Bytes blob;
    metate_level *level;
    metate_quant &quant(uint32_t index) { return *blob.at<metate_quant>(level[index].quant); }
    uint8_t *background(uint32_t index) { return blob.data() + level[index].background; }
  };
  // 1 dense, 2 bit_struct, 3 n, 4 f, 5 h, 6 u, 7 v; 8 quant_array, 9 y; 10 p
  Bytes sound = typeBlob(
      {dense("d", "i", {4},
             {bitStruct(64, {quantInt("n", 5, true, METATE_I32),
                             quantFixed("f", 8, true, 0.5, METATE_F32),
                             quantFloat("h", 5, 11, true, METATE_F32),
                             shared({quantFloat("u", 4, 9, true, METATE_F32),
                                     quantFloat("v", 4, 9, true, METATE_F32)})})}),
       quantArray("q", "i", {9}, 32, quantInt("y", 6, false, METATE_U8)), place("p", METATE_F64)},
      "sound");
  auto change = [&](const std::function<void(Parts &)> &edit) {
    Parts parts{sound, nullptr};
    parts.level = parts.blob.at<metate_level>(sizeof(metate_tree_type));
    edit(parts);
    sealType(parts.blob.data(), parts.blob.size());
    metate_type *type = nullptr;
    metate_status status =
        metate_type_open_blob(device, parts.blob.data(), parts.blob.size(), "t", &type);
    if (type)
      types.push_back(type);
    return status;
  };
  ASSERT_OK(change([](Parts &) {}));
  const struct {
    const char *says;
    std::function<void(Parts &)> edit;
  } edits[] = {
      {"unknown kind", [](Parts &p) { p.level[2].kind = 10; }},
      {"split no axes", [](Parts &p) { p.level[2].kind = METATE_LEVEL_DENSE; }},
      {"split no axes", [](Parts &p) { p.level[8].kind = METATE_LEVEL_BIT_STRUCT; }},
      {"is in no word", [](Parts &p) { p.level[9].parent = 0; }},
      {"is in no word", [](Parts &p) { p.level[10].quant = p.level[9].quant; }},
      {"is not quantised", [](Parts &p) { p.level[4].quant = 0; }},
      {"is not quantised", [](Parts &p) { p.level[10].parent = 8; }},
      {"has a level in it", [](Parts &p) { p.level[8].parent = 2; }},
      {"only a member", [](Parts &p) { p.level[2].quant = p.level[3].quant; }},
      {"only a member", [](Parts &p) { p.level[8].dtype = METATE_U8; }},
      {"1, 2, 4 or 8 bytes", [](Parts &p) { p.level[2].cell_bytes = 16; }},
      {"1, 2, 4 or 8 bytes", [](Parts &p) { p.level[2].cell_bytes = 6; }},
      {"1, 2, 4 or 8 bytes", [](Parts &p) { p.level[8].cell_align = 2; }},
      {"its background is outside", [](Parts &p) { p.level[2].background = 0; }},
      {"its background is outside",
       [](Parts &p) { p.level[8].background = uint32_t(p.blob.size()) - 3; }},
      {"its background is outside",
       [](Parts &p) { p.level[1].background = p.level[2].background; }},
      {"how it is stored is outside", [](Parts &p) { p.level[3].quant += 4; }},
      {"how it is stored is outside", [](Parts &p) { p.level[3].quant = 64; }},
      {"how it is stored is outside",
       [](Parts &p) { p.level[3].quant = uint32_t(p.blob.size()) - 40; }},
      {"number of cells", [](Parts &p) { p.level[8].slot_cells = 0; }},
      {"number of cells", [](Parts &p) { p.level[8].slot_cells = 65; }},
      {"number of cells", [](Parts &p) { p.level[2].slot_cells = 1; }},
      {"number of elements", [](Parts &p) { p.level[8].slot_cells = 6; }},
      {"fit into its parent", [](Parts &p) { p.level[8].offset = ~0ull - 7; }},
      {"not at its word", [](Parts &p) { p.level[4].offset = 4; }},
      {"overlaps a sibling", [](Parts &p) { p.level[8].offset = 28; }},
      {"path's rank", [](Parts &p) { p.level[9].path_rank = 0; }},
      {"unknown kind of",
       [](Parts &p) {
         p.quant(4).kind = 4;
         p.quant(4).scale = 0;
       }},
      {"unknown kind of",
       [](Parts &p) {
         p.quant(4).kind = 0;
         p.quant(4).scale = 0;
       }},
      {"unknown flags", [](Parts &p) { p.quant(3).flags = 4; }},
      {"unknown flags", [](Parts &p) { p.quant(3).reserved = 1; }},
      {"unknown flags", [](Parts &p) { p.quant(3).flags |= METATE_QUANT_SHARED; }},
      {"not in its word", [](Parts &p) { p.quant(3).word_bytes = 4; }},
      {"not in its word", [](Parts &p) { p.quant(3).word_bytes = 1u << 29; }},
      {"not in its word", [](Parts &p) { p.quant(3).bits = 0; }},
      {"not in its word", [](Parts &p) { p.quant(3).shift = 60; }},
      {"not in its word", [](Parts &p) { p.quant(3).shift = ~0u; }},
      {"two members have one bit", [](Parts &p) { p.quant(3).shift = 1; }},
      {"two members have one bit", [](Parts &p) { p.quant(6).shift = p.quant(7).shift; }},
      {"two members have one bit",
       [](Parts &p) { p.quant(6).exponent_shift = p.quant(7).exponent_shift = 0; }},
      {"only a float", [](Parts &p) { p.quant(3).exponent_bits = 3; }},
      {"only a float", [](Parts &p) { p.quant(4).exponent_shift = 3; }},
      {"scale", [](Parts &p) { p.quant(4).scale = 0; }},
      {"scale", [](Parts &p) { p.quant(4).scale = -1; }},
      {"scale", [](Parts &p) { p.quant(4).scale = INFINITY; }},
      {"scale", [](Parts &p) { p.quant(4).scale = NAN; }},
      {"scale", [](Parts &p) { p.quant(3).scale = 1; }},
      {"scale", [](Parts &p) { p.quant(5).scale = NAN; }},
      {"not hold its bits",
       [](Parts &p) {
         p.quant(3).shift = 40;
         p.quant(3).bits = 20;
         p.level[3].dtype = METATE_I16;
         p.level[3].cell_bytes = p.level[3].cell_align = 2;
       }},
      {"is no integer", [](Parts &p) { p.level[3].dtype = METATE_F32; }},
      {"names a group", [](Parts &p) { p.quant(3).group = 3; }},
      {"not hold its bits",
       [](Parts &p) {
         p.quant(4).shift = 30;
         p.quant(4).bits = 26;
       }},
      {"neither f32 nor f64", [](Parts &p) { p.level[4].dtype = METATE_I32; }},
      {"neither f32 nor f64", [](Parts &p) { p.level[5].dtype = METATE_U32; }},
      {"no scalar", [](Parts &p) { p.level[5].element_rank = 1; }},
      {"its exponent has another number", [](Parts &p) { p.quant(5).exponent_bits = 0; }},
      {"its exponent has another number", [](Parts &p) { p.quant(5).exponent_bits = 9; }},
      {"more digits", [](Parts &p) { p.quant(5).bits = 6; }},
      {"more digits",
       [](Parts &p) {
         p.quant(5).bits = 30;
         p.quant(5).shift = 34;
       }},
      {"exponent is misplaced", [](Parts &p) { ++p.quant(5).exponent_shift; }},
      {"exponent is misplaced", [](Parts &p) { p.quant(6).exponent_shift = 62; }},
      {"names a group", [](Parts &p) { p.quant(5).group = 3; }},
      {"not in its word", [](Parts &p) { p.quant(7).group = METATE_NONE; }},
      {"not in its word", [](Parts &p) { p.quant(7).group = 1; }},
      {"has another exponent", [](Parts &p) { p.quant(7).group = 3; }},
      {"has another exponent", [](Parts &p) { p.quant(7).exponent_shift = 55; }},
      {"has another exponent", [](Parts &p) { p.quant(7).exponent_bits = 3; }},
      {"with no other", [](Parts &p) { p.quant(7).group = 7; }},
      {"alone in its bits", [](Parts &p) { p.quant(9).shift = 1; }},
      {"bits that are no member's",
       [](Parts &p) {
         p.background(2)[7] = 0x80;
         p.level[2].flags = p.level[1].flags = p.level[0].flags = 0;
       }},
      {"bits that are no member's",
       [](Parts &p) {
         p.background(8)[3] = 0x40;
         p.level[8].flags = p.level[0].flags = 0;
       }},
      {"not its members'",
       [](Parts &p) {
         p.background(2)[0] = 1;
         p.level[2].flags = p.level[1].flags = p.level[0].flags = 0;
       }},
      {"not its members'",
       [](Parts &p) {
         p.background(2)[1] = 1;
         p.level[2].flags = p.level[1].flags = p.level[0].flags = 0;
       }},
      {"not its members'",
       [](Parts &p) {
         p.background(8)[0] = 1;
         p.level[8].flags = p.level[0].flags = 0;
       }},
      {"not its members'",
       [](Parts &p) {
         p.background(9)[0] = 1;
         p.level[9].flags = 0;
       }},
      {"whether its background is zero", [](Parts &p) { p.level[2].flags = 0; }},
      {"whether its background is zero", [](Parts &p) { p.level[9].flags = 0; }},
  };
  int number = 0;
  for (const auto &[says, edit] : edits) {
    SCOPED_TRACE(std::string(says) + ", number " + std::to_string(number++));
    EXPECT_FAILS(METATE_E_CORRUPT, change(edit), says);
  }
  // A second member of a quant_array.
  Node two = quantArray("q", "i", {9}, 32, quantInt("y", 6, false, METATE_U8));
  two.children.push_back(quantInt("z", 6, false, METATE_U8));
  sound = typeBlob({two}, "two");
  EXPECT_FAILS(METATE_E_CORRUPT, change([](Parts &) {}), "more than one member");
}
