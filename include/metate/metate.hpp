// The C++ API of libmetate: RAII over metate.h, header-only, C++20.
//
// Every operation that can fail exists as `try_x`, which returns Result<T> and needs no exceptions,
// and, where exceptions are enabled, as `x`, which returns T and throws metate::Exception. Objects
// are move-only; a type and a kernel are borrowed from their module and must not outlive it. An
// object that is destroyed while a launch on it runs stays open (METATE_E_BUSY) and is lost.
//
//   auto device = metate::Device::open();
//   auto module = metate::Module::open("ab.metate", device);
//   auto ab     = module.tree_type("ab_aos");
//   auto memory = my_allocate(ab.size(), ab.align());   // anything with data() and size()
//   auto tree   = ab.bind(memory);
//   module.kernel("run1")(tree);
#ifndef METATE_METATE_HPP
#define METATE_METATE_HPP

#include "metate/metate.h"

#include <array>
#include <concepts>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if defined(__cpp_exceptions) && !defined(METATE_NO_EXCEPTIONS)
#define METATE_EXCEPTIONS 1
#include <stdexcept>
#else
#define METATE_EXCEPTIONS 0
#include <cstdlib>
#endif

namespace metate {

/// A status and, if it is not METATE_OK, its text.
struct Status {
  metate_status code = METATE_OK;
  std::string text;

  bool ok() const { return code == METATE_OK; }
  explicit operator bool() const { return ok(); }
  const char *name() const { return metate_status_name(code); }

  /// Of the C call that just returned `code`.
  static Status of(metate_status code) {
    return code == METATE_OK ? Status{} : Status{code, metate_last_error()};
  }
};

/// A value or the status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// METATE_OK when there is a value.
  Status status() const { return ok() ? Status{} : *std::get_if<1>(&state); }
  /// The value; there must be one.
  T &operator*() & { return *std::get_if<0>(&state); }
  const T &operator*() const & { return *std::get_if<0>(&state); }
  T &&operator*() && { return std::move(*std::get_if<0>(&state)); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }

private:
  std::variant<T, Status> state;
};

#if METATE_EXCEPTIONS
/// What the throwing spellings throw.
class Exception : public std::runtime_error {
public:
  explicit Exception(Status status)
      : std::runtime_error(std::string(status.name()) + ": " + status.text), value(status) {}
  const Status &status() const { return value; }

private:
  Status value;
};

template <typename T> T unwrap(Result<T> result) {
  if (!result)
    throw Exception(result.status());
  return std::move(*result);
}
inline void unwrap(const Status &status) {
  if (!status)
    throw Exception(status);
}
#endif

/// The metate_dtype of a C++ scalar.
template <typename T> constexpr uint32_t dtype_of() {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<V, bool>)
    return METATE_U1;
  else if constexpr (std::is_same_v<V, float>)
    return METATE_F32;
  else if constexpr (std::is_same_v<V, double>)
    return METATE_F64;
  else {
    static_assert(std::is_integral_v<V> && sizeof(V) <= 8, "not a scalar of Metate");
    constexpr uint32_t rank = sizeof(V) == 1 ? 0 : sizeof(V) == 2 ? 1 : sizeof(V) == 4 ? 2 : 3;
    return (std::is_signed_v<V> ? METATE_I8 : METATE_U8) + rank;
  }
}

/// A struct of metate.h with its struct_size set.
template <typename T> T sized() {
  T value{};
  value.struct_size = sizeof value;
  return value;
}

/// Slot counts for levels, by name; `workers` may activate at once (0 = the default).
class Capacities {
public:
  Capacities() = default;
  Capacities(std::initializer_list<metate_capacity> entries, uint32_t workers = 0)
      : list(entries), workers(workers) {}
  metate_capacities get() const {
    auto value = sized<metate_capacities>();
    value.workers = workers;
    value.count = uint32_t(list.size());
    value.entries = list.data();
    return value;
  }

private:
  std::vector<metate_capacity> list;
  uint32_t workers = 0;
};

