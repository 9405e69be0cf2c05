// Kernels in the C++ API: arguments, launches, arguments in place by name. Part of metate.hpp, which
// hosts include.
#ifndef METATE_KERNEL_HPP
#define METATE_KERNEL_HPP

#include "metate/tree.hpp"

#include <array>
#include <cstring>
#include <optional>

namespace metate {

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

/// What a launch needs of a tree: metate_tree_reserve_for. Names are the type's: they live as long as it.
struct Reservation {
  bool fits = true;                   ///< the tree has room
  std::string text;                   ///< otherwise: which levels are too small
  std::vector<metate_capacity> needs; ///< slots that the levels need, those in use included
  std::vector<metate_capacity> room;  ///< the same, or what they have if that is more: for migrate
  Capacities capacities(uint32_t workers = 0) const { return Capacities(room, workers); }
};

/// What a launch needs: metate_kernel_plan. Names live as long as the module.
struct Plan {
  uint32_t max_workers = 0; ///< that it may use; 0: no bound
  std::vector<metate_planned_pool> pools;
};

/// Memory for a launch's pools, and how it may be ended early; what it names must outlive the launch.
///
///   metate::Plan plan = kernel.plan(x, y);
///   metate::LaunchOptions options;
///   for (const metate_planned_pool &pool : plan.pools)
///     options.pools.push_back({arena.take(pool.bytes, pool.align), pool.bytes});
///   kernel.launch_with(options, x, y);
struct LaunchOptions {
  std::vector<metate_pool_memory> pools;
  const uint32_t *interrupt = nullptr;

