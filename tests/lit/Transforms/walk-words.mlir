// RUN: metate-opt %s --metate-walk-words --canonicalize --cse --split-input-file | FileCheck %s

!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// All bits of a word at once; what a shifted word lacks comes from the next one.
// CHECK-LABEL: @bits
// CHECK: metate.range (%[[I:.*]], %[[W:.*]]) = (%{{.*}}, %{{.*}}) to (%c16, %c2)
// CHECK: %[[J:.*]] = arith.muli %[[W]], %c32
// CHECK: %[[OWN:.*]] = metate.load_word %{{.*}}["b"] [%[[I]], %[[J]]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[W]], %c1
// CHECK: %[[NEXT:.*]] = arith.muli %[[BEHIND]], %c32
// CHECK: %[[AFTER:.*]] = metate.load_word %{{.*}}["b"] [%[[I]], %[[NEXT]]]
// CHECK-NOT: metate.load %
// CHECK: metate.store_word %{{.*}}, %{{.*}}["b"] [%[[I]], %[[J]]] active
metate.kernel @bits(%x: !b, %y: !b) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c64) {
    %a = metate.load %x["b"][%i, %j] : !b -> i1
    %next = arith.addi %j, %c1 : index
    %c = metate.load %x["b"][%i, %next] : !b -> i1
    %d = arith.xori %a, %c : i1
    metate.store %d, %y["b"][%i, %j] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// A sum of two and a comparison: two planes, a half adder.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 64>]>>
// CHECK-LABEL: @sum
// CHECK: metate.range (%[[I:.*]]) = (%c0) to (%c16)
// CHECK-DAG: arith.xori %{{.*}} : i64
// CHECK-DAG: arith.andi %{{.*}} : i64
// CHECK: metate.store_word
metate.kernel @sum(%x: !b, %y: !b, %z: !b) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2 : i32
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c64) {
    %a = metate.load %x["b"][%i, %j] : !b -> i1
    %c = metate.load %y["b"][%i, %j] : !b -> i1
    %aw = arith.extui %a : i1 to i32
    %cw = arith.extui %c : i1 to i32
    %s = arith.addi %aw, %cw : i32
    %is = arith.cmpi eq, %s, %two : i32
    metate.store %is, %z["b"][%i, %j] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// No small integers: the elements of a word one after the other, by the iteration that has the word.
!q = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"i", [4], [#metate.place<"q" : !metate.quant_int<8, true, i32>>], word = 32>]>>
// CHECK-LABEL: @elements
// CHECK: metate.range (%[[W:.*]]) = (%c0) to (%c16)
// CHECK-COUNT-4: metate.store %{{.*}} : i8
// CHECK-NOT: metate.store
metate.kernel @elements(%x: memref<?xf32>, %y: !q) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c64) {
    %a = memref.load %x[%i] : memref<?xf32>
    %n = arith.fptosi %a : f32 to i8
    metate.store %n, %y["q"][%i] active : i8, !q
    metate.yield
  }
  metate.return
}

// -----

