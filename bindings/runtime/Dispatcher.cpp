// The Dispatcher type by hand, in CPython's C API: a call of an empty kernel
// costs 60 ns through it. It must keep working when an argument's conversion
// runs arbitrary Python code.
#include "Dispatcher.h"
#include "BufferView.h"

#include "Binding.h"

#include <cstddef>
#include <new>
#include <structmember.h>

namespace metate::python {
namespace {

struct Dispatcher {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *slow; // owned; NULL: only the instances there are
  PyObject *weakReferences;
  PyObject *parts; // the attribute of arguments that go to the kernel in several parts; owned
  std::vector<Held<Instance>> instances;
  Targets targets;
};

Dispatcher *cast(PyObject *object) { return reinterpret_cast<Dispatcher *>(object); }

Held<Instance> addInstance(Dispatcher *self, nb::handle kernel) {
  if (!nb::isinstance<Kernel>(kernel) || !nb::inst_ready(kernel))
    throwNamed("RuntimeTypeError_",
               "dispatcher: expected a Kernel, got " + describeValue(kernel.ptr()),
               METATE_E_TYPE_MISMATCH);
  for (auto &instance : self->instances)
    if (instance->object.is(kernel))
      return instance;
  Held<Instance> made(new Instance());
  made->object = nb::borrow(kernel);
  made->kernel = nb::inst_ptr<Kernel>(kernel);
  self->instances.push_back(made);
  return made;
}

/// A call while it is tried on bindings: what it holds may outlive the dispatcher's own, for
/// converting an argument, or reading through one, may run any Python code.
class Call {
public:
  Call(Dispatcher *self, PyObject *const *given, size_t count)
      : self(self), given(given), count(count), most(count + expand()) {}

  nb::object run(std::span<const metate_pool_memory> pools = {}) {
    Held<Binding> binding = find();
    const Instance &instance = *binding->instance;
    try {
      nb::object result = frame.launch(*instance.kernel, pools, binding->briefExtent);
      ++binding->instance->hits;
      return result;
    } catch (...) {
      binding->instance->hits += frame.hasLaunched();
      throw;
    }
  }

  nb::object reserveFor(const Tree &tree) {
    Held<Binding> binding = find();
    return frame.reserveFor(*binding->instance->kernel, tree);
  }

  nb::object plan() {
    Held<Binding> binding = find();
    return frame.plan(*binding->instance->kernel);
  }

private:
  Held<Binding> find() {
    Held<Target> target = self->targets.find(given, count);
    Held<Binding> binding = target ? choose(target) : Held<Binding>();
    return binding ? binding : askSlow();
  }

  /// Looks for arguments that go to the kernel in several parts, an array of structs say: how many more there are.
  size_t expand() {
    size_t more = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!_PyType_Lookup(Py_TYPE(given[i]), self->parts))
        continue;
      nb::object parts = nb::steal(PyObject_GetAttr(given[i], self->parts));
      if (!parts.is_valid())
        throw nb::python_error();
      more += nb::len(nb::tuple(parts));
      expanded.emplace_back(i, nb::tuple(parts));
    }
    return more;
  }

  void append(size_t position) {
    for (auto &[at, parts] : expanded)
      if (at == position) {
        for (nb::handle part : parts)
          frame.append(part.ptr());
        return;
      }
    frame.append(given[position]);
  }

  void fill(const Target &target) {
    frame.truncate(0);
    frame.reserve(most + target.mostHidden);
    for (size_t i = 0; i < count; ++i)
      if (!target.isStatic(i))
        append(i);
    passed = frame.size();
  }

  /// The target's binding that fits; it then is the first.
  Held<Binding> choose(const Held<Target> &target) {
    fill(*target);
    for (size_t i = 0; i < target->bindings.size(); ++i) {
      Held<Binding> binding = target->bindings[i];
      if (!fits(*binding, !binding->instance->loose))
        continue;
      if (i && i < target->bindings.size() && target->bindings[i] == binding)
        std::swap(target->bindings[i], target->bindings[0]);
      return binding;
    }
    return {};
  }

