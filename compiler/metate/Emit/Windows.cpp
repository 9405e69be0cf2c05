//===- Windows.cpp - numbers that lie together are read together -*- C++ -*-===//
#include "metate/Emit/Windows.h"

#include "metate/Mutants/Mutants.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;
using metate::isMutant, metate::Mutant;

namespace {
constexpr int64_t windowBytes = 16;

/// Where the lanes of a gather read: at one number for all of them behind what differs from gather to gather in nothing else.
struct Place {
  Value *base = nullptr;
  SmallMapVector<Value *, uint64_t, 4> terms; ///< by what they are multiplied
  uint64_t offset = 0;                        ///< in bytes, modulo 2^64

  bool isBeside(const Place &other) const {
    return base == other.base && terms.size() == other.terms.size() &&
           all_of(terms, [&](const auto &term) {
             auto found = other.terms.find(term.first);
             return found != other.terms.end() && found->second == term.second;
           });
  }
};

/// Takes the address of each lane apart.
class PlaceReader {
public:
  PlaceReader(const DataLayout &layout, Place &place) : layout(layout), place(place) {}

  bool read(Value *pointers) {
    while (auto *address = dyn_cast<GEPOperator>(pointers)) {
      unsigned bits = layout.getIndexTypeSizeInBits(address->getType());
      SmallMapVector<Value *, APInt, 4> variables;
      APInt constant(bits, 0);
      if (bits != 64 || !address->collectOffset(layout, bits, variables, constant))
        return false;
      place.offset += constant.getZExtValue();
      for (const auto &[value, scale] : variables)
        add(value, scale.getZExtValue(), /*isWide=*/true);
      pointers = address->getPointerOperand();
    }
    place.base = pointers;
    place.terms.remove_if([](const auto &term) { return term.second == 0; });
    return true;
  }

private:
  /// `isWide`: sums may wrap as addresses do; else only those that do not are taken apart.
  void add(Value *value, uint64_t scale, bool isWide) {
    isWide &= value->getType()->getScalarSizeInBits() == 64;
    if (!room) { // sums that share operands would be walked once for each way to them
      place.terms[value] += scale;
      return;
    }
    --room;
    const APInt *number;
    Value *first, *second;
    if (match(value, m_APInt(number))) {
      place.offset += scale * uint64_t(number->getSExtValue());
    } else if (match(value, m_SExt(m_Value(first)))) {
      add(first, scale, /*isWide=*/false);
    } else if (isWide ? match(value, m_Add(m_Value(first), m_Value(second))) ||
                            match(value, m_DisjointOr(m_Value(first), m_Value(second)))
                      : match(value, m_NSWAdd(m_Value(first), m_Value(second)))) {
      add(first, scale, isWide);
      add(second, scale, isWide);
    } else if (isWide ? match(value, m_Sub(m_Value(first), m_Value(second)))
                      : match(value, m_NSWSub(m_Value(first), m_Value(second)))) {
      add(first, scale, isWide);
      add(second, -scale, isWide);
    } else if (isWide ? match(value, m_Mul(m_Value(first), m_APInt(number)))
                      : match(value, m_NSWMul(m_Value(first), m_APInt(number)))) {
      add(first, scale * uint64_t(number->getSExtValue()), isWide);
    } else if (isWide && match(value, m_Shl(m_Value(first), m_APInt(number))) && number->ult(64)) {
      add(first, scale << number->getZExtValue(), isWide);
    } else {
      place.terms[value] += scale;
    }
  }

  const DataLayout &layout;
  Place &place;
  unsigned room = 64; ///< for operations that are taken apart
};

/// Gathers of one block whose lanes read at constant distances from one another, with nothing between them that writes.
struct Group {
  Place place;                                              ///< of the first one
  SmallVector<std::pair<IntrinsicInst *, int64_t>> gathers; ///< with the bytes behind it
};

/// Some bytes that each lane reads, and the gathers whose numbers are there.
struct Window {
  int64_t begin, end;
  SmallVector<std::pair<IntrinsicInst *, int64_t>> gathers; ///< with the number in the window
};

class Block {
public:
  explicit Block(BasicBlock &block) : block(block), layout(block.getModule()->getDataLayout()) {}

