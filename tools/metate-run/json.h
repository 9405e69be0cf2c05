// Writes JSON, value by value; commas and escapes are its business.
#ifndef METATE_RUN_JSON_H
#define METATE_RUN_JSON_H

#include <cstdint>
#include <string>
#include <vector>

namespace metate::tool {

class Json {
public:
  Json &object() { return open('{'); }
  Json &array() { return open('['); }
  /// Ends the object or array that was begun last.
  Json &end();
  Json &key(const std::string &name);
  Json &value(const std::string &text);
  Json &value(const char *text) { return value(std::string(text)); }
  Json &value(uint64_t number) { return raw(std::to_string(number)); }
  Json &value(int64_t number) { return raw(std::to_string(number)); }
  Json &value(uint32_t number) { return value(uint64_t(number)); }
  Json &value(bool truth) { return raw(truth ? "true" : "false"); }
  /// As few digits as say which number it is; NaN and infinities, which JSON lacks, are texts.
  Json &value(double number);
  Json &null() { return raw("null"); }
  template <typename T> Json &pair(const std::string &name, const T &content) {
    return key(name).value(content);
  }
  const std::string &text() const { return out; }

private:
  Json &open(char bracket);
  Json &raw(const std::string &text);
  std::string out;
  std::vector<char> closing;
  bool first = true;
};

} // namespace metate::tool

#endif
