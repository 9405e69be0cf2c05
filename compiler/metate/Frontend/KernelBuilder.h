//===- KernelBuilder.h - writes one kernel ----------------------*- C++ -*-===//
//
// What the author of a kernel calls, statement by statement: the Python front
// end today, C++ programs alike. It owns what the language means: promotion,
// casts, control flow, the semantics of each operation, the texts of errors
// about types. It does not know names, scopes or syntax trees.
//
// Errors go to `diagnostics()`; a call that failed returns a null value, and
// calls with null operands return null, so that a driver may check once a
// statement.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_KERNELBUILDER_H
#define METATE_FRONTEND_KERNELBUILDER_H

#include "metate/Dialect/Tree.h"
#include "metate/Frontend/Diagnostics.h"
#include "metate/Frontend/SourceModule.h"
#include "metate/Frontend/Types.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace metate::frontend {

/// A value with its type; null (`!value`) after an error.
struct KernelValue {
  mlir::Value ir;
  DataType type;
  explicit operator bool() const { return bool(ir); }
};

/// An ndarray argument: `rank` dimensions of elements. `longAxes`: a bit for each dimension whose extent may be beyond 2^31 - 1, which
/// is an i64.
struct KernelArray {
  mlir::Value ir;
  DataType element;
  unsigned rank = 0;
  uint32_t longAxes = 0;
};

/// A tree argument.
struct KernelTree {
  mlir::Value ir;
  TreeType type() const { return llvm::cast<TreeType>(ir.getType()); }
};

/// A place that can be read and written: a local variable, an element of an
/// array, a member of a cell, or a component of one of these.
struct Reference {
  enum class Kind { Local, Array, Member };
  Kind kind = Kind::Local;
  mlir::Value base;
  std::string path;                          // Member: its name
  llvm::SmallVector<mlir::Value> indices;    // Array, Member: of type index
  llvm::SmallVector<KernelValue> components; // of a vector (1) or a matrix (2)
  DataType whole;                            // without the components
  DataType type;                             // of what is referred to
  bool isActive = false;                     // Member: its cell was activated just before
  bool isClamped = false;                    // an index of a component outside means the nearest
  bool isConstant = false;                   // what is read is a constant to derivatives
  mlir::Type quantised;                      // Member: how it is stored, where that is not its type
  explicit operator bool() const { return bool(base); }
};

struct KernelOptions {
  Scalar defaultInteger = METATE_I32;
  Scalar defaultFloat = METATE_F32;
  bool mayAlias = false;
  bool fastMath = false;
  bool ordered = false; ///< no sum may be reordered
  bool asserts = true;  ///< else what asserts say is checked while compiling only
};

class KernelBuilder {
public:
  KernelBuilder(SourceModule &module, llvm::StringRef name, const KernelOptions &options,
                llvm::StringRef file, unsigned line, unsigned column);
  ~KernelBuilder();

  Diagnostics &diagnostics() { return problems; }
  const KernelOptions &options() const { return settings; }
  /// Ends the kernel. Must be called once, with no loop or branch open.
  void finish();
  /// Takes the unfinished kernel out of the module.
  void abandon();

  //===-- Kernel.cpp: places and arguments
  //---------------------------------===//
  void setLocation(llvm::StringRef file, unsigned line, unsigned column);
  /// What follows is the body of a function inlined at the current place.
  void enterCall();
  void leaveCall();
  KernelValue valueArgument(llvm::StringRef name, const DataType &type);
  KernelArray arrayArgument(llvm::StringRef name, const DataType &element, unsigned rank,
                            bool isContiguous, llvm::ArrayRef<mlir::Attribute> required = {},
                            bool isBesideMember = false);
  /// What a dimension of an array must be, for arrayArgument: a number, -1 for any, or a named extent with bounds.
  mlir::Attribute extent(int64_t number);
  mlir::Attribute dim(llvm::StringRef name, int64_t min, int64_t max, int64_t multiple);
  KernelTree treeArgument(llvm::StringRef name, llvm::StringRef type);
  /// What users call a member of a tree in messages, and what its coordinates lack to be theirs.
  void nameMember(const KernelTree &tree, llvm::StringRef member, llvm::StringRef shown,
                  llvm::ArrayRef<int64_t> offset);
  /// The array that receives the kernel's return value, or one scalar, vector or matrix of it.
  Reference resultArgument(const DataType &type, llvm::StringRef name = "return");

