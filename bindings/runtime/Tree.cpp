// Tree for Python: binding, host access to cells, statistics, the block as a
// buffer. Layout and links are libmetate's: of a block nothing is read here.
#include "Tree.h"

#include <nanobind/stl/shared_ptr.h>

namespace metate::python {

Tree::Tree(std::shared_ptr<Type> ofType, nb::handle capacities) : type(std::move(ofType)) {
  Capacities slots(capacities);
  metate_tree *made = nullptr;
  int32_t status;
  {
    nb::gil_scoped_release released;
    status = metate_tree_new(type->get(), capacities.is_none() ? nullptr : slots.get(), &made);
  }
  check(status, Subject::Tree);
  tree = made;
}

Tree::Tree(std::shared_ptr<Type> ofType, nb::handle capacities, nb::handle buffer, bool reset)
    : type(std::move(ofType)) {
  adopt(buffer.ptr(), reset, Capacities(capacities));
}

void Tree::adopt(PyObject *buffer, bool reset, const Capacities &capacities) {
  uint32_t flags = reset ? METATE_BIND_RESET | METATE_BIND_FIT : METATE_BIND_ADOPT;
  BufferView block(buffer, PyBUF_CONTIG);
  if (!block) {
    PyErr_Clear();
    if (!reset)
      block = BufferView(buffer, PyBUF_CONTIG_RO);
    if (!block) {
      PyErr_Clear();
      throwNamed("TreeError",
                 "buffer: expected a writable, contiguous buffer (NumPy array, "
                 "mmap, memoryview), got " +
                     describeValue(buffer),
                 METATE_E_INVALID_ARGUMENT);
    }
    flags |= METATE_BIND_READ_ONLY;
  }
  metate_tree *bound = nullptr;
  int32_t status;
  {
    nb::gil_scoped_release released;
    status = metate_tree_bind(type->get(), block->buf, uint64_t(block->len),
                              reset ? capacities.get() : nullptr, flags, &bound);
  }
  if (status != METATE_OK) {
    std::string text = metate_last_error(); // before anything else can fail
    setError(status, text, Subject::Tree);
    throw nb::python_error();
  }
  tree = bound;
  memory = std::move(block);
}

Tree::~Tree() {
  if (tree)
    metate_tree_unbind(tree);
}

metate_tree *Tree::get() const {
  if (!tree)
    throwNamed("TreeError", "the tree is unbound: bind or make another one", METATE_E_NULL);
  if (resetting)
    throwNamed("TreeError", "the tree is being reset by another thread: wait for it",
               METATE_E_BUSY);
  return tree;
}

void Tree::checkUnused(const char *what) const {
  if (uses > 0)
    throwNamed("TreeError",
               std::string(what) +
                   ": another thread works on the tree: wait for its kernel or call",
               METATE_E_BUSY);
}

metate_tree_description Tree::describe() const {
  metate_tree_description info{};
  info.struct_size = sizeof(info);
  check(metate_tree_describe(get(), &info), Subject::Tree);
  return info;
}

void Tree::unbind() {
  if (!tree)
    return;
  if (exports > 0)
    throwNamed("TreeError", "unbind: a view of the block is still alive; release it first",
               METATE_E_BUSY);
  checkUnused("unbind");
  check(metate_tree_unbind(get()), Subject::Tree);
  tree = nullptr;
  memory.release();
}

void Tree::reset() {
  metate_tree *handle = get();
  checkUnused("reset");
  resetting = true;
  int32_t status;
  {
    nb::gil_scoped_release released;
    status = metate_tree_reset(handle);
  }
  resetting = false;
  check(status, Subject::Tree);
}

namespace {

/// What the block has recorded of exhausted pools. A host access may use a
/// slack slot: it then succeeds and records that the capacity was passed, which
/// Python reports at once, not at the next launch. Without pools there is nothing to
/// ask, which is most of what a write of one element costs.
struct Exhaustion {
  uint32_t status = METATE_OK;
  uint64_t needed = 0;
  explicit Exhaustion(const Tree &tree) {
    if (!tree.getType()->description().pool_count)
      return;
    metate_tree_description info = tree.describe();
    status = info.status;
    needed = info.slots_needed;
  }
  bool operator==(const Exhaustion &) const = default;
};

/// Throws after a host access that may activate: for its status, or for a
/// capacity that it passed.
void checkActivation(const Tree &tree, const Exhaustion &before, int32_t status) {
  if (status == METATE_OK && before == Exhaustion(tree))
    return;
  std::string text = status == METATE_OK ? "" : metate_last_error();
  if (status != METATE_OK && status != METATE_E_CAPACITY)
    setError(status, text);
  else
    setCapacityError(tree, text);
  throw nb::python_error();
}

} // namespace

void Tree::write(uint32_t level, const int64_t *coordinates, uint32_t count, const void *value) {
  Exhaustion before(*this);
  checkActivation(
      *this, before,
      metate_tree_write(get(), level, coordinates, count, value, type->level(level).cellBytes));
}

void Tree::activate(uint32_t level, const int64_t *coordinates, uint32_t count) {
  Exhaustion before(*this);
  checkActivation(*this, before, metate_tree_activate(get(), level, coordinates, count));
}

void Tree::deactivate(uint32_t level, const int64_t *coordinates, uint32_t count) {
  checkUnused("deactivate");
  check(metate_tree_deactivate(get(), level, coordinates, count), Subject::Tree);
}

void Tree::deactivateAll(uint32_t level) {
  checkUnused("deactivate_all");
  check(metate_tree_deactivate_all(get(), level), Subject::Tree);
}

uint64_t Tree::append(uint32_t level, const int64_t *coordinates, uint32_t count) {
  Exhaustion before(*this);
  uint64_t index = 0;
  checkActivation(*this, before, metate_tree_append(get(), level, coordinates, count, &index));
  return index;
}

void Tree::trim() {
  checkUnused("trim");
  check(metate_tree_trim(get()), Subject::Tree);
}

void Tree::sort() {
  checkUnused("sort");
  check(metate_tree_sort(get()), Subject::Tree);
}

void Tree::migrate(nb::handle capacities, nb::handle buffer) {
  Capacities slots(capacities);
  metate_tree *handle = get();
  if (exports > 0)
    throwNamed("TreeError", "migrate: a view of the block is still alive; release it first",
               METATE_E_BUSY);
  checkUnused("migrate");
  BufferView target;
  if (!buffer.is_none())
    target = BufferView(buffer.ptr(), PyBUF_CONTIG);
  if (!buffer.is_none() && !target) {
    PyErr_Clear();
    throwNamed("TreeError",
               "migrate: buffer: expected a writable, contiguous buffer, got " +
                   describeValue(buffer.ptr()),
               METATE_E_INVALID_ARGUMENT);
  }
  resetting = true; // nobody else uses the tree meanwhile
  int32_t status;
  {
    nb::gil_scoped_release released;
    status = metate_tree_migrate(handle, target->buf, uint64_t(target->len), slots.get(),
                                 target->buf ? METATE_BIND_FIT : 0);
  }
  resetting = false;
  std::string text = metate_last_error();
  if (status == METATE_OK) {
    memory = std::move(target);
    return;
  }
  setError(status, text, Subject::Tree);
  throw nb::python_error();
}

void Tree::save(const std::string &path) const {
  metate_tree *handle = get();
  checkUnused("save");
  int32_t status;
  {
    TreeUse use(*this);
    nb::gil_scoped_release released;
    status = metate_tree_save(handle, path.c_str());
  }
  check(status, Subject::Tree);
}

Tree::Tree(std::shared_ptr<Type> ofType, const std::string &path, nb::handle capacities,
           bool readOnly)
    : type(std::move(ofType)) {
  Capacities slots(capacities);
  metate_tree *made = nullptr;
  int32_t status;
  {
    nb::gil_scoped_release released;
    status =
        metate_tree_load(type->get(), path.c_str(), capacities.is_none() ? nullptr : slots.get(),
                         readOnly ? METATE_BIND_READ_ONLY : 0, &made);
  }
  check(status, Subject::Tree);
  tree = made;
}

int Tree::getBuffer(PyObject *self, Py_buffer *view, int flags) {
  metate_tree_description info = describe();
  if (info.elsewhere) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, "the tree's block lies where the host cannot read it");
    return -1;
  }
  bool readOnly = info.flags & METATE_BIND_READ_ONLY;
  if (PyBuffer_FillInfo(view, self, info.block, Py_ssize_t(info.bytes), readOnly, flags) != 0)
    return -1;
  ++exports;
  return 0;
}

