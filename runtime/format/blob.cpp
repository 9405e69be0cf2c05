// Verification of type blobs: every offset in range, every product without overflow, every level
// inside its parent and beside its siblings, every derived field equal to what it is derived from.
#include "format/blob.h"

#include "format/quant.h"
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
        (level.extents[k] == 0) != (level.kind == METATE_LEVEL_HASH))
      return false;
    product = product * level.extents[k];
  }
  return product.fitsIn(maxCellBytes) && product.value() == level.cells;
}

bool hasPool(const metate_level &level) {
  return level.kind == METATE_LEVEL_POINTER || level.kind == METATE_LEVEL_DYNAMIC ||
         level.kind == METATE_LEVEL_HASH;
}

// Slots, chunks and masks are what their kind and the cells say; a quant_array's words when its member is known.
const char *slotsProblem(const metate_level &level) {
  bool pool = hasPool(level), list = level.kind == METATE_LEVEL_DYNAMIC;
  bool array = level.kind == METATE_LEVEL_QUANT_ARRAY;
  uint64_t most = list ? level.cells : array ? 64 : 1;
  if (pool || array ? !level.slot_cells || level.slot_cells > most : level.slot_cells != 0)
    return "its slots have another number of cells";
  if (list && (level.axis_count != 1 || level.cells > INT32_MAX))
    return "a list has one axis";
  Checked bytes = Checked(level.slot_cells) * level.cell_bytes;
  if (!bytes.fitsIn(maxCellBytes))
    return "its slots are too large";
  uint64_t align = bytes.value() >= METATE_BLOCK_ALIGN ? METATE_BLOCK_ALIGN : level.cell_align;
  uint64_t slotBytes = list && align ? bytes.alignedTo(align).value() : bytes.value();
  if (level.slot_bytes != (pool ? slotBytes : 0))
    return "its slots are not its cells";
  uint64_t mask = level.kind == METATE_LEVEL_BITMASKED
                      ? (Checked(level.cells) * level.cell_bytes).alignedTo(4).value()
                      : 0;
  return level.mask == mask ? nullptr : "its mask is misplaced";
}

// Behind the tables, as strings are.
bool inBlob(const Reader &reader, uint64_t offset, uint64_t bytes) {
  return offset >= reader.tablesEnd && inRange(offset, bytes, reader.bytes);
}

// The kind's own rules; the position in the tree is checked elsewhere.
const char *kindProblem(Reader &reader, const metate_level &level) {
  bool pool = hasPool(level);
  if (level.kind < METATE_LEVEL_ROOT || level.kind > METATE_LEVEL_QUANT_ARRAY)
    return "unknown kind";
  bool split = level.kind != METATE_LEVEL_ROOT && level.kind != METATE_LEVEL_PLACE &&
               level.kind != METATE_LEVEL_BIT_STRUCT;
  if (split != (level.axis_count != 0))
    return "root, members and bit_structs split no axes, other levels at least one";
  if (pool ? level.pool != reader.pools++ : level.pool != METATE_NONE)
    return "pools are not numbered in order";
  uint32_t flags = pool && level.slot_bytes <= METATE_AMBIENT_LIMIT ? METATE_LEVEL_AMBIENT : 0;
  if ((level.flags & ~METATE_LEVEL_ZERO) != flags) // ZERO is checked when all records have been
    return "wrong flags";
  if (level.kind != METATE_LEVEL_PLACE) {
    if (level.dtype || level.rows || level.columns || level.element_rank || level.quant)
      return "only a member has an element type";
    if (isWord(level) && (!isPowerOfTwo(level.cell_bytes) || level.cell_bytes > 8 ||
                          level.cell_align != level.cell_bytes))
      return "a word has 1, 2, 4 or 8 bytes";
    if (isWord(level) ? !inBlob(reader, level.background, level.cell_bytes) : level.background)
      return "its background is outside the blob, or it has none";
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
  if (!inBlob(reader, level.background, level.cell_bytes))
    return "the background value is outside the blob";
  if (level.quant && (level.quant % 8 || !inBlob(reader, level.quant, sizeof(metate_quant))))
    return "what says how it is stored is outside the blob";
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
  if (isWord(parent) && level.kind != METATE_LEVEL_PLACE)
    return "a word has a level in it";
  if (isWord(parent) != (level.quant != 0))
    return level.quant ? "a quantised member is in no word" : "a member in a word is not quantised";
  // Preorder: the parent is the previous record or one of that record's ancestors.
  uint32_t ancestor = index - 1;
  while (ancestor != level.parent && ancestor != 0)
    ancestor = reader.level(ancestor).parent;
  if (ancestor != level.parent)
    return "the levels are not in preorder";
  // The product bounds what containerBytes adds up.
  Checked cells = Checked(metate_level_pieces(&level)) * (hasPool(level) ? 4 : level.cell_bytes);
  uint64_t align = hasPool(level) ? 4 : level.quant ? 1 : level.cell_align;
  if (level.kind == METATE_LEVEL_BITMASKED && align < 4)
    align = 4;
  if (!(cells + level.offset).fitsIn(maxCellBytes) ||
      !(Checked(metate_level_container_bytes(&level)) + level.offset).fitsIn(parent.cell_bytes))
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
    if (sibling.parent == level.parent &&
        level.offset < sibling.offset + metate_level_container_bytes(&sibling) &&
        sibling.offset < level.offset + metate_level_container_bytes(&level))
      return "it overlaps a sibling";
  }
  return nullptr;
}

