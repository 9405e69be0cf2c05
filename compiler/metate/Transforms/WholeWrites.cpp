//===- WholeWrites.cpp - arrays that a kernel writes everywhere -*- C++ -*-===//
//
// Nests of loops from 0 to the array's extents, each variable of which is a part of one of the store's indices. Extents are the same
// where they are one constant, one array's, or arrays' whose shapes name one dim. Must not know what the answer is for.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/WholeWrites.h"

#include "metate/abi/module.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace metate;

/// What an index is without changes of its width: extents, and so variables of loops, fit 32 bits.
static Value withoutCasts(Value index) {
  while (auto cast = index.getDefiningOp<arith::IndexCastOp>())
    index = cast.getIn();
  return index;
}

namespace {
/// What an extent is: a number, a dim, or a dimension of an argument that nothing is known of.
struct Extent {
  std::optional<int64_t> number;
  Attribute dim;
  Value array;
  int64_t axis = 0;
  bool operator==(const Extent &) const = default;
};

class WholeWrite {
public:
  WholeWrite(KernelOp kernel, BlockArgument array) : kernel(kernel), array(array) {}

  bool isProven() {
    // Components that are written of each element, by how many of the last indices name one; none: all of it.
    std::map<unsigned, std::set<std::vector<int64_t>>> written;
    for (Operation *user : array.getUsers()) {
      auto store = dyn_cast<memref::StoreOp>(user);
      std::vector<int64_t> component;
      if (store && store.getMemRef() == array && coversAll(store, component))
        written[unsigned(component.size())].insert(component);
    }
    auto type = cast<MemRefType>(array.getType());
    return llvm::any_of(written, [&](const auto &entry) {
      int64_t all = 1;
      for (int64_t extent : type.getShape().take_back(entry.first))
        all *= extent;
      return int64_t(entry.second.size()) == all;
    });
  }

private:
  KernelOp kernel;
  BlockArgument array;

  Extent extentOf(Value of, int64_t axis) {
    auto argument = dyn_cast<BlockArgument>(of);
    auto type = dyn_cast<MemRefType>(of.getType());
    if (!argument || !type || argument.getOwner() != &kernel.getBody().front())
      return {std::nullopt, {}, of, axis};
    if (!ShapedType::isDynamic(type.getDimSize(axis)))
      return {type.getDimSize(axis), {}, {}, 0};
    auto shape = kernel.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), mark::shape);
    auto dim = shape && axis < int64_t(shape.size()) ? dyn_cast<DimAttr>(shape[axis]) : DimAttr();
    return dim ? Extent{std::nullopt, dim, {}, 0} : Extent{std::nullopt, {}, of, axis};
  }

  struct Loop {
    Value lower, upper;
    bool isUsed = false;
    std::optional<int64_t> turns() const {
      return getConstantIntValue(lower) == 0 ? getConstantIntValue(upper) : std::nullopt;
    }
  };
  using Loops = llvm::MapVector<Value, Loop>; // by their variables
  struct Term {
    Value variable;
    int64_t factor;
  };

  /// The loops around the store; false: something else is around it.
  bool loopsAround(memref::StoreOp store, Loops &loops) {
    for (Operation *around = store->getParentOp(); around != kernel;
         around = around->getParentOp()) {
      if (isa<SerialOp>(around))
        continue;
      if (auto loop = dyn_cast<scf::ForOp>(around)) {
        if (getConstantIntValue(loop.getStep()) != 1)
          return false;
        loops.insert({loop.getInductionVar(), {loop.getLowerBound(), loop.getUpperBound()}});
        continue;
      }
      auto range = dyn_cast<RangeOp>(around);
      if (!range)
        return false;
      for (auto [variable, lower, upper] :
           llvm::zip_equal(range.getBody().getArguments(), range.getLower(), range.getUpper()))
        loops.insert({variable, {lower, upper}});
    }
    return true;
  }

  /// The index as a sum of variables with constant factors; false: it is none.
  static bool termsOf(Value index, int64_t factor, SmallVectorImpl<Term> &terms) {
    index = withoutCasts(index);
    if (auto sum = index.getDefiningOp<arith::AddIOp>())
      return termsOf(sum.getLhs(), factor, terms) && termsOf(sum.getRhs(), factor, terms);
    if (auto product = index.getDefiningOp<arith::MulIOp>())
      if (std::optional<int64_t> by = getConstantIntValue(product.getRhs());
          by && *by > 0 && *by <= INT32_MAX && factor <= INT32_MAX)
        return termsOf(product.getLhs(), factor * *by, terms);
    terms.push_back({index, factor});
    return isa<BlockArgument>(index);
  }

  /// Does a loop go through the array's dimension?
  bool spans(const Loop &loop, int64_t axis) {
    if (getConstantIntValue(loop.lower) != 0)
      return false;
    Extent wanted = extentOf(array, axis);
    if (std::optional<int64_t> number = getConstantIntValue(loop.upper))
      return wanted.number == number;
    auto dim = withoutCasts(loop.upper).getDefiningOp<memref::DimOp>();
    std::optional<int64_t> of = dim ? dim.getConstantIndex() : std::nullopt;
    return of && extentOf(dim.getSource(), *of) == wanted;
  }

  /// Do loops go through the dimension by an index that is made of theirs, as rows and columns are numbered?
  bool goThrough(Value index, int64_t axis, Loops &loops) {
    SmallVector<Term> terms;
    if (!termsOf(index, 1, terms))
      return false;
    for (const Term &term : terms)
      if (auto loop = loops.find(term.variable);
          loop == loops.end() || std::exchange(loop->second.isUsed, true))
        return false;
    if (terms.size() == 1)
      return terms[0].factor == 1 && spans(loops[terms[0].variable], axis);
    llvm::sort(terms, [](const Term &a, const Term &b) { return a.factor < b.factor; });
    int64_t numbered = 1;
    for (const Term &term : terms) {
      std::optional<int64_t> turns = loops[term.variable].turns();
      // A single turn's variable is 0, whatever its factor is.
      if (!turns || *turns < 1 || (term.factor != numbered && *turns != 1) ||
          __builtin_mul_overflow(numbered, *turns, &numbered))
        return false;
    }
    return extentOf(array, axis).number == numbered;
  }

  /// Each loop around the store is one of its indices', and nothing else is around it. `component`: its constant indices.
  bool coversAll(memref::StoreOp store, std::vector<int64_t> &component) {
    Loops loops;
    if (!loopsAround(store, loops))
      return false;
    ArrayRef<int64_t> sizes = cast<MemRefType>(array.getType()).getShape();
    for (auto [axis, index] : llvm::enumerate(store.getIndices())) {
      if (std::optional<int64_t> number = getConstantIntValue(index)) {
        if (*number < 0 || *number >= sizes[axis]) // a dynamic size is below 0
          return false;
        component.push_back(*number);
      } else if (!component.empty() || !goThrough(index, int64_t(axis), loops)) {
        return false;
      }
    }
    return llvm::all_of(loops, [](const auto &entry) { return entry.second.isUsed; });
  }
};
} // namespace

bool metate::writesAllOf(KernelOp kernel, unsigned argument) {
  auto access = kernel.getArgAttrOfType<IntegerAttr>(argument, mark::access);
  BlockArgument array = kernel.getBody().getArgument(argument);
  return access && access.getInt() == METATE_ACCESS_WRITE && isa<MemRefType>(array.getType()) &&
         WholeWrite(kernel, array).isProven();
}
