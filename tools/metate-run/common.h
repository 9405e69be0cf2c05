// What the subcommands of metate-run share: the error type and reading files.
#ifndef METATE_RUN_COMMON_H
#define METATE_RUN_COMMON_H

#include "metate/metate.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace metate::tool {

// A message for the user; main prints it and exits with 1.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(metate_status status) {
  if (status != METATE_OK)
    throw Error(std::string(metate_status_name(status)) + ": " + metate_last_error());
}

// A whole file in 8-byte aligned memory.
struct File {
  std::vector<uint64_t> words;
  uint64_t bytes = 0;
  const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(words.data()); }
};
File readFile(const std::string &path);

std::vector<std::string> split(const std::string &text, char separator);
std::string showElement(uint32_t dtype, uint32_t rows, uint32_t columns, uint32_t rank);
std::string showArgument(const metate_argument_description &argument);

const char *archName(uint32_t arch);
const char *levelKindName(uint32_t kind);
/// "read", "write", ... of METATE_ACCESS_* bits.
std::vector<std::string> accessNames(uint32_t access);
/// "x86-64-v3", "cuda 8.0"
std::string machineName(const metate_variant_description &variant);
/// What the kernel's author wrote of it, and what the compiler planned of a graph; "": nothing.
const char *documentationOf(const Module &module, uint32_t kernel);
uint32_t parseCount(const std::string &option, const std::string &text);

/// What `inspect` prints, of a file that is in memory.
void showModule(const File &file);
/// The same as JSON.
std::string moduleAsJson(const File &file);
int inspect(const std::vector<std::string> &arguments);
int verify(const std::vector<std::string> &arguments);
int run(const std::vector<std::string> &arguments);
int bench(const std::vector<std::string> &arguments);
int merge(const std::vector<std::string> &arguments);
int sign(const std::vector<std::string> &arguments);

} // namespace metate::tool

#endif
