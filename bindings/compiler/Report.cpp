// Binds what a compilation tells: `kernel.report()` and `metate explain` are made of it.
#include "Report.h"
#include "Choices.h"

#include "metate/Emit/Disassembly.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace metate::python {

void readCode(frontend::SourceModule &module, Report &report) {
  for (PayloadOp payload : module.op().getOps<PayloadOp>()) {
    TargetPtr target = valueOf(ownTargets().targetOf(payload));
    std::vector<CodeFunction> functions = valueOf(target->codeOf(payload));
    report.code.insert(report.code.end(), functions.begin(), functions.end());
  }
}

void bindReport(nb::module_ &module) {
  nb::class_<Remark>(module, "Remark", "What a pass did about a loop, or why it did not.")
      .def_ro("pass_name", &Remark::pass, "As in Passes.td, or LLVM's name.")
      .def_ro("subject", &Remark::subject, "atomics, rows, vectors, ...")
      .def_ro("outcome", &Remark::outcome, "done, declined or noted.")
      .def_ro("text", &Remark::text)
      .def_ro("file", &Remark::file, "Where what it is about stands; empty: not known.")
      .def_ro("line", &Remark::line)
      .def_ro("column", &Remark::column)
      .def_ro("loop_file", &Remark::loopFile, "Of the parallel loop around it.")
      .def_ro("loop_line", &Remark::loopLine)
      .def_ro("numbers", &Remark::numbers, "Named numbers of the text, as texts.");
  using StageReport = CompileReport::StageReport;
  nb::class_<StageReport>(module, "StageReport", "A stage that ran.")
      .def_ro("name", &StageReport::name)
      .def_ro("milliseconds", &StageReport::milliseconds)
      .def_ro("dump", &StageReport::dump, "The IR after it, with locations; empty after emit.");
  nb::class_<CodeLine>(module, "Instruction", "One instruction of the code.")
      .def_ro("text", &CodeLine::text)
      .def_ro("label", &CodeLine::label, "Where branches go to it, else empty.")
      .def_ro("file", &CodeLine::file, "Empty: the compiler's own.")
      .def_ro("line", &CodeLine::line);
  nb::class_<CodeFunction>(module, "CodeFunction", "A function of the code.")
      .def_ro("name", &CodeFunction::name)
      .def_ro("bytes", &CodeFunction::bytes)
      .def_ro("instructions", &CodeFunction::instructions)
      .def_prop_ro(
          "numbers",
          [](const CodeFunction &self) {
            nb::dict found;
            for (const auto &[name, number] : self.numbers)
              found[name.c_str()] = nb::int_(number);
            return found;
          },
          nb::sig("def numbers(self) -> dict[str, int]"),
          "What else is known of it: registers, bytes spilled, ...");
  nb::class_<Report>(module, "Report", "What a compilation tells.")
      .def(nb::init<>())
      .def_prop_ro("stages", [](const Report &self) { return self.compile.stages; })
      .def_prop_ro("remarks", [](const Report &self) { return self.compile.remarks; })
      .def_ro("code", &Report::code);
}

} // namespace metate::python
