//===- Cuda.h - NVIDIA's GPUs as a family of targets ------------*- C++ -*-===//
#ifndef METATE_TARGET_CUDA_CUDA_H
#define METATE_TARGET_CUDA_CUDA_H

#include "metate/Target/Target.h"

namespace metate {

/// The family "cuda": `cuda:sm_90` is PTX and, where an assembler is found, machine code; `cuda:compute_90` PTX alone; `cuda` is `cuda:sm_80`.
std::unique_ptr<TargetFamily> createCudaFamily();

} // namespace metate

#endif