namespace {

/// Coordinates of one cell: a tuple of integers.
class Coordinates {
public:
  Coordinates(nb::handle given) {
    nb::tuple tuple = nb::cast<nb::tuple>(given);
    if (tuple.size() > METATE_MAX_AXES)
      throwNamed("RuntimeIndexError_",
                 "expected at most " + std::to_string(METATE_MAX_AXES) + " coordinates, got " +
                     std::to_string(tuple.size()),
                 METATE_E_OUT_OF_RANGE);
    for (nb::handle item : tuple) {
      PyObject *index = PyNumber_Index(item.ptr());
      int overflow = 0;
      long long number = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
      Py_XDECREF(index);
      if (!index) {
        PyErr_Clear();
        throwNamed("RuntimeTypeError_",
                   "coordinates: expected integers, got " + describeValue(item.ptr()),
                   METATE_E_TYPE_MISMATCH);
      }
      values[count++] = overflow ? (overflow < 0 ? INT64_MIN : INT64_MAX) : number;
    }
  }
  const int64_t *data() const { return values; }
  uint32_t size() const { return count; }

private:
  int64_t values[METATE_MAX_AXES] = {};
  uint32_t count = 0;
};

bool isActive(const Tree &tree, uint32_t level, nb::handle given) {
  Coordinates at(given);
  uint32_t active = 0;
  check(metate_tree_is_active(tree.get(), level, at.data(), at.size(), &active));
  return active != 0;
}

void activate(Tree &tree, uint32_t level, nb::handle given) {
  Coordinates at(given);
  tree.activate(level, at.data(), at.size());
}

void deactivate(Tree &tree, uint32_t level, nb::handle given) {
  Coordinates at(given);
  tree.deactivate(level, at.data(), at.size());
}

uint64_t append(Tree &tree, uint32_t level, nb::handle given) {
  Coordinates at(given);
  return tree.append(level, at.data(), at.size());
}

uint64_t length(const Tree &tree, uint32_t level, nb::handle given) {
  Coordinates at(given);
  uint64_t count = 0;
  check(metate_tree_length(tree.get(), level, at.data(), at.size(), &count));
  return count;
}

nb::object read(const Tree &tree, uint32_t index, nb::handle given) {
  Coordinates at(given);
  const LevelInfo &level = tree.getType()->level(index);
  std::vector<uint64_t> value((level.cellBytes + 7) / 8);
  check(metate_tree_read(tree.get(), index, at.data(), at.size(), value.data(), level.cellBytes));
  return decodeElement(level.element, value.data());
}

void write(Tree &tree, uint32_t index, nb::handle given, nb::handle object) {
  Coordinates at(given);
  const LevelInfo &level = tree.getType()->level(index);
  std::vector<uint64_t> value((level.cellBytes + 7) / 8);
  encodeOrThrow("member '" + level.name + "'", level.element, object.ptr(), value.data());
  tree.write(index, at.data(), at.size(), value.data());
}

nb::list stats(const Tree &tree) {
  nb::list found;
  for (uint32_t pool = 0; pool < tree.describe().pool_count; ++pool) {
    metate_pool_stats info{};
    info.struct_size = sizeof(info);
    check(metate_tree_stats(tree.get(), pool, &info), Subject::Tree);
    found.append(nb::make_tuple(info.level, std::string(info.name), info.capacity, info.used,
                                info.high_water, info.bytes));
  }
  return found;
}

void checkBlock(const Tree &tree) {
  metate_tree_description info = tree.describe();
  int32_t status;
  {
    TreeUse use(tree);
    nb::gil_scoped_release released;
    status = metate_tree_check(info.type, info.block, info.bytes);
  }
  check(status, Subject::Tree);
}

int getBufferSlot(PyObject *self, Py_buffer *view, int flags) {
  try {
    return nb::inst_ptr<Tree>(self)->getBuffer(self, view, flags);
  } catch (nb::python_error &error) {
    error.restore();
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, "the tree is unbound");
    return -1;
  }
}