namespace detail {
// Owns a handle; Close is the C function that ends it.
template <typename T, metate_status (*Close)(T *)> class Handle {
public:
  Handle() = default;
  explicit Handle(T *raw) : raw(raw) {}
  Handle(Handle &&other) noexcept : raw(std::exchange(other.raw, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Handle() {
    if (raw)
      Close(raw);
  }
  T *get() const { return raw; }

private:
  T *raw = nullptr;
};
} // namespace detail

/// The host's CPU with the given hooks; it must outlive what is opened on it.
class Device {
public:
  static Result<Device> try_open(const metate_device_hooks *hooks = nullptr) {
    metate_device *raw = nullptr;
    if (metate_status code = metate_device_open(hooks, &raw))
      return Status::of(code);
    return Device(raw);
  }
  metate_device *get() const { return handle.get(); }
  metate_device_info describe() const {
    auto info = sized<metate_device_info>();
    metate_device_describe(get(), &info);
    return info;
  }
#if METATE_EXCEPTIONS
  static Device open(const metate_device_hooks *hooks = nullptr) { return unwrap(try_open(hooks)); }
#endif

private:
  explicit Device(metate_device *raw) : handle(raw) {}
  detail::Handle<metate_device, metate_device_close> handle;
};

class TreeType;

/// An instance: a type bound to memory that stays the caller's.
class Tree {
public:
  explicit Tree(metate_tree *raw) : handle(raw) {}
  metate_tree *get() const { return handle.get(); }

  metate_tree_description describe() const {
    auto info = sized<metate_tree_description>();
    metate_tree_describe(get(), &info);
    return info;
  }
  /// The whole block.
  std::span<std::byte> block() const {
    auto info = describe();
    return {static_cast<std::byte *>(info.block), info.bytes};
  }
  uint64_t topology_version() const { return describe().topology_version; }
  std::vector<metate_pool_stats> stats() const {
    std::vector<metate_pool_stats> all(describe().pool_count, sized<metate_pool_stats>());
    for (uint32_t pool = 0; pool < all.size(); ++pool)
      metate_tree_stats(get(), pool, &all[pool]);
    return all;
  }
  Status try_reset() { return Status::of(metate_tree_reset(get())); }
  /// Is the block sound?
  Status check() const {
    auto info = describe();
    return Status::of(metate_tree_check(info.type, info.block, info.bytes));
  }

  /// A member's value; T has the value's bytes (float, std::array<float, 3>, ...).
  template <typename T>
  Result<T> try_read(const char *member, std::initializer_list<int64_t> at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    uint32_t level;
    T value;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_read(get(), level, at.begin(), uint32_t(at.size()), &value, sizeof value);
    return code ? Result<T>(Status::of(code)) : Result<T>(value);
  }
  /// Activates the cell and writes it.
  template <typename T>
  Status try_write(const char *member, std::initializer_list<int64_t> at, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    uint32_t level;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_write(get(), level, at.begin(), uint32_t(at.size()), &value, sizeof value);
    return Status::of(code);
  }
  /// The whole member as a dense row-major array; inactive cells are its background. `values` is
  /// contiguous and has the array's bytes.
  template <typename R> Status try_read_dense(const char *member, R &&values) const {
    uint32_t level;
    auto bytes = std::as_writable_bytes(std::span(values));
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_read_dense(get(), level, bytes.data(), bytes.size());
    return Status::of(code);
  }
  /// The reverse: active cells take their values from such an array.
  template <typename R> Status try_write_dense(const char *member, const R &values) {
    uint32_t level;
    auto bytes = std::as_bytes(std::span(values));
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_write_dense(get(), level, bytes.data(), bytes.size());
    return Status::of(code);
  }
  /// Every active cell takes the value.
  template <typename T> Status try_fill(const char *member, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    uint32_t level;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_fill(get(), level, &value, sizeof value);
    return Status::of(code);
  }
  /// `level`: a member or a level; of a list the cell that holds it.
  Status try_deactivate(const char *level, std::initializer_list<int64_t> at) {
    uint32_t index;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_deactivate(get(), index, at.begin(), uint32_t(at.size()));
    return Status::of(code);
  }
  /// Every cell of a level, or of the tree.
  Status try_deactivate_all(const char *level = nullptr) {
    uint32_t index = 0;
    metate_status code = level ? find(level, &index) : METATE_OK;
    return Status::of(code ? code : metate_tree_deactivate_all(get(), index));
  }
  /// The index of a list's new last cell; `at` is the cell that holds the list.
  Result<uint64_t> try_append(const char *level, std::initializer_list<int64_t> at) {
    uint32_t index;
    uint64_t cell = 0;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_append(get(), index, at.begin(), uint32_t(at.size()), &cell);
    return code ? Result<uint64_t>(Status::of(code)) : Result<uint64_t>(cell);
  }
  Result<uint64_t> try_length(const char *level, std::initializer_list<int64_t> at) const {
    uint32_t index;
    uint64_t cells = 0;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_length(get(), index, at.begin(), uint32_t(at.size()), &cells);
    return code ? Result<uint64_t>(Status::of(code)) : Result<uint64_t>(cells);
  }
  /// Pages that no active cell needs go back to the system.
  Status try_trim() { return Status::of(metate_tree_trim(get())); }
  /// Into the caller's memory (nullptr: its own), with other capacities.
  Status try_migrate(void *memory, uint64_t bytes, const metate_capacities *capacities = nullptr,
                     uint32_t flags = 0) {
    return Status::of(metate_tree_migrate(get(), memory, bytes, capacities, flags));
  }
  Status try_save(const char *path) const { return Status::of(metate_tree_save(get(), path)); }
  Result<bool> try_is_active(const char *member, std::initializer_list<int64_t> at) const {
    uint32_t level, active = 0;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_is_active(get(), level, at.begin(), uint32_t(at.size()), &active);
    return code ? Result<bool>(Status::of(code)) : Result<bool>(active != 0);
  }
#if METATE_EXCEPTIONS
  void reset() { unwrap(try_reset()); }
  template <typename T> T read(const char *member, std::initializer_list<int64_t> at) const {
    return unwrap(try_read<T>(member, at));
  }
  template <typename T>
  void write(const char *member, std::initializer_list<int64_t> at, const T &value) {
    unwrap(try_write(member, at, value));
  }
  template <typename R> void read_dense(const char *member, R &&values) const {
    unwrap(try_read_dense(member, values));
  }
  template <typename R> void write_dense(const char *member, const R &values) {
    unwrap(try_write_dense(member, values));
  }
  template <typename T> void fill(const char *member, const T &value) {
    unwrap(try_fill(member, value));
  }
  bool is_active(const char *member, std::initializer_list<int64_t> at) const {
    return unwrap(try_is_active(member, at));
  }
  void deactivate(const char *level, std::initializer_list<int64_t> at) {
    unwrap(try_deactivate(level, at));
  }
  void deactivate_all(const char *level = nullptr) { unwrap(try_deactivate_all(level)); }
  uint64_t append(const char *level, std::initializer_list<int64_t> at) {
    return unwrap(try_append(level, at));
  }
  uint64_t length(const char *level, std::initializer_list<int64_t> at) const {
    return unwrap(try_length(level, at));
  }
  void trim() { unwrap(try_trim()); }
  void migrate(void *memory, uint64_t bytes, const metate_capacities *capacities = nullptr,
               uint32_t flags = 0) {
    unwrap(try_migrate(memory, bytes, capacities, flags));
  }
  void save(const char *path) const { unwrap(try_save(path)); }
#endif

private:
  metate_status find(const char *name, uint32_t *level) const {
    const metate_type *type = describe().type;
    metate_status code = metate_type_find_level(type, name, level);
    return code ? metate_type_find_member(type, name, level) : code;
  }
  detail::Handle<metate_tree, metate_tree_unbind> handle;
};

/// Memory as the caller has it: an object with data() and size(), or a pointer and a byte count.
template <typename M>
concept MemoryLike = requires(M &memory) {
  std::data(memory);
  std::size(memory);
};

/// A tree type of a module: a value without memory.
class TreeType {
public:
  explicit TreeType(const metate_type *raw) : raw(raw) {}
  const metate_type *get() const { return raw; }

  metate_type_description describe() const {
    auto info = sized<metate_type_description>();
    metate_type_describe(raw, &info);
    return info;
  }
  std::string name() const { return describe().name; }
  std::string text() const { return describe().text; }
  uint64_t align() const { return METATE_BLOCK_ALIGN; }

  Result<uint64_t> try_size(const Capacities &capacities = {}) const {
    uint64_t bytes = 0, align = 0;
    metate_capacities wanted = capacities.get();
    if (metate_status code = metate_type_size(raw, &wanted, &bytes, &align))
      return Status::of(code);
    return bytes;
  }
  /// flags: METATE_BIND_*. The memory must outlive the tree.
  Result<Tree> try_bind(void *memory, uint64_t bytes, const Capacities &capacities = {},
                        uint32_t flags = METATE_BIND_RESET) const {
    metate_tree *tree = nullptr;
    metate_capacities wanted = capacities.get();
    bool adopt = flags & METATE_BIND_ADOPT;
    if (metate_status code =
            metate_tree_bind(raw, memory, bytes, adopt ? nullptr : &wanted, flags, &tree))
      return Status::of(code);
    return Tree(tree);
  }
  template <MemoryLike M>
  Result<Tree> try_bind(M &memory, const Capacities &capacities = {},
                        uint32_t flags = METATE_BIND_RESET) const {
    return try_bind(const_cast<void *>(static_cast<const void *>(std::data(memory))),
                    std::size(memory) * sizeof(*std::data(memory)), capacities, flags);
  }
  /// An instance in reserved memory of its own.
  Result<Tree> try_make(const Capacities &capacities = {}) const {
    metate_tree *tree = nullptr;
    metate_capacities wanted = capacities.get();
    if (metate_status code = metate_tree_new(raw, &wanted, &tree))
      return Status::of(code);
    return Tree(tree);
  }
  /// What Tree::save wrote; flags: METATE_BIND_READ_ONLY maps the file.
  Result<Tree> try_load(const char *path, uint32_t flags = 0) const {
    metate_tree *tree = nullptr;
    if (metate_status code = metate_tree_load(raw, path, nullptr, flags, &tree))
      return Status::of(code);
    return Tree(tree);
  }
#if METATE_EXCEPTIONS
  Tree load(const char *path, uint32_t flags = 0) const { return unwrap(try_load(path, flags)); }
  uint64_t size(const Capacities &capacities = {}) const { return unwrap(try_size(capacities)); }
  Tree bind(void *memory, uint64_t bytes, const Capacities &capacities = {},
            uint32_t flags = METATE_BIND_RESET) const {
    return unwrap(try_bind(memory, bytes, capacities, flags));
  }
  template <MemoryLike M>
  Tree bind(M &memory, const Capacities &capacities = {},
            uint32_t flags = METATE_BIND_RESET) const {
    return unwrap(try_bind(memory, capacities, flags));
  }
  Tree make(const Capacities &capacities = {}) const { return unwrap(try_make(capacities)); }
#endif

private:
  const metate_type *raw;
};

/// A view of the caller's array; strides in elements, empty = row-major without gaps.
template <typename T> struct ArrayView {
  T *data;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};
};
template <typename T> ArrayView(T *, std::initializer_list<int64_t>) -> ArrayView<T>;

/// One argument of a launch, made from a Tree, a scalar, std::array (vector), ArrayView, or a
/// container of scalars (one-dimensional array).
class Argument {
public:
  Argument(const Tree &tree) { set(METATE_ARGUMENT_TREE).value.tree = tree.get(); }
  template <typename T>
    requires std::is_arithmetic_v<T>
  Argument(T scalar) {
    set(METATE_ARGUMENT_SCALAR, dtype_of<T>());
    std::memcpy(&value.value.bits, &scalar, sizeof scalar);
  }
  template <typename T, size_t N> Argument(const std::array<T, N> &vector) {
    static_assert(sizeof(T) * N <= sizeof storage, "a vector of at most 64 elements");
    set(METATE_ARGUMENT_VECTOR, dtype_of<T>()).rows = uint32_t(N);
    std::memcpy(storage, vector.data(), sizeof(T) * N);
  }
  template <typename T> Argument(const ArrayView<T> &view) {
    setArray(view.data, uint32_t(view.shape.size()), view.shape.data(),
             view.strides.empty() ? nullptr : view.strides.data());
  }
  template <MemoryLike C>
    requires(std::is_arithmetic_v<std::remove_cvref_t<decltype(*std::data(std::declval<C &>()))>>)
  Argument(C &container) {
    int64_t count = int64_t(std::size(container));
    setArray(std::data(container), 1, &count, nullptr);
  }

