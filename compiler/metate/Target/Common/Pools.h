//===- Pools.h - a worker's part of a pool ----------------------*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_POOLS_H
#define METATE_TARGET_COMMON_POOLS_H

#include "metate/Target/Common/Abi.h"

namespace metate::target {

/// `metate.worker_part` becomes an address.
void populatePoolPatterns(KernelTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace metate::target

#endif
