//===- Cpu.h - CPUs as a family of targets ----------------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_CPU_H
#define METATE_TARGET_CPU_CPU_H

#include "metate/Emit/Architecture.h"
#include "metate/Emit/Machine.h"
#include "metate/Target/Target.h"

namespace metate {

/// The family "cpu": the architectures of Architectures.def, by name as parseMachine() reads it.
std::unique_ptr<TargetFamily> createCpuFamily();

namespace cpu {

/// A CPU. Its payloads are object files; a .metate file holds a shared object of them.
class CpuTarget : public Target {
public:
  CpuTarget(llvm::StringRef name, Machine machine) : Target(name), machine(std::move(machine)) {}

  llvm::StringRef family() const override;
  LayoutTuning layoutTuning(const Options &options) const override;
  void buildMap(mlir::OpPassManager &passes, const Options &options) const override;
  std::string problemAfterMap(mlir::Operation *op) const override;
  llvm::Error emit(mlir::ModuleOp module, const Options &options) const override;
  bool isExternal(llvm::StringRef symbol, Sanitizer sanitizer) const override;
  llvm::Error verifyPayload(PayloadOp payload,
                            llvm::ArrayRef<llvm::StringRef> entries) const override;
  llvm::Expected<Variant> variantOf(PayloadOp payload) const override;
  llvm::Expected<std::string> makeSection(PayloadOp payload,
                                          const SectionRequest &request) const override;
  llvm::Expected<std::vector<CodeFunction>> codeOf(PayloadOp payload) const override;
  bool isBare() const override { return architecture().isBare(); }
  bool hasObjects() const override { return true; }

private:
  const Architecture &architecture() const { return *architectureOf(machine); }
  /// AddressSanitizer and ThreadSanitizer follow accesses of at most 16 bytes.
  bool writesAround(const Options &options) const {
    return options.optLevel > 0 && options.sanitizer == Sanitizer::None && architecture().hasLanes;
  }

  Machine machine;
};

} // namespace cpu
} // namespace metate

#endif
