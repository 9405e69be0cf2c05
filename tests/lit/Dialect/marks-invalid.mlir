// One case for each row of Dialect/Marks.def: an attribute that is not listed, stands elsewhere or has another type.
// RUN: metate-opt %s --split-input-file --verify-diagnostics

metate.kernel @unknown() {
  // expected-error @below {{(M1) 'metate.no_such_mark' is no attribute of the dialect: see Dialect/Marks.def}}
  %0 = arith.constant {metate.no_such_mark} 0 : index
  metate.return
}

// -----

// expected-error @below {{(M3) expected 'metate.name' to be a StringAttr, got 1 : i32}}
metate.kernel @nameType(%x: f32 {metate.name = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.name' on a kernel's arguments, got it on 'func.func'}}
func.func private @namePlace() attributes {metate.name = "x"}

// -----

// expected-error @below {{(M3) expected 'metate.type' to be a TypeAttr, got 1 : i32}}
metate.kernel @typeType(%x: f32 {metate.type = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.type' on a kernel's arguments, got it on 'func.func'}}
func.func private @typePlace() attributes {metate.type = i32}

// -----

// expected-error @below {{(M3) expected 'metate.element' to be a DenseI64ArrayAttr, got 1 : i32}}
metate.kernel @elementType(%x: f32 {metate.element = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.element' on a kernel's arguments, got it on 'func.func'}}
func.func private @elementPlace() attributes {metate.element = array<i64: 1>}

// -----

// expected-error @below {{(M3) expected 'metate.long' to be a UnitAttr, got 1 : i32}}
metate.kernel @longType(%x: f32 {metate.long = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.long' on a kernel's arguments, got it on 'func.func'}}
func.func private @longPlace() attributes {metate.long}

// -----

// expected-error @below {{(M3) expected 'metate.result' to be a UnitAttr, got 1 : i32}}
metate.kernel @resultType(%x: f32 {metate.result = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.result' on a kernel's arguments, got it on 'func.func'}}
func.func private @resultPlace() attributes {metate.result}

// -----

// expected-error @below {{(M3) expected 'metate.members' to be a DictionaryAttr, got 1 : i32}}
metate.kernel @membersType(%x: f32 {metate.members = 1 : i32}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.members' on a kernel's arguments, got it on 'func.func'}}
func.func private @membersPlace() attributes {metate.members = {}}

// -----

// expected-error @below {{(M3) expected 'metate.access' to be a IntegerAttr, got "x"}}
metate.kernel @accessType(%x: f32 {metate.access = "x"}) {
  metate.return
}

// -----

// expected-error @below {{(M2) expected 'metate.access' on a kernel's arguments, got it on 'func.func'}}
func.func private @accessPlace() attributes {metate.access = 1 : i64}

// -----

// expected-error @below {{(M2) expected 'metate.name' on a kernel's arguments, got it on argument 0 of 'func.func'}}
func.func private @nameOfFunction(i32 {metate.name = "x"})

// -----

// expected-error @below {{(M2) expected 'metate.nest' on (scf::ForOp), got it on argument 0 of 'metate.kernel'}}
metate.kernel @nestOfArgument(%x: f32 {metate.nest}) {
  metate.return
}

// -----

metate.kernel @isSignedType() {
  // expected-error @below {{(M3) expected 'metate.signed' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.signed = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @isSignedPlace() {
  // expected-error @below {{(M2) expected 'metate.signed' on (arith::AddIOp, arith::SubIOp, arith::MulIOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.signed} 0 : index
  metate.return
}

// -----

metate.kernel @isUnsignedType() {
  // expected-error @below {{(M3) expected 'metate.unsigned' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.unsigned = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @isUnsignedPlace() {
  // expected-error @below {{(M2) expected 'metate.unsigned' on (arith::AddIOp, arith::SubIOp, arith::MulIOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.unsigned} 0 : index
  metate.return
}

// -----

metate.kernel @subtractsType() {
  // expected-error @below {{(M3) expected 'metate.subtracts' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.subtracts = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @subtractsPlace() {
  // expected-error @below {{(M2) expected 'metate.subtracts' on (AtomicOp, memref::AtomicRMWOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.subtracts} 0 : index
  metate.return
}

// -----

