/* Tree blocks without libmetate, as generated headers offer them. */
#include "metate/protocol/block.h"
#include "metate/Module/Support/Support.h"

#ifdef __wasm__
#include "metate/Module/Support/Library.h"
#endif

#ifdef METATE_ONE_THREAD
enum { WORKERS = 1 };
#else
enum { WORKERS = METATE_DEFAULT_WORKERS };
#endif

uint64_t metate_support_block_bytes(const metate_tree_type *type, uint32_t workers) {
  return metate_block_bytes(type, workers);
}

int32_t metate_support_block_reset(const metate_tree_type *type, void *block, uint64_t bytes) {
  return metate_block_reset(type, WORKERS, block, bytes);
}

void metate_support_clear_status(void *block) { metate_block_clear_status(block); }
