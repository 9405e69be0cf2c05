//===- Linalg.cpp - vectors and small matrices ------------------*- C++ -*-===//
//
// Vectors and matrices are IR vectors of rank 1 and 2. Elementwise work is done
// on them whole; what mixes components takes them apart. Sums run in index
// order, so that they round the same everywhere.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/KernelBuilder.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

SmallVector<KernelValue> KernelBuilder::elements(const KernelValue &value) {
  if (value.type.isScalar())
    return {value};
  SmallVector<KernelValue> parts;
  for (int64_t k = 0; k < value.type.count(); ++k) {
    SmallVector<int64_t> position;
    if (value.type.isMatrix())
      position.push_back(k / value.type.shape[1]);
    position.push_back(k % value.type.shape.back());
    parts.push_back(
        {builder.createOrFold<vector::ExtractOp>(loc(), value.ir, position), value.type.element()});
  }
  return parts;
}

KernelValue KernelBuilder::fromElements(ArrayRef<KernelValue> values, const DataType &type) {
  if (!llvm::all_of(values, [](const KernelValue &v) { return bool(v); }))
    return {};
  SmallVector<Value> parts = llvm::map_to_vector(values, [](const KernelValue &v) { return v.ir; });
  return {builder.createOrFold<vector::FromElementsOp>(loc(), ir(type), parts), type};
}

KernelValue KernelBuilder::makeVector(ArrayRef<KernelValue> given, std::optional<Scalar> type) {
  SmallVector<KernelValue> flat;
  for (const KernelValue &value : given) {
    if (!value)
      return {};
    if (value.type.isMatrix()) {
      fail("vector: expected scalars or vectors as elements, got " + value.type.name());
      return {};
    }
    llvm::append_range(flat, elements(value));
  }
  if (flat.empty()) {
    fail("vector: expected at least one element, got none");
    return {};
  }
  Scalar scalar = flat[0].type.scalar;
  for (const KernelValue &value : flat)
    scalar = promote(scalar, value.type.scalar);
  scalar = type.value_or(scalar);
  for (KernelValue &value : flat)
    value = cast(value, scalar);
  return fromElements(flat, DataType(scalar, {int64_t(flat.size())}));
}

KernelValue KernelBuilder::makeMatrix(ArrayRef<KernelValue> given, int64_t rows,
                                      std::optional<Scalar> type) {
  KernelValue flat = makeVector(given, type);
  if (!flat)
    return {};
  int64_t count = flat.type.shape[0];
  if (rows < 1 || count % rows) {
    fail("matrix: expected rows of equal length, got " + Twine(count) + " elements in " +
         Twine(rows) + " rows");
    return {};
  }
  return fromElements(elements(flat), DataType(flat.type.scalar, {rows, count / rows}));
}

std::optional<SmallVector<KernelValue>>
KernelBuilder::componentIndices(const DataType &type, ArrayRef<KernelValue> indices) {
  if (type.isScalar()) {
    fail("subscript: expected a vector, matrix, array or tree, got " + type.name());
    return std::nullopt;
  }
  SmallVector<KernelValue> flat;
  if (!flattenIndices(indices, flat))
    return std::nullopt;
  if (flat.size() != type.shape.size()) {
    fail("wrong number of indices: expected " + Twine(type.shape.size()) + " for " + type.name() +
         ", got " + Twine(flat.size()));
    return std::nullopt;
  }
  for (auto [index, extent] : llvm::zip(flat, type.shape)) {
    std::optional<int64_t> known = knownInteger(index);
    if (known && (*known < 0 || *known >= extent)) {
      fail("index out of range: expected 0 to " + Twine(extent - 1) + " for " + type.name() +
           ", got " + Twine(*known));
      return std::nullopt;
    }
  }
  return flat;
}

/// For each component, u1: is it the one that the indices name? Null:
/// certainly; only for known indices, where all the others are absent.
SmallVector<Value> KernelBuilder::elementChoices(const DataType &type,
                                                 ArrayRef<KernelValue> indices) {
  SmallVector<Value> choices;
  for (int64_t k = 0; k < type.count(); ++k) {
    int64_t position[] = {type.isMatrix() ? k / type.shape[1] : k % type.shape.back(),
                          k % type.shape.back()};
    Value isIt;
    for (auto [axis, index] : llvm::enumerate(indices)) {
      Value equals = builder.createOrFold<arith::CmpIOp>(loc(), arith::CmpIPredicate::eq, index.ir,
                                                         constant(index.type, position[axis]));
      // The user's index, compared with zero: debug mode and the interpreter look for the mark.
      if (auto compare = equals.getDefiningOp<arith::CmpIOp>(); compare && k == 0)
        compare->setAttr(index.type.isSigned() ? mark::component : mark::unsignedComponent,
                         builder.getI64IntegerAttr(type.shape[axis]));
      isIt = isIt ? builder.createOrFold<arith::AndIOp>(loc(), isIt, equals) : equals;
    }
    choices.push_back(isIt);
  }
  return choices;
}

