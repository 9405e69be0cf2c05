// Arguments, loops, conditions and prints of metate/builder.hpp.
#include "State.h"

#include <cmath>
#include <cstdio>

using namespace metate::frontend;

namespace metate::builder {

using detail::Access;

Value Kernel::value(const std::string &name, Type type, Where where) {
  Access::claim(*state, name, where);
  return Access::value(*state, state->builder().valueArgument(name, Access::native(type)));
}

Array Kernel::array(const std::string &name, Type element, unsigned ndim, Where where) {
  Access::claim(*state, name, where);
  if (ndim + element.rank > METATE_MAX_RANK)
    Access::fail(where, "array '" + name + "': expected at most " +
                            std::to_string(METATE_MAX_RANK - element.rank) + " dimensions, got " +
                            std::to_string(ndim));
  return Access::array(*state, state->builder().arrayArgument(name, Access::native(element), ndim,
                                                              /*isContiguous=*/false));
}

Tree Kernel::tree(const std::string &name, const TreeType &type, Where where) {
  Access::claim(*state, name, where);
  return Access::tree(*state, state->builder().treeArgument(name, type.text()));
}

Place Kernel::result(Type type, const std::string &name, Where where) {
  Access::claim(*state, name, where);
  return Access::place(*state, state->builder().resultArgument(Access::native(type), name));
}

Value Kernel::random(Type type, const Operand &key) {
  KernelValue word = Access::resolve(*state, key);
  if (type.rank || word.type.scalar != METATE_U64 || !word.type.isScalar())
    Access::fail(Access::whereOf(key),
                 "kernel '" + state->name +
                     "': random: expected a scalar type and a key of type u64");
  return Access::value(*state, state->builder().random(type.scalar, word));
}

Place Kernel::variable(const Operand &value) {
  KernelValue first = Access::resolve(*state, value);
  Place made = Access::place(*state, state->builder().declareLocal(first.type));
  state->builder().store(Access::native(made), first, "variable");
  Access::check(*state);
  return made;
}

Value Kernel::vector(std::initializer_list<Operand> elements) {
  return Access::value(*state, state->builder().makeVector(Access::resolve(*state, elements)));
}

Value Kernel::matrix(std::initializer_list<Operand> elements, unsigned rows) {
  return Access::value(*state,
                       state->builder().makeMatrix(Access::resolve(*state, elements), rows));
}

// The numbers of an integer type; of 64 bits as floats have them: each below the second one.
static std::pair<double, double> rangeOf(metate_dtype type) {
  int bits = type == METATE_U1 ? 1 : int(frontend::bitWidth(type));
  bool hasSign = type != METATE_U1 && frontend::isSigned(type);
  return {hasSign ? -std::ldexp(1.0, bits - 1) : 0.0, std::ldexp(1.0, bits - hasSign)};
}

static void checkFits(double value, metate_dtype type, Where where) {
  auto [first, end] = rangeOf(type);
  if (value >= first && value < end && value == std::floor(value))
    return;
  auto whole = [](double number, int power) { // of 64 bits by a power
    return std::fabs(number) < 9e15 ? std::to_string(int64_t(number))
                                    : (number < 0 ? "-2^" : "2^") + std::to_string(power);
  };
  int bits = int(std::log2(end));
  char given[32];
  std::snprintf(given, sizeof given, "%.17g", value);
  Access::fail(where, "constant: expected a whole number from " + whole(first, bits) + " to " +
                          (end < 9e15 ? whole(end - 1, bits) : whole(end, bits) + " - 1") +
                          " for " + frontend::scalarName(type).str() + ", got " + given);
}

Value Kernel::constant(double value, Type type, Where where) {
  Access::begin(*state, where);
  bool isFloat = frontend::isFloat(type.scalar);
  if (!isFloat)
    checkFits(value, type.scalar, where);
  int64_t bits = isFloat ? 0 : value < 0 ? int64_t(value) : int64_t(uint64_t(value));
  KernelValue made = isFloat ? state->builder().floatConstant(value, type.scalar)
                             : state->builder().integerConstant(bits, type.scalar);
  return Access::value(*state, state->builder().convert(made, Access::native(type), "constant"));
}

//===-- loops and conditions -----------------------------------------------===//

static KernelBuilder::Bounds boundsOf(detail::KernelState &state, const Range &range) {
  KernelValue lower = Access::resolve(state, range.begin);
  return {lower, Access::resolve(state, range.end), {}};
}

static std::vector<Value> valuesOf(detail::KernelState &state,
                                   llvm::ArrayRef<KernelValue> natives) {
  Access::check(state);
  std::vector<Value> values;
  for (const KernelValue &one : natives)
    values.push_back(Access::value(state, one));
  return values;
}

std::vector<Value> Kernel::begin_parallel(std::initializer_list<Range> ranges, Where where) {
  std::vector<KernelBuilder::Bounds> bounds;
  for (const Range &range : ranges)
    bounds.push_back(boundsOf(*state, range));
  Access::begin(*state, where);
  return valuesOf(*state, state->builder().beginParallel(bounds));
}

std::vector<Value> Kernel::begin_for_each(const Tree &tree, const std::string &path, Where where) {
  if (&Access::kernelOf(tree) != state.get())
    Access::fail(where, "kernel '" + state->name + "': a tree of another kernel is used in it");
  Access::begin(*state, where);
  return valuesOf(*state, state->builder().beginForEach(Access::native(tree), path));
}

Value Kernel::begin_serial(const Range &range, const Place *going, Where where) {
  KernelBuilder::Bounds bounds = boundsOf(*state, range);
  Access::begin(*state, where);
  const Reference *keepGoing = nullptr;
  if (going) {
    keepGoing = &Access::usable(*going);
    if (keepGoing->kind != Reference::Kind::Local || !keepGoing->type.isBool() ||
        !keepGoing->type.isScalar())
      Access::fail(where,
                   "kernel '" + state->name +
                       "': expected a variable of type u1 that says whether the loop goes on");
  }
  return Access::value(*state, state->builder().beginSerial(bounds, keepGoing));
}

void Kernel::end_loop() {
  state->builder().endLoop();
  Access::check(*state);
}

void Kernel::wrong_count(size_t got, Where where) {
  Access::fail(where, "kernel '" + state->name + "': expected a body of the loop that takes " +
                          std::to_string(got) + (got == 1 ? " value" : " values") +
                          ", or a vector of them");
}

void Kernel::while_(const std::function<Value()> &condition, const std::function<void()> &body,
                    Where where) {
  Access::begin(*state, where);
  state->builder().beginWhile();
  Access::check(*state);
  KernelValue going = Access::resolve(*state, Operand(condition(), where));
  state->builder().beginWhileBody(state->builder().truth(going, "while"), nullptr);
  Access::check(*state);
  body();
  end_loop();
}

void Kernel::if_(const Operand &condition, const std::function<void()> &then,
                 const std::function<void()> &otherwise) {
  KernelValue which = state->builder().truth(Access::resolve(*state, condition), "if");
  Access::check(*state);
  state->builder().beginIf(which);
  Access::check(*state);
  then();
  if (otherwise) {
    state->builder().beginElse();
    otherwise();
  }
  state->builder().endIf();
  Access::check(*state);
}

//===-- effects ------------------------------------------------------------===//

void Kernel::print(std::initializer_list<Shown> parts) {
  std::vector<KernelBuilder::PrintPart> converted;
  for (const Shown &shown : parts)
    converted.push_back(Access::part(*state, shown));
  if (parts.size())
    Access::begin(*state, Access::whereOf(*parts.begin()));
  state->builder().print(converted);
  Access::check(*state);
}

void Kernel::assert_that(const Operand &condition, const std::string &message) {
  KernelValue holds = state->builder().truth(Access::resolve(*state, condition), "assert");
  Access::check(*state);
  state->builder().assertThat(holds, message);
  Access::check(*state);
}

} // namespace metate::builder
