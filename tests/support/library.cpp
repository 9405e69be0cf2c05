// A module as a shared object without code (abi/metate/abi/library.h): ELF's header, the one section that libmetate looks for,
// the sections' names and their table.
#include "library.h"

#include "metate/abi/library.h"

#include <cstddef>
#include <cstring>
#include <elf.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace metate::test {

static Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t offset, uint64_t bytes,
                          uint64_t align) {
  Elf64_Shdr made{};
  made.sh_name = name;
  made.sh_type = type;
  made.sh_offset = offset;
  made.sh_size = bytes;
  made.sh_addralign = align;
  return made;
}

Bytes library(const Bytes &descriptor, uint16_t machine) {
  static constexpr char names[] = "\0" METATE_LIBRARY_SECTION "\0.shstrtab";
  constexpr uint32_t own = 1, ofNames = 1 + sizeof METATE_LIBRARY_SECTION;
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_machine = machine;
  head.e_version = EV_CURRENT;
  head.e_ehsize = sizeof head;
  head.e_shentsize = sizeof(Elf64_Shdr);
  metate_library record{};
  record.magic = METATE_LIBRARY_MAGIC;
  record.abi_version = METATE_ABI_VERSION;
  record.descriptor_bytes = descriptor.size();
  Bytes file;
  file.append(&head, sizeof head);
  const size_t start = file.append(&record, sizeof record, 64);
  file.append(descriptor.data(), descriptor.size());
  const size_t text = file.append(names, sizeof names);
  const Elf64_Shdr sections[] = {
      {},
      section(own, SHT_PROGBITS, start, sizeof record + descriptor.size(), 64),
      section(ofNames, SHT_STRTAB, text, sizeof names, 1)};
  const size_t table = file.append(sections, sizeof sections, 8);
  auto *made = file.at<Elf64_Ehdr>(0);
  made->e_shoff = table;
  made->e_shnum = std::size(sections);
  made->e_shstrndx = 2;
  sealLibrary(file.data(), file.size(), start);
  return file;
}

void sealLibrary(uint8_t *file, size_t bytes, size_t record) {
  auto *own = reinterpret_cast<metate_library *>(file + record);
  own->bytes = bytes;
  own->hash[0] = own->hash[1] = 0;
  const XXH128_hash_t hash = XXH3_128bits(file, bytes);
  own->hash[0] = hash.low64;
  own->hash[1] = hash.high64;
}

size_t findLibrary(const uint8_t *file, size_t bytes) {
  const uint64_t magic = METATE_LIBRARY_MAGIC;
  for (size_t at = 0; at + sizeof(metate_library) <= bytes; at += 8)
    if (std::memcmp(file + at, &magic, sizeof magic) == 0)
      return at;
  return bytes;
}

} // namespace metate::test
