//===- Pack.cpp - stage 8: descriptor and payloads to .metate ---*- C++ -*-===//
//
// Writes abi/metate/abi/module.h's carrier: header, section table, descriptor, what each target makes of its payload;
// each section at a multiple of 64.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
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

Expected<std::string> metate::pack(ModuleOp module, const TargetRegistry &targets,
                                   const PackOptions &options) {
  SmallVector<std::pair<PayloadOp, TargetPtr>> payloads;
  SmallVector<Variant> variants;
  for (PayloadOp payload : module.getOps<PayloadOp>()) {
    Expected<TargetPtr> target = targets.targetOf(payload);
    if (!target)
      return target.takeError();
    Expected<Variant> variant = (*target)->variantOf(payload);
    if (!variant)
      return variant.takeError();
    payloads.push_back({payload, *target});
    variants.push_back(std::move(*variant));
  }
  if (payloads.empty())
    return llvm::createStringError(
        "the module holds no payload: it has not been through stage emit");
  Expected<std::string> descriptor = buildDescriptor(module, variants);
  if (!descriptor)
    return descriptor;
  SmallVector<StringRef> entries = entryNames(module);
  SectionRequest request;
  request.entries = entries;
  std::memcpy(request.descriptorHash,
              descriptor->data() + offsetof(metate_descriptor, signature_hash),
              sizeof request.descriptorHash);
  request.strip = options.strip;
  SmallVector<std::string> contents = {*descriptor};
  for (auto &[payload, target] : payloads) {
    Expected<std::string> section = target->makeSection(payload, request);
    if (!section)
      return section;
    contents.push_back(std::move(*section));
  }
  return writeCarrier(contents);
}
