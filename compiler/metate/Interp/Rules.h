//===- Rules.h - what each operation means ----------------------*- C++ -*-===//
//
// One function a dialect fills the table; one rule an operation.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_RULES_H
#define METATE_INTERP_RULES_H

#include "metate/Interp/Machine.h"

namespace metate::interp {

template <typename Op, auto function> void addRule(RuleTable &table) {
  table[mlir::TypeID::get<Op>()] = [](Machine &machine, mlir::Operation *op) {
    function(machine, llvm::cast<Op>(op));
  };
}

void addArithRules(RuleTable &table);
void addConversionRules(RuleTable &table);
void addMathRules(RuleTable &table);
void addVectorRules(RuleTable &table);
void addControlRules(RuleTable &table);
void addArrayRules(RuleTable &table);
void addCellRules(RuleTable &table);
void addQuantRules(RuleTable &table);
void addTaskRules(RuleTable &table);
void addReserveRules(RuleTable &table);
void addGraphRules(RuleTable &table);
void addCallRules(RuleTable &table);

/// Gives the operation's result, component by component, what `compute` makes of the operands'.
void elementwise(Machine &machine, mlir::Operation *op,
                 llvm::function_ref<uint64_t(llvm::ArrayRef<uint64_t>)> compute);

/// The value that a read-modify-write leaves, judged: `shown` is the memory's scalar type with its
/// sign.
/// What the place holds after an atomic operation that would leave `now` there: `old` where another value was expected.
uint64_t exchanged(Machine &machine, mlir::Operation *op, uint64_t old, uint64_t now);
uint64_t combineChecked(Machine &machine, mlir::Operation *op, mlir::arith::AtomicRMWKind kind,
                        mlir::Type shown, uint64_t old, uint64_t value);
/// The value alone.
uint64_t combine(mlir::arith::AtomicRMWKind kind, mlir::Type scalar, uint64_t old, uint64_t value);

} // namespace metate::interp

#endif
