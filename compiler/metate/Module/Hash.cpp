//===- Hash.cpp - the formats' hash -----------------------------*- C++ -*-===//
#include "metate/Module/Hash.h"

#define XXH_INLINE_ALL
#include <cstring>
#include <xxhash.h>

void metate::sealWithHash(std::string &bytes, size_t hole) {
  std::memset(bytes.data() + hole, 0, 16);
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  const uint64_t halves[2] = {hash.low64, hash.high64};
  std::memcpy(bytes.data() + hole, halves, sizeof halves);
}

uint64_t metate::hashOf(const std::string &bytes) { return XXH3_128bits(bytes.data(), bytes.size()).low64; }
