// metate-spirv IN.ll OUT.spv [--lavapipe] [--ended=OFFSET:VALUE] [--float-add] [--constants=FILE] [--prepared=FILE] NAME[:GROUP]...: LLVM IR
// of tasks as a module of SPIR-V, for tests. Prints what the module needs of a device and how many bytes of constants it has.
// --ended: what the tasks note where the device has ended a loop by itself.
// --prepared: the LLVM IR that the words were made of.
#include "metate/Target/Vulkan/Spirv/Spirv.h"
#include "metate/abi/grid.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace metate;

namespace {
struct Arguments {
  std::vector<StringRef> files;
  std::vector<SpirvTask> tasks;
  SpirvOptions options;
  SpirvNote ended;
  std::string constants, prepared;
};
} // namespace

static bool parse(ArrayRef<char *> words, Arguments &arguments) {
  for (StringRef word : words) {
    if (word == "--lavapipe") {
      arguments.options.lavapipe = true;
    } else if (word == "--float-add") {
      arguments.options.nativeFloatAdd = true;
    } else if (word.consume_front("--ended=")) {
      auto [offset, value] = word.split(':');
      if (offset.getAsInteger(10, arguments.ended.offset) ||
          value.getAsInteger(10, arguments.ended.value)) {
        errs() << "metate-spirv: " << word << " is no note\n";
        return false;
      }
    } else if (word.consume_front("--constants=")) {
      arguments.constants = word.str();
    } else if (word.consume_front("--prepared=")) {
      arguments.prepared = word.str();
    } else if (word.starts_with("--")) {
      errs() << "metate-spirv: unknown option " << word << "\n";
      return false;
    } else if (arguments.files.size() < 2) {
      arguments.files.push_back(word);
    } else {
      auto [name, group] = word.split(':');
      SpirvTask task;
      task.name = name;
      if (!group.empty() && group.getAsInteger(10, task.group)) {
        errs() << "metate-spirv: " << word << " is no task\n";
        return false;
      }
      arguments.tasks.push_back(task);
    }
  }
  for (SpirvTask &task : arguments.tasks)
    task.ended = arguments.ended;
  if (arguments.tasks.empty())
    errs() << "usage: metate-spirv IN.ll OUT.spv [--lavapipe] [--ended=OFFSET:VALUE] "
              "[--float-add] [--constants=FILE] [--prepared=FILE] "
              "NAME[:GROUP]...\n";
  return !arguments.tasks.empty();
}

static bool writeFile(StringRef path, const void *data, size_t bytes) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error)
    stream.write(static_cast<const char *>(data), bytes);
  if (error)
    errs() << path << ": " << error.message() << "\n";
  return !error;
}

static void printNeeds(const SpirvModule &module) {
  static const char *const names[] = {"f64", "f16", "i16", "i8", "i64-atomics", "f32-atomic-add"};
  outs() << "needs:";
  for (unsigned k = 0; k < std::size(names); ++k)
    if (module.needs >> k & 1)
      outs() << " " << names[k];
  outs() << "\nconstants: " << module.constants.size() << "\n";
}

int main(int count, char **words) {
  Arguments arguments;
  if (!parse({words + 1, size_t(count - 1)}, arguments))
    return 2;
  LLVMContext context;
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseIRFile(arguments.files[0], diagnostic, context);
  if (!module) {
    diagnostic.print("metate-spirv", errs());
    return 2;
  }
  Expected<SpirvModule> made = emitSpirv(*module, arguments.tasks, arguments.options);
  if (!made) {
    errs() << "error: " << toString(made.takeError()) << "\n";
    return 1;
  }
  printNeeds(*made);
  std::string text;
  raw_string_ostream(text) << *module;
  bool isWritten = writeFile(arguments.files[1], made->words.data(), made->words.size() * 4);
  if (!arguments.constants.empty())
    isWritten &= writeFile(arguments.constants, made->constants.data(), made->constants.size());
  if (!arguments.prepared.empty())
    isWritten &= writeFile(arguments.prepared, text.data(), text.size());
  return isWritten ? 0 : 2;
}
