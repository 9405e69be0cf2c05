// What a compilation tells whoever asks: stages with their dumps and times, remarks, instructions.
#ifndef METATE_BINDINGS_COMPILER_REPORT_H
#define METATE_BINDINGS_COMPILER_REPORT_H

#include "metate/Emit/Disassembly.h"
#include "metate/Frontend/SourceModule.h"
#include "metate/Pipelines/Stages.h"

namespace metate::python {

struct Report {
  CompileReport compile;
  std::vector<CodeFunction> code;
};

/// Adds the instructions of a module that has left stage emit. Raises CompileError.
void readCode(frontend::SourceModule &module, Report &report);

} // namespace metate::python

#endif