// What a level alone splits: a hash level's axes no level above, a list's axis no other level.
const char *axisProblem(const Reader &reader, uint32_t index) {
  const metate_level &level = reader.level(index);
  for (uint32_t up = level.parent; up != METATE_NONE; up = reader.level(up).parent)
    for (uint32_t k = 0; k < reader.level(up).axis_count; ++k)
      for (uint32_t n = 0; n < level.axis_count; ++n)
        if (level.axes[n] == reader.level(up).axes[k] &&
            (level.kind == METATE_LEVEL_HASH || level.kind == METATE_LEVEL_DYNAMIC ||
             reader.level(up).kind == METATE_LEVEL_DYNAMIC))
          return "another level splits an axis that is its own";
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
      along = (along ? along : 1) * (level.extents[k] ? level.extents[k] : 1);
      if (along > INT32_MAX)
        return "more than 2^31 - 1 cells along an axis";
    }
  }
  const metate_level &level = reader.level(index);
  bool addressed = level.kind == METATE_LEVEL_PLACE || hasPool(level);
  uint32_t rank = 0;
  for (uint32_t axis = 0; axis < METATE_MAX_AXES; ++axis)
    if (extent[axis] && addressed && level.path_axes[rank++] != axis)
      return "its path's axes are wrong";
  for (uint32_t k = rank; k < METATE_MAX_AXES; ++k)
    if (level.path_axes[k])
      return "its path's axes are wrong";
  if (level.path_rank != (level.kind == METATE_LEVEL_PLACE ? rank : 0) ||
      level.coordinate_count != (hasPool(level) ? rank : 0))
    return "its path's rank is wrong";
  return axisProblem(reader, index);
}

bool isZero(const char *bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    if (bytes[i])
      return false;
  return true;
}

// Every level leads to a member, and says whether all of their backgrounds are zero: of quantised members those in words.
const char *membersProblem(const Reader &reader, uint32_t index) {
  uint32_t members = 0;
  bool zero = true;
  for (uint32_t at = index; at < reader.type->level_count; ++at) {
    const metate_level &level = reader.level(at);
    if (at != index && (level.parent < index || level.parent == METATE_NONE))
      break; // left the subtree
    members += level.kind == METATE_LEVEL_PLACE;
    if (level.background && (!level.quant || at == index))
      zero = zero && isZero(reader.start + level.background, level.cell_bytes);
  }
  if (!members)
    return "it has no members";
  if (zero != ((reader.level(index).flags & METATE_LEVEL_ZERO) != 0))
    return "its flags do not say whether its background is zero";
  return nullptr;
}

metate_status checkLevel(Reader &reader, uint32_t index) {
  const metate_level &level = reader.level(index);
  if (!axesAreSound(level))
    return corrupt(index, "its axes and extents contradict themselves");
  if (!reader.isText(level.name))
    return corrupt(index, "its name is outside the blob");
  const char *problem = kindProblem(reader, level);
  if (!problem)
    problem = slotsProblem(level);
  if (!problem)
    problem = placementProblem(reader, index, level);
  if (!problem && index)
    problem = overlapProblem(reader, index);
  if (!problem)
    problem = pathProblem(reader, index);
  if (!problem && level.quant)
    problem = quantProblem(reader.type, index);
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
  for (uint32_t index = 0; index < type->level_count; ++index) {
    const char *problem = membersProblem(reader, index);
    if (!problem && isWord(reader.level(index)))
      problem = wordProblem(type, index);
    if (problem)
      return corrupt(index, problem);
  }
  return checkMemberNames(reader);
}

} // namespace metate
