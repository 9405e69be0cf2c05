// How numbers are printed: as Python's repr does. The kernel here prints one item list, handed to
// it through its arguments.
#include "fixture.h"

#include <charconv>
#include <cmath>
#include <thread>

using namespace metate::test;
using metate::sized;

namespace {

std::vector<metate_print_item> items;

int32_t printItems(const metate_slot *, void *const *, const metate_host *host) {
  if (host->print)
    host->print(host->print_self, items.data(), uint32_t(items.size()));
  return METATE_OK;
}

class PrintTest : public ::testing::Test {
protected:
  metate_device *device = nullptr;
  metate_module *module = nullptr;
  const metate_kernel *kernel = nullptr;
  std::vector<std::string> printed;
  Bytes head;

  void SetUp() override {
    metate_print_sink sink{this, [](void *self, const char *text, size_t bytes) {
                             EXPECT_EQ(text[bytes], 0);
                             static_cast<PrintTest *>(self)->printed.emplace_back(text, bytes);
                           }};
    auto hooks = sized<metate_device_hooks>();
    hooks.print = &sink;
    ASSERT_OK(metate_device_open(&hooks, &device));
    ModuleSpec spec;
    spec.name = "print";
    spec.kernels = {{"print", {}}};
    head = descriptor(spec);
    metate_entry entry = printItems;
    ASSERT_OK(metate_module_open_static(device, head.data(), head.size(), &entry, 1, &module));
    ASSERT_OK(metate_module_find_kernel(module, "print", &kernel));
  }
  void TearDown() override {
    EXPECT_OK(metate_module_close(module));
    EXPECT_OK(metate_device_close(device));
  }
  std::string print(std::vector<metate_print_item> list) {
    items = std::move(list);
    printed.clear();
    EXPECT_OK(metate_kernel_launch(kernel, nullptr, 0));
    EXPECT_EQ(printed.size(), 1u) << "a statement is one text";
    return printed.empty() ? "" : printed[0];
  }
  std::string f64(double value) {
    metate_print_item item{METATE_PRINT_F64, 0, {}};
    item.value.d = value;
    return print({item});
  }
  std::string f32(float value) {
    metate_print_item item{METATE_PRINT_F32, 0, {}};
    item.value.d = double(value);
    return print({item});
  }
};

metate_print_item format(const char *value) {
  metate_print_item item{METATE_PRINT_FORMAT, 0, {}};
  item.value.text = value;
  return item;
}

metate_print_item text(const char *value) {
  metate_print_item item{METATE_PRINT_TEXT, 0, {}};
  item.value.text = value;
  return item;
}

} // namespace

// Against Python's format() on random formats: tests/e2e/test_print_formats.py.
TEST_F(PrintTest, formatsAreOfTheNextItem) {
  metate_print_item x{METATE_PRINT_F64, 0, {}}, n{METATE_PRINT_I64, 0, {}};
  x.value.d = 3.14159;
  n.value.i = -42;
  EXPECT_EQ(print({text("x = "), format(".2f"), x, text(" n = "), format("06d"), n, n}),
            "x = 3.14 n = -00042-42");
  EXPECT_EQ(print({format(".2f"), text("a text has none "), x}), "a text has none 3.14159");
  EXPECT_EQ(print({x, format(".2f")}), "3.14159") << "a format of nothing";
}

TEST_F(PrintTest, formatsComeFromAModuleAndMayBeAnything) {
  metate_print_item x{METATE_PRINT_F64, 0, {}};
  x.value.d = -1e308;
  std::string digits(5000, '9');
  for (const char *any :
       {"", "%", "{}", "d", ".2", "zzz", "0", "\xf0\x9f<9", "<", "-", digits.c_str(), ".2s"})
    EXPECT_FALSE(print({format(any), x}).empty()) << any;
  EXPECT_EQ(print({format(digits.c_str()), x}).size(), 1000u) << "a width has a bound";
  EXPECT_EQ(print({format((">" + digits + "." + digits + "f").c_str()), x}).size(), 1000u);
  EXPECT_EQ(print({format("no format"), x}), "-1e+308");
  EXPECT_EQ(print({format(nullptr), x}), "-1e+308");
  metate_print_item later{77, 0, {}};
  EXPECT_EQ(print({later, x, later}), "-1e+308") << "a kind of a later version is passed over";
}

