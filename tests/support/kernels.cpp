// Hand-written kernels of the test module. They know the layout of ab_aos and ab_soa as the test
// module lays them out (testModule() in module.cpp) and nothing of libmetate.
#include "kernels.h"

#include "metate/abi/tree.h"

#include <cstring>

namespace {

constexpr int64_t side = 15; // 3 x 3 blocks of 5 x 5

// Runs body(i) for [0, count), by the host's executor if there is one.
template <typename Body>
int32_t forEach(const metate_host *host, int64_t count, int64_t grain, Body &body) {
  auto run = [](void *context, int64_t begin, int64_t end, uint32_t) -> int32_t {
    for (int64_t i = begin; i < end; ++i)
      if (int32_t status = (*static_cast<Body *>(context))(i))
        return status;
    return METATE_OK;
  };
  if (host && host->parallel_for)
    return host->parallel_for(host->executor_self, count, grain, host->max_workers, run, &body);
  return run(&body, 0, count, 0);
}

// One pool over a 3 x 3 grid of links at `links` bytes into the root cell.
struct Grid {
  char *block;
  metate_pool *pool;
  uint32_t *links;
  uint64_t cellBytes;

  Grid(void *tree, uint32_t number, uint64_t linkOffset, uint64_t cellBytes)
      : block(static_cast<char *>(tree)), cellBytes(cellBytes) {
    pool = reinterpret_cast<metate_pool *>(block + sizeof(metate_tree_header)) + number;
    links = reinterpret_cast<uint32_t *>(
        block + reinterpret_cast<metate_tree_header *>(block)->root_offset + linkOffset);
  }
  char *slot(uint32_t number) const { return block + pool->slots_offset + number * cellBytes; }
  uint32_t *record(uint32_t number) const {
    return reinterpret_cast<uint32_t *>(block + pool->meta_offset + number * 16ull);
  }
  static int64_t link(int64_t i, int64_t j) { return i / 5 * 3 + j / 5; }
  static int64_t inside(int64_t i, int64_t j) { return i % 5 * 5 + j % 5; }

