//===- Target.h - what targets that run grids answer alike ------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_TARGET_H
#define METATE_TARGET_GRID_TARGET_H

#include "metate/Target/Grid/Table.h"
#include "metate/Target/Target.h"

namespace metate::grid {

/// A target whose kernels run as grids: a family says how code becomes images.
class GridTarget : public Target {
public:
  using Target::Target;

  LayoutTuning layoutTuning(const Options &options) const override;
  void buildLayout(mlir::OpPassManager &passes, const Options &options) const override;
  void buildMap(mlir::OpPassManager &passes, const Options &options) const override;
  std::string problemAfterMap(mlir::Operation *op) const override;
  llvm::Error emit(mlir::ModuleOp module, const Options &options) const override;
  llvm::Expected<std::vector<CodeFunction>> codeOf(PayloadOp payload) const override;
  bool isExternal(llvm::StringRef, Sanitizer) const override { return false; }
  llvm::Error verifyPayload(PayloadOp payload,
                            llvm::ArrayRef<llvm::StringRef> entries) const override;
  llvm::Expected<std::string> makeSection(PayloadOp payload,
                                          const SectionRequest &request) const override;

protected:
  /// What stage emit makes of a module.
  struct Code {
    std::vector<Image> images;
    std::string constants;
  };
  virtual llvm::Expected<Code> compile(mlir::ModuleOp module, const Table &table,
                                       const Options &options) const = 0;
  /// What is known of the images' functions, in the table's order; the payload's own are sound.
  virtual llvm::Expected<std::vector<CodeFunction>> describe(const Contents &contents) const = 0;
  /// What a payload's operation says of the machine.
  struct Named {
    std::string triple, cpu, features;
  };
  virtual Named machine() const = 0;
  /// Invocations of a workgroup.
  virtual int64_t group() const { return 128; }
  /// Bytes that a task may have in the memory of a workgroup; 0: the family has none of it.
  virtual int64_t sharedBytes() const { return 0; }
  /// Are there atomic operations of 64 bits in that memory?
  virtual bool sharesWideNumbers() const { return true; }
  /// Invocations of a brick of a stencil's cells.
  virtual int64_t brick() const { return group(); }
  /// Invocations that it has work for at least: where there are more iterations, an invocation may take several cells of a stencil.
  virtual int64_t many() const { return int64_t(1) << 20; }
  /// Are there functions by which invocations side by side exchange numbers (metate_grid_across_*)?
  virtual bool exchangesNumbers() const { return false; }
  /// Does the device end loops by itself, so that each kernel may fail (METATE_GRID_LOOP_ENDED)?
  virtual bool endsLoops() const { return false; }
};

/// The sizes of an image's functions, by the symbols of an ELF file.
llvm::Expected<std::vector<CodeFunction>> sizesOf(const Contents &contents, const Image &image);

/// A family of such targets.
class GridFamily : public TargetFamily {
public:
  void registerDialects(mlir::DialectRegistry &registry) const override;
  void registerPasses() const override;
};

} // namespace metate::grid

#endif
