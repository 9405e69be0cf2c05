// Tree types as objects: made from blobs, described, shared. No memory of any instance is seen
// here.
#include "type/type.h"

#include "support/checked.h"

#include <cstring>

namespace metate {

namespace {

void setPath(const metate_level *levels, uint32_t index, LevelFacts &facts) {
  int64_t extent[METATE_MAX_AXES];
  bool split[METATE_MAX_AXES] = {};
  for (int64_t &along : extent)
    along = 1;
  for (uint32_t at = index; at != METATE_NONE; at = levels[at].parent)
    for (uint32_t k = 0; k < levels[at].axis_count; ++k) {
      split[levels[at].axes[k]] = true;
      extent[levels[at].axes[k]] *= levels[at].extents[k]; // 0 of a hash level
    }
  for (uint32_t axis = 0; axis < METATE_MAX_AXES; ++axis)
    if (split[axis]) {
      facts.pathAxes[facts.pathRank] = uint8_t(axis);
      facts.shape[facts.pathRank++] = extent[axis];
      facts.unbounded = facts.unbounded || extent[axis] == 0;
    }
}

// What an inactive cell reads as: of a quantised member what its word holds, which may be next to the value that was asked for.
void setBackground(const metate_type &type, uint32_t index, LevelFacts &facts) {
  const metate_level &level = type.levels[index];
  facts.zeroBackground = level.flags & METATE_LEVEL_ZERO;
  if (!level.quant)
    return;
  uint8_t word[8];
  const metate_level &parent = type.levels[level.parent];
  memcpy(word, type.text(parent.background), parent.cell_bytes);
  Packing(type.blob, index).read({word}, 1, reinterpret_cast<uint8_t *>(&facts.background), 8);
  facts.zeroBackground = !facts.background;
}

void derive(metate_type &type) {
  const metate_level *levels = type.levels;
  for (uint32_t i = 0; i < type.levelCount(); ++i) {
    LevelFacts &facts = type.facts[i];
    facts = LevelFacts{};
    facts.record = &levels[i];
    setPath(levels, i, facts);
    facts.ownerPool = METATE_NONE;
    facts.everyCell = levels[i].kind != METATE_LEVEL_BITMASKED;
    Checked above = 1;
    for (uint32_t at = levels[i].parent; at != METATE_NONE; at = levels[at].parent) {
      if (levels[at].pool != METATE_NONE) {
        facts.ownerPool = levels[at].pool;
        above = above * levels[at].slot_cells;
        facts.everyCell = facts.everyCell && levels[at].kind != METATE_LEVEL_DYNAMIC;
        break;
      }
      above = above * levels[at].cells;
      facts.everyCell = facts.everyCell && levels[at].kind != METATE_LEVEL_BITMASKED;
    }
    bool isList = levels[i].kind == METATE_LEVEL_DYNAMIC;
    facts.cellsPerOwner = (above * levels[i].cells).value();
    facts.fanout = (above * (isList ? metate_level_chunks(&levels[i]) : levels[i].cells)).value();
    if (levels[i].pool != METATE_NONE)
      type.poolLevels[levels[i].pool] = i;
    Checked natural = facts.fanout;
    if (facts.ownerPool != METATE_NONE)
      natural = natural * type.facts[type.poolLevels[facts.ownerPool]].natural;
    if (levels[i].kind == METATE_LEVEL_HASH)
      natural = METATE_DEFAULT_HASH_SLOTS;
    facts.natural = levels[i].pool != METATE_NONE ? natural.value() : 0;
    setBackground(type, i, facts);
  }
}

uint64_t storageBytes(const metate_tree_type *blob, uint64_t nameBytes) {
  return blob->bytes + 8 + blob->level_count * sizeof(LevelFacts) +
         blob->pool_count * sizeof(uint32_t) + 8 + nameBytes;
}

void destroy(metate_type *type) {
  metate_device *device = type->device;
  if (type->blob)
    device->release(const_cast<metate_tree_type *>(type->blob),
                    storageBytes(type->blob, strlen(type->name) + 1), 64);
  device->drop(type);
}

} // namespace

metate_status makeType(metate_device *device, const void *blob, uint64_t bytes, const char *name,
                       metate_type **type) {
  Array<uint64_t> aligned(*device); // the caller's bytes may lie anywhere
  if (reinterpret_cast<uintptr_t>(blob) % 8) {
    METATE_TRY(aligned.allocate(bytes / 8 + 1));
    memcpy(aligned.data(), blob, bytes);
    blob = aligned.data();
  }
  METATE_TRY(verifyTypeBlob(blob, bytes));
  const auto *source = static_cast<const metate_tree_type *>(blob);
  uint64_t nameBytes = strlen(name) + 1;
  // One allocation: the blob, the derived table, the pools' levels, the name.
  auto *place = static_cast<uint8_t *>(device->allocate(storageBytes(source, nameBytes), 64));
  metate_type *made = place ? device->make<metate_type>(device) : nullptr;
  if (!made) {
    device->release(place, storageBytes(source, nameBytes), 64);
    return fail(METATE_E_OUT_OF_MEMORY, "the allocator refused %llu bytes for a type",
                show(storageBytes(source, nameBytes)));
  }
  memcpy(place, blob, bytes);
  made->blob = reinterpret_cast<const metate_tree_type *>(place);
  made->levels = levelsOf(made->blob);
  place += (bytes + 7) / 8 * 8;
  made->facts = reinterpret_cast<LevelFacts *>(place);
  place += source->level_count * sizeof(LevelFacts);
  made->poolLevels = reinterpret_cast<uint32_t *>(place);
  place += source->pool_count * sizeof(uint32_t);
  memcpy(place, name, nameBytes);
  made->name = reinterpret_cast<const char *>(place);
  derive(*made);
  *type = made;
  return METATE_OK;
}

void retain(const metate_type *type) {
  const_cast<metate_type *>(type)->references.fetch_add(1, std::memory_order_relaxed);
}

void release(const metate_type *type) {
  auto *shared = const_cast<metate_type *>(type);
  if (shared->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(shared);
}

void fillCell(const metate_type &type, uint32_t level, uint8_t *cell) {
  metate_view view{nullptr, type.blob, nullptr, nullptr, 0};
  metate_view_fill_cell(&view, level, cell);
}

void fillSlot(const metate_type &type, uint32_t level, uint8_t *slot) {
  memset(slot, 0, type.levels[level].slot_bytes);
  for (uint32_t k = 0; k < type.levels[level].slot_cells && !type.facts[level].zeroBackground; ++k)
    fillCell(type, level, slot + k * type.levels[level].cell_bytes);
}

} // namespace metate

using namespace metate;

metate_status metate_type_open_blob(metate_device *device, const void *blob, uint64_t bytes,
                                    const char *name, metate_type **type) {
  METATE_REQUIRE(device);
  METATE_REQUIRE(blob);
  METATE_REQUIRE(type);
  metate_type *made = nullptr;
  METATE_TRY(makeType(device, blob, bytes, name ? name : "", &made));
  made->owned = true;
  device->live.fetch_add(1, std::memory_order_relaxed);
  *type = made;
  return METATE_OK;
}

metate_status metate_type_close(metate_type *type) {
  METATE_REQUIRE(type);
  if (!type->owned)
    return fail(METATE_E_INVALID_ARGUMENT,
                "metate_type_close: type '%s' belongs to its module: close the module instead",
                type->shown());
  metate_device *device = type->device;
  release(type);
  device->live.fetch_sub(1, std::memory_order_release);
  return METATE_OK;
}

metate_status metate_type_describe(const metate_type *type, metate_type_description *info) {
  METATE_REQUIRE(type);
  METATE_REQUIRE_STRUCT(info);
  *info = {sizeof *info,
           type->levelCount(),
           type->poolCount(),
           type->blob->member_count,
           type->name,
           type->text(type->blob->text),
           {type->blob->hash[0], type->blob->hash[1]},
           type->blob,
           type->blob->bytes,
           METATE_BLOCK_ALIGN};
  return METATE_OK;
}

// As a host that knows only the first fields of the struct has compiled it.
static constexpr uint32_t firstLevelBytes = offsetof(metate_level_description, quant);

metate_status metate_type_level(const metate_type *type, uint32_t index,
                                metate_level_description *level) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(level);
  uint32_t bytes = level->struct_size;
  if (bytes != firstLevelBytes)
    METATE_REQUIRE_STRUCT(level);
  if (index >= type->levelCount())
    return fail(METATE_E_OUT_OF_RANGE, "metate_type_level: index: expected less than %u, got %u",
                type->levelCount(), index);
  const metate_level &record = type->levels[index];
  const LevelFacts &facts = type->facts[index];
  metate_level_description filled{};
  filled.struct_size = bytes;
  filled.index = index;
  filled.kind = record.kind;
  filled.parent = record.parent;
  filled.pool = record.pool;
  filled.axis_count = record.axis_count;
  filled.path_rank = facts.pathRank;
  filled.dtype = record.dtype;
  filled.rows = record.rows;
  filled.columns = record.columns;
  filled.element_rank = record.element_rank;
  memcpy(filled.axes, record.axes, sizeof filled.axes);
  memcpy(filled.path_axes, facts.pathAxes, sizeof filled.path_axes);
  memcpy(filled.extents, record.extents, sizeof filled.extents);
  memcpy(filled.shape, facts.shape, sizeof filled.shape);
  filled.cell_bytes = record.cell_bytes;
  filled.natural_slots = facts.natural;
  filled.name = type->levelName(index);
  filled.background = record.kind == METATE_LEVEL_PLACE ? type->background(index) : nullptr;
  if (record.quant)
    filled.quant = *quantOf(type->blob, index);
  filled.word_cells = record.kind == METATE_LEVEL_QUANT_ARRAY ? record.slot_cells : 0;
  memcpy(level, &filled, bytes);
  return METATE_OK;
}

static metate_status findByName(const metate_type *type, const char *name, bool member,
                                uint32_t *level) {
  for (uint32_t i = 0; i < type->levelCount(); ++i)
    if ((type->levels[i].kind == METATE_LEVEL_PLACE) == member &&
        strcmp(type->levelName(i), name) == 0) {
      *level = i;
      return METATE_OK;
    }
  return fail(METATE_E_NOT_FOUND, "type '%s' has no %s named '%s'", type->shown(),
              member ? "member" : "level", name);
}

metate_status metate_type_find_member(const metate_type *type, const char *name, uint32_t *level) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(name);
  METATE_REQUIRE(level);
  return findByName(type, name, true, level);
}

metate_status metate_type_find_level(const metate_type *type, const char *name, uint32_t *level) {
  METATE_REQUIRE(type);
  METATE_REQUIRE(name);
  METATE_REQUIRE(level);
  return findByName(type, name, false, level);
}
