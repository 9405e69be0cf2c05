// B10: a generation of the Game of Life on n x n cells, the outermost staying dead: of bytes, of
// 32-bit words, of bits (64 cells in a word, counted by adders over whole words; n a multiple of
// 64).
#include "reference.h"

namespace {

template <typename Cell> class Cells : public Reference {
public:
  explicit Cells(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), a(n * n, setup.inputs[0]), b(n * n, nullptr) {}

  void step() override {
    parallelBlocks(n - 2, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + 1; i < end + 1; ++i)
        row(a.get() + i * n, b.get() + i * n);
    });
  }

  void read(void *const *outputs) override { b.copyTo(outputs[0]); }

private:
  void row(const Cell *__restrict from, Cell *__restrict to) {
    for (std::int64_t j = 1; j < n - 1; ++j) {
      const Cell *c = from + j;
      Cell around = Cell(c[-n - 1] + c[-n] + c[-n + 1] + c[-1] + c[1] + c[n - 1] + c[n] + c[n + 1]);
      to[j] = Cell((around | c[0]) == 3); // 3, or 2 and alive; or 3 and alive
    }
  }

  std::int64_t n;
  Buffer<Cell> a, b;
};

class Bits : public Reference {
public:
  explicit Bits(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), words(n / 64), a(n * words), b(n * words, nullptr) {
    const std::uint8_t *from = static_cast<const std::uint8_t *>(setup.inputs[0]);
    for (std::int64_t at = 0; at < n * words; ++at) {
      a[at] = 0;
      for (int bit = 0; bit < 64; ++bit)
        a[at] |= std::uint64_t(from[64 * at + bit]) << bit;
    }
  }

  void step() override {
    parallelBlocks(n - 2, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + 1; i < end + 1; ++i)
        row(a.get() + i * words, b.get() + i * words);
    });
  }

  void read(void *const *outputs) override {
    std::uint8_t *to = static_cast<std::uint8_t *>(outputs[0]);
    for (std::int64_t at = 0; at < n * words; ++at)
      for (int bit = 0; bit < 64; ++bit)
        to[64 * at + bit] = (b[at] >> bit) & 1;
  }

private:
  using Word = std::uint64_t;

  struct Row {
    Word left, middle, right;
  };

  // Each cell's left and right neighbours of word w, as words.
  template <bool first, bool last> static Row around(const Word *row, std::int64_t w) {
    Word before = first ? 0 : row[w - 1] >> 63, after = last ? 0 : row[w + 1] << 63;
    return {row[w] << 1 | before, row[w], row[w] >> 1 | after};
  }

  template <bool first, bool last> Word cells(const Word *from, std::int64_t w) const {
    Row up = around<first, last>(from - words, w), own = around<first, last>(from, w),
        down = around<first, last>(from + words, w);
    // Sums of three and of two neighbours as (ones, twos).
    Word upOnes = up.left ^ up.middle ^ up.right;
    Word upTwos = (up.left & up.middle) | (up.right & (up.left ^ up.middle));
    Word downOnes = down.left ^ down.middle ^ down.right;
    Word downTwos = (down.left & down.middle) | (down.right & (down.left ^ down.middle));
    Word ownOnes = own.left ^ own.right, ownTwos = own.left & own.right;
    Word ones = upOnes ^ downOnes ^ ownOnes;
    Word carry = (upOnes & downOnes) | (ownOnes & (upOnes ^ downOnes));
    // Exactly one of four twos set: the sum is 2 or 3.
    Word pair = upTwos ^ downTwos, other = ownTwos ^ carry;
    Word one = (pair ^ other) & ~(upTwos & downTwos) & ~(ownTwos & carry);
    return one & (ones | own.middle);
  }

  void row(const Word *__restrict from, Word *__restrict to) {
    to[0] = cells<true, false>(from, 0) & ~Word(1);
    for (std::int64_t w = 1; w < words - 1; ++w)
      to[w] = cells<false, false>(from, w);
    to[words - 1] = cells<false, true>(from, words - 1) & ~(Word(1) << 63);
  }

  std::int64_t n, words;
  Buffer<Word> a, b;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 0)
    return nullptr;
  if (named(setup, "bytes_"))
    return std::make_unique<Cells<std::uint8_t>>(setup);
  if (named(setup, "words"))
    return std::make_unique<Cells<std::int32_t>>(setup);
  if (named(setup, "bits"))
    return std::make_unique<Bits>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
