// Pseudo-inputs: zeros, ones, iota, random, files, scalars, trees.
#include "inputs.h"

#include <cmath>
#include <cstring>

namespace metate::tool {

namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): element i of a seed's stream, on every machine
// alike.
uint64_t randomBits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

bool isFloat(uint32_t dtype) { return dtype >= METATE_F16; }

uint16_t halfOf(float value) {
  // Round to nearest even by scaling: enough for inputs, which are made here.
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 16 & 0x8000;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return uint16_t(sign | 0x7e00);
  if (magnitude >= 65520.0f)
    return uint16_t(sign | 0x7c00);
  if (magnitude < 6.103515625e-05f)
    return uint16_t(sign | uint32_t(std::nearbyint(magnitude * 16777216.0f)));
  std::memcpy(&bits, &magnitude, 4);
  bits += 0xfff + (bits >> 13 & 1);
  return uint16_t(sign | ((bits - 0x38000000u) >> 13));
}

uint16_t bfloatOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace

void storeFloat(uint32_t dtype, double value, uint8_t *to) {
  float narrow = float(value);
  uint16_t half = dtype == METATE_F16 ? halfOf(narrow) : bfloatOf(narrow);
  if (dtype == METATE_F64)
    std::memcpy(to, &value, 8);
  else if (dtype == METATE_F32)
    std::memcpy(to, &narrow, 4);
  else
    std::memcpy(to, &half, 2);
}

void storeInteger(uint32_t dtype, uint64_t value, uint8_t *to) {
  if (isFloat(dtype))
    storeFloat(dtype, double(value), to);
  else
    std::memcpy(to, &value, metate_dtype_bytes(dtype));
}

namespace {

[[noreturn]] void fail(const metate_argument_description &argument, const std::string &expected,
                       const std::string &got) {
  throw Error(std::string(argument.name) + ": expected " + expected + ", got '" + got +
              "': see metate-run --help");
}

void parseScalar(const metate_argument_description &argument, const std::string &text,
                 uint8_t *to) {
  std::string expected = "a value of type " + std::string(metate_dtype_name(argument.dtype));
  try {
    size_t used = 0;
    if (text == "true" || text == "false") {
      storeInteger(argument.dtype, text == "true", to);
      return;
    }
    if (isFloat(argument.dtype)) {
      storeFloat(argument.dtype, std::stod(text, &used), to);
    } else {
      bool negative = !text.empty() && text[0] == '-';
      uint64_t value =
          negative ? uint64_t(std::stoll(text, &used, 0)) : std::stoull(text, &used, 0);
      uint32_t bits = argument.dtype == METATE_U1 ? 1 : metate_dtype_bytes(argument.dtype) * 8;
      bool isSigned = argument.dtype >= METATE_I8 && argument.dtype <= METATE_I64;
      uint32_t magnitude = bits - isSigned;
      uint64_t most = magnitude >= 64 ? UINT64_MAX : (uint64_t(1) << magnitude) - 1;
      if (negative ? !isSigned || ~value > most : value > most)
        fail(argument, expected, text);
      storeInteger(argument.dtype, value, to);
    }
    if (used != text.size())
      fail(argument, expected, text);
  } catch (const std::logic_error &) { // std::stod's and std::stoll's
    fail(argument, expected, text);
  }
}

std::vector<int64_t> parseShape(const metate_argument_description &argument,
                                const std::string &text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    fail(argument, "a shape like [64,64]", text);
  std::vector<int64_t> shape;
  for (const std::string &part : split(text.substr(1, text.size() - 2), ',')) {
    if (part.empty() && text == "[]")
      break;
    if (part.empty() || part.find_first_not_of("0123456789 ") != std::string::npos)
      fail(argument, "a shape like [64,64]", text);
    shape.push_back(std::stoll(part));
  }
  return shape;
}

void fill(const std::string &how, uint64_t seed, Array &array) {
  uint32_t bytes = metate_dtype_bytes(array.dtype);
  for (uint64_t i = 0; i < array.count(); ++i) {
    uint8_t *to = array.data() + i * bytes;
    uint64_t bits = randomBits(seed, i);
    if (how == "random" && isFloat(array.dtype))
      storeFloat(array.dtype, double(bits >> 11) * 0x1p-53, to);
    else if (how == "random")
      storeInteger(array.dtype, array.dtype == METATE_U1 ? bits >> 63 : (bits >> 32) % 100, to);
    else
      storeInteger(array.dtype, how == "iota" ? i : how == "ones", to);
  }
}

} // namespace

Input::Input(const metate_argument_description &argument, const std::string &spelling) {
  value.kind = argument.kind;
  value.dtype = argument.dtype;
  value.rows = argument.rows;
  value.columns = argument.columns;
  if (argument.kind == METATE_ARGUMENT_TREE)
    makeTree(argument, spelling);
  else if (argument.kind == METATE_ARGUMENT_NDARRAY)
    makeArray(argument, spelling);
  else
    makeScalars(argument, spelling);
}

