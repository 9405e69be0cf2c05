// What a device's launches took, kept for Python: totals of each kernel and task, and the latest events.
//
// Launches tell it without the GIL, from any thread. It must not call Python while they do.
#ifndef METATE_BINDINGS_RUNTIME_PROFILE_H
#define METATE_BINDINGS_RUNTIME_PROFILE_H

#include "Status.h"

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace metate::python {

class Profile {
public:
  static constexpr int64_t whole = -1; // instead of a task's number: the launch

  /// What libmetate tells this object.
  metate_profiler hooks();

  /// [(kernel, task, line, count, total, least, most, bytes)], in the order in which each was first seen; times in ns.
  nb::list totals() const;
  /// [(kernel, task, line, iterations or bytes, begin, end, thread)], the oldest first.
  nb::list events() const;
  /// Events that were forgotten, since too many came after them.
  uint64_t forgotten() const;
  void clear();

private:
  struct Total {
    uint32_t line = 0;
    uint64_t order = 0, count = 0, total = 0, least = ~uint64_t(0), most = 0, bytes = 0;
  };
  struct Event {
    const std::string *kernel; // of `names`
    int64_t task;
    uint32_t line, thread;
    uint64_t size, begin, end;
  };
  void add(const metate_kernel *kernel, int64_t task, uint32_t line, uint64_t size, uint64_t begin,
           uint64_t end);

  mutable std::mutex mutex; // guards everything below
  std::map<std::string, std::map<int64_t, Total>> names;
  std::deque<Event> latest;
  uint64_t lost = 0, seen = 0;
};

} // namespace metate::python

#endif
