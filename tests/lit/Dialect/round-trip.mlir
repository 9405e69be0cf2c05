// Every operation, type and attribute: pretty and generic form give the same module again.
// RUN: metate-opt %s | metate-opt | FileCheck %s
// RUN: metate-opt %s --mlir-print-op-generic | metate-opt | FileCheck %s

!s = !metate.tree<#metate.pointer<"ij", [3, 3], [#metate.dense<"ij", [5, 5], [#metate.place<"a" : f32>, #metate.place<"b" : vector<3xf32>>]>]>>
!named = !metate.tree<#metate.pointer<"i", [8], [#metate.pointer<"i", [4], [#metate.place<"d" : f32, background = 1.500000e+00 : f32>], name = "leaves">]>, #metate.dense<"j", [7], [#metate.place<"m" : vector<2x2xf64>>, #metate.place<"u" : ui8>, #metate.place<"q" : i1>, #metate.place<"h" : bf16>]>>

// CHECK: metate.named_type @ab_aos = !metate.tree<#metate.pointer<"ij", [3, 3], [#metate.dense<"ij", [5, 5], [#metate.place<"a" : f32>, #metate.place<"b" : vector<3xf32>>]>]>>
metate.named_type @ab_aos = !s
// CHECK: metate.named_type @named = !metate.tree<#metate.pointer<"i", [8], [#metate.pointer<"i", [4], [#metate.place<"d" : f32, background = 1.500000e+00 : f32>], name = "leaves">]>, #metate.dense<"j", [7], [#metate.place<"m" : vector<2x2xf64>>, #metate.place<"u" : ui8>, #metate.place<"q" : i1>, #metate.place<"h" : bf16>]>>
metate.named_type @named = !named

// CHECK-LABEL: metate.kernel @loops
// CHECK-SAME: (%[[F:.*]]: !metate.tree<{{.*}}> {metate.name = "f"}, %[[N:.*]]: index {metate.name = "n"})
metate.kernel @loops(%f: !s {metate.name = "f"}, %n: index {metate.name = "n"}) {
  %zero = arith.constant 0 : index
  // CHECK: metate.range (%[[I:.*]], %[[J:.*]]) = (%{{.*}}, %{{.*}}) to (%[[N]], %[[N]]) {
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    // CHECK: %[[A:.*]] = metate.load %[[F]]["a"] [%[[I]], %[[J]]] : <{{.*}}> -> f32
    %a = metate.load %f["a"][%i, %j] : !s -> f32
    // CHECK: metate.load %[[F]]["b"] [%[[I]], %[[J]]] component[%{{.*}}] : <{{.*}}> -> f32
    %b = metate.load %f["b"][%i, %j] component [%zero] : !s -> f32
    // CHECK: metate.store %[[A]], %[[F]]["a"] [%[[I]], %[[J]]] : f32, <
    metate.store %a, %f["a"][%i, %j] : f32, !s
    // CHECK: metate.store %{{.*}}, %[[F]]["b"] [%[[I]], %[[J]]] component[%{{.*}}] active : f32, <
    metate.store %b, %f["b"][%i, %j] component [%zero] active : f32, !s
    // CHECK: metate.atomic addf %[[A]], %[[F]]["a"] [%[[I]], %[[J]]] active : f32, <
    %old = metate.atomic addf %a, %f["a"][%i, %j] active : f32, !s
    // CHECK: metate.yield
    metate.yield
  }
  // CHECK: metate.for_each (%[[X:.*]], %[[Y:.*]]) in %[[F]]["a"] : !metate.tree<{{.*}}> {
  metate.for_each (%i, %j) in %f["a"] : !s {
    // CHECK: %[[ON:.*]] = metate.is_active %[[F]]["pointer0"] [%[[X]], %[[Y]]] : <
    %on = metate.is_active %f["pointer0"][%i, %j] : !s
    // CHECK: metate.activate %[[F]]["a"] [%[[X]], %[[Y]]] : <
    %done = metate.activate %f["a"][%i, %j] : !s
    // CHECK: metate.activate %[[F]]["a"] [%[[X]], %[[Y]]] strict : <
    %once = metate.activate %f["a"][%i, %j] strict : !s
    // CHECK: metate.print ["on= ", unit, "\0A"] unsigned [true](%[[ON]] : i1)
    metate.print ["on= ", unit, "\n"] unsigned [true](%on : i1)
    // CHECK: metate.print ["empty"] unsigned []
    metate.print ["empty"] unsigned []
    // What follows is not taken for an operand.
    // CHECK-NEXT: %{{.*}} = arith.constant 6 : i32
    %after = arith.constant 6 : i32
    // CHECK: metate.print ["[", {{\[}}">8"], "]"] unsigned [false](%[[ON]] : i1)
    metate.print ["[", [">8"], "]"] unsigned [false](%on : i1)
    // CHECK: metate.assert %[[ON]], "must be on"
    metate.assert %on, "must be on"
    // CHECK-NEXT: %{{.*}} = arith.constant 7 : i32
    %behind = arith.constant 7 : i32
    // CHECK: metate.assert %[[ON]], "on is {}, {{[{][{]}}" unsigned [false](%[[ON]] : i1)
    metate.assert %on, "on is {}, {{" unsigned [false](%on : i1)
    %word = arith.constant 5 : i32
    // CHECK: metate.philox counter(%[[W:.*]], %[[W]], %[[W]], %[[W]]) key(%[[W]], %[[W]]) : vector<4xi32>
    %random = metate.philox counter(%word, %word, %word, %word) key(%word, %word) : vector<4xi32>
    %size = arith.constant 2.0 : f32
    // CHECK: metate.elementary sin(%[[SIZE:.*]]) : f32
    %sine = metate.elementary sin(%size) : f32
    // CHECK: metate.elementary pow(%[[SIZE]], %[[SIZE]]) : f32
    %power = metate.elementary pow(%size, %size) : f32
    // CHECK: metate.check out_of_range %[[ON]], "f.a" index(%[[X]], %[[Y]]) shape(%[[N]], %[[N]])
    metate.check out_of_range %on, "f.a" index(%i, %j) shape(%n, %n)
    // CHECK: metate.check capacity %[[ON]], "f.a" index(%[[X]], %[[Y]]){{$}}
    metate.check capacity %on, "f.a" index(%i, %j)
    // CHECK: metate.check division_by_zero %[[ON]], ""{{$}}
    metate.check division_by_zero %on, ""
    // CHECK: metate.poll
    metate.poll
    metate.yield
  }
  // CHECK: metate.return
  metate.return
}

