//===- WriteLog.h - who wrote what in a launch ------------------*- C++ -*-===//
//
// The latest write of each place, an array's element or one component of a member, and the latest
// one by another iteration of the same loop. Machine judges them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_WRITELOG_H
#define METATE_INTERP_WRITELOG_H

#include "metate/Interp/Objects.h"

namespace metate::interp {

struct Write {
  mlir::Operation *op = nullptr; ///< null: there is none
  uint64_t loop = 0;             ///< parallel loops are counted from 1; 0: outside of them
  uint64_t iteration = 0;
  uint64_t bits = 0;
  bool isAtomic = false;
};

struct WriteRecord {
  Write last, other;          ///< `other` is of an iteration of the same loop
  Coordinates variables;      ///< of the last one's iteration, if it is in a loop
  double magnitude = 0;       ///< the greatest that atomics left here
  bool isConflicting = false; ///< a conflict was found here
};

class WriteLog {
public:
  /// The record of a place, made at its first write.
  WriteRecord &operator[](const void *element) { return elements[element]; }
  WriteRecord &operator()(const Tree &tree, int node, const Coordinates &at, unsigned component) {
    return cells[keyOf(tree, node, at, component)];
  }
  /// An empty record where nothing was written.
  WriteRecord find(const void *element) const {
    auto found = elements.find(element);
    return found == elements.end() ? WriteRecord() : found->second;
  }
  WriteRecord find(const Tree &tree, int node, const Coordinates &at, unsigned component) const {
    auto found = cells.find(keyOf(tree, node, at, component));
    return found == cells.end() ? WriteRecord() : found->second;
  }

private:
  static Coordinates keyOf(const Tree &tree, int node, const Coordinates &at, unsigned component) {
    Coordinates key{int64_t(reinterpret_cast<intptr_t>(&tree)), node, component};
    key.append(at);
    return key;
  }

  std::unordered_map<const void *, WriteRecord> elements;
  std::unordered_map<Coordinates, WriteRecord, HashCoordinates> cells;
};

} // namespace metate::interp

#endif
