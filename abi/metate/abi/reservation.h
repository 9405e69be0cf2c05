/* How many slots a launch would take: what a kernel's *slice* counts, which performs its activations as
 * far as counting goes and changes nothing. Each cell that is not active is counted once, by its
 * coordinates, in memory of the host's:
 *
 *   [metate_reservation][u32 same x trees][u64 missing x trees x pools]
 *   [u32 bucket x bucket_count][metate_reserved x record_count]
 *
 * A tree has the number of the kernel's argument; `same` is the number of the first argument with that
 * very tree, METATE_NONE of a tree that is not asked about. A bucket holds the number of a record plus
 * one, 0 = none; a record is filled first, then its number is published by compare-exchange [acq_rel].
 * Who loses to one with the same coordinates leaves his record unused. Where `taken` ends beyond
 * record_count not all was counted: the host gives more memory and counts again. */
#ifndef METATE_ABI_RESERVATION_H
#define METATE_ABI_RESERVATION_H

#include "metate/abi/tree.h"

typedef struct metate_reservation {
  uint32_t trees;        /* arguments of the kernel */
  uint32_t pools;        /* counters of a tree: the most pools that one of them has */
  uint32_t bucket_count; /* a power of two */
  uint32_t record_count;
  uint32_t taken; /* atomic: records asked for */
  uint32_t
      full; /* atomic: level + 1 of a list that appends would take beyond its largest length; 0 = none */
  uint32_t full_tree; /* whose: written before `full` */
  uint32_t reserved;
} metate_reservation;
METATE_STATIC_ASSERT(sizeof(metate_reservation) == 32, "metate_reservation is 32 bytes");

/* A cell that is not active (of a list: a chunk that is not linked), or a list that is appended to. */
typedef struct metate_reserved {
  uint32_t tree;
  uint32_t level; /* twice its number; one more for a list's appends */
  uint32_t count; /* atomic: appends */
  uint32_t reserved;
  uint32_t key[METATE_MAX_AXES]; /* along a list: the chunk's number */
} metate_reserved;
METATE_STATIC_ASSERT(sizeof(metate_reserved) == 16 + 4 * METATE_MAX_AXES, "no padding");

static inline uint32_t *metate_reservation_same(metate_reservation *counted) {
  return (uint32_t *)(counted + 1);
}
static inline uint64_t *metate_reservation_missing(metate_reservation *counted) {
  return (uint64_t *)(metate_reservation_same(counted) + (counted->trees + 1) / 2 * 2);
}
static inline uint32_t *metate_reservation_buckets(metate_reservation *counted) {
  return (uint32_t *)(metate_reservation_missing(counted) +
                      (uint64_t)counted->trees * counted->pools);
}
static inline metate_reserved *metate_reservation_records(metate_reservation *counted) {
  return (metate_reserved *)(metate_reservation_buckets(counted) + counted->bucket_count);
}

#endif