// CHECK-LABEL: metate.kernel @tasks
// CHECK-SAME: attributes {debug, may_alias}
metate.kernel @tasks(%f: !s) attributes {may_alias, debug} {
  // CHECK: %[[V:.*]] = metate.serial -> i32 {
  %v = metate.serial -> i32 {
    %c = arith.constant 4 : i32
    // CHECK: metate.yield %{{.*}} : i32
    metate.yield %c : i32
  }
  // CHECK: metate.cells (%{{.*}}, %[[BI:.*]], %[[BJ:.*]]) in %{{.*}}["pointer0"] : !metate.tree<{{.*}}> attributes {changes_topology} {
  metate.cells (%slot, %bi, %bj) in %f["pointer0"] : !s attributes {changes_topology} {
    // CHECK: metate.stage_leaf %{{.*}}["a"] [%[[BI]], %[[BJ]]] halo [1, 1] to [1, 1] : <{{.*}}> -> memref<7x7xf32>
    %t = metate.stage_leaf %f["a"][%bi, %bj] halo [1, 1] to [1, 1] : !s -> memref<7x7xf32>
    // CHECK: metate.stage_leaf %{{.*}}["a"] [%[[BI]], %[[BJ]]] halo [1, 1] to [1, 1] besides :
    %q = metate.stage_leaf %f["a"][%bi, %bj] halo [1, 1] to [1, 1] besides : !s -> memref<7x7xf32>
    // CHECK: metate.stage_leaf %{{.*}}["a"] [%[[BI]], %[[BJ]]] halo [1, 1] to [1, 1] parts [-1, 0, 0, 0] : <{{.*}}> -> memref<7x7xf32>
    %p = metate.stage_leaf %f["a"][%bi, %bj] halo [1, 1] to [1, 1] parts [-1, 0, 0, 0] : !s -> memref<7x7xf32>
    // CHECK: metate.activate_leaf %{{.*}}["a"] [%[[BI]], %[[BJ]]] like %{{.*}}["a"] entry : <{{.*}}>, !metate.tree<{{.*}}>
    %ok = metate.activate_leaf %f["a"] [%bi, %bj] like %f["a"] entry : !s, !s
    // CHECK: metate.stage_row %{{.*}}["a"] [%[[BI]], %[[BJ]]] at[%[[BI]]] shift -1 halo [1] to [0] : <{{.*}}> -> memref<5xf32>
    %r = metate.stage_row %f["a"][%bi, %bj] at [%bi] shift -1 halo [1] to [0] : !s -> memref<5xf32>
    metate.yield
  }
  // CHECK: metate.return_status %[[V]]
  metate.return_status %v
  metate.return
}

