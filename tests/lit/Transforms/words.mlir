// Quantised members become bits of words; a word is read once and written once where one iteration writes it.
// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --canonicalize --split-input-file | FileCheck %s
// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --canonicalize --metate-join-merges --split-input-file | FileCheck %s --check-prefix=JOINED

// Each iteration has its word: plain.
// CHECK-LABEL: @metate_entry_own
// CHECK: metate.read %{{.*}} : i32
// CHECK: metate.write %{{.*}} : i32
// CHECK-NOT: metate.merge
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<20, true, i32>>]>]>>
metate.kernel @own(%t: !t, %v0: i32) {
  %v = arith.trunci %v0 : i32 to i12
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    metate.store %v, %t["x"][%i] active : i12, !t
    metate.yield
  }
  metate.return
}

// -----

// Two members of a word, each at another cell: nobody has a word of his own.
// CHECK-LABEL: @metate_entry_shared
// CHECK-COUNT-2: metate.merge %{{.*}} mask
// JOINED-LABEL: @metate_entry_shared
// JOINED-COUNT-2: metate.cas
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<20, true, i32>>]>]>>
metate.kernel @shared(%t: !t, %v0: i32, %w0: i32) {
  %v = arith.trunci %v0 : i32 to i12
  %w = arith.trunci %w0 : i32 to i20
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  metate.range (%i) = (%c0) to (%c63) {
    %next = arith.addi %i, %c1 : index
    metate.store %v, %t["x"][%i] active : i12, !t
    metate.store %w, %t["y"][%next] active : i20, !t
    metate.yield
  }
  metate.return
}

// -----

// All members of a word that memory names: one write, for whatever comes between may come before as well.
// JOINED-LABEL: @metate_entry_whole
// JOINED-NOT: metate.{{cas|rmw}}
// JOINED: metate.write %{{.*}} : i32
// JOINED-NOT: metate.{{cas|rmw|write}}
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<18, true, i32>>]>]>>
metate.kernel @whole(%t: !t, %at: memref<?xi32>, %v0: i32, %w0: i32) {
  %v = arith.trunci %v0 : i32 to i12
  %w = arith.trunci %w0 : i32 to i18
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    metate.store %v, %t["x"][%k] active : i12, !t
    metate.store %w, %t["y"][%k] active : i18, !t
    metate.yield
  }
  metate.return
}

// -----

// Read in between: two writes.
// JOINED-LABEL: @metate_entry_between
// JOINED: metate.cas
// JOINED: metate.read
// JOINED: metate.cas
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<12, true, i32>>]>]>>
metate.kernel @between(%t: !t, %at: memref<?xi32>, %v0: i32) {
  %v = arith.trunci %v0 : i32 to i12
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    metate.store %v, %t["x"][%k] active : i12, !t
    %x = metate.load %t["y"][%k] : !t -> i12
    metate.store %x, %t["y"][%k] active : i12, !t
    metate.yield
  }
  metate.return
}

// -----

// A constant of all ones or zeros is one atomic operation.
// JOINED-LABEL: @metate_entry_bits
// JOINED: metate.rmw ori
// JOINED: metate.rmw andi
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<8, [#metate.place<"x" : !metate.quant_int<1, false, ui32>>, #metate.place<"y" : !metate.quant_int<7, false, ui32>>]>]>>
metate.kernel @bits(%t: !t, %at: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i1
  %none = arith.constant 0 : i7
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    metate.store %one, %t["x"][%k] active : i1, !t
    %c = metate.load %t["x"][%i] : !t -> i1
    scf.if %c {
      metate.store %none, %t["y"][%k] active : i7, !t
    }
    metate.yield
  }
  metate.return
}

// -----

// Additions to two members of one word are one loop that tries: the carry of each ends at its highest bit.
// JOINED-LABEL: @metate_entry_sums
// JOINED: scf.while
// JOINED: arith.constant 2147481599 : i32
// JOINED: arith.addi
// JOINED: metate.cas
// JOINED-NOT: scf.while
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<12, true, i32>>]>]>>
metate.kernel @sums(%t: !t, %at: memref<?xi32>, %v0: i32) {
  %v = arith.trunci %v0 : i32 to i12
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    %a = metate.atomic addi %v, %t["x"][%k] active : i12, !t
    %b = metate.atomic addi %v, %t["y"][%k] active : i12, !t
    metate.yield
  }
  metate.return
}

// -----

// A member that ends where the word does is added to as the word; bits are set as the word's.
// JOINED-LABEL: @metate_entry_last
// JOINED-NOT: scf.while
// JOINED: metate.rmw addi
// JOINED: metate.rmw ori
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<20, true, i32>>]>]>>
metate.kernel @last(%t: !t, %at: memref<?xi32>, %v0: i32) {
  %v = arith.trunci %v0 : i32 to i20
  %w = arith.trunci %v0 : i32 to i12
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    %a = metate.atomic addi %v, %t["y"][%k] active : i20, !t
    %b = metate.load %t["x"][%i] : !t -> i12
    %c = metate.atomic ori %w, %t["x"][%k] active : i12, !t
    metate.yield
  }
  metate.return
}

// -----

// An exchange of a member of an array is one of its word; where nobody shares it, of the number.
// CHECK-LABEL: @metate_entry_exchange
// CHECK: metate.cas
// CHECK: scf.while
// CHECK: arith.cmpi eq, %{{.*}} : i12
// CHECK: metate.cas
!t = !metate.tree<#metate.dense<"i", [64], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<12, true, i32>>, #metate.place<"y" : !metate.quant_int<20, true, i32>>]>]>>
metate.kernel @exchange(%t: !t, %at: memref<?xi32>, %f: memref<?xf32>, %p: f32, %q: f32, %n: i32, %m: i32) {
  %v0 = arith.trunci %n : i32 to i12
  %v1 = arith.trunci %m : i32 to i12
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %r = metate.exchange_if %p, %q : f32
  %w = metate.exchange_if %v0, %v1 : i12
  metate.range (%i) = (%c0) to (%c64) {
    %k0 = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %k0 : i32 to index
    %a = memref.atomic_rmw assign %r, %f[%k] : (f32, memref<?xf32>) -> f32
    %b = metate.atomic assign %w, %t["x"][%k] active : i12, !t
    metate.yield
  }
  metate.return
}
