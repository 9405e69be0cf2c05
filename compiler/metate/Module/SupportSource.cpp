//===- SupportSource.cpp - the support code as text -------------*- C++ -*-===//
//
// The files are taken apart into pieces: a declaration each, or preprocessor lines that belong together. A piece gives names and
// uses names; what nobody uses stays away. This reads the files of Support/ and abi/, whose form is known, not any C: directives stand
// alone in their lines, a declaration ends where a line ends, guards are called ..._H.
//
//===----------------------------------------------------------------------===//
#include "metate/Module/SupportSource.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

using namespace llvm;
using namespace metate;

// The files, each behind a line with its name (SupportText.S).
extern "C" const char metate_support_text_begin[], metate_support_text_end[];

/// What the files have of C11, and of compilers that know memory's functions without <string.h>; once in a line.
static constexpr std::pair<StringLiteral, StringLiteral> asC99[] = {
    {"_Static_assert(condition, text)",
     "extern const char metate_static_assert[(condition) ? 1 : -1]"},
    {"__builtin_memcpy", "memcpy"}};

namespace {
/// A word or a mark; not within texts and characters.
struct Token {
  StringRef text;
  bool isWord;
};

struct Piece {
  std::string text;
  StringSet<> names, uses;
  bool isAssert = false;
};

/// Lines of all files that one includes, itself last.
class Flattening {
public:
  void add(StringRef file);
  std::vector<std::string> lines;

private:
  void addLine(StringRef line);
  bool isLeftOut() const {
    return any_of(conditions, [](const Condition &one) { return one.isKnown && !one.holds; });
  }
  struct Condition {
    bool isKnown, holds;
  };
  StringSet<> seen;
  SmallVector<Condition> conditions;
};
} // namespace

static StringRef textOf(StringRef file) {
  StringRef all(metate_support_text_begin,
                size_t(metate_support_text_end - metate_support_text_begin));
  size_t at = all.find(("//@ " + file + "\n").str());
  assert(at != StringRef::npos && "SupportText.def lacks a file");
  return all.substr(at).split('\n').second.split("//@ ").first;
}

/// Behind a text or a character that begins here.
static size_t endOfText(StringRef text, size_t at) {
  char quote = text[at++];
  while (at < text.size() && text[at] != quote)
    at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

static std::string withoutComments(StringRef text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with("/*")) {
      at = text.find("*/", at) + 2;
      continue;
    }
    size_t end = text[at] == '"' || text[at] == '\'' ? endOfText(text, at) : at + 1;
    result += text.slice(at, end);
    at = end;
  }
  return result;
}

static std::vector<Token> tokensOf(StringRef text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"' || text[at] == '\'')
      end = endOfText(text, at);
    else if (isAlnum(text[at]) || text[at] == '_')
      while (end < text.size() && (isAlnum(text[end]) || text[end] == '_'))
        ++end;
    bool isWord = isAlpha(text[at]) || text[at] == '_';
    tokens.push_back({text.slice(at, end), isWord});
    at = end;
  }
  return tokens;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void Flattening::addLine(StringRef line) {
  auto [word, rest] = line.split(' ');
  rest = rest.trim();
  bool isNegated = word == "#ifndef";
  if (word == "#ifdef" || isNegated) {
    bool isTrue = rest == "METATE_AS_SOURCE",
         isFalse = rest == "__cplusplus" || rest.ends_with("_H");
    conditions.push_back({isTrue || isFalse, isTrue != isNegated});
  } else if (word == "#if") {
    conditions.push_back({false, true});
  } else if (word == "#else") {
    conditions.back().holds = !conditions.back().holds;
  } else if (word == "#endif") {
    bool isKnown = conditions.pop_back_val().isKnown;
    if (isKnown)
      return;
  }
  bool isKnown = !conditions.empty() && conditions.back().isKnown &&
                 (word == "#ifdef" || isNegated || word == "#else");
  if (isKnown || isLeftOut() || line.trim().empty() || (word == "#define" && rest.ends_with("_H")))
    return;
  if (line.starts_with("#include")) {
    if (StringRef file = line.split('"').second.split('"').first; !file.empty())
      add(file);
    return;
  }
  std::string own = line.str();
  for (auto [from, to] : asC99)
    if (size_t at = own.find(from); at != std::string::npos)
      own.replace(at, from.size(), to);
  line = own;
  bool goesOn = line.consume_back("\\");
  lines.push_back(line.rtrim().str() + (goesOn ? " \\" : ""));
}

