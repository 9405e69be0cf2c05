//===- BareMachine.h - code for machines without a system -------*- C++ -*-===//
#ifndef METATE_EMIT_BAREMACHINE_H
#define METATE_EMIT_BAREMACHINE_H

namespace llvm {
class Module;
}

namespace metate {

/// One kernel at a time, on one core: atomic operations are plain ones, which the optimiser may join and leave out. Before it.
void makePlain(llvm::Module &module);

/// The larger and the smaller of two numbers (llvm.maximumnum, llvm.minimumnum) as comparisons: where no instruction does it, LLVM calls
/// functions of C23, which libraries of such machines do not have. After the optimiser.
void expandExtremes(llvm::Module &module);

} // namespace metate

#endif