  bool run() {
    collect();
    bool changed = false;
    for (Group &group : groups)
      changed |= rewrite(group);
    // Once no group names them: one may read where another one does.
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
    return changed;
  }

private:
  void collect() {
    size_t open = 0; // groups before it may not grow
    for (Instruction &instruction : block) {
      auto *gather = dyn_cast<IntrinsicInst>(&instruction);
      if (gather && gather->getIntrinsicID() == Intrinsic::masked_gather) {
        if (!isWhole(*gather))
          continue;
        Place place;
        if (!PlaceReader(layout, place).read(gather->getArgOperand(0)))
          continue;
        auto *found = find_if(drop_begin(groups, open), [&](const Group &group) {
          return group.gathers[0].first->getType() == gather->getType() &&
                 group.place.isBeside(place);
        });
        if (found == groups.end())
          groups.push_back({place, {{gather, 0}}});
        else
          found->gathers.push_back({gather, int64_t(place.offset - found->place.offset)});
      } else if (instruction.mayWriteToMemory() ||
                 !isGuaranteedToTransferExecutionToSuccessor(&instruction)) {
        open = groups.size();
      }
    }
  }

  /// Does it read a number of 4 or 8 bytes in each of 4, 8 or 16 lanes?
  static bool isWhole(IntrinsicInst &gather) {
    auto *type = dyn_cast<FixedVectorType>(gather.getType());
    unsigned bits = type ? type->getScalarSizeInBits() : 0,
             lanes = type ? type->getNumElements() : 0;
    auto *mask = dyn_cast<Constant>(gather.getArgOperand(1));
    return mask && mask->isAllOnesValue() && !type->getElementType()->isPointerTy() &&
           (bits == 32 || bits == 64) && lanes >= windowBytes * 8 / bits && lanes <= 16 &&
           isPowerOf2_32(lanes);
  }

  static int64_t numberBytes(const Group &group) {
    return group.gathers[0].first->getType()->getScalarSizeInBits() / 8;
  }

  bool rewrite(Group &group) {
    // Windows of what lies together, by the bytes; of gathers that read the same the first one comes first.
    stable_sort(group.gathers, [](auto &a, auto &b) { return a.second < b.second; });
    int64_t bytes = numberBytes(group);
    SmallVector<Window> windows;
    for (size_t k = 0; k < group.gathers.size();) {
      size_t end = k + 1;
      while (end < group.gathers.size() &&
             group.gathers[end].second < group.gathers[end - 1].second + windowBytes)
        ++end;
      cover(ArrayRef(group.gathers).slice(k, end - k), bytes, windows);
      k = end;
    }
    if (windows.empty())
      return false;
    tell(windows);
    IntrinsicInst *first = nullptr;
    for (auto &[gather, offset] : group.gathers)
      if (!first || gather->comesBefore(first))
        first = gather;
    // The addresses of the first one's lanes: the others' are at constant distances.
    int64_t origin = find_if(group.gathers, [&](auto &one) { return one.first == first; })->second;
    IRBuilder<> builder(first);
    SmallVector<Value *> lanes;
    Value *pointers = first->getArgOperand(0);
    for (unsigned lane = 0; lane < cast<FixedVectorType>(first->getType())->getNumElements();
         ++lane)
      lanes.push_back(builder.CreateExtractElement(pointers, lane));
    for (Window &window : windows)
      read(window, lanes, origin);
    return true;
  }

  void tell(ArrayRef<Window> windows) {
    size_t gathers = 0;
    for (const Window &window : windows)
      gathers += window.gathers.size();
    IntrinsicInst *first = windows[0].gathers[0].first;
    OptimizationRemarkEmitter(block.getParent()).emit([&] {
      return OptimizationRemark(metate::windowsPass.data(), "Windows", first->getDebugLoc(), &block)
             << ore::NV("Gathers", gathers) << " gathers, " << ore::NV("Windows", windows.size())
             << " windows";
    });
  }

  /// Windows for gathers that lie together, where two numbers and more are in each.
  static void cover(ArrayRef<std::pair<IntrinsicInst *, int64_t>> gathers, int64_t bytes,
                    SmallVectorImpl<Window> &windows) {
    int64_t end = gathers.back().second + bytes;
    SmallVector<Window> made;
    size_t numbers = 0;
    for (auto &[gather, offset] : gathers) {
      if ((offset - gathers.front().second) % bytes)
        return;
      numbers += made.empty() || made.back().gathers.empty() || offset != last(made.back(), bytes);
      if (made.empty() || offset + bytes > made.back().end) {
        int64_t begin = std::max(std::min(offset, end - windowBytes), gathers.front().second);
        made.push_back({begin, std::min(begin + windowBytes, end), {}});
      }
      made.back().gathers.push_back({gather, (offset - made.back().begin) / bytes});
    }
    if (numbers >= 2 * made.size())
      append_range(windows, made);
  }

  static int64_t last(const Window &window, int64_t bytes) {
    return window.begin + window.gathers.back().second * bytes;
  }

