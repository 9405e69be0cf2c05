// Kernels written in C++: what a Python kernel says, said to the compiler statement by statement. Link libmetate_compiler.
//
//   using namespace metate::builder;
//   Module module("demo");
//   module.kernel("axpy", [](Kernel &k) {
//     Value a = k.value("a", f32);
//     Array x = k.array("x", f32, 1), y = k.array("y", f32, 1);
//     k.parallel_for({x.shape(0)}, [&](Value i) { y(i) += a * x(i); });
//   });
//   Code code = module.compile();                  // for this process: metate::Module::open_static(code.get(), device)
//   module.save("demo.metate", {{"x86-64-v3"}});   // or to ship
//
// Values are what an expression has computed at its place in the kernel; a Place (a variable, an element, a member of a cell) is
// read where it is used. The language is the one of docs/semantics.md: `/` divides as Python does, floor_div is its `//`, `+=` is
// indivisible where other iterations see the place. Mistakes are exceptions that name the line of the C++ program.
//
// C++ does not say which operand of an operator is evaluated first: name the parts of an expression to fix their order in the IR.
#ifndef METATE_BUILDER_HPP
#define METATE_BUILDER_HPP

#include "metate/abi/kernel.h"

#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define METATE_BUILDER_API __attribute__((visibility("default")))

