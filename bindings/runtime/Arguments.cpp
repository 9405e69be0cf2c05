// Matching and packing the arguments of one call, launching, and what a failed
// launch raises. What a kernel accepts is its descriptor's business: nothing
// here knows how a kernel was compiled.
#include "Arguments.h"
#include "Array.h"
#include "Launch.h"

#include <algorithm>
#include <cstring>

namespace metate::python {

void Frame::reserve(size_t wanted) {
  if (wanted <= most)
    return;
  wideValues.reset(new Value[wanted]);
  wideArguments.reset(new metate_argument[wanted]);
  values = wideValues.get();
  arguments = wideArguments.get();
  most = wanted;
}

void Frame::append(PyObject *argument) {
  Value &value = values[count++];
  value.object = argument;
  value.tree = nullptr;
  value.state = Value::State::Fresh;
  value.owned = false;
  value.viewed = false;
  value.isCudas = false;
  value.elementRank = -1;
  value.memory = nullptr;
  value.imported = nullptr;
  value.wideElement = nullptr;
}

void Frame::appendOwned(PyObject *argument) {
  append(argument);
  values[count - 1].owned = true;
}

void Frame::truncate(size_t number) {
  while (count > number) {
    Value &value = values[--count];
    if (value.viewed)
      PyBuffer_Release(&value.view);
    delete value.imported;
    delete value.wideElement;
    if (value.owned)
      Py_DECREF(value.object);
  }
}

Frame::~Frame() { truncate(0); }

bool Frame::lookAtArray(Value &value) {
  nb::handle object(value.object);
  if (!nb::isinstance<Array>(object) || !nb::inst_ready(object))
    return false;
  const Array &array = *nb::inst_ptr<Array>(object);
  value.array = array.get();
  value.dtype = value.array.dtype;
  value.elementRank = int(array.getElementRank());
  value.memory = array.getMemory();
  value.place = value.array.data;
  value.aligned = array.isAligned();
  value.contiguous = array.isContiguous();
  std::copy_n(value.array.shape, value.array.rank, value.shape); // the caller may let go of it
  if (value.array.strides)
    std::copy_n(value.array.strides, value.array.rank, value.strides);
  value.array.shape = value.shape;
  value.array.strides = value.array.strides ? value.strides : nullptr;
  return true;
}

bool Frame::lookAtBuffer(Value &value) {
  if (!PyObject_CheckBuffer(value.object))
    return false;
  Py_buffer &view = value.view;
  if (PyObject_GetBuffer(value.object, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  value.viewed = true;
  value.dtype = dtypeOfFormat(view.format, view.itemsize);
  if (value.dtype == 0 || view.ndim > METATE_MAX_RANK)
    return false;
  value.aligned = true;
  value.array.data = view.buf;
  value.array.rank = uint32_t(view.ndim);
  value.array.flags = view.readonly ? METATE_ARRAY_READ_ONLY : 0;
  for (int i = 0; i < view.ndim; ++i) {
    value.shape[i] = view.shape[i];
    value.strides[i] = view.strides[i] / view.itemsize;
    if (view.strides[i] % view.itemsize)
      value.aligned = false;
  }
  return true;
}

bool Frame::lookThroughDlpack(Value &value) {
  if (PyObject_CheckBuffer(value.object) || !PyObject_HasAttrString(value.object, "__dlpack__"))
    return false;
  nb::ndarray<> writable; // refuses what its owner marks read-only
  nb::ndarray<nb::ro> array;
  bool readOnly = !nb::try_cast(nb::handle(value.object), writable);
  if (!readOnly)
    array = nb::ndarray<nb::ro>(writable);
  if ((readOnly && !nb::try_cast(nb::handle(value.object), array)) ||
      array.ndim() > METATE_MAX_RANK) {
    PyErr_Clear();
    return false;
  }
  int where = array.device_type();
  value.isCudas = where == nb::device::cuda::value || where == nb::device::cuda_managed::value;
  if (!value.isCudas && where != nb::device::cpu::value && where != nb::device::cuda_host::value)
    return false;
  nb::dlpack::dtype type = array.dtype();
  static constexpr struct {
    nb::dlpack::dtype_code code;
    uint8_t bits;
    uint32_t dtype;
  } known[] = {{nb::dlpack::dtype_code::Bool, 8, METATE_U1},
               {nb::dlpack::dtype_code::Int, 8, METATE_I8},
               {nb::dlpack::dtype_code::Int, 16, METATE_I16},
               {nb::dlpack::dtype_code::Int, 32, METATE_I32},
               {nb::dlpack::dtype_code::Int, 64, METATE_I64},
               {nb::dlpack::dtype_code::UInt, 8, METATE_U8},
               {nb::dlpack::dtype_code::UInt, 16, METATE_U16},
               {nb::dlpack::dtype_code::UInt, 32, METATE_U32},
               {nb::dlpack::dtype_code::UInt, 64, METATE_U64},
               {nb::dlpack::dtype_code::Float, 16, METATE_F16},
               {nb::dlpack::dtype_code::Bfloat, 16, METATE_BF16},
               {nb::dlpack::dtype_code::Float, 32, METATE_F32},
               {nb::dlpack::dtype_code::Float, 64, METATE_F64}};
  value.dtype = 0;
  for (auto &entry : known)
    if (type.code == uint8_t(entry.code) && type.bits == entry.bits && type.lanes == 1)
      value.dtype = entry.dtype;
  if (value.dtype == 0)
    return false;
  value.aligned = true;
  value.array.data = const_cast<void *>(array.data());
  value.array.rank = uint32_t(array.ndim());
  value.array.flags = readOnly ? METATE_ARRAY_READ_ONLY : 0;
  for (size_t i = 0; i < array.ndim(); ++i) {
    value.shape[i] = int64_t(array.shape(i));
    value.strides[i] = array.stride(i);
  }
  value.imported = new nb::ndarray<nb::ro>(std::move(array));
  return true;
}

void Frame::finishArray(Value &value) {
  uint32_t size = metate_dtype_bytes(value.dtype);
  if (reinterpret_cast<uintptr_t>(value.array.data) % size)
    value.aligned = false;
  int64_t gapless = 1;
  bool empty = false;
  value.contiguous = true;
  for (uint32_t i = value.array.rank; i-- > 0;) {
    if (value.shape[i] != 1 && value.strides[i] != gapless)
      value.contiguous = false;
    gapless *= value.shape[i];
    empty |= value.shape[i] == 0;
  }
  value.contiguous |= empty;
  value.array.dtype = value.dtype;
  value.array.reserved = 0;
  value.array.shape = value.shape;
  value.array.strides = value.contiguous ? nullptr : value.strides;
}

/// Finds out, once for a call, whether a value is an array and which.
bool Frame::look(Value &value) {
  if (value.state == Value::State::Fresh) {
    bool isOurs = lookAtArray(value);
    bool isTree =
        !isOurs && nb::isinstance<Tree>(nb::handle(value.object)); // its block is a buffer
    bool found = isOurs || (!isTree && (lookAtBuffer(value) || lookThroughDlpack(value) ||
                                        lookAtCudaInterface(value)));
    if (found && !isOurs)
      finishArray(value);
    value.state = found ? Value::State::Array : Value::State::NoArray;
  }
  return value.state == Value::State::Array;
}

bool Frame::bindArray(const Parameter &parameter, Value &value, metate_argument &argument,
                      bool exact) {
  if (!look(value))
    return false;
  if (value.dtype != parameter.element.dtype || value.array.rank != parameter.rank ||
      !value.aligned)
    return false;
  if (value.isCudas && !device->isCuda())
    return false;
  if (value.elementRank >= 0 && uint32_t(value.elementRank) != parameter.element.rank)
    return false;
  if (parameter.isContiguous() ? !value.contiguous : exact && value.contiguous)
    return false;
  if ((parameter.access & METATE_ACCESS_WRITE) && (value.array.flags & METATE_ARRAY_READ_ONLY))
    return false;
  // Elements tell instances apart; the other extents are the same for all of them, and the launch's to check.
  for (uint32_t i = parameter.rank - parameter.element.rank; i < parameter.rank; ++i)
    if (parameter.fixed[i] >= 0 && parameter.fixed[i] != value.shape[i])
      return false;
  argument.value.array = &value.array;
  return true;
}

bool Frame::isOf(const Tree &tree, const Parameter &parameter) {
  return tree.getOrNull() && tree.getType()->sameAs(parameter.typeHash);
}

bool Frame::bindTree(const Parameter &parameter, Value &value, metate_argument &argument) {
  nb::handle object(value.object);
  if (!nb::isinstance<Tree>(object) || !nb::inst_ready(object))
    return false;
  Tree *tree = nb::inst_ptr<Tree>(object);
  if (!isOf(*tree, parameter))
    return false;
  value.tree = tree;
  argument.value.tree = tree->getOrNull();
  return true;
}

bool Frame::appendTree(const Kernel &kernel, PyObject *object, const Tree &tree, bool isFitting) {
  const Parameter &parameter = kernel.parameters()[count];
  if (!isFitting && (parameter.kind != METATE_ARGUMENT_TREE || !isOf(tree, parameter)))
    return false;
  metate_argument &argument = arguments[count];
  argument.kind = METATE_ARGUMENT_TREE;
  argument.dtype = parameter.element.dtype;
  argument.rows = parameter.element.rows;
  argument.columns = parameter.element.columns;
  argument.value.tree = tree.getOrNull();
  appendOwned(Py_NewRef(object));
  values[count - 1].tree = &tree;
  return true;
}

Fit Frame::bindVector(const Parameter &parameter, Value &value, metate_argument &argument) {
  char *bytes = value.element;
  if (parameter.element.bytes() > inlineBytes) {
    if (!value.wideElement)
      value.wideElement = new std::vector<char>();
    value.wideElement->resize(parameter.element.bytes());
    bytes = value.wideElement->data();
  }
  argument.value.elements = bytes;
  return encodeElement(parameter.element, value.object, bytes);
}

Fit Frame::bindOne(const Parameter &parameter, Value &value, metate_argument &argument,
                   bool exact) {
  argument.kind = parameter.kind;
  argument.dtype = parameter.element.dtype;
  argument.rows = parameter.element.rows;
  argument.columns = parameter.element.columns;
  switch (parameter.kind) {
  case METATE_ARGUMENT_SCALAR:
    argument.value.bits = 0;
    return encodeScalar(parameter.element.dtype, value.object, &argument.value.bits);
  case METATE_ARGUMENT_VECTOR:
    return bindVector(parameter, value, argument);
  case METATE_ARGUMENT_NDARRAY:
    return bindArray(parameter, value, argument, exact) ? Fit::Yes : Fit::WrongType;
  case METATE_ARGUMENT_TREE:
    return bindTree(parameter, value, argument) ? Fit::Yes : Fit::WrongType;
  default:
    return Fit::WrongType;
  }
}

bool Frame::bind(const Kernel &kernel, bool exact) {
  const std::vector<Parameter> &parameters = kernel.parameters();
  device = &kernel.device();
  if (parameters.size() < count)
    return false;
  for (size_t i = 0; i < count; ++i)
    if (bindOne(parameters[i], values[i], arguments[i], exact) != Fit::Yes)
      return false;
  return true;
}

bool Frame::bindAt(const Kernel &kernel, size_t index) {
  device = &kernel.device();
  return bindOne(kernel.parameters()[index], values[index], arguments[index], true) == Fit::Yes;
}

std::string Frame::describe(Value &value) {
  nb::handle object(value.object);
  if (nb::isinstance<Tree>(object) && nb::inst_ready(object)) {
    Tree *tree = nb::inst_ptr<Tree>(object);
    if (!tree->getOrNull())
      return "a tree that is unbound";
    return std::string("a tree of type ") + tree->getType()->description().text;
  }
  if (!look(value))
    return describeValue(value.object);
  std::string text = std::string("an array of ") + metate_dtype_name(value.dtype) + " with shape (";
  for (uint32_t i = 0; i < value.array.rank; ++i)
    text += (i ? ", " : "") + std::to_string(value.shape[i]);
  text += ")";
  if (!value.aligned)
    text += ", not aligned to its elements";
  else if (!value.contiguous)
    text += ", not row-major";
  if (value.array.flags & METATE_ARRAY_READ_ONLY)
    text += ", read-only";
  if (value.isCudas)
    text += ", in a CUDA device's memory, which kernels of contexts with arch=mt.cuda reach";
  return text;
}

void Frame::bindOrThrow(const Kernel &kernel, size_t hidden) {
  const std::vector<Parameter> &parameters = kernel.parameters();
  device = &kernel.device();
  if (parameters.size() != count + hidden)
    throwNamed("CallError_",
               "kernel '" + kernel.getName() + "': expected " +
                   std::to_string(parameters.size() - std::min(hidden, parameters.size())) +
                   " arguments, got " + std::to_string(count),
               METATE_E_INVALID_ARGUMENT);
  for (size_t i = 0; i < count; ++i) {
    Fit fit = bindOne(parameters[i], values[i], arguments[i], false);
    if (fit == Fit::Yes)
      continue;
    std::string text = "kernel '" + kernel.getName() + "': argument '" + parameters[i].name +
                       "': expected " + parameters[i].expected() +
                       (fit == Fit::OutOfRange ? " within its range" : "") + ", got " +
                       describe(values[i]);
    bool isArray = parameters[i].kind == METATE_ARGUMENT_NDARRAY;
    throwNamed(fit == Fit::OutOfRange ? "RuntimeValueError_"
               : isArray              ? "ArrayError_"
                                      : "RuntimeTypeError_",
               text, fit == Fit::OutOfRange ? METATE_E_OUT_OF_RANGE : METATE_E_TYPE_MISMATCH);
  }
}

void Frame::throwLaunchError(const Kernel &kernel, int32_t status, const std::string &text) {
  for (size_t i = 0; status == METATE_E_CAPACITY && i < count; ++i) {
    if (kernel.parameters()[i].kind != METATE_ARGUMENT_TREE)
      continue;
    Tree *tree = nb::inst_ptr<Tree>(nb::handle(values[i].object));
    if (tree->describe().status != METATE_E_CAPACITY)
      continue;
    setCapacityError(*tree, text);
    throw nb::python_error();
  }
  setError(status, text);
  throw nb::python_error();
}

/// The trees of a launch stay bound while it runs.
class Frame::TreesInUse {
public:
  explicit TreesInUse(const Frame &frame) : frame(frame) { each(&Tree::beginUse); }
  ~TreesInUse() { each(&Tree::endUse); }

private:
  void each(void (Tree::*use)() const) {
    for (size_t i = 0; i < frame.count; ++i)
      if (frame.values[i].tree)
        (frame.values[i].tree->*use)();
  }
  const Frame &frame;
};

/// What the kernel printed comes before its error.
[[noreturn]] static void throwTimedOut(const Kernel &kernel) {
  if (kernel.device().hasOutput())
    kernel.device().flushOutput();
  metate_kernel_description about = kernel.description();
  std::string place =
      about.line ? std::string(about.file) + ":" + std::to_string(about.line) + ": " : "";
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%g", kernel.device().launchTimeout());
  throwNamed(
      "TimeoutError_",
      place + "kernel '" + about.name + "' was stopped after " + seconds +
          " s, as launch_timeout says: expected its loops to end by then; if it needs longer, "
          "allow it more",
      METATE_E_INTERRUPTED);
}

/// Throws what a signal handler raised while the kernel ran, after the kernel's output.
static void throwRaised(const Kernel &kernel) {
  nb::python_error raised; // takes the exception, so that writing can run Python code
  try {
    if (kernel.device().hasOutput())
      kernel.device().flushOutput();
  } catch (nb::python_error &error) {
    error.discard_as_unraisable("writing what a kernel printed");
  }
  throw raised;
}

namespace {

/// Where a kernel puts one result.
struct Result {
  alignas(16) char small[128]; // a 4 x 4 matrix of f64
  std::unique_ptr<char[]> large;
  metate_array array{};
  int64_t shape[2];

  void point(const Parameter &parameter, metate_argument &argument) {
    const ElementType &element = parameter.element;
    if (element.bytes() > sizeof(small))
      large.reset(new char[element.bytes()]);
    array.data = large ? large.get() : small;
    array.dtype = element.dtype;
    array.rank = element.rank;
    shape[0] = element.rows;
    shape[1] = element.columns;
    array.shape = shape;
    std::memset(array.data, 0, element.bytes());
    argument.kind = METATE_ARGUMENT_NDARRAY;
    argument.dtype = element.dtype;
    argument.rows = element.rows;
    argument.columns = element.columns;
    argument.value.array = &array;
  }
};

} // namespace

/// What the C API gets: what was bound, and places for the results.
class Frame::WithResults {
public:
  WithResults(Frame &frame, const Kernel &kernel)
      : all(frame.arguments), total(frame.count + kernel.results().size()) {
    // Converting an argument may have run Python code that unbound a tree bound before it.
    for (size_t i = 0; i < frame.count; ++i)
      if (frame.values[i].tree)
        all[i].value.tree = frame.values[i].tree->get();
    size_t results = kernel.results().size();
    if (total > frame.most) {
      more.reset(new metate_argument[total]);
      std::copy_n(frame.arguments, frame.count, more.get());
      all = more.get();
    }
    if (results > 1)
      several.reset(new Result[results]);
    for (size_t i = 0; i < results; ++i)
      place(i).point(kernel.results()[i], all[frame.count + i]);
  }

  metate_argument *all;
  size_t total;
  Result &place(size_t number) { return several ? several[number] : one; }

private:
  std::unique_ptr<metate_argument[]> more;
  Result one;
  std::unique_ptr<Result[]> several;
};

bool Frame::isBrief(int64_t briefExtent) const {
  if (briefExtent < 0)
    return false;
  for (size_t i = 0; i < count; ++i)
    for (uint32_t k = 0; values[i].state == Value::State::Array && k < values[i].array.rank; ++k)
      if (values[i].shape[k] > briefExtent)
        return false;
  return true;
}

nb::object Frame::launch(const Kernel &kernel, std::span<const metate_pool_memory> pools,
                         int64_t briefExtent) {
  WithResults given(*this, kernel);
  run(kernel, given.all, given.total, pools, isBrief(briefExtent));
  const std::vector<Parameter> &results = kernel.results();
  if (kernel.returnedCount() == 0)
    return nb::steal(Py_NewRef(Py_None));
  if (kernel.returnedCount() == 1)
    return decodeElement(results[0].element, given.place(0).array.data);
  nb::list found;
  for (size_t i = 0; i < kernel.returnedCount(); ++i)
    found.append(decodeElement(results[i].element, given.place(i).array.data));
  return nb::tuple(found);
}

/// Where the kernel finds the package's arrays. runs: it may change those that it writes.
void Frame::placeArrays(const Kernel &kernel, bool runs) {
  for (size_t i = 0; i < count; ++i) {
    Value &value = values[i];
    if (value.state != Value::State::Array || !value.memory)
      continue;
    bool writes = runs && kernel.parameters()[i].access & METATE_ACCESS_WRITE;
    value.array.data = value.memory->placeFor(kernel.sharedDevice(), value.place, writes);
  }
}

nb::object Frame::reserveFor(const Kernel &kernel, const Tree &tree) {
  WithResults given(*this, kernel);
  placeArrays(kernel, /*runs=*/false);
  std::vector<uint32_t> slots(tree.describe().pool_count);
  Launch launch;
  int32_t status;
  {
    TreesInUse used(*this);
    status = launch.reserve(tree.get(), kernel.get(), given.all, uint32_t(given.total),
                            uint32_t(slots.size()), slots.data());
  }
  if (launch.hasRaised())
    throwRaised(kernel);
  if (status != METATE_OK && status != METATE_E_CAPACITY) {
    setError(status, launch.text());
    throw nb::python_error();
  }
  nb::list counted;
  for (uint32_t count : slots)
    counted.append(count);
  return nb::make_tuple(nb::str(launch.text().c_str()), counted);
}

nb::object Frame::plan(const Kernel &kernel) {
  WithResults given(*this, kernel);
  metate_plan plan{};
  plan.struct_size = sizeof plan;
  plan.pool_size = sizeof(metate_planned_pool);
  std::vector<metate_planned_pool> pools;
  for (int turn = 0; turn < 2; ++turn) { // the first one says how many there are
    check(metate_kernel_plan(kernel.get(), given.all, uint32_t(given.total), &plan));
    pools.resize(plan.pool_count);
    plan.pools = pools.data();
  }
  nb::list found;
  for (const metate_planned_pool &pool : pools)
    found.append(describePool(pool));
  return nb::make_tuple(plan.max_workers, found);
}

void Frame::run(const Kernel &kernel, const metate_argument *all, size_t total,
                std::span<const metate_pool_memory> pools, bool isBrief) {
  placeArrays(kernel, /*runs=*/true);
  Launch launch(kernel.device().launchTimeout());
  int32_t status;
  {
    TreesInUse used(*this);
    bool looks = kernel.description().flags & METATE_KERNEL_DEBUG || kernel.device().looksAtWord();
    status = launch.run(kernel.get(), all, uint32_t(total),
                        looks     ? Launch::Way::Beside
                        : isBrief ? Launch::Way::Brief
                                  : Launch::Way::Plain,
                        pools);
  }
  launched = status != METATE_E_ALIAS;
  if (launch.hasRaised())
    throwRaised(kernel);
  if (launch.hasTimedOut() && status == METATE_E_INTERRUPTED)
    throwTimedOut(kernel);
  if (kernel.device().hasOutput())
    kernel.device().flushOutput();
  if (status != METATE_OK)
    throwLaunchError(kernel, status, launch.text());
}

} // namespace metate::python
