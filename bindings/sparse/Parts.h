// Work in parts, each by a thread of its own. What a part computes must not depend on how many there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <future>
#include <vector>

namespace metate::sparse {

/// Calls f(0) to f(count - 1) side by side; throws what one of them threw once all have ended.
template <typename F> void forParts(int64_t count, F f) {
  std::vector<std::future<void>> others;
  for (int64_t part = 1; part < count; ++part)
    // Where no thread can be made, the part waits until it is asked for.
    others.push_back(std::async(std::launch::async | std::launch::deferred, f, part));
  std::exception_ptr failed;
  auto guarded = [&](auto &&run) {
    try {
      run();
    } catch (...) {
      failed = std::current_exception();
    }
  };
  guarded([&] { f(int64_t(0)); });
  for (std::future<void> &other : others)
    guarded([&] { other.get(); });
  if (failed)
    std::rethrow_exception(failed);
}

/// How many parts pay for that much work: a thread takes tens of microseconds to start.
inline int64_t partsFor(int64_t work, int64_t least, int64_t threads) {
  return std::clamp<int64_t>(work / least, 1, std::max<int64_t>(threads, 1));
}

} // namespace metate::sparse