void releaseBufferSlot(PyObject *self, Py_buffer *) { nb::inst_ptr<Tree>(self)->releaseBuffer(); }

PyType_Slot bufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(&getBufferSlot)},
                             {Py_bf_releasebuffer, reinterpret_cast<void *>(&releaseBufferSlot)},
                             {0, nullptr}};

} // namespace

void setCapacityError(const Tree &tree, const std::string &text) {
  metate_tree_description info = tree.describe();
  uint32_t pool = info.exhausted_pool;
  uint64_t needed = info.slots_needed;
  metate_pool_stats stats{};
  stats.struct_size = sizeof(stats);
  check(metate_tree_stats(tree.get(), pool, &stats), Subject::Tree);
  std::string own = "level '" + std::string(stats.name) + "'";
  if (needed)
    own += " needs at least " + std::to_string(needed) + " slots, its capacity is " +
           std::to_string(stats.capacity) + ": bind the tree with a larger capacity";
  else
    own += ": a list is full";
  setError(METATE_E_CAPACITY, text.empty() ? own : text, Subject::Tree);
  nb::python_error raised; // takes the exception set above
  nb::object value = nb::borrow(raised.value());
  value.attr("level") = std::string(stats.name);
  value.attr("needed") = needed;
  value.attr("capacity") = stats.capacity;
  raised.restore();
}

