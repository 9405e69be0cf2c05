//===- Target.h - what a target answers for ---------------------*- C++ -*-===//
//
// A target is a machine that code is made for, of a family (CPUs, ...) that knows how. It answers everything that the
// stages and carriers want to know of it, from stage layout on; whoever asks knows no family by name. Families are
// values in a registry, which who compiles is given: see Targets.h for the project's own.
//
// A family's folder is Target/NAME; it may use Target/Common and this file, never another family's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_TARGET_H
#define METATE_TARGET_TARGET_H

#include "metate/Dialect/Metate.h"
#include "metate/Options/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace metate {

struct CodeFunction;

/// Of iterations in the order of where they add, of hosts whose programs' memory is counted in gigabytes: fifteen million
/// particles of three dimensions, say, which take as much themselves.
inline constexpr int64_t mostOrderBytes = int64_t(1) << 30;

/// What stage layout fits to a target: the options of its passes that say what pays there.
struct LayoutTuning {
  int64_t tileBytes = 0;     ///< a copy of a leaf with its halo, at most
  int64_t rowBytes = 0;      ///< a row that is read whole, at most
  int64_t unrolledParts = 0; ///< of a tile that are filled by code of their own, at most
  int64_t notedCells = 0;    ///< of a leaf whose deactivations are noted on the stack, at most
  int64_t copiesBytes = 0;   ///< of what a loop adds to, a copy for each piece of it, at most
  int64_t orderBytes = 0;    ///< of iterations in the order of where they add, at most
  int64_t streamedOrder =
      -1; ///< bytes of an order that is written around the caches, at least; less than 0: none is
  int64_t addsToOrder = 16; ///< of an iteration that is put in order, at least
  int64_t addsPerCell = 8;  ///< of a piece, to each number of its copy, at least
  int64_t leastAdds = 0;    ///< of a piece
  int64_t leastPlaces = 0;  ///< that a loop takes of lists and that are counted beforehand
  int64_t ownRowBytes = 0; ///< of rows that are an iteration's own and become local arrays, at most
  int64_t usesOfOwnRow = 4; ///< for each access that copies such a row, at least
  bool rows = true;         ///< may rows be read whole?
  bool fullLeaves = true;   ///< have loops over leaves with bits a version for those that are full?
  bool ownWrites = true;    ///< may tiles hold cells that other iterations write meanwhile?
};

/// What a payload asks of its machine: a variant of the descriptor (abi/metate/abi/module.h), as a value.
struct Variant {
  uint32_t arch = 0;   ///< METATE_ARCH_*
  uint32_t level = 0;  ///< of an architecture that has levels, from 1; else 0
  uint32_t format = 0; ///< METATE_FORMAT_*: what makeSection() gives
  std::string cpu;
  /// Beyond the level, comma-separated; a host reads the list up to the first that it lacks.
  std::string features;
  std::string triple;
};

/// What makeSection() may need besides the payload.
struct SectionRequest {
  llvm::ArrayRef<llvm::StringRef> entries; ///< in the order of the descriptor's kernels
  uint64_t descriptorHash[2] = {0, 0};
  bool strip = false; ///< drop symbols and line tables
};

/// What makeSource() joins with a payload.
struct SourceParts {
  llvm::StringRef entries; ///< of a static carrier, as bitcode (Module/Static.h)
  llvm::StringRef support; ///< what these call, as C (Module/SupportSource.h)
  llvm::StringRef name;    ///< the header beside it is `name`.h
};

/// One target. A value: nothing in it changes.
class Target {
public:
  explicit Target(llvm::StringRef name) : ownName(name.str()) {}
  virtual ~Target();

  /// As the user has written it; dumps from stage layout on are named `<stage>.<name>`.
  llvm::StringRef name() const { return ownName; }
  /// The family's name, which its payloads carry.
  virtual llvm::StringRef family() const = 0;

