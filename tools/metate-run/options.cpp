// The words behind `run` and `bench`.
#include "options.h"

#include "common.h"

namespace metate::tool {

namespace {

std::pair<std::string, std::string> parsePair(const std::string &option, const std::string &text) {
  size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw Error(option + "expected NAME=VALUE, got '" + text + "': see metate-run --help");
  return {text.substr(0, at), text.substr(at + 1)};
}

CallLevel parseLevel(const std::string &text) {
  if (text == "standard")
    return CallLevel::Standard;
  if (text == "direct")
    return CallLevel::Direct;
  if (text == "packed")
    return CallLevel::Packed;
  throw Error("--level: expected standard, direct or packed, got '" + text + "'");
}

double parseSeconds(const std::string &text) {
  try {
    size_t used = 0;
    double seconds = std::stod(text, &used);
    if (used == text.size() && seconds > 0 && seconds <= 3600)
      return seconds;
  } catch (const std::logic_error &) { // std::stod's
  }
  throw Error("--seconds: expected a number up to 3600, got '" + text + "'");
}

} // namespace

Options parseOptions(const std::string &verb, const std::vector<std::string> &words) {
  if (words.size() < 2)
    throw Error(verb + ": expected a file and a kernel: see metate-run --help");
  Options options;
  options.file = words[0];
  options.kernels = split(words[1], ',');
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string &word = words[i];
    size_t at = word.find('=');
    std::string option = word.substr(0, at),
                text = at == std::string::npos ? "" : word.substr(at + 1);
    if (option == "--threads")
      options.threads = parseCount(option, text);
    else if (option == "--level")
      options.level = parseLevel(text);
    else if (word == "--guard")
      options.guard = true;
    else if (word == "--json")
      options.json = true;
    else if (option == "--expect")
      options.expect.push_back(parsePair("--expect: ", text));
    else if (option == "--repeat" && verb == "run")
      options.repeat = parseCount(option, text);
    else if (option == "--save" && verb == "run")
      options.save.insert(parsePair("--save: ", text));
    else if (option == "--seconds" && verb == "bench")
      options.seconds = parseSeconds(text);
    else if (option == "--elements" && verb == "bench")
      options.elements = text;
    else if (word.rfind("--", 0) == 0)
      throw Error(verb + ": unknown option '" + word + "': see metate-run --help");
    else
      options.inputs.insert(parsePair("", word));
  }
  return options;
}

} // namespace metate::tool
