// Quantised members: between the bits in words and values of the type that hosts see, as docs/semantics.md says (QV1 to QV4).
// Values are converted in rows, by loops that are chosen once for a row. Where words lie in a tree is not known here.
#ifndef METATE_RUNTIME_FORMAT_QUANT_H
#define METATE_RUNTIME_FORMAT_QUANT_H

#include "format/blob.h"

namespace metate {

// NULL: the level is no quantised member.
inline const metate_quant *quantOf(const metate_tree_type *type, uint32_t level) {
  uint32_t offset = levelsOf(type)[level].quant;
  const auto *start = reinterpret_cast<const uint8_t *>(type);
  return offset ? reinterpret_cast<const metate_quant *>(start + offset) : nullptr;
}

// Parts of the verifier of types. What contradicts itself in how a quantised member is stored; NULL: nothing. Its record and its
// parent's have passed their checks.
const char *quantProblem(const metate_tree_type *type, uint32_t member);
// The same of what a bit_struct or a quant_array holds, whose members have.
const char *wordProblem(const metate_tree_type *type, uint32_t level);

// The words of a row of values: of a bit_struct one each, `step` bytes from one to the next; of a quant_array those from
// element `first` on, side by side.
struct Words {
  uint8_t *at;
  uint64_t step = 0;
  uint64_t first = 0;
};

// How the values of one member lie in words.
class Packing {
public:
  Packing() = default;
  // A quantised member of a type that has passed the verifier.
  Packing(const metate_tree_type *type, uint32_t member);

  // Are the values in words?
  explicit operator bool() const { return quant; }
  bool isArray() const { return perWord; }
  // Elements of a quant_array's word.
  uint32_t elementsPerWord() const { return perWord; }

  // Writes take the values of several members, one after the other in an array's element: all of those are of one shared
  // exponent, which is chosen for all of them at once. `levels` stays the caller's.
  void join(const uint32_t *levels, uint32_t count) {
    joined = levels;
    joinedCount = count;
  }

  // A row of `count` values, `step` bytes from one to the next.
  void read(Words words, uint64_t count, uint8_t *values, uint64_t step) const;
  // The same; step 0: one value for all of them. No other thread may write these words.
  void write(Words words, uint64_t count, const uint8_t *values, uint64_t step) const;
  // One value; others of the word may be written by other threads meanwhile. `element`: of a quant_array, counted from this word on.
  void fetch(const uint8_t *word, uint64_t element, uint8_t *value) const;
  void store(uint8_t *word, uint64_t element, const uint8_t *value) const;

private:
  const metate_tree_type *type = nullptr;
  const metate_quant *quant = nullptr;
  uint32_t member = 0;
  uint32_t valueBytes = 0;
  uint32_t perWord = 0; // 0: of a bit_struct
  const uint32_t *joined = nullptr;
  uint32_t joinedCount = 0;

  template <typename Raw>
  void decode(const Raw *raw, const Raw *exponents, uint64_t count, uint8_t *values) const;
  template <typename Raw> void encode(const uint8_t *values, uint64_t count, Raw *raw) const;
  template <typename Raw>
  void readRow(Words words, uint64_t count, uint8_t *values, uint64_t step) const;
  template <typename Raw>
  void writeRow(Words words, uint64_t count, const uint8_t *values, uint64_t step) const;
  bool isShared() const { return quant->flags & METATE_QUANT_SHARED; }
  // New values of this member, or of those that are joined: all that share the exponent are stored anew.
  template <typename Float>
  void writeShared(Words words, uint64_t count, const uint8_t *values, uint64_t step) const;
};

} // namespace metate

#endif
