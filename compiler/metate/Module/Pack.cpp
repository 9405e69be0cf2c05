//===- Pack.cpp - stage 8: descriptor and payloads to .metate ---*- C++ -*-===//
//
// Writes abi/metate/abi/module.h's carrier: header, section table, descriptor, one shared object a
// variant, each section at a multiple of 64.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Emit/Link.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Module/Hash.h"
#include "metate/Module/Module.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace metate;
using llvm::Expected;

/// The carrier's bytes; section 0 is the descriptor, the others are payloads in the variants'
/// order.
static std::string writeCarrier(ArrayRef<std::string> contents) {
  metate_carrier head = {};
  head.magic = METATE_CARRIER_MAGIC;
  head.abi_version = METATE_ABI_VERSION;
  head.section_count = uint32_t(contents.size());
  head.section_offset = sizeof head;
  head.section_bytes = sizeof(metate_section);
  uint64_t end = sizeof head + contents.size() * sizeof(metate_section);
  SmallVector<metate_section> sections;
  for (auto [k, content] : llvm::enumerate(contents)) {
    metate_section section = {};
    section.kind = k ? METATE_SECTION_PAYLOAD : METATE_SECTION_DESCRIPTOR;
    section.index = k ? uint32_t(k - 1) : 0;
    section.offset = llvm::alignTo(end, 64);
    section.bytes = content.size();
    end = section.offset + section.bytes;
    sections.push_back(section);
  }
  head.bytes = end;
  std::string bytes(end, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, sections.data(),
              sections.size() * sizeof(metate_section));
  for (auto [section, content] : llvm::zip_equal(sections, contents))
    std::memcpy(bytes.data() + section.offset, content.data(), content.size());
  sealWithHash(bytes, offsetof(metate_carrier, hash));
  return bytes;
}

Expected<std::string> metate::pack(ModuleOp module, const PackOptions &options) {
  if (module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds no payload: it has not been through stage emit");
  Expected<std::string> descriptor = buildDescriptor(module, METATE_FORMAT_SHARED_OBJECT);
  if (!descriptor)
    return descriptor;
  SmallVector<StringRef> entries;
  for (InterfaceOp op : module.getOps<InterfaceOp>())
    entries.push_back(op.getEntry());
  SmallVector<std::string> contents = {*descriptor};
  for (PayloadOp payload : module.getOps<PayloadOp>()) {
    SmallVector<StringRef> objects = payload.getObjectFiles();
    PayloadParts parts = {};
    parts.triple = payload.getTriple();
    parts.objects = objects;
    parts.entries = entries;
    std::memcpy(parts.descriptorHash,
                descriptor->data() + offsetof(metate_descriptor, signature_hash),
                sizeof parts.descriptorHash);
    parts.sanitizer = *parseSanitizer(payload.getSanitizer().value_or(""));
    parts.strip = options.strip;
    Expected<std::string> linked = linkPayload(parts);
    if (!linked)
      return linked;
    contents.push_back(std::move(*linked));
  }
  return writeCarrier(contents);
}
