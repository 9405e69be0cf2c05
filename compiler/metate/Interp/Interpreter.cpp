//===- Interpreter.cpp - the reference interpreter --------------*- C++ -*-===//
#include "metate/Interp/Interpreter.h"

#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Quant.h"
#include "metate/Interp/Launch.h"
#include "metate/Interp/Rules.h"
#include "metate/Interp/Workspace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/ScopeExit.h"

#include <array>
#include <mutex>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- checks --------------------------------------------------------------===//

namespace {
struct NamedCheck {
  llvm::StringRef name;
  bool Checks::*member;
};
} // namespace

static constexpr NamedCheck namedChecks[] = {
    {"outside", &Checks::outside},
    {"inactive-read", &Checks::inactiveRead},
    {"unwritten-read", &Checks::unwrittenRead},
    {"overflow", &Checks::overflow},
    {"lossy-cast", &Checks::lossyCast},
    {"division", &Checks::division},
    {"quant-range", &Checks::quantRange},
    {"nan", &Checks::nan},
    {"conflict", &Checks::conflict},
    {"order", &Checks::order},
};

bool Checks::set(StringRef name) {
  for (const NamedCheck &check : namedChecks)
    if (check.name == name)
      return this->*check.member = true;
  return false;
}

ArrayRef<StringRef> Checks::names() {
  static constexpr auto names = [] {
    std::array<StringRef, std::size(namedChecks)> result;
    for (size_t k = 0; k < result.size(); ++k)
      result[k] = namedChecks[k].name;
    return result;
  }();
  return names;
}

//===-- rules ---------------------------------------------------------------===//

static RuleTable makeRules() {
  RuleTable rules;
  addArithRules(rules);
  addConversionRules(rules);
  addMathRules(rules);
  addVectorRules(rules);
  addControlRules(rules);
  addArrayRules(rules);
  addCellRules(rules);
  addQuantRules(rules);
  addTaskRules(rules);
  addReserveRules(rules);
  addGraphRules(rules);
  addCallRules(rules);
  return rules;
}

bool interp::hasRule(OperationName name) { return makeRules().contains(name.getTypeID()); }

/// The first operation of a kernel that has no rule.
static Operation *findUnknown(KernelOp kernel, const RuleTable &rules) {
  Operation *unknown = nullptr;
  kernel.getBody().walk([&](Operation *op) {
    if (auto run = dyn_cast<RunOp>(op))
      unknown = findUnknown(kernelOf(run), rules);
    if (unknown)
      return WalkResult::interrupt();
    if (op->hasTrait<OpTrait::IsTerminator>() || rules.contains(op->getName().getTypeID()))
      return WalkResult::advance();
    unknown = op;
    return WalkResult::interrupt();
  });
  return unknown;
}

