// Functions of tvm-ffi: objects that own who keeps a kernel, and call it at once or by steps.
#include "packed/call.h"

#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace metate::packed {

namespace {

using SafeCall = int32_t(void *self, const void *arguments, int32_t count, void *result);

// A kernel, and who is told when nobody calls it any more.
struct Owned {
  const metate_kernel *kernel;
  Hidden hidden;
  void (*release)(void *) = nullptr;
  void *owner = nullptr;

  Owned(const metate_kernel *kernel, const Hidden &hidden) : kernel(kernel), hidden(hidden) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    if (release)
      release(owner);
  }
  int32_t call(const Any *arguments, int32_t count, Any *result) const {
    return callKernel(kernel, hidden, arguments, count, result);
  }
};

// Adds to the references of an object, or drops one.
void count(const Any &value, const char *name) {
  if (value.type >= firstObject)
    if (auto *change = symbolOfProcess<int32_t(void *)>(name))
      change(value.value.p);
}

// An argument that waits for the run. What a bare tensor says is copied, an object is kept.
class Kept {
public:
  Kept() = default;
  Kept(const Kept &) = delete;
  Kept &operator=(const Kept &) = delete;
  ~Kept() { count(value, "TVMFFIObjectDecRef"); }

  void set(const Any &given) {
    count(given, "TVMFFIObjectIncRef");
    count(value, "TVMFFIObjectDecRef");
    value = given;
    isSet = true;
    if (given.type != BareTensor)
      return;
    tensor = *static_cast<const Tensor *>(given.value.p);
    shape.assign(tensor.shape, tensor.shape + tensor.rank);
    if (tensor.strides)
      strides.assign(tensor.strides, tensor.strides + tensor.rank);
    tensor.shape = shape.data();
    tensor.strides = tensor.strides ? strides.data() : nullptr;
    value.value.p = &tensor;
  }
  Any value{None, 0, {0}};
  bool isSet = false;

private:
  Tensor tensor{};
  std::vector<int64_t> shape, strides;
};

// A kernel run by steps. For one thread at a time.
class Steps {
public:
  Steps(const metate_kernel *kernel, const Hidden &hidden) : own(kernel, hidden) {}
  // Which arguments callers give. METATE_OK.
  metate_status open() {
    metate_kernel_description about{};
    about.struct_size = sizeof about;
    metate_status status = metate_kernel_describe(own.kernel, &about);
    uint32_t results = 0, isScalar = 0;
    for (uint32_t k = 0; status == METATE_OK && k < about.argument_count; ++k) {
      metate_argument_description info{};
      info.struct_size = sizeof info;
      status = metate_kernel_argument_info(own.kernel, k, &info);
      results += (info.flags & METATE_ARGUMENT_RESULT) != 0;
      isScalar = info.rank == 0;
      names.emplace_back(status == METATE_OK ? info.name : "");
    }
    name = status == METATE_OK ? about.name : "";
    returns = results == 1 && isScalar;
    if (status == METATE_OK) {
      auto first = names.end() - results - own.hidden.count;
      names.erase(first, first + own.hidden.count);
    }
    if (returns)
      names.pop_back();
    values = std::vector<Kept>(names.size());
    return status;
  }
  int32_t call(const Any *arguments, int32_t count, Any *result);
  Owned own; // the last to go

private:
  std::string name;
  std::vector<std::string> names;
  std::vector<Kept> values;
  Any result{None, 0, {0}};
  bool hasRun = false, returns = false;

  int32_t fail(const char *kind, const std::string &text) const {
    return raise(kind, "kernel '" + name + "': " + text);
  }
  Kept *find(std::string_view wanted) {
    for (size_t k = 0; k < names.size(); ++k)
      if (names[k] == wanted)
        return &values[k];
    std::string known;
    for (const std::string &one : names)
      known += (known.empty() ? "" : ", ") + one;
    fail("ValueError", "it has no argument '" + std::string(wanted) + "'; it has " + known);
    return nullptr;
  }
  int32_t run();
  int32_t getOutput(std::string_view wanted, Any *found);
};

