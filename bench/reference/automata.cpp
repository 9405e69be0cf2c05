// B10: a generation of automata of a few bits a cell on n x n cells: a majority of 5 x 5 cells of a
// bit, a cyclic one of four states, growth by greater neighbours in sixteen; of words, a whole word's
// cells at once, and of bytes.
#include "automata.h"

namespace {

// -- majority: 1 where at least 13 of 5 x 5 are ------------------------------------------------------

struct Sum {
  Word low, high; // of three words' bits
};

Sum add(Word a, Word b, Word c) {
  Word ab = a ^ b;
  return {ab ^ c, (a & b) | (ab & c)};
}

// What five cells of a row are together: three planes of bits.
struct Five {
  Word ones, twos, fours;
};

Five fiveOf(const Word *row, std::int64_t w) {
  Sum some = add(leftOf<2>(row, w), leftOf<1>(row, w), row[w]);
  Sum all = add(some.low, rightOf<1>(row, w), rightOf<2>(row, w));
  return {all.low, some.high ^ all.high, some.high & all.high};
}

Word majorityOf(Five a, Five b, Five c, Five d, Five e) {
  Sum s = add(a.ones, b.ones, c.ones), ones = add(s.low, d.ones, e.ones);
  Sum t = add(a.twos, b.twos, c.twos), u = add(d.twos, e.twos, s.high);
  Sum twos = add(t.low, u.low, ones.high);
  Sum f = add(a.fours, b.fours, c.fours), g = add(d.fours, e.fours, t.high);
  Sum h = add(f.low, g.low, u.high);
  Word fours = h.low ^ twos.high, eight = h.low & twos.high;
  Sum eights = add(f.high, g.high, h.high);
  Word sixteen = eights.high | (eights.low & eight);
  return sixteen | ((eights.low ^ eight) & fours & (twos.low | ones.low));
}

// Each row's sums made five times.
struct Majority {
  static constexpr int bits = 1, reach = 2;
  explicit Majority(std::int64_t) {}

  void row(const Word *const *rows, std::int64_t words, Word *__restrict to, bool) {
    const Word *a = rows[-2], *b = rows[-1], *c = rows[0], *d = rows[1], *e = rows[2];
    for (std::int64_t w = 0; w < words; ++w)
      to[w] = majorityOf(fiveOf(a, w), fiveOf(b, w), fiveOf(c, w), fiveOf(d, w), fiveOf(e, w));
  }

  static std::uint8_t cell(const std::uint8_t *c, std::int64_t n) {
    std::uint8_t alive = 0;
    for (int p = -2; p <= 2; ++p)
      for (int q = -2; q <= 2; ++q)
        alive += c[p * n + q];
    return alive >= 13;
  }
};

// Each row's sums made once, and kept for the next four rows.
struct KeptMajority {
  static constexpr int bits = 1, reach = 2;
  explicit KeptMajority(std::int64_t words) : planes(15 * words) {}

  void row(const Word *const *rows, std::int64_t words, Word *__restrict to, bool first) {
    if (first)
      for (int p = -2; p < 2; ++p)
        keep(rows[p], words, p + 2);
    keep(rows[2], words, (oldest + 4) % 5);
    const Word *k[5];
    for (int p = 0; p < 5; ++p)
      k[p] = planes.data() + (oldest + p) % 5 * 3 * words;
    oldest = (oldest + 1) % 5;
    auto sums = [&](int p, std::int64_t w) {
      return Five{k[p][w], k[p][words + w], k[p][2 * words + w]};
    };
    for (std::int64_t w = 0; w < words; ++w)
      to[w] = majorityOf(sums(0, w), sums(1, w), sums(2, w), sums(3, w), sums(4, w));
  }

private:
  void keep(const Word *row, std::int64_t words, int slot) {
    Word *__restrict to = planes.data() + slot * 3 * words;
    for (std::int64_t w = 0; w < words; ++w) {
      Five five = fiveOf(row, w);
      to[w] = five.ones, to[words + w] = five.twos, to[2 * words + w] = five.fours;
    }
  }

  std::vector<Word> planes;
  int oldest = 0;
};

// -- cyclic: a cell takes the next of four states if a neighbour has it ------------------------------

struct Cyclic {
  static constexpr int bits = 2, reach = 1;
  static constexpr Word low = 0x5555555555555555;
  explicit Cyclic(std::int64_t) {}

  void row(const Word *const *rows, std::int64_t words, Word *__restrict to, bool) {
    const Word *up = rows[-1], *own = rows[0], *down = rows[1];
    for (std::int64_t w = 0; w < words; ++w) {
      Word c = own[w], after = (~c & low) | ((c ^ c << 1) & ~low);
      auto same = [&](Word other) { return ~((other ^ after) | (other ^ after) >> 1); };
      Word any = same(up[w]) | same(down[w]) | same(leftOf<2>(own, w)) | same(rightOf<2>(own, w));
      Word taken = any & low;
      taken |= taken << 1;
      to[w] = (after & taken) | (c & ~taken);
    }
  }