  /// Valid as long as this object lives where it is.
  metate_argument get() {
    array.shape = shape;
    array.strides = strided ? strides : nullptr;
    if (value.kind == METATE_ARGUMENT_NDARRAY)
      value.value.array = &array;
    else if (value.kind == METATE_ARGUMENT_VECTOR)
      value.value.elements = storage;
    return value;
  }

private:
  metate_argument &set(uint32_t kind, uint32_t dtype = 0) {
    value.kind = kind;
    value.dtype = dtype;
    value.rows = value.columns = 1;
    return value;
  }
  template <typename T>
  void setArray(T *data, uint32_t rank, const int64_t *extents, const int64_t *steps) {
    set(METATE_ARGUMENT_NDARRAY);
    array.data = const_cast<std::remove_const_t<T> *>(data);
    array.dtype = dtype_of<T>();
    // A rank above METATE_MAX_RANK is refused by the launch, which compares it with the kernel's.
    array.rank = rank;
    array.flags = std::is_const_v<T> ? uint32_t(METATE_ARRAY_READ_ONLY) : 0;
    strided = steps != nullptr;
    for (uint32_t k = 0; k < rank && k < METATE_MAX_RANK; ++k) {
      shape[k] = extents[k];
      strides[k] = strided ? steps[k] : 0;
    }
  }

