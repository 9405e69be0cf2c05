//===- Machine.h - one launch of one kernel, being interpreted --*- C++ -*-===//
//
// Values of the operations run so far, the iteration at hand, and what was noticed. Rules (Rules.h)
// say what an operation does with it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_MACHINE_H
#define METATE_INTERP_MACHINE_H

#include "metate/Interp/Duals.h"
#include "metate/Interp/Interpreter.h"
#include "metate/Interp/NanTrace.h"
#include "metate/Interp/WriteLog.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <random>

namespace metate::interp {

/// Does the host want the launch to end?
bool isInterrupted(const metate_host *host);

class Machine;
using Rule = void (*)(Machine &, mlir::Operation *);
/// By the operation's name.
using RuleTable = llvm::DenseMap<mlir::TypeID, Rule>;

class Machine {
public:
  Machine(KernelOp kernel, const RuleTable &rules, const Checks &checks, const metate_host *host)
      : kernel(kernel), checks(checks), host(host), rules(rules),
        stack(static_cast<const char *>(__builtin_frame_address(0))) {}

  //===-- values ------------------------------------------------------------===//

  const Components &components(mlir::Value value) const { return scalars.find(value)->second; }
  llvm::SmallVector<Components> components(mlir::ValueRange values) const {
    return llvm::map_to_vector(values, [&](mlir::Value value) { return components(value); });
  }
  uint64_t bits(mlir::Value value) const { return components(value)[0]; }
  int64_t integer(mlir::Value value) const {
    return signedOf(bits(value), widthOf(value.getType()));
  }
  Coordinates indices(mlir::ValueRange values) const;
  void set(mlir::Value value, Components components) { scalars[value] = std::move(components); }
  void set(mlir::Value value, uint64_t bits) { scalars[value] = Components{bits}; }
  Array &array(mlir::Value value) const { return *arrays.find(value)->second; }
  Tree &tree(mlir::Value value) const { return *trees.find(value)->second; }
  void bind(mlir::Value value, Array *array) { arrays[value] = array; }
  void bind(mlir::Value value, Tree *tree) { trees[value] = tree; }
  /// Gives an argument of a kernel that a graph runs what the graph has as `value`; an array under the kernel's name for it.
  void pass(mlir::Value value, mlir::Value argument, llvm::StringRef name);
  /// A local array, alive until the iteration, of a parallel or a serial loop, ends.
  Array &makeLocal(mlir::MemRefType type);
  /// An array in memory that is the machine's.
  Array &makeRoom(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, mlir::Type element);
  size_t localCount() const { return locals.size(); }
  /// Ends all but the first `count` of them.
  void dropLocals(size_t count) { locals.resize(count); }

  //===-- control -----------------------------------------------------------===//

  /// Runs a block with these arguments; returns its terminator, whose operands then have values.
  /// The caller looks at stopped() first.
  mlir::Operation *run(mlir::Block &block, llvm::ArrayRef<Components> arguments = {});
  /// Runs the rule of one operation.
  void apply(mlir::Operation *op);
  /// Gives each of `results` the value of the terminator's operand.
  void yield(mlir::ValueRange results, mlir::OperandRange operands);
  bool stopped() const { return status != METATE_OK; }
  /// Ends the launch.
  void stop(int32_t code) { status = status == METATE_OK ? code : status; }
  int32_t statusCode() const { return status; }
  /// Ends the launch if the host wants it to.
  bool interrupted();

  //===-- calls -------------------------------------------------------------===//

  /// Values of what stands in a function that has not ended, while a call inside it runs it anew.
  struct Kept {
    llvm::SmallVector<std::pair<mlir::Value, Components>> scalars;
    llvm::SmallVector<std::pair<mlir::Value, Array *>> arrays;
  };
  Kept keep(mlir::Operation *function);
  void restore(Kept &&kept);
  /// Is there stack for one more call?
  bool hasRoom() const;
  llvm::DenseMap<mlir::Operation *, unsigned> running; ///< functions that have not ended

  //===-- parallel tasks ----------------------------------------------------===//

  /// Runs `body` for each of `count` iterations, in order or, for a second opinion, shuffled.
  /// `at` tells an iteration's variables.
  void forEachIteration(uint64_t count, llvm::function_ref<Coordinates(uint64_t)> at,
                        llvm::function_ref<void(const Coordinates &)> body);

  //===-- what is noticed ---------------------------------------------------===//

