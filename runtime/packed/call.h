// What the files of libmetate_packed share.
#ifndef METATE_RUNTIME_PACKED_CALL_H
#define METATE_RUNTIME_PACKED_CALL_H

#include "packed/ffi.h"

#include "metate/metate_packed.h"

#include <dlfcn.h>
#include <string>

namespace metate::packed {

// What libtvm_ffi has, once it is in the process.
template <typename Call> Call *symbolOfProcess(const char *name) {
  return reinterpret_cast<Call *>(dlsym(RTLD_DEFAULT, name));
}

inline int32_t raise(const char *kind, const std::string &text) {
  if (auto *set = symbolOfProcess<void(const char *, const char *)>("TVMFFIErrorSetRaisedFromCStr"))
    set(kind, text.c_str());
  return -1;
}

/// Arguments that a call does not bring (metate_packed_hidden), and who has them.
struct Hidden {
  uint32_t count = 0;
  int32_t (*give)(void *, metate_argument *, uint32_t, uint32_t, char *, uint64_t) = nullptr;
  void (*takeBack)(void *) = nullptr;
  void *owner = nullptr;
};

/// A launch by tvm-ffi's convention: 0, or -1 after an error was raised.
int32_t callKernel(const metate_kernel *kernel, const Hidden &hidden, const Any *values,
                   int32_t count, Any *result);

} // namespace metate::packed

#endif
