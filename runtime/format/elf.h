// As much of ELF64's layout (System V ABI, "Object Files") as finding a section takes.
#ifndef METATE_RUNTIME_FORMAT_ELF_H
#define METATE_RUNTIME_FORMAT_ELF_H

#include <cstdint>

namespace metate::elf {

constexpr uint8_t magic[4] = {0x7f, 'E', 'L', 'F'};
enum { CLASS_64 = 2, LITTLE_ENDIAN_DATA = 1, VERSION_1 = 1 };
enum { SHARED_OBJECT = 3 };
enum { X86_64 = 62, AARCH64 = 183, RISCV = 243 };
enum { PROGBITS = 1 };

struct Header {
  uint8_t magic[4];
  uint8_t fileClass, data, version;
  uint8_t abi[9];
  uint16_t type, machine;
  uint32_t fileVersion;
  uint64_t entry, segments, sections; // offsets of their tables
  uint32_t flags;
  uint16_t headerBytes, segmentBytes, segmentCount, sectionBytes, sectionCount, names;
};
static_assert(sizeof(Header) == 64);

struct Section {
  uint32_t name, type;
  uint64_t flags, address, offset, bytes;
  uint32_t link, info;
  uint64_t align, entryBytes;
};
static_assert(sizeof(Section) == 64);

} // namespace metate::elf

#endif