  //===-- Derivatives.cpp
  //---------------------------------------------------------===//
  /// The kernel stands for its derivative, in reverse or forward mode; what is said of derivatives is said of it.
  void differentiate(llvm::StringRef mode);
  /// Where the derivative of a member, or of an array, is.
  void memberDerivative(const KernelTree &primal, llvm::StringRef member,
                        const KernelTree &derivative, llvm::StringRef derivativeMember);
  void arrayDerivative(const KernelArray &primal, const KernelArray &derivative);
  /// Where the numbers of the last writes of a tree's members, or of an array's elements, are, and the call's own number.
  void treeWritten(const KernelTree &tree, const KernelTree &numbers, const KernelValue &call);
  void arrayWritten(const KernelArray &array, const KernelArray &numbers, const KernelValue &call);
  /// The value, whose derivative is taken for zero.
  KernelValue stopGradient(const KernelValue &value);

  //===-- Values.cpp: constants, casts
  //-------------------------------------===//
  /// A literal: of type default_ip or default_fp, an error if it does not fit.
  KernelValue integerLiteral(int64_t value, bool isTooWide);
  KernelValue floatLiteral(double value);
  KernelValue boolean(bool value);
  /// A constant of a given scalar type; integers wrap.
  KernelValue integerConstant(int64_t value, Scalar type);
  KernelValue floatConstant(double value, Scalar type);
  /// `isExplicit`: the user wrote the cast, and means it to drop a fraction.
  KernelValue cast(const KernelValue &value, Scalar to, bool isExplicit = false);
  /// Cast, and a scalar is spread over a vector or matrix. `what` names the
  /// target in errors.
  KernelValue convert(const KernelValue &value, const DataType &to, llvm::StringRef what);
  KernelValue bitCast(const KernelValue &value, Scalar to);
  /// A scalar as u1: is it not zero?
  KernelValue truth(const KernelValue &value, llvm::StringRef what);
  /// The integer if it is known while compiling.
  std::optional<int64_t> knownInteger(const KernelValue &value);

  //===-- Operators.cpp
  //----------------------------------------------------===//
  /// "+ - * / // % ** << >> & | ^ @", "bit_shr", "min", "max", "raw_div",
  /// "raw_mod", "atan2", "pow".
  KernelValue binary(llvm::StringRef op, const KernelValue &left, const KernelValue &right);
  /// "== != < <= > >=": u1, elementwise.
  KernelValue compare(llvm::StringRef op, const KernelValue &left, const KernelValue &right);
  /// "-", "+", "~", "not".
  KernelValue unary(llvm::StringRef op, const KernelValue &value);
  KernelValue select(const KernelValue &condition, const KernelValue &yes, const KernelValue &no);

  //===-- Functions.cpp
  //----------------------------------------------------===//
  /// Elementwise functions of one operand: "sqrt", "sin", "abs", "floor", ...
  KernelValue function(llvm::StringRef name, const KernelValue &value);
  static std::vector<std::string> functionNames();

  //===-- Linalg.cpp: vectors and small matrices
  //-----------------------------===//
  KernelValue makeVector(llvm::ArrayRef<KernelValue> elements,
                         std::optional<Scalar> type = std::nullopt);
  KernelValue makeMatrix(llvm::ArrayRef<KernelValue> elements, int64_t rows,
                         std::optional<Scalar> type = std::nullopt);
  KernelValue component(const KernelValue &value, llvm::ArrayRef<KernelValue> indices);
  KernelValue matrixProduct(const KernelValue &left, const KernelValue &right);
  /// "dot", "cross", "outer_product".
  KernelValue linearPair(llvm::StringRef op, const KernelValue &left, const KernelValue &right);
  /// "norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse",
  /// "trace", "sum", "max", "min", "any", "all".
  KernelValue linear(llvm::StringRef op, const KernelValue &value);