void Flattening::add(StringRef file) {
  if (!seen.insert(file).second)
    return;
  std::string text = withoutComments(textOf(file));
  for (StringRef line : llvm::split(text, '\n'))
    addLine(line);
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// The names of a declaration: what it declares, and enumerators.
static void addNames(Piece &piece, StringRef text) {
  std::vector<Token> tokens;
  for (StringRef line : llvm::split(text, '\n'))
    for (const Token &token : line.starts_with("#") ? std::vector<Token>() : tokensOf(line))
      if (!isSpace(token.text.front()))
        tokens.push_back(token);
  int depth = 0;
  bool isEnum = false, isNamed = false;
  bool isTypedef = tokens.front().text == "typedef";
  StringRef last;
  for (size_t k = 0; k < tokens.size(); ++k) {
    const Token &token = tokens[k];
    if (token.text == "{" || token.text == "}") {
      depth += token.text == "{" ? 1 : -1;
      continue;
    }
    if (depth) {
      if (isEnum && token.isWord)
        piece.names.insert(token.text);
      continue;
    }
    if (token.text == "struct" || token.text == "union" || token.text == "enum") {
      isEnum |= token.text == "enum" && !isNamed;
      last = "";
      if (tokens[k + 1].isWord && k + 2 < tokens.size() && tokens[k + 2].text == "{")
        piece.names.insert(tokens[k + 1].text);
    } else if (token.text == "(" && !isNamed) {
      bool isPointer = isTypedef && tokens[k + 1].text == "*";
      piece.names.insert(isPointer ? tokens[k + 2].text : last);
      isNamed = true;
    } else if ((token.text == "=" || token.text == "[" || token.text == ";") && !isNamed) {
      piece.names.insert(last);
      isNamed = true;
    } else if (token.isWord) {
      last = token.text;
    }
  }
  piece.isAssert = tokens.front().text == "METATE_STATIC_ASSERT";
}

static std::vector<Piece> piecesOf(ArrayRef<std::string> lines) {
  std::vector<Piece> pieces;
  auto add = [&](ArrayRef<std::string> own) -> Piece & {
    Piece &piece = pieces.emplace_back();
    for (const std::string &line : own)
      piece.text += line + "\n";
    for (const Token &token : tokensOf(piece.text))
      if (token.isWord)
        piece.uses.insert(token.text);
    return piece;
  };
  for (size_t k = 0; k < lines.size();) {
    size_t first = k;
    StringRef line = lines[k];
    if (line.starts_with("#if")) { // as far as its #endif
      std::vector<std::string> inside;
      for (int depth = 0;;) {
        StringRef one = lines[k++];
        depth += one.starts_with("#if") ? 1 : one.starts_with("#endif") ? -1 : 0;
        bool isBranch =
            one.starts_with("#if") || one.starts_with("#el") || one.starts_with("#endif");
        if (!isBranch)
          inside.push_back(one.str());
        if (depth == 0)
          break;
      }
      Piece &piece = add(lines.slice(first, k - first));
      for (Piece &part : piecesOf(inside))
        for (const auto &name : part.names)
          piece.names.insert(name.first());
      continue;
    }
    if (line.starts_with("#")) {
      while (StringRef(lines[k++]).ends_with("\\"))
        ;
      Piece &piece = add(lines.slice(first, k - first));
      piece.names.insert(
          line.split(' ').second.take_while([](char c) { return isAlnum(c) || c == '_'; }));
      continue;
    }
    int depth = 0;
    for (bool isOpen = true; isOpen;) {
      StringRef one = lines[k++];
      if (!one.starts_with("#"))
        for (const Token &token : tokensOf(one))
          depth += token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
      isOpen = depth || !(one.ends_with(";") || one.ends_with("}"));
    }
    Piece &piece = add(lines.slice(first, k - first));
    addNames(piece, piece.text);
  }
  return pieces;
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

/// Numbers of the pieces that the roots need.
static std::vector<bool> neededOf(ArrayRef<Piece> pieces, ArrayRef<StringRef> roots) {
  StringMap<SmallVector<size_t, 2>> givers;
  for (auto [number, piece] : enumerate(pieces))
    if (!piece.isAssert)
      for (const auto &name : piece.names)
        givers[name.first()].push_back(number);
  std::vector<bool> needed(pieces.size());
  std::vector<StringRef> open(roots.begin(), roots.end());
  open.push_back("METATE_STATIC_ASSERT");
  while (!open.empty()) {
    auto found = givers.find(open.back());
    open.pop_back();
    if (found == givers.end())
      continue;
    for (size_t number : found->second) {
      if (needed[number])
        continue;
      needed[number] = true;
      for (const auto &name : pieces[number].uses)
        open.push_back(name.first());
    }
  }
  // What is asserted of types that are there.
  for (auto [number, piece] : enumerate(pieces))
    needed[number] = needed[number] ||
                     (piece.isAssert && all_of(piece.uses, [&](const auto &name) {
                        auto found = givers.find(name.first());
                        return found == givers.end() ||
                               any_of(found->second, [&](size_t giver) { return needed[giver]; });
                      }));
  return needed;
}

static bool mayStay(StringRef name) {
  return name.starts_with_insensitive("metate_") || name.starts_with("TVMFFI") || name.empty();
}

std::string metate::supportSource(ArrayRef<StringRef> files, ArrayRef<StringRef> roots) {
  Flattening flat;
  for (StringRef file : files)
    flat.add(file);
  std::vector<Piece> pieces = piecesOf(flat.lines);
  std::vector<bool> needed = neededOf(pieces, roots);
  StringSet<> taken;
  for (const Piece &piece : pieces)
    taken.insert_range(piece.uses.keys());
  StringMap<std::string> renamed;
  std::string text;
  for (auto [number, piece] : enumerate(pieces)) {
    if (!needed[number])
      continue;
    for (const auto &name : piece.names)
      if (!mayStay(name.first()) && !renamed.contains(name.first())) {
        std::string own = ("metate_" + name.first()).str();
        while (!taken.insert(own).second)
          own += "_";
        renamed[name.first()] = own;
      }
    text += piece.text;
  }
  std::string result;
  for (const Token &token : tokensOf(text)) {
    auto found = renamed.find(token.text);
    result += token.isWord && found != renamed.end() ? StringRef(found->second) : token.text;
  }
  return result;
}
