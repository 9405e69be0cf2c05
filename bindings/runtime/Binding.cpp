// Guards, targets and how they are found. Everything here runs under the GIL.
#include "Binding.h"
#include "BufferView.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace metate::python {
namespace {

/// The object of a weak reference, borrowed; null when it has died.
PyObject *alive(PyObject *reference) {
  PyObject *object = PyWeakref_GET_OBJECT(reference);
  return object == Py_None ? nullptr : object;
}

bool isSameTuple(PyObject *a, PyObject *b) {
  Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b))
    return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!isSameValue(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
      return false;
  return true;
}

} // namespace

bool isSameValue(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (Py_TYPE(a) != Py_TYPE(b))
    return false;
  if (PyFloat_CheckExact(a))
    return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(a)) ==
           std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(b));
  if (PyTuple_CheckExact(a))
    return isSameTuple(a, b);
  if (!PyLong_CheckExact(a) && !PyUnicode_CheckExact(a) && !PyBytes_CheckExact(a))
    return false;
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/// A name as attributes are found by it without comparing letters.
static nb::object interned(nb::handle name) {
  PyObject *text = Py_NewRef(name.ptr());
  if (PyUnicode_CheckExact(text))
    PyUnicode_InternInPlace(&text);
  return nb::steal(text);
}

Guard::Guard(nb::handle described)
    : position(nb::cast<size_t>(described[0])), expected(described[2]),
      isAsked(PyTuple_CheckExact(expected.ptr()) && PyTuple_GET_SIZE(expected.ptr()) == 1 &&
              PyCallable_Check(PyTuple_GET_ITEM(expected.ptr(), 0))) {
  for (nb::handle step : nb::borrow<nb::tuple>(described[1])) {
    bool isSubscript = PyTuple_Check(step.ptr());
    nb::object key = isSubscript ? nb::object(step[0]) : interned(step);
    steps.push_back({std::move(key), isSubscript});
  }
  bool isArray = PyTuple_CheckExact(expected.ptr()) && PyTuple_GET_SIZE(expected.ptr()) == 2 &&
                 PyWeakref_Check(PyTuple_GET_ITEM(expected.ptr(), 0));
  if (isArray)
    contents = nb::object(expected[1]);
  if (isAsked || isArray)
    expected = nb::object(expected[0]);
}

namespace {

bool hasContents(PyObject *array, PyObject *bytes) {
  BufferView view(array, PyBUF_SIMPLE);
  if (!view) {
    PyErr_Clear();
    return false;
  }
  return view->len == PyBytes_GET_SIZE(bytes) &&
         std::memcmp(view->buf, PyBytes_AS_STRING(bytes), size_t(view->len)) == 0;
}

} // namespace

bool Guard::holds(PyObject *const *arguments) const {
  nb::object found;
  PyObject *thing = arguments[position];
  for (const Step &step : steps) {
    PyObject *next = step.isSubscript ? PyObject_GetItem(thing, step.key.ptr())
                                      : PyObject_GetAttr(thing, step.key.ptr());
    if (!next) {
      PyErr_Clear();
      return false;
    }
    found = nb::steal(next);
    thing = next;
  }
  if (isAsked) {
    nb::object answer = nb::steal(PyObject_CallOneArg(expected.ptr(), thing));
    if (!answer.is_valid())
      throw nb::python_error();
    return answer.is(nb::handle(Py_True));
  }
  if (PyWeakref_Check(expected.ptr()))
    return alive(expected.ptr()) == thing &&
           (!contents.is_valid() || hasContents(thing, contents.ptr()));
  return isSameValue(expected.ptr(), thing);
}

int Guard::visit(visitproc visit, void *arg) const {
  Py_VISIT(expected.ptr()); // bytes need no visit
  for (const Step &step : steps)
    Py_VISIT(step.key.ptr());
  return 0;
}

