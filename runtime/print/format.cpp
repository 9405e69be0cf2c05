// Python's formats of numbers: no locale, no allocation. Digits of fractions are the C library's, for to_chars
// would bring 100 KiB of tables. A format comes from a module's bytes, so nothing about it is taken for granted.
#include "print/format.h"

#include "print/print.h"

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace metate::print {

namespace {

constexpr unsigned mostColumns = 1000, mostDigits = 100;

struct Format {
  char fill[4] = {' '};
  unsigned fillBytes = 1;
  char align = 0, sign = '-', group = 0, type = 0;
  bool alternate = false;
  unsigned width = 0;
  int precision = -1;
};

bool isOneOf(char c, const char *list) { return c && strchr(list, c); }

// Bytes of the UTF-8 character that starts here, cut short by the text's end.
unsigned characterBytes(const char *at) {
  auto lead = static_cast<unsigned char>(*at);
  unsigned bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : lead ? 1 : 0;
  for (unsigned i = 1; i < bytes; ++i)
    if (!at[i])
      return i;
  return bytes;
}

unsigned takeNumber(const char *&at, unsigned most) {
  unsigned number = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + unsigned(*at - '0') < most ? number * 10 + unsigned(*at - '0') : most;
  return number;
}

// False if the text is no format.
bool parse(const char *at, Format *format) {
  unsigned bytes = characterBytes(at);
  bool hasFill = false;
  if (bytes && isOneOf(at[bytes], "<>=^")) {
    memcpy(format->fill, at, bytes);
    format->fillBytes = bytes;
    at += bytes;
    hasFill = true;
  }
  if (isOneOf(*at, "<>=^"))
    format->align = *at++;
  if (isOneOf(*at, "+- "))
    format->sign = *at++;
  if (*at == '#')
    format->alternate = *at++;
  if (*at == '0' && !hasFill) {
    ++at;
    format->fill[0] = '0';
    if (!format->align)
      format->align = '=';
  }
  format->width = takeNumber(at, mostColumns);
  if (isOneOf(*at, ",_"))
    format->group = *at++;
  if (*at == '.') {
    ++at;
    format->precision = int(takeNumber(at, mostDigits));
  }
  if (isOneOf(*at, "bdoxXeEfFgG%aAiu"))
    format->type = *at++;
  if (isOneOf(format->type, "iu"))
    format->type = 'd';
  return *at == 0;
}

// A number's parts: a sign, digits that can be grouped, and what follows them.
struct Parts {
  char sign = 0;
  char prefix[2] = {};
  unsigned prefixLength = 0;
  char digits[512];
  unsigned count = 0; // of digits
  unsigned whole = 0; // how many of them stand before the point, the exponent or the end
};

char signOf(const Format &format, bool isNegative) {
  return isNegative ? '-' : format.sign == '-' ? 0 : format.sign;
}

void putInteger(const Format &format, uint64_t magnitude, bool isNegative, Parts *parts) {
  int base = format.type == 'b' ? 2 : format.type == 'o' ? 8 : isOneOf(format.type, "xX") ? 16 : 10;
  parts->sign = signOf(format, isNegative);
  char *limit = parts->digits + sizeof parts->digits;
  auto count = unsigned(std::to_chars(parts->digits, limit, magnitude, base).ptr - parts->digits);
  if (format.precision > int(count)) { // the least number of digits, as in C
    unsigned zeros = unsigned(format.precision) - count;
    memmove(parts->digits + zeros, parts->digits, count);
    memset(parts->digits, '0', zeros);
    count += zeros;
  }
  parts->count = parts->whole = count;
  for (unsigned i = 0; format.type == 'X' && i < parts->count; ++i)
    if (parts->digits[i] >= 'a')
      parts->digits[i] = char(parts->digits[i] - 'a' + 'A');
  if (format.alternate && base != 10) {
    parts->prefix[0] = '0';
    parts->prefix[1] = format.type;
    parts->prefixLength = 2;
  }
}

// As C's conversion of that kind ('a', 'e', 'f', 'g') writes a value that is not negative, with a point in every
// locale. `limit` is behind the last character, and a zero comes behind the result.
char *putDigits(char kind, double value, int precision, char *to, char *limit) {
  const char *conversion = kind == 'a'   ? "%.*a"
                           : kind == 'e' ? "%.*e"
                           : kind == 'f' ? "%.*f"
                                         : "%.*g";
  int count = snprintf(to, size_t(limit - to), conversion, precision, value);
  char *end = to + (count < limit - to ? count : limit - to - 1);
  const char *point = localeconv()->decimal_point;
  size_t length = strlen(point);
  char *at = *point == '.' ? nullptr : strstr(to, point);
  if (!at)
    return end;
  *at = '.';
  memmove(at + 1, at + length, size_t(end - at) - length + 1);
  return end - length + 1;
}

// The exponent that the value has with so many digits.
int decimalExponent(double value, int digits) {
  char text[160];
  char *end = putDigits('e', value, digits > 0 ? digits - 1 : 0, text, text + sizeof text);
  char *at = end;
  while (at > text && at[-1] != 'e')
    --at;
  int exponent = 0;
  std::from_chars(*at == '+' ? at + 1 : at, end, exponent);
  return exponent;
}

char *dropZeros(char *from, char *end) {
  char *point = static_cast<char *>(memchr(from, '.', size_t(end - from)));
  if (!point)
    return end;
  char *exponent = static_cast<char *>(memchr(from, 'e', size_t(end - from)));
  char *last = exponent ? exponent : end;
  char *kept = last;
  while (kept > point + 1 && kept[-1] == '0')
    --kept;
  if (kept == point + 1)
    --kept;
  memmove(kept, last, size_t(end - last));
  return kept + (end - last);
}

// Like 'g', but a fraction keeps a digit after its point: Python's format without a type.
char *putPlain(double value, int precision, char *to, char *limit) {
  int exponent = decimalExponent(value, precision);
  bool isFixed = exponent >= -4 && exponent < precision - 1;
  int digits = isFixed ? precision - 1 - exponent : precision - 1;
  char *end = putDigits(isFixed ? 'f' : 'e', value, digits > 0 ? digits : 0, to, limit);
  end = dropZeros(to, end);
  if (isFixed && !memchr(to, '.', size_t(end - to))) {
    *end++ = '.';
    *end++ = '0';
  }
  return end;
}

char *putFinite(const Format &format, double value, bool isSingle, char *to, char *limit) {
  int precision = format.precision < 0 ? 6 : format.precision;
  switch (format.type) {
  case 'a':
  case 'A':
    return putDigits('a', value, format.precision, to, limit); // -1: as many as there are
  case 'e':
  case 'E':
    return putDigits('e', value, precision, to, limit);
  case 'f':
  case 'F':
    return putDigits('f', value, precision, to, limit);
  case '%': {
    char *end = putDigits('f', value * 100, precision, to, limit - 1);
    *end++ = '%';
    return end;
  }
  case 'g':
  case 'G':
    return putDigits('g', value, precision ? precision : 1, to, limit);
  default:
    if (format.precision < 0)
      return isSingle ? formatF32(float(value), to) : formatF64(value, to);
    return putPlain(value, precision ? precision : 1, to, limit);
  }
}

void putFloat(const Format &format, double value, bool isSingle, Parts *parts) {
  bool isNegative = std::signbit(value) && !std::isnan(value);
  parts->sign = signOf(format, isNegative);
  char *end = parts->digits;
  if (std::isnan(value) || std::isinf(value)) {
    memcpy(end, std::isnan(value) ? "nan" : "inf", 3);
    end += 3;
    if (format.type == '%')
      *end++ = '%';
  } else {
    end = putFinite(format, isNegative ? -value : value, isSingle, end,
                    parts->digits + sizeof parts->digits);
    while (parts->digits + parts->whole < end && parts->digits[parts->whole] >= '0' &&
           parts->digits[parts->whole] <= '9')
      ++parts->whole;
  }
  parts->count = unsigned(end - parts->digits);
  for (unsigned i = 0; isOneOf(format.type, "AEFG") && i < parts->count; ++i)
    if (parts->digits[i] >= 'a' && parts->digits[i] <= 'z')
      parts->digits[i] = char(parts->digits[i] - 'a' + 'A');
}

// Signs between groups of the digits, with `zeros` more of them in front.
char *putGrouped(const Format &format, const Parts &parts, unsigned zeros, char *to) {
  unsigned size = isOneOf(format.type, "boxX") ? 4 : 3, all = zeros + parts.whole;
  for (unsigned i = 0; i < all; ++i) {
    if (i && format.group && (all - i) % size == 0)
      *to++ = format.group;
    *to++ = i < zeros ? '0' : parts.digits[i - zeros];
  }
  memcpy(to, parts.digits + parts.whole, parts.count - parts.whole);
  return to + (parts.count - parts.whole);
}

char *putFill(const Format &format, unsigned columns, char *to) {
  for (unsigned i = 0; i < columns; ++i) {
    memcpy(to, format.fill, format.fillBytes);
    to += format.fillBytes;
  }
  return to;
}

char *assemble(const Format &format, const Parts &parts, char *to) {
  char body[2048];
  unsigned head = (parts.sign ? 1 : 0) + parts.prefixLength;
  unsigned used = unsigned(putGrouped(format, parts, 0, body) - body);
  bool isZeroFilled = format.align == '=' && format.fillBytes == 1 && format.fill[0] == '0';
  // Zeros are digits where there are groups: they are grouped too.
  for (unsigned zeros = 1;
       isZeroFilled && format.group && parts.whole && head + used < format.width; ++zeros)
    used = unsigned(putGrouped(format, parts, zeros, body) - body);
  unsigned missing = format.width > head + used ? format.width - head - used : 0;
  char align = format.align ? format.align : '>';
  unsigned before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  to = putFill(format, before, to);
  if (parts.sign)
    *to++ = parts.sign;
  memcpy(to, parts.prefix, parts.prefixLength);
  to += parts.prefixLength;
  unsigned inside = align == '=' ? missing : 0;
  to = putFill(format, inside, to);
  memcpy(to, body, used);
  return putFill(format, missing - before - inside, to + used);
}

char *putPlainItem(const metate_print_item &item, char *to) {
  switch (item.kind) {
  case METATE_PRINT_I64:
    return std::to_chars(to, to + 24, item.value.i).ptr;
  case METATE_PRINT_U64:
    return std::to_chars(to, to + 24, item.value.u).ptr;
  case METATE_PRINT_F32:
    return formatF32(float(item.value.d), to);
  case METATE_PRINT_F64:
    return formatF64(item.value.d, to);
  case METATE_PRINT_BOOL:
    memcpy(to, item.value.u ? "True" : "False", 5);
    return to + (item.value.u ? 4 : 5);
  default:
    return to;
  }
}

} // namespace

char *formatItem(const metate_print_item &item, const char *text, char *to) {
  Format format;
  if (!text || !*text || !parse(text, &format))
    return putPlainItem(item, to);
  Parts parts;
  bool isFloat = item.kind == METATE_PRINT_F32 || item.kind == METATE_PRINT_F64;
  bool asFloat = isFloat || isOneOf(format.type, "eEfFgG%aA");
  if (isFloat && isOneOf(format.type, "bdoxX"))
    return putPlainItem(item, to);
  bool isSigned = item.kind == METATE_PRINT_I64, isNegative = isSigned && item.value.i < 0;
  if (item.kind < METATE_PRINT_I64 || item.kind > METATE_PRINT_BOOL)
    return to;
  if (asFloat)
    putFloat(format,
             isFloat    ? item.value.d
             : isSigned ? double(item.value.i)
                        : double(item.value.u),
             item.kind == METATE_PRINT_F32, &parts);
  else
    putInteger(format, isNegative ? 0 - item.value.u : item.value.u, isNegative, &parts);
  return assemble(format, parts, to);
}

} // namespace metate::print
