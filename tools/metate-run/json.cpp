// JSON as RFC 8259 has it.
#include "json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace metate::tool {

Json &Json::raw(const std::string &text) {
  if (!first)
    out += ", ";
  out += text;
  first = false;
  return *this;
}

Json &Json::open(char bracket) {
  raw(std::string(1, bracket));
  closing.push_back(bracket == '{' ? '}' : ']');
  first = true;
  return *this;
}

Json &Json::end() {
  out += closing.back();
  closing.pop_back();
  first = false;
  return *this;
}

static std::string quoted(const std::string &text) {
  std::string made = "\"";
  for (char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      made += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      made += escaped;
    } else {
      made += c;
    }
  }
  return made + '"';
}

Json &Json::key(const std::string &name) {
  raw(quoted(name) + ": ");
  first = true;
  return *this;
}

Json &Json::value(const std::string &text) { return raw(quoted(text)); }

Json &Json::value(double number) {
  if (!std::isfinite(number))
    return value(std::string(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"));
  char digits[40] = {};
  std::to_chars(digits, digits + sizeof digits - 1, number);
  return raw(digits);
}

} // namespace metate::tool