  /// An assert's message with holes for values, as metate_failure has it; a host fills them in.
  struct Shown {
    std::string message;
    std::vector<uint64_t> values;
  };

  /// A finding; ends the launch if findings do.
  void report(llvm::StringRef kind, mlir::Operation *op, const llvm::Twine &message,
              int32_t code = METATE_E_ASSERT, const Shown &shown = {});
  /// A finding about an iteration that is over.
  void reportLater(llvm::StringRef kind, mlir::Operation *op, const Coordinates &variables,
                   const llvm::Twine &message);
  /// Counts one more of a finding that the operation has already, so that its message need not be
  /// made again.
  bool isKnown(llvm::StringRef kind, mlir::Operation *op);
  /// Notes a write of an array's element or a member's component; reports a conflict.
  void noteWrite(mlir::Operation *op, const Array &array, llvm::ArrayRef<int64_t> indices,
                 uint64_t bits, bool isAtomic);
  void noteWrite(mlir::Operation *op, Tree &tree, int node, const Coordinates &coordinates,
                 const Components &value, bool isAtomic, std::optional<unsigned> component = {});

  KernelOp kernel;
  Checks checks;
  const metate_host *host;
  std::vector<Finding> findings;
  std::string detail;                 ///< the text of what stopped the launch
  std::vector<uint64_t> detailValues; ///< what its holes show, if it has any
  bool isSilent = false;              ///< prints and findings are left out: the second opinion
  /// What stopped the second opinion, where, and in which iteration.
  std::tuple<mlir::Operation *, std::string, Coordinates> otherEnd;
  std::optional<Duals> duals; ///< of a kernel that stands for its forward derivative
  NanTrace nans;              ///< for `nan`
  WriteLog writes;            ///< for `conflict` and `order`
  /// Goes on after the second opinion was stopped.
  void resume() { status = METATE_OK; }
  std::mt19937_64 *shuffle = nullptr;
  /// Cells written by earlier launches, by block and node; for `unwritten-read`.
  std::map<int, std::unordered_set<Coordinates, HashCoordinates>> *writtenBefore(Tree &tree);
  std::map<const Tree *, std::map<int, std::unordered_set<Coordinates, HashCoordinates>> *> history;

private:
  void noteWrite(mlir::Operation *op, WriteRecord &record, uint64_t bits, bool isAtomic,
                 llvm::function_ref<std::string()> place, mlir::Type shown);
  std::string describe(const Write &write, mlir::Type shown, mlir::Operation *here) const;
  Finding *known(llvm::StringRef kind, mlir::FileLineColLoc place);

  const RuleTable &rules;
  llvm::DenseMap<mlir::Value, Components> scalars;
  llvm::DenseMap<mlir::Value, Array *> arrays;
  llvm::DenseMap<mlir::Value, Tree *> trees;
  std::deque<Array> locals;
  std::deque<std::vector<uint8_t>> rooms; // of graphs' own arrays, which several kernels see
  llvm::DenseMap<mlir::Value, std::unique_ptr<Array>> passed; ///< to kernels of a graph
  int32_t status = METATE_OK;
  bool isParallel = false;
  const char *stack = nullptr; ///< where the launch's stack begins, about
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> valuesIn; ///< of a function
  uint64_t loops = 0; ///< parallel ones that have begun
  uint64_t iteration = 0;
  Coordinates variables;                                                  ///< of the iteration
  const llvm::function_ref<Coordinates(uint64_t)> *variablesOf = nullptr; ///< any of the loop's
  llvm::DenseMap<std::pair<mlir::Operation *, const char *>, size_t> reported;
};

/// What to say of indices that Python would count from the end.
llvm::StringRef hintFor(llvm::ArrayRef<int64_t> indices);
/// `x[1, 2]`, `f.a[1, 2]`.
std::string placeText(llvm::StringRef name, llvm::ArrayRef<int64_t> indices);
/// `(4,)`, `(3, 4)`, as NumPy has it.
std::string shapeText(llvm::ArrayRef<int64_t> extents);
/// `f.a[1, 2]`, `f.a[1, 2][0]` for a component of a vector.
std::string placeText(const Tree &tree, int node, llvm::ArrayRef<int64_t> at,
                      std::optional<unsigned> component = {});
/// A scalar of a member's value.
std::string show(const Tree &tree, int node, uint64_t bits);
/// `x[1, 2]`, `x[1][2]` for a component, `the returned value`.
std::string placeText(const Array &array, llvm::ArrayRef<int64_t> indices);

} // namespace metate::interp

#endif