  //===-- Memory.cpp, Elements.cpp: locals, arrays, trees
  //---------------------===//
  /// A local variable of the innermost loop's body or of the kernel, or of an enclosing one:
  /// `scope` is what currentScope() gave there.
  Reference declareLocal(const DataType &type, std::optional<unsigned> scope = std::nullopt);
  unsigned currentScope() const { return scopes.size() - 1; }
  Reference arrayElement(const KernelArray &array, llvm::ArrayRef<KernelValue> indices);
  Reference member(const KernelTree &tree, llvm::StringRef name,
                   llvm::ArrayRef<KernelValue> indices);
  Reference component(const Reference &reference, llvm::ArrayRef<KernelValue> indices);
  KernelValue load(const Reference &reference);
  /// Stores with a cast to the place's type; a lossy one to a local warns.
  void store(const Reference &reference, const KernelValue &value, llvm::StringRef what);
  /// As a store of each; members that share an exponent are stored together.
  void storeTogether(llvm::ArrayRef<Reference> references, llvm::ArrayRef<KernelValue> values,
                     llvm::StringRef what);
  /// Read-modify-write by "add", "sub", "mul", "min", "max", "and", "or",
  /// "xor": the old value. Indivisible where other workers see the place.
  KernelValue atomic(llvm::StringRef op, const Reference &reference, const KernelValue &value);
  /// `desired` where the place holds, bit for bit, `expected`; the old value.
  KernelValue compareExchange(const Reference &reference, const KernelValue &expected,
                              const KernelValue &desired);
  /// May what is written next use the value? One of a loop or a branch that has ended is not known behind it.
  bool sees(mlir::Value value) const;
  /// Do several workers see this place? Locals of the iteration are the only
  /// ones that they do not.
  bool isShared(const Reference &reference) const;
  /// The same place, of which component indices outside mean the nearest component.
  static Reference clamped(Reference reference) {
    reference.isClamped = true;
    return reference;
  }
  /// The same place, of which derivatives take what is read for a constant.
  static Reference constantToDerivatives(Reference reference) {
    reference.isConstant = true;
    return reference;
  }
  KernelValue dimension(const KernelArray &array, unsigned axis);
  KernelValue isActive(const KernelTree &tree, llvm::StringRef path,
                       llvm::ArrayRef<KernelValue> indices);
  KernelValue activate(const KernelTree &tree, llvm::StringRef path,
                       llvm::ArrayRef<KernelValue> indices);
  /// The cell of the last level on the path whose cells can be inactive; of a dynamic level, named by
  /// itself, the list at these coordinates of its parent's cell.
  void deactivate(const KernelTree &tree, llvm::StringRef path,
                  llvm::ArrayRef<KernelValue> indices);
  /// Reserves the next cell of a list, named by its level and the coordinates of its parent's cell;
  /// i32: its index, -1 where there is none.
  KernelValue append(const KernelTree &tree, llvm::StringRef level,
                     llvm::ArrayRef<KernelValue> indices);
  KernelValue length(const KernelTree &tree, llvm::StringRef level,
                     llvm::ArrayRef<KernelValue> indices);
  /// i64: slots in use of a pointer, dynamic or hash level.
  KernelValue used(const KernelTree &tree, llvm::StringRef level);
  /// From here to the end of the parallel loop, or of the kernel, stores and atomics on this member
  /// leave inactive cells as they are.
  void noActivate(const KernelTree &tree, llvm::StringRef member);
  /// The same place of a member, in a cell that was activated just before.
  static Reference activated(Reference reference) {
    reference.isActive = true;
    return reference;
  }

  //===-- Control.cpp
  //-------------------------------------------------------===//
  struct Bounds {
    KernelValue lower, upper, step; // step may be null: one
  };
  /// A parallel loop over a box, directly in the kernel. Returns the loop
  /// variables.
  std::vector<KernelValue> beginParallel(llvm::ArrayRef<Bounds> bounds);
  /// A parallel loop over the active cells of a member or level.
  std::vector<KernelValue> beginForEach(const KernelTree &tree, llvm::StringRef path);
  /// A loop in order. With `keepGoing` (a u1 local) it also ends when that is
  /// false.
  KernelValue beginSerial(const Bounds &bounds, const Reference *keepGoing);
  /// `while`: build the condition, then call beginWhileBody with it.
  void beginWhile();
  void beginWhileBody(const KernelValue &condition, const Reference *keepGoing);
  void endLoop();
  void beginIf(const KernelValue &condition);
  void beginElse();
  void endIf();
  /// Ends an if whose branches each computed a value: the value of the whole.
  KernelValue endIfWith(const KernelValue &yes, const KernelValue &no);

