//===- Disassembly.cpp - code as text ---------------------------*- C++ -*-===//
#include "metate/Emit/Disassembly.h"
#include "metate/Emit/Machine.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Target/TargetMachine.h"

#include <map>

using namespace metate;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace object = llvm::object;

namespace {
/// LLVM's tools for one machine.
struct Tools {
  explicit Tools(const llvm::TargetMachine &machine)
      : info(machine.getMCSubtargetInfo()), registers(machine.getMCRegisterInfo()),
        instructions(machine.getMCInstrInfo()),
        context(machine.getTargetTriple(), machine.getMCAsmInfo(), registers, info),
        disassembler(machine.getTarget().createMCDisassembler(*info, context)),
        printer(machine.getTarget().createMCInstPrinter(
            machine.getTargetTriple(), machine.getTargetTriple().isX86() ? 1 : 0,
            *machine.getMCAsmInfo(), *instructions, *registers)),
        analysis(machine.getTarget().createMCInstrAnalysis(instructions)) {
    printer->setPrintImmHex(true);
    printer->setPrintBranchImmAsAddress(true);
  }

  const llvm::MCSubtargetInfo *info;
  const llvm::MCRegisterInfo *registers;
  const llvm::MCInstrInfo *instructions;
  llvm::MCContext context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
};

/// An instruction before it is text.
struct Decoded {
  uint64_t address, size;
  llvm::MCInst instruction;
  std::optional<uint64_t> target; ///< of a branch inside of the function
};

/// One function of an object.
class Reader {
public:
  Reader(Tools &tools, llvm::DWARFContext &lines, const object::SectionRef &section,
         const std::map<uint64_t, std::string> &symbols)
      : tools(tools), lines(lines), section(section), symbols(symbols) {}

  CodeFunction read(StringRef name, uint64_t begin, ArrayRef<uint8_t> bytes) {
    decode(begin, bytes);
    std::map<uint64_t, std::string> labels;
    for (const Decoded &one : decoded)
      if (one.target)
        labels[*one.target] = "";
    for (auto [number, label] : llvm::enumerate(labels))
      label.second = "." + std::to_string(number + 1);
    CodeFunction function{name.str(), bytes.size(), {}, {}};
    for (const Decoded &one : decoded)
      function.instructions.push_back(textOf(one, labels));
    return function;
  }

private:
  void decode(uint64_t begin, ArrayRef<uint8_t> bytes) {
    for (uint64_t at = 0; at < bytes.size();) {
      Decoded one{begin + at, 0, {}, {}};
      if (tools.disassembler->getInstruction(one.instruction, one.size, bytes.slice(at),
                                             one.address,
                                             llvm::nulls()) != llvm::MCDisassembler::Success) {
        at += std::max<uint64_t>(one.size, 1); // data between functions
        continue;
      }
      at += one.size;
      uint64_t target = 0;
      const llvm::MCInstrDesc &what = tools.instructions->get(one.instruction.getOpcode());
      if (what.isBranch() && tools.analysis &&
          tools.analysis->evaluateBranch(one.instruction, one.address, one.size, target) &&
          target >= begin && target < begin + bytes.size())
        one.target = target;
      decoded.push_back(std::move(one));
    }
  }

  CodeLine textOf(const Decoded &one, const std::map<uint64_t, std::string> &labels) {
    CodeLine made;
    llvm::raw_string_ostream stream(made.text);
    tools.printer->printInst(&one.instruction, one.address, "", *tools.info, stream);
    made.text = StringRef(made.text).trim().str();
    std::replace(made.text.begin(), made.text.end(), '\t', ' ');
    if (one.target)
      made.text = (StringRef(made.text).rsplit(' ').first + " " + labels.at(*one.target)).str();
    auto symbol = symbols.lower_bound(one.address);
    if (symbol != symbols.end() && symbol->first < one.address + one.size)
      made.text += "  # " + symbol->second;
    if (auto label = labels.find(one.address); label != labels.end())
      made.label = label->second;
    llvm::DILineInfoSpecifier how(llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath);
    if (auto line = lines.getLineInfoForAddress({one.address, section.getIndex()}, how);
        line && line->Line && line->FileName != llvm::DILineInfo::BadString) {
      made.file = line->FileName;
      made.line = line->Line;
    }
    return made;
  }

  Tools &tools;
  llvm::DWARFContext &lines;
  object::SectionRef section;
  const std::map<uint64_t, std::string>
      &symbols; ///< that instructions refer to, by the place in them
  std::vector<Decoded> decoded;
};
} // namespace

/// Symbols that a section's instructions refer to, by the place of the reference.
static std::map<uint64_t, std::string> symbolsOf(const object::ObjectFile &file,
                                                 const object::SectionRef &section) {
  std::map<uint64_t, std::string> found;
  for (const object::SectionRef &relocations : file.sections()) {
    Expected<object::section_iterator> of = relocations.getRelocatedSection();
    if (!of || *of == file.section_end() || **of != section) {
      llvm::consumeError(of.takeError());
      continue;
    }
    for (const object::RelocationRef &relocation : relocations.relocations()) {
      object::symbol_iterator symbol = relocation.getSymbol();
      if (symbol == file.symbol_end())
        continue;
      Expected<StringRef> name = symbol->getName();
      // A function with a section of its own, which nobody else sees, is named by that section.
      if (name && !name->empty()) {
        name->consume_front(".text.");
        found[relocation.getOffset()] = name->str();
      }
      llvm::consumeError(name.takeError());
    }
  }
  return found;
}

static Error readObject(StringRef bytes, Tools &tools, std::vector<CodeFunction> &functions) {
  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "payload"));
  if (!file)
    return file.takeError();
  // WebAssembly's functions are no machine's code yet: nothing is said of them.
  if (!llvm::isa<object::ELFObjectFileBase>(**file))
    return Error::success();
  std::unique_ptr<llvm::DWARFContext> lines = llvm::DWARFContext::create(**file);
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<object::SymbolRef::Type> type = symbol.getType();
    if (!type)
      return type.takeError();
    Expected<object::section_iterator> section = symbol.getSection();
    if (!section)
      return section.takeError();
    if (*type != object::SymbolRef::ST_Function || *section == (*file)->section_end())
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    Expected<uint64_t> address = symbol.getAddress();
    if (!address)
      return address.takeError();
    Expected<StringRef> content = (*section)->getContents();
    if (!content)
      return content.takeError();
    uint64_t begin = *address - (*section)->getAddress(),
             size = object::ELFSymbolRef(symbol).getSize();
    auto symbols = symbolsOf(**file, **section);
    Reader reader(tools, *lines, **section, symbols);
    functions.push_back(
        reader.read(*name, *address, llvm::arrayRefFromStringRef(content->substr(begin, size))));
  }
  return Error::success();
}

Expected<std::vector<CodeFunction>> metate::disassemble(PayloadOp payload) {
  metate::Machine machine;
  machine.triple = payload.getTriple().str();
  machine.cpu = payload.getCpu().str();
  machine.features = payload.getFeatures().str();
  Expected<std::unique_ptr<llvm::TargetMachine>> made = createTargetMachine(machine);
  if (!made)
    return made.takeError();
  Tools tools(**made);
  if (!tools.disassembler || !tools.printer)
    return llvm::createStringError("target '" + machine.triple + "' has no disassembler");
  std::vector<CodeFunction> functions;
  for (StringRef bytes : payload.getObjectFiles())
    if (Error error = readObject(bytes, tools, functions))
      return error;
  return functions;
}