// Bounds within words: masks, whole but in the words where the loop begins and ends.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @part
// CHECK: metate.range (%{{.*}}, %[[W:.*]]) =
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[W]], %{{.*}} : index
// CHECK: arith.select %[[LAST]]
// CHECK: metate.load_word
// CHECK: metate.store_word
metate.kernel @part(%y: !b, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  metate.range (%i, %j) = (%c0, %c3) to (%c16, %n) {
    metate.store %true, %y["b"][%i, %j] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// A store at another element than the variable's: no word is an iteration's own.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @beside
// CHECK-NOT: store_word
// CHECK: metate.store
metate.kernel @beside(%y: !b) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c63 = arith.constant 63 : index
  %true = arith.constant true
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c63) {
    %k = arith.addi %j, %c1 : index
    metate.store %true, %y["b"][%i, %k] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// What only counts is counted together.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @count
// CHECK: metate.load_word
// CHECK: math.ctpop
// CHECK: memref.atomic_rmw addi
metate.kernel @count(%y: !b, %sum: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c64) {
    %a = metate.load %y["b"][%i, %j] : !b -> i1
    %w = arith.extui %a : i1 to i32
    %old = memref.atomic_rmw addi %w, %sum[%c0] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.return
}

// -----

// A loop in order that reads what a turn before it has written: turn by turn.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @inorder
// CHECK-NOT: store_word
// CHECK: metate.store %{{.*}} : i1
metate.kernel @inorder(%y: !b) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  metate.serial {
    scf.for %j = %c1 to %c64 step %c1 {
      %k = arith.subi %j, %c1 : index
      %a = metate.load %y["b"][%c0, %k] : !b -> i1
      metate.store %a, %y["b"][%c0, %j] active : i1, !b
    }
    metate.yield
  }
  metate.return
}

// -----

// All iterations of %i name one row: nobody has a word of his own.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @rows
// CHECK-NOT: store_word
metate.kernel @rows(%y: !b) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c64) {
    metate.store %true, %y["b"][%c0, %j] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// Two of three: what three have in common, four operations of logic; the plane of ones is not asked.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 64>]>>
// CHECK-LABEL: @adder
// CHECK-COUNT-4: arith.{{and|xor}}i %{{.*}} : i64
// CHECK-NOT: arith.{{and|xor}}i
// CHECK: metate.store_word
metate.kernel @adder(%x: !b, %y: !b, %z: !b, %w: !b) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2 : i32
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c64) {
    %a = metate.load %x["b"][%i, %j] : !b -> i1
    %b = metate.load %y["b"][%i, %j] : !b -> i1
    %c = metate.load %z["b"][%i, %j] : !b -> i1
    %aw = arith.extui %a : i1 to i32
    %bw = arith.extui %b : i1 to i32
    %cw = arith.extui %c : i1 to i32
    %s = arith.addi %aw, %bw : i32
    %t = arith.addi %s, %cw : i32
    %is = arith.cmpi sge, %t, %two : i32
    metate.store %is, %w["b"][%i, %j] active : i1, !b
    metate.yield
  }
  metate.return
}

// -----

// Counting adds the condition; what it never passes needs no more planes: 4 bits hold 15.
!q = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [16], [#metate.place<"q" : !metate.quant_int<4, false, ui32>>], word = 64>]>>
// CHECK-LABEL: @counting
// CHECK-NOT: scf.if
// CHECK-NOT: arith.addi
// CHECK: metate.store_word
metate.kernel @counting(%x: !q, %y: !q) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %most = arith.constant 15 : i32
  metate.range (%i, %j) = (%c0, %c0) to (%c16, %c16) {
    %a = metate.load %x["q"][%i, %j] : !q -> i4
    %w = arith.extui %a : i4 to i32
    %below = arith.cmpi slt, %w, %most : i32
    %r = scf.if %below -> (i32) {
      %more = arith.addi %w, %one : i32
      scf.yield %more : i32
    } else {
      scf.yield %w : i32
    }
    %n = arith.trunci %r : i32 to i4
    metate.store %n, %y["q"][%i, %j] active : i4, !q
    metate.yield
  }
  metate.return
}

// -----

// A loop along words in a parallel loop is one of its dimensions.
!b = !metate.tree<#metate.dense<"i", [16], [#metate.quant_array<"j", [64], [#metate.place<"b" : !metate.quant_int<1, false, ui32>>], word = 32>]>>
// CHECK-LABEL: @nest
// CHECK: metate.range (%{{.*}}, %{{.*}}) = (%c0, %c0) to (%c16, %c2)
// CHECK-NOT: scf.for
metate.kernel @nest(%x: !b, %y: !b) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%c0) to (%c16) {
    scf.for %j = %c0 to %c64 step %c1 {
      %a = metate.load %x["b"][%i, %j] : !b -> i1
      metate.store %a, %y["b"][%i, %j] active : i1, !b
    }
    metate.yield
  }
  metate.return
}
