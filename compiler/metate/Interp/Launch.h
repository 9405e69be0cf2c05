//===- Launch.h - arguments of one launch -----------------------*- C++ -*-===//
//
// Takes a kernel's arguments out of the slots that every entry gets, runs a Machine over them, and
// puts the trees back.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_LAUNCH_H
#define METATE_INTERP_LAUNCH_H

#include "metate/Interp/Machine.h"
#include "metate/Interp/TreeBlock.h"
#include "metate/abi/module.h"

namespace metate::interp {

/// A kernel of the module with its record in the descriptor.
struct KernelRecord {
  KernelOp op;
  const metate_kernel_info *info = nullptr;
  const metate_argument_info *arguments = nullptr; ///< of the kernel
  const char *descriptor = nullptr;
  bool hasFloatAtomics = false;
};

class Differences;

class Launch {
public:
  Launch(const KernelRecord &kernel, const RuleTable &rules, const Checks &checks,
         const metate_slot *slots, const metate_host *host);
  Launch(const Launch &) = delete;

  /// Runs the kernel; twice, if the order of iterations is to be checked.
  void run();
  /// Puts what the kernel changed into the trees' blocks; a capacity status where a pool was
  /// exhausted.
  int32_t finish();

  Machine machine;
  /// The trees among the arguments, by their block.
  std::map<void *, std::unique_ptr<Tree>> trees;

private:
  void bindArgument(unsigned number, const metate_slot *slots);
  void bindArray(mlir::BlockArgument argument, const metate_argument_info &info,
                 const metate_slot *slots);
  void bindTree(mlir::BlockArgument argument, const metate_argument_info &info, void *block);
  std::string nameOf(unsigned number);
  /// The elements of each array that the kernel writes.
  using Contents = std::vector<std::vector<uint64_t>>;
  Contents contents() const;
  void restore(const Contents &contents);
  void compareOrders(const Contents &inOrder,
                     const std::map<void *, std::unique_ptr<Tree>> &ordered);
  void compareArrays(const Contents &inOrder, Differences &differences);
  void compareTrees(Tree &inOrder, Tree &other, Differences &differences);
  /// Up to the rounding of sums; `magnitude`: the greatest of the partial ones. `format`: of a quantised member.
  bool isSame(mlir::Type scalar, uint64_t a, uint64_t b, double magnitude,
              const std::optional<QuantFormat> &format = std::nullopt) const;

  KernelRecord kernel; ///< a copy: operations are handles, and asking them is not const
  std::deque<Array> arrays;
  llvm::DenseMap<mlir::Value, void *> blocks; ///< of tree arguments
  std::map<void *, const metate_tree_type *> types;
};

} // namespace metate::interp

#endif
