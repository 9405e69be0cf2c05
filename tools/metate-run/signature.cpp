// metate-run sign, and verify --key: FILE.sig beside FILE. libmetate_signature is loaded when it is asked for, so that metate-run runs
// where OpenSSL is not.
#include "signature.h"

#include "common.h"

#include "metate/metate_signature.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>

namespace metate::tool {

namespace {

/// A function of the library. It stays loaded.
template <typename Function> Function *find(const char *name) {
  void *library = dlopen("libmetate_signature.so", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(
        std::string("signatures need libmetate_signature, which is built where OpenSSL is: ") +
        dlerror());
  auto *found = reinterpret_cast<Function *>(dlsym(library, name));
  if (!found)
    throw Error(std::string("libmetate_signature is of another version: it has no ") + name);
  return found;
}

std::string textOf(const std::string &path) {
  File file = readFile(path);
  return {reinterpret_cast<const char *>(file.data()), file.bytes};
}

} // namespace

void checkSignature(const std::string &path, const File &file, const std::string &keyPath) {
  std::string beside = path + ".sig", signature;
  if (!std::ifstream(beside))
    throw Error(path + " is not signed: there is no " + beside);
  signature = textOf(beside);
  if (signature.size() != METATE_SIGNATURE_BYTES)
    throw Error(beside + ": expected a signature of 64 bytes, got " +
                std::to_string(signature.size()));
  std::string key = textOf(keyPath);
  char text[METATE_SIGNATURE_TEXT] = "";
  metate_status status = find<decltype(metate_signature_check)>("metate_signature_check")(
      key.data(), key.size(), file.data(), file.bytes,
      reinterpret_cast<const uint8_t *>(signature.data()), text);
  if (status == METATE_E_CORRUPT)
    throw Error(path + " is signed, but not by the key of " + keyPath +
                ", or it was changed behind: " + text);
  if (status != METATE_OK)
    throw Error(keyPath + ": " + text);
}

int sign(const std::vector<std::string> &words) {
  std::string path, keyPath;
  for (const std::string &word : words)
    if (word.rfind("--key=", 0) == 0)
      keyPath = word.substr(6);
    else if (path.empty() && word.rfind("--", 0) != 0)
      path = word;
    else
      throw Error("sign: expected one file and --key=PRIVATE.pem, got '" + word +
                  "': see metate-run --help");
  if (path.empty() || keyPath.empty())
    throw Error("sign: expected one file and --key=PRIVATE.pem: see metate-run --help");
  File file = readFile(path);
  std::string key = textOf(keyPath);
  uint8_t signature[METATE_SIGNATURE_BYTES];
  char text[METATE_SIGNATURE_TEXT] = "";
  if (find<decltype(metate_signature_make)>("metate_signature_make")(
          key.data(), key.size(), file.data(), file.bytes, signature, text) != METATE_OK)
    throw Error(keyPath + ": " + text);
  std::ofstream stream(path + ".sig", std::ios::binary);
  stream.write(reinterpret_cast<const char *>(signature), sizeof signature);
  if (!stream.flush())
    throw Error("cannot write '" + path + ".sig'");
  std::printf("%s.sig: the signature of %s\n", path.c_str(), path.c_str());
  return 0;
}

} // namespace metate::tool
