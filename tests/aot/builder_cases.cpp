// Kernels written with metate/builder.hpp: what each computes, against the same in C++; and what mistakes say. Driven by test_builder.py.
#include "metate/builder.hpp"
#include "metate/metate.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace metate::builder;

static int failures = 0;

static void expect(bool holds, const char *what) {
  if (!holds)
    std::printf("wrong: %s\n", what), ++failures;
}

static Module everything() {
  Module module("everything");
  TreeType list({dense("i", 4, {dynamic("j", 64, 8, {place("n", i32)}, "list")})});
  TreeType sparse(
      {pointer("ij", {4, 2}, {bitmasked("ij", 4, {place("h", f64)}, "cells")}, "blocks")});
  TreeType flat({dense("ij", {3, 5}, {place("m", matrix(2, 2, f32)), place("u", u8)})});
  module.add_type("list", list);
  module.add_type("sparse", sparse);
  module.add_type("flat", flat);
  module.kernel("axpy", [](Kernel &k) {
    Value a = k.value("a", f32);
    Array x = k.array("x", f32, 1), y = k.array("y", f32, 1);
    k.parallel_for({x.shape(0)}, [&](Value i) { y(i) += a * x(i); });
  });
  module.kernel("collatz", [](Kernel &k) { // loops in order, conditions, variables
    Array n = k.array("n", i32, 1), steps = k.array("steps", i32, 1);
    k.parallel_for({n.shape(0)}, [&](Value i) {
      Place x = k.variable(n(i)), count = k.variable(0);
      k.while_([&] { return x > 1; },
               [&] {
                 k.if_(x % 2 == 0, [&] { x = floor_div(x, 2); }, [&] { x = 3 * x + 1; });
                 count += 1;
               });
      steps(i) = count;
    });
  });
  module.kernel("total", [](Kernel &k) {
    Array x = k.array("x", f64, 2);
    Place sum = k.result(f64);
    sum = 0.0;
    k.parallel_for({x.shape(0), {1, x.shape(1)}}, [&](Value i, Value j) { sum += x(i, j); });
  });
  module.kernel("numbers", [](Kernel &k) {
    Array out = k.array("out", f64, 1);
    Value t = k.value("t", f64);
    Value v = k.vector({t, 2 * t, 1.0});
    Value m = k.matrix({1.0, 2.0, t, 4.0}, 2);
    out(0) = function("sqrt", t) + pow(t, 2);
    out(1) = function("norm", v);
    out(2) = linear("dot", v, v);
    out(3) = m(1, 0) + v[1];
    out(4) = function("determinant", m);
    out(5) = select(t > 2, -t, min(t, 0.5));
    out(6) = cast(7.9 + t, i32) << 2;
    out(7) = bit_cast(k.constant(1, f64), i64) >> 52;
    k.serial_for({2, 5}, [&](Value i) { out(8) = out(8) + i; });
    out(9).atomic("max", t);
    out(10) = binary("@", m, k.vector({1.0, 0.0}))[1];
    out(11) = (!(t < 0)) & (~cast(t, i32) == -4);
    out(12) = k.constant(18446744073709549568.0, u64); // the greatest that is a double
    out(13) = k.constant(-128, i8) + k.constant(1, u1);
  });
  module.kernel("grow", [list](Kernel &k) {
    Tree f = k.tree("f", list);
    Array lengths = k.array("lengths", i32, 1);
    k.parallel_for({4}, [&](Value i) {
      k.serial_for(i, [&](Value turn) {
        Value at = f.append("list", {i});
        f("n", i, at) = turn * 10;
      });
      lengths(i) = f.length("list", {i});
    });
  });
  module.kernel("scatter", [sparse](Kernel &k) {
    Tree f = k.tree("f", sparse);
    k.parallel_for({16, 8}, [&](Value i, Value j) {
      k.if_((i + j) % 5 == 0, [&] { f("h", i, j) = i * 100 + j; });
    });
    k.parallel_for({1}, [&](Value i) {
      f.deactivate("h", {i, i});
      f.activate("h", {i, i + 1});
    });
  });
  module.kernel("active", [sparse](Kernel &k) {
    Tree f = k.tree("f", sparse);
    Array sum = k.array("sum", f64, 1), seen = k.array("seen", u8, 2);
    k.for_each(f, "h", [&](const std::vector<Value> &at) { sum(0) += f("h", at[0], at[1]); });
    k.parallel_for({16, 8}, [&](Value i, Value j) { seen(i, j) = f.is_active("h", {i, j}); });
  });
  module.kernel("search",
                [](Kernel &k) { // a loop that ends early, a place that one iteration takes
                  Array x = k.array("x", i32, 2), first = k.array("first", i32, 1),
                        taken = k.array("taken", i32, 1);
                  k.parallel_for({x.shape(0)}, [&](Value i) {
                    Place going = k.variable(true);
                    first(i) = -1;
                    k.serial_for(x.shape(1), going, [&](Value j) {
                      k.if_(x(i, j) > 9, [&] {
                        first(i) = j;
                        going = false;
                      });
                    });
                    k.if_(taken(0).compare_exchange(0, i + 1) == 0, [&] { taken(1) += 1; });
                  });
                });
  module.kernel("dice", [](Kernel &k) {
    Array x = k.array("x", f32, 1);
    Value seed = k.value("random_seed", u64);
    k.parallel_for({x.shape(0)}, [&](Value i) { x(i) = k.random(f32, seed); });
  });
  module.kernel("touch", [sparse](Kernel &k) {
    Tree f = k.tree("f", sparse);
    Array used = k.array("used", i64, 1);
    k.parallel_for({16, 8}, [&](Value i, Value j) {
      f.no_activate("h");
      f("h", i, j) = -1.0;
    });
    k.parallel_for({1}, [&](Value i) { used(i) = f.used("blocks"); });
  });
  module.kernel("members", [flat](Kernel &k) {
    Tree f = k.tree("f", flat);
    k.for_each(f, "u", [&](Value i, Value j) {
      f("m", i, j) = k.matrix({i, j, 0, 1}, 2);
      f("m", i, j)(1, 0) = 7;
      f("u", i, j) = 250 + i * j;
      k.assert_that(i < 3, "inside");
    });
  });
  return module;
}