// Of a text of C's, one in the value, or an object with its address and bytes behind the header.
bool textIn(const Any &value, std::string_view *found) {
  struct Bytes {
    const char *data;
    uint64_t bytes;
  };
  if (value.type == RawText && value.value.p)
    *found = static_cast<const char *>(value.value.p);
  else if (value.type == SmallText && value.padding <= sizeof value.value)
    *found = {reinterpret_cast<const char *>(&value.value), value.padding};
  else if (value.type == TextObject && value.value.p) {
    Bytes of;
    std::memcpy(&of, static_cast<const char *>(value.value.p) + headerBytes, sizeof of);
    *found = {of.data, of.bytes};
  } else
    return false;
  return true;
}

int32_t Steps::run() {
  std::vector<Any> given;
  for (size_t k = 0; k < names.size(); ++k) {
    if (!values[k].isSet)
      return fail("ValueError", "'" + names[k] + "' is not set: call set_input");
    given.push_back(values[k].value);
  }
  Any found{None, 0, {0}};
  if (own.call(given.data(), int32_t(given.size()), &found))
    return -1;
  result = found;
  hasRun = true;
  return 0;
}

int32_t Steps::getOutput(std::string_view wanted, Any *found) {
  bool isArgument = false;
  for (const std::string &one : names)
    isArgument |= one == wanted;
  if (wanted == "return" && !isArgument && returns) {
    if (!hasRun)
      return fail("ValueError", "it has no result yet: call run");
    *found = result;
    return 0;
  }
  Kept *kept = find(wanted);
  if (!kept)
    return -1;
  if (!kept->isSet)
    return fail("ValueError", "'" + std::string(wanted) + "' is not set");
  count(kept->value, "TVMFFIObjectIncRef");
  *found = kept->value;
  return 0;
}

int32_t Steps::call(const Any *arguments, int32_t given, Any *out) {
  std::string_view step, which;
  *out = Any{None, 0, {0}};
  if (given >= 1 && textIn(arguments[0], &step)) {
    if (step == "run" && given == 1)
      return run();
    bool hasName = given >= 2 && textIn(arguments[1], &which);
    if (step == "set_input" && hasName && given == 3) {
      Kept *kept = find(which);
      if (kept)
        kept->set(arguments[2]);
      return kept ? 0 : -1;
    }
    if (step == "get_output" && hasName && given == 2)
      return getOutput(which, out);
  }
  return fail("TypeError", "expected \"set_input\", name, value; \"run\"; or \"get_output\", name");
}

Owned &ownOf(Owned &self) { return self; }
Owned &ownOf(Steps &self) { return self.own; }

template <typename Self>
int32_t enter(void *self, const void *arguments, int32_t count, void *result) {
  try {
    return static_cast<Self *>(self)->call(static_cast<const Any *>(arguments), count,
                                           static_cast<Any *>(result));
  } catch (const std::bad_alloc &) {
    return raise("MemoryError", "the system refused memory for a packed call");
  }
}

// An object of tvm-ffi's that owns `self`, which owns the kernel's owner from here on.
template <typename Self>
metate_status makeFunction(std::unique_ptr<Self> self, void (*release)(void *), void *owner,
                           void **function) {
  using Create = int(void *, SafeCall *, void (*)(void *), void **);
  auto *create = symbolOfProcess<Create>("TVMFFIFunctionCreate");
  if (!create)
    return METATE_E_UNSUPPORTED;
  auto drop = [](void *own) { delete static_cast<Self *>(own); };
  if (create(self.get(), enter<Self>, drop, function))
    return METATE_E_INTERNAL;
  Owned &own = ownOf(*self.release()); // the function's
  own.release = release;
  own.owner = own.hidden.owner = owner;
  return METATE_OK;
}

