// Operators and functions, places, arrays and trees of metate/builder.hpp.
#include "State.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace metate::frontend;

namespace metate::builder {

using detail::Access;
using detail::KernelState;

static bool isComparison(const std::string &op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"==", "!=", "<", "<=", ">", ">="}, true)
      .Default(false);
}

Value binary(const std::string &op, const Operand &left, const Operand &right) {
  KernelState &kernel = detail::commonKernel({&left, &right});
  KernelValue a = Access::resolve(kernel, left), b = Access::resolve(kernel, right);
  Access::begin(kernel, Access::whereOf(left));
  return Access::value(kernel, isComparison(op) ? kernel.builder().compare(op, a, b)
                                                : kernel.builder().binary(op, a, b));
}

static void checkOperator(const std::string &what, const std::string &op,
                          llvm::ArrayRef<llvm::StringRef> known, Where where) {
  if (!llvm::is_contained(known, op))
    Access::fail(where,
                 what + ": expected one of '" + llvm::join(known, "', '") + "', got '" + op + "'");
}

Value unary(const std::string &op, const Operand &value) {
  checkOperator("unary", op, {"-", "+", "~", "not"}, Access::whereOf(value));
  KernelState &kernel = detail::commonKernel({&value});
  return Access::value(kernel, kernel.builder().unary(op, Access::resolve(kernel, value)));
}

// What vectors and matrices have; "max" and "min" of one operand are theirs, too.
static bool isLinear(const std::string &name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"norm", "norm_sqr", "normalized", "transpose", "determinant", "inverse"}, true)
      .Cases({"trace", "sum", "max", "min", "any", "all"}, true)
      .Default(false);
}

Value function(const std::string &name, const Operand &value) {
  KernelState &kernel = detail::commonKernel({&value});
  KernelValue operand = Access::resolve(kernel, value);
  return Access::value(kernel, isLinear(name) ? kernel.builder().linear(name, operand)
                                              : kernel.builder().function(name, operand));
}

Value linear(const std::string &op, const Operand &left, const Operand &right) {
  KernelState &kernel = detail::commonKernel({&left, &right});
  KernelValue a = Access::resolve(kernel, left), b = Access::resolve(kernel, right);
  return Access::value(kernel, kernel.builder().linearPair(op, a, b));
}

Value select(const Operand &condition, const Operand &yes, const Operand &no) {
  KernelState &kernel = detail::commonKernel({&condition, &yes, &no});
  KernelValue which = Access::resolve(kernel, condition), a = Access::resolve(kernel, yes),
              b = Access::resolve(kernel, no);
  return Access::value(kernel, kernel.builder().select(which, a, b));
}

Value cast(const Operand &value, Type to) {
  KernelState &kernel = detail::commonKernel({&value});
  KernelValue operand = Access::resolve(kernel, value);
  if (to.rank)
    Access::fail(Access::whereOf(value),
                 "cast: expected a scalar type, which is that of each component");
  return Access::value(kernel, kernel.builder().cast(operand, to.scalar, /*isExplicit=*/true));
}

Value bit_cast(const Operand &value, Type to) {
  KernelState &kernel = detail::commonKernel({&value});
  return Access::value(kernel, kernel.builder().bitCast(Access::resolve(kernel, value), to.scalar));
}

Value Value::operator[](const Operand &index) const {
  Operand self(*this, Access::whereOf(index));
  KernelState &state = detail::commonKernel({&self});
  return Access::value(
      state, state.builder().component(Access::native(*this), Access::resolve(state, {index})));
}

Value Value::operator()(const Operand &row, const Operand &column) const {
  Operand self(*this, Access::whereOf(row));
  KernelState &state = detail::commonKernel({&self});
  return Access::value(state, state.builder().component(Access::native(*this),
                                                        Access::resolve(state, {row, column})));
}

//===-- places -------------------------------------------------------------===//

// A place is no variable of C++: assignment stores, and leaves the place what it is.
// NOLINTBEGIN(misc-unconventional-assign-operator)
const Place &Place::operator=(const Operand &value) const {
  KernelValue stored = Access::resolve(*kernel, value);
  kernel->builder().store(Access::usable(*this), stored, "value");
  Access::check(*kernel);
  return *this;
}