// Expected texts: repr() of CPython 3.11.
TEST_F(PrintTest, doublesLookLikePythons) {
  const std::pair<double, const char *> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {1.0 / 3, "0.3333333333333333"},
      {1e15, "1000000000000000.0"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {1e16, "1e+16"},
      {9999999999999998.0, "9999999999999998.0"},
      {0.0001, "0.0001"},
      {0.00012345, "0.00012345"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {1e100, "1e+100"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {100.0, "100.0"},
      {1234.5678, "1234.5678"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"}};
  for (auto [value, expected] : cases)
    EXPECT_EQ(f64(value), expected);
}

TEST_F(PrintTest, floatsUseTheirOwnDigits) {
  const std::pair<float, const char *> cases[] = {{0.1f, "0.1"},
                                                  {1.0f / 3, "0.33333334"},
                                                  {16777216.0f, "16777216.0"},
                                                  {1e10f, "10000000000.0"},
                                                  {3.4028235e38f, "3.4028235e+38"},
                                                  {1e-45f, "1e-45"},
                                                  {0.5f, "0.5"},
                                                  {-7.0f, "-7.0"}};
  for (auto [value, expected] : cases)
    EXPECT_EQ(f32(value), expected);
}

TEST_F(PrintTest, everyDoubleReadsBack) {
  uint64_t bits = 88172645463325252ull;
  for (int round = 0; round < 3000; ++round) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17; // xorshift64
    double value;
    std::memcpy(&value, &bits, 8);
    if (std::isfinite(value)) {
      EXPECT_EQ(std::strtod(f64(value).c_str(), nullptr), value);
    }
    float narrow;
    std::memcpy(&narrow, &bits, 4);
    if (std::isfinite(narrow)) {
      EXPECT_EQ(std::strtof(f32(narrow).c_str(), nullptr), narrow);
    }
  }
}

// to_chars knows the fewest digits, and of these the nearest.
template <typename Float> std::string digitsOf(Float value) {
  char text[64];
  char *end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  std::string digits;
  for (char *at = text; at < end && *at != 'e'; ++at)
    if (std::isdigit(static_cast<unsigned char>(*at)))
      digits += *at;
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

// Of a text as Python prints it.
std::string digitsOf(std::string text) {
  text = text.substr(0, text.find('e'));
  std::erase(text, '.');
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  return text.substr(0, text.find_last_not_of('0') + 1);
}

TEST_F(PrintTest, digitsAreTheFewestAndNearest) {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    double value = std::ldexp(1.0, exponent);
    EXPECT_EQ(digitsOf(f64(value)), digitsOf(value)) << value;
    auto narrow = float(value);
    if (narrow > 0 && std::isfinite(narrow)) {
      EXPECT_EQ(digitsOf(f32(narrow)), digitsOf(narrow)) << narrow;
    }
  }
  uint64_t bits = 1181783497276652981ull;
  for (int round = 0; round < 3000; ++round) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17; // xorshift64
    double value;
    std::memcpy(&value, &bits, 8);
    value = std::fabs(value);
    if (std::isfinite(value)) {
      EXPECT_EQ(digitsOf(f64(value)), digitsOf(value)) << value;
    }
    uint32_t half = uint32_t(bits) & 0x7fffffff;
    float narrow;
    std::memcpy(&narrow, &half, 4);
    if (std::isfinite(narrow)) {
      EXPECT_EQ(digitsOf(f32(narrow)), digitsOf(narrow)) << narrow;
    }
  }
}

TEST_F(PrintTest, integersAndBooleans) {
  metate_print_item i{METATE_PRINT_I64, 0, {}}, u{METATE_PRINT_U64, 0, {}},
      yes{METATE_PRINT_BOOL, 0, {}}, no{METATE_PRINT_BOOL, 0, {}};
  i.value.i = INT64_MIN;
  u.value.u = UINT64_MAX;
  yes.value.u = 1;
  no.value.u = 0;
  EXPECT_EQ(print({i, text(" "), u, text(" "), yes, text(" "), no, text("\n")}),
            "-9223372036854775808 18446744073709551615 True False\n");
}

TEST_F(PrintTest, longStatementsAreWhole) {
  std::string part(1000, 'x');
  std::vector<metate_print_item> list(50, text(part.c_str()));
  EXPECT_EQ(print(list), std::string(50000, 'x'));
  EXPECT_EQ(print({text(""), text("a"), text("")}), "a");
  EXPECT_EQ(print({}), "");
}

TEST_F(PrintTest, statementsOfThreadsDoNotMix) {
  items.assign(20, text("abc"));
  printed.clear();
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        metate_kernel_launch(kernel, nullptr, 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(printed.size(), 400u);
  for (const std::string &line : printed)
    EXPECT_EQ(line.size(), 60u);
}