KernelValue KernelBuilder::component(const KernelValue &value, ArrayRef<KernelValue> given) {
  if (!value)
    return {};
  std::optional<SmallVector<KernelValue>> indices = componentIndices(value.type, given);
  if (!indices)
    return {};
  SmallVector<KernelValue> parts = elements(value);
  // Folds to one component for known indices; an index out of range yields the
  // last component.
  SmallVector<Value> choices = elementChoices(value.type, *indices);
  Value result = parts.back().ir;
  for (int64_t k = int64_t(parts.size()) - 2; k >= 0; --k)
    result = builder.createOrFold<arith::SelectOp>(loc(), choices[k], parts[k].ir, result);
  return {result, value.type.element()};
}

KernelValue KernelBuilder::replaceComponent(const KernelValue &whole, ArrayRef<KernelValue> indices,
                                            const KernelValue &value) {
  SmallVector<KernelValue> parts = elements(whole);
  for (auto [part, isIt] : llvm::zip(parts, elementChoices(whole.type, indices)))
    part.ir = builder.createOrFold<arith::SelectOp>(loc(), isIt, value.ir, part.ir);
  return fromElements(parts, whole.type);
}

KernelValue KernelBuilder::matrixProduct(const KernelValue &left, const KernelValue &right) {
  KernelValue a = cast(left, promote(left.type.scalar, right.type.scalar)),
              b = cast(right, a.type.scalar);
  if (!a.type.isMatrix() || b.type.isScalar() || a.type.shape[1] != b.type.shape[0]) {
    fail("operator '@': expected a matrix and a matrix or vector with as many "
         "rows as it has columns, got " +
             left.type.name() + " and " + right.type.name(),
         a.type.isVector() && b.type.isVector()
             ? "the product of two vectors is a.dot(b) or a.outer_product(b)"
             : "");
    return {};
  }
  int64_t rows = a.type.shape[0], inner = a.type.shape[1],
          columns = b.type.isMatrix() ? b.type.shape[1] : 1;
  SmallVector<KernelValue> x = elements(a), y = elements(b), result;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      KernelValue sum;
      for (int64_t k = 0; k < inner; ++k) {
        int64_t from = isMutant(Mutant::MatrixProductTransposed) ? j * inner + k : k * columns + j;
        KernelValue product = arithmetic("*", x[i * inner + k], y[from]);
        sum = sum ? arithmetic("+", sum, product) : product;
      }
      result.push_back(sum);
    }
  DataType type(a.type.scalar, {rows});
  if (b.type.isMatrix())
    type.shape.push_back(columns);
  return fromElements(result, type);
}

KernelValue KernelBuilder::linearPair(StringRef op, const KernelValue &left,
                                      const KernelValue &right) {
  if (!left || !right)
    return {};
  Scalar scalar = promote(left.type.scalar, right.type.scalar);
  KernelValue a = cast(left, scalar), b = cast(right, scalar);
  bool isFine = a.type.isVector() && b.type.isVector();
  if (op == "dot")
    isFine = isFine && a.type.shape == b.type.shape;
  if (op == "cross")
    isFine =
        isFine && a.type.shape == b.type.shape && (a.type.shape[0] == 2 || a.type.shape[0] == 3);
  if (!isFine) {
    StringRef expected = op == "dot"     ? "two vectors of one length"
                         : op == "cross" ? "two vectors of length 3 or 2"
                                         : "two vectors";
    fail(op + ": expected " + expected + ", got " + left.type.name() + " and " + right.type.name());
    return {};
  }
  if (op == "dot")
    return linear("sum", arithmetic("*", a, b));
  SmallVector<KernelValue> x = elements(a), y = elements(b), result;
  auto minor = [&](int i, int j) {
    return arithmetic("-", arithmetic("*", x[i], y[j]), arithmetic("*", x[j], y[i]));
  };
  if (op == "cross")
    return x.size() == 2 ? minor(0, 1)
                         : fromElements({minor(1, 2), minor(2, 0), minor(0, 1)}, a.type);
  for (const KernelValue &row : x)
    for (const KernelValue &column : y)
      result.push_back(arithmetic("*", row, column));
  return fromElements(result, DataType(scalar, {int64_t(x.size()), int64_t(y.size())}));
}

