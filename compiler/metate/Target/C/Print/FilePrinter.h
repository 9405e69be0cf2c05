//===- FilePrinter.h - types, names and data of a C file --------*- C++ -*-===//
#ifndef METATE_TARGET_C_PRINT_FILEPRINTER_H
#define METATE_TARGET_C_PRINT_FILEPRINTER_H

#include "metate/Emit/SourceType.h"
#include "metate/Target/C/Print/Helpers.h"
#include "metate/Target/C/Print/Print.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"

namespace metate::c {

/// A function's type as C declares it; `types` of a C file, not of the code in it.
struct Prototype {
  std::string result;
  std::vector<std::string> parameters;
};

class FilePrinter {
public:
  explicit FilePrinter(llvm::Module &module);

  llvm::Expected<std::string> print(const PrintOptions &options);

  const llvm::DataLayout &layout() const { return module.getDataLayout(); }
  /// What was met first that cannot be printed.
  void fail(const llvm::Twine &problem) {
    if (failure.empty())
      failure = problem.str();
  }
  /// "u32" of i32 and of the odd widths up to it, "f32", "p", of an aggregate the name of its struct.
  std::string shortName(llvm::Type *type);
  /// "uint32_t"
  std::string typeName(llvm::Type *type);
  /// "uint32_t " and "unsigned char *", behind which a name may stand.
  std::string typePrefix(llvm::Type *type);
  std::string nameOf(const llvm::GlobalValue &value) const { return names.lookup(&value); }
  /// A constant as an expression of its type.
  std::string constant(llvm::Constant &value);
  /// Of a vector's type: "u32" and "16", parameters of Support/Vectors.txt.
  std::vector<std::string> vectorName(llvm::FixedVectorType *type);
  /// The same, where C wants constants: in the initialiser of static data.
  std::string initialiser(llvm::Constant &value);
  /// How the function is declared, and how it is called that an indirect call of this type means.
  Prototype prototypeOf(const llvm::Function &function);
  Prototype prototypeOf(llvm::FunctionType &type);
  /// The name of a type of pointers to such functions.
  std::string pointerType(const Prototype &prototype);
  std::string use(llvm::StringRef helper, llvm::ArrayRef<std::string> parameters = {}) {
    return helpers.use(helper, parameters);
  }
  /// Of a number: what its bits are a number of: "u32" of "f32".
  static std::string bitsName(llvm::Type *type);
  void needsMath() { math = true; }
  /// Joined, in lines of at most 100 columns.
  static void wrap(std::string &out, llvm::StringRef first, llvm::ArrayRef<std::string> pieces,
                   llvm::StringRef indent);

private:
  std::string vectorConstant(llvm::Constant &value);
  void nameGlobals(llvm::StringRef text);
  std::string declaration(const llvm::Function &function, bool namesParameters);
  void defineData(const llvm::GlobalVariable &data);
  std::string declaredData(const llvm::GlobalVariable &variable);
  static void eachGlobalIn(const llvm::Constant &value,
                           llvm::function_ref<void(const llvm::GlobalVariable &)> call);
  static bool isPlain(const llvm::GlobalVariable &variable);
  std::string bytesOf(const llvm::Constant &value);
  std::string dataType(llvm::Type *type);
  std::string address(const llvm::GlobalValue &value, int64_t offset);
  std::string structName(llvm::Type *type, bool ofData);
  std::string floatConstant(const llvm::APFloat &value);

  llvm::Module &module;
  Helpers helpers;
  llvm::DenseMap<const llvm::Value *, std::string> names;
  llvm::DenseMap<const llvm::Value *, bool> isBytes; ///< data without addresses
  llvm::DenseSet<const llvm::Value *> defined;
  llvm::DenseMap<llvm::Type *, std::string> structs, dataStructs;
  llvm::StringMap<std::string> pointers;
  std::string types, data, failure;
  bool math = false;
};

/// "5u", "-3"; of 64 bits "5ull".
std::string unsignedLiteral(const llvm::APInt &value);
std::string signedLiteral(const llvm::APInt &value);
/// Without parentheses around all of it: where nothing stands beside it.
llvm::StringRef bare(llvm::StringRef expression);
/// Bits of the C type that holds an integer so wide: 8 to 64.
unsigned containerBits(unsigned width);

} // namespace metate::c

#endif