  metate_launch_options get() const {
    auto options = sized<metate_launch_options>();
    options.pool_count = uint32_t(pools.size());
    options.pools = pools.data();
    options.interrupt = interrupt;
    return options;
  }
};

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
  /// Named extents of its arrays, with their bounds: metate_kernel_dim_info.
  std::vector<metate_dim_description> dims() const {
    std::vector<metate_dim_description> all(describe().dim_count, sized<metate_dim_description>());
    for (uint32_t i = 0; i < all.size(); ++i)
      metate_kernel_dim_info(raw, i, &all[i]);
    return all;
  }
  /// Its derivative in this mode, a kernel of the same module: metate_kernel_derivative.
  Result<Kernel> try_derivative(metate_derivative mode) const {
    const metate_kernel *found = nullptr;
    if (metate_status code = metate_kernel_derivative(raw, mode, &found))
      return Status::of(code);
    return Kernel(found);
  }
  /// The derivative in reverse mode: of the kernel's arguments, then of their gradients.
  Result<Kernel> try_grad() const { return try_derivative(METATE_DERIVATIVE_REVERSE); }
  /// The kernel with its derivative in forward mode: of the kernel's arguments, then of their duals.
  Result<Kernel> try_fwd() const { return try_derivative(METATE_DERIVATIVE_FORWARD); }
  /// Checks the arguments, runs, returns when the kernel is done.
  template <typename... Values> Status try_launch(Values &&...values) const {
    return try_launch_interruptible(nullptr, std::forward<Values>(values)...);
  }
  /// try_launch that ends early, with METATE_E_INTERRUPTED, once `*interrupt` is not zero.
  template <typename... Values>
  Status try_launch_interruptible(const uint32_t *interrupt, Values &&...values) const {
    return withList(
        [&](const metate_argument *list, uint32_t count) {
          return Status::of(metate_kernel_launch_interruptible(raw, list, count, interrupt));
        },
        std::forward<Values>(values)...);
  }
  /// try_launch with the caller's memory for the kernel's pools; see LaunchOptions.
  template <typename... Values>
  Status try_launch_with(const LaunchOptions &options, Values &&...values) const {
    metate_launch_options raw_options = options.get();
    return withList(
        [&](const metate_argument *list, uint32_t count) {
          return Status::of(metate_kernel_launch_with(raw, list, count, &raw_options));
        },
        std::forward<Values>(values)...);
  }
  /// Checks the arguments and says what a launch with them needs; runs nothing.
  /// Without arguments, of a kernel that has some: what the largest launch needs.
  template <typename... Values> Result<Plan> try_plan(Values &&...values) const {
    return withList(
        [&](const metate_argument *list, uint32_t count) -> Result<Plan> {
          Plan plan;
          auto info = sized<metate_plan>();
          info.pool_size = sizeof(metate_planned_pool);
          for (int turn = 0; turn < 2; ++turn) { // the first one says how many there are
            if (metate_status code = metate_kernel_plan(raw, list, count, &info))
              return Status::of(code);
            plan.pools.resize(info.pool_count);
            info.pools = plan.pools.data();
          }
          plan.max_workers = info.max_workers;
          return plan;
        },
        std::forward<Values>(values)...);
  }
  /// Would a launch with these arguments, of which the tree is one, find room in it? Changes nothing.
  ///
  ///   metate::Reservation need = kernel.reserve_for(tree, tree, x);
  ///   metate::Capacities room = need.capacities();
  ///   metate_capacities capacities = room.get(); // for tree.migrate, if !need.fits
  template <typename... Values>
  Result<Reservation> try_reserve_for(const Tree &tree, Values &&...values) const {
    Argument arguments[] = {Argument(values)...};
    metate_argument list[sizeof...(Values)];
    for (size_t i = 0; i < sizeof...(Values); ++i)
      list[i] = arguments[i].get();
    std::vector<metate_pool_stats> stats = tree.stats();
    std::vector<uint32_t> slots(stats.size());
    metate_status code = metate_tree_reserve_for(tree.get(), raw, list, sizeof...(Values),
                                                 uint32_t(slots.size()), slots.data());
    if (code && code != METATE_E_CAPACITY)
      return Status::of(code);
    Reservation found;
    found.fits = code == METATE_OK;
    if (!found.fits)
      found.text = metate_last_error();
    for (size_t pool = 0; pool < stats.size(); ++pool) {
      uint32_t has = uint32_t(stats[pool].capacity);
      found.needs.push_back({stats[pool].name, slots[pool]});
      found.room.push_back({stats[pool].name, slots[pool] < has ? has : slots[pool]});
    }
    return found;
  }
  /// The type of a tree argument by its name: of a kernel that uses fields, a field's variable.
  Result<TreeType> try_tree_type(const char *name) const;
  /// The kernel with arguments in place by name; see BoundKernel.
  Result<BoundKernel>
  try_bind(std::initializer_list<std::pair<const char *, Argument>> values) const;
#if METATE_EXCEPTIONS
  Kernel grad() const { return unwrap(try_grad()); }
  Kernel fwd() const { return unwrap(try_fwd()); }
  template <typename... Values> void operator()(Values &&...values) const {
    unwrap(try_launch(std::forward<Values>(values)...));
  }
  template <typename... Values>
  void launch_with(const LaunchOptions &options, Values &&...values) const {
    unwrap(try_launch_with(options, std::forward<Values>(values)...));
  }
  template <typename... Values> Plan plan(Values &&...values) const {
    return unwrap(try_plan(std::forward<Values>(values)...));
  }
  template <typename... Values>
  Reservation reserve_for(const Tree &tree, Values &&...values) const {
    return unwrap(try_reserve_for(tree, std::forward<Values>(values)...));
  }
  TreeType tree_type(const char *name) const { return unwrap(try_tree_type(name)); }
  BoundKernel bind(std::initializer_list<std::pair<const char *, Argument>> values) const;
#endif

private:
  /// Calls use(list, count) with the arguments as the C API takes them.
  template <typename Use, typename... Values> static auto withList(Use use, Values &&...values) {
    if constexpr (sizeof...(Values) == 0) {
      return use(static_cast<const metate_argument *>(nullptr), 0u);
    } else {
      Argument arguments[] = {Argument(values)...};
      metate_argument list[sizeof...(Values)];
      for (size_t i = 0; i < sizeof...(Values); ++i)
        list[i] = arguments[i].get();
      return use(static_cast<const metate_argument *>(list), uint32_t(sizeof...(Values)));
    }
  }

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

} // namespace metate

#endif
