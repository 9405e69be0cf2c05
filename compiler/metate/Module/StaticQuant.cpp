//===- StaticQuant.cpp - quantised members in a static header ---*- C++ -*-===//
//
// A quantised member has no address: a C host gets and sets its values by two functions. What bits mean is written once, in
// Support/Quantised.h, which the header has as it is; here are the numbers that it is called with.
//
//===----------------------------------------------------------------------===//
#include "metate/Module/StaticMembers.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace metate;
using llvm::StringRef;

/// A literal of this number, or of the f32 next to it, with as few digits as say so.
static std::string literalOf(double number, bool isDouble) {
  char text[32] = {};
  char *end = text + sizeof text - 1;
  isDouble ? std::to_chars(text, end, number) : std::to_chars(text, end, float(number));
  std::string literal = text;
  if (literal.find_first_of(".e") == std::string::npos)
    literal += ".0";
  return isDouble ? literal : literal + "f";
}

static std::string hexadecimal(uint64_t bits) {
  return bits ? "UINT64_C(0x" + llvm::utohexstr(bits, /*LowerCase=*/true) + ")" : "0";
}

namespace {

class QuantText {
public:
  explicit QuantText(const StaticMember &member)
      : member(member), quant(member.quant()), isDouble(member.level->dtype == METATE_F64),
        isSigned(quant.flags & METATE_QUANT_SIGNED), isShared(quant.flags & METATE_QUANT_SHARED),
        scalar(staticScalar(member.level->dtype)) {}
  std::string note() const;
  std::string get() const;
  std::string set() const;

private:
  std::string locate(StringRef pointer) const;
  std::string place() const;
  std::string value() const;
  std::string bitsOf() const;
  std::string share() const;
  std::string sharer(const metate_quant &of) const;
  /// "23, 127, 0": digits, bias and the sign of a float in its bits.
  std::string format() const {
    uint64_t sign = isSigned ? uint64_t(1) << (quant.bits - 1) : 0;
    return list({digits(quant), bias()}) + ", " + hexadecimal(sign);
  }
  std::string word() const { return std::to_string(quant.word_bytes); }
  std::string literal(double number) const { return literalOf(number, isDouble); }
  /// The function that makes numbers of floats, or the reverse.
  std::string function(StringRef name) const {
    return ("metate_quant_" + name + (isDouble ? "_f64" : "_f32")).str();
  }
  int32_t digits(const metate_quant &of) const {
    uint32_t others = of.flags & METATE_QUANT_SHARED ? 0 : of.exponent_bits;
    return int32_t(of.bits - others) - (of.flags & METATE_QUANT_SIGNED ? 1 : 0);
  }
  int32_t bias() const { return (1 << (quant.exponent_bits - 1)) - 1; }
  /// The greatest exponent that is stored.
  int32_t highest() const {
    return std::min((1 << quant.exponent_bits) - 1, bias() + (isDouble ? 1023 : 127));
  }
  static std::string list(std::initializer_list<int64_t> numbers) {
    return llvm::join(llvm::map_range(numbers, [](int64_t k) { return std::to_string(k); }), ", ");
  }

  const StaticMember &member;
  const metate_quant &quant;
  const bool isDouble, isSigned, isShared;
  const std::string scalar;
};

} // namespace

std::string QuantText::note() const {
  std::string text = " in " + std::to_string(quant.bits) + (quant.bits == 1 ? " bit" : " bits");
  if (!isSigned)
    text += " without sign";
  if (quant.kind == METATE_QUANT_FIXED)
    text += ", in steps of " + literalOf(quant.scale, /*isDouble=*/true);
  if (quant.kind == METATE_QUANT_FLOAT)
    text += (isShared ? " and a shared exponent of " : ", its exponent ") +
            std::to_string(quant.exponent_bits);
  return member.isWritable ? text : text + ", read only, for cells may be inactive";
}

/// `at`, the word's address.
std::string QuantText::locate(StringRef pointer) const {
  std::string text;
  if (member.perWord)
    text += staticStatement("const int64_t element = " + member.element + ";");
  return text +
         staticStatement((pointer + "at = (" + pointer + ")block + " + member.offset + ";").str());
}