// CHECK-LABEL: metate.kernel @bytes
metate.kernel @bytes(%b: !metate.block, %o: index, %x: i32) {
  metate.serial {
    // CHECK: metate.read %[[B:.*]][%[[O:.*]]] scope 0 acquire : i32
    %r = metate.read %b[%o] scope 0 acquire : i32
    // CHECK: metate.read %[[B]][%[[O]]] scope 0 invariant : i32
    %i = metate.read %b[%o] scope 0 invariant : i32
    // CHECK: metate.write %{{.*}}, %[[B]][%[[O]]] scope 1 release : i32
    metate.write %x, %b[%o] scope 1 release : i32
    // CHECK: metate.rmw addi %{{.*}}, %[[B]][%[[O]]] scope 0 : i32
    %m = metate.rmw addi %x, %b[%o] scope 0 : i32
    // CHECK: metate.cas %{{.*}} to %{{.*}}, %[[B]][%[[O]]] scope 0 : i32
    %c = metate.cas %r to %x, %b[%o] scope 0 : i32
    metate.yield
  }
  metate.return
}

// CHECK: metate.interface @run entry "metate_run" tasks 2 [#metate.argument<"f", "tree", !metate.tree<{{.*}}> access = 3>, #metate.argument<"v", "vector", f32 element = [3]>, #metate.argument<"x", "ndarray", ui16 element = [2, 2] rank = 3 access = 2 flags = 2>] may_alias
metate.interface @run entry "metate_run" tasks 2 [#metate.argument<"f", "tree", !s access = 3>, #metate.argument<"v", "vector", f32 element = [3]>, #metate.argument<"x", "ndarray", ui16 element = [2, 2] rank = 3 access = 2 flags = 2>] may_alias
// CHECK: metate.text 0 "k.py" : 3 : 5 "x must be positive"
metate.text 0 "k.py" : 3 : 5 "x must be positive"
// CHECK: metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "+aes" [array<i8: 127, 69>]
metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "+aes" [array<i8: 127, 69>]
// CHECK: metate.payload @payload1 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "" [array<i8: 127, 69>] sanitizer "thread"
metate.payload @payload1 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "" [array<i8: 127, 69>] sanitizer "thread"

!masked = !metate.tree<#metate.pointer<"i", [16], [#metate.bitmasked<"i", [40], [#metate.place<"a" : f32>]>]>>

// CHECK-LABEL: metate.kernel @words
metate.kernel @words(%f: !masked, %i: index, %bits: i32) {
  // CHECK: metate.activate_leaf %{{.*}}["a"] [%{{.*}}] cells [-1, 15] : <{{.*}}>
  %ok = metate.activate_leaf %f["a"] [%i] cells [-1, 15] : !masked
  // CHECK: metate.deactivate_leaf %{{.*}}["a@1"] [%{{.*}}] cells [0, 255] : <{{.*}}>
  metate.deactivate_leaf %f["a@1"] [%i] cells [0, 255] : !masked
  // CHECK: metate.deactivate_word %{{.*}}["a"] [%{{.*}}] word %{{.*}} bits %{{.*}} : <{{.*}}>
  metate.deactivate_word %f["a"] [%i] word %i bits %bits : !masked
  metate.return
}

// CHECK-LABEL: metate.kernel @planned
metate.kernel @planned(%n: i64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK: metate.pool "all" launch bytes 16 align 64 scale 8 by(%{{.*}}, %{{.*}} : i64, i64)
  %all = metate.pool "all" launch bytes 16 align 64 scale 8 by (%n, %n : i64, i64)
  metate.range (%i) = (%c0) to (%c8) {
    // CHECK: metate.pool "tile" worker bytes 40 align 8 index 1
    %tile = metate.pool "tile" worker bytes 40 align 8 index 1
    // CHECK: metate.worker_part %{{.*}} each %{{.*}}
    %own = metate.worker_part %tile each %c8
    metate.yield
  }
  metate.return
}

// CHECK: metate.interface @pools entry "e" tasks 1 [] pools [#metate.pool<"all", launch bytes 16 align 64 scale 8 factors{{ ?}}[0, 0]>, #metate.pool<"tile", worker bytes 40 align 8 variant 1>]
metate.interface @pools entry "e" tasks 1 [] pools [#metate.pool<"all", launch bytes 16 align 64 scale 8 factors [0, 0]>, #metate.pool<"tile", worker bytes 40 align 8 variant 1>]
