// A tree as maps from coordinates, for any nesting of levels: what random operations are compared
// with. Knows levels only by what metate_type_level says of them.
#ifndef METATE_TESTS_LEVEL_MODEL_H
#define METATE_TESTS_LEVEL_MODEL_H

#include "fixture.h"

#include <map>
#include <random>
#include <set>

namespace metate::test {

using Coordinates = std::vector<int64_t>;

class LevelModel {
public:
  explicit LevelModel(const metate_type *type) {
    auto info = sized<metate_type_description>();
    EXPECT_OK(metate_type_describe(type, &info));
    for (uint32_t i = 0; i < info.level_count; ++i) {
      levels.push_back(sized<metate_level_description>());
      EXPECT_OK(metate_type_level(type, i, &levels.back()));
    }
  }

  std::vector<metate_level_description> levels;

  bool hasActivity(uint32_t level) const {
    uint32_t kind = levels[level].kind;
    return kind != METATE_LEVEL_ROOT && kind != METATE_LEVEL_DENSE && kind != METATE_LEVEL_PLACE &&
           kind != METATE_LEVEL_BIT_STRUCT && kind != METATE_LEVEL_QUANT_ARRAY;
  }

  // The coordinates of the parent's cell.
  Coordinates outer(uint32_t level, const Coordinates &at) const {
    const auto &own = levels[level];
    const auto &parent = levels[own.parent];
    Coordinates result;
    for (uint32_t p = 0; p < parent.path_rank; ++p)
      for (uint32_t k = 0; k < own.path_rank; ++k)
        if (own.path_axes[k] == parent.path_axes[p]) {
          int64_t value = at[k];
          for (uint32_t n = 0; n < own.axis_count; ++n)
            if (own.axes[n] == own.path_axes[k])
              value = (value >= 0 ? value : value - own.extents[n] + 1) / own.extents[n];
          result.push_back(value);
        }
    return result;
  }

  bool isActive(uint32_t level, const Coordinates &at) const {
    if (level == 0)
      return true;
    if (!isActive(levels[level].parent, outer(level, at)))
      return false;
    if (levels[level].kind == METATE_LEVEL_DYNAMIC) {
      auto list = lengths.find({level, outer(level, at)});
      return list != lengths.end() && at[listAxis(level)] < list->second;
    }
    return !hasActivity(level) || active.count({level, at});
  }

  void activate(uint32_t level, const Coordinates &at) {
    if (level == 0)
      return;
    activate(levels[level].parent, outer(level, at));
    if (levels[level].kind == METATE_LEVEL_DYNAMIC) {
      int64_t &length = lengths[{level, outer(level, at)}];
      length = std::max(length, at[listAxis(level)] + 1);
    } else if (hasActivity(level)) {
      active.insert({level, at});
    }
  }

  void write(uint32_t member, const Coordinates &at, int32_t value) {
    activate(member, at);
    values[{member, at}] = value;
  }

  int64_t append(uint32_t level, const Coordinates &holder) {
    activate(levels[level].parent, holder);
    return lengths[{level, holder}]++;
  }
  int64_t length(uint32_t level, const Coordinates &holder) const {
    auto list = lengths.find({level, holder});
    return list == lengths.end() ? 0 : list->second;
  }

  // The cell and all below it; of a dynamic level the list that `at` holds.
  void deactivate(uint32_t level, const Coordinates &at) {
    if (levels[level].kind == METATE_LEVEL_DYNAMIC)
      lengths.erase({level, at});
    else
      active.erase({level, at});
    auto gone = [&](const auto &entry) { return !isActive(entry.first, entry.second); };
    // Ancestors before descendants: isActive looks upwards by itself.
    std::erase_if(active, gone);
    std::erase_if(lengths, [&](const auto &entry) {
      return !isActive(levels[entry.first.first].parent, entry.first.second);
    });
    std::erase_if(values, [&](const auto &entry) { return gone(entry.first); });
  }

  void deactivateAll(uint32_t level) {
    if (!hasActivity(level)) {
      for (uint32_t i = level + 1; i < levels.size(); ++i)
        if (levels[i].parent == level)
          deactivateAll(i);
      return;
    }
    std::vector<Coordinates> cells;
    for (const auto &[owner, at] : active)
      if (owner == level)
        cells.push_back(at);
    for (const auto &[list, length] : lengths)
      if (list.first == level)
        cells.push_back(list.second);
    for (const Coordinates &at : cells)
      deactivate(level, at);
  }

  // Slots that a pool's level uses: its active cells, of lists the chunks.
  uint64_t slots(uint32_t level, uint32_t chunk) const {
    uint64_t count = 0;
    for (const auto &entry : active)
      count += entry.first == level;
    for (const auto &[list, length] : lengths)
      if (list.first == level)
        count += uint64_t(length + chunk - 1) / chunk;
    return count;
  }

  uint32_t listAxis(uint32_t level) const {
    const auto &own = levels[level];
    uint32_t k = 0;
    while (own.path_axes[k] != own.axes[0])
      ++k;
    return k;
  }

  std::set<std::pair<uint32_t, Coordinates>> active;
  std::map<std::pair<uint32_t, Coordinates>, int64_t> lengths; // by level and the list's holder
  std::map<std::pair<uint32_t, Coordinates>, int32_t> values;
};

} // namespace metate::test

#endif
