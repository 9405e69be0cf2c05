//===- TypeBlob.h - the level table as bytes --------------------*- C++ -*-===//
//
// Writes the type blob of abi/metate/abi/tree.h: the only thing the runtime interprets to size,
// reset, check and migrate a tree.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_LAYOUT_TYPEBLOB_H
#define METATE_LAYOUT_TYPEBLOB_H

#include "metate/Layout/TreeLayout.h"

namespace metate::layout {

/// The type blob of a tree type; an error if the type is too large.
llvm::Expected<std::string> treeTypeBlob(TreeType type);

} // namespace metate::layout

#endif
