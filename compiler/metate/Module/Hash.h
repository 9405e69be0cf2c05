//===- Hash.h - the formats' hash -------------------------------*- C++ -*-===//
//
// XXH3-128, seed 0, of bytes that hold their own hash: the 16 bytes at `hole` are read as zero and
// then overwritten, {low64, high64}.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_HASH_H
#define METATE_MODULE_HASH_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace metate {

/// Writes the hash of `bytes` into its hole.
void sealWithHash(std::string &bytes, size_t hole);

/// The low half of the hash of all bytes.
uint64_t hashOf(const std::string &bytes);

} // namespace metate

#endif