Hidden::Hidden(nb::handle described)
    : object(nb::borrow(described)), isTree(PyWeakref_Check(described.ptr())) {
  isAttribute = PyTuple_Check(described.ptr());
  if (isAttribute) {
    position = nb::cast<size_t>(described[0]);
    object = interned(nb::object(described[nb::len(described) - 1]));
    if (nb::len(described) == 3)
      part = nb::cast<size_t>(described[1]);
  }
}

bool Target::matches(PyObject *const *arguments, size_t count) const {
  for (const Key &key : keys) {
    if (key.position >= count)
      return false;
    PyObject *expected = key.object.ptr(), *given = arguments[key.position];
    if (PyWeakref_Check(expected) ? alive(expected) != given : !isSameValue(expected, given))
      return false;
  }
  return true;
}

bool Target::isDead() const {
  for (const Key &key : keys)
    if (PyWeakref_Check(key.object.ptr()) && !alive(key.object.ptr()))
      return true;
  return false;
}

bool Target::hasSameKeys(const Target &other) const {
  if (statics != other.statics || keys.size() != other.keys.size())
    return false;
  for (size_t i = 0; i < keys.size(); ++i) {
    PyObject *a = keys[i].object.ptr(), *b = other.keys[i].object.ptr();
    bool isWeak = PyWeakref_Check(a);
    if (isWeak != bool(PyWeakref_Check(b)) || keys[i].position != other.keys[i].position)
      return false;
    if (isWeak ? !alive(a) || alive(a) != alive(b) : !isSameValue(a, b))
      return false;
  }
  return true;
}

int Target::visit(visitproc visit, void *arg) const {
  for (const Key &key : keys)
    Py_VISIT(key.object.ptr());
  for (const Held<Binding> &binding : bindings) {
    for (const Guard &guard : binding->guards)
      if (int result = guard.visit(visit, arg))
        return result;
    for (const Hidden &hidden : binding->hidden)
      Py_VISIT(hidden.object.ptr());
  }
  return 0;
}

namespace {

/// The first key that is an object; null: only values.
const Key *firstObject(const Target &target) {
  for (const Key &key : target.keys)
    if (PyWeakref_Check(key.object.ptr()))
      return &key;
  return nullptr;
}

} // namespace

Held<Target> Targets::find(PyObject *const *arguments, size_t count) {
  if (last && last->matches(arguments, count))
    return last;
  auto look = [&](const void *address) {
    auto [begin, end] = all.equal_range(address);
    for (auto entry = begin; entry != end; ++entry)
      if (entry->second->matches(arguments, count)) {
        last = entry->second;
        return true;
      }
    return false;
  };
  for (size_t position : positions)
    if (position < count && look(arguments[position]))
      return last;
  return look(nullptr) ? last : Held<Target>();
}

Held<Target> Targets::add(Held<Target> target) {
  const Key *first = firstObject(*target);
  const void *address = first ? alive(first->object.ptr()) : nullptr;
  auto [begin, end] = all.equal_range(address);
  for (auto entry = begin; entry != end; ++entry)
    if (entry->second->hasSameKeys(*target))
      return last = entry->second;
  if (all.size() >= limit)
    prune();
  if (first && std::find(positions.begin(), positions.end(), first->position) == positions.end())
    positions.push_back(first->position);
  all.emplace(address, target);
  return last = target;
}

void Targets::prune() {
  std::vector<Held<Target>> dropped; // destroyed when the table is whole again
  for (auto entry = all.begin(); entry != all.end();) {
    if (entry->second->isDead()) {
      dropped.push_back(entry->second);
      entry = all.erase(entry);
    } else {
      ++entry;
    }
  }
  limit = std::max<size_t>(64, 2 * all.size());
}

void Targets::swap(Targets &other) {
  all.swap(other.all);
  positions.swap(other.positions);
  std::swap(last, other.last);
}

int Targets::visit(visitproc visit, void *arg) const {
  for (auto &entry : all)
    if (int result = entry.second->visit(visit, arg))
      return result;
  return 0;
}

} // namespace metate::python
