//===- FilePrinter.cpp - types, names and data of a C file ------*- C++ -*-===//
#include "metate/Target/C/Print/FilePrinter.h"

#include "metate/Target/C/Print/FunctionPrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace metate;
using namespace metate::c;

unsigned c::containerBits(unsigned width) {
  return width <= 8 ? 8 : width <= 16 ? 16 : width <= 32 ? 32 : 64;
}

StringRef c::bare(StringRef expression) {
  if (!expression.starts_with("(") || !expression.ends_with(")"))
    return expression;
  int depth = 0;
  for (char letter : expression.drop_back()) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (depth == 0)
      return expression;
  }
  return expression.drop_front().drop_back();
}

FilePrinter::FilePrinter(Module &module)
    : module(module), helpers(module.getDataLayout().getPointerSize()) {}

std::string FilePrinter::shortName(Type *type) {
  if (auto *integer = dyn_cast<IntegerType>(type)) {
    if (integer->getBitWidth() > 64)
      fail("an integer of " + Twine(integer->getBitWidth()) + " bits, where C has at most 64");
    return "u" + std::to_string(containerBits(integer->getBitWidth()));
  }
  if (type->isPointerTy())
    return "p";
  if (type->isFloatTy())
    return "f32";
  if (type->isDoubleTy())
    return "f64";
  if (type->isHalfTy())
    return "f16";
  if (type->isBFloatTy())
    return "bf16";
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return helpers.use("vector", vectorName(vector));
  if (type->isStructTy() || type->isArrayTy())
    return structName(type, /*ofData=*/false);
  std::string text;
  raw_string_ostream(text) << *type;
  fail("a value of type " + text);
  return "u8";
}

std::string FilePrinter::typeName(Type *type) {
  std::string name = shortName(type);
  return type->isAggregateType() || type->isVectorTy() ? name : numberType(name);
}

std::string FilePrinter::typePrefix(Type *type) {
  std::string name = typeName(type);
  return type->isPointerTy() ? name : name + " ";
}

std::string FilePrinter::bitsName(Type *type) {
  return "u" + std::to_string(type->getPrimitiveSizeInBits().getFixedValue());
}

/// Of values: members f0, f1, ..., or elements e[]. Of data the same, which is also as large as LLVM has it.
std::string FilePrinter::structName(Type *type, bool ofData) {
  std::string &known = (ofData ? dataStructs : structs)[type];
  if (!known.empty())
    return known;
  std::string text = "typedef struct {\n";
  auto ofMember = [&](Type *member, const std::string &name) {
    std::string prefix = ofData ? dataType(member) : typePrefix(member);
    prefix += StringRef(prefix).ends_with("*") || StringRef(prefix).ends_with(" ") ? "" : " ";
    text += "  " + prefix + name + ";\n";
  };
  if (auto *record = dyn_cast<StructType>(type)) {
    for (auto [k, member] : enumerate(record->elements()))
      ofMember(member, "f" + std::to_string(k));
  } else {
    ofMember(type->getArrayElementType(), "e[" + std::to_string(type->getArrayNumElements()) + "]");
  }
  // `known` may have moved.
  auto &table = ofData ? dataStructs : structs;
  std::string name = (ofData ? "metate_data" : "metate_value") +
                     std::to_string(count_if(table, [](auto &one) { return !one.second.empty(); }));
  types += text + "} " + name + ";\n";
  return table[type] = name;
}

/// C's type of a part of static data that holds addresses.
std::string FilePrinter::dataType(Type *type) {
  if (type->isPointerTy()) {
    helpers.use("address");
    return "metate_address";
  }
  return type->isAggregateType() ? structName(type, /*ofData=*/true) : typeName(type);
}

void c::FilePrinter::wrap(std::string &out, StringRef first, ArrayRef<std::string> pieces,
                          StringRef indent) {
  std::string line = first.str();
  for (const std::string &piece : pieces) {
    if (line.size() + 1 + piece.size() > 100) {
      out += StringRef(line).rtrim().str() + "\n";
      line = indent.str();
    }
    line += piece + (&piece == &pieces.back() ? "" : " ");
  }
  out += line;
}

