//===- Hash.cpp - the formats' hash -----------------------------*- C++ -*-===//
#include "metate/Module/Hash.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

static llvm::XXH128_hash_t hash128(const std::string &bytes) {
  return llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

void metate::sealWithHash(std::string &bytes, size_t hole) {
  std::memset(bytes.data() + hole, 0, 16);
  llvm::XXH128_hash_t hash = hash128(bytes);
  const uint64_t halves[2] = {hash.low64, hash.high64};
  std::memcpy(bytes.data() + hole, halves, sizeof halves);
}

uint64_t metate::hashOf(const std::string &bytes) { return hash128(bytes).low64; }
