// What the fuzz targets share: how a finding is reported, and a reader that turns bytes into
// choices. A target defines LLVMFuzzerTestOneInput; libFuzzer or replay.cpp calls it.
#ifndef METATE_TESTS_FUZZ_HARNESS_H
#define METATE_TESTS_FUZZ_HARNESS_H

#include "damage/damage.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
// libFuzzer's own mutations; only a custom mutator may call it.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

namespace metate::fuzz {

// Says what contradicted the contract and aborts, which is what libFuzzer calls a crash.
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void finding(const char *format, ...) {
  std::fprintf(stderr, "finding: ");
  va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  va_end(values);
  std::fprintf(stderr, "\n");
  std::abort();
}

inline void require(metate_status status, const char *what) {
  if (status != METATE_OK)
    finding("%s: %s: %s", what, metate_status_name(status), metate_last_error());
}

// A refusal must say which status and why.
inline void requireReason(metate_status status, const char *what) {
  if (status < METATE_OK || status > METATE_STATUS_LAST || status == METATE_E_INTERNAL)
    finding("%s: status %d", what, int(status));
  if (status != METATE_OK && !*metate_last_error())
    finding("%s: %s without a text", what, metate_status_name(status));
}

inline void requireEmpty(const std::string &problem) {
  if (!problem.empty())
    finding("%s", problem.c_str());
}

// The seed of the random choices that follow from an input: FNV-1a.
inline uint64_t seedOf(const uint8_t *data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ data[i]) * 0x100000001b3ull;
  return hash;
}

// Reads an input from its front; behind its end everything is zero.
class Choices {
public:
  Choices(const uint8_t *data, size_t bytes) : at(data), left(bytes) {}
  size_t remaining() const { return left; }
  const uint8_t *data() const { return at; }
  template <typename T> T take() {
    T value{};
    size_t count = left < sizeof value ? left : sizeof value;
    if (count)
      std::memcpy(&value, at, count);
    at += count;
    left -= count;
    return value;
  }
  uint32_t below(uint32_t bound) { return bound ? take<uint8_t>() % bound : 0; }

private:
  const uint8_t *at;
  size_t left;
};

// Gives one aligned little-endian field of [data, data + bytes) a value that readers forget to
// check, or another field's.
inline void mutateField(uint8_t *data, size_t bytes, size_t width, test::Random &random) {
  if (bytes < width)
    return;
  size_t offset = random.below(bytes / width) * width;
  uint64_t value = 0;
  std::memcpy(&value, data + offset, width);
  value = random.nasty(value);
  if (random.below(4) == 0)
    std::memcpy(&value, data + random.below(bytes / width) * width, width);
  std::memcpy(data + offset, &value, width);
}

// For inputs made of such fields: every other time one of them, otherwise libFuzzer's mutations.
inline size_t mutateFields(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
  test::Random random(seed);
  if (random.below(2))
    return LLVMFuzzerMutate(data, bytes, most);
  mutateField(data, bytes, size_t(1) << random.below(4), random);
  return bytes;
}

// How many inputs came through to the code behind the checks: said at the end of a run, because a
// target that refuses everything finds nothing.
struct Tally {
  uint64_t inputs = 0, accepted = 0;
  ~Tally() {
    std::fprintf(stderr, "%llu of %llu inputs were accepted\n",
                 static_cast<unsigned long long>(accepted),
                 static_cast<unsigned long long>(inputs));
  }
};

// One device for all inputs; every input must leave it without live objects. Its allocator refuses
// what no honest input needs, so that a run is not ended by the memory that an input asks for.
class Host {
public:
  static constexpr size_t mostBytes = size_t(64) << 20;
  static constexpr size_t mostAlign = 4096;

  Host() {
    auto hooks = metate::sized<metate_device_hooks>();
    const metate_allocator allocator = {nullptr, allocate, release};
    hooks.allocator = &allocator;
    const metate_print_sink sink = {nullptr, printed};
    hooks.print = &sink;
    require(metate_device_open(&hooks, &raw), "device");
  }
  ~Host() { metate_device_close(raw); }
  metate_device *get() const { return raw; }
  void requireNoLeftovers() const {
    auto info = metate::sized<metate_device_info>();
    require(metate_device_describe(raw, &info), "device");
    if (info.live_objects)
      finding("%u objects were left alive", info.live_objects);
  }

private:
  metate_device *raw = nullptr;

  static void printed(void *, const char *text, size_t bytes) {
    if (std::strlen(text) != bytes)
      finding("%zu printed bytes do not end where they say", bytes);
  }
  static void *allocate(void *, size_t bytes, size_t align) {
    void *place = nullptr;
    if (bytes > mostBytes || align > mostAlign)
      return nullptr;
    align = align < sizeof(void *) ? sizeof(void *) : align;
    return posix_memalign(&place, align, bytes ? bytes : 1) == 0 ? place : nullptr;
  }
  static void release(void *, void *place, size_t, size_t) { std::free(place); }
};

} // namespace metate::fuzz

#endif
