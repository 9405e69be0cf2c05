// Verification of module descriptors: every table, string, index and count is inside its bounds and
// agrees with what it describes. It cannot be switched off.
#include "format/descriptor.h"

#include "format/blob.h"
#include "support/checked.h"
#include "support/hash.h"

#include <cstddef>

namespace metate {

namespace {

// More 8-byte slots than any kernel has; keeps a launch's memory small whatever a file says.
constexpr uint32_t maxSlots = 1u << 16;

class Verifier {
public:
  Verifier(const void *bytes, uint64_t count)
      : descriptor(bytes), head(descriptor.header()), count(count) {}

  metate_status run() {
    METATE_TRY(checkTables());
    if (!isText(head.name) || !isText(head.producer))
      return corrupt("module", 0, "its name or producer is outside the descriptor");
    for (uint32_t i = 0; i < head.texts.count; ++i) {
      const metate_text &text = descriptor.texts()[i];
      if (!isText(text.file) || !isText(text.text))
        return corrupt("text", i, "a string is outside the descriptor");
    }
    for (uint32_t i = 0; i < head.types.count; ++i)
      METATE_TRY(checkType(i));
    for (uint32_t i = 0; i < head.arguments.count; ++i)
      METATE_TRY(checkArgument(i));
    for (uint32_t i = 0; i < head.kernels.count; ++i)
      METATE_TRY(checkKernel(i));
    offered = descriptor.kernelCount();
    if (dim != head.dims.count)
      return corrupt("dim", dim, "it is no kernel's, or not in the order of the kernels");
    for (uint32_t i = 0; i < head.derivatives.count; ++i)
      METATE_TRY(checkDerivative(i));
    for (uint32_t i = 0; i < head.places.count; ++i)
      METATE_TRY(checkPlace(i));
    for (uint32_t i = 0; i < head.variants.count; ++i)
      METATE_TRY(checkVariant(i));
    return METATE_OK;
  }

private:
  Descriptor descriptor;
  const metate_descriptor &head;
  uint64_t count;
  uint32_t offered = 0; // kernels that are no slices
  uint32_t dim = 0;     // that the next kernel's begin with

  metate_status corrupt(const char *what, uint32_t index, const char *problem) {
    return fail(METATE_E_CORRUPT, "module descriptor: %s %u: %s", what, index, problem);
  }
  // The descriptor ends with a zero byte, so every offset inside it is a terminated string.
  bool isText(uint32_t offset) const {
    return offset == 0 || (offset >= sizeof(metate_descriptor) && offset < count);
  }

  metate_status checkTables() {
    const struct {
      const metate_table &table;
      uint64_t record;
    } tables[] = {{head.types, sizeof(metate_type_info)},
                  {head.kernels, sizeof(metate_kernel_info)},
                  {head.arguments, sizeof(metate_argument_info)},
                  {head.variants, sizeof(metate_variant_info)},
                  {head.texts, sizeof(metate_text)},
                  {head.dims, sizeof(metate_dim_info)},
                  {head.pools, sizeof(metate_pool_info)},
                  {head.graphs, 0},
                  {head.derivatives, sizeof(metate_derivative_info)},
                  {head.places, sizeof(metate_place_info)}};
    for (const auto &entry : tables) {
      const metate_table &table = entry.table;
      if (!table.count)
        continue;
      if (!entry.record)
        return fail(METATE_E_UNSUPPORTED, "module descriptor: a table that this version reserves");
      if (table.offset % 8 || table.offset < sizeof(metate_descriptor) ||
          !inRange(table.offset, table.count * entry.record, count))
        return fail(METATE_E_CORRUPT, "module descriptor: a table is outside it or misaligned");
    }
    for (uint32_t word : head.reserved)
      if (word)
        return fail(METATE_E_CORRUPT, "module descriptor: a reserved field is not zero");
    return METATE_OK;
  }

  metate_status checkType(uint32_t index) {
    const metate_type_info &type = descriptor.types()[index];
    if (!isText(type.name))
      return corrupt("type", index, "its name is outside the descriptor");
    if (type.kind != 1)
      return fail(METATE_E_UNSUPPORTED, "module descriptor: type %u: kind %u is reserved", index,
                  type.kind);
    if (type.offset % 8 || type.offset < sizeof(metate_descriptor) ||
        !inRange(type.offset, type.bytes, count))
      return corrupt("type", index, "its blob is outside the descriptor or misaligned");
    return verifyTypeBlob(descriptor.at(type.offset), type.bytes);
  }

