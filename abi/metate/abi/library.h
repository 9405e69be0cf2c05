/* A module in a shared object (.so) that programs load without libmetate, and libmetate as a carrier.
 *
 * It is an ELF64 file, little-endian, for one target. Its section METATE_LIBRARY_SECTION holds
 *
 *   [metate_library][the descriptor of module.h]
 *
 * among the constants of the process; the symbol of its name with METATE_LIBRARY_SYMBOL_SUFFIX
 * behind it is a metate_static_module (kernel.h).
 * `hash` is XXH3-128 (seed 0) of the whole file with the hash field zero, as that of a .metate file: it is checked on every
 * open, before the system's loader sees the file. */
#ifndef METATE_ABI_LIBRARY_H
#define METATE_ABI_LIBRARY_H

#include "metate/abi/base.h"

#define METATE_LIBRARY_SECTION ".metate"
#define METATE_LIBRARY_MAGIC 0x6f7345544154454dull /* "METATEso" */
/* Behind the module's name: the symbol of its metate_static_module. */
#define METATE_LIBRARY_SYMBOL_SUFFIX "_module"

typedef struct metate_library {
  uint64_t magic;
  uint32_t abi_version;
  uint32_t reserved;
  uint64_t bytes;            /* of the whole file */
  uint64_t hash[2];          /* {low64, high64} */
  uint64_t descriptor_bytes; /* it follows */
  uint64_t reserved1[2];
} metate_library;
METATE_STATIC_ASSERT(sizeof(metate_library) == 64, "metate_library is 64 bytes");

#endif
