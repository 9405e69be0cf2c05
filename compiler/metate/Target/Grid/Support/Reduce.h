/* The functions that combine partial results with a place, one METATE_REDUCE(name, type, an integer of as many
 * bits, the value of `old` and `value` combined) each.
 * Extremes keep the number where one of the two is none. */
/* Combines without a hardware's operation for it: until nobody was in between. */
#define METATE_COMBINE_AT(type, word, at, value, combined)                                         \
  do {                                                                                             \
    METATE_BLOCK word *place = (METATE_BLOCK word *)at;                                            \
    word bits = METATE_ATOMIC_LOAD(place, RELAXED), wanted;                                        \
    do {                                                                                           \
      type old;                                                                                    \
      __builtin_memcpy(&old, &bits, sizeof old);                                                   \
      type next = combined;                                                                        \
      __builtin_memcpy(&wanted, &next, sizeof next);                                               \
    } while (wanted != bits &&                                                                     \
             !METATE_ATOMIC_COMPARE_EXCHANGE(place, &bits, wanted, 0, RELAXED, RELAXED));          \
  } while (0)

#define METATE_LEAST ((old < value || value != value) ? old : value)
#define METATE_GREATEST ((old > value || value != value) ? old : value)
METATE_REDUCE(metate_grid_reduce_add_i32, int32_t, uint32_t,
              (int32_t)((uint32_t)old + (uint32_t)value))
METATE_REDUCE(metate_grid_reduce_add_i64, int64_t, uint64_t,
              (int64_t)((uint64_t)old + (uint64_t)value))
METATE_REDUCE(metate_grid_reduce_add_f32, float, uint32_t, old + value)
METATE_REDUCE(metate_grid_reduce_add_f64, double, uint64_t, old + value)
METATE_REDUCE(metate_grid_reduce_min_i32, int32_t, uint32_t, METATE_LEAST)
METATE_REDUCE(metate_grid_reduce_min_i64, int64_t, uint64_t, METATE_LEAST)
METATE_REDUCE(metate_grid_reduce_min_f32, float, uint32_t, METATE_LEAST)
METATE_REDUCE(metate_grid_reduce_min_f64, double, uint64_t, METATE_LEAST)
METATE_REDUCE(metate_grid_reduce_max_i32, int32_t, uint32_t, METATE_GREATEST)
METATE_REDUCE(metate_grid_reduce_max_i64, int64_t, uint64_t, METATE_GREATEST)
METATE_REDUCE(metate_grid_reduce_max_f32, float, uint32_t, METATE_GREATEST)
METATE_REDUCE(metate_grid_reduce_max_f64, double, uint64_t, METATE_GREATEST)
