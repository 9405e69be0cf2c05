//===- Format.cpp - how values stand in texts -------------------*- C++ -*-===//
#include "metate/Dialect/Format.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir;

namespace {
constexpr unsigned mostColumns = 1000, mostDigits = 100; // what the runtime has room for

bool isAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

/// [[fill]align]: the fill is one character, of any number of bytes.
void dropAlignment(StringRef &rest) {
  unsigned bytes = rest.empty() ? 0 : llvm::getNumBytesForUTF8(llvm::UTF8(rest.front()));
  if (bytes && rest.size() > bytes && isAlign(rest[bytes]))
    rest = rest.drop_front(bytes + 1);
  else if (!rest.empty() && isAlign(rest.front()))
    rest = rest.drop_front();
}

/// False for a number above the limit.
bool dropNumber(StringRef &rest, unsigned limit) {
  unsigned number = 0;
  StringRef digits = rest.take_while([](char c) { return c >= '0' && c <= '9'; });
  rest = rest.drop_front(digits.size());
  return digits.empty() || (!digits.getAsInteger(10, number) && number <= limit);
}
} // namespace

std::string metate::whyNotFormat(StringRef format, bool isFloat, bool isSigned) {
  auto problem = [&](const Twine &text) {
    return ("format '" + format + "' of " + (isFloat ? "a float" : "an integer") + ": " + text)
        .str();
  };
  StringRef rest = format;
  dropAlignment(rest);
  if (!rest.empty() && StringRef("+- ").contains(rest.front()))
    rest = rest.drop_front();
  bool isAlternate = rest.consume_front("#");
  rest.consume_front("0");
  if (!dropNumber(rest, mostColumns))
    return problem("expected a width of at most " + Twine(mostColumns));
  bool isGrouped = rest.consume_front(",") || rest.consume_front("_");
  bool hasPrecision = rest.consume_front(".");
  if (hasPrecision && (rest.empty() || rest.front() < '0' || rest.front() > '9'))
    return problem("expected digits after '.'");
  if (!dropNumber(rest, mostDigits))
    return problem("expected a precision of at most " + Twine(mostDigits));
  if (rest.size() > 1)
    return problem("expected [[fill]align][sign][#][0][width][,][.precision][type], got '" + rest +
                   "' at its end");
  char type = rest.empty() ? 0 : rest.front();
  bool asFloat = type && StringRef("eEfFgG%").contains(type);
  StringRef own = isFloat ? "aA" : isSigned ? "bdioxX" : "bdiouxX";
  if (type && !asFloat && !own.contains(type))
    return problem(Twine("expected one of ") +
                   (isFloat    ? "a A e E f F g G %"
                    : isSigned ? "b d i o x X e E f F g G %"
                               : "b d i o u x X e E f F g G %") +
                   ", got '" + Twine(type) + "'");
  if (isAlternate && (isFloat || asFloat))
    return problem("expected no '#', which is for integers");
  if (isGrouped && type && !asFloat && !StringRef("diu").contains(type) && format.contains(','))
    return problem("expected '_' between groups of digits that are not decimal");
  return "";
}

FailureOr<SmallVector<metate::MessagePart>> metate::splitMessage(StringRef message) {
  SmallVector<MessagePart> parts;
  std::string text;
  while (!message.empty()) {
    if (message.consume_front("{{")) {
      text += '{';
    } else if (message.consume_front("}}")) {
      text += '}';
    } else if (message.consume_front("{")) {
      size_t end = message.find('}');
      if (end == StringRef::npos)
        return failure();
      StringRef format = message.take_front(end);
      if (!format.empty() && !format.consume_front(":"))
        return failure();
      if (!text.empty())
        parts.push_back({false, std::exchange(text, {})});
      parts.push_back({true, format.str()});
      message = message.drop_front(end + 1);
    } else if (message.front() == '}') {
      return failure();
    } else {
      text += message.front();
      message = message.drop_front();
    }
  }
  if (!text.empty())
    parts.push_back({false, text});
  return parts;
}

std::string metate::escapeMessage(StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '{' || c == '}' ? std::string(2, c) : std::string(1, c);
  return result;
}

std::string metate::messageHole(uint32_t kind, StringRef format) {
  return ("{" + Twine(kind) + ":" + format + "}").str();
}