// Kernels that test_builder.py has in Python as well.
static Module twins() {
  Module module("twins");
  module.kernel("axpy", [](Kernel &k) {
    Value a = k.value("a", f32);
    Array x = k.array("x", f32, 1), y = k.array("y", f32, 1);
    k.parallel_for({x.shape(0)}, [&](Value i) { y(i) += a * x(i); });
  });
  module.kernel("collatz", [](Kernel &k) {
    Array n = k.array("n", i32, 1), steps = k.array("steps", i32, 1);
    k.parallel_for({n.shape(0)}, [&](Value i) {
      Place x = k.variable(n(i)), count = k.variable(0);
      k.while_([&] { return x > 1; },
               [&] {
                 k.if_(x % 2 == 0, [&] { x = floor_div(x, 2); }, [&] { x = 3 * x + 1; });
                 count += 1;
               });
      steps(i) = count;
    });
  });
  module.kernel("lengths", [](Kernel &k) {
    Array p = k.array("p", vector(3, f32), 1), out = k.array("out", f64, 1);
    k.parallel_for({p.shape(0)}, [&](Value i) {
      Place v = k.variable(p(i));
      Place length = k.variable(function("norm", v)), square = k.variable(linear("dot", v, v));
      k.if_(length > 1.5, [&] { out(i) = length + square; });
      k.serial_for({1, 4}, [&](Value j) {
        Value factor = cast(j, f32);
        Place first = v[0];
        out(i).atomic("max", factor * first);
      });
    });
  });
  return module;
}