  metate_argument value{};
  metate_array array{};
  bool strided = false;
  int64_t shape[METATE_MAX_RANK]{};
  int64_t strides[METATE_MAX_RANK]{};
  alignas(8) unsigned char storage[512]{};
};

class BoundKernel;

/// A kernel of a module.
class Kernel {
public:
  explicit Kernel(const metate_kernel *raw) : raw(raw) {}
  const metate_kernel *get() const { return raw; }

  metate_kernel_description describe() const {
    auto info = sized<metate_kernel_description>();
    metate_kernel_describe(raw, &info);
    return info;
  }
  std::string name() const { return describe().name; }
  std::vector<metate_argument_description> arguments() const {
    std::vector<metate_argument_description> all(describe().argument_count,
                                                 sized<metate_argument_description>());
    for (uint32_t i = 0; i < all.size(); ++i)
      metate_kernel_argument_info(raw, i, &all[i]);
    return all;
  }
  /// Checks the arguments, runs, returns when the kernel is done.
  template <typename... Values> Status try_launch(Values &&...values) const {
    return try_launch_interruptible(nullptr, std::forward<Values>(values)...);
  }
  /// try_launch that ends early, with METATE_E_INTERRUPTED, once `*interrupt` is not zero.
  template <typename... Values>
  Status try_launch_interruptible(const uint32_t *interrupt, Values &&...values) const {
    if constexpr (sizeof...(Values) == 0) {
      return Status::of(metate_kernel_launch_interruptible(raw, nullptr, 0, interrupt));
    } else {
      Argument arguments[] = {Argument(values)...};
      metate_argument list[sizeof...(Values)];
      for (size_t i = 0; i < sizeof...(Values); ++i)
        list[i] = arguments[i].get();
      return Status::of(
          metate_kernel_launch_interruptible(raw, list, uint32_t(sizeof...(Values)), interrupt));
    }
  }
  /// The type of a tree argument by its name: of a kernel that uses fields, a field's variable.
  Result<TreeType> try_tree_type(const char *name) const;
  /// The kernel with arguments in place by name; see BoundKernel.
  Result<BoundKernel>
  try_bind(std::initializer_list<std::pair<const char *, Argument>> values) const;
#if METATE_EXCEPTIONS
  template <typename... Values> void operator()(Values &&...values) const {
    unwrap(try_launch(std::forward<Values>(values)...));
  }
  TreeType tree_type(const char *name) const { return unwrap(try_tree_type(name)); }
  BoundKernel bind(std::initializer_list<std::pair<const char *, Argument>> values) const;
#endif

private:
  const metate_kernel *raw;
};

/// A kernel with some of its arguments in place, by name; a launch gives the others in their order.
/// What is bound must outlive it. For one thread at a time.
///
///   auto step = module.kernel("substep").bind({{"x", x}, {"v", v}});
///   step(1e-4f);
class BoundKernel {
public:
  explicit BoundKernel(Kernel kernel)
      : kernel(kernel), names(namesOf(kernel)), values(names.size()), list(names.size()) {}

