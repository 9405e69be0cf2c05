//===- measure.cpp - errors of the elementary functions ---------*- C++ -*-===//
//
// measure-elementary [--step N] [--count N]: the largest error of each function in units of the result's last place, of f32
// for every N-th bit pattern (1: all 2^32), of f64 for N random numbers in each of several ranges, against the C library's
// functions of the next wider format. One line each: function, format, error, at which operands. Where the C library's
// function of the same format gives NaN, an infinity or a zero, ours must too, and for special operands of pow and atan2
// all bits are compared; a line "wrong ..." says where not, and the process ends with 1.
//
//===----------------------------------------------------------------------===//
#include "metate/Elementary/Elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace metate::elementary;

namespace {
template <typename F> struct Reference;
template <> struct Reference<float> {
  using Wide = double;
  static constexpr const char *name = "f32";
};
template <> struct Reference<double> {
  using Wide = long double;
  static constexpr const char *name = "f64";
};

template <typename F> F reference(Function function, F x, F y) {
  switch (function) {
#define METATE_ELEMENTARY_1(Name, name)                                                            \
  case Function::Name:                                                                             \
    return std::name(x);
#define METATE_ELEMENTARY_2(Name, name)                                                            \
  case Function::Name:                                                                             \
    return std::name(x, y);
#define METATE_ELEMENTARY(Name, name, operands) METATE_ELEMENTARY_##operands(Name, name)
#include "metate/Elementary/Functions.def"
  }
  std::abort();
}

struct Named {
  Function function;
  const char *name;
  int operands;
};
constexpr Named functions[] = {
#define METATE_ELEMENTARY(Name, name, operands) {Function::Name, #name, operands},
#include "metate/Elementary/Functions.def"
};

/// The worst that was seen.
template <typename F> struct Worst {
  double error = 0;
  F x = 0, y = 0;
  uint64_t wrong = 0;

  void add(const Worst &other) {
    if (other.error > error) {
      error = other.error, x = other.x, y = other.y;
    }
    wrong += other.wrong;
  }

  void look(const Named &named, F x, F y) {
    using Wide = typename Reference<F>::Wide;
    F got = evaluate(named.function, x, y);
    Wide exact = reference<Wide>(named.function, x, y);
    F expected = F(exact);
    if (std::isnan(expected) || std::isnan(got)) {
      if (std::isnan(expected) != std::isnan(got))
        report(named, x, y, got, expected);
      return;
    }
    // The sign of a result is never in doubt, and whatever is exactly zero or infinite is so.
    bool isExact = exact == 0 || std::isinf(exact) || std::isinf(x) || std::isinf(y);
    if (std::signbit(got) != std::signbit(expected) ||
        (isExact && (exact == 0 || std::isinf(exact)) && got != expected))
      return report(named, x, y, got, expected);
    if (std::isinf(got) && std::isinf(expected))
      return;
    constexpr F most = std::numeric_limits<F>::max();
    if (std::isinf(got)) // as the number after the greatest one
      return note(double(std::abs(Wide(most) * 2 - std::abs(exact)) / unitOf(most)) / 2, x, y);
    note(double(std::abs(Wide(got) - exact) / unitOf(std::isinf(expected) ? most : expected)), x,
         y);
  }

private:
  static typename Reference<F>::Wide unitOf(F value) {
    int exponent;
    std::frexp(value, &exponent);
    constexpr int digits = std::numeric_limits<F>::digits;
    int least = std::numeric_limits<F>::min_exponent;
    return std::ldexp(typename Reference<F>::Wide(1),
                      std::max(value == 0 ? least : exponent, least) - digits);
  }
  void note(double found, F atX, F atY) {
    if (found > error)
      error = found, x = atX, y = atY;
  }
  void report(const Named &named, F x, F y, F got, F expected) {
    if (wrong++ < 5)
      std::printf("wrong %s %s of %a, %a: %a, expected %a\n", named.name, Reference<F>::name,
                  double(x), double(y), double(got), double(expected));
  }
};

/// work(thread's worst, k) for k below `count`, by all cores.
template <typename F, typename Work> Worst<F> over(uint64_t count, Work work) {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst<F>> found(threads);
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        for (uint64_t k = count * t / threads; k < count * (t + 1) / threads; ++k)
          work(found[t], k);
      });
  }
  Worst<F> all;
  for (const Worst<F> &one : found)
    all.add(one);
  return all;
}