static void runAll(const metate::Module &module) {
  float x[5] = {1, 2, 3, 4, 5}, y[5] = {};
  module.kernel("axpy")(2.0f, std::span(x), std::span(y));
  expect(y[0] == 2 && y[4] == 10, "axpy");
  int32_t n[4] = {1, 6, 7, 27}, steps[4];
  module.kernel("collatz")(std::span(n), std::span(steps));
  expect(steps[0] == 0 && steps[1] == 8 && steps[2] == 16 && steps[3] == 111, "collatz");
  double grid[2][3] = {{100, 1, 2}, {100, 3, 4}}, total = -1;
  module.kernel("total")(metate::ArrayView(grid[0], {2, 3}), metate::ArrayView<double>(&total, {}));
  expect(total == 10, "total");
  double out[14] = {}, t = 3;
  module.kernel("numbers")(std::span(out), t);
  const double wanted[14] = {std::sqrt(t) + 9,
                             std::sqrt(46.0),
                             46,
                             9,
                             -2,
                             -3,
                             40,
                             1023,
                             9,
                             3,
                             3,
                             1,
                             18446744073709549568.0,
                             -127};
  for (int k = 0; k < 14; ++k)
    if (std::fabs(out[k] - wanted[k]) > 1e-12)
      std::printf("numbers %d: expected %.17g, got %.17g\n", k, wanted[k], out[k]), ++failures;
  auto list = module.tree_type("list").make();
  int32_t lengths[4];
  module.kernel("grow")(list, std::span(lengths));
  expect(lengths[0] == 0 && lengths[3] == 3, "grow");
  auto sparse = module.tree_type("sparse").make();
  module.kernel("scatter")(sparse);
  double sum[1] = {}, expected = 0;
  uint8_t seen[16][8];
  module.kernel("active")(sparse, std::span(sum), metate::ArrayView(seen[0], {16, 8}));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      bool isSet = (i + j) % 5 == 0;
      expected += isSet ? i * 100 + j : 0;
      expect(seen[i][j] == ((isSet && (i || j)) || (i == 0 && j == 1)), "which cells are active");
    }
  expect(sum[0] == expected, "active");
  int64_t used[1];
  module.kernel("touch")(sparse, std::span(used));
  sum[0] = 0;
  module.kernel("active")(sparse, std::span(sum), metate::ArrayView(seen[0], {16, 8}));
  int count = 0;
  for (auto &row : seen)
    for (uint8_t cell : row)
      count += cell;
  expect(sum[0] == -count && count > 20 && used[0] == 8, "stores that activate nothing");
  int32_t table[3][4] = {{1, 10, 20, 3}, {1, 2, 3, 4}, {1, 2, 3, 40}}, first[3], taken[2] = {};
  module.kernel("search")(metate::ArrayView(table[0], {3, 4}), std::span(first), std::span(taken));
  expect(first[0] == 1 && first[1] == -1 && first[2] == 3, "search");
  expect(taken[0] >= 1 && taken[0] <= 3 && taken[1] == 1, "compare_exchange");
  std::vector<float> dice(10000);
  module.kernel("dice")(dice, uint64_t(7));
  double mean = 0;
  for (float one : dice) {
    expect(one >= 0 && one < 1, "a random number");
    mean += one / 10000;
  }
  expect(mean > 0.48 && mean < 0.52 && dice[0] != dice[1], "random numbers");
  auto flat = module.tree_type("flat").make();
  module.kernel("members")(flat);
}

template <typename Write> static void mistake(Write &&write) {
  Module module("wrong");
  try {
    module.kernel("k", write);
    std::printf("no error\n");
  } catch (const Error &error) {
    const char *name = std::strrchr(error.what(), '/');
    std::printf("%s\n", name ? name + 1 : error.what());
  }
  expect(module.text(false).find("@k") == std::string::npos,
         "a kernel with a mistake stays out of the module");
}

