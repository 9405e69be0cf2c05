//===- Describe.cpp - what is known of a GPU's code -------------*- C++ -*-===//
#include "metate/Emit/Disassembly.h"
#include "metate/Target/Cuda/Ptx.h"
#include "metate/Target/Grid/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace metate;
using namespace metate::grid;

/// `Used 12 registers, used 1 barriers, 128 bytes smem, ...`: the numbers that readers want, under the names that they get.
static constexpr std::pair<StringLiteral, StringLiteral> wanted[] = {
    {" registers", "registers"},
    {" bytes smem", "bytes of shared memory"},
    {" bytes stack frame", "bytes of stack"},
    {" bytes spill stores", "bytes spilled"},
    {" bytes spill loads", "bytes reloaded"},
};

static void readNumbers(StringRef line, CodeFunction &function) {
  SmallVector<StringRef> parts;
  line.split(parts, ',');
  for (StringRef part : parts)
    for (auto [suffix, name] : wanted) {
      StringRef text = part;
      uint64_t number = 0;
      if (text.consume_back(suffix) && !text.rsplit(' ').second.getAsInteger(10, number))
        function.numbers.emplace_back(name.str(), number);
    }
}

/// What `ptxas -v` says: a function is named, then its properties stand in the lines behind it. Of functions that it calls there are
/// properties as well.
static void readTold(StringRef told, MutableArrayRef<CodeFunction> functions) {
  StringMap<CodeFunction *> named;
  for (CodeFunction &function : functions)
    named[function.name] = &function;
  CodeFunction *entry = nullptr, *current = nullptr;
  for (StringRef line : split(told, '\n')) {
    line = line.trim();
    StringRef name = line;
    if (name.consume_front("ptxas info")) {
      name = name.ltrim(" :");
      if (name.consume_front("Compiling entry function '"))
        entry = current = named.lookup(name.take_until([](char c) { return c == '\''; }));
      else if (name.consume_front("Function properties for "))
        current = named.lookup(name);
      else if (entry && name.starts_with("Used "))
        readNumbers(name, *entry);
    } else if (current) {
      readNumbers(" " + line.str(), *current);
    }
  }
}

/// The lines of an entry's body that are instructions: neither directives nor labels.
static void countInstructions(StringRef ptx, MutableArrayRef<CodeFunction> functions) {
  for (CodeFunction &function : functions) {
    StringRef body = ptx.split(".entry " + function.name + "(").second.split("\n{").second;
    body = body.split("\n}").first;
    uint64_t count = 0;
    for (StringRef line : split(body, '\n')) {
      line = line.trim();
      count += line.contains(';') && !line.starts_with(".") && !line.starts_with("//");
    }
    function.numbers.emplace_back("instructions of PTX", count);
  }
}

Expected<std::vector<CodeFunction>> metate::cuda::describe(const Contents &contents,
                                                           unsigned capability) {
  const Image *text = nullptr;
  for (const Image &image : contents.images)
    if (image.format == METATE_GRID_PTX)
      text = &image;
  StringRef ptx = StringRef(text->bytes).drop_back(); // of the zero at its end
  Expected<Assembled> assembled = assemble(ptx, capability);
  if (!assembled)
    return assembled.takeError();
  std::vector<CodeFunction> functions;
  if (assembled->cubin.empty()) {
    for (const std::string &name : contents.functions)
      functions.push_back({name, 0, {}, {}});
    countInstructions(ptx, functions);
    return functions;
  }
  Expected<std::vector<CodeFunction>> sized =
      sizesOf(contents, {METATE_GRID_CUBIN, capability, std::move(assembled->cubin)});
  if (!sized)
    return sized.takeError();
  readTold(assembled->told, *sized);
  return sized;
}
