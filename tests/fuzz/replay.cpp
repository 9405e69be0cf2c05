// Runs a fuzz target over files, without libFuzzer: corpora and past crashes in the normal tests. `random:COUNT:BYTES` in a file's
// place: so many inputs of at most so many bytes, the same in every run; for targets whose every input means something.
// A finding aborts the process; a folder without a file, or a file that cannot be read, fails.
#include "harness.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace fs = std::filesystem;

extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int *count, char ***words);

static std::vector<fs::path> filesIn(const fs::path &place) {
  std::vector<fs::path> files;
  if (!fs::is_directory(place))
    return {place};
  for (const auto &entry : fs::directory_iterator(place))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

static size_t runRandom(const char *word) {
  unsigned count = 0, most = 0;
  if (std::sscanf(word, "random:%u:%u", &count, &most) != 2)
    return 0;
  metate::test::Random random(1);
  for (unsigned n = 0; n < count; ++n) {
    std::vector<uint8_t> bytes(random.below(most + 1));
    for (uint8_t &byte : bytes)
      byte = uint8_t(random.bits());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  return count;
}

int main(int count, char **words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s FILE_OR_FOLDER_OR_random:COUNT:BYTES...\n", words[0]);
    return 2;
  }
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&count, &words);
  size_t inputs = 0;
  for (int i = 1; i < count; ++i) {
    if (size_t done = runRandom(words[i])) {
      inputs += done;
      continue;
    }
    std::vector<fs::path> files = filesIn(words[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s: %s holds no file\n", words[0], words[i]);
      return 1;
    }
    for (const fs::path &file : files) {
      std::ifstream stream(file, std::ios::binary);
      if (!stream) {
        std::fprintf(stderr, "%s: cannot open %s\n", words[0], file.c_str());
        return 1;
      }
      std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
      std::fprintf(stderr, "%s\n", file.c_str()); // the last one is the culprit
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
      ++inputs;
    }
  }
  std::printf("%zu inputs, no finding\n", inputs);
  return 0;
}
