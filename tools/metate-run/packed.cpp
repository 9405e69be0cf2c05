// --level=packed: kernels of a shared library by tvm-ffi's calling convention, of which only the frozen part is used: 16-byte values,
// DLPack's tensors, the function that takes an error.
#include "session.h"

#include <cstring>
#include <dlfcn.h>

namespace metate::tool {

namespace {

struct Any {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t i;
    double d;
    void *p;
  } value;
};
static_assert(sizeof(Any) == 16, "a value of tvm-ffi is 16 bytes");
enum { AnyNone = 0, AnyInt = 1, AnyBool = 2, AnyFloat = 3, AnyPointer = 4, AnyTensor = 7 };

struct Tensor { // DLTensor
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t byte_offset;
};
static_assert(sizeof(Tensor) == 48, "DLPack's tensor is 48 bytes");

using Packed = int32_t (*)(void *self, const Any *arguments, int32_t count, Any *result);

// What the entry said last. The convention has no place of ours for it.
thread_local std::string raised;

struct PackedCall {
  Packed entry = nullptr;
  std::vector<Tensor> tensors;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<Any> arguments;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  Array *result = nullptr; // a scalar that the entry returns

  Any tensorOf(uint32_t dtype, void *data, std::vector<int64_t> shape) {
    static const uint8_t codes[] = {0, 6, 0, 0, 0, 0, 1,
                                    1, 1, 1, 2, 4, 2, 2}; // DLPack's, of each metate_dtype
    shapes.push_back(std::move(shape));
    uint32_t bits = dtype == METATE_U1 ? 8 : metate_dtype_bytes(dtype) * 8;
    tensors.push_back({data, 1, 0, int32_t(shapes.back().size()), codes[dtype], uint8_t(bits), 1,
                       shapes.back().data(), nullptr, 0});
    Any any{AnyTensor, 0, {}};
    any.value.p = &tensors.back();
    return any;
  }
};

Any scalarOf(uint32_t dtype, const uint8_t *from) {
  Any any{dtype == METATE_U1 ? AnyBool : dtype >= METATE_F16 ? AnyFloat : AnyInt, 0, {}};
  if (any.type_index == AnyFloat) {
    any.value.d = asDouble(dtype, from);
    return any;
  }
  uint32_t bytes = metate_dtype_bytes(dtype);
  std::memcpy(&any.value.i, from, bytes);
  if (dtype >= METATE_I8 && dtype <= METATE_I32)
    any.value.i = int64_t(uint64_t(any.value.i) << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  return any;
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): tvm-ffi's name
extern "C" __attribute__((visibility("default"))) void
TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  raised = std::string(kind) + ": " + message;
}
// NOLINTEND(readability-identifier-naming)

std::function<void()> Session::packedLauncher(const Kernel &kernel) {
  auto call = std::make_shared<PackedCall>();
  // A linked object's begin with the module's name, a shared object's of `metate build` do not.
  std::string own = kernel.name(), whole = std::string(module->describe().name) + "_" + own;
  for (const std::string &name : {whole, own})
    if (!call->entry)
      call->entry = reinterpret_cast<Packed>(dlsym(library, ("__tvm_ffi_" + name).c_str()));
  if (!call->entry)
    throw Error(options.file + ": it has no packed entry __tvm_ffi_" + whole + " or __tvm_ffi_" +
                own);
  auto arguments = kernel.arguments();
  std::vector<metate_argument> list;
  size_t results = 0;
  for (const metate_argument_description &argument : arguments) {
    list.push_back(inputFor(argument).get());
    results += (argument.flags & METATE_ARGUMENT_RESULT) != 0;
  }
  // Refuses what does not fit, so that below each input is what its argument says.
  auto plan = sized<metate_plan>();
  check(metate_kernel_plan(kernel.get(), list.data(), uint32_t(list.size()), &plan));
  std::vector<metate_planned_pool> planned(plan.pool_count);
  plan.pools = planned.data();
  plan.pool_size = sizeof(metate_planned_pool);
  check(metate_kernel_plan(kernel.get(), list.data(), uint32_t(list.size()), &plan));
  call->tensors.reserve(arguments.size() + planned.size()); // their addresses are passed
  call->shapes.reserve(arguments.size() + planned.size());
  for (const metate_argument_description &argument : arguments) {
    Input &input = inputFor(argument);
    Array &elements = input.elements();
    bool isOnlyResult = results == 1 && argument.flags & METATE_ARGUMENT_RESULT;
    if (argument.kind == METATE_ARGUMENT_TREE) {
      Any block{AnyPointer, 0, {}};
      block.value.p = input.tree().describe().block;
      call->arguments.push_back(block);
    } else if (argument.kind == METATE_ARGUMENT_NDARRAY) {
      if (isOnlyResult && argument.rank == 0)
        call->result = &elements;
      else
        call->arguments.push_back(call->tensorOf(elements.dtype, elements.data(), elements.shape));
    } else if (argument.kind == METATE_ARGUMENT_VECTOR) {
      std::vector<int64_t> shape = {argument.rows};
      if (argument.element_rank == 2)
        shape.push_back(argument.columns);
      call->arguments.push_back(call->tensorOf(argument.dtype, elements.data(), shape));
    } else {
      call->arguments.push_back(scalarOf(argument.dtype, elements.data()));
    }
  }
  for (const metate_planned_pool &pool : planned) {
    call->memory.push_back(std::make_unique<GuardedMemory>("pool '" + std::string(pool.name) + "'",
                                                           pool.bytes, pool.align));
    call->arguments.push_back(
        call->tensorOf(METATE_U8, call->memory.back()->data(), {int64_t(pool.bytes)}));
  }
  return [call] {
    Any result{AnyNone, 0, {}};
    raised.clear();
    if (call->entry(nullptr, call->arguments.data(), int32_t(call->arguments.size()), &result))
      throw Error(raised.empty() ? "the packed entry failed, and said nothing" : raised);
    if (call->result && result.type_index == AnyFloat)
      storeFloat(call->result->dtype, result.value.d, call->result->data());
    else if (call->result)
      storeInteger(call->result->dtype, uint64_t(result.value.i), call->result->data());
  };
}

} // namespace metate::tool
