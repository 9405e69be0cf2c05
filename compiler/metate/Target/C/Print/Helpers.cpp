//===- Helpers.cpp - functions that generated C calls -----------*- C++ -*-===//
#include "metate/Target/C/Print/Helpers.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace metate;

// Support/*.txt (HelpersText.S).
extern "C" const char metate_c_helpers_begin[], metate_c_helpers_end[];

std::string c::numberType(StringRef name, bool isSigned) {
  if (name == "f32")
    return "float";
  if (name == "f64")
    return "double";
  if (name == "p")
    return "unsigned char *";
  if (name == "f16" || name == "bf16")
    return "uint16_t";
  return ((isSigned ? "int" : "uint") + name.drop_front() + "_t").str();
}

c::Helpers::Helpers(unsigned addressBytes) : addressBytes(addressBytes) {
  StringRef all(metate_c_helpers_begin, size_t(metate_c_helpers_end - metate_c_helpers_begin));
  all = all.substr(all.find("\n//@ ") + 5);
  while (!all.empty()) {
    auto [one, rest] = all.split("\n//@ ");
    auto [head, text] = one.split('\n');
    auto [name, needs] = head.split(':');
    parts[name] = {needs.trim(), text.rtrim()};
    all = rest;
  }
}

/// $1 to $3 as they are named, $T, $S, $W of the number $1, $U of $2.
static std::string filled(StringRef text, ArrayRef<std::string> parameters, unsigned addressBytes) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split('$');
    result += before;
    if (after.empty())
      break;
    char what = after.front();
    if (isDigit(what))
      result += parameters[unsigned(what - '1')];
    else if (what == 'A')
      result += std::to_string(addressBytes);
    else if (what == 'W')
      result += StringRef(parameters[0]).drop_front();
    else
      result += c::numberType(parameters[what == 'U'], what == 'S');
    text = after.drop_front();
  }
  return result;
}

std::string c::Helpers::use(StringRef name, ArrayRef<std::string> parameters) {
  std::string symbol = "metate_" + name.str();
  for (const std::string &parameter : parameters)
    symbol += "_" + parameter;
  auto found = parts.find(name);
  assert(found != parts.end() && "Support/*.txt lack a part");
  if (!used.try_emplace(symbol).second)
    return symbol;
  SmallVector<StringRef> needs;
  found->second.needs.split(needs, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef need : needs) {
    std::string ofNeed = filled(need, parameters, addressBytes);
    auto [part, list] = StringRef(ofNeed).split('(');
    SmallVector<StringRef> words;
    list.rtrim(')').split(words, ',', -1, /*KeepEmpty=*/false);
    use(part, map_to_vector(words, [](StringRef word) { return word.str(); }));
  }
  written += filled(found->second.text, parameters, addressBytes) + "\n";
  return symbol;
}