  //===-- Effects.cpp
  //--------------------------------------------------------===//
  /// One piece of a print: a text, or a value when `value` is set, shown in a format of Python's.
  struct PrintPart {
    std::string text;
    std::optional<KernelValue> value;
    std::string format = "";
  };
  void print(llvm::ArrayRef<PrintPart> parts);
  void assertThat(const KernelValue &condition, llvm::StringRef message);
  void assertThat(const KernelValue &condition, llvm::ArrayRef<PrintPart> message);
  /// An error if the value's scalars have no such format.
  bool checkFormat(const KernelValue &value, llvm::StringRef format);

  //===-- Graph.cpp
  //----------------------------------------------------------===//
  /// Makes the kernel one that only graphs run.
  void makeNode();
  /// Room for what a kernel that is run accumulates or returns, and nobody reads.
  Reference localResult(const DataType &type);
  /// Runs a kernel of the module that makeNode was called on; operands: arguments and values of this one.
  /// In a graph: an array of its own. Its dims are those of arguments.
  KernelArray intermediate(llvm::StringRef name, const DataType &element,
                           llvm::ArrayRef<mlir::Attribute> shape);
  void run(llvm::StringRef kernel, llvm::ArrayRef<mlir::Value> operands);

  //===-- Calls.cpp
  //----------------------------------------------------------===//
  /// Begins a function of the kernel that is called, not inlined; the statement at hand waits. Returns its name, which
  /// is `name` or, where the kernel has that one, `name` with a number.
  std::string beginFunction(llvm::StringRef name, llvm::StringRef file, unsigned line,
                            unsigned column);
  KernelValue parameter(const DataType &type);
  /// The same place of an array or a tree, with indices that are parameters; referenceOperands are their arguments.
  Reference referenceParameter(const Reference &reference);
  llvm::SmallVector<mlir::Value> referenceOperands(const Reference &reference);
  /// Ends the function that was begun last, with what it gives.
  void endFunction(llvm::ArrayRef<KernelValue> values);
  /// Takes it out of the kernel: an error was met in it.
  void abandonFunction();
  std::vector<KernelValue> call(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                                llvm::ArrayRef<DataType> results);
  bool isInFunction() const { return !outer.empty(); }
  /// Says which function of the kernel is the derivative of another one, in the mode in which the kernel is differentiated; `again`: which is
  /// called for its values in reverse mode, or empty.
  void giveDerivative(llvm::StringRef function, llvm::StringRef derivative, llvm::StringRef again);
  /// Takes these functions out of the kernel: they are made anew.
  void dropFunctions(llvm::ArrayRef<std::string> names);

  //===-- Random.cpp
  //---------------------------------------------------------===//
  /// A random number: an integer of any value, a float of [0, 1). `key`: a u64 of the launch.
  KernelValue random(Scalar type, const KernelValue &key);
  /// Four i32 that say which numbers come next where the builder stands: operands of a call of a function that draws.
  std::vector<KernelValue> streamState();
  /// Numbers that follow those that such a call has drawn.
  void continueStream(const KernelValue &blocks);
  /// Makes these operands the first parameters of the function at hand. Until then it draws no numbers.
  void beginStream();
  bool mayDraw() const;

private:
  struct Frame {
    mlir::Operation *op;
    mlir::OpBuilder::InsertPoint after;
    mlir::Operation *counter = nullptr; // a loop in order with keepGoing: its counter's alloca
    mlir::Value step = nullptr;
  };

