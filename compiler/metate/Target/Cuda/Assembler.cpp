//===- Assembler.cpp - PTX through ptxas ------------------------*- C++ -*-===//
#include "metate/Target/Cuda/Ptx.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;

/// "": there is none.
static std::string findAssembler() {
  if (const char *named = std::getenv("METATE_PTXAS"))
    return named;
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  std::string usual = "/usr/local/cuda/bin/ptxas";
  return sys::fs::can_execute(usual) ? usual : "";
}

static Expected<std::string> temporary(StringRef extension) {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("metate", extension, path))
    return createStringError(error, "a temporary file cannot be made");
  return path.str().str();
}

static std::string contentsOf(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> bytes = MemoryBuffer::getFile(path, false, false);
  return bytes ? (*bytes)->getBuffer().str() : "";
}

Expected<metate::cuda::Assembled> metate::cuda::assemble(StringRef ptx, unsigned capability) {
  std::string assembler = findAssembler();
  if (assembler.empty())
    return Assembled();
  Expected<std::string> input = temporary("ptx"), output = temporary("cubin"),
                        told = temporary("txt");
  auto remove = make_scope_exit([&] {
    for (Expected<std::string> *path : {&input, &output, &told})
      if (*path)
        sys::fs::remove(**path);
  });
  if (!input || !output || !told)
    return joinErrors(joinErrors(input.takeError(), output.takeError()), told.takeError());
  {
    std::error_code error;
    raw_fd_ostream file(*input, error);
    file << ptx;
  }
  std::string arch = "-arch=sm_" + std::to_string(capability);
  StringRef arguments[] = {assembler, arch, "-O3", "-v", "-o", *output, *input};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(*told), StringRef(*told)};
  std::string problem;
  int status = sys::ExecuteAndWait(assembler, arguments, std::nullopt, redirects, 0, 0, &problem);
  if (status != 0)
    return createStringError("ptxas (" + assembler + ") refused the code: " + problem +
                             contentsOf(*told));
  Assembled made = {contentsOf(*output), contentsOf(*told)};
  if (made.cubin.empty())
    return createStringError("ptxas (" + assembler + ") has written no code: " + made.told);
  return made;
}
