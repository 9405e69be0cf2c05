// Choosing and loading CPU code. Nothing of a payload is interpreted here: the system's loader maps
// it, after the file's hash matched, and the symbol it exports must name this very descriptor.
#include "driver/cpu/driver.h"

#include <cstdio>
#include <cstring>

namespace metate::cpu {

namespace {

// Why a variant cannot run here; "" when it can. `features` counts what it asks beyond its level.
struct Verdict {
  char reason[160] = "";
  uint32_t features = 0;
};

// Instrumented code calls its sanitizer's runtime, which a process has from its start or not at all.
// False when the feature is none of these.
bool checkSanitizer(const char *name, size_t size, Verdict *verdict) {
  constexpr size_t prefix = sizeof METATE_FEATURE_SANITIZER - 1;
  if (size <= prefix || memcmp(name, METATE_FEATURE_SANITIZER, prefix) != 0)
    return false;
  const char *which = name + prefix;
  int length = int(size - prefix);
  bool here = (length == 6 && memcmp(which, "thread", 6) == 0 && os::hasSymbol("__tsan_init")) ||
              (length == 7 && memcmp(which, "address", 7) == 0 && os::hasSymbol("__asan_init"));
  if (!here && !*verdict->reason)
    snprintf(verdict->reason, sizeof verdict->reason,
             "its code is instrumented for the %.*s sanitizer, which is not in this process (build "
             "the host with -fsanitize=%.*s)",
             length, which, length, which);
  return true;
}

// `lenient`: a feature that is not known here may be there.
void checkFeatures(const Machine &machine, const char *list, bool lenient, Verdict *verdict) {
  while (*list) {
    size_t length = strcspn(list, ",");
    const char *name = list;
    size_t size = length;
    if (size && *name == '+') {
      ++name;
      --size;
    }
    bool sanitizer = checkSanitizer(name, size, verdict);
    Has has = size && !sanitizer ? hasFeature(machine, name, size) : Has::yes;
    if (has != Has::yes && !(lenient && has == Has::unknown) && !*verdict->reason)
      snprintf(verdict->reason, sizeof verdict->reason, "%s %.*s",
               has == Has::no ? "this CPU lacks" : "this libmetate does not know the feature",
               int(size), name);
    verdict->features += size != 0;
    list += length + (list[length] == ',');
  }
}

Verdict judge(const Machine &machine, const Descriptor &descriptor, uint32_t index,
              bool inProcess) {
  const metate_variant_info &variant = descriptor.variants()[index];
  Verdict verdict;
  if (!inProcess && variant.format != METATE_FORMAT_SHARED_OBJECT)
    snprintf(verdict.reason, sizeof verdict.reason, "its code is not in the file");
  else if (variant.arch != machine.arch)
    snprintf(verdict.reason, sizeof verdict.reason, "it is for another architecture (%u)",
             variant.arch);
  else if (variant.level > machine.level)
    snprintf(verdict.reason, sizeof verdict.reason, "it needs x86-64-v%u, this CPU is x86-64-v%u",
             variant.level, machine.level);
  else
    checkFeatures(machine, descriptor.text(variant.features), inProcess, &verdict);
  return verdict;
}

} // namespace

metate_status choose(const Machine &machine, const Descriptor &descriptor, uint32_t *variant) {
  uint32_t count = descriptor.header().variants.count;
  uint32_t best = METATE_NONE;
  Verdict bestVerdict;
  char reasons[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Verdict verdict = judge(machine, descriptor, i, /*inProcess=*/false);
    const metate_variant_info &info = descriptor.variants()[i];
    if (*verdict.reason) {
      int wrote = snprintf(reasons + used, sizeof reasons - used, "%svariant %u (%s): %s",
                           used ? "; " : "", i, descriptor.text(info.cpu), verdict.reason);
      if (wrote > 0)
        used = used + size_t(wrote) < sizeof reasons ? used + size_t(wrote) : sizeof reasons - 1;
      continue;
    }
    bool better = best == METATE_NONE || info.level > descriptor.variants()[best].level ||
                  (info.level == descriptor.variants()[best].level &&
                   verdict.features > bestVerdict.features);
    if (better) {
      best = i;
      bestVerdict = verdict;
    }
  }
  if (best == METATE_NONE)
    return fail(METATE_E_UNSUPPORTED,
                "module '%s' has no variant that this machine can run: %s: build it for this CPU, "
                "or open it with METATE_MODULE_QUERY_ONLY",
                descriptor.text(descriptor.header().name), count ? reasons : "it has none");
  *variant = best;
  return METATE_OK;
}

metate_status check(const Machine &machine, const Descriptor &descriptor, uint32_t variant) {
  Verdict verdict = judge(machine, descriptor, variant, /*inProcess=*/true);
  if (!*verdict.reason)
    return METATE_OK;
  return fail(
      METATE_E_UNSUPPORTED,
      "module '%s' is linked for %s, which this machine cannot run: %s: build it for this CPU",
      descriptor.text(descriptor.header().name),
      descriptor.text(descriptor.variants()[variant].cpu), verdict.reason);
}

metate_status load(const Descriptor &descriptor, Span payload, Code *code) {
  Code loaded;
  METATE_TRY(os::load(payload.data, payload.bytes, &loaded.object));
  const metate_descriptor &head = descriptor.header();
  const auto *found =
      static_cast<const metate_payload *>(os::symbol(loaded.object, METATE_PAYLOAD_SYMBOL));
  const char *problem = nullptr;
  if (!found)
    problem = "it does not export " METATE_PAYLOAD_SYMBOL;
  else if (found->magic != METATE_PAYLOAD_MAGIC || found->abi_version != METATE_ABI_VERSION)
    problem = "its payload record is of another version";
  else if (found->descriptor_hash[0] != head.signature_hash[0] ||
           found->descriptor_hash[1] != head.signature_hash[1])
    problem = "it was compiled for another descriptor";
  else if (found->kernel_count != head.kernels.count || (found->kernel_count && !found->entries))
    problem = "it has another number of kernels";
  if (problem) {
    os::unload(&loaded.object);
    return fail(METATE_E_CORRUPT, "the code of module '%s': %s", descriptor.text(head.name),
                problem);
  }
  loaded.entries = found->entries;
  *code = loaded;
  return METATE_OK;
}

} // namespace metate::cpu
