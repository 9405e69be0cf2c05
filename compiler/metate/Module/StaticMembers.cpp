//===- StaticMembers.cpp - members in a static carrier's header -*- C++ -*-===//
//
// Where elements of members lie in a block, as C expressions, and the accessors of members that are not quantised.
//
//===----------------------------------------------------------------------===//
#include "metate/Module/StaticMembers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

using namespace metate;
using llvm::StringRef;

// Support/Quantised.h (SupportCode.S).
extern "C" const char metateQuantisedBegin[], metateQuantisedEnd[];

using Path = std::vector<const metate_level *>;

/// The levels above a member, the root's first; empty where one of them has slots.
static Path pathOf(const metate_level *levels, uint32_t member) {
  Path path;
  for (uint32_t at = levels[member].parent; at != METATE_NONE; at = levels[at].parent) {
    if (levels[at].pool != METATE_NONE)
      return {};
    path.insert(path.begin(), &levels[at]);
  }
  return path;
}

/// " + (j / 4 % 8) * 16": where the cell of one level lies; a cell takes `step`.
static std::string cellOffset(const Path &path, unsigned depth, uint64_t step) {
  const metate_level &level = *path[depth];
  std::string text;
  for (uint32_t k = level.axis_count; k-- > 0;) {
    uint64_t inner = 1;
    bool outermost = true;
    for (auto [other, above] : llvm::enumerate(path))
      for (uint32_t axis = 0; axis < above->axis_count; ++axis)
        if (above->axes[axis] == level.axes[k] && other != depth)
          other > depth ? void(inner *= above->extents[axis]) : void(outermost = false);
    std::string index(1, char('i' + level.axes[k]));
    if (inner > 1)
      index += " / " + std::to_string(inner);
    if (!outermost)
      index += " % " + std::to_string(level.extents[k]);
    text += " + " + (index.size() > 1 ? "(" + index + ")" : index);
    if (step > 1)
      text += " * " + std::to_string(step);
    step *= level.extents[k];
  }
  return text;
}

/// Nothing where cells may have no memory, or the name is none of C's.
static std::optional<StaticMember> memberOf(const StaticType &type, uint32_t number) {
  StaticMember member{&type, number, nullptr, true, {}, {}, {}, {}, {}};
  member.level = &member.levels()[number];
  member.name = reinterpret_cast<const char *>(type.blob) + member.level->name;
  Path path = pathOf(member.levels(), number);
  if (path.empty() ||
      !llvm::all_of(member.name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return std::nullopt;
  uint64_t fixed = llvm::alignTo(
      sizeof(metate_tree_header) + type.blob->pool_count * sizeof(metate_pool), METATE_BLOCK_ALIGN);
  for (auto [depth, level] : llvm::enumerate(path)) {
    fixed += level->offset;
    member.isWritable &= level->kind != METATE_LEVEL_BITMASKED;
    if (level->kind != METATE_LEVEL_QUANT_ARRAY) {
      member.offset += cellOffset(path, depth, level->cell_bytes);
      continue;
    }
    member.perWord = level->slot_cells;
    member.element = StringRef(cellOffset(path, depth, 1)).drop_front(strlen(" + "));
    member.offset += " + element / " + std::to_string(member.perWord) + " * " +
                     std::to_string(level->cell_bytes);
  }
  member.offset = std::to_string(fixed + member.level->offset) + member.offset;
  for (uint32_t k = 0; k < member.level->path_rank; ++k) {
    uint64_t extent = 1;
    for (const metate_level *level : path)
      for (uint32_t axis = 0; axis < level->axis_count; ++axis)
        extent *= level->axes[axis] == member.level->path_axes[k] ? level->extents[axis] : 1;
    std::string index(1, char('i' + member.level->path_axes[k]));
    member.parameters += ", int64_t " + index;
    member.shape += (k ? ", " : "") + index + " < " + std::to_string(extent);
  }
  return member;
}

std::string metate::staticAccessor(const StaticMember &member, StringRef result, StringRef suffix,
                                   StringRef block, StringRef value) {
  return ("static inline " + result + member.type->symbol + "_" + member.name + suffix + "(" +
          block + "block" + member.parameters + value + ") {\n")
      .str();
}

std::string metate::staticStatement(StringRef text) {
  std::string lines, indent = "  ";
  while (indent.size() + text.size() > 100) {
    // Behind a comma or before an operator of its own.
    size_t cut = 100 - indent.size();
    while (cut && !(text[cut] == ' ' && (text[cut - 1] == ',' || text[cut + 1] == '+')))
      --cut;
    if (!cut)
      break;
    lines += indent + text.take_front(cut).str() + "\n";
    text = text.drop_front(cut + 1);
    indent = "      ";
  }
  return lines + indent + text.str() + "\n";
}

/// What the accessors stand below: "/* Member 'x' (f32 x 3; i < 8). */".
static std::string memberComment(const StaticMember &member) {
  const metate_level &level = *member.level;
  std::string text = "/* Member '" + member.name + "' (" + staticDtype(level.dtype).str();
  if (level.element_rank)
    text += " x " + std::to_string(level.rows * level.columns);
  if (level.quant)
    text += staticQuantNote(member);
  text += staticDtypeNote(level.dtype);
  return text + (member.shape.empty() ? "" : "; " + member.shape) + "). */\n";
}

/// The address of a member's elements.
static std::string address(const StaticMember &member) {
  std::string pointer = staticScalar(member.level->dtype).str() + " *";
  return staticAccessor(member, pointer, "_at", "void *", "") + "  return (" + pointer +
         ")(void *)((unsigned char *)block + " + member.offset + ");\n}\n";
}

StringRef metate::staticMemberHelpers(const StaticModule &module) {
  for (const StaticType &type : module.types)
    for (uint32_t k = 0; k < type.blob->level_count; ++k)
      if (reinterpret_cast<const metate_level *>(type.blob + 1)[k].quant && memberOf(type, k))
        return {metateQuantisedBegin, size_t(metateQuantisedEnd - metateQuantisedBegin)};
  return "";
}

std::string metate::staticMembers(const StaticType &type) {
  std::string text;
  for (uint32_t k = 0; k < type.blob->level_count; ++k) {
    if (reinterpret_cast<const metate_level *>(type.blob + 1)[k].kind != METATE_LEVEL_PLACE)
      continue;
    if (std::optional<StaticMember> member = memberOf(type, k))
      text += memberComment(*member) +
              (member->level->quant ? staticQuantAccessors(*member) : address(*member));
  }
  return text;
}