const Place &Place::operator=(const Place &other) const { return *this = Operand(other, Where()); }
// NOLINTEND(misc-unconventional-assign-operator)

const Place &Place::update(const char *op, const char *atomicOp, const Operand &value) const {
  if (kernel->builder().isShared(Access::usable(*this)))
    return atomic(atomicOp, value), *this;
  return *this = binary(op, Operand(*this, Access::whereOf(value)), value);
}

const Place &Place::operator+=(const Operand &value) const { return update("+", "add", value); }
const Place &Place::operator-=(const Operand &value) const { return update("-", "sub", value); }
const Place &Place::operator*=(const Operand &value) const { return update("*", "mul", value); }
const Place &Place::operator&=(const Operand &value) const { return update("&", "and", value); }
const Place &Place::operator|=(const Operand &value) const { return update("|", "or", value); }
const Place &Place::operator^=(const Operand &value) const { return update("^", "xor", value); }

Value Place::atomic(const std::string &op, const Operand &value) const {
  KernelValue operand = Access::resolve(*kernel, value);
  return Access::value(*kernel, kernel->builder().atomic(op, Access::usable(*this), operand));
}

Value Place::compare_exchange(const Operand &expected, const Operand &desired) const {
  KernelValue before = Access::resolve(*kernel, expected),
              after = Access::resolve(*kernel, desired);
  return Access::value(*kernel,
                       kernel->builder().compareExchange(Access::usable(*this), before, after));
}

Type Place::type() const { return Access::shown(state->reference.type); }

Value Place::load(Where where) const {
  Access::begin(*kernel, where);
  return Access::value(*kernel, kernel->builder().load(Access::usable(*this)));
}

Place Place::operator[](const Operand &index) const {
  return Access::place(*kernel, kernel->builder().component(Access::usable(*this),
                                                            Access::resolve(*kernel, {index})));
}

Place Place::operator()(const Operand &row, const Operand &column) const {
  return Access::place(
      *kernel,
      kernel->builder().component(Access::usable(*this), Access::resolve(*kernel, {row, column})));
}

//===-- arrays and trees ---------------------------------------------------===//

Place Array::element(std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  return Access::place(
      state, state.builder().arrayElement(Access::native(*this), Access::resolve(state, indices)));
}

Value Array::shape(unsigned axis) const {
  KernelState &state = Access::kernelOf(*this);
  const unsigned rank = Access::native(*this).rank;
  if (axis >= rank)
    Access::fail(state.at, "shape: expected an axis below " + std::to_string(rank) + ", got " +
                               std::to_string(axis));
  return Access::value(state, state.builder().dimension(Access::native(*this), axis));
}

Place Tree::member(const std::string &name, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  return Access::place(state, state.builder().member(Access::native(*this), name, at));
}

Value Tree::is_active(const std::string &path, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  return Access::value(state, state.builder().isActive(Access::native(*this), path, at));
}

void Tree::activate(const std::string &path, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  state.builder().activate(Access::native(*this), path, at);
  Access::check(state);
}

void Tree::deactivate(const std::string &path, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  state.builder().deactivate(Access::native(*this), path, at);
  Access::check(state);
}

Value Tree::append(const std::string &level, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  return Access::value(state, state.builder().append(Access::native(*this), level, at));
}

Value Tree::length(const std::string &level, std::initializer_list<Operand> indices) const {
  KernelState &state = Access::kernelOf(*this, indices);
  std::vector<KernelValue> at = Access::resolve(state, indices);
  return Access::value(state, state.builder().length(Access::native(*this), level, at));
}

Value Tree::used(const std::string &level) const {
  KernelState &state = Access::kernelOf(*this);
  return Access::value(state, state.builder().used(Access::native(*this), level));
}

void Tree::no_activate(const std::string &member) const {
  KernelState &state = Access::kernelOf(*this);
  state.builder().noActivate(Access::native(*this), member);
  Access::check(state);
}

} // namespace metate::builder