  uint32_t take() const {
    uint64_t head = __atomic_load_n(&pool->free_head, __ATOMIC_ACQUIRE);
    while (uint32_t free = uint32_t(head)) {
      uint64_t next =
          ((head >> 32) + 1) << 32 | __atomic_load_n(record(free) + 1, __ATOMIC_RELAXED);
      if (__atomic_compare_exchange_n(&pool->free_head, &head, next, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
        return free;
    }
    uint32_t high = __atomic_load_n(&pool->high_water, __ATOMIC_RELAXED);
    while (high < pool->physical)
      if (__atomic_compare_exchange_n(&pool->high_water, &high, high + 1, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
        return high + 1;
    return 0;
  }
  void give(uint32_t slot) const {
    __atomic_store_n(record(slot), 0u, __ATOMIC_RELAXED);
    uint64_t head = __atomic_load_n(&pool->free_head, __ATOMIC_RELAXED), next;
    do {
      __atomic_store_n(record(slot) + 1, uint32_t(head), __ATOMIC_RELAXED);
      next = ((head >> 32) + 1) << 32 | slot;
    } while (!__atomic_compare_exchange_n(&pool->free_head, &head, next, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
  }
  void fail(uint32_t number, uint64_t needed) const {
    auto *header = reinterpret_cast<metate_tree_header *>(block);
    uint32_t ok = METATE_OK;
    if (__atomic_compare_exchange_n(&header->status, &ok, uint32_t(METATE_E_CAPACITY), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      header->status_level = number;
    uint64_t known = __atomic_load_n(&header->status_needed, __ATOMIC_RELAXED);
    while (known < needed &&
           !__atomic_compare_exchange_n(&header->status_needed, &known, needed, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
  // The slot of a cell, activated; NULL when the pool is exhausted.
  char *activate(uint32_t number, int64_t i, int64_t j) const {
    uint32_t *at = &links[link(i, j)];
    uint32_t linked = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (linked)
      return slot(linked);
    uint32_t mine = take();
    if (!mine) {
      fail(number, pool->capacity + 1ull);
      return nullptr;
    }
    std::memcpy(slot(mine), slot(0), cellBytes);
    __atomic_store_n(record(mine) + 2, uint32_t(i / 5), __ATOMIC_RELAXED);
    __atomic_store_n(record(mine) + 3, uint32_t(j / 5), __ATOMIC_RELAXED);
    __atomic_store_n(record(mine), reinterpret_cast<metate_tree_header *>(block)->epoch,
                     __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(at, &linked, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      give(mine);
      return slot(linked);
    }
    uint64_t used = __atomic_add_fetch(&pool->used, 1u, __ATOMIC_RELAXED);
    __atomic_store_n(&reinterpret_cast<metate_tree_header *>(block)->changed, 1u, __ATOMIC_RELAXED);
    if (used > pool->capacity)
      fail(number, used);
    return slot(mine);
  }
};

// ab_aos: pointer -> dense -> {a: f32 at 0, b: vec3 f32 at 4}, 16 bytes an element.
constexpr uint64_t aosElement = 16;
Grid aos(void *tree) { return Grid(tree, 0, 0, 25 * aosElement); }

int32_t treeStatus(void *tree) {
  return int32_t(
      __atomic_load_n(&static_cast<metate_tree_header *>(tree)->status, __ATOMIC_RELAXED));
}

int32_t empty(const metate_slot *, void *const *, const metate_host *) { return METATE_OK; }

int32_t fill(const metate_slot *slots, void *const *, const metate_host *host) {
  Grid grid = aos(slots[0].p);
  float scale = slots[1].f;
  auto body = [&](int64_t n) -> int32_t {
    int64_t i = n / side, j = n % side;
    if ((i + j) % 7)
      return METATE_OK;
    if (char *slot = grid.activate(0, i, j)) {
      float value[4] = {scale * float(n), 1, 2, 3};
      std::memcpy(slot + Grid::inside(i, j) * aosElement, value, sizeof value);
    }
    return METATE_OK;
  };
  forEach(host, side * side, 1, body);
  return treeStatus(slots[0].p);
}

int32_t run1(const metate_slot *slots, void *const *, const metate_host *host) {
  Grid grid = aos(slots[0].p);
  for (uint32_t number = 1; number <= grid.pool->high_water; ++number) {
    uint32_t *record = grid.record(number);
    if (!record[0] || !host || !host->print)
      continue;
    for (int64_t inside = 0; inside < 25; ++inside) {
      float value[4];
      std::memcpy(value, grid.slot(number) + inside * int64_t(aosElement), sizeof value);
      metate_print_item items[12] = {};
      uint32_t count = 0;
      auto text = [&](const char *what) {
        items[count].kind = METATE_PRINT_TEXT;
        items[count++].value.text = what;
      };
      auto integer = [&](int64_t what) {
        items[count].kind = METATE_PRINT_I64;
        items[count++].value.i = what;
      };
      text("I= [");
      integer(int32_t(record[2]) * 5 + inside / 5);
      text(", ");
      integer(int32_t(record[3]) * 5 + inside % 5);
      text("]  a*b= [");
      for (int k = 1; k < 4; ++k) {
        items[count].kind = METATE_PRINT_F32;
        items[count++].value.d = double(value[0] * value[k]);
        text(k < 3 ? ", " : "]\n");
      }
      host->print(host->print_self, items, count);
    }
  }
  return METATE_OK;
}

int32_t axpy(const metate_slot *slots, void *const *, const metate_host *host) {
  const auto *x = static_cast<const float *>(slots[0].p);
  int64_t n = slots[1].i, step = slots[2].i;
  auto *y = static_cast<float *>(slots[3].p);
  int64_t ystep = slots[5].i;
  float s = slots[6].f;
  auto body = [&](int64_t i) -> int32_t {
    y[i * ystep] += s * x[i * step];
    return METATE_OK;
  };
  return forEach(host, n, 1, body);
}

int32_t checkPositive(const metate_slot *slots, void *const *, const metate_host *host) {
  const auto *x = static_cast<const int32_t *>(slots[0].p);
  for (int64_t i = 0; i < slots[1].i; ++i)
    if (x[i * slots[2].i] <= 0) {
      uint32_t ok = METATE_OK;
      if (host && host->failure &&
          __atomic_compare_exchange_n(&host->failure->code, &ok, uint32_t(METATE_E_ASSERT), false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        host->failure->text = 1;
      return METATE_E_ASSERT;
    }
  return METATE_OK;
}

int32_t echo(const metate_slot *slots, void *const *, const metate_host *) {
  auto *out = static_cast<double *>(slots[9].p);
  for (int k = 0; k < 3; ++k)
    out[k] = slots[k].f;
  for (int k = 3; k < 7; ++k)
    out[k] = slots[k].d;
  out[7] = double(slots[7].i);
  out[8] = double(slots[8].u);
  return METATE_OK;
}

// ab_soa: two pools, links of a at 0 and of b at 36; slots of 25 * 4 and 25 * 12 bytes.
int32_t copy(const metate_slot *slots, void *const *, const metate_host *host) {
  Grid from = aos(slots[0].p);
  Grid a(slots[1].p, 0, 0, 100), b(slots[1].p, 1, 36, 300);
  auto body = [&](int64_t n) -> int32_t {
    int64_t i = n / side, j = n % side, inside = Grid::inside(i, j);
    uint32_t number = from.links[Grid::link(i, j)];
    if (!number)
      return METATE_OK;
    const char *element = from.slot(number) + inside * int64_t(aosElement);
    if (char *slot = a.activate(0, i, j))
      std::memcpy(slot + inside * 4, element, 4);
    if (char *slot = b.activate(1, i, j))
      std::memcpy(slot + inside * 12, element + 4, 12);
    return METATE_OK;
  };
  forEach(host, side * side, 1, body);
  return treeStatus(slots[1].p);
}

int32_t total(const metate_slot *slots, void *const *, const metate_host *) {
  const auto *x = static_cast<const double *>(slots[0].p);
  double sum = 0;
  for (int64_t i = 0; i < slots[1].i; ++i)
    sum += x[i * slots[2].i];
  *static_cast<double *>(slots[3].p) = sum;
  return METATE_OK;
}

int32_t failWith(const metate_slot *slots, void *const *, const metate_host *) {
  return int32_t(slots[0].i);
}

// Fills its pools to their last byte: scratch has 1000 bytes and 8 for each of out, a worker's tile 40.
int32_t poolUser(const metate_slot *slots, void *const *pools, const metate_host *host) {
  auto *out = static_cast<uint64_t *>(slots[0].p);
  auto *scratch = static_cast<unsigned char *>(pools[0]),
       *tiles = static_cast<unsigned char *>(pools[1]);
  uint64_t bytes = 1000 + 8 * uint64_t(slots[1].i), workers = host->max_workers;
  std::memset(scratch, 7, bytes);
  std::memset(tiles, 9, 64 * workers);
  out[0] = reinterpret_cast<uintptr_t>(scratch);
  out[1] = reinterpret_cast<uintptr_t>(tiles);
  out[2] = workers;
  out[3] = scratch[bytes - 1];
  out[4] = tiles[64 * workers - 1];
  return METATE_OK;
}

} // namespace

extern "C" {
const metate_entry metate_test_entries[TEST_KERNELS] = {empty, fill, run1,  axpy,     checkPositive,
                                                        echo,  copy, total, failWith, poolUser};
}
