// The verifier of words: how members are stored in bit_structs and quant_arrays, what shares an exponent, and backgrounds. Part of the
// verifier of type blobs (blob.cpp).
#include "format/quant.h"

#include <cmath>
#include <cstring>

namespace metate {

namespace {

const void *backgroundOf(const metate_tree_type *type, uint32_t level) {
  return reinterpret_cast<const uint8_t *>(type) + levelsOf(type)[level].background;
}

uint64_t bitsFrom(uint32_t shift, uint32_t bits) { return ~uint64_t(0) >> (64 - bits) << shift; }

bool fits(uint32_t shift, uint32_t bits, uint32_t word) {
  return bits && bits <= word && shift <= word - bits;
}

bool isInteger(uint32_t dtype) { return dtype >= METATE_I8 && dtype <= METATE_U64; }

// The rules of a float's exponent and digits.
const char *floatProblem(const metate_quant &quant, bool isDouble, uint32_t word) {
  bool shared = quant.flags & METATE_QUANT_SHARED, sign = quant.flags & METATE_QUANT_SIGNED;
  if (!quant.exponent_bits || quant.exponent_bits > (isDouble ? 11u : 8u))
    return "its exponent has another number of bits";
  int64_t digits = int64_t(quant.bits) - sign - (shared ? 0 : quant.exponent_bits);
  if (digits < 1 || digits > (isDouble ? 52 : 23))
    return "it has more digits than its element type, or none";
  if (shared ? !fits(quant.exponent_shift, quant.exponent_bits, word)
             : quant.exponent_shift != quant.shift + digits)
    return "its exponent is misplaced";
  return nullptr;
}

// The bits of each kind, and what they become.
const char *numberProblem(const metate_level &place, const metate_quant &quant, uint32_t word) {
  bool isDouble = place.dtype == METATE_F64, sign = quant.flags & METATE_QUANT_SIGNED;
  uint32_t digits = quant.bits - sign;
  if (quant.kind < METATE_QUANT_INT || quant.kind > METATE_QUANT_FLOAT)
    return "unknown kind of a quantised member";
  if (quant.kind == METATE_QUANT_INT && !isInteger(place.dtype))
    return "its element type is no integer";
  if (quant.kind != METATE_QUANT_INT && place.dtype != METATE_F32 && !isDouble)
    return "its element type is neither f32 nor f64";
  if (quant.kind == METATE_QUANT_INT     ? quant.bits > 8 * place.cell_bytes
      : quant.kind == METATE_QUANT_FIXED ? digits > (isDouble ? 53u : 24u)
                                         : false)
    return "its element type does not hold its bits";
  return quant.kind == METATE_QUANT_FLOAT ? floatProblem(quant, isDouble, word) : nullptr;
}

// Members that share an exponent name the first of them, which is in the same word, and agree on the exponent.
const char *groupProblem(const metate_tree_type *type, uint32_t member) {
  const metate_level *levels = levelsOf(type);
  const metate_quant &quant = *quantOf(type, member);
  if (!(quant.flags & METATE_QUANT_SHARED))
    return quant.group == METATE_NONE ? nullptr : "it shares no exponent, and names a group";
  if (quant.group > member || levels[quant.group].parent != levels[member].parent)
    return "its group is not in its word";
  const metate_quant &first = *quantOf(type, quant.group);
  if (first.group != quant.group || first.exponent_bits != quant.exponent_bits ||
      first.exponent_shift != quant.exponent_shift ||
      levels[quant.group].dtype != levels[member].dtype)
    return "its group has another exponent";
  return nullptr;
}

// Every bit of a word is one member's, or one exponent's; nullptr: *used are these bits.
const char *bitsProblem(const metate_tree_type *type, uint32_t word, uint64_t *used) {
  const metate_level *levels = levelsOf(type);
  *used = 0;
  for (uint32_t at = word + 1; at < type->level_count && levels[at].parent == word; ++at) {
    const metate_quant &quant = *quantOf(type, at);
    uint32_t sharers = 0;
    for (uint32_t other = at;
         quant.group == at && other < type->level_count && levels[other].parent == word; ++other)
      sharers += quantOf(type, other)->group == at;
    if (quant.group == at && sharers < 2)
      return "a member shares its exponent with no other";
    uint64_t mine = bitsFrom(quant.shift, quant.bits);
    uint64_t exponent = quant.group == at ? bitsFrom(quant.exponent_shift, quant.exponent_bits) : 0;
    if (*used & mine || (*used | mine) & exponent)
      return "two members have one bit";
    *used |= mine | exponent;
  }
  return nullptr;
}

// A member's background is the value of its bits, of all elements of a quant_array's word. Members that share an exponent are
// stored together, each perhaps rounded further than alone.
const char *backgroundProblem(const metate_tree_type *type, uint32_t level, uint64_t used) {
  const metate_level *levels = levelsOf(type);
  uint32_t perWord = levels[level].kind == METATE_LEVEL_QUANT_ARRAY ? levels[level].slot_cells : 1;
  uint64_t word = 0;
  memcpy(&word, backgroundOf(type, level), levels[level].cell_bytes);
  if (word & ~used)
    return "its background has bits that are no member's";
  for (uint32_t at = level + 1; at < type->level_count && levels[at].parent == level; ++at) {
    uint64_t bytes = levels[at].cell_bytes;
    uint8_t values[64 * sizeof(double)];
    Packing(type, at).read({reinterpret_cast<uint8_t *>(&word), 0}, perWord, values, bytes);
    for (uint32_t k = 0; k < perWord && quantOf(type, at)->group == METATE_NONE; ++k)
      if (memcmp(values + k * bytes, backgroundOf(type, at), bytes) != 0)
        return "its background is not its members'";
  }
  return nullptr;
}

} // namespace

const char *quantProblem(const metate_tree_type *type, uint32_t member) {
  const metate_level &place = levelsOf(type)[member];
  const metate_quant &quant = *quantOf(type, member);
  uint32_t word = 8 * uint32_t(levelsOf(type)[place.parent].cell_bytes);
  if (place.element_rank || place.offset)
    return "a quantised member is no scalar, or not at its word";
  if (quant.reserved || quant.flags & ~(METATE_QUANT_SIGNED | METATE_QUANT_SHARED) ||
      (quant.flags & METATE_QUANT_SHARED && quant.kind != METATE_QUANT_FLOAT))
    return "a quantised member has unknown flags";
  if (8 * uint64_t(quant.word_bytes) != word || !fits(quant.shift, quant.bits, word))
    return "its bits are not in its word";
  if (quant.kind != METATE_QUANT_FLOAT && (quant.exponent_bits || quant.exponent_shift))
    return "only a float has an exponent";
  if (quant.kind == METATE_QUANT_FIXED ? !(quant.scale > 0 && std::isfinite(quant.scale))
                                       : quant.scale != 0)
    return "its scale is no positive number, or it has none";
  const char *problem = numberProblem(place, quant, word);
  return problem ? problem : groupProblem(type, member);
}

const char *wordProblem(const metate_tree_type *type, uint32_t level) {
  const metate_level *levels = levelsOf(type), &own = levels[level];
  uint64_t used = 0;
  if (const char *problem = bitsProblem(type, level, &used))
    return problem;
  if (own.kind == METATE_LEVEL_QUANT_ARRAY) {
    const metate_quant &quant = *quantOf(type, level + 1);
    if (level + 2 < type->level_count && levels[level + 2].parent == level)
      return "a quant_array has more than one member";
    if (quant.flags & METATE_QUANT_SHARED || quant.shift)
      return "its member is not alone in its bits";
    if (own.slot_cells != 8 * own.cell_bytes / quant.bits)
      return "its words have another number of elements";
    used = bitsFrom(0, own.slot_cells * quant.bits);
  }
  return backgroundProblem(type, level, used);
}

} // namespace metate