  metate_status checkArgument(uint32_t index) {
    const metate_argument_info &argument = descriptor.arguments()[index];
    const uint32_t access = METATE_ACCESS_READ | METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE |
                            METATE_ACCESS_SORT | METATE_ACCESS_BEFORE;
    const uint32_t flags = METATE_ARGUMENT_CONTIGUOUS | METATE_ARGUMENT_RESULT |
                           METATE_ARGUMENT_LONG | METATE_ARGUMENT_MEMBER;
    if (!isText(argument.name))
      return corrupt("argument", index, "its name is outside the descriptor");
    if ((argument.access & ~access) || (argument.flags & ~flags))
      return corrupt("argument", index, "unknown access or flags");
    uint64_t slots = 0;
    bool sound = argument.rank <= METATE_MAX_RANK;
    if (argument.kind == METATE_ARGUMENT_TREE) {
      sound = sound && argument.type < head.types.count && argument.rank == 0;
      slots = 1;
    } else {
      Checked elements = Checked(argument.rows) * argument.columns;
      sound = sound && metate_dtype_bytes(argument.dtype) && argument.element_rank <= 2 &&
              argument.rows && argument.columns && elements.fitsIn(maxSlots);
      slots = argument.kind == METATE_ARGUMENT_SCALAR   ? 1
              : argument.kind == METATE_ARGUMENT_VECTOR ? elements.value()
                                                        : 1 + 2 * uint64_t(argument.rank);
      if (argument.kind == METATE_ARGUMENT_SCALAR)
        sound = sound && elements.value() == 1 && argument.rank == 0;
      else if (argument.kind == METATE_ARGUMENT_NDARRAY)
        sound = sound && argument.rank >= argument.element_rank && elementsAgree(argument);
      else
        sound = sound && argument.kind == METATE_ARGUMENT_VECTOR && argument.rank == 0;
    }
    if (!sound || slots != argument.slot_count)
      return corrupt("argument", index, "its kind, type, rank and slots contradict each other");
    return METATE_OK;
  }

  // An array of vectors or matrices has the element's dimensions last, fixed. Dims are their kernel's business.
  static bool elementsAgree(const metate_argument_info &argument) {
    uint32_t rank = argument.rank, inner = argument.element_rank;
    if (inner == 1)
      return argument.fixed[rank - 1] == int64_t(argument.rows);
    if (inner == 2)
      return argument.fixed[rank - 2] == int64_t(argument.rows) &&
             argument.fixed[rank - 1] == int64_t(argument.columns);
    return true;
  }

  // Do two arrays have as many dimensions besides those of their elements?
  static bool areOfOneArray(const metate_argument_info &before,
                            const metate_argument_info &argument) {
    return before.kind == METATE_ARGUMENT_NDARRAY && argument.kind == METATE_ARGUMENT_NDARRAY &&
           before.rank - before.element_rank == argument.rank - argument.element_rank;
  }

  metate_status checkKernel(uint32_t index) {
    const metate_kernel_info &kernel = descriptor.kernels()[index];
    if (!isText(kernel.name))
      return corrupt("kernel", index, "its name is outside the descriptor");
    const uint32_t known = METATE_KERNEL_NO_ALIAS | METATE_KERNEL_HAS_RESULT | METATE_KERNEL_DEBUG |
                           METATE_KERNEL_SLICE | METATE_KERNEL_GRAPH;
    if (kernel.flags & ~known)
      return corrupt("kernel", index, "unknown flags");
    if (!inRange(kernel.first_argument, kernel.argument_count, head.arguments.count))
      return corrupt("kernel", index, "its arguments are outside their table");
    if (index && descriptor.kernels()[index - 1].flags & ~kernel.flags & METATE_KERNEL_SLICE)
      return corrupt("kernel", index, "it stands behind a slice");
    if (kernel.source != METATE_NONE && kernel.source >= head.texts.count)
      return corrupt("kernel", index, "its source is outside the texts");
    if (!inRange(kernel.first_pool, kernel.pool_count, head.pools.count))
      return corrupt("kernel", index, "its pools are outside their table");
    uint64_t slot = 0;
    for (uint32_t i = 0; i < kernel.argument_count; ++i) {
      const metate_argument_info &argument = descriptor.arguments()[kernel.first_argument + i];
      if (argument.first_slot != slot)
        return corrupt("kernel", index, "its arguments' slots are not consecutive");
      if ((argument.flags & METATE_ARGUMENT_MEMBER) &&
          (i == 0 || !areOfOneArray((&argument)[-1], argument)))
        return corrupt("kernel", index,
                       "a member of an array of structs is not behind another one");
      slot += argument.slot_count;
      if (slot > maxSlots)
        return corrupt("kernel", index, "too many argument slots");
    }
    if (slot != kernel.slot_count)
      return corrupt("kernel", index, "it has another number of slots than its arguments");
    METATE_TRY(checkDims(index));
    return checkPools(index);
  }

