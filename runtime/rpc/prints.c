/* What kernels print, kept as it was said until the client asks for it: a formatter of numbers is the client's. */
#include "rpc/rpc.h"

static int is_text(const metate_print_item *item) {
  return item->kind == METATE_PRINT_TEXT || item->kind == METATE_PRINT_FORMAT;
}

/* Bytes of a print; more than UINT32_MAX: too many. */
static uint64_t bytes_of(const metate_print_item *items, uint32_t count) {
  uint64_t bytes = count > UINT16_MAX ? UINT32_MAX : 2;
  for (uint32_t k = 0; k < count; ++k) {
    uint64_t text = 0;
    while (is_text(&items[k]) && items[k].value.text[text])
      ++text;
    bytes += 1 + (is_text(&items[k]) ? text + 1 : 8);
  }
  return bytes;
}

static unsigned char *put(unsigned char *to, uint64_t value, uint32_t bytes) {
  for (uint32_t k = 0; k < bytes; ++k)
    *to++ = (unsigned char)(value >> 8 * k);
  return to;
}

static void write_print(unsigned char *to, const metate_print_item *items, uint32_t count) {
  to = put(to, count, 2);
  for (uint32_t k = 0; k < count; ++k) {
    to = put(to, items[k].kind, 1);
    if (!is_text(&items[k])) {
      to = put(to, items[k].value.u, 8);
      continue;
    }
    const char *text = items[k].value.text;
    do
      *to++ = (unsigned char)*text;
    while (*text++);
  }
}

/* Workers of the program's executor print at once; nothing that is dropped has something behind it that is kept. */
static void keep(metate_rpc *server, const metate_print_item *items, uint32_t count) {
  uint64_t bytes = bytes_of(items, count);
#ifndef METATE_ONE_THREAD
  while (__atomic_test_and_set(&server->print_lock, __ATOMIC_ACQUIRE))
    ;
#endif
  if (server->prints_dropped || bytes > server->options.print_bytes - server->print_used) {
    server->prints_dropped += server->prints_dropped < UINT32_MAX;
  } else {
    write_print(server->prints + server->print_used, items, count);
    server->print_used += (uint32_t)bytes;
  }
#ifndef METATE_ONE_THREAD
  __atomic_clear(&server->print_lock, __ATOMIC_RELEASE);
#endif
}

static void hear(void *self, const metate_print_item *items, uint32_t count) {
  metate_rpc *server = self;
  const metate_host *host = server->options.host;
  keep(server, items, count);
  if (host && host->print)
    host->print(host->print_self, items, count);
}

void metate_rpc_hear_prints(metate_rpc *server, metate_host *host) {
  if (!server->keeps_prints)
    return;
  host->print_self = server;
  host->print = hear;
}

void metate_rpc_forget_prints(metate_rpc *server) {
  server->print_used = server->prints_dropped = 0;
  server->keeps_prints = 0;
}

metate_status metate_rpc_prints(message *from) {
  metate_rpc *server = from->server;
  uint32_t most = metate_rpc_room(server) - 8;
  uint32_t count = server->print_used < most ? server->print_used : most;
  uint32_t left = server->print_used - count;
  metate_rpc_put(server, left ? 0 : server->prints_dropped, 4);
  metate_rpc_put(server, left, 4);
  metate_rpc_put_bytes(server, server->prints, count);
  __builtin_memmove(server->prints, server->prints + count, left);
  server->print_used = left;
  if (!left)
    server->prints_dropped = 0;
  return METATE_OK;
}
