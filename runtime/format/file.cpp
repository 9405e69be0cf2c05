// Verification of .metate files (abi/metate/abi/module.h, "The carrier file").
#include "format/carrier.h"

#include "support/checked.h"
#include "support/hash.h"

#include <cstddef>
#include <cstring>

namespace metate {

static const metate_section *sectionsOf(const void *carrier) {
  const auto *head = static_cast<const metate_carrier *>(carrier);
  return reinterpret_cast<const metate_section *>(static_cast<const uint8_t *>(carrier) +
                                                  head->section_offset);
}

static Span spanOf(const void *carrier, const metate_section &section) {
  return {static_cast<const uint8_t *>(carrier) + section.offset, section.bytes};
}

static Span descriptorOf(const void *carrier, uint64_t) {
  return spanOf(carrier, sectionsOf(carrier)[0]);
}

static Span payloadOf(const void *carrier, uint64_t, uint32_t variant) {
  const auto *head = static_cast<const metate_carrier *>(carrier);
  for (uint32_t i = 1; i < head->section_count; ++i)
    if (sectionsOf(carrier)[i].index == variant)
      return spanOf(carrier, sectionsOf(carrier)[i]);
  return {};
}

static metate_status checkHead(const void *bytes, uint64_t count) {
  if (count < sizeof(metate_carrier))
    return fail(METATE_E_CORRUPT, "module file: expected at least %zu bytes, got %llu",
                sizeof(metate_carrier), static_cast<unsigned long long>(count));
  const auto *head = static_cast<const metate_carrier *>(bytes);
  if (head->magic != METATE_CARRIER_MAGIC)
    return fail(METATE_E_CORRUPT,
                "module file: wrong magic number: not a .metate file, and no shared object");
  // The hash before the version: a damaged file is damaged, whatever version it seems to be.
  if (head->bytes != count)
    return fail(METATE_E_CORRUPT, "module file: says %llu bytes, has %llu: truncated or extended",
                static_cast<unsigned long long>(head->bytes),
                static_cast<unsigned long long>(count));
  if (!(hashWithHole(bytes, count, offsetof(metate_carrier, hash)) == head->hash))
    return fail(METATE_E_CORRUPT, "module file: its hash does not match: the file is damaged");
  if (head->abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "module file: expected abi version %u, got %u: build it again",
                METATE_ABI_VERSION, head->abi_version);
  if (head->section_bytes != sizeof(metate_section) ||
      head->section_offset != sizeof(metate_carrier) || head->reserved[0] || head->reserved1 ||
      !inRange(head->section_offset, uint64_t(head->section_count) * sizeof(metate_section), count))
    return fail(METATE_E_CORRUPT, "module file: its section table is damaged");
  return METATE_OK;
}

// Sections ascend, so they cannot overlap each other or the table.
static metate_status checkSections(const void *bytes, uint64_t count) {
  const auto *head = static_cast<const metate_carrier *>(bytes);
  uint64_t end = head->section_offset + uint64_t(head->section_count) * sizeof(metate_section);
  for (uint32_t i = 0; i < head->section_count; ++i) {
    const metate_section &section = sectionsOf(bytes)[i];
    bool first = i == 0;
    if (section.kind != (first ? METATE_SECTION_DESCRIPTOR : METATE_SECTION_PAYLOAD))
      return fail(METATE_E_CORRUPT, "module file: section %u: kind %u does not belong there", i,
                  section.kind);
    if (section.offset % 64 || section.offset < end || section.reserved ||
        !inRange(section.offset, section.bytes, count))
      return fail(METATE_E_CORRUPT,
                  "module file: section %u is outside the file, misaligned or overlaps", i);
    end = section.offset + section.bytes;
  }
  if (head->section_count == 0)
    return fail(METATE_E_CORRUPT, "module file: it has no descriptor");
  return METATE_OK;
}

// One payload for each variant whose code is in the file, none for others.
static metate_status checkPayloads(const void *bytes, uint64_t count) {
  const auto *head = static_cast<const metate_carrier *>(bytes);
  Descriptor descriptor(descriptorOf(bytes, count).data);
  uint32_t variants = descriptor.header().variants.count;
  uint32_t expected = 0;
  for (uint32_t i = 0; i < variants; ++i)
    if (descriptor.variants()[i].format != METATE_FORMAT_IN_MEMORY) {
      ++expected;
      if (payloadOf(bytes, count, i).bytes == 0)
        return fail(METATE_E_CORRUPT, "module file: variant %u has no payload", i);
    }
  // With one payload found for each variant, an equal count leaves none over.
  if (head->section_count - 1 != expected)
    return fail(METATE_E_CORRUPT, "module file: expected %u payloads, has %u", expected,
                head->section_count - 1);
  return METATE_OK;
}

static metate_status verify(const void *bytes, uint64_t count) {
  METATE_TRY(checkHead(bytes, count));
  METATE_TRY(checkSections(bytes, count));
  Span descriptor = descriptorOf(bytes, count);
  METATE_TRY(verifyDescriptor(descriptor.data, descriptor.bytes));
  return checkPayloads(bytes, count);
}

static bool recognises(const void *bytes, uint64_t count) {
  uint64_t magic = 0;
  if (count >= sizeof magic)
    memcpy(&magic, bytes, sizeof magic);
  return magic == METATE_CARRIER_MAGIC;
}

const CarrierFormat fileFormat = {recognises, verify, descriptorOf, payloadOf};

} // namespace metate
