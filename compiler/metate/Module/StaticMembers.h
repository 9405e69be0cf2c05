//===- StaticMembers.h - where a C host finds members -----------*- C++ -*-===//
//
// Between the two files that write accessors of members: StaticMembers.cpp knows where elements lie, StaticQuant.cpp how
// quantised ones are stored.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_STATICMEMBERS_H
#define METATE_MODULE_STATICMEMBERS_H

#include "metate/Module/Static.h"

namespace metate {

/// A member whose cells lie in the root's cell.
struct StaticMember {
  const StaticType *type;
  uint32_t index; ///< of its record
  const metate_level *level;
  bool isWritable; ///< no mask says which of its cells are active
  std::string name;
  std::string parameters; ///< ", int64_t i, int64_t j"
  std::string shape;      ///< "i < 8, j < 3"
  std::string
      offset; ///< "128 + j * 48", from the block's start; of a quant_array to the word of `element`
  std::string element;  ///< of a quant_array: "j + (i % 4) * 10"
  uint32_t perWord = 0; ///< of a quant_array: elements in a word; else 0

  const metate_level *levels() const {
    return reinterpret_cast<const metate_level *>(type->blob + 1);
  }
  /// How a quantised member is stored.
  const metate_quant &quantOf(uint32_t place) const {
    return *reinterpret_cast<const metate_quant *>(reinterpret_cast<const char *>(type->blob) +
                                                   levels()[place].quant);
  }
  const metate_quant &quant() const { return quantOf(index); }
};

/// The head of an accessor: "static inline float m_t_x_get(const void *block, int64_t i) {".
std::string staticAccessor(const StaticMember &member, llvm::StringRef result,
                           llvm::StringRef suffix, llvm::StringRef block, llvm::StringRef value);
/// One statement in lines of at most 100 columns.
std::string staticStatement(llvm::StringRef text);

/// " in 5 bits": how a quantised member is stored, for a comment.
std::string staticQuantNote(const StaticMember &member);
/// Its `get`, and its `set` where it may be written.
std::string staticQuantAccessors(const StaticMember &member);

} // namespace metate

#endif
