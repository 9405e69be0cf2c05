/* Slots of a pool: where workers take them from, and where they leave those that are given up. Part of tree.h, which
 * states the rules. */
#ifndef METATE_PROTOCOL_SLOTS_H
#define METATE_PROTOCOL_SLOTS_H

#include "metate/protocol/view.h"

/* The top of a stack of free slots, or 0. */
METATE_VIEW_INLINE uint32_t metate_view_pop(const metate_view *view, uint32_t level,
                                            METATE_BLOCK uint64_t *stack) {
  uint32_t physical = metate_view_physical(view, level);
  uint64_t head = METATE_ATOMIC_LOAD(stack, ACQUIRE);
#if METATE_DEVICE
  uint32_t turns = 1;
#endif
  while ((uint32_t)head) {
    uint32_t slot = (uint32_t)head;
    if (slot > physical)
      return 0; /* a damaged list: as good as an empty one */
    /* May read a slot that another worker has just taken: then the exchange fails. */
    uint32_t next = METATE_ATOMIC_LOAD(metate_view_record(view, level, slot) + 1, RELAXED);
    uint64_t popped = ((head >> 32) + 1) << 32 | next;
    if (METATE_ATOMIC_COMPARE_EXCHANGE(stack, &head, popped, 1, ACQ_REL, ACQUIRE))
      return slot;
#if METATE_DEVICE /* of thousands that try at once one succeeds */
    metate_view_pause(turns);
    turns = turns < 64 ? 2 * turns : turns;
    head = METATE_ATOMIC_LOAD(stack, ACQUIRE);
#endif
  }
  return 0;
}

#if !METATE_DEVICE
/* Up to `most` slots that were never handed out, in ascending order: the first one, or 0. */
METATE_VIEW_INLINE uint32_t metate_view_raise(const metate_view *view, uint32_t level,
                                              uint32_t most, uint32_t *last) {
  METATE_BLOCK uint32_t *high_water = &metate_view_pool_of(view, level)->high_water;
  uint32_t physical = metate_view_physical(view, level);
  uint32_t high = METATE_ATOMIC_LOAD(high_water, RELAXED);
  while (high < physical) {
    *last = most < physical - high ? high + most : physical;
    if (!METATE_ATOMIC_COMPARE_EXCHANGE(high_water, &high, *last, 1, RELAXED, RELAXED))
      continue;
    for (uint32_t slot = high + 1; slot < *last; ++slot)
      METATE_ATOMIC_STORE(metate_view_record(view, level, slot) + 1, slot + 1, RELAXED);
    return high + 1;
  }
  return 0;
}
#endif

/* Slots `first` to `last`, linked by `next`, onto a stack of free slots. */
METATE_VIEW_INLINE void metate_view_push(const metate_view *view, uint32_t level,
                                         METATE_BLOCK uint64_t *stack, uint32_t first,
                                         uint32_t last) {
  METATE_BLOCK uint32_t *next = metate_view_record(view, level, last) + 1;
  uint64_t head = METATE_ATOMIC_LOAD(stack, RELAXED), pushed;
  do {
    METATE_ATOMIC_STORE(next, (uint32_t)head, RELAXED);
    pushed = ((head >> 32) + 1) << 32 | first;
  } while (!METATE_ATOMIC_COMPARE_EXCHANGE(stack, &head, pushed, 1, ACQ_REL, RELAXED));
}