// The kernel has them, in front of its results.
metate_status checkHidden(const metate_kernel *kernel, const metate_packed_hidden *given,
                          Hidden *hidden) {
  *hidden = {};
  if (!given)
    return METATE_OK;
  metate_kernel_description about{};
  about.struct_size = sizeof about;
  if (metate_status status = metate_kernel_describe(kernel, &about))
    return status;
  uint32_t results = 0;
  for (uint32_t k = 0; k < about.argument_count; ++k) {
    metate_argument_description info{};
    info.struct_size = sizeof info;
    if (metate_status status = metate_kernel_argument_info(kernel, k, &info))
      return status;
    results += (info.flags & METATE_ARGUMENT_RESULT) != 0;
  }
  if (given->struct_size < sizeof *given || given->count > about.argument_count - results)
    return METATE_E_INVALID_ARGUMENT;
  if (given->count && !given->give)
    return METATE_E_NULL;
  *hidden = {given->count, given->give, given->take_back, nullptr};
  return METATE_OK;
}

// The same by tvm-ffi's convention, of three addresses or four.
int32_t makeByCall(metate_status (*make)(const metate_kernel *, const metate_packed_hidden *,
                                         void (*)(void *), void *, void **),
                   const void *arguments, int32_t count, void *result) {
  const auto *values = static_cast<const Any *>(arguments);
  if (count < 3 || count > 4 || values[0].type != Pointer)
    return raise("TypeError",
                 "expected the addresses of a kernel, of a function that releases, of what that "
                 "is given, and of a metate_packed_hidden where there is one");
  auto addressOf = [](const Any &value) { return value.type == Pointer ? value.value.p : nullptr; };
  void *function = nullptr;
  const void *hidden = count > 3 ? addressOf(values[3]) : nullptr;
  metate_status status = make(static_cast<const metate_kernel *>(values[0].value.p),
                              static_cast<const metate_packed_hidden *>(hidden),
                              reinterpret_cast<void (*)(void *)>(addressOf(values[1])),
                              addressOf(values[2]), &function);
  if (status != METATE_OK)
    return raise("RuntimeError",
                 std::string("no function of a kernel: ") + metate_status_name(status));
  auto *out = static_cast<Any *>(result);
  out->type = FunctionObject;
  out->padding = 0;
  out->value.p = function;
  return 0;
}

} // namespace

} // namespace metate::packed

using namespace metate::packed;

metate_status metate_packed_function_with(const metate_kernel *kernel,
                                          const metate_packed_hidden *hidden,
                                          void (*release)(void *), void *owner, void **function) {
  if (!kernel || !function)
    return METATE_E_NULL;
  Hidden own;
  if (metate_status status = checkHidden(kernel, hidden, &own))
    return status;
  std::unique_ptr<Owned> made(new (std::nothrow) Owned(kernel, own));
  return made ? makeFunction(std::move(made), release, owner, function) : METATE_E_OUT_OF_MEMORY;
}

metate_status metate_packed_function(const metate_kernel *kernel, void (*release)(void *),
                                     void *owner, void **function) {
  return metate_packed_function_with(kernel, nullptr, release, owner, function);
}

metate_status metate_packed_session_with(const metate_kernel *kernel,
                                         const metate_packed_hidden *hidden,
                                         void (*release)(void *), void *owner, void **function) {
  if (!kernel || !function)
    return METATE_E_NULL;
  Hidden own;
  if (metate_status status = checkHidden(kernel, hidden, &own))
    return status;
  try {
    auto steps = std::make_unique<Steps>(kernel, own);
    metate_status status = steps->open();
    return status == METATE_OK ? makeFunction(std::move(steps), release, owner, function) : status;
  } catch (const std::bad_alloc &) {
    return METATE_E_OUT_OF_MEMORY;
  }
}

metate_status metate_packed_session(const metate_kernel *kernel, void (*release)(void *),
                                    void *owner, void **function) {
  return metate_packed_session_with(kernel, nullptr, release, owner, function);
}

int32_t metate_packed_make(void *self, const void *arguments, int32_t count, void *result) {
  (void)self;
  return makeByCall(metate_packed_function_with, arguments, count, result);
}

int32_t metate_packed_make_session(void *self, const void *arguments, int32_t count, void *result) {
  (void)self;
  return makeByCall(metate_packed_session_with, arguments, count, result);
}
