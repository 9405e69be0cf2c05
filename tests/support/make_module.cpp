// Writes the test module's file: make_module PAYLOAD.so OUT.metate
#include "module.h"

#include <cstdio>

int main(int count, char **words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: make_module PAYLOAD.so OUT.metate\n");
    return 2;
  }
  metate::test::Bytes file = metate::test::testModuleFile(words[1]);
  std::FILE *out = std::fopen(words[2], "wb");
  bool written = out && std::fwrite(file.data(), 1, file.size(), out) == file.size();
  return out && std::fclose(out) == 0 && written ? 0 : 1;
}
