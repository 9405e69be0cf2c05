// Decoding a ring. Its words come from a device: what is no statement ends it.
#include "driver/grid/prints.h"

#include <cstdio>
#include <cstring>

namespace metate::grid {

void Prints::clear() {
  if (words)
    memory.release(memory.self, words, bytes(), alignof(uint32_t));
  words = nullptr;
  count = lost = 0;
}

metate_status Prints::allocate(uint32_t taken) {
  clear();
  uint32_t held = taken < ringWords ? taken : ringWords;
  if (!held)
    return METATE_OK;
  words = static_cast<uint32_t *>(
      memory.allocate(memory.self, held * sizeof(uint32_t), alignof(uint32_t)));
  if (!words)
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused memory for what a kernel printed");
  count = held;
  lost = taken - held;
  return METATE_OK;
}

static bool takesValue(uint32_t kind) {
  return kind != METATE_PRINT_TEXT && kind != METATE_PRINT_FORMAT;
}

// The word behind the statement; `at` itself where there is none.
uint32_t Prints::deliverOne(const Section &section, const metate_host &host, uint32_t at,
                            metate_print_item *items) const {
  if (count - at < 2 || words[at] >= section.header().prints.count)
    return at;
  const metate_grid_print &print = section.prints()[words[at]];
  uint32_t values = words[at + 1];
  if (values > (count - at - 2) / 2)
    return at;
  const uint32_t *next = words + at + 2, *end = next + 2 * values;
  for (uint32_t i = 0; i < print.part_count; ++i) {
    const metate_grid_part &part = section.parts()[print.first_part + i];
    items[i] = {};
    items[i].kind = part.kind;
    if (!takesValue(part.kind)) {
      items[i].value.text = section.text(part.text);
      continue;
    }
    if (next == end)
      return at;
    items[i].value.u = next[0] | uint64_t(next[1]) << 32;
    next += 2;
  }
  if (next != end)
    return at;
  host.print(host.print_self, items, print.part_count);
  return uint32_t(end - words);
}

void Prints::deliver(const Payload &payload, const metate_host &host) {
  if (!count)
    return;
  size_t bytes = (payload.mostParts() + 1) * sizeof(metate_print_item);
  void *place = memory.allocate(memory.self, bytes, alignof(metate_print_item));
  auto *items = static_cast<metate_print_item *>(place);
  for (uint32_t at = 0, next = 0; items && at < count; at = next) {
    next = deliverOne(payload.section(), host, at, items);
    if (next == at)
      break;
  }
  if (items)
    memory.release(memory.self, items, bytes, alignof(metate_print_item));
  if (!lost)
    return;
  char text[96];
  snprintf(text, sizeof text, "(%llu bytes of what the kernel printed did not fit)\n",
           static_cast<unsigned long long>(lost) * sizeof(uint32_t));
  metate_print_item item{METATE_PRINT_TEXT, 0, {text}};
  host.print(host.print_self, &item, 1);
}

} // namespace metate::grid
