// Fuzz target: a module descriptor alone, opened with entries of this process. What is accepted is
// queried, its types are sized and bound, and every kernel is launched with arguments that its own
// description asks for. The entries look at each slot they were given and at all memory behind it.
#include "harness.h"
#include "probe.h"

#include <cstddef>

using namespace metate;
using namespace metate::fuzz;
using test::Bytes;

namespace {

void seal(Bytes &bytes) {
  auto *head = bytes.at<metate_descriptor>(0);
  head->abi_version = METATE_ABI_VERSION;
  head->bytes = uint32_t(bytes.size());
  for (uint32_t i = 0; i < head->types.count && i < 64; ++i) {
    uint64_t at = head->types.offset + uint64_t(i) * sizeof(metate_type_info);
    if (at + sizeof(metate_type_info) > bytes.size())
      break;
    metate_type_info type;
    std::memcpy(&type, bytes.data() + at, sizeof type);
    if (type.offset < sizeof(metate_descriptor) || type.bytes < sizeof(metate_tree_type) ||
        uint64_t(type.offset) + type.bytes > bytes.size())
      continue;
    metate_tree_type blob;
    std::memcpy(&blob, bytes.data() + type.offset, sizeof blob);
    blob.abi_version = METATE_ABI_VERSION;
    blob.bytes = type.bytes;
    std::memcpy(bytes.data() + type.offset, &blob, sizeof blob);
    test::sealType(bytes.data() + type.offset, type.bytes);
  }
  test::sealDescriptor(bytes.data(), bytes.size());
}

// Queries like the damage tests do, without launching what exercise() expects to have no code.
void query(const metate_module *module) {
  auto info = sized<metate_module_info>();
  require(metate_module_describe(module, &info), "describe");
  for (uint32_t i = 0; i < info.variant_count; ++i) {
    auto variant = sized<metate_variant_description>();
    require(metate_module_variant(module, i, &variant), "variant");
    touchText(variant.cpu);
    touchText(variant.features);
    touchText(variant.triple);
  }
  touchText(info.name);
  touchText(info.producer);
}

void useTypes(const metate_module *module, uint32_t count, test::Random &random) {
  for (uint32_t i = 0; i < count && i < 4; ++i) {
    const metate_type *type = nullptr;
    require(metate_module_type_at(module, i, &type), "type_at");
    requireEmpty(test::exercise(type, random));
  }
}

// Arguments as asked for must be accepted; with one thing wrong they must be refused.
void launchAll(const metate_module *module, uint32_t count, test::Random &random) {
  for (uint32_t i = 0; i < count && i < probeEntries; ++i) {
    const metate_kernel *kernel = nullptr;
    require(metate_module_kernel_at(module, i, &kernel), "kernel_at");
    auto about = sized<metate_kernel_description>();
    require(metate_kernel_describe(kernel, &about), "kernel");
    touchText(about.name);
    touchText(about.file);
    Arguments arguments;
    if (!arguments.fill(kernel, about, random))
      continue;
    Probe probe(kernel, about, arguments);
    bool isLarge = asksForMuch(planOf(kernel, arguments.list));
    metate_status status =
        metate_kernel_launch(kernel, arguments.list.data(), about.argument_count);
    if (status == METATE_E_OUT_OF_MEMORY && isLarge)
      continue;
    require(status, "launch");
    probe.requireRan();
    probe.failNext(random);
    probe.requireFailure(metate_kernel_launch(kernel, arguments.list.data(), about.argument_count));
    if (about.argument_count == 0)
      continue;
    arguments.spoil(uint32_t(random.below(about.argument_count)), random);
    status = metate_kernel_launch(kernel, arguments.list.data(), about.argument_count);
    if (status == METATE_OK)
      finding("kernel %u took a wrong argument", i);
    requireReason(status, "launch with a wrong argument");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const Host device;
  static Tally tally;
  ++tally.inputs;
  if (bytes < sizeof(metate_descriptor))
    return 0;
  Bytes sealed;
  sealed.append(data, bytes);
  seal(sealed);
  test::Exact exact(sealed.data(), sealed.size());
  uint32_t count = sealed.at<metate_descriptor>(0)->kernels.count;
  metate_module *module = nullptr;
  metate_status status =
      metate_module_open_static(device.get(), exact.data, exact.bytes, probeEntry,
                                count <= probeEntries ? count : probeEntries, &module);
  requireReason(status, "open_static");
  if (status == METATE_OK) {
    ++tally.accepted;
    auto info = sized<metate_module_info>();
    require(metate_module_describe(module, &info), "describe");
    test::Random random(seedOf(data, bytes));
    query(module);
    launchAll(module, info.kernel_count, random);
    useTypes(module, info.type_count, random);
    require(metate_module_close(module), "close");
  }
  device.requireNoLeftovers();
  return 0;
}
