// What this host gives to libmetate: an allocator that counts, and threads of its own. A host with a job
// system or an arena would plug those in here; libmetate has neither.
#ifndef METATE_DEMO_HOST_HOOKS_HPP
#define METATE_DEMO_HOST_HOOKS_HPP

#include "metate/metate.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace demo {

// Counts every byte that is allocated through it, now and at most.
class CountingAllocator {
public:
  void *allocate(std::size_t bytes, std::size_t align) {
    void *pointer = std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (pointer)
      most = std::max(most.load(), now += bytes);
    return pointer;
  }
  void release(void *pointer, std::size_t bytes) {
    now -= bytes;
    std::free(pointer);
  }
  std::size_t bytes() const { return now; }
  std::size_t peak() const { return most; }

private:
  std::atomic<std::size_t> now = 0, most = 0;
};

// Memory of one tree, from the counting allocator.
class TreeMemory {
public:
  TreeMemory(CountingAllocator &allocator, std::size_t bytes, std::size_t align)
      : allocator(&allocator), start(allocator.allocate(bytes, align)), count(bytes) {
    if (!start)
      throw std::bad_alloc();
  }
  TreeMemory(TreeMemory &&other) noexcept
      : allocator(other.allocator), start(std::exchange(other.start, nullptr)), count(other.count) {
  }
  TreeMemory &operator=(TreeMemory &&) = delete;
  ~TreeMemory() {
    if (start)
      allocator->release(start, count);
  }
  std::byte *data() { return static_cast<std::byte *>(start); }
  std::size_t size() const { return count; }

private:
  CountingAllocator *allocator;
  void *start;
  std::size_t count;
};

// metate_parallel_for on threads that are started for each call: simple, and cheap enough for tasks of
// milliseconds. Chunks are handed out by a shared counter.
inline int32_t parallelFor(void *, int64_t count, int64_t grain, uint32_t maxWorkers,
                           metate_task_body body, void *context) {
  int64_t workers = std::max(1u, std::thread::hardware_concurrency());
  if (maxWorkers)
    workers = std::min<int64_t>(workers, maxWorkers);
  int64_t chunk = std::max<int64_t>({grain, 1, count / (workers * 16)});
  workers = std::min(workers, (count + chunk - 1) / chunk);
  std::atomic<int64_t> next = 0;
  std::atomic<int32_t> status = METATE_OK;
  auto work = [&](uint32_t worker) {
    for (int64_t begin; status == METATE_OK && (begin = next.fetch_add(chunk)) < count;)
      if (int32_t failed = body(context, begin, std::min(begin + chunk, count), worker))
        status = failed;
  };
  std::vector<std::thread> threads;
  for (int64_t worker = 1; worker < workers; ++worker)
    threads.emplace_back(work, uint32_t(worker));
  work(0);
  for (std::thread &thread : threads)
    thread.join();
  return status;
}

} // namespace demo
#endif
