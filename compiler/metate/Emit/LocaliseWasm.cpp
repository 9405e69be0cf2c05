//===- LocaliseWasm.cpp - hidden symbols of a WebAssembly object -*- C++ -*-===//
//
// The symbol table of WebAssembly's tool conventions (Linking.md): a subsection of the custom section "linking", a record for each
// symbol, whose flags are a number of one byte as long as they are small. A hidden symbol that the object defines becomes a
// local one by a bit of them; nothing moves.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Link.h"

#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Support/LEB128.h"

using namespace llvm;

namespace {
/// Reads numbers of variable length from bytes, and stays inside of them.
struct Cursor {
  const uint8_t *at, *end;
  bool failed = false;

  bool isAtEnd() const { return failed || at >= end; }
  uint64_t number() {
    unsigned length = 0;
    const char *error = nullptr;
    uint64_t value = decodeULEB128(at, &length, end, &error);
    failed |= error != nullptr;
    at = failed ? end : at + length;
    return value;
  }
  Cursor part(uint64_t bytes) {
    failed |= bytes > uint64_t(end - at);
    Cursor inner{at, failed ? at : at + bytes, failed};
    at = failed ? end : at + bytes;
    return inner;
  }
};
} // namespace

/// One record; its flags are changed where it is to be local.
static void readSymbol(Cursor &table) {
  uint8_t kind = table.isAtEnd() ? 0 : *table.at;
  table.part(1);
  auto *place = const_cast<uint8_t *>(table.at);
  uint64_t flags = table.number();
  bool isUndefined = flags & wasm::WASM_SYMBOL_UNDEFINED;
  if (!table.failed && flags < 128 && (flags & wasm::WASM_SYMBOL_VISIBILITY_HIDDEN) &&
      !isUndefined && (flags & wasm::WASM_SYMBOL_BINDING_MASK) != wasm::WASM_SYMBOL_BINDING_LOCAL)
    *place = uint8_t((flags & ~uint64_t(wasm::WASM_SYMBOL_BINDING_MASK)) |
                     wasm::WASM_SYMBOL_BINDING_LOCAL);
  if (kind == wasm::WASM_SYMBOL_TYPE_SECTION) {
    table.number();
    return;
  }
  if (kind == wasm::WASM_SYMBOL_TYPE_DATA) {
    table.part(table.number());
    for (unsigned k = 0; k < 3 && !isUndefined; ++k) // segment, offset, size
      table.number();
    return;
  }
  table.number(); // index of the function, global, table or tag
  if (!isUndefined || (flags & wasm::WASM_SYMBOL_EXPLICIT_NAME))
    table.part(table.number());
}

Error metate::localiseWasm(std::string &object) {
  auto *bytes = reinterpret_cast<uint8_t *>(object.data());
  Cursor file{bytes, bytes + object.size()};
  file.part(8); // magic number and version
  while (!file.isAtEnd()) {
    uint8_t kind = *file.at;
    file.part(1);
    Cursor section = file.part(file.number());
    if (kind != wasm::WASM_SEC_CUSTOM)
      continue;
    Cursor name = section.part(section.number());
    if (StringRef(reinterpret_cast<const char *>(name.at), name.end - name.at) != "linking")
      continue;
    section.number(); // version
    while (!section.isAtEnd()) {
      uint8_t type = *section.at;
      section.part(1);
      Cursor table = section.part(section.number());
      if (type != wasm::WASM_SYMBOL_TABLE)
        continue;
      for (uint64_t count = table.number(); count && !table.failed; --count)
        readSymbol(table);
      file.failed |= table.failed;
    }
    file.failed |= section.failed;
  }
  if (file.failed)
    return llvm::createStringError("the WebAssembly object's symbols cannot be read");
  return Error::success();
}