  mlir::Location loc() const { return location; }
  mlir::MLIRContext *context() { return builder.getContext(); }
  mlir::Type ir(const DataType &type) { return registerType(context(), type); }
  std::nullptr_t fail(const llvm::Twine &message, const llvm::Twine &hint = "") {
    problems.typeError(message, hint);
    return nullptr;
  }
  mlir::Value constant(const DataType &type, int64_t value);
  mlir::Value constant(const DataType &type, double value);
  void derivative(mlir::Value primal, llvm::StringRef path, mlir::Value derivative,
                  llvm::StringRef derivativePath);
  mlir::Value addArgument(llvm::StringRef name, mlir::Type type,
                          llvm::ArrayRef<mlir::NamedAttribute> extra);
  mlir::arith::FastMathFlags fast() const;

  // Operators.cpp, IntegerMath.cpp: operands already of one type.
  bool unify(llvm::StringRef op, KernelValue &left, KernelValue &right, bool forArithmetic);
  KernelValue arithmetic(llvm::StringRef op, const KernelValue &left, const KernelValue &right);
  KernelValue arcTangent(const KernelValue &y, const KernelValue &x);
  KernelValue divide(const KernelValue &left, const KernelValue &right);
  KernelValue bitwise(llvm::StringRef op, KernelValue left, KernelValue right);
  KernelValue shift(llvm::StringRef op, KernelValue left, KernelValue right);
  KernelValue power(KernelValue left, KernelValue right);
  KernelValue multiplyOut(const KernelValue &base, int64_t exponent);
  KernelValue integerPower(const KernelValue &base, const KernelValue &exponent);
  // FloatPowers.cpp: null where pow has to say.
  KernelValue powerByProducts(const KernelValue &left, const KernelValue &right);
  KernelValue wholePower(const KernelValue &base, int64_t exponent);
  KernelValue halfPower(const KernelValue &base, int64_t twice);
  KernelValue smallPower(const KernelValue &base, const KernelValue &exponent);
  KernelValue integerDivision(llvm::StringRef op, const KernelValue &left,
                              const KernelValue &right);
  KernelValue floatModulo(const KernelValue &left, const KernelValue &right);
  mlir::Value convertScalars(mlir::Value value, const DataType &from, Scalar to);
  mlir::Value castOfConstant(const KernelValue &value, Scalar to);
  void markCast(mlir::Value result, const KernelValue &value, Scalar to, bool isExplicit);
  template <typename Op>
  mlir::Value integerArithmetic(const DataType &type, mlir::Value a, mlir::Value b);
  mlir::Value spread(mlir::Value scalar, const DataType &to);

  // Linalg.cpp
  llvm::SmallVector<KernelValue> elements(const KernelValue &value);
  KernelValue fromElements(llvm::ArrayRef<KernelValue> values, const DataType &type);
  KernelValue determinantOf(llvm::ArrayRef<KernelValue> values, int64_t size);
  KernelValue inverse(const KernelValue &value);
  std::optional<llvm::SmallVector<KernelValue>>
  componentIndices(const DataType &type, llvm::ArrayRef<KernelValue> indices);
  KernelValue replaceComponent(const KernelValue &whole, llvm::ArrayRef<KernelValue> indices,
                               const KernelValue &value);
  llvm::SmallVector<mlir::Value> elementChoices(const DataType &type,
                                                llvm::ArrayRef<KernelValue> indices);