  // A kernel's dims are those that its arrays have, in the order in which these have them first.
  metate_status checkDims(uint32_t index) {
    const metate_kernel_info &kernel = descriptor.kernels()[index];
    uint32_t first = dim;
    for (uint32_t i = 0; i < kernel.argument_count; ++i) {
      const metate_argument_info &argument = descriptor.arguments()[kernel.first_argument + i];
      for (uint32_t k = 0; k < argument.rank; ++k) {
        if (argument.fixed[k] >= -1)
          continue;
        uint64_t number = uint64_t(METATE_EXTENT_OF_DIM(argument.fixed[k])), next = dim - first;
        if (number > next || (number == next && dim == head.dims.count))
          return corrupt("kernel", index, "a dim of its arrays is not among its dims");
        if (number == next)
          METATE_TRY(checkDim(dim++, index, argument.first_slot + 1 + k));
      }
    }
    if (kernel.first_dim != (dim > first ? first : 0))
      return corrupt("kernel", index, "its dims are not where it says");
    return METATE_OK;
  }

  metate_status checkDim(uint32_t index, uint32_t kernel, uint32_t slot) {
    const metate_dim_info &one = descriptor.dims()[index];
    if (!one.name || !isText(one.name))
      return corrupt("dim", index, "its name is outside the descriptor");
    if (one.kernel != kernel || one.slot != slot || one.reserved)
      return corrupt("dim", index, "it is not that of the array where it stands first");
    if (one.min < 0 || one.max < one.min || one.max > METATE_LARGEST_EXTENT || one.multiple < 1 ||
        one.multiple > INT32_MAX ||
        (one.min + one.multiple - 1) / one.multiple * one.multiple > one.max)
      return corrupt("dim", index, "its bounds contradict each other");
    return METATE_OK;
  }

  metate_status checkPlace(uint32_t index) {
    const metate_place_info &one = descriptor.places()[index];
    if (one.pool >= head.pools.count || (index && one.pool <= descriptor.places()[index - 1].pool))
      return corrupt("place", index, "it is not in the order of the pools, or of none");
    if (!one.memory || !isText(one.memory))
      return corrupt("place", index, "the name of its memory is outside the descriptor");
    return METATE_OK;
  }

  // A kernel's pools are of all variants, or stand in the variants' order.
  metate_status checkPools(uint32_t index) {
    const metate_kernel_info &kernel = descriptor.kernels()[index];
    const metate_pool_info *pools = descriptor.pools() + kernel.first_pool;
    if (kernel.pool_count && (kernel.flags & METATE_KERNEL_SLICE))
      return corrupt("kernel", index, "it is a slice, which plans no pools");
    for (uint32_t i = 0; i < kernel.pool_count; ++i) {
      const metate_pool_info &pool = pools[i];
      if (!isText(pool.name))
        return corrupt("kernel", index, "the name of a pool is outside the descriptor");
      if (pool.kind != METATE_POOL_LAUNCH && pool.kind != METATE_POOL_WORKER)
        return fail(METATE_E_UNSUPPORTED, "module descriptor: kernel %u: pool kind %u is unknown",
                    index, pool.kind);
      if (!isPowerOfTwo(pool.align))
        return corrupt("kernel", index, "the alignment of a pool is no power of two");
      bool isOfAll = pool.variant == METATE_NONE;
      if (isOfAll != (pools[0].variant == METATE_NONE) ||
          (!isOfAll && pool.variant >= head.variants.count) ||
          (i && pool.variant < pools[i - 1].variant))
        return corrupt("kernel", index, "its pools are not in the order of the variants");
      bool isBehind = false;
      for (uint32_t factor : pool.factors) {
        if ((isBehind && factor != METATE_NONE) ||
            (factor != METATE_NONE && !isSizeSlot(kernel, factor)))
          return corrupt("kernel", index, "the size of a pool is of what is no integer");
        isBehind |= factor == METATE_NONE;
      }
    }
    return METATE_OK;
  }

