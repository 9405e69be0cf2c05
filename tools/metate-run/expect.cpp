// --expect: results against a file or numbers.
#include "session.h"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace metate::tool {

namespace {

struct Wanted {
  std::string what; // FILE.npy or numbers
  double tolerance = 0;
};

// WHAT or WHAT:RTOL.
Wanted parseWanted(const std::string &name, const std::string &text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos)
    return {text, 0};
  try {
    size_t used = 0;
    std::string number = text.substr(colon + 1);
    double tolerance = std::stod(number, &used);
    if (used == number.size() && tolerance >= 0)
      return {text.substr(0, colon), tolerance};
  } catch (const std::logic_error &) { // std::stod's
  }
  throw Error("--expect: " + name +
              ": expected FILE.npy, a number or numbers, perhaps with :RTOL behind, got '" + text +
              "'");
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

std::string indexText(const std::vector<int64_t> &shape, uint64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    index[k] = int64_t(flat % uint64_t(shape[k]));
    flat /= uint64_t(shape[k]);
  }
  return shapeText(index);
}

std::string numberText(uint32_t dtype, const uint8_t *from) {
  char text[40];
  if (dtype == METATE_U64 || dtype == METATE_I64) {
    uint64_t bits;
    std::memcpy(&bits, from, 8);
    return dtype == METATE_U64 ? std::to_string(bits) : std::to_string(int64_t(bits));
  }
  std::snprintf(text, sizeof text, dtype == METATE_F64 ? "%.17g" : "%.9g", asDouble(dtype, from));
  return text;
}

bool isEqual(uint32_t dtype, const uint8_t *wanted, const uint8_t *got, double tolerance) {
  if (std::memcmp(wanted, got, metate_dtype_bytes(dtype)) == 0)
    return true;
  if (tolerance == 0 && (dtype == METATE_I64 || dtype == METATE_U64)) // a double has fewer bits
    return false;
  double a = asDouble(dtype, wanted), b = asDouble(dtype, got);
  return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= tolerance * std::fabs(a);
}

std::string difference(const Wanted &wanted, const Array &expected, const Array &got) {
  if (expected.dtype != got.dtype || expected.shape != got.shape)
    return "expected " + std::string(metate_dtype_name(expected.dtype)) + " " +
           shapeText(expected.shape) + ", got " + metate_dtype_name(got.dtype) + " " +
           shapeText(got.shape);
  uint32_t bytes = metate_dtype_bytes(got.dtype);
  uint64_t different = 0, first = 0;
  for (uint64_t i = 0; i < got.count(); ++i)
    if (!isEqual(got.dtype, expected.data() + i * bytes, got.data() + i * bytes,
                 wanted.tolerance) &&
        !different++)
      first = i;
  if (!different)
    return "";
  char tolerance[48];
  std::snprintf(tolerance, sizeof tolerance, " (relative tolerance %g)", wanted.tolerance);
  return "expected " + numberText(got.dtype, expected.data() + first * bytes) + tolerance +
         ", got " + numberText(got.dtype, got.data() + first * bytes) + " at " +
         indexText(got.shape, first) + "; " + std::to_string(different) + " of " +
         std::to_string(got.count()) + " elements differ";
}

} // namespace

std::vector<Expectation> compareExpected(const Options &options, const Session &session) {
  std::vector<Expectation> found;
  for (const auto &[name, text] : options.expect) {
    Wanted wanted = parseWanted(name, text);
    Array got = session.elementsOf("--expect", name);
    bool isFile = wanted.what.size() > 4 && wanted.what.ends_with(".npy");
    Array expected = isFile ? readNpy(wanted.what)
                            : parseNumbers("--expect: " + name, wanted.what, got.dtype, got.shape);
    found.push_back({name, difference(wanted, expected, got)});
  }
  return found;
}

} // namespace metate::tool
