//===- Workspace.h - what an interpreter's modules share --------*- C++ -*-===//
//
// Whose turn it is, and what kernels have written of trees. Launches take turns because an
// interpreted one reads a tree out of its block and writes it back at its end, and because its
// atomics are only atomic among its own iterations.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_WORKSPACE_H
#define METATE_INTERP_WORKSPACE_H

#include "metate/Interp/Launch.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace metate::interp {

class Workspace {
public:
  using Cells = std::map<int, std::unordered_set<Coordinates, HashCoordinates>>;

  /// Waits until no other thread has the turn. False if the host wants the launch to end before
  /// that. A thread that has the turn gets it again: a host's print may launch a kernel.
  bool take(const metate_host *host) {
    std::unique_lock<std::mutex> lock(mutex);
    while (depth && owner != std::this_thread::get_id()) {
      if (isInterrupted(host))
        return false;
      freed.wait_for(lock, std::chrono::milliseconds(10));
    }
    owner = std::this_thread::get_id();
    ++depth;
    return true;
  }
  void leave() {
    std::lock_guard<std::mutex> lock(mutex);
    if (!--depth)
      freed.notify_one();
  }

  /// With the turn: cells of the tree in `block` that kernels have written, at the begin of a
  /// launch. Another tree may have been in that memory before: of this one they are active.
  Cells &written(void *block, const Tree &tree) {
    auto &[resets, cells] = writes[block];
    if (std::exchange(resets, resetsOf(block)) != resetsOf(block))
      cells.clear();
    for (auto &[node, places] : cells)
      if (node >= int(tree.shape.nodes.size()) || !tree.shape.nodes[node].place)
        places.clear();
      else
        std::erase_if(places, [&, node = node](const Coordinates &at) {
          return at.size() != tree.shape.nodes[node].axes.size() || !tree.isActive(node, at);
        });
    return cells;
  }
  /// With the turn: what the launch has written.
  void add(const Launch &launch) {
    for (const auto &[block, tree] : launch.trees)
      for (const auto &[node, now] : tree->written)
        writes[block].second[node].insert(now.begin(), now.end());
  }

private:
  static uint64_t resetsOf(void *block) { return static_cast<metate_tree_header *>(block)->resets; }

  std::mutex mutex;
  std::condition_variable freed;
  std::thread::id owner; // guarded by mutex; of the turn, while depth is not zero
  unsigned depth = 0;    // guarded by mutex
  /// By block, with the block's number of resets then.
  std::map<void *, std::pair<uint64_t, Cells>> writes; // guarded by the turn
};

} // namespace metate::interp

#endif
