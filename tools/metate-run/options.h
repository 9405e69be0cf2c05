// What `run` and `bench` are asked for.
#ifndef METATE_RUN_OPTIONS_H
#define METATE_RUN_OPTIONS_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace metate::tool {

/// How kernels are called: through libmetate, which checks everything; by their bare entries; by their packed entries, which only a
/// shared library has.
enum class CallLevel { Standard, Direct, Packed };

struct Options {
  std::string file;
  std::vector<std::string> kernels;
  std::map<std::string, std::string> inputs;               // spelling by name
  std::map<std::string, std::string> save;                 // file by name
  std::vector<std::pair<std::string, std::string>> expect; // name, what it is to be
  CallLevel level = CallLevel::Standard;
  uint32_t threads = 1;
  bool guard = false;
  bool json = false;
  // run
  uint32_t repeat = 1;
  // bench
  double seconds = 0.5;
  std::string elements; // a number, or an argument's name
};

/// `verb`: "run" or "bench", which have some options each. Throws Error.
Options parseOptions(const std::string &verb, const std::vector<std::string> &words);

} // namespace metate::tool

#endif
