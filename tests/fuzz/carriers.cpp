#include "carriers.h"

#include "metate-run/common.h"

#include <cstddef>

namespace metate::fuzz {

metate_descriptor *sealDescriptorAt(uint8_t *start, uint64_t size) {
  if (size < sizeof(metate_descriptor))
    return nullptr;
  auto *descriptor = reinterpret_cast<metate_descriptor *>(start);
  uint32_t offset = descriptor->types.offset;
  for (uint32_t i = 0; i < descriptor->types.count && i < 64; ++i) {
    uint64_t record = offset + uint64_t(i) * sizeof(metate_type_info);
    if (!fits(record, sizeof(metate_type_info), size))
      break;
    metate_type_info type;
    std::memcpy(&type, start + record, sizeof type);
    if (fits(type.offset, type.bytes, size) && type.bytes >= sizeof(metate_tree_type) &&
        type.offset >= sizeof(metate_descriptor)) {
      std::memcpy(start + type.offset + offsetof(metate_tree_type, bytes), &type.bytes, 4);
      const uint32_t version = METATE_ABI_VERSION;
      std::memcpy(start + type.offset + offsetof(metate_tree_type, abi_version), &version, 4);
      test::sealType(start + type.offset, type.bytes);
    }
  }
  descriptor->bytes = uint32_t(size);
  descriptor->abi_version = METATE_ABI_VERSION;
  test::sealDescriptor(start, size);
  return descriptor;
}

bool describe(const Host &device, const test::Bytes &bytes, uint64_t seed) {
  test::Exact file(bytes.data(), bytes.size());
  metate_module *module = nullptr;
  metate_status status = metate_module_open_bytes(device.get(), file.data, file.bytes,
                                                  METATE_MODULE_QUERY_ONLY, &module);
  requireReason(status, "open");
  if ((metate_module_verify(file.data, file.bytes) == METATE_OK) != (status == METATE_OK))
    finding("verify and open disagree: %s", metate_last_error());
  if (status != METATE_OK)
    return false;
  test::Random random(seed);
  requireEmpty(test::exercise(module, random));
  require(metate_module_close(module), "close");
  tool::File shown;
  shown.bytes = file.bytes;
  shown.words.resize(file.bytes / 8 + 1);
  std::memcpy(shown.words.data(), file.data, file.bytes);
  tool::showModule(shown);
  tool::moduleAsJson(shown);
  return true;
}

void silence() {
  if (!std::freopen("/dev/null", "w", stdout))
    finding("/dev/null cannot be opened");
}

} // namespace metate::fuzz