static void mistakes() {
  mistake([](Kernel &k) { k.array("x", f32, 1)(0, 1) = 1; });
  mistake([](Kernel &k) { k.value("x", f32) << 1; });
  mistake([](Kernel &k) { k.parallel_for({2, 2}, [](Value) {}); });
  mistake([](Kernel &k) { k.tree("f", TreeType({dense("i", 4, {place("a", f32)})}))("b", 0) = 1; });
  mistake([](Kernel &k) { k.tree("f", TreeType("!metate.tree<nonsense>")); });
  mistake([](Kernel &k) { k.array("x", f32, 1)(0) = Value() + 1; });
  mistake([](Kernel &k) { k.value("x", i32)[0]; });
  mistake([](Kernel &k) { k.if_(k.vector({k.value("x", i32), 2}), [] {}); });
  mistake([](Kernel &) { Array()(0) = 1; });
  mistake([](Kernel &k) { k.serial_for(3, k.variable(1), [](Value) {}); });
  mistake([](Kernel &k) { k.variable(k.random(f32, k.value("seed", u32))); });
  mistake([](Kernel &k) { unary("??", k.value("x", i32)); });
  mistake([](Kernel &k) { binary("??", k.value("x", i32), 1); });
  mistake([](Kernel &k) { function("??", k.value("x", f32)); });
  mistake([](Kernel &k) { linear("??", k.vector({1, 2, k.value("x", i32)}), 1); });
  mistake([](Kernel &k) { k.array("x", i32, 1)(0).atomic("??", 1); });
  mistake([](Kernel &k) {
    k.value("x", i32);
    k.array("x", f32, 1);
  });
  mistake([](Kernel &k) { k.variable(k.constant(300, u8)); });
  mistake([](Kernel &k) { k.variable(k.constant(-129, i8)); });
  mistake([](Kernel &k) { k.variable(k.constant(0.5, i64)); });
  mistake([](Kernel &k) { k.variable(k.constant(1e19, i64)); });
  mistake([](Kernel &k) { k.variable(k.constant(2, u1)); });
  mistake([](Kernel &k) {
    Array x = k.array("x", f32, 1);
    Value last;
    k.parallel_for({x.shape(0)}, [&](Value i) { last = i + 1; });
    x(0) = last;
  });
  mistake([](Kernel &k) {
    Array x = k.array("x", f32, 1);
    std::vector<Place> kept;
    k.parallel_for({4}, [&](Value) { kept.push_back(k.variable(1)); });
    x(0) = kept[0];
  });
  mistake([](Kernel &k) {
    Array x = k.array("x", f32, 1);
    std::vector<Place> kept;
    k.serial_for(3, [&](Value i) { kept.push_back(x(i)); });
    kept[0] += 2;
  });
  mistake([](Kernel &k) {
    Array x = k.array("x", f32, 1);
    Value going;
    k.while_([&] { return going = x(0) > 1; }, [&] { x(0) = going; });
  });
  mistake([](Kernel &k) {
    Array x = k.array("x", f32, 1);
    Value more;
    k.if_(x(0) > 0, [&] { more = x(1) + 1; }, [&] { x(0) = more; });
  });
  Module module("m");
  Value kept;
  module.kernel("first", [&](Kernel &k) { kept = k.value("x", f32); });
  for (auto act : std::initializer_list<std::function<void()>>{
           [&] {
             module.kernel("second", [&](Kernel &k) { k.variable(k.value("y", f32) + kept); });
           },
           [&] { module.kernel("first", [](Kernel &) {}); },
           [&] { module.compile({{"x86-64", "aarch64"}, {}}); },
           [&] { module.compile({{"pdp-11"}, {}}); },
           [&] { module.build({{"native"}, {{"speed", "1"}}}); },
           [&] { module.save("/tmp/x.exe"); }, [&] { module.save("/nowhere/x.metate"); },
           [&] { Code().get(); },
           [&] { module.add_type("t", TreeType({dense("ij", {1, 2, 3}, {place("a", f32)})})); }})
    try {
      act();
      std::printf("no error\n");
    } catch (const Error &error) {
      const char *name = std::strrchr(error.what(), '/');
      std::printf("%s\n", name && !std::strstr(error.what(), "save") &&
                                  !std::strstr(error.what(), "nowhere")
                              ? name + 1
                              : error.what());
    }
}

int main(int count, char **words) {
  if (count > 1 && !std::strcmp(words[1], "twins"))
    return std::fputs(twins().text(false).c_str(), stdout) < 0;
  if (count > 1 && !std::strcmp(words[1], "mistakes")) {
    mistakes();
    return failures != 0;
  }
  try {
    Module module = everything();
    auto device = metate::Device::open();
    for (const char *level : {"0", "3"}) {
      Code code = module.compile({{"native"}, {{"opt_level", level}}});
      runAll(metate::Module::open_static(code.get(), device));
    }
    Code debug = module.compile({{"native"}, {{"debug", "true"}}});
    float x[5] = {}, y[3] = {};
    metate::Status status = metate::Module::open_static(debug.get(), device)
                                .kernel("axpy")
                                .try_launch(2.0f, std::span(x), std::span(y));
    expect(status.code == METATE_E_OUT_OF_RANGE &&
               status.text.find("builder_cases.cpp:") != std::string::npos &&
               status.text.find("y[3] of shape (3,)") != std::string::npos,
           status.text.c_str());
    if (count > 1) {
      module.save(words[1]);
      runAll(metate::Module::open(words[1], device));
    }
  } catch (const std::exception &error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return failures != 0;
}
