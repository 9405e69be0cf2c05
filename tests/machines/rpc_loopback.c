/* A server in this process: what test_rpc.py gives it comes in by serve_receive, what it answers goes out by a function of the test's. */
#include "metate/rpc.h"
#include "service.h"

int32_t serve_open(size_t bytes, uint32_t frame_bytes, uint32_t most_values, uint32_t print_bytes,
                   metate_rpc_write write);
uint32_t serve_heard(void);
void serve_receive(const void *bytes, size_t count);

static metate_rpc server;
static _Alignas(64) unsigned char memory[1 << 18];

/* What the program names: constants, numbers that may be written, a tree. */
static const float table[4] = {1, 2, 3, 4};
static int32_t state[2][3];
static _Alignas(64) unsigned char cells[service_cells_BYTES];
static const int64_t four = 4, two_three[2] = {2, 3};
static const metate_rpc_named named[] = {
    {.name = "table",
     .value = {.kind = METATE_ARGUMENT_NDARRAY,
               .dtype = METATE_F32,
               .rank = 1,
               .data = (void *)(uintptr_t)table,
               .shape = &four},
     .flags = METATE_RPC_READ_ONLY},
    {.name = "state",
     .value = {.kind = METATE_ARGUMENT_NDARRAY,
               .dtype = METATE_I32,
               .rank = 2,
               .data = state,
               .shape = two_three}},
    {.name = "ours", .value = {.kind = METATE_ARGUMENT_TREE, .data = cells}, .bytes = sizeof cells},
};

/* The program's own sink: how many prints it has heard. */
static uint32_t heard;
static void hear(void *self, const metate_print_item *items, uint32_t count) {
  (void)self, (void)items;
  heard += count > 0;
}
static const metate_host hooks = {.struct_size = sizeof hooks, .max_workers = 1, .print = hear};
uint32_t serve_heard(void) { return heard; }

int32_t serve_open(size_t bytes, uint32_t frame_bytes, uint32_t most_values, uint32_t print_bytes,
                   metate_rpc_write write) {
  heard = 0;
  __builtin_memset(state, 0, sizeof state);
  service_cells_reset(cells, sizeof cells);
  return (int32_t)metate_rpc_open(
      &server, &(metate_rpc_options){.module = &service_module,
                                     .memory = memory,
                                     .bytes = bytes < sizeof memory ? bytes : sizeof memory,
                                     .frame_bytes = frame_bytes,
                                     .most_values = most_values,
                                     .write = write,
                                     .named = named,
                                     .named_count = sizeof named / sizeof *named,
                                     .host = &hooks,
                                     .print_bytes = print_bytes});
}

void serve_receive(const void *bytes, size_t count) { metate_rpc_receive(&server, bytes, count); }
