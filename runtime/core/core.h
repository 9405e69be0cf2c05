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

/* Checks an array against its description and fills its slots among `all`; `dims`: the kernel's. */
metate_status metate_core_pack_array(const metate_argument_info *info,
                                     const metate_core_argument *given, const metate_dim_info *dims,
                                     metate_slot *all);
/* Bytes that an argument may touch, of its packed slots; none: both are 0. */
void metate_core_extent_of(const metate_argument_info *info, const metate_slot *slots,
                           uint64_t *begin, uint64_t *end);
/* Do two arrays lie between each other without sharing a byte, as members of an array of structs do? */
int metate_core_are_interleaved(const metate_argument_info *one, const metate_slot *slots,
                                const metate_argument_info *other, const metate_slot *others);

#endif