namespace metate::builder {

using Where = std::source_location;

namespace detail {
struct KernelState;
struct ModuleState;
struct PlaceState;
struct CodeState;
struct Access;
} // namespace detail

/// A mistake in a kernel, or what the compiler cannot do; what() begins with the C++ program's file and line where these are known.
class METATE_BUILDER_API Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

//===-- types --------------------------------------------------------------===//

/// A scalar, a vector (rank 1) or a matrix (rank 2).
struct Type {
  metate_dtype scalar = METATE_I32;
  uint32_t rank = 0, rows = 1, columns = 1;
  bool operator==(const Type &) const = default;
};
inline constexpr Type u1{METATE_U1}, i8{METATE_I8}, i16{METATE_I16}, i32{METATE_I32},
    i64{METATE_I64}, u8{METATE_U8}, u16{METATE_U16}, u32{METATE_U32}, u64{METATE_U64},
    f16{METATE_F16}, bf16{METATE_BF16}, f32{METATE_F32}, f64{METATE_F64};
constexpr Type vector(uint32_t count, Type of) { return {of.scalar, 1, count, 1}; }
constexpr Type matrix(uint32_t rows, uint32_t columns, Type of) {
  return {of.scalar, 2, rows, columns};
}

/// A level or a member of a tree type, as MLIR spells it.
struct Level {
  std::string text;
};
using Levels = std::vector<Level>;
/// How many cells a level has along each of its axes; one number stands for all.
struct Extents {
  std::vector<int64_t> each;
  Extents(int64_t all) : each{all} {}
  Extents(std::initializer_list<int64_t> each) : each(each) {}
};

METATE_BUILDER_API Level place(const std::string &name, Type type);
/// axes: letters of "ijklmnopqrst", ascending. name: of the level; by default its kind with its depth.
METATE_BUILDER_API Level dense(const std::string &axes, Extents extents, Levels children,
                               const std::string &name = "");
METATE_BUILDER_API Level pointer(const std::string &axes, Extents extents, Levels children,
                                 const std::string &name = "");
METATE_BUILDER_API Level bitmasked(const std::string &axes, Extents extents, Levels children,
                                   const std::string &name = "");
/// A list along one axis, of at most `most` cells, which takes memory for `chunk` of them at a time.
METATE_BUILDER_API Level dynamic(const std::string &axis, int64_t most, int64_t chunk,
                                 Levels children, const std::string &name = "");
/// Cells at any coordinates.
METATE_BUILDER_API Level hash(const std::string &axes, Levels children,
                              const std::string &name = "");

/// A tree type: a value, without memory. Its text is that of Python's `str(T)`, for what the functions above have not.
class METATE_BUILDER_API TreeType {
public:
  TreeType(Levels children);
  explicit TreeType(std::string text) : spelling(std::move(text)) {}
  const std::string &text() const { return spelling; }

private:
  std::string spelling;
};

//===-- values and places --------------------------------------------------===//

class Operand;
class Place;

/// What was computed in a kernel, which is not known when it is written: `if` takes none, kernel.if_ does. Of use while the kernel is being written.
class METATE_BUILDER_API Value {
public:
  Value() = default;
  Type type() const { return kind; }
  /// A component of a vector, or of a matrix.
  Value operator[](const Operand &index) const;
  Value operator()(const Operand &row, const Operand &column) const;

private:
  friend struct detail::Access;
  std::shared_ptr<detail::KernelState> kernel;
  const void *ir = nullptr;
  Type kind;
};

/// A variable, an element of an array, a member of a cell, or a component of one of these. Assignment stores, use loads.
class METATE_BUILDER_API Place {
public:
  Place(const Place &) = default;
  const Place &operator=(const Operand &value) const;
  const Place &operator=(const Place &other) const;
  const Place &operator=(const Place &other) { return std::as_const(*this) = other; }
  const Place &operator+=(const Operand &value) const;
  const Place &operator-=(const Operand &value) const;
  const Place &operator*=(const Operand &value) const;
  const Place &operator&=(const Operand &value) const;
  const Place &operator|=(const Operand &value) const;
  const Place &operator^=(const Operand &value) const;
  Type type() const;
  Value load(Where where = Where::current()) const;
  Place operator[](const Operand &index) const;
  Place operator()(const Operand &row, const Operand &column) const;
  /// "add", "sub", "mul", "min", "max", "and", "or", "xor": reads, computes and writes, indivisibly; the old value.
  Value atomic(const std::string &op, const Operand &value) const;
  /// Writes `desired` where the place holds, bit for bit, `expected`; the old value.
  Value compare_exchange(const Operand &expected, const Operand &desired) const;

private:
  friend struct detail::Access;
  Place() = default;
  const Place &update(const char *op, const char *atomic, const Operand &value) const;
  std::shared_ptr<detail::KernelState> kernel;
  std::shared_ptr<const detail::PlaceState> state;
};

/// A value, a place, which is loaded, or a number, which is a constant; with the line where it is used.
class Operand {
public:
  Operand(const Value &value, Where where = Where::current()) : what(value), where(where) {}
  Operand(const Place &place, Where where = Where::current()) : what(place), where(where) {}
  template <typename T>
    requires std::is_arithmetic_v<T>
  Operand(T number, Where where = Where::current()) : where(where) {
    if constexpr (std::same_as<T, bool>)
      what = number;
    else if constexpr (std::floating_point<T>)
      what = double(number);
    else if (std::is_signed_v<T> || uint64_t(number) <= uint64_t(INT64_MAX))
      what = int64_t(number);
    else
      throw Error("a literal: expected a number below 2^63, got " + std::to_string(number) +
                  ": name it by Kernel::constant or as an f64");
  }

private:
  friend struct detail::Access;
  std::variant<Value, Place, bool, int64_t, double> what = false;
  Where where;
};

/// Operators by the names of the language: "+ - * / // % ** << >> & | ^ @ min max atan2 pow", "== != < <= > >=".
METATE_BUILDER_API Value binary(const std::string &op, const Operand &left, const Operand &right);
/// "-", "+", "~", "not".
METATE_BUILDER_API Value unary(const std::string &op, const Operand &value);
/// Functions of one operand by name: "sqrt", "sin", "abs", "floor", ...; of vectors "norm", "sum", "transpose", "inverse", ...
METATE_BUILDER_API Value function(const std::string &name, const Operand &value);
/// "dot", "cross", "outer_product".
METATE_BUILDER_API Value linear(const std::string &op, const Operand &left, const Operand &right);
METATE_BUILDER_API Value select(const Operand &condition, const Operand &yes, const Operand &no);
METATE_BUILDER_API Value cast(const Operand &value, Type to);
METATE_BUILDER_API Value bit_cast(const Operand &value, Type to);

#define METATE_BUILDER_OPERATOR(op)                                                                \
  inline Value operator op(const Operand &left, const Operand &right) {                            \
    return binary(#op, left, right);                                                               \
  }
METATE_BUILDER_OPERATOR(+)
METATE_BUILDER_OPERATOR(-)
METATE_BUILDER_OPERATOR(*)
METATE_BUILDER_OPERATOR(/)
METATE_BUILDER_OPERATOR(%)
METATE_BUILDER_OPERATOR(<<)
METATE_BUILDER_OPERATOR(>>)
METATE_BUILDER_OPERATOR(&)
METATE_BUILDER_OPERATOR(|)
METATE_BUILDER_OPERATOR(^)
METATE_BUILDER_OPERATOR(==)
METATE_BUILDER_OPERATOR(!=)
METATE_BUILDER_OPERATOR(<)
METATE_BUILDER_OPERATOR(<=)
METATE_BUILDER_OPERATOR(>)
METATE_BUILDER_OPERATOR(>=)
#undef METATE_BUILDER_OPERATOR
inline Value operator-(const Operand &value) { return unary("-", value); }
inline Value operator~(const Operand &value) { return unary("~", value); }
inline Value operator!(const Operand &value) { return unary("not", value); }
inline Value floor_div(const Operand &left, const Operand &right) {
  return binary("//", left, right);
}
inline Value pow(const Operand &base, const Operand &exponent) {
  return binary("**", base, exponent);
}
inline Value min(const Operand &left, const Operand &right) { return binary("min", left, right); }
inline Value max(const Operand &left, const Operand &right) { return binary("max", left, right); }

/// An array argument.
class METATE_BUILDER_API Array {
public:
  Place operator()(const Operand &i) const { return element({i}); }
  Place operator()(const Operand &i, const Operand &j) const { return element({i, j}); }
  Place operator()(const Operand &i, const Operand &j, const Operand &k) const {
    return element({i, j, k});
  }
  Place element(std::initializer_list<Operand> indices) const;
  /// i32: the extent along an axis.
  Value shape(unsigned axis) const;

private:
  friend struct detail::Access;
  std::shared_ptr<detail::KernelState> kernel;
  const void *ir = nullptr;
  Type of;
  unsigned rank = 0;
};

/// A tree argument.
class METATE_BUILDER_API Tree {
public:
  /// A member of the cell at these coordinates: numbers, values, vectors of them.
  Place operator()(const std::string &name, const Operand &i) const { return member(name, {i}); }
  Place operator()(const std::string &name, const Operand &i, const Operand &j) const {
    return member(name, {i, j});
  }
  Place operator()(const std::string &name, const Operand &i, const Operand &j,
                   const Operand &k) const {
    return member(name, {i, j, k});
  }
  Place member(const std::string &name, std::initializer_list<Operand> indices) const;
  Value is_active(const std::string &path, std::initializer_list<Operand> indices) const;
  void activate(const std::string &path, std::initializer_list<Operand> indices) const;
  void deactivate(const std::string &path, std::initializer_list<Operand> indices) const;
  /// Of a dynamic level: reserves the next cell of the list; i32: its index, -1 where there is none.
  Value append(const std::string &level, std::initializer_list<Operand> indices) const;
  Value length(const std::string &level, std::initializer_list<Operand> indices) const;
  /// i64: slots in use of a pointer, dynamic or hash level.
  Value used(const std::string &level) const;
  /// From here to the end of the parallel loop stores to this member leave inactive cells as they are.
  void no_activate(const std::string &member) const;

private:
  friend struct detail::Access;
  std::shared_ptr<detail::KernelState> kernel;
  const void *ir = nullptr;
};

//===-- kernels ------------------------------------------------------------===//

/// From 0, or from `begin`, to `end`.
struct Range {
  Operand begin, end;
  Range(const Value &end, Where where = Where::current()) : begin(0, where), end(end, where) {}
  Range(const Place &end, Where where = Where::current()) : begin(0, where), end(end, where) {}
  Range(std::integral auto end, Where where = Where::current())
      : begin(0, where), end(end, where) {}
  Range(const Operand &begin, const Operand &end) : begin(begin), end(end) {}
};

/// A text of a print statement, or what it shows.
class Shown {
public:
  Shown(const char *text, Where where = Where::current()) : what(std::string(text)), where(where) {}
  Shown(std::string text, Where where = Where::current()) : what(std::move(text)), where(where) {}
  Shown(const Value &value, Where where = Where::current()) : what(value), where(where) {}
  Shown(const Place &place, Where where = Where::current()) : what(place), where(where) {}

private:
  friend struct detail::Access;
  std::variant<std::string, Value, Place> what;
  Where where;
};

/// Writes one kernel, from its arguments on, which come first.
class METATE_BUILDER_API Kernel {
public:
  Value value(const std::string &name, Type type, Where where = Where::current());
  Array array(const std::string &name, Type element, unsigned ndim, Where where = Where::current());
  Tree tree(const std::string &name, const TreeType &type, Where where = Where::current());
  /// What the kernel returns: store into it.
  Place result(Type type, const std::string &name = "return", Where where = Where::current());

  /// A random number: an integer of any value, a float of [0, 1). `key`: a u64 argument, another one for each launch.
  Value random(Type type, const Operand &key);

  /// A local variable that holds the value.
  Place variable(const Operand &value);
  Value vector(std::initializer_list<Operand> elements);
  /// Rows behind one another.
  Value matrix(std::initializer_list<Operand> elements, unsigned rows);
  /// A constant of a type.
  Value constant(double value, Type type, Where where = Where::current());

  /// A parallel loop, directly in the kernel: body(i), body(i, j), ... or body(vector of all).
  template <typename Body>
  void parallel_for(std::initializer_list<Range> ranges, Body &&body,
                    Where where = Where::current()) {
    call(begin_parallel(ranges, where), body, where);
    end_loop();
  }
  /// A parallel loop over the active cells of a member or a level.
  template <typename Body>
  void for_each(const Tree &tree, const std::string &path, Body &&body,
                Where where = Where::current()) {
    call(begin_for_each(tree, path, where), body, where);
    end_loop();
  }
  /// A loop in order.
  template <typename Body>
  void serial_for(const Range &range, Body &&body, Where where = Where::current()) {
    call({begin_serial(range, nullptr, where)}, body, where);
    end_loop();
  }
  /// A loop in order that also ends when `going`, a variable of type u1, is false.
  template <typename Body>
  void serial_for(const Range &range, const Place &going, Body &&body,
                  Where where = Where::current()) {
    call({begin_serial(range, &going, where)}, body, where);
    end_loop();
  }
  void while_(const std::function<Value()> &condition, const std::function<void()> &body,
              Where where = Where::current());
  void if_(const Operand &condition, const std::function<void()> &then,
           const std::function<void()> &otherwise = nullptr);

  /// Texts as they are, values as Python shows them; a line ends with "\n".
  void print(std::initializer_list<Shown> parts);
  template <typename... Rest> void print(Shown first, const Rest &...rest) {
    print({first, Shown(rest)...});
  }
  void assert_that(const Operand &condition, const std::string &message);

private:
  friend class Module;
  explicit Kernel(std::shared_ptr<detail::KernelState> state) : state(std::move(state)) {}
  std::shared_ptr<detail::KernelState> state;

  std::vector<Value> begin_parallel(std::initializer_list<Range> ranges, Where where);
  std::vector<Value> begin_for_each(const Tree &tree, const std::string &path, Where where);
  Value begin_serial(const Range &range, const Place *going, Where where);
  void end_loop();
  [[noreturn]] void wrong_count(size_t got, Where where);

  template <typename Body> void call(const std::vector<Value> &v, Body &body, Where where) {
    constexpr bool one = std::invocable<Body &, Value>, two = std::invocable<Body &, Value, Value>,
                   three = std::invocable<Body &, Value, Value, Value>,
                   four = std::invocable<Body &, Value, Value, Value, Value>;
    if constexpr (std::invocable<Body &, const std::vector<Value> &>) {
      body(v);
      return;
    } else {
      static_assert(one || two || three || four,
                    "expected a body that takes one to four values, or a vector of them");
      if constexpr (one)
        if (v.size() == 1)
          return void(body(v[0]));
      if constexpr (two)
        if (v.size() == 2)
          return void(body(v[0], v[1]));
      if constexpr (three)
        if (v.size() == 3)
          return void(body(v[0], v[1], v[2]));
      if constexpr (four)
        if (v.size() == 4)
          return void(body(v[0], v[1], v[2], v[3]));
      wrong_count(v.size(), where);
    }
  }
};

//===-- modules ------------------------------------------------------------===//

/// Targets by name, and the options of `metate build` by theirs: {"opt_level", "3"}, {"contract", "false"}.
struct Options {
  std::vector<std::string> targets = {"native"};
  std::map<std::string, std::string> values;
};

struct KernelOptions {
  bool may_alias = false; ///< arguments may overlap one that the kernel writes
  bool asserts = true;    ///< else what asserts say is not looked at where it runs
};

/// Compiled code in this process; it goes when the last copy of this object does.
class METATE_BUILDER_API Code {
public:
  /// What metate_module_open_static and metate::Module::open_static take.
  metate_static_module get() const;

private:
  friend class Module;
  std::shared_ptr<detail::CodeState> state;
};

/// Kernels and named tree types. The same calls give the same bytes.
class METATE_BUILDER_API Module {
public:
  explicit Module(const std::string &name = "module");
  ~Module();
  Module(Module &&) noexcept;
  Module &operator=(Module &&) noexcept;

  void add_type(const std::string &name, const TreeType &type);
  /// Adds the kernel that `write` writes; after an exception the module is as before.
  void kernel(const std::string &name, const std::function<void(Kernel &)> &write,
              KernelOptions options = {}, Where where = Where::current());

  /// The import stage's IR, as `metate stages --stop-after import` shows it.
  std::string text(bool locations = true) const;
  /// For this process; options.targets has one.
  Code compile(const Options &options = {}) const;
  /// The bytes of a .metate file.
  std::string build(const Options &options = {}) const;
  /// Writes a .metate file, or for one target .o or .a with a C header beside it, by the path's ending.
  void save(const std::string &path, const Options &options = {}) const;

private:
  std::unique_ptr<detail::ModuleState> state;
};

} // namespace metate::builder

#endif
