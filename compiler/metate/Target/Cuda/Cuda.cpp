//===- Cuda.cpp - NVIDIA's GPUs as a family of targets ----------*- C++ -*-===//
#include "metate/Target/Cuda/Cuda.h"

#include "metate/Emit/Disassembly.h"
#include "metate/Target/Cuda/Ptx.h"
#include "metate/Target/Grid/Target.h"
#include "metate/abi/module.h"

using namespace metate;
using namespace metate::grid;
using llvm::Expected;

static constexpr llvm::StringLiteral familyName = "cuda", realPrefix = "sm_",
                                     virtualPrefix = "compute_";
static constexpr unsigned leastCapability = 80;

namespace {
struct CudaTarget : GridTarget {
  CudaTarget(llvm::StringRef name, unsigned capability, bool isReal)
      : GridTarget(name), capability(capability), isReal(isReal) {}

  llvm::StringRef family() const override { return familyName; }
  Named machine() const override {
    return {"nvptx64-nvidia-cuda",
            (isReal ? realPrefix : virtualPrefix).str() + std::to_string(capability), ""};
  }

  // All workgroups that a multiprocessor holds have them at once: 12 of 100 KiB with capability 8.6, 16 of 164 and more with others.
  int64_t sharedBytes() const override { return 8 << 10; }
  bool exchangesNumbers() const override { return true; }

  Expected<Code> compile(mlir::ModuleOp module, const Table &table,
                         const Options &options) const override {
    Expected<std::string> ptx = cuda::makePtx(module, table, capability, options);
    if (!ptx)
      return ptx.takeError();
    Code code;
    if (isReal) {
      Expected<cuda::Assembled> assembled = cuda::assemble(*ptx, capability);
      if (!assembled)
        return assembled.takeError();
      if (!assembled->cubin.empty())
        code.images.push_back({METATE_GRID_CUBIN, capability, std::move(assembled->cubin)});
    }
    std::string text = std::move(*ptx);
    text.push_back('\0');
    code.images.push_back({METATE_GRID_PTX, capability, std::move(text)});
    return code;
  }

  Expected<std::vector<CodeFunction>> describe(const Contents &contents) const override {
    return cuda::describe(contents, capability);
  }

  Expected<Variant> variantOf(PayloadOp payload) const override {
    Variant variant;
    variant.arch = METATE_ARCH_CUDA;
    variant.level = capability;
    variant.format = METATE_FORMAT_GRID;
    variant.cpu = payload.getCpu().str();
    variant.triple = payload.getTriple().str();
    return variant;
  }

private:
  unsigned capability;
  bool isReal; ///< machine code stands beside the PTX
};

struct CudaFamily : GridFamily {
  llvm::StringRef name() const override { return familyName; }
  llvm::StringRef expectedNames() const override {
    return "cuda, cuda:sm_80, cuda:sm_90, cuda:compute_80 (PTX alone)";
  }

  std::vector<ListedTarget> list() const override {
    return {{"cuda", "NVIDIA's GPUs of compute capability 8.0 and later; cuda:sm_90 is one of them",
             "metate"}};
  }

  Expected<TargetPtr> parse(llvm::StringRef name) const override {
    auto [family, cpu] = name.split(':');
    if (family != familyName)
      return TargetPtr();
    unsigned capability = leastCapability;
    bool isVirtual = cpu.consume_front(virtualPrefix),
         isNamed = isVirtual || cpu.consume_front(realPrefix);
    if ((isNamed && cpu.getAsInteger(10, capability)) || (!isNamed && !cpu.empty()) ||
        capability < leastCapability)
      return llvm::createStringError("unknown target '" + name + "'; expected " + expectedNames());
    return std::make_shared<CudaTarget>(name, capability, !isVirtual);
  }

  Expected<TargetPtr> targetOf(PayloadOp payload) const override {
    return parse((familyName + ":" + payload.getCpu()).str());
  }
};
} // namespace

std::unique_ptr<TargetFamily> metate::createCudaFamily() { return std::make_unique<CudaFamily>(); }