#if !METATE_DEVICE /* magazines */
/* Up to `most` slots from the top of the free list, linked as they are there: the first one, or 0. */
METATE_VIEW_INLINE uint32_t metate_view_pop_run(const metate_view *view, uint32_t level,
                                                uint32_t most, uint32_t *last) {
  METATE_BLOCK uint64_t *stack = &metate_view_pool_of(view, level)->free_head;
  uint32_t physical = metate_view_physical(view, level);
  uint64_t head = METATE_ATOMIC_LOAD(stack, ACQUIRE);
  while ((uint32_t)head && (uint32_t)head <= physical) {
    uint32_t next = (uint32_t)head;
    /* As above: where the exchange succeeds nobody has taken any of them meanwhile. */
    for (uint32_t n = 0; n < most && next && next <= physical; ++n) {
      *last = next;
      next = METATE_ATOMIC_LOAD(metate_view_record(view, level, next) + 1, RELAXED);
    }
    uint32_t first = (uint32_t)head;
    if (METATE_ATOMIC_COMPARE_EXCHANGE(stack, &head, ((head >> 32) + 1) << 32 | next, 1, ACQ_REL,
                                       ACQUIRE))
      return first;
  }
  return 0;
}

/* How many slots a worker takes at once: few where few are left, so that each worker finds some. A host
 * takes one by one. */
METATE_VIEW_INLINE uint32_t metate_view_run(const metate_view *view, uint32_t level) {
  uint32_t used = METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->used, RELAXED);
  uint32_t physical = metate_view_physical(view, level),
           left = used < physical ? physical - used : 0;
  uint32_t most = left / (4 * METATE_MAGAZINES) + 1;
  if (view->pools)
    return 1;
  return most < METATE_MAGAZINE_SLOTS ? most : METATE_MAGAZINE_SLOTS;
}

/* A slot from the free list, else one that was never handed out, or 0; with it a run for the worker's
 * magazine. */
METATE_VIEW_FUNCTION uint32_t metate_view_refill(const metate_view *view, uint32_t level,
                                                 uint32_t magazine) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t most = metate_view_run(view, level), last = 0;
  /* From here on, until the run lies in the magazine, others do not see it. */
  if (most > 1)
    METATE_ATOMIC_ADD_FETCH(&pool->moves_begun, 1u, SEQ_CST);
  uint32_t first = metate_view_pop_run(view, level, most, &last);
  if (!first)
    first = metate_view_raise(view, level, most, &last);
  if (first && first != last) { /* `last` of a run that was not got means nothing */
    uint32_t rest = METATE_ATOMIC_LOAD(metate_view_record(view, level, first) + 1, RELAXED);
    if (!(METATE_ATOMIC_LOAD(&pool->loaded, RELAXED) >> magazine & 1))
      METATE_ATOMIC_FETCH_OR(&pool->loaded, 1u << magazine, RELAXED);
    metate_view_push(view, level, &pool->magazines[magazine].head, rest, last);
  }
  if (most > 1)
    METATE_ATOMIC_ADD_FETCH(&pool->moves_ended, 1u, SEQ_CST);
  return first;
}

/* A slot from wherever there is one; 0: there was none at one point in time. */
METATE_VIEW_FUNCTION uint32_t metate_view_search(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  for (;;) {
    uint32_t ended = METATE_ATOMIC_LOAD(&pool->moves_ended, SEQ_CST), last = 0;
    uint32_t begun = METATE_ATOMIC_LOAD(&pool->moves_begun, SEQ_CST), slot = 0;
    for (uint32_t m = 0; m < METATE_MAGAZINES && !slot; ++m)
      slot = metate_view_pop(view, level, &pool->magazines[m].head);
    if (!slot)
      slot = metate_view_raise(view, level, 1, &last);
    if (!slot) /* the last one: nobody fills a magazine but from here, and that is a move */
      slot = metate_view_pop(view, level, &pool->free_head);
    if (slot || (begun == ended && METATE_ATOMIC_LOAD(&pool->moves_begun, SEQ_CST) == begun))
      return slot;
    /* Else a run is, or was, in another worker's hands. */
    if (view->pools)
      return 0; /* no task runs: a damaged block */
  }
}
#endif