  /// METATE_E_NOT_FOUND: the kernel has no argument of this name.
  Status try_set(const char *name, const Argument &value) {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) {
        values[i] = value;
        return {};
      }
    return {METATE_E_NOT_FOUND,
            "kernel '" + kernel.name() + "' has no argument '" + name + "'; it has " + known()};
  }
  template <typename... Values> Status try_launch(Values &&...rest) {
    if constexpr (sizeof...(Values) == 0) {
      return launch(nullptr, 0);
    } else {
      Argument given[] = {Argument(rest)...};
      return launch(given, sizeof...(Values));
    }
  }
#if METATE_EXCEPTIONS
  void set(const char *name, const Argument &value) { unwrap(try_set(name, value)); }
  template <typename... Values> void operator()(Values &&...rest) {
    unwrap(try_launch(std::forward<Values>(rest)...));
  }
#endif

private:
  static std::vector<std::string> namesOf(const Kernel &kernel) {
    std::vector<std::string> all;
    for (const metate_argument_description &argument : kernel.arguments())
      all.emplace_back(argument.name);
    return all;
  }
  std::string known() const {
    std::string text;
    for (const std::string &name : names)
      text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }
  Status launch(Argument *given, size_t count) {
    size_t next = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      if (values[i])
        list[i] = values[i]->get();
      else if (next < count)
        list[i] = given[next++].get();
      else
        return {METATE_E_INVALID_ARGUMENT,
                "kernel '" + kernel.name() + "': argument '" + names[i] + "' is missing"};
    }
    if (next < count)
      return {METATE_E_INVALID_ARGUMENT, "kernel '" + kernel.name() +
                                             "': " + std::to_string(count - next) +
                                             " arguments more than are left open"};
    return Status::of(metate_kernel_launch(kernel.get(), list.data(), uint32_t(list.size())));
  }

  Kernel kernel;
  std::vector<std::string> names;
  std::vector<std::optional<Argument>> values;
  std::vector<metate_argument> list;
};

