//===- MapGrid.h - one kernel to functions of a grid ------------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_MAPGRID_H
#define METATE_TARGET_GRID_MAPGRID_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Common/Abi.h"
#include "metate/Target/Common/Tasks.h"
#include "metate/Target/Grid/Table.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::grid {

using target::Code;
using target::KernelTypeConverter;
using target::LaunchedTask;

struct Bounds {
  llvm::SmallVector<mlir::Value> lower, upper;
};
/// How many iterations there are.
mlir::Value countOf(const Bounds &bounds, mlir::OpBuilder &builder, mlir::Location loc);

/// How the iterations of a deterministic task are shared out whose sums are rounded: iteration i is one of piece i % number, whatever
/// runs on the device. Each piece leaves its partial results; a function behind the task combines them in the pieces' order.
struct Pieces {
  static constexpr int64_t most = 4096;
  int64_t place = 0; ///< of the partial results in the frame: `most` numbers of 8 bytes for each
  unsigned partials = 0; ///< how many there are
  /// Bytes in the frame.
  int64_t bytes() const { return most * 8 * partials; }
};

/// What a task's body turned out to be.
struct BodyForm {
  bool showsOrder = false; ///< one invocation has to do all iterations of a deterministic kernel
  bool reduces = false;    ///< invocations have partial results
};

/// A step of what is done with all slots of a tree before or behind a task, by the protocol's function.
struct SlotStep {
  llvm::StringRef callee;
  int64_t level;
  std::optional<int64_t> flag;
  bool isShared; ///< each invocation has its share; else it is one worker's
};
/// The steps of a `metate.tree_call`; none: it is one worker's.
std::vector<SlotStep> slotSteps(TreeCallOp call);
/// One worker's step, before the call, which stays.
mlir::Operation *makeSerialStep(TreeCallOp call, const SlotStep &step);

class Bins;

/// Maps one kernel: functions of its tasks and of what stands between them take its place.
class KernelMapping {
public:
  KernelMapping(KernelOp kernel, KernelTypeConverter &converter, int64_t group,
                unsigned firstNumber)
      : kernel(kernel), converter(converter), group(group), number(firstNumber) {}

  /// May a task end the launch?
  static bool mayFailIn(KernelOp kernel);
  /// Adds the kernel to the table. `mayFail`: this one, or another one of the graph that runs it. On failure an error was said.
  mlir::LogicalResult run(bool mayFail, Table &table);
  unsigned nextNumber() const { return number; }

private:
  using Part = mlir::LLVM::LLVMFuncOp;

  mlir::LogicalResult refuseWhatHasNoMeaning();
  void dissolveSerialTasks();
  void findSlots();
  void findFlags();
  mlir::LogicalResult makeTasks();
  mlir::LogicalResult makeNodes(Table &table);
  /// Does what the operation gives follow from the arguments and what a launch does not change?
  bool isAnywhere(mlir::Value value);
  bool isAnywhere(mlir::Operation *op);

  /// What stands between two launches, as a function of one invocation.
  void makeSegment(llvm::ArrayRef<mlir::Operation *> ops);
  Part makeSegmentPart(llvm::ArrayRef<mlir::Operation *> ops);
  void makeTask(LaunchOp launch);
  /// The launch of a shared step.
  void makeSlotTask(TreeCallOp call, const SlotStep &step);
  /// Frees what a launch that failed gave up, and settles the trees that the kernel may have changed. `last`: what stands behind the last
  /// launch, which is done before, if nothing has failed.
  void makeCleanUp(llvm::ArrayRef<mlir::Operation *> last);
  /// `pieces`: of a deterministic kernel, else null; `form`: is told.
  /// `bins`: what the workgroup's memory takes, whose address is the context's last value.
  Part makeBody(const LaunchedTask &task, mlir::LLVM::LLVMStructType context, Pieces *pieces,
                BodyForm &form, Bins &bins);
  /// What stands behind it is done where no task before has failed.
  void enterIfGood(Code &code, mlir::Value frame);

  /// A function (slots, frame) that a driver launches; `fill` writes what it does where no task before it has failed (`always`: whether or
  /// not).
  Part makeFunction(mlir::Location loc, Task task, bool always,
                    llvm::function_ref<void(Code &, Part)> fill);
  Part createPart(mlir::Location loc, mlir::LLVM::LLVMFunctionType type);
  /// Calls a part and keeps its status.
  void callPart(Code &code, Part part, mlir::ValueRange operands, mlir::Value frame);
  /// Values of the kernel that the function uses are loaded, or computed anew, at its beginning.
  void localise(Part function, mlir::Value slots, mlir::Value frame);
  mlir::Value inPart(mlir::Value value, Code &code, mlir::Value slots, mlir::Value frame,
                     llvm::DenseMap<mlir::Value, mlir::Value> &known);
  int64_t placeOf(mlir::Value value);
  void storeFrameValues();

  /// Of the task's range, as values of the kernel.
  Bounds boundsOf(const LaunchedTask &task);
  std::vector<Step> iterationsOf(const LaunchedTask &task, const Bounds &bounds);
  /// At most as many invocations as each tree that may be activated has slack slots; null: no bound.
  mlir::Value mostInvocations(Code &code, const LaunchedTask &task);

  Kernel made;
  KernelOp kernel;
  KernelTypeConverter &converter;
  int64_t group;
  unsigned number;                             ///< of the next function
  llvm::SmallVector<unsigned> slots;           ///< the first one of each argument
  llvm::DenseMap<mlir::Value, int64_t> places; ///< in the frame
  llvm::DenseMap<mlir::Operation *, bool> anywhere;
  llvm::SmallVector<TreeCallOp> settled, collected;
  bool mayFail = false;
};

/// Calls a function that Support/Grid.c or the family brings; null: it gives nothing.
mlir::Value call(Code &code, mlir::ModuleOp module, llvm::StringRef name, mlir::Type result,
                 mlir::ValueRange operands);
/// The host that tasks see, which is in the frame.
mlir::Value hostOf(Code &code, mlir::Value frame);

/// Runs `fill` in one invocation.
void byOne(Code &code, mlir::ModuleOp module, llvm::function_ref<void()> fill);

/// In a body behind its loop: a piece's partial results, which begin at `begin`, are stored instead of being combined with their places.
/// Where there are no iterations, `begin` is `end`, those of all pieces are combined with them, in order.
void storePartials(mlir::OpBuilder &builder, llvm::ArrayRef<RmwOp> partials, mlir::Value frame,
                   const Pieces &pieces, mlir::Value begin, mlir::Value end, mlir::Value number);

/// Replaces a function's prints by records in the launch's ring; their statements go to `prints`.
void lowerPrints(mlir::Operation *function, mlir::Value host, std::vector<Print> &prints);

/// Atomics marked `metate.reduction` in the loop of an invocation accumulate in a value, which is combined with those of other invocations
/// behind it, and `reduces` is set. Gives those whose results are rounded and that are not combined yet, where `keepsRounded`.
llvm::SmallVector<RmwOp> gatherReductions(mlir::scf::ForOp loop, bool keepsRounded, bool &reduces);

} // namespace metate::grid

#endif