#if METATE_DEVICE
/* A slot from a magazine, or 0. Thousands of workers meet at few words, so each begins with another one. */
METATE_VIEW_INLINE uint32_t metate_view_pop_magazines(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  for (uint32_t k = 0; k < METATE_MAGAZINES; ++k) {
    uint32_t loaded = METATE_ATOMIC_LOAD(&pool->loaded, RELAXED);
    uint32_t m = (view->worker + k) % METATE_MAGAZINES;
    if (!loaded)
      return 0;
    if (!(loaded >> m & 1))
      continue;
    uint32_t slot = metate_view_pop(view, level, &pool->magazines[m].head);
    if (slot)
      return slot;
    /* It stays empty: tasks put nothing there. */
    METATE_ATOMIC_FETCH_AND(&pool->loaded, ~(1u << m), RELAXED);
  }
  return 0;
}

/* A slot that was never handed out, or 0, by one addition: who comes too late takes his back. */
METATE_VIEW_INLINE uint32_t metate_view_raise_one(const metate_view *view, uint32_t level) {
  METATE_BLOCK uint32_t *high_water = &metate_view_pool_of(view, level)->high_water;
  uint32_t physical = metate_view_physical(view, level);
  if (METATE_ATOMIC_LOAD(high_water, RELAXED) >= physical)
    return 0;
  uint32_t slot = METATE_ATOMIC_ADD_FETCH(high_water, 1u, RELAXED);
  if (slot <= physical)
    return slot;
  METATE_ATOMIC_ADD_FETCH(high_water, ~0u, RELAXED);
  return 0;
}
#endif

/* A slot of the pool that nobody else has, or 0. On a device magazines and high_water are used up for good while tasks run: where nothing
 * came back to the free list since it was looked at, all slots are linked or in another worker's hand. The free list is the last one, for
 * its top is one word, and an addition to high_water is what thousands of workers can do at once. */
METATE_VIEW_SHARED uint32_t metate_view_take(const metate_view *view, uint32_t level) {
#if METATE_DEVICE
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  for (;;) {
    uint32_t returned = METATE_ATOMIC_LOAD(&pool->returned, ACQUIRE);
    uint32_t slot = metate_view_pop_magazines(view, level);
    if (!slot)
      slot = metate_view_raise_one(view, level);
    if (!slot)
      slot = metate_view_pop(view, level, &pool->free_head);
    if (slot || METATE_ATOMIC_LOAD(&pool->returned, ACQUIRE) == returned)
      return slot;
  }
#else
  uint32_t magazine = view->worker % METATE_MAGAZINES;
  metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t slot = metate_view_pop(view, level, &pool->magazines[magazine].head);
  if (!slot)
    slot = metate_view_refill(view, level, magazine);
  return slot ? slot : metate_view_search(view, level);
#endif
}

/* Empties all magazines of a pool, without a word about what was in them. */
METATE_VIEW_INLINE void metate_view_forget_magazines(METATE_BLOCK metate_pool *pool) {
  for (uint32_t m = 0; m < METATE_MAGAZINES; ++m)
    pool->magazines[m].head = (pool->magazines[m].head >> 32) << 32;
  pool->loaded = 0;
}

#if !METATE_DEVICE
/* Slots in magazines go back to the free list, the lowest to the top; those at the high water mark are as
 * if they had never been handed out. Where no task runs. */
METATE_VIEW_FUNCTION void metate_view_unload(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t physical = metate_view_physical(view, level), left = physical;
  uint32_t slots[METATE_MAGAZINE_SLOTS], high = pool->high_water;
  for (;;) {
    uint32_t best = 0, count = 0, slot;
    for (uint32_t m = 1; m < METATE_MAGAZINES; ++m)
      if ((uint32_t)pool->magazines[m].head > (uint32_t)pool->magazines[best].head)
        best = m;
    METATE_BLOCK uint64_t *head = &pool->magazines[best].head;
    for (slot = (uint32_t)*head; slot && slot <= physical && left && count < METATE_MAGAZINE_SLOTS;
         --left) {
      slots[count++] = slot;
      slot = metate_view_record(view, level, slot)[1];
    }
    if (!count)
      break; /* all are empty, or the block is damaged */
    *head = ((*head >> 32) + 1) << 32 | slot;
    while (count && slots[count - 1] == high) {
      --count;
      --high;
    }
    if (count)
      metate_view_push(view, level, &pool->free_head, slots[0], slots[count - 1]);
  }
  METATE_ATOMIC_STORE(&pool->high_water, high, RELAXED);
  metate_view_forget_magazines(pool);
}
#endif

