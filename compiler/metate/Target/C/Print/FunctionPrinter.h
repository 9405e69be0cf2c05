//===- FunctionPrinter.h - the body of a C function -------------*- C++ -*-===//
#ifndef METATE_TARGET_C_PRINT_FUNCTIONPRINTER_H
#define METATE_TARGET_C_PRINT_FUNCTIONPRINTER_H

#include "metate/Target/C/Print/FilePrinter.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <map>

namespace metate::c {

/// Each value that is used more than once is a variable; what is used once and reads nothing stands where it is used.
class FunctionPrinter {
public:
  FunctionPrinter(FilePrinter &file, llvm::Function &function) : file(file), function(function) {}
  /// All between the braces.
  std::string body();

private:
  // FunctionPrinter.cpp
  void chooseVariables();
  bool standsAtItsUse(const llvm::Instruction &instruction) const;
  void numberBlocks();
  std::string parameters();
  std::string variables();
  std::string newVariable(llvm::Type *type);
  void write(llvm::Instruction &instruction);
  void terminator(llvm::Instruction &instruction, const llvm::BasicBlock *next);
  void branch(llvm::BranchInst &branch, const llvm::BasicBlock *next);
  void choose(llvm::SwitchInst &choice);
  /// What the phis of `to` become on the way from `from`.
  std::string edge(const llvm::BasicBlock *from, llvm::BasicBlock *to, llvm::StringRef indent);
  std::string jump(const llvm::BasicBlock *from, llvm::BasicBlock *to, llvm::StringRef indent);
  void line(const llvm::Twine &text) { code += "  " + text.str() + "\n"; }
  void assign(const llvm::Value &value, llvm::StringRef expression) {
    line(variable(value) + " = " + bare(expression) + ";");
  }
  std::string variable(const llvm::Value &value) const { return names.lookup(&value); }
  void fail(const llvm::Instruction &instruction);

  /// An operand as an expression that can stand anywhere.
  std::string use(llvm::Value *value);
  std::string expression(llvm::Instruction &instruction);

  // FunctionNumbers.cpp
  std::string binary(llvm::BinaryOperator &operation);
  std::string integerBinary(llvm::BinaryOperator &operation);
  std::string halfBinary(llvm::BinaryOperator &operation);
  std::string compare(llvm::ICmpInst &comparison);
  std::string compareFloats(llvm::FCmpInst &comparison);
  std::string cast(llvm::CastInst &cast);
  std::string floatCast(llvm::CastInst &cast);
  std::string bitCast(llvm::CastInst &cast);
  std::string select(llvm::SelectInst &choice);
  std::string asSigned(llvm::Value *value);
  std::string asFloat(llvm::Value *value);
  std::string fromFloat(llvm::Type *type, const std::string &expression);

  // FunctionMemory.cpp
  std::string place(llvm::GetElementPtrInst &address);
  std::string load(llvm::LoadInst &load);
  void store(llvm::StoreInst &store);
  void modify(llvm::AtomicRMWInst &operation);
  void exchange(llvm::AtomicCmpXchgInst &operation);
  std::string loadFrom(llvm::Type *type, const std::string &from, llvm::Align align);
  void storeTo(const std::string &to, llvm::Value *value, llvm::Align align);
  std::string part(const llvm::Twine &of, llvm::Type *type, unsigned number);
  void insert(llvm::Instruction &instruction, llvm::Value *into, llvm::Value *value,
              const std::string &member);
  std::string member(llvm::ExtractValueInst &extract);
  std::string element(llvm::ExtractElementInst &extract);

  // FunctionVectors.cpp
  bool ofVectors(llvm::Instruction &instruction);
  std::string wholeVectors(llvm::Instruction &instruction);
  void clear(const llvm::Instruction &instruction);
  void elementByElement(llvm::Instruction &instruction);
  llvm::Instruction *onNumbers(llvm::Instruction &instruction);
  llvm::Value *laneOf(llvm::Value *value);
  llvm::Value *standIn(llvm::Type *type, const std::string &text);
  void dropStandIns();
  void forEach(unsigned first, unsigned count, const std::string &statement,
               const llvm::Instruction *result);
  bool maskedIntrinsic(llvm::IntrinsicInst &call);
  bool reduction(llvm::IntrinsicInst &call);
  std::string shuffledParts(llvm::ShuffleVectorInst &instruction, llvm::ArrayRef<std::string> from,
                            unsigned elementBytes, unsigned vectorBytes);
  void shuffle(llvm::ShuffleVectorInst &instruction);
  std::string vectorVariable(llvm::Value *value);
  std::string elementOf(const std::string &vector, const llvm::Type *type,
                        const std::string &index);
  std::string asNumber(const llvm::Type *type, const std::string &element);
  std::string asElement(const llvm::Type *type, const std::string &number);

  // FunctionCalls.cpp
  void call(llvm::CallInst &call);
  std::string callOf(llvm::CallInst &call);
  std::string intrinsic(llvm::IntrinsicInst &call);
  std::string mathIntrinsic(llvm::IntrinsicInst &call);
  std::string numberIntrinsic(llvm::IntrinsicInst &call);
  bool memoryIntrinsic(llvm::IntrinsicInst &call);
  std::string overflow(llvm::IntrinsicInst &call);
  std::string classOf(llvm::IntrinsicInst &call);
  std::string argument(llvm::Value *value, llvm::StringRef type);

  FilePrinter &file;
  llvm::Function &function;
  std::string code;
  llvm::DenseMap<const llvm::Value *, std::string> names; ///< of variables
  llvm::DenseMap<const llvm::Value *, unsigned> sizes;    ///< of expressions, in operations
  std::map<std::string, std::vector<std::string>> declared;
  llvm::DenseMap<const llvm::BasicBlock *, unsigned> numbers;
  llvm::DenseSet<const llvm::BasicBlock *> labelled;
  unsigned count = 0;
  std::vector<llvm::Instruction *>
      standIns; ///< of elements, for operands of an operation on numbers
  struct Spread {
    std::string vector, declaration;
  };
  std::vector<Spread> spread; ///< vectors whose elements a loop reads
};

/// "relaxed" to "total", as Support/Atomics.txt calls them.
std::string orderName(llvm::AtomicOrdering order);
/// Pure and without a statement of its own?
bool isExpression(const llvm::Instruction &instruction);
/// Is it a function of whole vectors (Support/Vectors.txt), or a store of one?
bool isWholeVectors(const llvm::Instruction &instruction);
/// Does it bring one more number into a vector that nobody else sees? It is the same variable.
bool continuesInsertion(const llvm::Instruction &instruction);
/// Does it only bring a number to where all elements become it?
bool isSplatSource(const llvm::Instruction &instruction);

} // namespace metate::c

#endif
