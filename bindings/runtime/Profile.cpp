#include "Profile.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace metate::python {

// 48 MiB of them.
static constexpr size_t keptEvents = 1 << 20;

metate_profiler Profile::hooks() {
  metate_profiler made{};
  made.self = this;
  made.launch = [](void *self, const metate_kernel *kernel, uint64_t begin, uint64_t end,
                   uint64_t bytes) {
    static_cast<Profile *>(self)->add(kernel, whole, 0, bytes, begin, end);
  };
  made.task = [](void *self, const metate_kernel *kernel, uint32_t task, uint32_t line,
                 int64_t iterations, uint64_t begin, uint64_t end) {
    static_cast<Profile *>(self)->add(kernel, task, line, uint64_t(iterations), begin, end);
  };
  return made;
}

void Profile::add(const metate_kernel *kernel, int64_t task, uint32_t line, uint64_t size,
                  uint64_t begin, uint64_t end) {
  metate_kernel_description info{};
  info.struct_size = sizeof info;
  if (metate_kernel_describe(kernel, &info) != METATE_OK)
    return;
  auto thread = uint32_t(syscall(SYS_gettid));
  std::lock_guard<std::mutex> lock(mutex);
  auto &[name, parts] = *names.try_emplace(info.name).first;
  Total &total = parts[task];
  if (total.count == 0)
    total.order = seen++;
  total.line = task == whole ? info.line : line;
  ++total.count;
  total.total += end - begin;
  total.least = std::min(total.least, end - begin);
  total.most = std::max(total.most, end - begin);
  if (task == whole)
    total.bytes += size;
  latest.push_back({&name, task, total.line, thread, size, begin, end});
  if (latest.size() > keptEvents) {
    latest.pop_front();
    ++lost;
  }
}

// Python objects are made without the lock: making one may run a program's code, which may launch.
uint64_t Profile::forgotten() const {
  std::lock_guard<std::mutex> lock(mutex);
  return lost;
}

nb::list Profile::totals() const {
  std::vector<std::tuple<uint64_t, std::string, int64_t, Total>> ordered;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &[name, parts] : names)
      for (const auto &[task, total] : parts)
        ordered.emplace_back(total.order, name, task, total);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const auto &a, const auto &b) { return std::get<0>(a) < std::get<0>(b); });
  nb::list found;
  for (const auto &[order, name, task, total] : ordered)
    found.append(nb::make_tuple(name, task, total.line, total.count, total.total, total.least,
                                total.most, total.bytes));
  return found;
}

nb::list Profile::events() const {
  std::vector<std::pair<std::string, Event>> copied;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Event &event : latest)
      copied.emplace_back(*event.kernel, event);
  }
  nb::list found;
  for (const auto &[name, event] : copied)
    found.append(nb::make_tuple(name, event.task, event.line, event.size, event.begin, event.end,
                                event.thread));
  return found;
}

void Profile::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  names.clear();
  latest.clear();
  lost = 0;
}

} // namespace metate::python
