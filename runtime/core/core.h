/* What the files of the core share. */
#ifndef METATE_RUNTIME_CORE_CORE_H
#define METATE_RUNTIME_CORE_CORE_H

#include "metate/core.h"

/* Bytes of a scalar type; 0: there is none of that number. */
static inline uint32_t metate_core_dtype_bytes(uint32_t dtype) {
  static const uint8_t bytes[] = {0,
#define METATE_DTYPE(NAME, code, name, bits, KIND, type) (bits + 7) / 8,
                                  METATE_DTYPES(METATE_DTYPE)
#undef METATE_DTYPE
  };
  return dtype < sizeof bytes ? bytes[dtype] : 0;
}

#endif
