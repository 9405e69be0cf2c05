// Verification of type blobs: every offset in range, every product without overflow, every level
// inside its parent and beside its siblings, every derived field equal to what it is derived from.
#include "type/blob.h"

#include "support/checked.h"
#include "support/hash.h"

#include <cstddef>
#include <cstring>

namespace metate {

namespace {

// What the levels' checks share: the blob, and what has been derived on the way down.
struct Reader {
  const metate_tree_type *type;
  const char *start;
  uint64_t bytes;
  uint64_t tablesEnd;
  uint32_t pools = 0;
  uint32_t members = 0;

  const metate_level &level(uint32_t index) const { return levelsOf(type)[index]; }
  // A zero-terminated string behind the tables; the blob's last byte need not be zero.
  bool isText(uint32_t offset) const {
    return offset >= tablesEnd && offset < bytes &&
           memchr(start + offset, 0, bytes - offset) != nullptr;
  }
};

metate_status corrupt(uint32_t level, const char *what) {
  return fail(METATE_E_CORRUPT, "type blob: level %u: %s", level, what);
}

metate_status checkHead(const void *blob, uint64_t bytes) {
  if (bytes < sizeof(metate_tree_type))
    return fail(METATE_E_CORRUPT, "type blob: expected at least %zu bytes, got %llu",
                sizeof(metate_tree_type), static_cast<unsigned long long>(bytes));
  const auto *type = static_cast<const metate_tree_type *>(blob);
  if (type->magic != METATE_TREE_TYPE_MAGIC)
    return fail(METATE_E_CORRUPT, "type blob: wrong magic number");
  if (type->abi_version != METATE_ABI_VERSION)
    return fail(METATE_E_VERSION, "type blob: expected abi version %u, got %u", METATE_ABI_VERSION,
                type->abi_version);
  if (type->bytes != bytes)
    return fail(METATE_E_CORRUPT, "type blob: says %u bytes, has %llu", type->bytes,
                static_cast<unsigned long long>(bytes));
  if (!(hashWithHole(blob, bytes, offsetof(metate_tree_type, hash)) == type->hash))
    return fail(METATE_E_CORRUPT, "type blob: its hash does not match");
  if (type->level_count == 0 || type->level_count > maxLevels ||
      !inRange(sizeof *type, uint64_t(type->level_count) * sizeof(metate_level), bytes))
    return fail(METATE_E_CORRUPT, "type blob: level count %u is outside the blob or above %u",
                type->level_count, maxLevels);
  for (uint32_t word : type->reserved)
    if (word)
      return fail(METATE_E_CORRUPT, "type blob: a reserved field is not zero");
  return METATE_OK;
}

// Axes ascending, extents at least one, `cells` their product, what is unused zero.
bool axesAreSound(const metate_level &level) {
  if (level.axis_count > METATE_MAX_AXES)
    return false;
  Checked product(1);
  for (uint32_t k = 0; k < METATE_MAX_AXES; ++k) {
    if (k >= level.axis_count) {
      if (level.axes[k] || level.extents[k])
        return false;
      continue;
    }
    if (level.axes[k] >= METATE_MAX_AXES || (k && level.axes[k] <= level.axes[k - 1]) ||
        level.extents[k] == 0)
      return false;
    product = product * level.extents[k];
  }
  return product.fitsIn(maxCellBytes) && product.value() == level.cells;
}

// The kind's own rules; the position in the tree is checked elsewhere.
const char *kindProblem(Reader &reader, const metate_level &level) {
  bool pool = level.kind == METATE_LEVEL_POINTER;
  if (level.kind < METATE_LEVEL_ROOT || level.kind > METATE_LEVEL_PLACE)
    return "unknown kind";
  bool split = level.kind == METATE_LEVEL_DENSE || pool;
  if (split != (level.axis_count != 0))
    return "root and members split no axes, other levels at least one";
  if (pool ? level.pool != reader.pools++ : level.pool != METATE_NONE)
    return "pools are not numbered in order";
  uint32_t flags = pool && level.cell_bytes <= METATE_AMBIENT_LIMIT ? METATE_LEVEL_AMBIENT : 0;
  if (level.flags != flags)
    return "wrong flags";
  if (level.kind != METATE_LEVEL_PLACE) {
    if (level.dtype || level.rows || level.columns || level.element_rank || level.background)
      return "only a member has an element type";
    return nullptr;
  }
  ++reader.members;
  uint64_t scalar = metate_dtype_bytes(level.dtype);
  if (!scalar || !level.rows || !level.columns || level.element_rank > 2 ||
      (level.element_rank < 2 && level.columns != 1) || (level.element_rank < 1 && level.rows != 1))
    return "not an element type";
  Checked value = Checked(level.rows) * level.columns * scalar;
  if (!value.fitsIn(METATE_AMBIENT_LIMIT) || value.value() != level.cell_bytes)
    return "a value's bytes are not its element type's";
  if (level.cell_align != scalar)
    return "a value is aligned as its scalars";
  if (level.background < reader.tablesEnd ||
      !inRange(level.background, level.cell_bytes, reader.bytes))
    return "the background value is outside the blob";
  for (uint64_t i = 0; level.dtype == METATE_U1 && i < level.cell_bytes; ++i)
    if (uint8_t(reader.start[level.background + i]) > 1)
      return "a boolean background is not 0 or 1";
  return nullptr;
}

const char *placementProblem(const Reader &reader, uint32_t index, const metate_level &level) {
  if (!level.cell_bytes || level.cell_bytes > maxCellBytes || !isPowerOfTwo(level.cell_align) ||
      level.cell_align > METATE_BLOCK_ALIGN || level.cell_bytes % level.cell_align)
    return "cell bytes or alignment out of bounds";
  if (index == 0) {
    if (level.kind != METATE_LEVEL_ROOT || level.parent != METATE_NONE || level.offset)
      return "the first record is not a root";
    if (level.cell_bytes != reader.type->root_bytes || level.cell_align != reader.type->root_align)
      return "the root cell is not what the type says";
    return nullptr;
  }
  if (level.kind == METATE_LEVEL_ROOT || level.parent >= index)
    return "a parent does not come before its child";
  const metate_level &parent = reader.level(level.parent);
  if (parent.kind == METATE_LEVEL_PLACE)
    return "a member has children";
  // Preorder: the parent is the previous record or one of that record's ancestors.
  uint32_t ancestor = index - 1;
  while (ancestor != level.parent && ancestor != 0)
    ancestor = reader.level(ancestor).parent;
  if (ancestor != level.parent)
    return "the levels are not in preorder";
  Checked container = level.kind == METATE_LEVEL_POINTER ? Checked(level.cells) * 4
                                                         : Checked(level.cells) * level.cell_bytes;
  uint64_t align = level.kind == METATE_LEVEL_POINTER ? 4 : level.cell_align;
  if (!(container + level.offset).fitsIn(parent.cell_bytes))
    return "it does not fit into its parent's cell";
  if (level.offset % align || align > parent.cell_align)
    return "it is misaligned in its parent's cell";
  return nullptr;
}

// No two children of one cell share a byte. Called after every record's own checks.
const char *overlapProblem(const Reader &reader, uint32_t index) {
  const metate_level &level = reader.level(index);
  for (uint32_t other = level.parent + 1; other < index; ++other) {
    const metate_level &sibling = reader.level(other);
    if (sibling.parent == level.parent && level.offset < sibling.offset + containerBytes(sibling) &&
        sibling.offset < level.offset + containerBytes(level))
      return "it overlaps a sibling";
  }
  return nullptr;
}

// path_rank, path_axes, coordinate_count; extents along an axis stay in int32 coordinates.
const char *pathProblem(const Reader &reader, uint32_t index) {
  uint64_t extent[METATE_MAX_AXES] = {};
  uint32_t depth = 0;
  for (uint32_t at = index; at != METATE_NONE; at = reader.level(at).parent) {
    const metate_level &level = reader.level(at);
    if (++depth > maxDepth)
      return "nested too deeply";
    for (uint32_t k = 0; k < level.axis_count; ++k) {
      uint64_t &along = extent[level.axes[k]];
      along = (along ? along : 1) * level.extents[k];
      if (along > INT32_MAX)
        return "more than 2^31 - 1 cells along an axis";
    }
  }
  const metate_level &level = reader.level(index);
  bool addressed = level.kind == METATE_LEVEL_PLACE || level.kind == METATE_LEVEL_POINTER;
  uint32_t rank = 0;
  for (uint32_t axis = 0; axis < METATE_MAX_AXES; ++axis)
    if (extent[axis] && addressed && level.path_axes[rank++] != axis)
      return "its path's axes are wrong";
  for (uint32_t k = rank; k < METATE_MAX_AXES; ++k)
    if (level.path_axes[k])
      return "its path's axes are wrong";
  if (level.path_rank != (level.kind == METATE_LEVEL_PLACE ? rank : 0) ||
      level.coordinate_count != (level.kind == METATE_LEVEL_POINTER ? rank : 0))
    return "its path's rank is wrong";
  return nullptr;
}

// Every level leads to a member.
const char *slotProblem(const Reader &reader, uint32_t index) {
  if (reader.level(index).kind == METATE_LEVEL_PLACE)
    return nullptr;
  for (uint32_t below = index + 1; below < reader.type->level_count; ++below) {
    if (reader.level(below).parent < index)
      break; // left the subtree
    if (reader.level(below).kind == METATE_LEVEL_PLACE)
      return nullptr;
  }
  return "it has no members";
}

metate_status checkLevel(Reader &reader, uint32_t index) {
  const metate_level &level = reader.level(index);
  if (!axesAreSound(level))
    return corrupt(index, "its axes and extents contradict themselves");
  for (uint32_t word : level.reserved)
    if (word)
      return corrupt(index, "a reserved field is not zero");
  if (!reader.isText(level.name))
    return corrupt(index, "its name is outside the blob");
  const char *problem = kindProblem(reader, level);
  if (!problem)
    problem = placementProblem(reader, index, level);
  if (!problem && index)
    problem = overlapProblem(reader, index);
  if (!problem)
    problem = pathProblem(reader, index);
  return problem ? corrupt(index, problem) : METATE_OK;
}

// A member is found by its name, so no two share one.
metate_status checkMemberNames(const Reader &reader) {
  for (uint32_t i = 0; i < reader.type->level_count; ++i) {
    if (reader.level(i).kind != METATE_LEVEL_PLACE)
      continue;
    const char *name = reader.start + reader.level(i).name;
    if (!*name)
      return corrupt(i, "a member without a name");
    for (uint32_t j = 0; j < i; ++j)
      if (reader.level(j).kind == METATE_LEVEL_PLACE &&
          strcmp(name, reader.start + reader.level(j).name) == 0)
        return corrupt(i, "two members of one name");
  }
  return METATE_OK;
}

} // namespace

metate_status verifyTypeBlob(const void *blob, uint64_t bytes) {
  METATE_TRY(checkHead(blob, bytes));
  const auto *type = static_cast<const metate_tree_type *>(blob);
  Reader reader{type, static_cast<const char *>(blob), bytes,
                sizeof *type + uint64_t(type->level_count) * sizeof(metate_level)};
  if (!reader.isText(type->text))
    return fail(METATE_E_CORRUPT, "type blob: the printed type is outside the blob");
  for (uint32_t index = 0; index < type->level_count; ++index)
    METATE_TRY(checkLevel(reader, index));
  if (reader.pools != type->pool_count || reader.members != type->member_count)
    return fail(METATE_E_CORRUPT, "type blob: expected %u pools and %u members, has %u and %u",
                type->pool_count, type->member_count, reader.pools, reader.members);
  for (uint32_t index = 0; index < type->level_count; ++index)
    if (const char *problem = slotProblem(reader, index))
      return corrupt(index, problem);
  return checkMemberNames(reader);
}

} // namespace metate