uint64_t mixed(uint64_t k) { // splitmix64
  k += 0x9E3779B97F4A7C15;
  k = (k ^ (k >> 30)) * 0xBF58476D1CE4E5B9;
  k = (k ^ (k >> 27)) * 0x94D049BB133111EB;
  return k ^ (k >> 31);
}

/// A number of one of several kinds: any bits, of the usual size, next to 1, next to a multiple of pi / 2.
template <typename F> F number(uint64_t random) {
  using Word = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  double unit = double(mixed(random) >> 11) * 0x1p-53, sign = random & 64 ? -1 : 1;
  switch (random % 8) {
  case 0:
  case 1:
    return std::bit_cast<F>(Word(mixed(random)));
  case 2:
    return F(sign * (1 + std::ldexp(unit - 0.5, -int(random >> 8) % 32)));
  case 3:
    return F(sign * 1.5707963267948966 * double(mixed(random) % 1024));
  case 4:
    return F(sign * std::exp(unit * 12 - 10));
  case 5:
    return F(sign * unit * 745);
  default:
    return F(sign * unit * 4);
  }
}

constexpr double specials[] = {
    0,        -0.0,      1,        -1,        2,         -2,      3,
    -3,       0.5,       -0.5,     1.5,       -1.5,      1e30,    -1e30,
    1e-30,    -1e-30,    0x1p-149, 0x1p-1074, 0x1p53,    -0x1p53, 0x1.fffffffffffffp52,
    16777215, -16777215, 16777216, HUGE_VAL,  -HUGE_VAL, NAN,     88.72,
    709.78,   710.4,     -745.13,  -103.9};

template <typename F> bool measure(const Named &named, uint64_t step, uint64_t count) {
  Worst<F> worst;
  for (double x : specials)
    for (double y : specials)
      if (named.operands == 2 || y == 0)
        worst.look(named, F(x), F(y));
  if (sizeof(F) == 4 && named.operands == 1)
    worst.add(over<F>((uint64_t(1) << 32) / step, [&](Worst<F> &mine, uint64_t k) {
      mine.look(named, std::bit_cast<float>(uint32_t(k * step)), 0);
    }));
  else
    worst.add(over<F>(count, [&](Worst<F> &mine, uint64_t k) {
      uint64_t random = mixed(k);
      F x = number<F>(random), y = named.operands == 2 ? number<F>(mixed(random)) : F(0);
      if (named.function == Function::Pow && k % 2) // else most of them overflow
        x = std::abs(x), y = F(y / std::max(F(1), std::abs(std::log(x))) / F(k % 16 + 1));
      mine.look(named, x, y);
    }));
  std::printf("%-6s %s %.3f %a", named.name, Reference<F>::name, worst.error, double(worst.x));
  if (named.operands == 2)
    std::printf(" %a", double(worst.y));
  std::printf("\n");
  std::fflush(stdout);
  return worst.wrong == 0;
}
} // namespace

int main(int argc, char **argv) {
  uint64_t step = 4099, count = 1000000;
  const char *only = nullptr;
  for (int k = 1; k < argc; ++k)
    if (!std::strcmp(argv[k], "--step") && k + 1 < argc)
      step = std::strtoull(argv[++k], nullptr, 10);
    else if (!std::strcmp(argv[k], "--count") && k + 1 < argc)
      count = std::strtoull(argv[++k], nullptr, 10);
    else
      only = argv[k];
  bool isRight = step > 0;
  for (const Named &named : functions)
    if (!only || !std::strcmp(only, named.name)) {
      isRight &= measure<float>(named, step, count);
      isRight &= measure<double>(named, step, count);
    }
  return isRight ? 0 : 1;
}
