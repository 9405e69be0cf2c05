//===- Enums.td - enumerations of the dialect -------------------*- tablegen -*-===//
//
// Of its own because tablegen writes every enumeration that it sees, arith's too.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_ENUMS
#define METATE_DIALECT_ENUMS

include "mlir/IR/EnumAttr.td"

def Metate_CheckKind : I32EnumAttr<"CheckKind", "what a check is for: the metate_status of abi/metate/abi/base.h", [
    I32EnumAttrCase<"Capacity", 8, "capacity">,
    I32EnumAttrCase<"OutOfRange", 16, "out_of_range">,
    I32EnumAttrCase<"DivisionByZero", 20, "division_by_zero">]> {
  let cppNamespace = "::metate";
}

def Metate_PoolKind : I32EnumAttr<"PoolKind", "whose a planned pool is: metate_pool_kind of abi/metate/abi/pool.h", [
    I32EnumAttrCase<"Launch", 1, "launch">,
    I32EnumAttrCase<"Worker", 2, "worker">]> {
  let cppNamespace = "::metate";
}

#endif