  bool fits(Binding &binding, bool exact) {
    const Kernel &kernel = *binding.instance->kernel;
    if (kernel.parameters().size() != passed + binding.hidden.size())
      return false;
    for (const Guard &guard : binding.guards)
      if (!guard.holds(given))
        return false;
    frame.truncate(passed);
    return frame.bind(kernel, exact) && bindHidden(binding);
  }

  /// The tree, where it is still there and bound: None and others are no trees.
  static const Tree *boundTree(const Hidden &hidden) {
    nb::handle object(PyWeakref_GET_OBJECT(hidden.object.ptr()));
    if (object.is_none())
      return nullptr;
    const Tree *tree = hidden.fitting;
    if (!tree && nb::isinstance<Tree>(object) && nb::inst_ready(object))
      tree = nb::inst_ptr<Tree>(object);
    return tree && tree->getOrNull() ? tree : nullptr;
  }

  /// Whose attribute a hidden argument is: the caller's argument, or a part of it; null: it has no such part.
  PyObject *ownerOf(const Hidden &hidden) const {
    if (!hidden.part)
      return given[hidden.position];
    for (const auto &[at, parts] : expanded)
      if (at == hidden.position && *hidden.part < nb::len(parts))
        return nb::object(parts[*hidden.part]).ptr(); // `parts` keeps it
    return nullptr;
  }

  /// False when a tree is gone. Values are asked for last: each answer is for one launch.
  bool bindHidden(Binding &binding) {
    const Kernel &kernel = *binding.instance->kernel;
    for (const Hidden &hidden : binding.hidden)
      if (hidden.isTree && !boundTree(hidden))
        return false;
    for (Hidden &hidden : binding.hidden) {
      if (hidden.isAttribute) {
        PyObject *owner = ownerOf(hidden);
        if (!owner)
          return false; // an argument without parts
        PyObject *value = PyObject_GetAttr(owner, hidden.object.ptr());
        if (!value)
          throw nb::python_error();
        frame.appendOwned(value);
        if (!frame.bindAt(kernel, frame.size() - 1))
          return false; // of another form, or none
        continue;
      }
      if (hidden.isTree) {
        const Tree *tree = boundTree(hidden); // values may have run any Python code
        if (!tree || !frame.appendTree(kernel, PyWeakref_GET_OBJECT(hidden.object.ptr()), *tree,
                                       tree == hidden.fitting))
          return false;
        hidden.fitting = tree;
        continue;
      }
      PyObject *value = PyObject_CallNoArgs(hidden.object.ptr());
      if (!value)
        throw nb::python_error();
      frame.appendOwned(value);
      if (!frame.bindAt(kernel, frame.size() - 1))
        throwNamed("RuntimeTypeError_", "dispatcher: a hidden argument has a value of another type",
                   METATE_E_TYPE_MISMATCH);
    }
    return true;
  }

  /// No binding fits: the slow path makes one, or there is only what was added.
  Held<Binding> askSlow() {
    if (!self->slow) {
      if (self->instances.empty())
        throwNamed("RuntimeError_", "dispatcher: it has no kernel", METATE_E_NOT_FOUND);
      return only();
    }
    nb::object packed = nb::steal(PyTuple_New(Py_ssize_t(count)));
    if (!packed.is_valid())
      throw nb::python_error();
    for (size_t i = 0; i < count; ++i)
      PyTuple_SET_ITEM(packed.ptr(), Py_ssize_t(i), Py_NewRef(given[i]));
    nb::object slow = nb::borrow(self->slow);
    PyObject *made = PyObject_CallOneArg(slow.ptr(), packed.ptr());
    if (!made)
      throw nb::python_error();
    return adopt(nb::steal(made));
  }

  /// Of a dispatcher without a slow path: the first instance takes whatever it can.
  Held<Binding> only() {
    Held<Target> target = self->targets.add(Held<Target>(new Target()));
    for (auto &instance : self->instances)
      addBinding(*target, instance);
    fill(*target);
    for (Held<Binding> binding : std::vector(target->bindings))
      if (fits(*binding, true))
        return binding;
    Held<Binding> binding = target->bindings[0];
    binding->instance->loose = true;
    frame.truncate(passed);
    frame.bindOrThrow(*binding->instance->kernel);
    return binding;
  }

