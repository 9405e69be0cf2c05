// metate-c IN.ll OUT.c [--prepared=FILE]: LLVM IR as C, for tests. --prepared: the LLVM IR that was printed.
#include "metate/Target/C/Print/Print.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace llvm;
using namespace metate;

static bool writeFile(StringRef path, StringRef text) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error)
    stream << text;
  if (error)
    errs() << path << ": " << error.message() << "\n";
  return !error;
}

int main(int count, char **words) {
  std::vector<StringRef> files;
  StringRef prepared;
  for (StringRef word : ArrayRef(words + 1, size_t(count - 1)))
    if (word.consume_front("--prepared="))
      prepared = word;
    else
      files.push_back(word);
  if (files.size() != 2) {
    errs() << "usage: metate-c IN.ll OUT.c [--prepared=FILE]\n";
    return 2;
  }
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIRFile(files[0], diagnostic, context);
  if (!module) {
    diagnostic.print("metate-c", errs());
    return 2;
  }
  if (Error error = c::prepare(*module, /*widens=*/true)) {
    errs() << "error: " << toString(std::move(error)) << "\n";
    return 1;
  }
  if (!prepared.empty()) {
    std::string text;
    raw_string_ostream(text) << *module;
    if (!writeFile(prepared, text))
      return 2;
  }
  Expected<std::string> text = c::print(*module, {"A test.", "", ""});
  if (!text) {
    errs() << "error: " << toString(text.takeError()) << "\n";
    return 1;
  }
  return writeFile(files[1], *text) ? 0 : 2;
}
