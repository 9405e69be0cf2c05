// What the hand-written automata of automata.cpp share: a grid of n x n cells of some bits each in
// 64-bit words (n a multiple of 64), whose border stays 0, and the same of bytes. A rule makes a
// row of words from rows of words.
#pragma once

#include "reference.h"

#include <immintrin.h>
#include <vector>

using Word = std::uint64_t;

// Cells of words: word w of a row, as the cells `distance` to the left, or right, see it. Rows have
// a word of 0 before them, and the last one a word behind it.
template <int shift> Word leftOf(const Word *row, std::int64_t w) {
  return row[w] << shift | row[w - 1] >> (64 - shift);
}
template <int shift> Word rightOf(const Word *row, std::int64_t w) {
  return row[w] >> shift | row[w + 1] << (64 - shift);
}

// Rows of `Rule::bits` bits a cell: Rule::row(rows, words, to) makes a row of words from those at
// rows[0], the cell's own, and rows[-Rule::reach] to rows[Rule::reach]; Rule's objects live as long
// as a block of rows, which are made in their order. Variant 1, unless the rule says that it has
// another: stores go around the caches.
template <typename Rule, bool around> class Grid : public Reference {
public:
  explicit Grid(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), words(n * Rule::bits / 64), stride(words + 1),
        a(std::size_t(n * stride + 1), nullptr), b(std::size_t(n * words), nullptr) {
    const std::uint8_t *from = static_cast<const std::uint8_t *>(setup.inputs[0]);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        row(i)[j / perWord] |= Word(from[i * n + j]) << j % perWord * Rule::bits;
  }

  void step() override {
    constexpr std::int64_t reach = Rule::reach, edge = Rule::bits * reach;
    parallelBlocks(n - 2 * reach, 256, [&](std::int64_t begin, std::int64_t end) {
      Rule rule(words);
      std::vector<Word> line(words);
      for (std::int64_t i = begin + reach; i < end + reach; ++i) {
        const Word *rows[2 * reach + 1];
        for (std::int64_t p = -reach; p <= reach; ++p)
          rows[p + reach] = row(i + p);
        Word *to = around ? line.data() : b.get() + i * words;
        rule.row(rows + reach, words, to, i == begin + reach);
        to[0] &= ~Word(0) << edge;
        to[words - 1] &= ~Word(0) >> edge;
        if constexpr (around)
          stream(line.data(), b.get() + i * words);
      }
      if constexpr (around)
        _mm_sfence();
    });
  }

  void read(void *const *outputs) override {
    std::uint8_t *to = static_cast<std::uint8_t *>(outputs[0]);
    for (std::int64_t at = 0; at < n * n; ++at)
      to[at] = b[at / perWord] >> at % perWord * Rule::bits & ((1 << Rule::bits) - 1);
  }

private:
  static constexpr std::int64_t perWord = 64 / Rule::bits;

  Word *row(std::int64_t i) const { return a.get() + i * stride + 1; }
  void stream(const Word *from, Word *to) const {
    for (std::int64_t w = 0; w < words; ++w)
      _mm_stream_si64(reinterpret_cast<long long *>(to + w), static_cast<long long>(from[w]));
  }

  std::int64_t n, words, stride;
  Buffer<Word> a, b;
};

// Cells of a byte each: Rule::cell(cell, n) of the cell's address makes the new one.
template <typename Rule> class Bytes : public Reference {
public:
  explicit Bytes(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), a(n * n, setup.inputs[0]), b(n * n, nullptr) {}

  void step() override {
    constexpr std::int64_t reach = Rule::reach;
    parallelBlocks(n - 2 * reach, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + reach; i < end + reach; ++i)
        row(a.get() + i * n, b.get() + i * n);
    });
  }

  void read(void *const *outputs) override { b.copyTo(outputs[0]); }

private:
  void row(const std::uint8_t *__restrict from, std::uint8_t *__restrict to) const {
    for (std::int64_t j = Rule::reach; j < n - Rule::reach; ++j)
      to[j] = Rule::cell(from + j, n);
  }

  std::int64_t n;
  Buffer<std::uint8_t> a, b;
};
