// metate-run verify: every byte of a module, and with a key who has signed the file.
#include "signature.h"

#include <cstdio>
#include <cstring>

namespace metate::tool {

int verify(const std::vector<std::string> &words) {
  std::string path, key;
  for (const std::string &word : words)
    if (word.rfind("--key=", 0) == 0)
      key = word.substr(6);
    else if (path.empty() && word.rfind("--", 0) != 0)
      path = word;
    else
      throw Error("verify: expected one file, and perhaps --key=PUBLIC.pem, got '" + word +
                  "': see metate-run --help");
  if (path.empty())
    throw Error("verify: expected one file: see metate-run --help");
  File file = readFile(path);
  const uint64_t magic = METATE_CARRIER_MAGIC;
  // Objects and libraries have no hash of their own: who has signed them is all that can be asked.
  bool isCarrier = file.bytes >= sizeof magic && !std::memcmp(file.data(), &magic, sizeof magic);
  if (isCarrier || key.empty() || path.ends_with(".metate"))
    check(metate_module_verify(file.data(), file.bytes));
  if (!key.empty())
    checkSignature(path, file, key);
  std::printf("%s: sound, %llu bytes%s\n", path.c_str(),
              static_cast<unsigned long long>(file.bytes),
              key.empty() ? "" : ", signed by this key");
  return 0;
}

} // namespace metate::tool