/// "at, 4, 3, 5": the word, the lowest bit and how many.
std::string QuantText::place() const {
  std::string shift = std::to_string(quant.shift);
  if (member.perWord > 1)
    shift = "(uint32_t)(element % " + std::to_string(member.perWord) + ")" +
            (quant.bits > 1 ? " * " + std::to_string(quant.bits) : "");
  return "at, " + word() + ", " + shift + ", " + std::to_string(quant.bits);
}

/// "{0, 10, 9, -39}": a metate_quant_sharer.
std::string QuantText::sharer(const metate_quant &of) const {
  return "{" + list({of.shift, of.bits, digits(of), 1 - bias() - digits(of)}) + "}";
}

/// What is stored, as a value.
std::string QuantText::value() const {
  std::string stored = "metate_quant_get(" + place() + ")";
  if (isShared)
    return function("to") + "(metate_quant_shared(word, own, metate_quant_out(word, " +
           list({quant.exponent_shift, quant.exponent_bits}) + ")))";
  if (quant.kind == METATE_QUANT_FLOAT)
    return function("to") + "(metate_quant_of_bits(" + stored + ", " + format() + "))";
  if (isSigned)
    stored = "metate_quant_extended(" + stored + ", " + std::to_string(quant.bits) + ")";
  if (quant.kind == METATE_QUANT_INT)
    return "(" + scalar + ")" + stored;
  return "(" + scalar + ")" + (isSigned ? "" : "(int64_t)") + stored + " * " + literal(quant.scale);
}

std::string QuantText::get() const {
  std::string text = staticAccessor(member, scalar + " ", "_get", "const void *", "") +
                     locate("const unsigned char *");
  if (isShared)
    text += staticStatement("const metate_quant_sharer own = " + sharer(quant) + ";") +
            staticStatement("const uint64_t word = metate_quant_word(at, " + word() + ");");
  return text + staticStatement("return " + value() + ";") + "}\n";
}

/// The bits of `value`.
std::string QuantText::bitsOf() const {
  if (quant.kind == METATE_QUANT_INT)
    return "(uint64_t)value";
  if (quant.kind == METATE_QUANT_FLOAT)
    return "metate_quant_to_bits(" + function("of") + "(value), " + format() + ", " +
           hexadecimal(((uint64_t(highest()) + 1) << digits(quant)) - 1) + ")";
  // Of the least scales the reciprocal is no number: nothing is stored of any value then, as by 0.
  double steps = std::isfinite(1 / quant.scale) ? 1 / quant.scale : 0;
  return "metate_quant_steps(" + function("of") + "(value * " + literal(steps) + "), " +
         hexadecimal(uint64_t(1) << (quant.bits < 32 ? 31 : 63)) + ")";
}

/// Stores all that share the exponent.
std::string QuantText::share() const {
  std::vector<std::string> all;
  int64_t own = 0;
  for (uint32_t at = quant.group; at < member.type->blob->level_count; ++at) {
    if (member.levels()[at].parent != member.level->parent ||
        member.quantOf(at).group != quant.group)
      continue;
    if (at == member.index)
      own = int64_t(all.size());
    all.push_back(sharer(member.quantOf(at)));
  }
  return staticStatement("static const metate_quant_sharer all[] = {" + llvm::join(all, ", ") +
                         "};") +
         staticStatement(
             "metate_quant_share(at, " +
             list({quant.word_bytes, quant.exponent_shift, quant.exponent_bits, highest()}) +
             ", all, " + list({int64_t(all.size()), own}) + ", " + function("of") + "(value));");
}

std::string QuantText::set() const {
  std::string text = staticAccessor(member, "void ", "_set", "void *", ", " + scalar + " value") +
                     locate("unsigned char *");
  if (isShared)
    return text + share() + "}\n";
  return text + staticStatement("metate_quant_set(" + place() + ", " + bitsOf() + ");") + "}\n";
}

std::string metate::staticQuantNote(const StaticMember &member) { return QuantText(member).note(); }

std::string metate::staticQuantAccessors(const StaticMember &member) {
  QuantText text(member);
  return text.get() + (member.isWritable ? text.set() : "");
}