metate.kernel @castType() {
  // expected-error @below {{(M3) expected 'metate.cast' to be a ArrayAttr, got 1 : i32}}
  %0 = arith.constant {metate.cast = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @isExplicitType() {
  // expected-error @below {{(M3) expected 'metate.explicit' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.explicit = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @divisorType() {
  // expected-error @below {{(M3) expected 'metate.divisor' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.divisor = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @divisorPlace() {
  // expected-error @below {{(M2) expected 'metate.divisor' on (arith::CmpIOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.divisor} 0 : index
  metate.return
}

// -----

metate.kernel @componentType() {
  // expected-error @below {{(M3) expected 'metate.component' to be a IntegerAttr, got "x"}}
  %0 = arith.constant {metate.component = "x"} 0 : index
  metate.return
}

// -----

metate.kernel @componentPlace() {
  // expected-error @below {{(M2) expected 'metate.component' on (arith::CmpIOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.component = 1 : i64} 0 : index
  metate.return
}

// -----

metate.kernel @unsignedComponentType() {
  // expected-error @below {{(M3) expected 'metate.unsigned_component' to be a IntegerAttr, got "x"}}
  %0 = arith.constant {metate.unsigned_component = "x"} 0 : index
  metate.return
}

// -----

metate.kernel @unsignedComponentPlace() {
  // expected-error @below {{(M2) expected 'metate.unsigned_component' on (arith::CmpIOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.unsigned_component = 1 : i64} 0 : index
  metate.return
}

// -----

metate.kernel @changesTopologyType() {
  // expected-error @below {{(M3) expected 'metate.changes_topology' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.changes_topology = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @changesTopologyPlace() {
  // expected-error @below {{(M2) expected 'metate.changes_topology' on (ForEachOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.changes_topology} 0 : index
  metate.return
}

// -----

metate.kernel @deterministicType() {
  // expected-error @below {{(M3) expected 'metate.deterministic' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.deterministic = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @deterministicPlace() {
  // expected-error @below {{(M2) expected 'metate.deterministic' on (KernelOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.deterministic} 0 : index
  metate.return
}

// -----

metate.kernel @reductionType() {
  // expected-error @below {{(M3) expected 'metate.reduction' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.reduction = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @reductionPlace() {
  // expected-error @below {{(M2) expected 'metate.reduction' on (AtomicOp, memref::AtomicRMWOp, RmwOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.reduction} 0 : index
  metate.return
}

// -----

metate.kernel @nestType() {
  // expected-error @below {{(M3) expected 'metate.nest' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.nest = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @nestPlace() {
  // expected-error @below {{(M2) expected 'metate.nest' on (scf::ForOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.nest} 0 : index
  metate.return
}

// -----

metate.kernel @rowType() {
  // expected-error @below {{(M3) expected 'metate.row' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.row = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @rowPlace() {
  // expected-error @below {{(M2) expected 'metate.row' on (scf::ForOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.row} 0 : index
  metate.return
}

// -----

metate.kernel @ownType() {
  // expected-error @below {{(M3) expected 'metate.own' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.own = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @ownPlace() {
  // expected-error @below {{(M2) expected 'metate.own' on (IsActiveOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.own} 0 : index
  metate.return
}

// -----

metate.kernel @slotsType() {
  // expected-error @below {{(M3) expected 'metate.slots' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.slots = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @slotsPlace() {
  // expected-error @below {{(M2) expected 'metate.slots' on (scf::ForOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.slots} 0 : index
  metate.return
}

// -----

metate.kernel @linkedType() {
  // expected-error @below {{(M3) expected 'metate.linked' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.linked = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @linkedPlace() {
  // expected-error @below {{(M2) expected 'metate.linked' on (ActivateOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.linked} 0 : index
  metate.return
}

// -----

metate.kernel @scannedType() {
  // expected-error @below {{(M3) expected 'metate.scanned' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.scanned = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @scannedPlace() {
  // expected-error @below {{(M2) expected 'metate.scanned' on (IsActiveOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.scanned} 0 : index
  metate.return
}

// -----

metate.kernel @maskedType() {
  // expected-error @below {{(M3) expected 'metate.masked' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.masked = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @maskedPlace() {
  // expected-error @below {{(M2) expected 'metate.masked' on (scf::IfOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.masked} 0 : index
  metate.return
}

// -----

metate.kernel @knownSlotType() {
  // expected-error @below {{(M3) expected 'metate.known_slot' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.known_slot = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @knownSlotPlace() {
  // expected-error @below {{(M2) expected 'metate.known_slot' on (ReadOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.known_slot} 0 : index
  metate.return
}

// -----

metate.kernel @onlyWriterType() {
  // expected-error @below {{(M3) expected 'metate.only_writer' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.only_writer = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @onlyWriterPlace() {
  // expected-error @below {{(M2) expected 'metate.only_writer' on (WriteOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.only_writer} 0 : index
  metate.return
}

// -----

metate.kernel @cellsType() {
  // expected-error @below {{(M3) expected 'metate.cells' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.cells = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @cellsPlace() {
  // expected-error @below {{(M2) expected 'metate.cells' on (RangeOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.cells} 0 : index
  metate.return
}

// -----

metate.kernel @activatesType() {
  // expected-error @below {{(M3) expected 'metate.activates' to be a DenseI64ArrayAttr, got 1 : i32}}
  %0 = arith.constant {metate.activates = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @activatesPlace() {
  // expected-error @below {{(M2) expected 'metate.activates' on (KernelOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.activates = array<i64: 1>} 0 : index
  metate.return
}

// -----

metate.kernel @straightType() {
  // expected-error @below {{(M3) expected 'metate.straight' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.straight = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @straightPlace() {
  // expected-error @below {{(M2) expected 'metate.straight' on (scf::ForOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.straight} 0 : index
  metate.return
}

// -----

metate.kernel @nontemporalType() {
  // expected-error @below {{(M3) expected 'metate.nontemporal' to be a UnitAttr, got 1 : i32}}
  %0 = arith.constant {metate.nontemporal = 1 : i32} 0 : index
  metate.return
}

// -----

metate.kernel @nontemporalPlace() {
  // expected-error @below {{(M2) expected 'metate.nontemporal' on (WriteOp), got it on 'arith.constant'}}
  %0 = arith.constant {metate.nontemporal} 0 : index
  metate.return
}
