// Fuzz target: the bytes of a .metate file. As they are, and once more with sizes and hashes made
// right, so that the checks behind the hash are reached; whatever opens is then described in every
// way there is. Code is mapped only when it is the test module's own: a payload that is the text
// `codeMark` stands for it, because mapping invented machine code could do anything.
#include "carriers.h"

#include <algorithm>
#include <cstddef>

using namespace metate;
using namespace metate::fuzz;
using test::Bytes;

namespace {

constexpr char codeMark[] = "metate fuzz code";
constexpr size_t markBytes = sizeof codeMark - 1;

const Bytes &testCode() {
  static const Bytes code = [] {
    Bytes file = test::readWhole(METATE_TEST_FILE);
    const auto *head = reinterpret_cast<const metate_carrier *>(file.data());
    const auto *section =
        reinterpret_cast<const metate_section *>(file.data() + head->section_offset) + 1;
    Bytes found;
    found.append(file.data() + section->offset, section->bytes);
    return found;
  }();
  return code;
}

struct File {
  Bytes bytes;
  metate_carrier *head = nullptr;
  metate_section *sections = nullptr; // those that are inside
  uint32_t count = 0;

  explicit File(const uint8_t *data, size_t size) {
    bytes.append(data, size);
    find();
  }
  void find() {
    count = 0;
    if (bytes.size() < sizeof(metate_carrier))
      return;
    head = bytes.at<metate_carrier>(0);
    sections = bytes.at<metate_section>(sizeof(metate_carrier));
    uint64_t most = (bytes.size() - sizeof(metate_carrier)) / sizeof(metate_section);
    count = uint32_t(std::min<uint64_t>(head->section_count, most));
  }
  uint8_t *sectionData(uint32_t index) { return bytes.data() + sections[index].offset; }
  bool inside(uint32_t index) const {
    return index < count && fits(sections[index].offset, sections[index].bytes, bytes.size());
  }
};

// Makes what the file holds right, from the inside out. Returns the descriptor or NULL.
metate_descriptor *sealInside(File &file) {
  if (!file.inside(0) || file.sections[0].offset % 8)
    return nullptr;
  return sealDescriptorAt(file.sectionData(0), file.sections[0].bytes);
}

// Puts the test module's code where the last section is the mark. The code's own copy of the
// descriptor's hash is made right too, or with `foreign`, left as it is: then it must be refused.
bool insertCode(File &file, const metate_descriptor &descriptor, bool foreign) {
  uint32_t last = file.count - 1;
  if (file.count < 2 || file.count != file.head->section_count || !file.inside(last) ||
      file.sections[last].bytes != markBytes ||
      std::memcmp(file.sectionData(last), codeMark, markBytes) != 0)
    return false;
  Bytes code = testCode();
  const metate_descriptor copy = descriptor;
  if (!foreign) {
    // What the code holds is the hash of the test module's descriptor.
    Bytes own = test::descriptor(test::testModuleSpec());
    uint8_t *hash = own.data() + offsetof(metate_descriptor, signature_hash);
    uint8_t *end = code.data() + code.size();
    for (uint8_t *at = code.data(); (at = std::search(at, end, hash, hash + 16)) != end; at += 16)
      std::memcpy(at, copy.signature_hash, 16);
  }
  uint64_t offset = file.bytes.append(code.data(), code.size(), 64);
  file.find();
  file.sections[last].offset = offset;
  file.sections[last].bytes = code.size();
  return true;
}

// Opens with code: refused, or every kernel has an entry. Nothing is launched but the kernel that
// takes nothing and does nothing, because the descriptor may tell lies about the others.
void map(const Host &device, const Bytes &file) {
  metate_module *module = nullptr;
  metate_status status =
      metate_module_open_bytes(device.get(), file.data(), file.size(), 0, &module);
  requireReason(status, "open with code");
  if (status != METATE_OK)
    return;
  auto info = sized<metate_module_info>();
  require(metate_module_describe(module, &info), "describe");
  if (info.variant >= info.variant_count)
    finding("code was mapped for no variant");
  for (uint32_t i = 0; i < info.kernel_count; ++i) {
    const metate_kernel *kernel = nullptr;
    require(metate_module_kernel_at(module, i, &kernel), "kernel_at");
    auto about = sized<metate_kernel_description>();
    require(metate_kernel_describe(kernel, &about), "kernel");
    metate_entry entry = nullptr;
    require(metate_kernel_direct(kernel, about.signature, &entry), "direct");
    if (!entry)
      finding("kernel %u has no entry", i);
    auto plan = sized<metate_plan>();
    if (i == 0 && about.argument_count == 0 && !metate_kernel_plan(kernel, nullptr, 0, &plan) &&
        plan.pool_count == 0)
      require(metate_kernel_launch(kernel, nullptr, 0), "launch of the empty kernel");
  }
  require(metate_module_close(module), "close");
}

} // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  silence();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Host device;
  static Tally tally;
  ++tally.inputs;
  uint64_t seed = seedOf(data, bytes);
  test::Exact exact(data, bytes);
  if (metate_module_verify(exact.data, exact.bytes) == METATE_OK)
    describe(device, File(data, bytes).bytes, seed);
  File file(data, bytes);
  if (!file.head)
    return 0;
  metate_descriptor *descriptor = sealInside(file);
  file.head->bytes = file.bytes.size();
  if (seed % 16)
    file.head->abi_version = METATE_ABI_VERSION;
  test::sealCarrier(file.bytes.data(), file.bytes.size());
  tally.accepted += describe(device, file.bytes, seed);
  if (descriptor && insertCode(file, *descriptor, seed % 4 == 0)) {
    file.head->bytes = file.bytes.size();
    test::sealCarrier(file.bytes.data(), file.bytes.size());
    map(device, file.bytes);
  }
  device.requireNoLeftovers();
  return 0;
}
