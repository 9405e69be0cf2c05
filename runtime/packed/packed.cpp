// libmetate_packed: values of tvm-ffi become a launch's arguments, a status an error of tvm-ffi. All but the forms of values is checked
// by the launch.
#include "packed/call.h"
#include "packed/numbers.h"

#include "metate/metate_packed.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace metate::packed {

namespace {

// The class of Python's that the packed entries of linked modules raise, too.
const char *kindOf(metate_status status) {
  switch (status) {
  case METATE_E_TYPE_MISMATCH:
    return "TypeError";
  case METATE_E_ASSERT:
    return "AssertionError";
  case METATE_E_CAPACITY:
    return "MemoryError";
  case METATE_E_OUT_OF_RANGE:
    return "IndexError";
  case METATE_E_DIVISION_BY_ZERO:
    return "ZeroDivisionError";
  case METATE_E_UNSUPPORTED:
  case METATE_E_OUT_OF_MEMORY:
  case METATE_E_BUSY:
  case METATE_E_INTERRUPTED:
  case METATE_E_INTERNAL:
    return "RuntimeError";
  default:
    return "ValueError";
  }
}

int32_t raiseStatus(metate_status status) { return raise(kindOf(status), metate_last_error()); }

template <typename T> T sized() {
  T made{};
  made.struct_size = sizeof made;
  return made;
}

// A tree's block for the time of a call. On a device of its own: others may have bound it as well.
class Bound {
public:
  metate_status open(const metate_type *type, void *block, uint64_t bytes) {
    auto about = sized<metate_type_description>();
    metate_status status = metate_device_open(nullptr, &device);
    if (status == METATE_OK)
      status = metate_type_describe(type, &about);
    if (status == METATE_OK)
      status = metate_type_open_blob(device, about.blob, about.blob_bytes, about.name, &own);
    if (status == METATE_OK)
      status = metate_tree_bind(own, block, bytes, nullptr, METATE_BIND_ADOPT | METATE_BIND_TRUST,
                                &tree);
    return status;
  }
  Bound() = default;
  Bound(const Bound &) = delete;
  Bound &operator=(const Bound &) = delete;
  ~Bound() {
    if (tree)
      metate_tree_unbind(tree);
    if (own)
      metate_type_close(own);
    if (device)
      metate_device_close(device);
  }
  metate_tree *get() const { return tree; }

private:
  metate_device *device = nullptr;
  metate_type *own = nullptr;
  metate_tree *tree = nullptr;
};

// A call whose arguments are being taken. What they lead to is its own, or the caller's.
class Call {
public:
  Call(const metate_kernel *kernel, const Hidden &hidden) : kernel(kernel), hidden(hidden) {}
  int32_t run(const Any *values, int32_t count, Any *result);

private:
  const metate_kernel *kernel;
  const Hidden &hidden;
  metate_kernel_description about = sized<metate_kernel_description>();
  std::vector<metate_argument_description> infos;
  std::vector<metate_argument> arguments;
  std::deque<metate_array> arrays;
  std::deque<std::vector<char>> elements;
  std::deque<Bound> trees;

  int32_t take(uint32_t index, const Any &value);
  int32_t takeScalar(uint32_t index, const Any &value);
  int32_t takeVector(uint32_t index, const Any &value);
  int32_t takeArray(uint32_t index, const Any &value);
  int32_t takeTree(uint32_t index, const Any &value);
  int32_t takeHidden(uint32_t first);
  int32_t give(uint32_t index, uint64_t cell, Any *result) const;