  // Does the slot hold an integer that sizes may be made of: a scalar, or an array's extent?
  bool isSizeSlot(const metate_kernel_info &kernel, uint32_t slot) {
    for (uint32_t i = 0; i < kernel.argument_count; ++i) {
      const metate_argument_info &argument = descriptor.arguments()[kernel.first_argument + i];
      uint32_t at = slot - argument.first_slot;
      if (slot < argument.first_slot || at >= argument.slot_count)
        continue;
      if (argument.kind == METATE_ARGUMENT_NDARRAY)
        return at >= 1 && at <= argument.rank;
      return argument.kind == METATE_ARGUMENT_SCALAR && argument.dtype != METATE_F16 &&
             argument.dtype != METATE_BF16 && argument.dtype != METATE_F32 &&
             argument.dtype != METATE_F64 && argument.dtype != METATE_U64; // may be no int64
    }
    return false;
  }

  // Kernels have been checked: the slices stand last.
  metate_status checkDerivative(uint32_t index) {
    const metate_derivative_info &one = descriptor.derivatives()[index];
    if (one.primal >= offered || one.kernel >= offered || one.primal == one.kernel)
      return corrupt("derivative", index, "its kernels are outside their table, or one");
    if (one.mode != METATE_DERIVATIVE_REVERSE && one.mode != METATE_DERIVATIVE_FORWARD)
      return fail(METATE_E_UNSUPPORTED, "module descriptor: derivative %u: mode %u is unknown",
                  index, one.mode);
    if (one.reserved)
      return corrupt("derivative", index, "a reserved field is not zero");
    if (!index)
      return METATE_OK;
    const metate_derivative_info &before = descriptor.derivatives()[index - 1];
    if (before.primal > one.primal || (before.primal == one.primal && before.mode >= one.mode))
      return corrupt("derivative", index, "it is not in the order of kernels and modes");
    return METATE_OK;
  }

  metate_status checkVariant(uint32_t index) {
    const metate_variant_info &variant = descriptor.variants()[index];
    if (!isText(variant.cpu) || !isText(variant.features) || !isText(variant.triple))
      return corrupt("variant", index, "a string is outside the descriptor");
    if (variant.format < METATE_FORMAT_SHARED_OBJECT || variant.format > METATE_FORMAT_GRID)
      return fail(METATE_E_UNSUPPORTED, "module descriptor: variant %u: format %u is unknown",
                  index, variant.format);
    return METATE_OK;
  }
};

} // namespace

metate_status verifyDescriptor(const void *bytes, uint64_t count) {
  if (count < sizeof(metate_descriptor))
    return fail(METATE_E_CORRUPT, "module descriptor: expected at least %zu bytes, got %llu",
                sizeof(metate_descriptor), static_cast<unsigned long long>(count));
  const auto *head = static_cast<const metate_descriptor *>(bytes);
  if (head->magic != METATE_DESCRIPTOR_MAGIC)
    return fail(METATE_E_CORRUPT, "module descriptor: wrong magic number");
  if (head->abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "module descriptor: expected abi version %u, got %u",
                METATE_ABI_VERSION, head->abi_version);
  if (head->bytes != count)
    return fail(METATE_E_CORRUPT, "module descriptor: says %u bytes, has %llu", head->bytes,
                static_cast<unsigned long long>(count));
  if (static_cast<const char *>(bytes)[count - 1] != 0)
    return fail(METATE_E_CORRUPT, "module descriptor: its last string has no end");
  if (!(hashWithHole(bytes, count, offsetof(metate_descriptor, signature_hash)) ==
        head->signature_hash))
    return fail(METATE_E_CORRUPT, "module descriptor: its hash does not match");
  return Verifier(bytes, count).run();
}

} // namespace metate
