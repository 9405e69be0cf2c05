//===- Vulkan.h - Vulkan's devices as a family of targets -------*- C++ -*-===//
#ifndef METATE_TARGET_VULKAN_VULKAN_H
#define METATE_TARGET_VULKAN_VULKAN_H

#include "metate/Target/Target.h"

namespace metate {

/// The family "vulkan": SPIR-V for Vulkan 1.2 and later. `vulkan:lavapipe` is for Mesa's CPU device, whose faults it goes around
/// (Spirv/Spirv.h, lavapipe).
std::unique_ptr<TargetFamily> createVulkanFamily();

} // namespace metate

#endif
