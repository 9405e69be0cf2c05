// Arithmetic on sizes that came from a file or a caller: it never wraps silently.
#ifndef METATE_RUNTIME_SUPPORT_CHECKED_H
#define METATE_RUNTIME_SUPPORT_CHECKED_H

#include <cstdint>

namespace metate {

// An unsigned 64-bit value that remembers whether any step overflowed.
class Checked {
public:
  constexpr Checked(uint64_t value) : number(value) {}

  Checked operator+(Checked other) const {
    Checked result(0);
    result.wrapped =
        __builtin_add_overflow(number, other.number, &result.number) || wrapped || other.wrapped;
    return result;
  }
  Checked operator*(Checked other) const {
    Checked result(0);
    result.wrapped =
        __builtin_mul_overflow(number, other.number, &result.number) || wrapped || other.wrapped;
    return result;
  }
  // Up to the next multiple of `align`, a power of two.
  Checked alignedTo(uint64_t align) const {
    Checked sum = *this + Checked(align - 1);
    sum.number &= ~(align - 1);
    return sum;
  }

  bool overflowed() const { return wrapped; }
  // Saturates, so that a forgotten overflowed() is a refusal and not a small number.
  uint64_t value() const { return wrapped ? UINT64_MAX : number; }
  bool fitsIn(uint64_t bound) const { return !wrapped && number <= bound; }

private:
  uint64_t number;
  bool wrapped = false;
};

// Does [offset, offset + bytes) lie in [0, size)?
inline bool inRange(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

inline bool isPowerOfTwo(uint64_t value) { return value && !(value & (value - 1)); }

} // namespace metate

#endif