/* A slot that was taken and never linked goes back. */
#ifdef __NVPTX__
/* Invocations of a warp whose slots go back at once to one list are one push: each links the next one's. */
static __attribute__((noinline, convergent, unused)) void
metate_view_give_back(const metate_view *view, uint32_t level, uint32_t slot) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  METATE_ATOMIC_STORE(&record[0], 0u, RELAXED);
  uint32_t mask = __nvvm_activemask();
  uint32_t same = __nvvm_match_any_sync_i64(mask, (int64_t)pool);
  uint32_t lower = same & __nvvm_read_ptx_sreg_lanemask_lt();
  uint32_t higher = same & __nvvm_read_ptx_sreg_lanemask_gt();
  uint32_t next = METATE_SHUFFLE(mask, slot, higher ? (uint32_t)__builtin_ctz(higher) : 0);
  uint32_t last = METATE_SHUFFLE(mask, slot, 31 - (uint32_t)__builtin_clz(same));
  if (higher)
    METATE_ATOMIC_STORE(&record[1], next, RELAXED);
  __nvvm_bar_warp_sync(mask); /* the links before the push */
  if (!lower) {
    metate_view_push(view, level, &pool->free_head, slot, last);
    METATE_ATOMIC_ADD_FETCH(&pool->returned, 1u, ACQ_REL);
  }
  __nvvm_bar_warp_sync(mask); /* nobody holds another slot before his own is counted */
}
#else
METATE_VIEW_SHARED void metate_view_give_back(const metate_view *view, uint32_t level,
                                              uint32_t slot) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  METATE_ATOMIC_STORE(&record[0], 0u, RELAXED);
  metate_view_push(view, level, &pool->free_head, slot, slot);
#if METATE_DEVICE
  METATE_ATOMIC_ADD_FETCH(&pool->returned, 1u, ACQ_REL);
#endif
}
#endif

/* Fills a slot that was taken. The state last: a loop over the pool may look at it [release]. */
METATE_VIEW_INLINE void metate_view_prepare(const metate_view *view, uint32_t level, uint32_t slot,
                                            const uint32_t *key, uint32_t next) {
  METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
  metate_view_fill_slot(view, level, slot);
  METATE_ATOMIC_STORE(&record[1], next, RELAXED);
  for (uint32_t k = 0; k < metate_view_level(view, level)->coordinate_count; ++k)
    record[2 + k] = key[k];
  METATE_ATOMIC_STORE(&record[0], metate_view_header(view)->epoch, RELEASE);
}

/* Counts a slot that was linked: 1, or 0 where it is beyond the capacity (it is kept: it sits in a
 * slack slot). */
METATE_VIEW_INLINE int metate_view_count(const metate_view *view, uint32_t level) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  uint32_t used = METATE_ATOMIC_ADD_FETCH(&pool->used, 1u, RELAXED);
  metate_view_change(view);
  if (used <= metate_view_capacity(view, level))
    return 1;
  metate_view_report(view, level, used);
  return 0;
}

METATE_VIEW_SHARED void metate_view_exhausted(const metate_view *view, uint32_t level) {
  uint64_t used = METATE_ATOMIC_LOAD(&metate_view_pool_of(view, level)->used, RELAXED);
  uint64_t least = metate_view_capacity(view, level) + 1ull;
  metate_view_report(view, level, used > least ? used : least);
}

/* The slot of a link, claimed if it is 0; 0 where the pool is exhausted and, with `strict`, where the
 * slot is beyond the capacity. */