  virtual LayoutTuning layoutTuning(const Options &options) const = 0;
  /// Adds the target's own passes of stage layout, which see members of trees; what follows makes bytes of them.
  virtual void buildLayout(mlir::OpPassManager &, const Options &) const {}
  /// Adds the passes of stage map: from tasks to the target's own execution model.
  virtual void buildMap(mlir::OpPassManager &passes, const Options &options) const = 0;
  /// Why the operation may not be there after stage map; empty: it may.
  virtual std::string problemAfterMap(mlir::Operation *op) const = 0;

  /// Stage emit: replaces the code of a module that has left stage map by one `metate.payload` of this family. What
  /// describes the module (interfaces, named types, texts) stays. On failure the module is left as it was.
  virtual llvm::Error emit(mlir::ModuleOp module, const Options &options) const = 0;
  /// The allow-list: may code leave this symbol to its host?
  virtual bool isExternal(llvm::StringRef symbol, Sanitizer sanitizer) const = 0;
  /// Holds after emit: the payload has all entries and leaves nothing undefined but externals.
  virtual llvm::Error verifyPayload(PayloadOp payload,
                                    llvm::ArrayRef<llvm::StringRef> entries) const = 0;

  /// What the descriptor says of a payload of this family.
  virtual llvm::Expected<Variant> variantOf(PayloadOp payload) const = 0;
  /// Stage pack: the bytes of the payload's section in a .metate file. They depend on the arguments alone.
  virtual llvm::Expected<std::string> makeSection(PayloadOp payload,
                                                  const SectionRequest &request) const = 0;
  /// The payload's functions, for readers. None: nothing is known of them.
  virtual llvm::Expected<std::vector<CodeFunction>> codeOf(PayloadOp payload) const;
  /// Are payloads object files that a host's own linker and this process can take?
  virtual bool hasObjects() const { return false; }
  /// Have its machines no system? There is one thread, and programs bring what code needs.
  virtual bool isBare() const { return false; }
  /// The target whose payloads are source for such machines.
  virtual std::string sourceTarget() const { return isBare() ? "c:bare" : "c"; }
  /// Are payloads source, for a host's own compiler?
  virtual bool hasSource() const { return false; }
  /// Of such a payload: the source of its kernels and of a static carrier's entries.
  virtual llvm::Expected<std::string> makeSource(PayloadOp payload, const SourceParts &parts) const;

private:
  std::string ownName;
};

using TargetPtr = std::shared_ptr<const Target>;

/// A row of what `metate targets` lists.
struct ListedTarget {
  std::string name;
  std::string what;     ///< "64-bit Arm, ARMv8-A"
  std::string carriers; ///< "metate, so, o, a"
};

/// Targets of one kind: their names, and the way back from a payload.
class TargetFamily {
public:
  virtual ~TargetFamily();
  /// "cpu": the first part of what users write, where they name the family (`cpu:x86-64-v3`), and the family of payloads.
  virtual llvm::StringRef name() const = 0;
  /// Names that users may write, as an error lists them: "native, x86-64, ...".
  virtual llvm::StringRef expectedNames() const = 0;
  /// The targets that have a name of their own, for users who look for one.
  virtual std::vector<ListedTarget> list() const { return {}; }
  /// The target that a user means by `name`; null if the name says nothing to this family. An error: it is one of this
  /// family's, and wrong.
  virtual llvm::Expected<TargetPtr> parse(llvm::StringRef name) const = 0;
  /// A target of this family that answers for the payload.
  virtual llvm::Expected<TargetPtr> targetOf(PayloadOp payload) const = 0;
  /// What its stages need in a context.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  /// Its passes, for metate-opt.
  virtual void registerPasses() const = 0;
};

/// The families that a compiler has.
class TargetRegistry {
public:
  /// Names are asked in the order of adding.
  void add(std::unique_ptr<TargetFamily> family) { families.push_back(std::move(family)); }
  /// The target of a name that the user has written.
  llvm::Expected<TargetPtr> parse(llvm::StringRef name) const;
  llvm::Expected<TargetPtr> targetOf(PayloadOp payload) const;
  std::vector<ListedTarget> list() const;
  void registerDialects(mlir::DialectRegistry &registry) const;
  void registerPasses() const;

private:
  std::vector<std::unique_ptr<TargetFamily>> families;
};

} // namespace metate

#endif