  // Memory.cpp, Elements.cpp
  mlir::Value toIndex(const KernelValue &value);
  KernelValue fromIndex(mlir::Value index, Scalar type);
  bool flattenIndices(llvm::ArrayRef<KernelValue> indices,
                      llvm::SmallVectorImpl<KernelValue> &flat);
  bool coordinates(const KernelTree &tree, llvm::StringRef path, bool isMember,
                   llvm::ArrayRef<KernelValue> indices, llvm::SmallVectorImpl<mlir::Value> &result);
  KernelValue loadPlainly(const Reference &reference);
  llvm::SmallVector<KernelValue> clampedIndices(const DataType &type,
                                                llvm::ArrayRef<KernelValue> indices);
  llvm::SmallVector<mlir::Value> componentValues(const Reference &reference);
  llvm::SmallVector<mlir::Value> elementIndices(const Reference &reference, int64_t flat);
  KernelValue updated(llvm::StringRef op, const KernelValue &old, const KernelValue &value);
  bool listCoordinates(const KernelTree &tree, llvm::StringRef level,
                       llvm::ArrayRef<KernelValue> indices,
                       llvm::SmallVectorImpl<mlir::Value> &result);
  bool leavesInactive(const Reference &reference) const;
  void storeMember(const Reference &reference, mlir::Value value);
  /// Runs `store`, told whether the cell is active, where the cell need not stay inactive.
  void guardStore(const Reference &reference, llvm::function_ref<void(bool active)> store);
  mlir::Value atomicOfMember(mlir::arith::AtomicRMWKind kind, const Reference &reference,
                             mlir::Value value, bool subtracts, mlir::Value expected = {});
  //===-- Quantised.cpp: members that are stored as something else -----------===//
  KernelValue loadQuantised(const Reference &reference);
  void storeQuantised(const Reference &reference, mlir::Value value, bool active);
  /// Yields the old value.
  mlir::Value atomicOfQuantised(mlir::arith::AtomicRMWKind kind, const Reference &reference,
                                mlir::Value value, bool subtracts, bool active,
                                mlir::Value expected);
  /// Members whose inactive cells stores leave as they are, and the parallel loop for which they do.
  struct NoActivation {
    mlir::Value tree;
    std::string member;
    mlir::Operation *loop;
  };
  llvm::SmallVector<NoActivation> noActivations;

  // Random.cpp
  struct RandomWords {
    mlir::Value words; // vector<4xi32>, made in the block
    unsigned used = 0;
  };
  /// What the numbers of one iteration are counted by.
  struct RandomStream {
    mlir::Value blocks;          // an i32 local: how many blocks of words were taken
    mlir::Value low, high, task; // the iteration's number in two words, the loop's number
    // In loops that run in order: i32 locals of the words that are left, the next one first, and how
    // many were used.
    llvm::SmallVector<mlir::Value, 4> left;
    mlir::Value used;
  };
  llvm::SmallVector<mlir::Value, 2> randomWords(const KernelValue &key, unsigned count);
  llvm::SmallVector<mlir::Value, 2> wordsInLoop(RandomStream &stream, const KernelValue &key,
                                                unsigned count);
  mlir::Operation *streamOwner() const;
  mlir::Value streamLocal(mlir::Value first);
  void addCounters(RandomStream &stream, mlir::Value blocks);
  RandomStream &randomStream();
  mlir::Value randomBlock(const RandomStream &stream, const KernelValue &key);
  mlir::Value wordConstant(int64_t value);
  mlir::Value iterationNumber(mlir::Operation *loop);
  std::map<mlir::Operation *, RandomStream> streams;
  llvm::DenseMap<mlir::Block *, RandomWords> blockWords;

  // Control.cpp
  Scalar loopType(const Bounds &bounds);
  bool checkBounds(const Bounds &bounds);
  mlir::Value indexConstant(int64_t value);
  mlir::Value iterationCount(mlir::Value lower, mlir::Value upper, mlir::Value step);
  void enterLoop(mlir::Operation *op, mlir::Block *body);

  /// Calls.cpp: where the statement stands that waits for a function.
  struct Outer {
    mlir::OpBuilder::InsertPoint at;
    mlir::Location location;
    llvm::SmallVector<mlir::Location> callSites;
    llvm::SmallVector<Frame> frames;
    llvm::SmallVector<mlir::Block *> scopes;
    mlir::Operation *parallelOp;
    llvm::SmallVector<NoActivation> noActivations;
  };
  void leaveFunction();

  SourceModule &module;
  KernelOptions settings;
  Diagnostics problems;
  mlir::OpBuilder builder;
  mlir::Location location;
  llvm::SmallVector<mlir::Location> callSites;
  KernelOp kernel;
  llvm::SmallVector<mlir::Attribute> argumentAttributes;
  llvm::SmallVector<Frame> frames;
  llvm::SmallVector<mlir::Block *> scopes; // where locals are made: bodies of loops, the kernel's
  mlir::Operation *parallelOp = nullptr;
  std::vector<Outer> outer; // functions within functions, the innermost last
};

} // namespace metate::frontend

#endif