  /// The bytes of a lane as a vector; there are 8, 12 or 16.
  static Value *readLane(IRBuilder<> &builder, Type *number, int64_t bytes, Value *address,
                         const AAMDNodes &aliases, Align align) {
    auto load = [&](Type *type, Value *from) {
      auto *made = builder.CreateAlignedLoad(type, from, align);
      made->setAAMetadata(aliases);
      return made;
    };
    int64_t each = number->getScalarSizeInBits() / 8, count = bytes / each,
            whole = windowBytes / each;
    if (count == whole)
      return load(FixedVectorType::get(number, unsigned(whole)), address);
    Value *read = load(FixedVectorType::get(number, unsigned(count & ~1)), address);
    SmallVector<int> places(whole, PoisonMaskElem);
    std::iota(places.begin(), places.begin() + (count & ~1), 0);
    read = builder.CreateShuffleVector(read, places);
    if (count & 1)
      read = builder.CreateInsertElement(
          read,
          load(number, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address,
                                                          (count - 1) * each)),
          uint64_t(count - 1));
    return read;
  }

  static Value *join(IRBuilder<> &builder, ArrayRef<Value *> parts) {
    SmallVector<Value *> joined(parts);
    while (joined.size() > 1) {
      SmallVector<Value *> next;
      for (size_t k = 0; k < joined.size(); k += 2) {
        unsigned size = cast<FixedVectorType>(joined[k]->getType())->getNumElements();
        SmallVector<int> places(2 * size);
        std::iota(places.begin(), places.end(), 0);
        next.push_back(builder.CreateShuffleVector(joined[k], joined[k + 1], places));
      }
      joined = next;
    }
    return joined[0];
  }

  void read(Window &window, ArrayRef<Value *> lanes, int64_t origin) {
    IntrinsicInst *first = window.gathers[0].first;
    AAMDNodes aliases = first->getAAMetadata();
    Type *number = first->getType()->getScalarType();
    // A window may begin before what its gathers read, at a number that is as aligned as numbers are.
    Align align(number->getScalarSizeInBits() / 8);
    for (auto &[gather, number] : window.gathers) {
      if (gather->comesBefore(first))
        first = gather;
      aliases = aliases.merge(gather->getAAMetadata());
      align = std::min(align, gather->getParamAlign(0).valueOrOne());
    }
    IRBuilder<> builder(first);
    size_t whole = windowBytes * 8 / number->getScalarSizeInBits();
    // Lanes k, k + whole, ... lie in vector k: numbers of one lane stand where those of its neighbours are to stand.
    SmallVector<Value *> rows;
    for (size_t k = 0; k < whole; ++k) {
      SmallVector<Value *> parts;
      for (size_t lane = k; lane < lanes.size(); lane += whole) {
        Value *address = builder.CreateConstGEP1_64(
            builder.getInt8Ty(), lanes[isMutant(Mutant::WindowsOfFirstLanes) ? k : lane],
            window.begin - origin);
        parts.push_back(
            readLane(builder, number, window.end - window.begin, address, aliases, align));
      }
      rows.push_back(join(builder, parts));
    }
    SmallVector<Value *> columns(whole);
    for (auto &[gather, place] : window.gathers) {
      Value *&column = columns[place];
      if (!column)
        column = columnOf(builder, rows, unsigned(place));
      gather->replaceAllUsesWith(column);
      dead.push_back(gather);
    }
  }

  /// Number `place` of each lane. In parts of 16 bytes, as shuffles of x86 go: pairs of rows, then pairs of pairs.
  static Value *columnOf(IRBuilder<> &builder, ArrayRef<Value *> rows, unsigned place) {
    unsigned whole = unsigned(rows.size()),
             lanes = cast<FixedVectorType>(rows[0]->getType())->getNumElements();
    auto shuffle = [&](Value *a, Value *b, ArrayRef<unsigned> part) {
      SmallVector<int> places;
      for (unsigned begin = 0; begin < lanes; begin += whole)
        for (unsigned at : part)
          places.push_back(int(at < whole ? begin + at : lanes + begin + at - whole));
      return builder.CreateShuffleVector(a, b, places);
    };
    if (whole == 2)
      return shuffle(rows[0], rows[1], {place, 2 + place});
    unsigned half = place & 2, k = (place & 1) * 2;
    const unsigned halves[] = {half, 4 + half, half + 1, 5 + half};
    Value *a = shuffle(rows[0], rows[1], halves), *b = shuffle(rows[2], rows[3], halves);
    return shuffle(a, b, {k, k + 1, 4 + k, 5 + k});
  }

  BasicBlock &block;
  const DataLayout &layout;
  SmallVector<Group> groups;
  SmallVector<WeakTrackingVH> dead;
};
} // namespace

PreservedAnalyses metate::ReadWindows::run(Function &function, FunctionAnalysisManager &) {
  if (!function.getParent()->getTargetTriple().isX86())
    return PreservedAnalyses::all();
  bool changed = false;
  for (BasicBlock &block : function)
    changed |= Block(block).run();
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