//===----------------------------------------------------------------------===//
// Names and prototypes
//===----------------------------------------------------------------------===//

/// Words of `text` are no names of ours.
static void takeWords(StringRef text, StringSet<> &taken) {
  while (!text.empty()) {
    text = text.drop_until([](char c) { return isAlpha(c) || c == '_'; });
    StringRef word = text.take_while([](char c) { return isAlnum(c) || c == '_'; });
    taken.insert(word);
    text = text.drop_front(word.size());
  }
}

/// Visible names stay; what is the file's own cannot be a name of C's or of a header's.
void FilePrinter::nameGlobals(StringRef text) {
  StringSet<> taken;
  takeWords(text, taken);
  auto keep = [&](GlobalValue &value) {
    if (value.hasLocalLinkage())
      return;
    names[&value] = value.getName().str();
    taken.insert(value.getName());
  };
  auto give = [&](GlobalValue &value, StringRef prefix) {
    if (!value.hasLocalLinkage())
      return;
    std::string wanted = value.getName().starts_with("metate_") ? "" : prefix.str();
    for (char letter : value.getName())
      wanted += isAlnum(letter) ? letter : '_';
    while (!taken.insert(wanted).second)
      wanted += "_";
    names[&value] = wanted;
  };
  for (GlobalValue &value : module.global_values())
    keep(value);
  for (Function &function : module)
    give(function, "metate_code_");
  for (GlobalVariable &data : module.globals()) {
    give(data, "metate_data_");
    isBytes[&data] = isPlain(data);
  }
}

namespace {
/// Types of functions that the host gives or gets (metate/abi/kernel.h), by what LLVM sees of them.
struct BorderType {
  const char *llvm, *result;
  const char *parameters[6]; ///< as many as there are
};
} // namespace

static constexpr BorderType borderTypes[] = {
    // metate_entry
    {"i32 (ptr, ptr, ptr)",
     "int32_t",
     {"const union metate_slot *", "void *const *", "const struct metate_host *"}},
    // metate_task_body
    {"i32 (ptr, i64, i64, i32)", "int32_t", {"void *", "int64_t", "int64_t", "uint32_t"}},
    // metate_parallel_for; "()": a task's body
    {"i32 (ptr, i64, i64, i32, ptr, ptr)",
     "int32_t",
     {"void *", "int64_t", "int64_t", "uint32_t", "()", "void *"}},
    // metate_print
    {"void (ptr, ptr, i32)", "void", {"void *", "const struct metate_print_item *", "uint32_t"}},
    // metate_task_hooks
    {"void (ptr, i32, i32, i64)", "void", {"void *", "uint32_t", "uint32_t", "int64_t"}},
    {"void (ptr, i32)", "void", {"void *", "uint32_t"}},
};

Prototype FilePrinter::prototypeOf(FunctionType &type) {
  std::string text;
  raw_string_ostream(text) << type;
  Prototype result;
  for (const BorderType &known : borderTypes) {
    if (text != known.llvm)
      continue;
    result.result = known.result;
    for (StringRef parameter : ArrayRef(known.parameters).take_front(type.getNumParams())) {
      auto *context = &module.getContext();
      auto *i64 = Type::getInt64Ty(*context);
      auto *i32 = Type::getInt32Ty(*context);
      auto *pointer = PointerType::get(*context, 0);
      auto *body = FunctionType::get(i32, {pointer, i64, i64, i32}, false);
      result.parameters.push_back(parameter == "()" ? pointerType(prototypeOf(*body))
                                                    : parameter.str());
    }
    return result;
  }
  result.result = type.getReturnType()->isVoidTy() ? "void" : typeName(type.getReturnType());
  for (Type *parameter : type.params())
    result.parameters.push_back(typeName(parameter));
  return result;
}

