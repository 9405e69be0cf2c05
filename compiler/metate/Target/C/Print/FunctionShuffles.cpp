//===- FunctionShuffles.cpp - vectors of other vectors' numbers as C -*- C++ -*-===//
//
// Where the compiler has __builtin_shufflevector each part of the result is made of parts, which are as wide as the machine's
// registers: there is text for each width. Else numbers move one by one.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

/// Of a vector's parts where registers have so many bytes (METATE_PART).
static unsigned elementsOfPart(FixedVectorType *type, unsigned elementBytes, unsigned vectorBytes) {
  unsigned bytes = type->getNumElements() * elementBytes;
  return std::min(bytes & -bytes, vectorBytes) / elementBytes;
}

/// The lines that make each part of the result of parts of the operands, two at once.
std::string FunctionPrinter::shuffledParts(ShuffleVectorInst &instruction,
                                           ArrayRef<std::string> from, unsigned elementBytes,
                                           unsigned vectorBytes) {
  auto *given = cast<FixedVectorType>(instruction.getOperand(0)->getType());
  auto *type = cast<FixedVectorType>(instruction.getType());
  unsigned count = given->getNumElements();
  unsigned ofSource = elementsOfPart(given, elementBytes, vectorBytes);
  unsigned ofResult = elementsOfPart(type, elementBytes, vectorBytes);
  ArrayRef<int> mask = instruction.getShuffleMask();
  std::string text;
  for (unsigned first = 0; first < type->getNumElements(); first += ofResult) {
    std::string own = variable(instruction) + ".p[" + std::to_string(first / ofResult) + "]";
    SmallSetVector<unsigned, 4> sources; // parts of both operands
    for (int index : mask.slice(first, ofResult))
      if (index >= 0)
        sources.insert(unsigned(index) / ofSource);
    if (sources.empty())
      sources.insert(0);
    auto nameOf = [&](unsigned part) {
      unsigned parts = count / ofSource;
      return from[part / parts] + ".p[" + std::to_string(part % parts) + "]";
    };
    // The parts that are in already are the result; it is as long as they are only behind the first step.
    bool isBegun = false;
    for (unsigned k = 0; k < sources.size();) {
      unsigned one = sources[k],
               two = sources[std::min<unsigned>(k + !isBegun, sources.size() - 1)];
      std::vector<std::string> places;
      for (unsigned place = 0; place < ofResult; ++place) {
        int index = mask[first + place];
        unsigned part = index < 0 ? ~0u : unsigned(index) / ofSource;
        unsigned within = index < 0 ? 0 : unsigned(index) % ofSource;
        std::string text = "-1";
        if (isBegun)
          text = std::to_string(part == one ? ofResult + within : place);
        else if (part == one)
          text = std::to_string(within);
        else if (part == two)
          text = std::to_string(ofSource + within);
        places.push_back(text);
      }
      text += "  " + own + " = __builtin_shufflevector(" + (isBegun ? own : nameOf(one)) + ", " +
              nameOf(isBegun ? one : two) + ", " + join(places, ", ") + ");\n";
      k += isBegun || one == two ? 1 : 2;
      isBegun = true;
    }
  }
  return text;
}

void FunctionPrinter::shuffle(ShuffleVectorInst &instruction) {
  auto *given = cast<FixedVectorType>(instruction.getOperand(0)->getType());
  int count = int(given->getNumElements());
  bool usesRight = any_of(instruction.getShuffleMask(), [&](int index) { return index >= count; });
  std::string left = vectorVariable(instruction.getOperand(0));
  std::string right = usesRight ? vectorVariable(instruction.getOperand(1)) : left;
  clear(instruction);
  std::vector<std::string> name = file.vectorName(given);
  unsigned bytes = unsigned(std::stoi(name[0].substr(1))) / 8;
  StringRef start = "#if";
  for (unsigned vectorBytes : {64, 32, 16}) {
    unsigned ofSource = elementsOfPart(given, bytes, vectorBytes);
    unsigned ofResult =
        elementsOfPart(cast<FixedVectorType>(instruction.getType()), bytes, vectorBytes);
    // What was begun is shuffled with parts of the same length alone.
    if (ofSource < 2 || ofResult < 2 || ofSource != ofResult)
      if (unsigned(count) != ofSource || usesRight)
        continue;
    code += (start + " METATE_SHUFFLED == " + Twine(vectorBytes) + "\n").str();
    code += shuffledParts(instruction, {left, right}, bytes, vectorBytes);
    start = "#elif";
  }
  if (start == "#elif")
    code += "#else\n";
  for (auto [k, source] : enumerate(instruction.getShuffleMask()))
    if (source >= 0)
      line("METATE_ELEMENT(" + variable(instruction) + ", " + Twine(k) + "u) = METATE_ELEMENT(" +
           (source < count ? left : right) + ", " + Twine(source % count) + "u);");
  if (start == "#elif")
    code += "#endif\n";
}