inline Result<TreeType> Kernel::try_tree_type(const char *name) const {
  for (const metate_argument_description &argument : arguments())
    if (argument.kind == METATE_ARGUMENT_TREE && std::strcmp(argument.name, name) == 0)
      return TreeType(argument.type);
  return Status{METATE_E_NOT_FOUND,
                "kernel '" + this->name() + "' has no tree argument '" + name + "'"};
}

inline Result<BoundKernel>
Kernel::try_bind(std::initializer_list<std::pair<const char *, Argument>> values) const {
  BoundKernel bound(*this);
  for (const auto &[name, value] : values)
    if (Status status = bound.try_set(name, value); !status)
      return status;
  return bound;
}
#if METATE_EXCEPTIONS
inline BoundKernel
Kernel::bind(std::initializer_list<std::pair<const char *, Argument>> values) const {
  return unwrap(try_bind(values));
}
#endif

/// An open module.
class Module {
public:
  static Result<Module> try_open(const char *path, const Device &device, uint32_t flags = 0) {
    metate_module *raw = nullptr;
    if (metate_status code = metate_module_open_file(device.get(), path, flags, &raw))
      return Status::of(code);
    return Module(raw);
  }
  static Result<Module> try_open(std::span<const std::byte> bytes, const Device &device,
                                 uint32_t flags = 0) {
    metate_module *raw = nullptr;
    if (metate_status code =
            metate_module_open_bytes(device.get(), bytes.data(), bytes.size(), flags, &raw))
      return Status::of(code);
    return Module(raw);
  }
  /// A module that is linked into this program: what its generated header declares.
  static Result<Module> try_open_static(const metate_static_module &linked, const Device &device) {
    metate_module *raw = nullptr;
    if (metate_status code =
            metate_module_open_static(device.get(), linked.descriptor, linked.bytes, linked.entries,
                                      linked.entry_count, &raw))
      return Status::of(code);
    return Module(raw);
  }
  metate_module *get() const { return handle.get(); }
  metate_module_info describe() const {
    auto info = sized<metate_module_info>();
    metate_module_describe(get(), &info);
    return info;
  }
  Result<TreeType> try_tree_type(const char *name) const {
    const metate_type *type = nullptr;
    if (metate_status code = metate_module_find_type(get(), name, &type))
      return Status::of(code);
    return TreeType(type);
  }
  Result<Kernel> try_kernel(const char *name) const {
    const metate_kernel *kernel = nullptr;
    if (metate_status code = metate_module_find_kernel(get(), name, &kernel))
      return Status::of(code);
    return Kernel(kernel);
  }
#if METATE_EXCEPTIONS
  static Module open(const char *path, const Device &device, uint32_t flags = 0) {
    return unwrap(try_open(path, device, flags));
  }
  static Module open(std::span<const std::byte> bytes, const Device &device, uint32_t flags = 0) {
    return unwrap(try_open(bytes, device, flags));
  }
  static Module open_static(const metate_static_module &linked, const Device &device) {
    return unwrap(try_open_static(linked, device));
  }
  TreeType tree_type(const char *name) const { return unwrap(try_tree_type(name)); }
  Kernel kernel(const char *name) const { return unwrap(try_kernel(name)); }
#endif

private:
  explicit Module(metate_module *raw) : handle(raw) {}
  detail::Handle<metate_module, metate_module_close> handle;
};

} // namespace metate

#endif