  std::string where(uint32_t index) const {
    return "kernel '" + std::string(about.name) + "' argument " + std::to_string(index) + " '" +
           infos[index].name + "': ";
  }
  int32_t failType(uint32_t index, const Any &value) const;
};

const Tensor *tensorIn(const Any &value) {
  if (value.type == BareTensor)
    return static_cast<const Tensor *>(value.value.p);
  if (value.type == TensorObject && value.value.p)
    return reinterpret_cast<const Tensor *>(static_cast<const char *>(value.value.p) + headerBytes);
  return nullptr;
}

char *startOf(const Tensor &tensor) {
  return tensor.data ? static_cast<char *>(tensor.data) + tensor.byteOffset : nullptr;
}

std::string shown(const Any &value) {
  static const char *const words[] = {"None", "an integer", "a bool", "a float", "a pointer"};
  if (const Tensor *tensor = tensorIn(value)) {
    uint32_t dtype = dtypeOf(*tensor);
    return "a " + std::to_string(tensor->rank) + "-dimensional array of " +
           (dtype ? metate_dtype_name(dtype) : "another type");
  }
  if (value.type >= None && value.type <= Pointer)
    return words[value.type];
  return "a value of tvm-ffi's type " + std::to_string(value.type);
}

int32_t Call::failType(uint32_t index, const Any &value) const {
  const metate_argument_description &info = infos[index];
  std::string wanted = metate_dtype_name(info.dtype);
  if (info.kind == METATE_ARGUMENT_TREE) {
    auto type = sized<metate_type_description>();
    metate_type_describe(info.type, &type);
    wanted = "the block of a tree of type '" + std::string(type.name ? type.name : "") +
             "' (a pointer, or a 1-dimensional array of u8)";
  } else if (info.kind != METATE_ARGUMENT_SCALAR) {
    wanted = "a " +
             std::to_string(info.kind == METATE_ARGUMENT_NDARRAY ? info.rank : info.element_rank) +
             "-dimensional array of " + wanted;
  }
  return raise("TypeError", where(index) + "expected " + wanted + ", got " + shown(value));
}

int32_t Call::takeScalar(uint32_t index, const Any &value) {
  uint32_t dtype = infos[index].dtype;
  bool isInteger = value.type == Int || value.type == Bool;
  metate_argument &argument = arguments[index];
  argument.dtype = dtype;
  if (isFloat(dtype)) {
    if (!isInteger && value.type != Float)
      return failType(index, value);
    argument.value.bits = bitsOf(dtype, isInteger ? double(value.value.i) : value.value.d);
    return 0;
  }
  if (!isInteger)
    return failType(index, value);
  if (numberOf(dtype).code == DlBool) {
    argument.value.bits = value.value.i != 0;
    return 0;
  }
  if (!fits(dtype, value.value.i))
    return raise("ValueError", where(index) + "expected a value of " + metate_dtype_name(dtype) +
                                   ", got " + std::to_string(value.value.i));
  argument.value.bits = uint64_t(value.value.i);
  return 0;
}

int32_t Call::takeVector(uint32_t index, const Any &value) {
  const metate_argument_description &info = infos[index];
  const Tensor *tensor = tensorIn(value);
  if (!tensor || dtypeOf(*tensor) != info.dtype || tensor->rank != int32_t(info.element_rank))
    return failType(index, value);
  const int64_t extents[2] = {info.rows, info.columns};
  for (int32_t k = 0; k < tensor->rank; ++k)
    if (tensor->shape[k] != extents[k])
      return raise("ValueError", where(index) + "dimension " + std::to_string(k) + ": expected " +
                                     std::to_string(extents[k]) + ", got " +
                                     std::to_string(tensor->shape[k]));
  if (tensor->deviceType != cpu || !tensor->data)
    return raise("ValueError", where(index) + "expected an array in the memory of the CPU");
  size_t bytes = numberOf(info.dtype).bytes;
  int64_t across = tensor->strides && tensor->rank == 2 ? tensor->strides[1] : 1;
  int64_t down = tensor->strides ? tensor->strides[0] : info.columns;
  std::vector<char> &own = elements.emplace_back(bytes * info.rows * info.columns);
  for (int64_t row = 0; row < extents[0]; ++row)
    for (int64_t column = 0; column < extents[1]; ++column)
      std::memcpy(&own[size_t(row * extents[1] + column) * bytes],
                  startOf(*tensor) + (row * down + column * across) * int64_t(bytes), bytes);
  metate_argument &argument = arguments[index];
  argument.dtype = info.dtype;
  argument.rows = info.rows;
  argument.columns = info.columns;
  argument.value.elements = own.data();
  return 0;
}

int32_t Call::takeArray(uint32_t index, const Any &value) {
  const Tensor *tensor = tensorIn(value);
  uint32_t dtype = tensor ? dtypeOf(*tensor) : 0;
  if (!dtype || dtype != infos[index].dtype || tensor->rank != int32_t(infos[index].rank))
    return failType(index, value);
  if (tensor->deviceType != cpu)
    return raise("ValueError",
                 where(index) + "expected an array in the memory of the CPU: copy it there");
  metate_array array{};
  array.data = startOf(*tensor);
  array.dtype = dtype;
  array.rank = uint32_t(tensor->rank);
  array.shape = tensor->shape;
  array.strides = tensor->strides;
  arguments[index].value.array = &arrays.emplace_back(array);
  return 0;
}

int32_t Call::takeTree(uint32_t index, const Any &value) {
  const Tensor *tensor = tensorIn(value);
  void *block = value.value.p;
  uint64_t bytes = 0;
  if (tensor) {
    if (tensor->rank != 1 || dtypeOf(*tensor) != METATE_U8)
      return failType(index, value);
    if (tensor->deviceType != cpu ||
        (tensor->strides && tensor->strides[0] != 1 && tensor->shape[0] > 1))
      return raise("ValueError",
                   where(index) + "expected a block without gaps in the memory of the CPU");
    block = startOf(*tensor);
    bytes = tensor->shape[0] > 0 ? uint64_t(tensor->shape[0]) : 0;
  } else if (value.type != Pointer) {
    return failType(index, value);
  }
  if (!block)
    return raise("ValueError", where(index) + "the block is NULL");
  if (!tensor && reinterpret_cast<uintptr_t>(block) % METATE_BLOCK_ALIGN == 0)
    bytes = static_cast<const metate_tree_header *>(block)->bytes; // what a bare address says
  metate_status status = trees.emplace_back().open(infos[index].type, block, bytes);
  if (status != METATE_OK)
    return raise(kindOf(status), where(index) + metate_last_error());
  arguments[index].value.tree = trees.back().get();
  return 0;
}

int32_t Call::take(uint32_t index, const Any &value) {
  arguments[index].kind = infos[index].kind;
  switch (infos[index].kind) {
  case METATE_ARGUMENT_SCALAR:
    return takeScalar(index, value);
  case METATE_ARGUMENT_VECTOR:
    return takeVector(index, value);
  case METATE_ARGUMENT_NDARRAY:
    return takeArray(index, value);
  default:
    return takeTree(index, value);
  }
}

int32_t Call::takeHidden(uint32_t first) {
  char problem[512] = "";
  for (uint32_t k = 0; k < hidden.count; ++k) {
    arguments[first + k].kind = infos[first + k].kind;
    arguments[first + k].dtype = infos[first + k].dtype;
  }
  if (!hidden.give(hidden.owner, arguments.data(), first, hidden.count, problem, sizeof problem))
    return 0;
  return raise("ValueError", "kernel '" + std::string(about.name) + "': " + problem);
}

int32_t Call::give(uint32_t index, uint64_t cell, Any *result) const {
  uint32_t dtype = infos[index].dtype;
  if (isFloat(dtype)) {
    result->type = Float;
    result->value.d = doubleOf(dtype, cell);
    return 0;
  }
  result->type = numberOf(dtype).code == DlBool ? Bool : Int;
  result->value.i = integerOf(dtype, cell);
  if (dtype == METATE_U64 && cell > INT64_MAX)
    return raise("ValueError", "kernel '" + std::string(about.name) + "': its result " +
                                   std::to_string(cell) +
                                   " does not fit the 64-bit signed integers of tvm-ffi");
  return 0;
}

int32_t Call::run(const Any *values, int32_t count, Any *result) {
  if (metate_status status = metate_kernel_describe(kernel, &about))
    return raiseStatus(status);
  uint32_t results = 0, wanted = about.argument_count;
  infos.assign(wanted, sized<metate_argument_description>());
  arguments.resize(wanted);
  for (uint32_t k = 0; k < wanted; ++k) {
    if (metate_status status = metate_kernel_argument_info(kernel, k, &infos[k]))
      return raiseStatus(status);
    results += (infos[k].flags & METATE_ARGUMENT_RESULT) != 0;
  }
  uint64_t cell = 0;
  bool returns = results == 1 && infos[wanted - 1].rank == 0;
  if (returns) {
    metate_array array{};
    array.data = &cell;
    array.dtype = infos[--wanted].dtype;
    arguments[wanted].kind = METATE_ARGUMENT_NDARRAY;
    arguments[wanted].value.array = &arrays.emplace_back(array);
  }
  const uint32_t own =
      about.argument_count - results - hidden.count; // they stand before the hidden ones
  const uint32_t given = wanted - hidden.count;
  auto placeOf = [&](uint32_t k) { return k < own ? k : k + hidden.count; };
  if (count < 0 || uint32_t(count) != given) {
    std::string names;
    for (uint32_t k = 0; k < given; ++k)
      names += (k ? ", " : "") + std::string(infos[placeOf(k)].name);
    return raise("TypeError", "kernel '" + std::string(about.name) + "': expected " +
                                  std::to_string(given) +
                                  (given == 1 ? " argument (" : " arguments (") + names +
                                  "), got " + std::to_string(count));
  }
  for (uint32_t k = 0; k < given; ++k)
    if (take(placeOf(k), values[k]))
      return -1;
  if (hidden.count && takeHidden(own))
    return -1;
  metate_status launched =
      metate_kernel_launch(kernel, arguments.data(), uint32_t(arguments.size()));
  int32_t raised = launched ? raiseStatus(launched) : 0;
  if (hidden.count && hidden.takeBack)
    hidden.takeBack(hidden.owner);
  if (raised)
    return raised;
  if (!result)
    return 0;
  *result = Any{None, 0, {0}};
  return returns ? give(wanted, cell, result) : 0;
}

} // namespace

int32_t callKernel(const metate_kernel *kernel, const Hidden &hidden, const Any *values,
                   int32_t count, Any *result) {
  try {
    return Call(kernel, hidden).run(values, count, result);
  } catch (const std::bad_alloc &) {
    return raise("MemoryError", "the system refused memory for a packed call");
  }
}

} // namespace metate::packed

int32_t metate_packed_call(void *kernel, const void *arguments, int32_t count, void *result) {
  using namespace metate::packed;
  return callKernel(static_cast<const metate_kernel *>(kernel), Hidden(),
                    static_cast<const Any *>(arguments), count, static_cast<Any *>(result));
}
