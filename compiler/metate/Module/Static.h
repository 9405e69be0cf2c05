//===- Static.h - what a static carrier exports -----------------*- C++ -*-===//
//
// The names and C parameters of a module's entries, read from its descriptor: the one description
// that the header (StaticHeader.cpp) and the code (StaticCode.cpp) of a static carrier follow.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_STATIC_H
#define METATE_MODULE_STATIC_H

#include "metate/abi/module.h"
#include "metate/abi/pool.h"
#include "metate/abi/tree.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <set>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace metate {

/// One C parameter of a direct entry.
struct StaticParameter {
  enum Kind {
    Itself, ///< the argument: a scalar, or an address
    Extent, ///< of an array along `dimension`, or of all that are one dim
    Stride  ///< of an array along `dimension`, in elements
  };
  std::string name;
  std::string type;   ///< C's, without the name: "const float *", "int64_t "
  std::string suffix; ///< behind the name: "[3]" of a vector
  unsigned argument;  ///< of the kernel
  Kind kind = Itself;
  unsigned dimension = 0;
  int64_t required = -1; ///< an extent's: METATE_EXTENT_OF_DIM of a dim

  /// Is it the extent of that argument along that dimension?
  bool isExtentOf(unsigned other, unsigned along, int64_t fixed) const {
    return kind == Extent &&
           (required < -1 ? required == fixed : argument == other && dimension == along);
  }
};

/// What a program gets that has the module's code without opening a file.
enum class StaticForm {
  Object, ///< linked beside other modules: every symbol begins with the module's name
  Library ///< a shared object of its own: packed entries have their kernels' names, as tvm-ffi looks for them
};

/// Before a kernel's name: functions that tvm-ffi asks for texts on it.
inline constexpr llvm::StringLiteral packedMetadataPrefix = "__tvm_ffi__metadata_";
inline constexpr llvm::StringLiteral packedDocumentationPrefix = "__tvm_ffi__doc_";

struct StaticKernel {
  const metate_kernel_info *info;
  llvm::ArrayRef<metate_argument_info> arguments;
  llvm::ArrayRef<metate_pool_info> pools;
  llvm::ArrayRef<metate_dim_info> dims;
  std::string direct; ///< symbol of the direct entry: MODULE_KERNEL
  std::string
      packed; ///< symbol of the packed entry: __tvm_ffi_MODULE_KERNEL, of a library __tvm_ffi_KERNEL
  std::vector<StaticParameter> parameters;
  std::vector<std::string> primals; ///< "'KERNEL' in reverse": whose derivative it is

  /// Its one result is a scalar, which packed calls return.
  bool returnsScalar() const;
};

struct StaticType {
  std::string symbol; ///< MODULE_TYPE: prefix of what the header has of it
  const metate_type_info *info;
  const metate_tree_type *blob;
  uint64_t bytes = 0; ///< of a block with natural capacities; 0: too large for one
};

/// One of the packed calls that run a kernel by steps (Support/Session.c).
struct StaticSession {
  llvm::StringRef call; ///< "set_input"
  std::string symbol;
};

/// A module as C sees it. Borrows the descriptor, which is aligned to 8.
class StaticModule {
public:
  /// Fails where names make no C identifiers, or two the same one.
  /// `workers`: for which sizes of blocks are stated.
  static llvm::Expected<StaticModule> get(llvm::StringRef descriptor, StaticForm form,
                                          uint32_t workers);

  StaticForm form = StaticForm::Object;
  std::string name;
  llvm::StringRef descriptor;
  std::vector<StaticKernel> kernels;
  std::vector<StaticType> types;
  std::vector<StaticSession> sessions; ///< none of a module without kernels

  const metate_descriptor &header() const {
    return *reinterpret_cast<const metate_descriptor *>(descriptor.data());
  }
  llvm::StringRef text(uint32_t offset) const {
    return offset ? llvm::StringRef(descriptor.data() + offset) : llvm::StringRef();
  }
  std::string moduleSymbol() const { return name + "_module"; }
  /// What the program's author wrote of a kernel, and what the compiler planned of a graph; "" where that is nothing.
  llvm::StringRef documentation(const StaticKernel &kernel) const;
  template <typename Record> llvm::ArrayRef<Record> table(metate_table where) const {
    return {reinterpret_cast<const Record *>(descriptor.data() + where.offset), where.count};
  }
  /// The memory that a pool is to lie in; empty: any.
  llvm::StringRef memoryOf(const metate_pool_info &pool) const;

private:
  llvm::Error addTypes(uint32_t workers);
  llvm::Error addKernels();
  llvm::Error addSessions();
  llvm::Error addParameters(StaticKernel &kernel);
  llvm::Error claim(const std::string &symbol, const std::string &of);
  llvm::Error claim(const std::string &prefix, llvm::ArrayRef<llvm::StringRef> ends,
                    const std::string &of);
  llvm::Error claimMacros(const StaticKernel &kernel, const std::string &of);
  std::string shown(const metate_kernel_info &kernel) const;
  std::set<std::string> symbols; // and macros, that the header and the object define
};

/// C's type of one scalar in memory; half-sized floats are their bits.
llvm::StringRef staticScalar(uint32_t dtype);
/// "f32"; and how a type that C lacks is spelled in bits.
llvm::StringRef staticDtype(uint32_t dtype);
llvm::StringRef staticDtypeNote(uint32_t dtype);

/// Of the header: what accessors of quantised members call, or nothing where there are none.
llvm::StringRef staticMemberHelpers(const StaticModule &module);
/// Of the header: a type's members, of which each cell is always there.
std::string staticMembers(const StaticType &type);

/// The generated header's text. `needs`: functions that the object takes from others, sorted; `isBare`: of a program without a
/// system, to which it says all of them.
std::string staticHeader(const StaticModule &module, llvm::ArrayRef<std::string> needs,
                         bool isBare);

/// What tvm-ffi is told of a packed entry, as JSON.
std::string packedMetadata(const StaticModule &module, const StaticKernel &kernel);

/// An object with the entries of all levels; `entries` are the symbols of the kernels' code, which
/// it leaves undefined and hidden.
llvm::Expected<std::string> staticCode(const StaticModule &module,
                                       llvm::ArrayRef<llvm::StringRef> entries,
                                       llvm::TargetMachine &machine);

/// The same as bitcode for no machine: where C is printed of it, which declares all as the header does (sourceTypeAttribute). What
/// packed entries call is C already: staticSupport(), which METATE_NO_PACKED leaves out, if it is defined.
llvm::Expected<std::string> staticBitcode(const StaticModule &module,
                                          llvm::ArrayRef<llvm::StringRef> entries, bool isBare);
std::string staticSupport(const StaticModule &module);

} // namespace metate

#endif