void bindTree(nb::module_ &module) {
  nb::class_<Tree>(module, "Tree", nb::type_slots(bufferSlots), nb::dynamic_attr(),
                   nb::is_weak_referenceable(),
                   "An instance of a tree type in memory; its buffer is the whole block.")
      .def(
          "__init__",
          [](Tree *self, std::shared_ptr<Type> type, nb::handle capacities, nb::handle buffer,
             bool reset, const std::string &path) {
            if (!path.empty())
              new (self) Tree(std::move(type), path, capacities, !reset);
            else if (buffer.is_none())
              new (self) Tree(std::move(type), capacities);
            else
              new (self) Tree(std::move(type), capacities, buffer, reset);
          },
          nb::arg("type"), nb::arg("capacities").none() = nb::none(),
          nb::arg("buffer").none() = nb::none(), nb::arg("reset") = true, nb::arg("path") = "")
      .def_prop_ro("_handle", &Tree::getType)
      .def(
          "_begin_use",
          [](const Tree &self) {
            auto address = reinterpret_cast<uintptr_t>(self.get());
            self.beginUse();
            return address;
          },
          "The address of the metate_tree, which stays as it is until _end_use.")
      .def("_end_use", &Tree::endUse)
      .def("_bytes", [](const Tree &self) { return self.describe().bytes; })
      .def("_status", [](const Tree &self) { return self.describe().status; })
      .def("_root_offset", [](const Tree &self) { return self.describe().root_offset; })
      .def("_is_elsewhere", [](const Tree &self) { return bool(self.describe().elsewhere); })
      .def("_workers", [](const Tree &self) { return self.describe().workers; })
      .def("_topology_version", [](const Tree &self) { return self.describe().topology_version; })
      .def("_stats", &stats, "(level, name, capacity, used, high water, bytes) of each pool.")
      .def("_is_active", &isActive)
      .def("_activate", &activate)
      .def("_deactivate", &deactivate, "A cell with what is below it; of a list all of it.")
      .def("_deactivate_all", &Tree::deactivateAll, "Every cell of a level; 0: of the tree.")
      .def("_append", &append, "The index of a list's new last cell.")
      .def("_length", &length)
      .def("_migrate", &Tree::migrate, nb::arg("capacities").none(), nb::arg("buffer").none())
      .def("_save", &Tree::save)
      .def("trim", &Tree::trim,
           "Gives memory that no active cell needs back to the system; `peak` of each level's "
           "statistics falls to the highest slot in use.")
      .def("sort", &Tree::sort,
           "Puts the slots in the order of their cells' coordinates (Z-order), without gaps: what "
           "is near in space is near in memory, and loops walk in that order. Values and active "
           "cells stay; `topology_version` is raised if a slot has moved.")
      .def("_read", &read)
      .def("_write", &write)
      .def("_cells", &treeCells)
      .def("_read_dense", &readDense)
      .def("_write_dense", &writeDense)
      .def("check", &checkBlock,
           "Checks every link of the block; raises TreeError at the first "
           "wrong one.")
      .def("reset", &Tree::reset, "Makes everything inactive again, all background.")
      .def("unbind", &Tree::unbind,
           "Lets go of the memory: it may be bound again; own memory is given "
           "back.");
}

} // namespace metate::python
