/* What a linked module holds, once its descriptor has been checked: as runtime/format/descriptor.cpp and blob.cpp, by status alone. */
#include "core/core.h"

/* The descriptor and the part of it that is being checked. */
typedef struct reader {
  const char *base;
  const metate_descriptor *head;
  uint64_t bytes;
} reader;

static int in_range(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/* The descriptor ends with a zero byte, so every offset inside it is a terminated string. */
static int is_text(const reader *from, uint32_t offset) {
  return !offset || (offset >= sizeof(metate_descriptor) && offset < from->bytes);
}

static int is_table(const reader *from, metate_table table, uint64_t record) {
  return !table.count ||
         (record && table.offset % 8 == 0 && table.offset >= sizeof(metate_descriptor) &&
          in_range(table.offset, table.count * record, from->bytes));
}

#define TABLE(from, type, name)                                                                    \
  ((const type *)(const void *)((from)->base + (from)->head->name.offset))

static int is_power_of_two(uint64_t value) { return value && !(value & (value - 1)); }

static uint64_t dtype_bytes(uint32_t dtype) { return metate_core_dtype_bytes(dtype); }

/* ---- tree types ---- */

static int has_slots(const metate_level *level) {
  return level->kind == METATE_LEVEL_POINTER || level->kind == METATE_LEVEL_DYNAMIC ||
         level->kind == METATE_LEVEL_HASH;
}

/* Axes ascending, and `cells` the product of the extents. */
static int has_sound_axes(const metate_level *level) {
  uint64_t product = 1;
  if (level->axis_count > METATE_MAX_AXES)
    return 0;
  for (uint32_t k = 0; k < level->axis_count; ++k) {
    if (level->axes[k] >= METATE_MAX_AXES || (k && level->axes[k] <= level->axes[k - 1]) ||
        (level->extents[k] == 0) != (level->kind == METATE_LEVEL_HASH) ||
        __builtin_mul_overflow(product, (uint64_t)level->extents[k], &product))
      return 0;
  }
  return product == level->cells && product <= INT64_MAX / 8;
}

/* Of a cell or a slot: sums of some of them stay below 2^64. */
#define MOST_BYTES ((uint64_t)1 << 48)

/* In its parent's cell, behind its parent; what sizes are made of is as sizes are. */
static int is_placed(const metate_tree_type *type, uint32_t index) {
  const metate_level *levels = (const metate_level *)(type + 1), *level = &levels[index];
  uint64_t bytes, end;
  if (!level->cell_bytes || !is_power_of_two(level->cell_align) ||
      level->cell_align > METATE_BLOCK_ALIGN || level->cell_bytes % level->cell_align)
    return 0;
  if (!index)
    return level->cell_bytes <= MOST_BYTES && level->kind == METATE_LEVEL_ROOT &&
           level->parent == METATE_NONE && !level->offset &&
           level->cell_bytes == type->root_bytes && level->cell_align == type->root_align;
  if (level->kind == METATE_LEVEL_ROOT || level->parent >= index)
    return 0;
  if ((has_slots(level) || level->kind == METATE_LEVEL_QUANT_ARRAY) && !level->slot_cells)
    return 0;
  if (level->cell_bytes > MOST_BYTES || level->slot_bytes > MOST_BYTES)
    return 0;
  if (__builtin_mul_overflow(level->cells, has_slots(level) ? 4 : level->cell_bytes, &bytes))
    return 0;
  bytes = metate_level_container_bytes(level);
  return !__builtin_add_overflow(bytes, level->offset, &end) &&
         end <= levels[level->parent].cell_bytes;
}

static int has_slots_as_said(const metate_level *level, uint32_t pools) {
  int has_mask =
      level->kind ==
      METATE_LEVEL_BITMASKED; /* behind its cells, whose bytes is_placed has multiplied */
  if (level->mask != (has_mask ? (level->cells * level->cell_bytes + 3) / 4 * 4 : 0))
    return 0;
  if (!has_slots(level))
    return level->pool == METATE_NONE;
  uint64_t bytes;
  return level->pool == pools && level->coordinate_count <= METATE_MAX_AXES &&
         level->slot_cells <= (level->kind == METATE_LEVEL_DYNAMIC ? level->cells : 1) &&
         !__builtin_mul_overflow((uint64_t)level->slot_cells, level->cell_bytes, &bytes) &&
         level->slot_bytes >= bytes &&
         (level->flags & METATE_LEVEL_AMBIENT) ==
             (level->slot_bytes <= METATE_AMBIENT_LIMIT ? METATE_LEVEL_AMBIENT : 0);
}

/* A member's element type, and backgrounds inside of the blob. */
static int has_sound_values(const metate_level *level, uint64_t tables, uint64_t bytes) {
  int is_word = level->kind == METATE_LEVEL_BIT_STRUCT || level->kind == METATE_LEVEL_QUANT_ARRAY;
  if (level->kind == METATE_LEVEL_PLACE) {
    uint64_t value = dtype_bytes(level->dtype);
    if (!value || !level->rows || !level->columns || level->rows > 65536 ||
        level->columns > 65536 || level->cell_bytes != value * level->rows * level->columns)
      return 0;
    if (level->quant && (level->quant % 8 || level->quant < tables ||
                         !in_range(level->quant, sizeof(metate_quant), bytes)))
      return 0;
  }
  return level->kind == METATE_LEVEL_PLACE || is_word
             ? level->background >= tables && in_range(level->background, level->cell_bytes, bytes)
             : !level->background;
}

static metate_status check_type(const char *blob, uint64_t bytes) {
  const metate_tree_type *type = (const void *)blob;
  if (bytes < sizeof *type || type->magic != METATE_TREE_TYPE_MAGIC || type->bytes != bytes)
    return METATE_E_CORRUPT;
  if (type->abi_version != METATE_ABI_VERSION)
    return METATE_E_VERSION;
  uint64_t tables = sizeof *type + (uint64_t)type->level_count * sizeof(metate_level);
  if (!type->level_count || tables > bytes || !bytes || blob[bytes - 1] != 0)
    tables = bytes + 1;
  if (tables > bytes || type->text < tables || type->text >= bytes)
    return METATE_E_CORRUPT;
  uint32_t pools = 0, members = 0;
  for (uint32_t k = 0; k < type->level_count; ++k) {
    const metate_level *level = (const metate_level *)(type + 1) + k;
    if (level->kind < METATE_LEVEL_ROOT || level->kind > METATE_LEVEL_QUANT_ARRAY)
      return METATE_E_UNSUPPORTED;
    if (level->name < tables || level->name >= bytes || !has_sound_axes(level) ||
        !is_placed(type, k) || !has_slots_as_said(level, pools) ||
        !has_sound_values(level, tables, bytes))
      return METATE_E_CORRUPT;
    pools += has_slots(level) != 0;
    members += level->kind == METATE_LEVEL_PLACE;
  }
  return pools == type->pool_count && members == type->member_count ? METATE_OK : METATE_E_CORRUPT;
}

/* ---- kernels ---- */

static int is_argument(const reader *from, const metate_argument_info *info, uint32_t slot) {
  uint64_t slots = 1, elements;
  if (!is_text(from, info->name) || info->first_slot != slot || info->rank > METATE_MAX_RANK)
    return 0;
  if (info->kind == METATE_ARGUMENT_TREE)
    return info->type < from->head->types.count && !info->rank && info->slot_count == 1;
  if (!dtype_bytes(info->dtype) || !info->rows || !info->columns || info->element_rank > 2 ||
      __builtin_mul_overflow((uint64_t)info->rows, (uint64_t)info->columns, &elements))
    return 0;
  if (info->kind == METATE_ARGUMENT_NDARRAY)
    slots = 1 + 2 * (uint64_t)info->rank;
  else if (info->kind == METATE_ARGUMENT_VECTOR && !info->rank)
    slots = elements;
  else if (info->kind != METATE_ARGUMENT_SCALAR || elements != 1 || info->rank)
    return 0;
  return slots == info->slot_count &&
         (info->kind != METATE_ARGUMENT_NDARRAY || info->rank >= info->element_rank);
}

static int is_pool(const reader *from, const metate_kernel_info *kernel,
                   const metate_pool_info *pool) {
  if (!is_text(from, pool->name) || !is_power_of_two(pool->align) ||
      (pool->kind != METATE_POOL_LAUNCH && pool->kind != METATE_POOL_WORKER))
    return 0;
  for (uint32_t k = 0; k < METATE_POOL_FACTORS; ++k)
    if (pool->factors[k] != METATE_NONE && pool->factors[k] >= kernel->slot_count)
      return 0;
  return 1;
}

static int is_dim(const reader *from, const metate_dim_info *dim, uint32_t kernel, uint32_t slot) {
  return dim->name && is_text(from, dim->name) && dim->kernel == kernel && dim->slot == slot &&
         !dim->reserved && dim->min >= 0 && dim->max >= dim->min &&
         dim->max <= METATE_LARGEST_EXTENT && dim->multiple >= 1 && dim->multiple <= INT32_MAX &&
         (dim->min + dim->multiple - 1) / dim->multiple * dim->multiple <= dim->max;
}

/* A kernel's dims are those that its arrays have, in the order in which these have them first, from `*next` on. */
static int has_dims(const reader *from, uint32_t index, uint32_t *next) {
  const metate_kernel_info *kernel = &TABLE(from, metate_kernel_info, kernels)[index];
  const metate_argument_info *info =
      &TABLE(from, metate_argument_info, arguments)[kernel->first_argument];
  uint32_t first = *next;
  for (uint32_t i = 0; i < kernel->argument_count; ++i, ++info)
    for (uint32_t k = 0; k < info->rank; ++k) {
      if (info->fixed[k] >= -1)
        continue;
      uint64_t number = (uint64_t)METATE_EXTENT_OF_DIM(info->fixed[k]);
      if (number > *next - first || (number == *next - first && *next == from->head->dims.count))
        return 0;
      if (number == *next - first && !is_dim(from, &TABLE(from, metate_dim_info, dims)[(*next)++],
                                             index, info->first_slot + 1 + k))
        return 0;
    }
  return kernel->first_dim == (*next > first ? first : 0);
}

static int has_places(const reader *from) {
  const metate_place_info *places = TABLE(from, metate_place_info, places);
  for (uint32_t k = 0; k < from->head->places.count; ++k)
    if (places[k].pool >= from->head->pools.count || (k && places[k].pool <= places[k - 1].pool) ||
        !places[k].memory || !is_text(from, places[k].memory))
      return 0;
  return 1;
}

/* A member of an array of structs has as many dimensions as the member before it, elements' aside. */
static int is_beside_member(const metate_argument_info *info, uint32_t index) {
  return !(info->flags & METATE_ARGUMENT_MEMBER) ||
         (index && info->kind == METATE_ARGUMENT_NDARRAY &&
          info[-1].kind == METATE_ARGUMENT_NDARRAY &&
          info->rank - info->element_rank == info[-1].rank - info[-1].element_rank);
}

static int is_kernel(const reader *from, const metate_kernel_info *kernel) {
  const metate_descriptor *head = from->head;
  if (!is_text(from, kernel->name) ||
      !in_range(kernel->first_argument, kernel->argument_count, head->arguments.count) ||
      !in_range(kernel->first_pool, kernel->pool_count, head->pools.count) ||
      (kernel->source != METATE_NONE && kernel->source >= head->texts.count))
    return 0;
  uint32_t slot = 0;
  for (uint32_t k = 0; k < kernel->argument_count; ++k) {
    const metate_argument_info *info =
        &TABLE(from, metate_argument_info, arguments)[kernel->first_argument + k];
    if (!is_argument(from, info, slot) || !is_beside_member(info, k) ||
        info->slot_count > (1u << 16) - slot)
      return 0;
    slot += info->slot_count;
  }
  for (uint32_t k = 0; k < kernel->pool_count; ++k)
    if (!is_pool(from, kernel, &TABLE(from, metate_pool_info, pools)[kernel->first_pool + k]))
      return 0;
  return slot == kernel->slot_count;
}

static int has_tables(const reader *from) {
  const metate_descriptor *head = from->head;
  return is_table(from, head->types, sizeof(metate_type_info)) &&
         is_table(from, head->kernels, sizeof(metate_kernel_info)) &&
         is_table(from, head->arguments, sizeof(metate_argument_info)) &&
         is_table(from, head->variants, sizeof(metate_variant_info)) &&
         is_table(from, head->texts, sizeof(metate_text)) &&
         is_table(from, head->pools, sizeof(metate_pool_info)) &&
         is_table(from, head->derivatives, sizeof(metate_derivative_info)) &&
         is_table(from, head->dims, sizeof(metate_dim_info)) &&
         is_table(from, head->places, sizeof(metate_place_info)) && is_table(from, head->graphs, 0);
}

static metate_status check(const reader *from) {
  const metate_descriptor *head = from->head;
  if (from->bytes < sizeof *head || head->magic != METATE_DESCRIPTOR_MAGIC)
    return METATE_E_CORRUPT;
  if (head->abi_version != METATE_ABI_VERSION)
    return METATE_E_VERSION;
  if (head->bytes != from->bytes || from->base[from->bytes - 1] || !has_tables(from) ||
      !is_text(from, head->name) || !is_text(from, head->producer))
    return METATE_E_CORRUPT;
  for (uint32_t k = 0; k < head->texts.count; ++k) {
    const metate_text *text = &TABLE(from, metate_text, texts)[k];
    if (!is_text(from, text->file) || !is_text(from, text->text))
      return METATE_E_CORRUPT;
  }
  for (uint32_t k = 0; k < head->types.count; ++k) {
    const metate_type_info *type = &TABLE(from, metate_type_info, types)[k];
    if (!is_text(from, type->name) || type->offset % 8 || type->offset < sizeof *head ||
        !in_range(type->offset, type->bytes, from->bytes))
      return METATE_E_CORRUPT;
    metate_status status =
        type->kind == 1 ? check_type(from->base + type->offset, type->bytes) : METATE_E_UNSUPPORTED;
    if (status != METATE_OK)
      return status;
  }
  uint32_t dims = 0;
  for (uint32_t k = 0; k < head->kernels.count; ++k)
    if (!is_kernel(from, &TABLE(from, metate_kernel_info, kernels)[k]) || !has_dims(from, k, &dims))
      return METATE_E_CORRUPT;
  return dims == head->dims.count && has_places(from) ? METATE_OK : METATE_E_CORRUPT;
}

metate_status metate_core_open(const metate_static_module *module, metate_core *core) {
  if (!module || !core || !module->descriptor || !module->entries)
    return METATE_E_NULL;
  if ((uintptr_t)module->descriptor % 8)
    return METATE_E_MISALIGNED;
  reader from = {module->descriptor, module->descriptor, module->bytes};
  metate_status status = check(&from);
  if (status == METATE_OK && module->entry_count != from.head->kernels.count)
    status = METATE_E_CORRUPT;
  if (status != METATE_OK)
    return status;
  core->descriptor = from.head;
  core->entries = module->entries;
  core->refused = METATE_NONE;
  return METATE_OK;
}

const char *metate_core_text(const metate_core *core, uint32_t offset) {
  return offset ? (const char *)core->descriptor + offset : "";
}

static int are_equal(const char *one, const char *other) {
  while (*one && *one == *other)
    ++one, ++other;
  return *one == *other;
}

const metate_kernel_info *metate_core_kernel(const metate_core *core, uint32_t kernel) {
  const metate_descriptor *head = core->descriptor;
  const metate_kernel_info *kernels = (const void *)((const char *)head + head->kernels.offset);
  return kernel < head->kernels.count && !(kernels[kernel].flags & METATE_KERNEL_SLICE)
             ? &kernels[kernel]
             : NULL;
}

uint32_t metate_core_find_kernel(const metate_core *core, const char *name) {
  const metate_kernel_info *kernel;
  for (uint32_t k = 0; (kernel = metate_core_kernel(core, k)); ++k)
    if (are_equal(metate_core_text(core, kernel->name), name))
      return k;
  return METATE_NONE;
}

const metate_argument_info *metate_core_argument_info(const metate_core *core, uint32_t kernel,
                                                      uint32_t argument) {
  const metate_kernel_info *info = metate_core_kernel(core, kernel);
  const char *table = (const char *)core->descriptor + core->descriptor->arguments.offset;
  if (!info || argument >= info->argument_count)
    return NULL;
  return (const metate_argument_info *)(const void *)table + info->first_argument + argument;
}

static const metate_type_info *type_info(const metate_core *core, uint32_t type) {
  const char *table = (const char *)core->descriptor + core->descriptor->types.offset;
  return type < core->descriptor->types.count ? (const metate_type_info *)(const void *)table + type
                                              : NULL;
}

const metate_tree_type *metate_core_type(const metate_core *core, uint32_t type) {
  const metate_type_info *info = type_info(core, type);
  return info ? (const void *)((const char *)core->descriptor + info->offset) : NULL;
}

uint32_t metate_core_find_type(const metate_core *core, const char *name) {
  const metate_type_info *info;
  for (uint32_t k = 0; (info = type_info(core, k)); ++k)
    if (are_equal(metate_core_text(core, info->name), name))
      return k;
  return METATE_NONE;
}