  static std::uint8_t cell(const std::uint8_t *c, std::int64_t n) {
    std::uint8_t after = (c[0] + 1) & 3;
    bool any = (c[-n] == after) | (c[n] == after) | (c[-1] == after) | (c[1] == after);
    return any ? after : c[0];
  }
};

// -- growth: a cell of sixteen states rises by the number of greater neighbours, to 15 at most -------

struct Growth {
  static constexpr int bits = 4, reach = 1;
  static constexpr Word high = 0x8888888888888888;
  explicit Growth(std::int64_t) {}

  void row(const Word *const *rows, std::int64_t words, Word *__restrict to, bool) {
    const Word *up = rows[-1], *own = rows[0], *down = rows[1];
    for (std::int64_t w = 0; w < words; ++w) {
      Word c = own[w], cut = c | high;
      // The highest bit of each cell: is the other one greater? Of cells whose own ones agree the
      // low three bits say so, whose difference, c's less the other's, lends the bit set in `cut`.
      auto greater = [&](Word other) {
        Word differ = other ^ c, less = cut - (other & ~high);
        return ((other & ~c) | ~(differ | less)) & high;
      };
      Word sum = 0; // of at most eight
      for (const Word *row : {up, own, down})
        sum += (greater(leftOf<4>(row, w)) >> 3) + (greater(rightOf<4>(row, w)) >> 3);
      sum += (greater(up[w]) >> 3) + (greater(down[w]) >> 3);
      // The sum of cells without their highest bits, then with them; where a carry leaves, 15.
      Word part = (c & ~high) + (sum & ~high);
      Word carry = ((c & sum) | ((c | sum) & part)) & high;
      to[w] = (part ^ ((c ^ sum) & high)) | (carry - (carry >> 3)) | carry;
    }
  }

  static std::uint8_t cell(const std::uint8_t *c, std::int64_t n) {
    std::uint8_t grown = c[0];
    for (int p = -1; p <= 1; ++p)
      for (int q = -1; q <= 1; ++q)
        grown += c[p * n + q] > c[0];
    return grown < 15 ? grown : 15;
  }
};

// The even cells of words as bytes, then the odd ones: vectors of bytes compare by themselves.
struct GrowthInBytes {
  static constexpr int bits = 4, reach = 1;
  explicit GrowthInBytes(std::int64_t words) : planes(6 * 8 * (words + 2)) {}

  void row(const Word *const *rows, std::int64_t words, Word *__restrict to, bool first) {
    std::int64_t size = 8 * (words + 2);
    if (first)
      for (int p = -1; p < 1; ++p)
        keep(rows[p], words, size, p + 1);
    keep(rows[1], words, size, (oldest + 2) % 3);
    const std::uint8_t *k[3];
    for (int p = 0; p < 3; ++p)
      k[p] = planes.data() + (oldest + p) % 3 * 2 * size + 8;
    oldest = (oldest + 1) % 3;
    const std::uint8_t *a = k[0], *b = k[1], *c = k[2];
    std::uint8_t *__restrict out = reinterpret_cast<std::uint8_t *>(to);
    for (std::int64_t x = 0; x < 8 * words; ++x) {
      // Left of an even cell is the odd one before it; right of an odd one the even one behind it.
      std::uint8_t even = b[x], odd = b[size + x], left = even, right = odd;
      for (const std::uint8_t *row : {a, b, c}) {
        std::uint8_t e = row[x], o = row[size + x];
        left += std::uint8_t(row[size + x - 1] > even) + std::uint8_t(o > even);
        right += std::uint8_t(row[x + 1] > odd) + std::uint8_t(e > odd);
        left += std::uint8_t(e > even), right += std::uint8_t(o > odd);
      }
      left = left < 15 ? left : 15, right = right < 15 ? right : 15;
      out[x] = std::uint8_t(left | right << 4);
    }
  }

private:
  void keep(const Word *row, std::int64_t words, std::int64_t size, int slot) {
    const std::uint8_t *from = reinterpret_cast<const std::uint8_t *>(row);
    std::uint8_t *__restrict to = planes.data() + slot * 2 * size + 8;
    for (std::int64_t x = 0; x < 8 * words; ++x)
      to[x] = from[x] & 15, to[size + x] = from[x] >> 4;
  }

  std::vector<std::uint8_t>
      planes; // of three rows: their even cells, their odd ones; 8 of 0 around
  int oldest = 0;
};

template <typename Made> std::unique_ptr<Reference> of(const Setup &setup) {
  return std::make_unique<Made>(setup);
}

std::unique_ptr<Reference> make(const Setup &setup) {
  bool plain = setup.variant == 0;
  if (setup.variant > 1)
    return nullptr;
  if (named(setup, "majority"))
    return plain ? of<Grid<Majority, false>>(setup) : of<Grid<KeptMajority, false>>(setup);
  if (named(setup, "cyclic"))
    return plain ? of<Grid<Cyclic, false>>(setup) : of<Grid<Cyclic, true>>(setup);
  if (named(setup, "growth"))
    return plain ? of<Grid<Growth, false>>(setup) : of<Grid<GrowthInBytes, false>>(setup);
  if (named(setup, "majority_bytes") && plain)
    return of<Bytes<Majority>>(setup);
  if (named(setup, "cyclic_bytes") && plain)
    return of<Bytes<Cyclic>>(setup);
  if (named(setup, "growth_bytes") && plain)
    return of<Bytes<Growth>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
