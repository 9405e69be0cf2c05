//===- CellWindows.h - numbers side by side in each lane's cell -*- C++ -*-===//
//
// Of accesses in a loop's body: which lie side by side, in every iteration, so that 16 bytes of a cell are one load or store (CellWindows.cpp).
// The code of them: WidenedWindows.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_CELLWINDOWS_H
#define METATE_TARGET_CPU_CELLWINDOWS_H

#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Transforms/ByteAccess.h"

namespace metate::cpu {

/// Reads that may all be done where the first of them stands, or writes that may be done where the last one stands, of numbers of one type that are
/// known distances apart.
struct WindowGroup {
  bool isWrite;
  mlir::Type type;
  std::optional<int64_t> stride;                 ///< bytes from lane to lane, where they are known
  llvm::SmallVector<mlir::Operation *> accesses; ///< in the order of the body
  llvm::SmallVector<int64_t> positions;          ///< of each, in numbers, from the first one's
  llvm::SmallVector<int64_t> windows; ///< first positions: each number in them may be accessed

  int64_t size() const { return type.getIntOrFloatBitWidth() / 8; }
  /// Numbers of a window.
  int64_t numbers() const { return bytesOfWindow / size(); }
  bool isInWindow(int64_t position) const;

  static constexpr int64_t bytesOfWindow = 16;
};

/// The groups of a loop's body, not of its branches and loops: of all accesses whose lanes are neither one place, nor a row, nor members of
/// small cells. For arguments that do not overlap.
class CellWindows {
public:
  CellWindows(mlir::Block &body, const LaneAnalysis &analysis);

  /// Does any group have a window?
  bool any() const;
  /// Does any read go to places that memory says?
  bool anyGather() const;
  /// Does LLVM make vectors of the loop? It does if cells have few numbers and are written without gaps, and is then as fast.
  bool areTakenApart() const;
  /// Null where an access is none of a group's.
  const WindowGroup *groupOf(mlir::Operation *access) const { return groups.lookup(access); }
  /// Instructions, about, of the accesses.
  LaneCost cost(int64_t lanes) const;

private:
  struct Access {
    mlir::Operation *op;
    bool isWrite, isFree; ///< free: to be done in a group
    mlir::Type type;
    ByteAccess place;
    std::optional<int64_t> stride;
    WindowGroup *group = nullptr;
  };
  void collect(mlir::Block &body, const LaneAnalysis &analysis);
  bool joins(size_t next, const WindowGroup &group) const;
  static void cut(WindowGroup &group);

  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<std::unique_ptr<WindowGroup>> all;
  llvm::DenseMap<mlir::Operation *, WindowGroup *> groups;
};

} // namespace metate::cpu

#endif
