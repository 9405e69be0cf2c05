// metate-run bench: what a launch takes, as the median and the least of samples that last long enough to be measured.
#include "json.h"
#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace metate::tool {

namespace {

using Clock = std::chrono::steady_clock;

double secondsOf(const std::function<void()> &launch, uint64_t times) {
  auto start = Clock::now();
  for (uint64_t i = 0; i < times; ++i)
    launch();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Times {
  uint64_t launches = 0;           // of one sample
  std::vector<double> nanoseconds; // a launch, for each sample, in ascending order
  double median() const { return nanoseconds[nanoseconds.size() / 2]; }
};

/// At least nine samples of a hundredth of the time, or of one launch where that takes longer. The first launches warm up.
Times measure(const std::function<void()> &launch, double seconds) {
  launch();
  Times times;
  double one = std::max(secondsOf(launch, 1), 1e-9), sample = seconds / 100;
  times.launches = uint64_t(std::clamp(sample / one, 1.0, 1e9));
  double left = seconds;
  while (left > 0 || times.nanoseconds.size() < 9) {
    double took = secondsOf(launch, times.launches);
    left -= took;
    times.nanoseconds.push_back(took / double(times.launches) * 1e9);
  }
  std::sort(times.nanoseconds.begin(), times.nanoseconds.end());
  return times;
}

/// 0: nobody asks.
uint64_t elementsOf(const Options &options, const Session &session) {
  const std::string &text = options.elements;
  if (text.empty())
    return 0;
  if (text.find_first_not_of("0123456789") == std::string::npos && text.size() < 19 &&
      std::stoull(text))
    return std::stoull(text);
  auto input = session.inputs().find(text);
  if (input == session.inputs().end() || input->second.kind() != METATE_ARGUMENT_NDARRAY ||
      !input->second.elements().count())
    throw Error("--elements: expected a number, or the name of an array that is not empty, got '" +
                text + "'");
  return input->second.elements().count();
}

void showTime(double nanoseconds) {
  const char *units[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; nanoseconds >= 1000 && unit < 3; ++unit)
    nanoseconds /= 1000;
  std::printf("%.4g %s", nanoseconds, units[unit]);
}

} // namespace

int bench(const std::vector<std::string> &words) {
  Options options = parseOptions("bench", words);
  if (!options.expect.empty())
    throw Error("bench: --expect belongs to run, which launches a kernel once");
  Session session(options);
  // All but the last kernel make what the last one works on.
  for (size_t i = 0; i + 1 < options.kernels.size(); ++i)
    session.launcher(options.kernels[i])();
  const std::string &kernel = options.kernels.back();
  auto launch = session.launcher(kernel);
  session.requireAllUsed();
  uint64_t elements = elementsOf(options, session);
  Times times = measure(launch, options.seconds);
  double median = times.median(), least = times.nanoseconds.front();
  if (options.json) {
    Json json;
    json.object().pair("kernel", kernel).pair("threads", options.threads);
    json.pair("samples", uint64_t(times.nanoseconds.size()))
        .pair("launches_per_sample", times.launches);
    json.pair("median_ns", median).pair("min_ns", least).pair("max_ns", times.nanoseconds.back());
    if (elements)
      json.pair("elements", elements).pair("median_ns_per_element", median / double(elements));
    std::printf("%s\n", json.end().text().c_str());
    return 0;
  }
  std::printf("%s: median ", kernel.c_str());
  showTime(median);
  std::printf(", min ");
  showTime(least);
  if (elements)
    std::printf(", %.4g ns for each of %llu elements", median / double(elements),
                static_cast<unsigned long long>(elements));
  std::printf(" (%zu samples of %llu launches, %u thread%s)\n", times.nanoseconds.size(),
              static_cast<unsigned long long>(times.launches), options.threads,
              options.threads == 1 ? "" : "s");
  return 0;
}

} // namespace metate::tool
