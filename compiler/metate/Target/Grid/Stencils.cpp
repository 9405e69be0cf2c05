//===- Stencils.cpp - which cells around its own an iteration reads -*- C++ -*-===//
//
// Two reads are of one array if their offsets are computed alike, but for constants that are added to variables of the range: the constants
// are the distances. So it does not matter whether extents are known, and whether indices are clamped or wrap.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/Stencils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// Elements of 4 bytes that are read together.
static constexpr int64_t sector = 8;
/// What is longer is not looked at: an offset as text, distances of a read.
static constexpr size_t mostText = 4000, mostDistances = 1000;

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) || !constant.isSignedIntN(32))
    return std::nullopt;
  return constant.getSExtValue();
}

static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
using Numbers = std::set<int64_t>;

/// A variable of the range plus constants: several, where it is the variable of a loop of few turns that is added.
struct Shifted {
  unsigned axis;
  Numbers by;
};

/// How one offset is computed.
class Offset {
public:
  Offset(RangeOp range) : range(range), distances(range.getLower().size()) {}

  bool read(Value value) {
    value = withoutCasts(value);
    if (text.size() > mostText)
      return false;
    if (std::optional<Shifted> variable = shifted(value)) {
      text += "v" + std::to_string(variable->axis);
      distances[variable->axis].insert(variable->by.begin(), variable->by.end());
      return true;
    }
    llvm::raw_string_ostream stream(text);
    Operation *op = value.getDefiningOp();
    if (std::optional<int64_t> constant = constantOf(value)) {
      stream << *constant;
      return true;
    }
    if (!op || op->getNumOperands() == 0 || op->getNumResults() != 1 || op->getNumRegions() ||
        !isa<arith::ArithDialect>(op->getDialect())) {
      stream << value.getAsOpaquePointer();
      return true;
    }
    stream << op->getName();
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      stream << stringifyCmpIPredicate(compare.getPredicate());
    stream << '(';
    for (Value operand : op->getOperands()) {
      if (!read(operand))
        return false;
      stream << ',';
    }
    stream << ')';
    return true;
  }

  std::string text;
  /// All combinations of the distances along each dimension.
  bool addTo(std::set<Stencil::Distance> &all) const {
    std::vector<Stencil::Distance> found(1);
    for (const Numbers &along : distances) {
      std::vector<Stencil::Distance> longer;
      for (const Stencil::Distance &begun : found)
        for (int64_t distance : along.empty() ? Numbers{0} : along) {
          longer.push_back(begun);
          longer.back().push_back(distance);
        }
      found = std::move(longer);
      if (found.size() > mostDistances)
        return false;
    }
    all.insert(found.begin(), found.end());
    return all.size() <= mostDistances;
  }

private:
  std::optional<Shifted> shifted(Value value) {
    value = withoutCasts(value);
    if (auto variable = dyn_cast<BlockArgument>(value)) {
      if (variable.getOwner() != &range.getBody().front())
        return std::nullopt;
      return Shifted{variable.getArgNumber(), {0}};
    }
    Operation *op = value.getDefiningOp();
    if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
      return std::nullopt;
    for (unsigned k : {0, 1}) {
      if (k == 1 && isa<arith::SubIOp>(op))
        break;
      Numbers added = numbersOf(
          op->getOperand(1 - k)); // first: else sums of sums are looked at again and again
      std::optional<Shifted> variable = added.empty() ? std::nullopt : shifted(op->getOperand(k));
      if (!variable)
        continue;
      Numbers sums;
      for (int64_t a : variable->by)
        for (int64_t b : added)
          sums.insert(isa<arith::SubIOp>(op) ? a - b : a + b);
      return Shifted{variable->axis, sums};
    }
    return std::nullopt;
  }

  /// A constant, or the variable of a loop of few turns. Empty: neither.
  static Numbers numbersOf(Value value) {
    value = withoutCasts(value);
    if (std::optional<int64_t> constant = constantOf(value))
      return {*constant};
    auto variable = dyn_cast<BlockArgument>(value);
    auto loop = variable ? dyn_cast<scf::ForOp>(variable.getOwner()->getParentOp()) : nullptr;
    if (!loop || variable != loop.getInductionVar())
      return {};
    std::optional<int64_t> low = constantOf(loop.getLowerBound()),
                           high = constantOf(loop.getUpperBound()),
                           step = constantOf(loop.getStep());
    Numbers numbers;
    if (low && high && step == 1 && *high - *low <= sector)
      for (int64_t number = *low; number < *high; ++number)
        numbers.insert(number);
    return numbers;
  }

  RangeOp range;
  std::vector<Numbers> distances;
};
} // namespace

/// The dimensions but the last.
static Stencil::Distance rowOf(const Stencil::Distance &distance) {
  return {distance.begin(), distance.end() - 1};
}

std::optional<Stencil> Stencil::of(RangeOp range) {
  std::map<std::pair<void *, std::string>, std::set<Distance>> found;
  range.walk([&](ReadOp read) {
    Offset offset(range);
    std::set<Distance> all;
    if (!offset.read(read.getOffset()))
      return;
    auto &known = found[{read.getBlock().getAsOpaquePointer(), offset.text}];
    all = known;
    if (offset.addTo(all))
      known = std::move(all);
  });
  Stencil stencil;
  stencil.dimensions = range.getLower().size();
  bool hasRows = false;
  for (auto &[key, distances] : found) {
    if (distances.empty())
      continue;
    std::set<Distance> rows;
    for (const Distance &one : distances)
      rows.insert(rowOf(one));
    hasRows |= rows.size() > 1;
    stencil.arrays.push_back(std::move(distances));
  }
  return hasRows ? std::optional(std::move(stencil)) : std::nullopt;
}

double Stencil::readsPerCell(ArrayRef<int64_t> box) const {
  int64_t cells = 1, read = 0;
  for (int64_t extent : box)
    cells *= extent;
  for (const std::set<Distance> &distances : arrays) {
    std::map<Distance, std::pair<int64_t, int64_t>> rows; // cells before and behind the box's
    for (const Distance &distance : distances) {
      int64_t before = std::max<int64_t>(-distance.back(), 0),
              behind = std::max<int64_t>(distance.back(), 0);
      for (int64_t cell = 0; cell < cells / box.back(); ++cell) {
        Distance row = rowOf(distance);
        int64_t rest = cell;
        for (size_t k = row.size(); k-- > 0; rest /= box[k])
          row[k] += rest % box[k];
        auto &[most, mostBehind] = rows[row];
        most = std::max(most, before);
        mostBehind = std::max(mostBehind, behind);
      }
    }
    for (auto &[row, around] : rows)
      read += box.back() + int64_t(llvm::alignTo(around.first, sector)) +
              int64_t(llvm::alignTo(around.second, sector));
  }
  return double(read) / double(cells);
}

unsigned Stencil::axis() const {
  unsigned best = 0;
  size_t most = 0;
  for (unsigned k = 0; k + 1 < dimensions; ++k) {
    Numbers along;
    for (const std::set<Distance> &distances : arrays)
      for (const Distance &one : distances)
        along.insert(one[k]);
    if (along.size() > most) {
      best = k;
      most = along.size();
    }
  }
  return best;
}
