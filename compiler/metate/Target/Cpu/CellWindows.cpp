//===- CellWindows.cpp - numbers side by side in each lane's cell ---------===//
//
// Nine numbers of a matrix, one after the other in memory, are for vectors of iterations nine columns of a table whose rows are the cells. LLVM
// takes such a table apart number by number. Here runs of numbers are found that each iteration accesses: 16 bytes are one load a cell, and four
// loads of four numbers become columns by eight shuffles. A number that no window holds is accessed alone.
//
// No byte is written that the iteration does not write. None is read that it does not read but members of the same cells, which are the tree's
// memory: what other iterations may be writing there is dropped. Of arrays nothing has to be known of what lies around.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/CellWindows.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

bool WindowGroup::isInWindow(int64_t position) const {
  return llvm::any_of(
      windows, [&](int64_t begin) { return position >= begin && position < begin + numbers(); });
}

CellWindows::CellWindows(Block &body, const LaneAnalysis &analysis) {
  collect(body, analysis);
  for (size_t next = 0; next < accesses.size(); ++next) {
    Access &access = accesses[next];
    if (!access.isFree)
      continue;
    auto known = llvm::find_if(all, [&](auto &group) { return joins(next, *group); });
    if (known == all.end()) {
      all.push_back(std::make_unique<WindowGroup>());
      known = all.end() - 1;
      (*known)->isWrite = access.isWrite;
      (*known)->type = access.type;
      (*known)->stride = access.stride;
    }
    WindowGroup &group = **known;
    access.group = groups[access.op] = &group;
    group.accesses.push_back(access.op);
    const Access *first =
        llvm::find_if(accesses, [&](Access &other) { return other.group == &group; });
    group.positions.push_back((access.place.form.constant - first->place.form.constant) /
                              group.size());
  }
  for (auto &group : all)
    cut(*group);
}

void CellWindows::collect(Block &body, const LaneAnalysis &analysis) {
  for (Operation &op : body) {
    auto read = dyn_cast<ReadOp>(op);
    auto write = dyn_cast<WriteOp>(op);
    if (!read && !write)
      continue;
    Value offset = read ? read.getOffset() : write.getOffset();
    Type type = read ? read.getType() : write.getValue().getType();
    bool isFree = false;
    bool isInvariant = read && read.getInvariant();
    if (!isInvariant && !analysis.isSame(offset) && type.isIntOrFloat() &&
        (type.getIntOrFloatBitWidth() == 32 || type.getIntOrFloatBitWidth() == 64)) {
      auto row = analysis.memberRow(&op, offset, type);
      isFree = !analysis.isRow(offset, type) && !(row && row->members <= mostMembers);
    }
    accesses.push_back(
        {&op, bool(write), isFree, type, *ByteAccess::of(&op), analysis.stride(offset)});
  }
}

/// Is the access a known distance from those of the group, with nothing in between that keeps them from being done together?
bool CellWindows::joins(size_t next, const WindowGroup &group) const {
  const Access &access = accesses[next];
  const Access *first =
      llvm::find_if(accesses, [&](const Access &other) { return other.group == &group; });
  if (first->isWrite != access.isWrite || first->place.block != access.place.block ||
      first->place.scope != access.place.scope || first->type != access.type)
    return false;
  LinearForm distance = access.place.form.minus(first->place.form);
  if (!distance.terms.empty() || distance.constant % group.size())
    return false;
  if (!access
           .isWrite) // It would be read before them; those that stand before the group may be done later themselves.
    return llvm::none_of(ArrayRef(accesses).take_front(next), [&](const Access &other) {
      return other.isWrite && other.place.mayOverlap(access.place);
    });
  for (const Access *member = first; member != &access; ++member)
    if (member->group == &group) // it would be done after what stands in between
      for (const Access *other = member + 1; other != &access; ++other)
        if (other->group != &group && member->place.mayOverlap(other->place))
          return false;
  return true;
}

/// Runs of numbers that may be accessed together, as [begin, end): those that every iteration accesses and, of reads of members, the others of
/// their cells, which hold nothing but members.
static SmallVector<std::pair<int64_t, int64_t>> runsOf(const WindowGroup &group) {
  SmallVector<std::pair<int64_t, int64_t>> parts, runs;
  for (auto [access, position] : llvm::zip(group.accesses, group.positions)) {
    int64_t before = 0, after = 1;
    auto member = access->getAttrOfType<DenseI64ArrayAttr>(mark::member);
    if (!group.isWrite && member && member[1] % group.size() == 0 &&
        member[2] % group.size() == 0) {
      before = member[1] / group.size();
      after = (member[2] - member[1]) / group.size();
    }
    parts.push_back({position - before, position + after});
  }
  llvm::sort(parts);
  for (auto [begin, end] : parts)
    if (!runs.empty() && begin <= runs.back().second)
      runs.back().second = std::max(runs.back().second, end);
    else
      runs.push_back({begin, end});
  return runs;
}

/// Windows from the first number of each that is not in one before, the last one so that it ends with the run; one number that is left stays alone.
void CellWindows::cut(WindowGroup &group) {
  SmallVector<int64_t> sorted = group.positions;
  llvm::sort(sorted);
  sorted.erase(llvm::unique(sorted), sorted.end());
  int64_t numbers = group.numbers();
  for (auto [first, end] : runsOf(group))
    for (auto next = llvm::lower_bound(sorted, first); next != sorted.end() && *next < end;) {
      int64_t begin = std::min(*next, end - numbers);
      auto behind = llvm::lower_bound(sorted, begin + numbers);
      if (begin < first || behind - next < 2) {
        ++next;
        continue;
      }
      group.windows.push_back(begin);
      next = behind;
    }
}

bool CellWindows::any() const {
  return llvm::any_of(all, [](auto &group) { return !group->windows.empty(); });
}

bool CellWindows::anyGather() const {
  return llvm::any_of(all, [](auto &group) { return !group->isWrite && !group->stride; });
}

bool CellWindows::areTakenApart() const {
  // Of LLVM's interleaved groups; those of 8 f64 are too dear for it.
  constexpr int64_t mostNumbers = 8, lessThanBytes = 64;
  return llvm::all_of(all, [&](auto &group) {
    if (!group->stride || *group->stride <= 0 || *group->stride >= lessThanBytes)
      return false;
    DenseSet<int64_t> written(llvm::from_range, group->positions);
    int64_t numbers = *group->stride / group->size();
    return numbers <= mostNumbers && (!group->isWrite || int64_t(written.size()) == numbers);
  });
}

LaneCost CellWindows::cost(int64_t lanes) const {
  LaneCost sum;
  for (auto &group : all) {
    sum.scalar += double(group->accesses.size());
    double vectors = double(lanes * group->size()) / 32;
    double rounds = double(llvm::Log2_64(uint64_t(group->numbers())));
    sum.lanes += double(group->windows.size()) *
                 (double(lanes) + double(group->numbers()) * rounds * vectors);
    for (int64_t position : group->positions)
      if (!group->isInWindow(position))
        sum.lanes += 2 * double(lanes);
  }
  return sum;
}
