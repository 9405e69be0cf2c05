// Verification of modules in shared objects (abi/metate/abi/library.h). ELF is read with checks, and no more of it than
// where the one section is: the hash says that the rest is what the compiler wrote.
#include "format/carrier.h"
#include "format/elf.h"

#include "metate/abi/library.h"
#include "support/checked.h"
#include "support/hash.h"

#include <cstddef>
#include <cstring>

namespace metate {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ELF is read in the machine's byte order");

template <typename Record> static Record readAt(const uint8_t *bytes, uint64_t offset) {
  Record record;
  memcpy(&record, bytes + offset, sizeof record);
  return record;
}

static metate_status failLibrary(const char *problem) {
  return fail(METATE_E_CORRUPT, "shared object: %s", problem);
}

static elf::Section sectionAt(const uint8_t *bytes, uint32_t index) {
  return readAt<elf::Section>(bytes, readAt<elf::Header>(bytes, 0).sections +
                                         uint64_t(index) * sizeof(elf::Section));
}

static metate_status checkElf(const uint8_t *bytes, uint64_t count) {
  if (count < sizeof(elf::Header))
    return failLibrary("it is smaller than ELF's header");
  auto head = readAt<elf::Header>(bytes, 0);
  if (head.fileClass != elf::CLASS_64 || head.data != elf::LITTLE_ENDIAN_DATA ||
      head.version != elf::VERSION_1 || head.type != elf::SHARED_OBJECT)
    return failLibrary("expected a 64-bit little-endian one: an object or a program is no module");
  if (head.sectionBytes != sizeof(elf::Section) || head.names >= head.sectionCount ||
      !inRange(head.sections, uint64_t(head.sectionCount) * sizeof(elf::Section), count))
    return failLibrary("its section table is damaged");
  elf::Section names = sectionAt(bytes, head.names);
  if (!inRange(names.offset, names.bytes, count))
    return failLibrary("its section names are damaged");
  return METATE_OK;
}

// Of a file that passed checkElf: the section with the module; nothing when there is none, or a second one.
static Span sectionOf(const uint8_t *bytes, uint64_t count) {
  constexpr uint64_t nameBytes = sizeof METATE_LIBRARY_SECTION;
  auto head = readAt<elf::Header>(bytes, 0);
  elf::Section names = sectionAt(bytes, head.names);
  Span found;
  for (uint32_t i = 0; i < head.sectionCount; ++i) {
    elf::Section section = sectionAt(bytes, i);
    if (section.type != elf::PROGBITS || !inRange(section.name, nameBytes, names.bytes) ||
        memcmp(bytes + names.offset + section.name, METATE_LIBRARY_SECTION, nameBytes) != 0)
      continue;
    if (found.data || section.offset % 8 || section.bytes < sizeof(metate_library) ||
        !inRange(section.offset, section.bytes, count))
      return {};
    found = {bytes + section.offset, section.bytes};
  }
  return found;
}

static const metate_library &recordOf(const Span &section) {
  return *reinterpret_cast<const metate_library *>(section.data);
}

static metate_status checkRecord(const void *bytes, uint64_t count, const Span &section) {
  const metate_library &record = recordOf(section);
  // The hash before the version: a damaged file is damaged, whatever version it seems to be.
  if (record.magic != METATE_LIBRARY_MAGIC)
    return failLibrary("wrong magic number in section " METATE_LIBRARY_SECTION);
  if (record.bytes != count)
    return fail(METATE_E_CORRUPT, "shared object: says %llu bytes, has %llu: truncated or extended",
                static_cast<unsigned long long>(record.bytes),
                static_cast<unsigned long long>(count));
  auto start = uint64_t(section.data - static_cast<const uint8_t *>(bytes));
  if (!(hashWithHole(bytes, count, start + offsetof(metate_library, hash)) == record.hash))
    return failLibrary("its hash does not match: the file is damaged, or was changed after it was "
                       "built (strip it as it is "
                       "built)");
  if (record.abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "shared object: expected abi version %u, got %u: build it again",
                METATE_ABI_VERSION, record.abi_version);
  if (record.reserved || record.reserved1[0] || record.reserved1[1] ||
      record.descriptor_bytes != section.bytes - sizeof record)
    return failLibrary("section " METATE_LIBRARY_SECTION " is damaged");
  return METATE_OK;
}

// One target, and the machine that ELF names.
static metate_status checkTarget(const uint8_t *bytes, const Descriptor &descriptor) {
  uint16_t machine = readAt<elf::Header>(bytes, 0).machine;
  uint32_t arch = machine == elf::X86_64    ? METATE_ARCH_X86_64
                  : machine == elf::AARCH64 ? METATE_ARCH_AARCH64
                  : machine == elf::RISCV   ? METATE_ARCH_RISCV64
                                            : 0;
  if (descriptor.header().variants.count != 1 ||
      descriptor.variants()[0].format != METATE_FORMAT_SHARED_OBJECT ||
      descriptor.variants()[0].arch != arch)
    return failLibrary("its descriptor is not of one target, or of another machine than the file");
  return METATE_OK;
}

static bool isLibrary(const void *bytes, uint64_t count) {
  return count >= sizeof elf::magic && memcmp(bytes, elf::magic, sizeof elf::magic) == 0;
}

static Span libraryDescriptor(const void *bytes, uint64_t count) {
  Span section = sectionOf(static_cast<const uint8_t *>(bytes), count);
  return {section.data + sizeof(metate_library), section.bytes - sizeof(metate_library)};
}

static metate_status verifyLibrary(const void *bytes, uint64_t count) {
  const auto *data = static_cast<const uint8_t *>(bytes);
  METATE_TRY(checkElf(data, count));
  Span section = sectionOf(data, count);
  if (!section.data)
    return failLibrary("it has no section " METATE_LIBRARY_SECTION
                       " with a module in it: Metate has not made it, or it was changed");
  METATE_TRY(checkRecord(bytes, count, section));
  Span descriptor = libraryDescriptor(bytes, count);
  METATE_TRY(verifyDescriptor(descriptor.data, descriptor.bytes));
  return checkTarget(data, Descriptor(descriptor.data));
}

static Span libraryPayload(const void *bytes, uint64_t count, uint32_t) {
  return {static_cast<const uint8_t *>(bytes), count};
}

const CarrierFormat libraryFormat = {isLibrary, verifyLibrary, libraryDescriptor, libraryPayload};

} // namespace metate