KernelValue KernelBuilder::determinantOf(ArrayRef<KernelValue> values, int64_t size) {
  if (size == 1)
    return values[0];
  KernelValue sum;
  for (int64_t column = 0; column < size; ++column) { // along the first row
    SmallVector<KernelValue> minor;
    for (int64_t k = size; k < size * size; ++k)
      if (k % size != column)
        minor.push_back(values[k]);
    KernelValue term = arithmetic("*", values[column], determinantOf(minor, size - 1));
    sum = !sum ? term : arithmetic(column % 2 ? "-" : "+", sum, term);
  }
  return sum;
}

/// By cofactors, for sizes up to 4.
KernelValue KernelBuilder::inverse(const KernelValue &value) {
  KernelValue matrix = value.type.isFloat() ? value : cast(value, settings.defaultFloat);
  int64_t size = matrix.type.shape[0];
  SmallVector<KernelValue> parts = elements(matrix), result;
  KernelValue one = {constant(matrix.type.element(), 1.0), matrix.type.element()};
  KernelValue scale = divide(one, determinantOf(parts, size));
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j) { // element (i, j) is the cofactor of (j, i)
      SmallVector<KernelValue> minor;
      for (int64_t k = 0; k < size * size; ++k)
        if (k / size != j && k % size != i)
          minor.push_back(parts[k]);
      KernelValue cofactor = size == 1 ? one : determinantOf(minor, size - 1);
      result.push_back(arithmetic("*", (i + j) % 2 ? unary("-", cofactor) : cofactor, scale));
    }
  return fromElements(result, matrix.type);
}

KernelValue KernelBuilder::linear(StringRef op, const KernelValue &value) {
  if (!value)
    return {};
  const DataType &type = value.type;
  bool wantsSquare = op == "determinant" || op == "inverse" || op == "trace";
  bool wantsMatrix = wantsSquare || op == "transpose";
  if (type.isScalar() || (wantsMatrix && !type.isMatrix()) ||
      (wantsSquare && type.shape[0] != type.shape[1])) {
    fail(op + ": expected a " +
         (wantsSquare   ? "square matrix"
          : wantsMatrix ? "matrix"
                        : "vector or matrix") +
         ", got " + type.name());
    return {};
  }
  if ((op == "determinant" || op == "inverse") && type.shape[0] > 4) {
    fail(op + ": expected a matrix of at most 4 rows, got " + type.name());
    return {};
  }
  if (op == "norm_sqr")
    return linear("sum", arithmetic("*", value, value));
  if (op == "norm")
    return function("sqrt", linear("norm_sqr", value));
  if (op == "normalized")
    return binary("/", value, linear("norm", value));
  if (op == "inverse")
    return inverse(value);
  SmallVector<KernelValue> parts = elements(value);
  if (op == "determinant")
    return determinantOf(parts, type.shape[0]);
  if (op == "transpose") {
    SmallVector<KernelValue> turned;
    for (int64_t j = 0; j < type.shape[1]; ++j)
      for (int64_t i = 0; i < type.shape[0]; ++i)
        turned.push_back(parts[i * type.shape[1] + j]);
    return fromElements(turned, DataType(type.scalar, {type.shape[1], type.shape[0]}));
  }
  if (op == "trace") {
    SmallVector<KernelValue> diagonal;
    for (int64_t k = 0; k < type.shape[0]; ++k)
      diagonal.push_back(parts[k * (type.shape[1] + 1)]);
    parts = diagonal;
  }
  StringRef step = llvm::StringSwitch<StringRef>(op)
                       .Cases({"sum", "trace"}, "+")
                       .Case("any", "|")
                       .Case("all", "&")
                       .Default(op);
  if (op == "any" || op == "all")
    for (KernelValue &part : parts)
      part = cast(part, METATE_U1);
  KernelValue result = parts[0];
  for (const KernelValue &part : ArrayRef(parts).drop_front())
    result = binary(step, result, part);
  return result;
}