  static void addBinding(Target &target, const Held<Instance> &instance) {
    for (auto &binding : target.bindings)
      if (binding->instance == instance)
        return;
    Held<Binding> made(new Binding());
    made->instance = instance;
    target.bindings.push_back(made);
  }

  /// What the slow path answered: a Kernel, or (kernel, statics, keys, guards, hidden, brief extent).
  Held<Binding> adopt(nb::object made) {
    Held<Binding> binding(new Binding());
    Held<Target> target(new Target());
    bool isPlain = !PyTuple_Check(made.ptr());
    binding->instance = addInstance(self, isPlain ? nb::handle(made) : nb::object(made[0]));
    if (!isPlain) {
      target->statics.resize(count);
      for (nb::handle position : nb::borrow<nb::tuple>(made[1]))
        target->statics.at(nb::cast<size_t>(position)) = true;
      for (nb::handle key : nb::borrow<nb::tuple>(made[2]))
        target->keys.push_back({nb::cast<size_t>(key[0]), nb::object(key[1])});
      for (nb::handle guard : nb::borrow<nb::tuple>(made[3]))
        binding->guards.emplace_back(guard);
      for (nb::handle hidden : nb::borrow<nb::tuple>(made[4]))
        binding->hidden.emplace_back(hidden);
      if (nb::len(made) > 5)
        binding->briefExtent = nb::cast<int64_t>(made[5]);
    }
    target = self->targets.add(target);
    target->mostHidden = std::max(target->mostHidden, binding->hidden.size());
    fill(*target);
    bool isExact = fits(*binding, true);
    if (!isExact) {
      frame.truncate(passed);
      frame.bindOrThrow(*binding->instance->kernel, binding->hidden.size());
      if (!bindHidden(*binding))
        throwNamed("RuntimeError_",
                   "kernel '" + binding->instance->kernel->getName() +
                       "': a field's tree was destroyed while the kernel was called",
                   METATE_E_NOT_FOUND);
    }
    binding->instance->loose |= !isExact;
    std::erase_if(target->bindings,
                  [&](auto &other) { return other->instance == binding->instance; });
    target->bindings.insert(target->bindings.begin(), binding);
    return binding;
  }

  Dispatcher *self;
  PyObject *const *given;
  size_t count, passed = 0;
  std::vector<std::pair<size_t, nb::tuple>> expanded;
  size_t most; // arguments of the kernel that the caller writes
  Frame frame;
};