Prototype FilePrinter::prototypeOf(const Function &function) {
  FunctionType &type = *function.getFunctionType();
  Prototype result;
  if (function.hasFnAttribute(sourceTypeAttribute)) {
    result.result = function.getFnAttribute(sourceTypeAttribute).getValueAsString().str();
    for (unsigned k = 0; k < function.arg_size(); ++k)
      result.parameters.push_back(
          function.getAttributes().getParamAttr(k, sourceTypeAttribute).getValueAsString().str());
    return result;
  }
  // Whoever is called through an address has the type that its caller means.
  if (function.hasAddressTaken())
    return prototypeOf(type);
  result.result = type.getReturnType()->isVoidTy() ? "void" : typeName(type.getReturnType());
  for (Type *parameter : type.params())
    result.parameters.push_back(typeName(parameter));
  return result;
}

std::string FilePrinter::pointerType(const Prototype &prototype) {
  std::string list = prototype.parameters.empty() ? "void" : join(prototype.parameters, ", ");
  std::string &name = pointers[prototype.result + "(" + list + ")"];
  if (!name.empty())
    return name;
  std::string made = "metate_pointer" + std::to_string(pointers.size() - 1);
  types += "typedef " + prototype.result + " (*" + made + ")(" + list + ");\n";
  return pointers[prototype.result + "(" + list + ")"] = made;
}

std::string FilePrinter::declaration(const Function &function, bool namesParameters) {
  Prototype prototype = prototypeOf(function);
  std::vector<std::string> pieces;
  for (auto [k, type] : enumerate(prototype.parameters)) {
    std::string piece = type;
    if (size_t at = piece.find('@'); at != std::string::npos)
      piece.replace(at, 1, namesParameters ? "p" + std::to_string(k) : "");
    else if (namesParameters)
      piece += (StringRef(type).ends_with("*") ? "p" : " p") + std::to_string(k);
    pieces.push_back(piece + (k + 1 < prototype.parameters.size() ? "," : ")"));
  }
  if (pieces.empty())
    pieces.push_back("void)");
  std::string result = prototype.result;
  result += StringRef(result).ends_with("*") ? "" : " ";
  std::string text;
  wrap(text, (function.hasLocalLinkage() ? "static " : "") + result + nameOf(function) + "(",
       pieces, "    ");
  return text;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Between the lines that leave it out where a macro says so (sourceGuardAttribute).
static void guard(std::string &code, std::string &open, StringRef macro) {
  if (open == macro)
    return;
  if (!open.empty())
    code += "#endif\n";
  if (!macro.empty())
    code += "\n#ifndef " + macro.str() + "\n";
  open = macro;
}

Expected<std::string> FilePrinter::print(const PrintOptions &options) {
  nameGlobals(options.text);
  std::string code, declarations, open;
  for (Function &function : module) {
    if (function.isDeclaration()) // by the C library's headers, and by the text before the code
      continue;
    if (!function.hasFnAttribute(sourceTypeAttribute)) // no header does it
      declarations += declaration(function, false) + ";\n";
    FunctionPrinter printer(*this, function);
    guard(code, open, function.getFnAttribute(sourceGuardAttribute).getValueAsString());
    code += "\n" + declaration(function, true) + " {\n" + printer.body() + "}\n";
  }
  guard(code, open, "");
  for (GlobalVariable &variable : module.globals())
    defineData(variable);
  if (!failure.empty())
    return createStringError("C has no code for this: " + failure);
  std::string text = "/* " + options.comment + " */\n";
  Helpers library(layout().getPointerSize());
  library.use("library");
  if (math)
    library.use("math");
  text += library.text();
  if (!options.header.empty())
    text += "#include \"" + options.header + "\"\n";
  Helpers first(layout().getPointerSize());
  first.use("prelude");
  text += "\n" + first.text().str() +
          "struct metate_host;\nstruct metate_print_item;\nunion metate_slot;\n\n" + options.text +
          helpers.text().str() + "\n" + types + "\n" + declarations + "\n" + data + code;
  return text;
}

Expected<std::string> c::print(Module &module, const PrintOptions &options) {
  return FilePrinter(module).print(options);
}