METATE_VIEW_INLINE uint32_t metate_view_claim_alone(const metate_view *view, uint32_t level,
                                                    METATE_BLOCK uint32_t *link,
                                                    const uint32_t *key, int strict) {
  uint32_t linked = METATE_ATOMIC_LOAD(link, ACQUIRE);
  if (linked)
    return linked;
  uint32_t slot = metate_view_take(view, level);
  if (!slot) {
    linked = METATE_ATOMIC_LOAD(link, ACQUIRE); /* another may have linked it meanwhile */
    if (!linked)
      metate_view_exhausted(view, level);
    return linked;
  }
  metate_view_prepare(view, level, slot, key, 0);
  if (!METATE_ATOMIC_COMPARE_EXCHANGE(link, &linked, slot, 0, ACQ_REL, ACQUIRE)) {
    metate_view_give_back(view, level, slot);
    return linked;
  }
  return metate_view_count(view, level) || !strict ? slot : 0;
}

#ifdef __NVPTX__
/* Invocations of a warp that claim one link at once take one slot: particles that lie together, cells of a leaf. The others of them read
 * the link behind the first one, and claim it themselves where it is still 0. */
static __attribute__((noinline, convergent, unused)) uint32_t
metate_view_claim(const metate_view *view, uint32_t level, METATE_BLOCK uint32_t *link,
                  const uint32_t *key, int strict) {
  for (;;) {
    uint32_t mask = __nvvm_activemask(), slot = 0;
    uint32_t same = __nvvm_match_any_sync_i64(mask, (int64_t)link);
    int isFirst = !(same & __nvvm_read_ptx_sreg_lanemask_lt());
    if (isFirst)
      slot = metate_view_claim_alone(view, level, link, key, strict);
    __nvvm_bar_warp_sync(mask);
    if (!isFirst)
      slot = METATE_ATOMIC_LOAD(link, ACQUIRE);
    if (slot || isFirst)
      return slot;
  }
}
#else
METATE_VIEW_INLINE uint32_t metate_view_claim(const metate_view *view, uint32_t level,
                                              METATE_BLOCK uint32_t *link, const uint32_t *key,
                                              int strict) {
  return metate_view_claim_alone(view, level, link, key, strict);
}
#endif

#if METATE_DEVICE
/* In place of `next`: the slot waits for the end of the task. Of a hash level, whose slots keep their container's stamp there, a list
 * says so as on a CPU; of other levels `pending` only says that there are such slots, so that all workers can look for them. */
#define METATE_RETIRED 0xffffffffu
#endif

/* A slot that nothing links any more waits for the end of the task. */
METATE_VIEW_FUNCTION void metate_view_retire(const metate_view *view, uint32_t level,
                                             uint32_t slot) {
  METATE_BLOCK metate_pool *pool = metate_view_pool_of(view, level);
  if (!metate_view_valid(view, level, slot))
    return;
  METATE_BLOCK uint32_t *record = metate_view_record(view, level, slot);
#if METATE_DEVICE
  if (metate_view_buckets(view, level)) {
    /* Nobody follows the list before the task is over, so it may have a gap meanwhile; and nobody tries twice. */
    uint32_t next = METATE_ATOMIC_EXCHANGE(&pool->pending, slot, RELAXED);
    METATE_ATOMIC_STORE(&record[1], next, RELAXED);
  } else {
    METATE_ATOMIC_STORE(&record[1], METATE_RETIRED, RELAXED);
    if (!METATE_ATOMIC_LOAD(&pool->pending, RELAXED))
      METATE_ATOMIC_STORE(&pool->pending, slot, RELAXED);
  }
#else
  uint32_t head = METATE_ATOMIC_LOAD(&pool->pending, RELAXED);
  do {
    METATE_ATOMIC_STORE(&record[1], head, RELAXED);
  } while (!METATE_ATOMIC_COMPARE_EXCHANGE(&pool->pending, &head, slot, 1, RELEASE, RELAXED));
#endif
  metate_view_change(view);
}

#endif
