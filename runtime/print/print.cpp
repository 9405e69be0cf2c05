// Formatting print statements. Independent of the locale; a statement is delivered whole, under the
// device's lock, so that lines of different workers do not interleave.
#include "print/print.h"

#include "device/device.h"
#include "print/format.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace metate::print {

namespace {

// Appends to a buffer on the stack, then in the device's memory. When the allocator refuses, what
// does not fit is cut and "..." marks the cut.
class Text {
public:
  explicit Text(metate_device &device) : device(device) {}
  ~Text() {
    if (data != small)
      device.release(data, capacity, 1);
  }
  Text(const Text &) = delete;
  Text &operator=(const Text &) = delete;

  void append(const char *from, size_t bytes) {
    if (cut)
      return;
    if (bytes + 4 > capacity - used && !grow(bytes)) {
      bytes = capacity - used - 4;
      cut = true;
    }
    memcpy(data + used, from, bytes);
    used += bytes;
    if (cut) {
      memcpy(data + used, "...", 3);
      used += 3;
    }
  }
  const char *finish() {
    data[used] = 0;
    return data;
  }
  size_t size() const { return used; }

private:
  bool grow(size_t bytes) {
    size_t larger = capacity * 2 + bytes;
    auto *place = static_cast<char *>(device.allocate(larger, 1));
    if (!place)
      return false;
    memcpy(place, data, used);
    if (data != small)
      device.release(data, capacity, 1);
    data = place;
    capacity = larger;
    return true;
  }

  metate_device &device;
  char small[512];
  char *data = small;
  size_t capacity = sizeof small;
  size_t used = 0;
  bool cut = false;
};

char *put(char *to, const char *from, size_t count) {
  memcpy(to, from, count);
  return to + count;
}

char *putZeros(char *to, int count) {
  for (int i = 0; i < count; ++i)
    *to++ = '0';
  return to;
}

// From the digits of d.ddde±xx to the form that Python prints.
char *layOut(const char *digits, int count, int exponent, char *to) {
  if (exponent >= -4 && exponent < 16) {
    if (exponent < 0) {
      to = put(to, "0.", 2);
      to = putZeros(to, -exponent - 1);
      return put(to, digits, size_t(count));
    }
    int whole = exponent + 1;
    if (count <= whole) {
      to = put(to, digits, size_t(count));
      to = putZeros(to, whole - count);
      return put(to, ".0", 2);
    }
    to = put(to, digits, size_t(whole));
    *to++ = '.';
    return put(to, digits + whole, size_t(count - whole));
  }
  *to++ = digits[0];
  if (count > 1) {
    *to++ = '.';
    to = put(to, digits + 1, size_t(count - 1));
  }
  *to++ = 'e';
  *to++ = exponent < 0 ? '-' : '+';
  int magnitude = exponent < 0 ? -exponent : exponent;
  if (magnitude >= 100)
    *to++ = char('0' + magnitude / 100);
  *to++ = char('0' + magnitude / 10 % 10);
  *to++ = char('0' + magnitude % 10);
  return to;
}

// digits[0].digits[1..] * 10^exponent, without zeros at the end.
struct Decimal {
  char digits[24];
  int count = 0, exponent = 0;

  // `precision` digits of a value that is not negative, as near as so many can be.
  Decimal(double value, int precision) {
    char text[48];
    snprintf(text, sizeof text, "%.*e", precision - 1, value);
    const char *at = text;
    for (; *at && *at != 'e'; ++at)
      if (*at >= '0' && *at <= '9') // whatever the locale's point is
        digits[count++] = *at;
    exponent = atoi(at + 1);
    dropZeros();
  }

  void dropZeros() {
    while (count > 1 && digits[count - 1] == '0')
      --count;
  }

  // The next one of `precision` digits.
  void increment(int precision) {
    while (count < precision)
      digits[count++] = '0';
    int at = count - 1;
    for (; at > 0 && digits[at] == '9'; --at)
      digits[at] = '0';
    if (digits[at] == '9') {
      digits[at] = '1';
      ++exponent;
    } else {
      ++digits[at];
    }
    dropZeros();
  }

  template <typename Float> bool reads(Float value) const {
    char text[48];
    snprintf(text, sizeof text, "%.*se%d", count, digits, exponent - count + 1);
    return sizeof(Float) == 4 ? strtof(text, nullptr) == float(value)
                              : strtod(text, nullptr) == double(value);
  }
};

// The fewest digits that read back as the value, and of these the nearest. The C library's conversions do it:
// to_chars would bring 100 KiB of tables.
template <typename Float> Decimal shortestOf(Float value) {
  int most = std::numeric_limits<Float>::max_digits10, unused;
  // Below a power of two numbers lie twice as close as above: the nearest decimal may miss where the next one does not.
  bool isPower = std::frexp(value, &unused) == Float(0.5);
  for (int precision = 1; precision < most; ++precision) {
    Decimal decimal(value, precision);
    if (decimal.reads(value))
      return decimal;
    if (isPower) {
      decimal.increment(precision);
      if (decimal.reads(value))
        return decimal;
    }
  }
  return Decimal(value, most);
}

template <typename Float> char *format(Float value, char *to) {
  if (std::isnan(value))
    return put(to, "nan", 3);
  if (std::signbit(value)) {
    *to++ = '-';
    value = -value;
  }
  if (std::isinf(value))
    return put(to, "inf", 3);
  Decimal decimal = shortestOf(value);
  return layOut(decimal.digits, decimal.count, decimal.exponent, to);
}

void appendItem(Text &text, const metate_print_item &item, const char *format) {
  if (item.kind == METATE_PRINT_TEXT) {
    if (item.value.text)
      text.append(item.value.text, strlen(item.value.text));
    return;
  }
  char number[formattedBytes];
  text.append(number, size_t(formatItem(item, format, number) - number));
}

} // namespace

char *formatF64(double value, char *to) { return format(value, to); }
char *formatF32(float value, char *to) { return format(value, to); }

void deliver(void *self, const metate_print_item *items, uint32_t count) {
  auto &device = *static_cast<metate_device *>(self);
  Text text(device);
  const char *format = nullptr; // of the next item
  for (uint32_t i = 0; i < count; ++i) {
    if (items[i].kind != METATE_PRINT_FORMAT)
      appendItem(text, items[i], format);
    format = items[i].kind == METATE_PRINT_FORMAT ? items[i].value.text : nullptr;
  }
  const char *finished = text.finish();
  os::Lock lock(device.printMutex);
  device.sink.text(device.sink.self, finished, text.size());
}

} // namespace metate::print