PyObject *call(PyObject *object, PyObject *const *arguments, size_t flags, PyObject *names) {
  if (names && PyTuple_GET_SIZE(names)) {
    PyErr_SetString(PyExc_TypeError, "a dispatcher takes positional arguments only");
    return nullptr;
  }
  try {
    return Call(cast(object), arguments, size_t(PyVectorcall_NARGS(flags))).run().release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// What `work` gives, or NULL with a Python error.
template <typename Work> PyObject *withErrors(Work work) {
  try {
    return nb::object(work()).release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject *reserveFor(PyObject *object, PyObject *const *given, Py_ssize_t count) {
  return withErrors([&] {
    if (count < 1 || !nb::isinstance<Tree>(given[0]) || !nb::inst_ready(given[0]))
      throwNamed("RuntimeTypeError_", "reserve_for: expected a tree", METATE_E_TYPE_MISMATCH);
    const Tree &tree = *nb::inst_ptr<Tree>(nb::handle(given[0]));
    return Call(cast(object), given + 1, size_t(count - 1)).reserveFor(tree);
  });
}

/// The memory of pools that Python objects lend for a launch.
class LentPools {
public:
  /// None: the device's allocator gives the pool.
  void add(nb::handle object) {
    pools.emplace_back();
    if (object.is_none())
      return;
    BufferView &view = views.emplace_back(object.ptr(), PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
    if (!view)
      throw nb::python_error();
    pools.back() = {view->buf, uint64_t(view->len)};
  }

  std::vector<metate_pool_memory> pools;

private:
  std::vector<BufferView> views;
};

PyObject *launchWith(PyObject *object, PyObject *const *given, Py_ssize_t count) {
  return withErrors([&] {
    if (count < 1 || !PySequence_Check(given[0]))
      throwNamed("RuntimeTypeError_", "launch_with: expected a sequence of pools",
                 METATE_E_TYPE_MISMATCH);
    LentPools lent;
    for (nb::handle object : nb::handle(given[0]))
      lent.add(object);
    return Call(cast(object), given + 1, size_t(count - 1)).run(lent.pools);
  });
}

PyObject *plan(PyObject *object, PyObject *const *given, Py_ssize_t count) {
  return withErrors([&] { return Call(cast(object), given, size_t(count)).plan(); });
}

PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char slowName[] = "slow";
  static char *names[] = {slowName, nullptr};
  PyObject *slow = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Dispatcher", names, &slow))
    return nullptr;
  if (slow != Py_None && !PyCallable_Check(slow)) {
    PyErr_SetString(PyExc_TypeError, "Dispatcher: slow: expected a callable or None");
    return nullptr;
  }
  PyObject *parts = PyUnicode_InternFromString("_metate_parts");
  PyObject *object = parts ? type->tp_alloc(type, 0) : nullptr;
  if (!object) {
    Py_XDECREF(parts);
    return nullptr;
  }
  Dispatcher *self = cast(object);
  self->parts = parts;
  self->vectorcall = &call;
  self->slow = slow == Py_None ? nullptr : Py_NewRef(slow);
  new (&self->instances) std::vector<Held<Instance>>();
  new (&self->targets) Targets();
  return object;
}

int traverse(PyObject *object, visitproc visit, void *arg) {
  Dispatcher *self = cast(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->slow);
  for (auto &instance : self->instances)
    Py_VISIT(instance->object.ptr());
  return self->targets.visit(visit, arg);
}

/// Objects die when the dispatcher is whole again: their ends may call it.
void dropInstances(Dispatcher *self) {
  std::vector<Held<Instance>> instances;
  Targets targets;
  instances.swap(self->instances);
  targets.swap(self->targets);
}

int clear(PyObject *object) {
  Dispatcher *self = cast(object);
  Py_CLEAR(self->slow);
  dropInstances(self);
  return 0;
}

void destroy(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (cast(object)->weakReferences)
    PyObject_ClearWeakRefs(object);
  clear(object);
  cast(object)->instances.~vector();
  cast(object)->targets.~Targets();
  Py_CLEAR(cast(object)->parts);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject *add(PyObject *object, PyObject *kernel) {
  try {
    addInstance(cast(object), nb::handle(kernel));
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject *clearInstances(PyObject *object, PyObject *) {
  dropInstances(cast(object));
  Py_RETURN_NONE;
}

PyObject *listInstances(PyObject *object, void *) {
  try {
    nb::list found;
    for (auto &instance : cast(object)->instances)
      found.append(nb::make_tuple(instance->object, instance->hits));
    return found.release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Dispatcher, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Dispatcher, weakReferences), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyMethodDef methods[] = {
    {"add", &add, METH_O, "Adds a Kernel to try from now on."},
    {"reserve_for", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&reserveFor)),
     METH_FASTCALL,
     "Of a tree and the kernel's arguments: (text, slots) of metate_tree_reserve_for."},
    {"plan", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&plan)), METH_FASTCALL,
     "Of the kernel's arguments: (max_workers, pools) of metate_kernel_plan."},
    {"launch_with", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&launchWith)),
     METH_FASTCALL,
     "A call with memory for the kernel's pools: a sequence of writable buffers, or of None."},
    {"clear", &clearInstances, METH_NOARGS, "Forgets all instances."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"instances", &listInstances, nullptr, "(Kernel, number of calls) of each instance.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char *>("Dispatcher(slow=None): calls the compiled "
                                                      "instance that fits the arguments.")},
                       {Py_tp_new, reinterpret_cast<void *>(&create)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(&destroy)},
                       {Py_tp_traverse, reinterpret_cast<void *>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(&clear)},
                       {Py_tp_call, reinterpret_cast<void *>(&PyVectorcall_Call)},
                       {Py_tp_members, members},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"metate_native._runtime.Dispatcher", sizeof(Dispatcher), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

} // namespace

void bindDispatcher(nb::module_ &module) {
  PyObject *type = PyType_FromSpec(&spec);
  if (!type)
    throw nb::python_error();
  module.attr("Dispatcher") = nb::steal(type);
}

} // namespace metate::python
