// Which variant of a module runs: the driver judges each, the best one is taken.
#include "driver/driver.h"

#include <cstdio>

namespace metate {

metate_status chooseVariant(const Driver &driver, const void *self, const Descriptor &descriptor,
                            uint32_t *variant) {
  uint32_t count = descriptor.header().variants.count;
  uint32_t best = METATE_NONE;
  uint64_t bestRank = 0;
  char reasons[512] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Verdict verdict = driver.judge(self, descriptor, i, /*inProcess=*/false);
    if (*verdict.reason) {
      int wrote =
          snprintf(reasons + used, sizeof reasons - used, "%svariant %u (%s): %s", used ? "; " : "",
                   i, descriptor.text(descriptor.variants()[i].cpu), verdict.reason);
      if (wrote > 0)
        used = used + size_t(wrote) < sizeof reasons ? used + size_t(wrote) : sizeof reasons - 1;
      continue;
    }
    if (best == METATE_NONE || verdict.rank > bestRank) {
      best = i;
      bestRank = verdict.rank;
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

metate_status checkVariant(const Driver &driver, const void *self, const Descriptor &descriptor,
                           uint32_t variant) {
  Verdict verdict = driver.judge(self, descriptor, variant, /*inProcess=*/true);
  if (!*verdict.reason)
    return METATE_OK;
  return fail(
      METATE_E_UNSUPPORTED,
      "module '%s' is linked for %s, which this machine cannot run: %s: build it for this CPU",
      descriptor.text(descriptor.header().name),
      descriptor.text(descriptor.variants()[variant].cpu), verdict.reason);
}

} // namespace metate
