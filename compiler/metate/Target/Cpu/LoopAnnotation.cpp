//===- LoopAnnotation.cpp - what LLVM is told of a loop ---------*- C++ -*-===//
#include "metate/Target/Cpu/LoopAnnotation.h"

using namespace mlir;
using namespace metate::cpu;

LLVM::LoopAnnotationAttr LoopAnnotation::in(MLIRContext *context) const {
  LLVM::LoopVectorizeAttr vectors;
  if (vectorize)
    vectors = LLVM::LoopVectorizeAttr::get(context, BoolAttr::get(context, !*vectorize), {}, {}, {},
                                           {}, {}, {});
  LLVM::LoopInterleaveAttr sideBySide;
  if (interleave)
    sideBySide = LLVM::LoopInterleaveAttr::get(
        context, IntegerAttr::get(IntegerType::get(context, 32), interleave));
  LLVM::LoopUnrollAttr copies;
  if (!unroll)
    copies =
        LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true), {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, vectors, sideBySide, copies, {}, {}, {}, {}, {},
                                       {}, {}, {}, {}, {}, parallelAccesses);
}