void Input::makeScalars(const metate_argument_description &argument, const std::string &spelling) {
  std::vector<std::string> parts = split(spelling, ',');
  uint64_t count = uint64_t(argument.rows) * argument.columns;
  if (parts.size() != count)
    fail(argument, std::to_string(count) + " values", spelling);
  array.dtype = argument.dtype;
  array.shape = {int64_t(count)};
  array.allocate();
  for (uint64_t i = 0; i < count; ++i)
    parseScalar(argument, parts[i], array.data() + i * metate_dtype_bytes(argument.dtype));
}

void Input::makeArray(const metate_argument_description &argument, const std::string &spelling) {
  if (spelling.size() > 4 && spelling.substr(spelling.size() - 4) == ".npy") {
    array = readNpy(spelling);
    return;
  }
  std::vector<std::string> parts = split(spelling, ':');
  bool random = parts[0] == "random";
  bool known = random || parts[0] == "zeros" || parts[0] == "ones" || parts[0] == "iota";
  if (!known || parts.size() != (random ? 3 : 2))
    fail(argument, "zeros:[n], ones:[n], iota:[n], random:SEED:[n] or FILE.npy", spelling);
  if (random && (parts[1].empty() || parts[1].find_first_not_of("0123456789") != std::string::npos))
    fail(argument, "a seed that is a number", parts[1]);
  array.dtype = argument.dtype;
  array.shape = parseShape(argument, parts.back());
  array.allocate();
  fill(parts[0], random ? std::stoull(parts[1]) : 0, array);
}

void Input::makeTree(const metate_argument_description &argument, const std::string &spelling) {
  if (spelling != "new" && spelling.rfind("new:", 0) != 0)
    fail(argument, "new or new:LEVEL=SLOTS,...", spelling);
  std::vector<std::string> names;
  std::vector<metate_capacity> entries;
  if (spelling.size() > 4) {
    std::vector<std::string> parts = split(spelling.substr(4), ',');
    names.reserve(parts.size());
    for (const std::string &part : parts) {
      size_t at = part.find('=');
      if (at == std::string::npos || at + 1 == part.size() ||
          part.find_first_not_of("0123456789", at + 1) != std::string::npos)
        fail(argument, "LEVEL=SLOTS", part);
      names.push_back(part.substr(0, at));
      entries.push_back({names.back().c_str(), std::stoull(part.substr(at + 1))});
    }
  }
  auto wanted = sized<metate_capacities>();
  wanted.count = uint32_t(entries.size());
  wanted.entries = entries.data();
  metate_tree *raw = nullptr;
  check(metate_tree_new(argument.type, &wanted, &raw));
  bound.emplace(raw);
}

metate_argument Input::get() {
  if (value.kind == METATE_ARGUMENT_TREE) {
    value.value.tree = bound->get();
  } else if (value.kind == METATE_ARGUMENT_NDARRAY) {
    view.data = array.data();
    view.dtype = array.dtype;
    view.rank = uint32_t(array.shape.size());
    view.shape = array.shape.data();
    value.value.array = &view;
  } else if (value.kind == METATE_ARGUMENT_VECTOR) {
    value.value.elements = array.data();
  } else {
    value.value.bits = 0;
    std::memcpy(&value.value.bits, array.data(), metate_dtype_bytes(array.dtype));
  }
  return value;
}

Array parseNumbers(const std::string &name, const std::string &text, uint32_t dtype,
                   const std::vector<int64_t> &shape) {
  metate_argument_description argument{};
  argument.name = name.c_str();
  argument.dtype = dtype;
  Array array;
  array.dtype = dtype;
  array.shape = shape;
  array.allocate();
  std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 1 && parts.size() != array.count())
    fail(argument, "one number or " + std::to_string(array.count()) + " of them", text);
  for (uint64_t i = 0; i < array.count(); ++i)
    parseScalar(argument, parts[parts.size() == 1 ? 0 : i],
                array.data() + i * metate_dtype_bytes(dtype));
  return array;
}

double asDouble(uint32_t dtype, const uint8_t *from) {
  auto load = [&](auto zero) {
    std::memcpy(&zero, from, sizeof zero);
    return double(zero);
  };
  switch (dtype) {
  case METATE_I8:
    return load(int8_t());
  case METATE_I16:
    return load(int16_t());
  case METATE_I32:
    return load(int32_t());
  case METATE_I64:
    return load(int64_t());
  case METATE_U16:
    return load(uint16_t());
  case METATE_U32:
    return load(uint32_t());
  case METATE_U64:
    return load(uint64_t());
  case METATE_F32:
    return load(float());
  case METATE_F64:
    return load(double());
  case METATE_BF16: {
    uint16_t half = uint16_t(load(uint16_t()));
    uint32_t bits = uint32_t(half) << 16;
    float wide;
    std::memcpy(&wide, &bits, 4);
    return wide;
  }
  case METATE_F16: {
    uint16_t half = uint16_t(load(uint16_t()));
    int exponent = half >> 10 & 31;
    double fraction = (half & 0x3ff) / 1024.0, sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31)
      return fraction == 0 ? sign * INFINITY : NAN;
    return sign * (exponent ? std::ldexp(1 + fraction, exponent - 15) : std::ldexp(fraction, -14));
  }
  default:
    return load(uint8_t());
  }
}

} // namespace metate::tool