static bool hasFloatAtomics(KernelOp kernel) {
  auto result = kernel.walk([](Operation *op) {
    bool isAtomic = isa<AtomicOp, UpdateOp, memref::AtomicRMWOp>(op);
    auto run = dyn_cast<RunOp>(op);
    return (isAtomic && isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()))) ||
                   (run && hasFloatAtomics(kernelOf(run)))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

//===-- modules -------------------------------------------------------------===//

std::shared_ptr<Workspace> interp::makeWorkspace() { return std::make_shared<Workspace>(); }

struct InterpretedModule::State {
  OwningOpRef<ModuleOp> module;
  std::vector<uint64_t> descriptor; // 8-byte units: its alignment
  Checks checks;
  RuleTable rules = makeRules();
  std::vector<KernelRecord> kernels;
  std::shared_ptr<Workspace> workspace;

  std::mutex mutex;
  std::vector<Finding> findings;   // guarded by mutex
  std::deque<std::string> details; // guarded by mutex; the last ones stay for their hosts to read

  const char *bytes() const { return reinterpret_cast<const char *>(descriptor.data()); }
  template <typename Record> const Record *table(metate_table where) const {
    return reinterpret_cast<const Record *>(bytes() + where.offset);
  }
  llvm::Error readKernels();
  void add(Finding finding);
  void keep(Launch &launch, const metate_host *host);
};

InterpretedModule::InterpretedModule() : state(std::make_unique<State>()) {}
InterpretedModule::~InterpretedModule() = default;

llvm::Error InterpretedModule::State::readKernels() {
  auto *head = reinterpret_cast<const metate_descriptor *>(bytes());
  for (uint32_t k = 0; k < head->kernels.count; ++k) {
    KernelRecord record;
    record.descriptor = bytes();
    record.info = table<metate_kernel_info>(head->kernels) + k;
    record.arguments = table<metate_argument_info>(head->arguments) + record.info->first_argument;
    StringRef name = bytes() + record.info->name;
    record.op = module->lookupSymbol<KernelOp>(name);
    if (!record.op || record.op.getNumArguments() != record.info->argument_count)
      return llvm::createStringError("the module has no kernel '" + name +
                                     "' with the descriptor's arguments");
    if (Operation *unknown = findUnknown(record.op, rules)) {
      std::string text;
      llvm::raw_string_ostream(text) << unknown->getLoc() << ": the interpreter has no rule for '"
                                     << unknown->getName() << "'";
      return llvm::createStringError(text);
    }
    record.hasFloatAtomics = ::hasFloatAtomics(record.op);
    kernels.push_back(record);
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<InterpretedModule>>
InterpretedModule::create(OwningOpRef<ModuleOp> module, StringRef descriptor, const Checks &checks,
                          std::shared_ptr<Workspace> workspace) {
  std::unique_ptr<InterpretedModule> result(new InterpretedModule());
  State &state = *result->state;
  state.module = std::move(module);
  state.descriptor.resize((descriptor.size() + 7) / 8);
  std::memcpy(state.descriptor.data(), descriptor.data(), descriptor.size());
  state.checks = checks;
  state.workspace = workspace ? std::move(workspace) : makeWorkspace();
  if (llvm::Error error = state.readKernels())
    return error;
  return result;
}

unsigned InterpretedModule::kernelCount() const { return state->kernels.size(); }

/// One finding a place: of a kernel's launches, the first that has it.
void InterpretedModule::State::add(Finding finding) {
  for (Finding &before : findings)
    if (before.kind == finding.kind && before.line == finding.line &&
        before.column == finding.column && before.file == finding.file &&
        before.kernel == finding.kernel) {
      before.count += finding.count;
      return;
    }
  findings.push_back(std::move(finding));
}

/// Adds what the launch found, and tells the host what stopped it.
void InterpretedModule::State::keep(Launch &launch, const metate_host *host) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Finding &finding : launch.machine.findings)
    add(std::move(finding));
  if (launch.machine.detail.empty() || !host || !host->failure)
    return;
  constexpr size_t kept = 64; // more launches than that do not fail at once
  if (details.size() == kept)
    details.pop_front();
  details.push_back(launch.machine.detail);
  host->failure->code = launch.machine.statusCode();
  host->failure->detail = details.back().c_str();
  ArrayRef<uint64_t> values = launch.machine.detailValues;
  host->failure->rank = uint32_t(values.size() + 1) / 2;
  for (auto [k, value] : llvm::enumerate(values))
    (k % 2 ? host->failure->shape : host->failure->index)[k / 2] = int64_t(value);
}

int32_t InterpretedModule::launch(unsigned number, const metate_slot *slots,
                                  const metate_host *host) {
  Workspace &workspace = *state->workspace;
  if (!workspace.take(host))
    return METATE_E_INTERRUPTED;
  auto leave = llvm::make_scope_exit([&] { workspace.leave(); });
  Launch launch(state->kernels[number], state->rules, state->checks, slots, host);
  if (state->checks.unwrittenRead)
    for (auto &[block, tree] : launch.trees)
      launch.machine.history[tree.get()] = &workspace.written(block, *tree);
  launch.run();
  int32_t status = launch.finish();
  if (state->checks.unwrittenRead)
    workspace.add(launch);
  state->keep(launch, host);
  return status;
}

std::vector<Finding> InterpretedModule::takeFindings() {
  std::lock_guard<std::mutex> lock(state->mutex);
  return std::exchange(state->findings, {});
}
