// Trees in the C++ API: types, capacities, instances in the caller's memory. Part of metate.hpp, which
// hosts include.
#ifndef METATE_TREE_HPP
#define METATE_TREE_HPP

#include "metate/result.hpp"

#include <concepts>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

namespace metate {

/// Slot counts for levels, by name; `workers` may activate at once (0 = the default).
class Capacities {
public:
  Capacities() = default;
  Capacities(std::initializer_list<metate_capacity> entries, uint32_t workers = 0)
      : list(entries), workers(workers) {}
  explicit Capacities(std::vector<metate_capacity> entries, uint32_t workers = 0)
      : list(std::move(entries)), workers(workers) {}
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

/// One coordinate for each axis on the way to a member or level: {3, -7}, or a span of them.
class Coordinates {
public:
  Coordinates(std::initializer_list<int64_t> all) : first(std::data(all)), length(all.size()) {}
  Coordinates(std::span<const int64_t> all) : first(all.data()), length(all.size()) {}
  const int64_t *data() const { return first; }
  uint32_t count() const { return uint32_t(length); }

private:
  const int64_t *first;
  size_t length;
};

/// Active cells of a member or a level, as they were when Tree::cells was called.
///
///   for (size_t n = 0; n < cells.size(); ++n)
///     use(cells.at(n)[0], cells.values[n]);
template <typename T = void> struct Cells;
template <> struct Cells<void> {
  uint32_t rank = 0;                ///< coordinates of a cell
  uint64_t count = 0;               ///< cells
  std::vector<int64_t> coordinates; ///< [count][rank]
  size_t size() const { return size_t(count); }
  std::span<const int64_t> at(size_t n) const { return {coordinates.data() + n * rank, rank}; }
};
template <typename T> struct Cells : Cells<void> {
  std::vector<T> values; ///< of a member: [count]
};

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
  /// The whole block; empty where the host cannot read it.
  std::span<std::byte> block() const {
    auto info = describe();
    if (info.elsewhere)
      return {};
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
  template <typename T> Result<T> try_read(const char *member, Coordinates at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    uint32_t level;
    T value;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_read(get(), level, at.data(), at.count(), &value, sizeof value);
    return code ? Result<T>(Status::of(code)) : Result<T>(value);
  }
  /// Activates the cell and writes it.
  template <typename T> Status try_write(const char *member, Coordinates at, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    uint32_t level;
    metate_status code = metate_type_find_member(describe().type, member, &level);
    if (!code)
      code = metate_tree_write(get(), level, at.data(), at.count(), &value, sizeof value);
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
  /// Several members of one shape and type at once, as an array whose elements are theirs one after the other: the components
  /// of vectors that are kept apart. One member or more.
  template <typename R>
  Status try_read_members(std::span<const char *const> members, R &&values) const {
    std::vector<uint32_t> levels;
    auto bytes = std::as_writable_bytes(std::span(values));
    metate_status code = findMembers(members, levels);
    if (!code)
      code = metate_tree_read_members(get(), levels.data(), uint32_t(levels.size()), bytes.data(),
                                      bytes.size());
    return Status::of(code);
  }
  template <typename R>
  Status try_read_members(std::initializer_list<const char *> members, R &&values) const {
    return try_read_members(std::span(members), values);
  }
  /// The reverse: active cells take their values from such an array.
  template <typename R>
  Status try_write_members(std::span<const char *const> members, const R &values) {
    std::vector<uint32_t> levels;
    auto bytes = std::as_bytes(std::span(values));
    metate_status code = findMembers(members, levels);
    if (!code)
      code = metate_tree_write_members(get(), levels.data(), uint32_t(levels.size()), bytes.data(),
                                       bytes.size());
    return Status::of(code);
  }
  template <typename R>
  Status try_write_members(std::initializer_list<const char *> members, const R &values) {
    return try_write_members(std::span(members), values);
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
  /// `level`: a member or a level. METATE_E_CAPACITY where a pool is full.
  Status try_activate(const char *level, Coordinates at) {
    uint32_t index;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_activate(get(), index, at.data(), at.count());
    return Status::of(code);
  }
  /// `level`: a member or a level; of a list the cell that holds it.
  Status try_deactivate(const char *level, Coordinates at) {
    uint32_t index;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_deactivate(get(), index, at.data(), at.count());
    return Status::of(code);
  }
  /// Every cell of a level, or of the tree.
  Status try_deactivate_all(const char *level = nullptr) {
    uint32_t index = 0;
    metate_status code = level ? find(level, &index) : METATE_OK;
    return Status::of(code ? code : metate_tree_deactivate_all(get(), index));
  }
  /// The index of a list's new last cell; `at` is the cell that holds the list.
  Result<uint64_t> try_append(const char *level, Coordinates at) {
    uint32_t index;
    uint64_t cell = 0;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_append(get(), index, at.data(), at.count(), &cell);
    return code ? Result<uint64_t>(Status::of(code)) : Result<uint64_t>(cell);
  }
  Result<uint64_t> try_length(const char *level, Coordinates at) const {
    uint32_t index;
    uint64_t cells = 0;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_length(get(), index, at.data(), at.count(), &cells);
    return code ? Result<uint64_t>(Status::of(code)) : Result<uint64_t>(cells);
  }
  /// Pages that no active cell needs go back to the system.
  Status try_trim() { return Status::of(metate_tree_trim(get())); }
  Status try_sort() { return Status::of(metate_tree_sort(get())); }
  /// Into the caller's memory (nullptr: its own), with other capacities.
  Status try_migrate(void *memory, uint64_t bytes, const metate_capacities *capacities = nullptr,
                     uint32_t flags = 0) {
    return Status::of(metate_tree_migrate(get(), memory, bytes, capacities, flags));
  }
  Status try_save(const char *path) const { return Status::of(metate_tree_save(get(), path)); }
  /// `level`: a member or a level.
  Result<bool> try_is_active(const char *level, Coordinates at) const {
    uint32_t index, active = 0;
    metate_status code = find(level, &index);
    if (!code)
      code = metate_tree_is_active(get(), index, at.data(), at.count(), &active);
    return code ? Result<bool>(Status::of(code)) : Result<bool>(active != 0);
  }
  /// The active cells of a member with their values: try_cells<float>("a"); of a level, or without the
  /// values: try_cells("blocks"). In no order, but the same one while nothing is activated.
  template <typename T = void> Result<Cells<T>> try_cells(const char *level) const {
    Cells<T> cells;
    void *values = nullptr;
    uint32_t index;
    if (metate_status code = find(level, &index))
      return Status::of(code);
    auto about = sized<metate_level_description>();
    metate_type_level(describe().type, index, &about);
    cells.rank = about.path_rank;
    if (metate_status code = metate_tree_cells(get(), index, 0, nullptr, nullptr, &cells.count))
      return Status::of(code);
    cells.coordinates.resize(size_t(cells.count) * cells.rank);
    if constexpr (!std::is_void_v<T>) {
      static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>,
                    "values as bytes; of a u1 member uint8_t");
      if (about.kind != METATE_LEVEL_PLACE || about.cell_bytes != sizeof(T))
        return Status{METATE_E_INVALID_ARGUMENT, "'" + std::string(level) +
                                                     "': expected a member with values of " +
                                                     std::to_string(sizeof(T)) + " bytes"};
      cells.values.resize(size_t(cells.count));
      values = cells.values.data();
    }
    if (metate_status code = metate_tree_cells(get(), index, cells.count, cells.coordinates.data(),
                                               values, &cells.count))
      return Status::of(code);
    return cells;
  }
#if METATE_EXCEPTIONS
  void reset() { unwrap(try_reset()); }
  template <typename T> T read(const char *member, Coordinates at) const {
    return unwrap(try_read<T>(member, at));
  }
  template <typename T> void write(const char *member, Coordinates at, const T &value) {
    unwrap(try_write(member, at, value));
  }
  template <typename R> void read_dense(const char *member, R &&values) const {
    unwrap(try_read_dense(member, values));
  }
  template <typename R> void write_dense(const char *member, const R &values) {
    unwrap(try_write_dense(member, values));
  }
  template <typename R> void read_members(std::span<const char *const> members, R &&values) const {
    unwrap(try_read_members(members, values));
  }
  template <typename R>
  void read_members(std::initializer_list<const char *> members, R &&values) const {
    unwrap(try_read_members(members, values));
  }
  template <typename R> void write_members(std::span<const char *const> members, const R &values) {
    unwrap(try_write_members(members, values));
  }
  template <typename R>
  void write_members(std::initializer_list<const char *> members, const R &values) {
    unwrap(try_write_members(members, values));
  }
  template <typename T> void fill(const char *member, const T &value) {
    unwrap(try_fill(member, value));
  }
  bool is_active(const char *level, Coordinates at) const {
    return unwrap(try_is_active(level, at));
  }
  template <typename T = void> Cells<T> cells(const char *level) const {
    return unwrap(try_cells<T>(level));
  }
  void activate(const char *level, Coordinates at) { unwrap(try_activate(level, at)); }
  void deactivate(const char *level, Coordinates at) { unwrap(try_deactivate(level, at)); }
  void deactivate_all(const char *level = nullptr) { unwrap(try_deactivate_all(level)); }
  uint64_t append(const char *level, Coordinates at) { return unwrap(try_append(level, at)); }
  uint64_t length(const char *level, Coordinates at) const { return unwrap(try_length(level, at)); }
  void trim() { unwrap(try_trim()); }
  /// Slots in the order of their cells' coordinates (Z-order), without gaps.
  void sort() { unwrap(try_sort()); }
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
  metate_status findMembers(std::span<const char *const> names,
                            std::vector<uint32_t> &levels) const {
    const metate_type *type = describe().type;
    for (const char *name : names)
      if (metate_status code = metate_type_find_member(type, name, &levels.emplace_back()))
        return code;
    levels.reserve(1); // of no member, too, what is said is about their number
    return METATE_OK;
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
  /// 0 is the root.
  Result<metate_level_description> try_level(uint32_t index) const {
    auto level = sized<metate_level_description>();
    if (metate_status code = metate_type_level(raw, index, &level))
      return Status::of(code);
    return level;
  }
  /// How a member looks to hosts, and in `quant`, if its kind is not 0, how its values are packed into words.
  Result<metate_level_description> try_member(const char *name) const {
    uint32_t index;
    if (metate_status code = metate_type_find_member(raw, name, &index))
      return Status::of(code);
    return try_level(index);
  }

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
  metate_level_description level(uint32_t index) const { return unwrap(try_level(index)); }
  metate_level_description member(const char *name) const { return unwrap(try_member(name)); }
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

} // namespace metate

#endif
