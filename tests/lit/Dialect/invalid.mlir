// One case for each labelled constraint of the verifiers.
// RUN: metate-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{(A1) a level needs 1 to 12 axes, got ''}}
#l = #metate.dense<"", [1], [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(A1) axes are letters i to t, got 'iu'}}
#l = #metate.dense<"iu", [4, 4], [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(A1) axes must ascend, got 'ji'}}
#l = #metate.dense<"ji", [4, 4], [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(A2) expected 2 extents for axes 'ij', got 1}}
#l = #metate.dense<"ij", [4], [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(A2) extents must be between 1 and 2^31 - 1, got 0}}
#l = #metate.dense<"i", [0], [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(A3) a child must be a level, a place or a bit_struct, got 5 : i64}}
#l = #metate.dense<"i", [4], [5 : i64]>

// -----

// expected-error @below {{(A3) a branch must be a level, a place or a bit_struct, got "x"}}
metate.named_type @t = !metate.tree<"x">

// -----

// expected-error @below {{(A5) coordinates along axis 'i' must stay below 2^31, got an extent of 4294967296}}
metate.named_type @t = !metate.tree<#metate.pointer<"i", [65536], [#metate.dense<"i", [65536], [#metate.place<"a" : f32>]>]>>

// -----

// expected-error @below {{(A6) member 'a' is placed twice}}
metate.named_type @t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>, #metate.dense<"j", [4], [#metate.place<"a" : i32>]>>

// -----

// expected-error @below {{(A6) a member needs a name}}
#p = #metate.place<"" : f32>

// -----

// expected-error @below {{(A7) a member's scalars are i1, (u)i8 to (u)i64, f16, bf16, f32 or f64, got 'i7'}}
#p = #metate.place<"a" : i7>

// -----

// expected-error @below {{(A7) a member is a scalar, a vector or a matrix, got 'vector<2x2x2xf32>'}}
#p = #metate.place<"a" : vector<2x2x2xf32>>

// -----

// expected-error @below {{(A8) a background has the member's type 'f32', got 'i32'}}
#p = #metate.place<"a" : f32, background = 1 : i32>

// -----

// expected-error @below {{(A9) level name 'x' is used at depth 0 and at depth 1}}
metate.named_type @t = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [4], [#metate.place<"a" : f32>], name = "x">], name = "x">>

// -----

// expected-error @below {{(K1) a kernel has no results}}
metate.kernel @k() -> i32 {
  metate.return
}

// -----

// expected-error @below {{(K2) a kernel argument is a tree, an array, a scalar or a vector, got 'tuple<i32>'}}
metate.kernel @k(%x: tuple<i32>) {
  metate.return
}

// -----

metate.kernel @k(%n: index) {
  // expected-error @below {{(R1) expected as many lower bounds, upper bounds and loop variables, got 1, 1 and 2}}
  metate.range (%i, %j) = (%n) to (%n) {
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @k(%n: index) {
  // expected-error @below {{(R1) loop variables are of type index}}
  "metate.range"(%n, %n) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%i: i32):
    metate.yield
  }) : (index, index) -> ()
  metate.return
}

// -----

metate.kernel @k(%n: index) {
  metate.range (%i) = (%n) to (%n) {
    // expected-error @below {{(R2) a parallel loop stands directly in a kernel or in a task's function}}
    metate.range (%j) = (%n) to (%n) {
      metate.yield
    }
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(F1) no member or level 'b' in the tree; it has members a; levels pointer0}}
  metate.for_each (%i) in %f["b"] : !t {
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(F2) expected 1 loop variables of type index for 'a', got 2}}
  metate.for_each (%i, %j) in %f["a"] : !t {
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  metate.for_each (%i) in %f["a"] : !t {
    // expected-error @below {{(F3) a struct-for stands directly in a kernel}}
    metate.for_each (%j) in %f["a"] : !t {
      metate.yield
    }
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C1) no member 'b' in the tree; it has members a; levels dense0}}
  %v = metate.load %f["b"][%i] : !t -> f32
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index, %x: f32) {
  // expected-error @below {{(C1) no member 'dense0' in the tree}}
  metate.store %x, %f["dense0"][%i] : f32, !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C1) no member or level 'pointer0' in the tree}}
  %v = metate.is_active %f["pointer0"][%i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index, %x: f32) {
  // expected-error @below {{(C2) expected 1 coordinates for 'a', got 2}}
  metate.store %x, %f["a"][%i, %i] : f32, !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C2) expected 1 coordinates for 'dense0', got 0}}
  %v = metate.activate %f["dense0"][] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : ui8>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C3) expected a value of type 'i8', got 'ui8'}}
  %v = metate.load %f["a"][%i] : !t -> ui8
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : vector<3xf32>>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C3) member 'a' of type 'vector<3xf32>' has no component with 2 indices}}
  %v = metate.load %f["a"][%i] component [%i, %i] : !t -> f32
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index, %x: f32) {
  // expected-error @below {{(C4) kind 'addi' does not fit a value of type 'f32'}}
  %old = metate.atomic addi %x, %f["a"][%i] : f32, !t
  metate.return
}

// -----

metate.kernel @k(%x: f32) {
  // expected-error @below {{(P1) expected as many unit parts and unsigned flags as operands (1), got 0 and 1}}
  metate.print ["x"] unsigned [false] (%x : f32)
  metate.return
}

// -----

metate.kernel @k(%x: vector<3xf32>) {
  // expected-error @below {{(P2) operands are integers or floats, got 'vector<3xf32>'}}
  metate.print [unit] unsigned [false] (%x : vector<3xf32>)
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [4], [#metate.place<"a" : f32>]>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(T1) expected a level with a pool, got 'dense1'}}
  metate.cells (%slot, %i) in %f["dense1"] : !t {
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(T1) no member or level 'pointer1' in the tree}}
  metate.cells (%slot, %i) in %f["pointer1"] : !t {
    metate.yield
  }
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(T2) expected 2 loop variables of type index for 'pointer0', got 1}}
  metate.cells (%slot) in %f["pointer0"] : !t {
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @k() {
  // expected-error @below {{expected the yielded types to be the result types}}
  %v = metate.serial -> i32 {
    metate.yield
  }
  metate.return
}

// -----

// expected-error @below {{(G1) argument 'x': expected kind scalar, vector, ndarray or tree, got 'mesh'}}
#a = #metate.argument<"x", "mesh", f32>

// -----

// expected-error @below {{(G2) argument 'x': expected a tree type, got 'f32'}}
#a = #metate.argument<"x", "tree", f32>

// -----

// expected-error @below {{(G2) argument 'x': expected a scalar type, got 'i7'}}
#a = #metate.argument<"x", "scalar", i7>

// -----

// expected-error @below {{(G3) argument 'x': element dimensions [] do not fit kind 'vector'}}
#a = #metate.argument<"x", "vector", f32>

// -----

// expected-error @below {{(G3) argument 'x': element dimensions [0] do not fit kind 'ndarray'}}
#a = #metate.argument<"x", "ndarray", f32 element = [0] rank = 2>

// -----

// expected-error @below {{(G4) argument 'x': rank 1 does not fit kind 'ndarray' with 2 element dimensions}}
#a = #metate.argument<"x", "ndarray", f32 element = [2, 2] rank = 1>

// -----

// expected-error @below {{(G5) argument 'x': unknown bits in access 32 or flags 0}}
#a = #metate.argument<"x", "scalar", f32 access = 32>

// -----

// expected-error @below {{failed to satisfy constraint: an array of #metate.argument}}
"metate.interface"() <{sym_name = "k", entry = "e", arguments = [1 : i32], task_count = 0 : i64}> : () -> ()

// -----

!t = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>
metate.kernel @stage_of_dense(%f: !t, %i: index) {
  // expected-error @below {{(S1) expected a member whose leaf is one dense or bitmasked level over all its axes, got 'a'}}
  %t = metate.stage_leaf %f["a"][%i] halo [1] to [1] : !t -> memref<10xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @stage_halo(%f: !t, %i: index) {
  // expected-error @below {{(S2) expected halo widths from 0 to 8 along axis 0}}
  %t = metate.stage_leaf %f["a"][%i] halo [9] to [1] : !t -> memref<18xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @stage_tile(%f: !t, %i: index) {
  // expected-error @below {{(S3) expected a tile of type 'memref<10xf32>', got 'memref<9xf32>'}}
  %t = metate.stage_leaf %f["a"][%i] halo [1] to [1] : !t -> memref<9xf32>
  metate.return
}

// -----

metate.kernel @check_shape(%ok: i1, %i: index) {
  // expected-error @below {{(D1) expected an index and as many extents, got 2 and 1}}
  metate.check out_of_range %ok, "x" index(%i, %i) shape(%i)
  metate.return
}

// -----

metate.kernel @check_no_index(%ok: i1) {
  // expected-error @below {{(D1) expected an index and as many extents, got 0 and 0}}
  metate.check out_of_range %ok, "x"
  metate.return
}

// -----

metate.kernel @check_rank(%ok: i1, %i: index) {
  // expected-error @below {{(D2) expected at most 12 indices, got 13}}
  metate.check capacity %ok, "f.a" index(%i, %i, %i, %i, %i, %i, %i, %i, %i, %i, %i, %i, %i)
  metate.return
}

// -----

metate.kernel @check_capacity(%ok: i1, %i: index) {
  // expected-error @below {{(D3) expected an index and no extents, got 1 and 1}}
  metate.check capacity %ok, "f.a" index(%i) shape(%i)
  metate.return
}

// -----

metate.kernel @check_division(%ok: i1, %i: index) {
  // expected-error @below {{(D3) expected neither an index nor extents, got 1 and 0}}
  metate.check division_by_zero %ok, "" index(%i)
  metate.return
}

// -----

// expected-error @below {{'metate.payload' op attribute 'sanitizer' failed to satisfy constraint: string attribute 'address' or 'thread'}}
metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "" [array<i8: 127, 69>] sanitizer "memory"

// -----

metate.kernel @elementary_operands(%x: f32 {metate.name = "x"}) {
  // expected-error@+1 {{(E1): pow takes 2 operands, got 1}}
  %r = metate.elementary pow(%x) : f32
  metate.return
}

// -----

metate.kernel @philox_wide(%w: i32 {metate.name = "w"}, %v: i64 {metate.name = "v"}) {
  // expected-error@+1 {{operand #4 must be 32-bit signless integer, but got 'i64'}}
  %r = "metate.philox"(%w, %w, %w, %w, %v, %w) : (i32, i32, i32, i32, i64, i32) -> vector<4xi32>
  metate.return
}

// -----

metate.kernel @philox_short(%w: i32 {metate.name = "w"}) {
  // expected-error@+1 {{result #0 must be vector of 32-bit signless integer values of length 4, but got 'vector<2xi32>'}}
  %r = metate.philox counter(%w, %w, %w, %w) key(%w, %w) : vector<2xi32>
  metate.return
}

// -----

metate.kernel @print_part(%x: f32 {metate.name = "x"}) {
  // expected-error@+1 {{(P1) a part is a text, unit or [format], got 1 : i64}}
  metate.print [1] unsigned [false] (%x : f32)
  metate.return
}

// -----

metate.kernel @print_format(%x: f32 {metate.name = "x"}) {
  // expected-error@+1 {{(P3) format 'd' of a float: expected one of a A e E f F g G %, got 'd'}}
  metate.print [["d"]] unsigned [false] (%x : f32)
  metate.return
}

// -----

metate.kernel @print_precision(%x: i32 {metate.name = "x"}) {
  // expected-error@+1 {{(P3) format '.3a' of an integer: expected one of b d i o u x X e E f F g G %, got 'a'}}
  metate.print [[".3a"]] unsigned [false] (%x : i32)
  metate.return
}

// -----

metate.kernel @assert_holes(%ok: i1 {metate.name = "ok"}) {
  // expected-error@+1 {{(A1) expected as many holes and unsigned flags as operands (1), got 2 and 1}}
  metate.assert %ok, "{} {}" unsigned [false] (%ok : i1)
  metate.return
}

// -----

metate.kernel @assert_braces(%ok: i1 {metate.name = "ok"}) {
  // expected-error@+1 {{for braces of a message with operands}}
  metate.assert %ok, "} {}" unsigned [false] (%ok : i1)
  metate.return
}

// -----

metate.kernel @assert_vector(%ok: i1 {metate.name = "ok"}, %v: vector<2xf32> {metate.name = "v"}) {
  // expected-error@+1 {{(A2) operands are integers or floats, got 'vector<2xf32>'}}
  metate.assert %ok, "{}" unsigned [false] (%v : vector<2xf32>)
  metate.return
}

// -----

metate.kernel @assert_format(%ok: i1 {metate.name = "ok"}, %v: f32 {metate.name = "v"}) {
  // expected-error@+1 {{(A3) format '.f' of a float: expected digits after '.'}}
  metate.assert %ok, "{:.f}" unsigned [false] (%v : f32)
  metate.return
}

// -----

metate.kernel @assert_many(%ok: i1 {metate.name = "ok"}) {
  // expected-error@+1 {{(A1) expected at most 24 operands, got 25}}
  metate.assert %ok, "{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}" unsigned [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false]
    (%ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok, %ok : i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1, i1)
  metate.return
}

// -----

// expected-error @below {{(A10) axis 'i' of a hash level is split by a level above it}}
metate.named_type @t = !metate.tree<#metate.dense<"i", [4], [#metate.hash<"ij", [#metate.place<"a" : f32>]>]>>

// -----

// expected-error @below {{(A11) a dynamic level has one axis, got 'ij'}}
#l = #metate.dynamic<"ij", [4, 4], [#metate.place<"a" : f32>], chunk = 1>

// -----

// expected-error @below {{(A11) a chunk of a dynamic level has 1 to 4 cells, got 5}}
#l = #metate.dynamic<"i", [4], [#metate.place<"a" : f32>], chunk = 5>

// -----

// expected-error @below {{(A11) axis 'i' of a dynamic level is split by another level of its path}}
metate.named_type @t = !metate.tree<#metate.dense<"i", [4], [#metate.dynamic<"i", [4], [#metate.place<"a" : f32>], chunk = 1>]>>

// -----

// expected-error @below {{(A11) axis 'i' of a dynamic level is split by another level of its path}}
metate.named_type @t = !metate.tree<#metate.dynamic<"i", [4], [#metate.dense<"i", [4], [#metate.place<"a" : f32>]>], chunk = 1>>

// -----

// expected-error @below {{(A5) coordinates along axis 'i' must stay below 2^31, got an extent of 4294967296}}
metate.named_type @t = !metate.tree<#metate.hash<"i", [#metate.pointer<"i", [65536], [#metate.dense<"i", [65536], [#metate.place<"a" : f32>]>]>]>>

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C1) no member or level 'b' in the tree; it has members a; levels dense0}}
  metate.deactivate %f["b"][%i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C5) every cell of 'a' is always active}}
  metate.deactivate %f["a"][%i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dynamic<"i", [4], [#metate.place<"a" : f32>], chunk = 1>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C6) expected the dynamic level 'dynamic0' itself, got 'a' below it}}
  metate.deactivate %f["a"][%i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dynamic<"i", [4], [#metate.place<"a" : f32>], chunk = 1>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C2) expected 0 coordinates of the parent cell of 'dynamic0', got 1}}
  metate.deactivate %f["dynamic0"][%i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.bitmasked<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C2) expected 1 coordinates for 'a', got 2}}
  metate.deactivate %f["a"][%i, %i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.bitmasked<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C7) expected a dynamic level, got 'bitmasked0'; the tree has members a; levels bitmasked0}}
  %n = metate.append %f["bitmasked0"][] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.bitmasked<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index, %r: i64) {
  // expected-error @below {{(C7) expected a dynamic level, got 'bitmasked0'; the tree has members a; levels bitmasked0}}
  metate.reserve %f["bitmasked0"][] in %r append : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t, %i: index, %r: i64) {
  // expected-error @below {{(C2)}}
  metate.reserve %f["a"][%i, %i] in %r : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"j", [4], [#metate.place<"a" : f32>]>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(C8) expected a pointer, dynamic or hash level, got 'bitmasked1'}}
  %n = metate.used %f["bitmasked1"] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"j", [4], [#metate.place<"a" : f32>]>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(C8) expected a pointer, dynamic or hash level, got 'a'}}
  %n = metate.used %f["a"] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"j", [4], [#metate.place<"a" : f32>]>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(C1) no member or level 'b' in the tree; it has members a}}
  %n = metate.used %f["b"] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.dynamic<"j", [4], [#metate.place<"a" : f32>], chunk = 1>]>>
metate.kernel @k(%f: !t, %i: index) {
  // expected-error @below {{(C2) expected 1 coordinates of the parent cell of 'dynamic1', got 2}}
  %n = metate.length %f["dynamic1"][%i, %i] : !t
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
metate.kernel @k(%f: !t) {
  // expected-error @below {{(N1) expected a bitmasked or dynamic level, got 'pointer0'}}
  metate.snapshot %f["pointer0"] : !t
  metate.return
}

// -----


// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
!g = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [4], [#metate.place<"b" : f32>]>]>>
metate.kernel @leaf_of_other_extent(%f: !f, %g: !g, %i: index) {
  metate.cells (%slot, %s) in %f["a@0"] : !f {
    // expected-error @below {{(V1) expected leaves of the same axes and extents right below the last pool, got 'b' and 'a'}}
    %ok = metate.activate_leaf %g["b"] [%i] like %f["a"] : !g, !f
    metate.yield
  }
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @leaf_without_coordinates(%f: !f) {
  metate.cells (%slot, %s) in %f["a@0"] : !f {
    // expected-error @below {{(V2) expected 1 coordinates, got 0}}
    %ok = metate.activate_leaf %f["a"] [] : !f
    metate.yield
  }
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [40], [#metate.place<"a" : f32>]>]>>
metate.kernel @words_of_another_leaf(%f: !f, %i: index) {
  // expected-error @below {{(V3) expected words of the mask of a bitmasked leaf of 40 cells, got 1 of a bitmasked one}}
  %ok = metate.activate_leaf %f["a"] [%i] cells [1] : !f
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [40], [#metate.place<"a" : f32>]>]>>
metate.kernel @bits_beyond_the_leaf(%f: !f, %i: index) {
  // expected-error @below {{(V3) expected words of the mask of a bitmasked leaf of 40 cells, got 2 of a bitmasked one}}
  metate.deactivate_leaf %f["a"] [%i] cells [-1, 256] : !f
  metate.return
}

// -----

!d = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [32], [#metate.place<"a" : f32>]>]>>
metate.kernel @words_of_a_dense_leaf(%f: !d, %i: index) {
  // expected-error @below {{(V3) expected words of the mask of a bitmasked leaf of 32 cells, got 1 of a dense one}}
  %ok = metate.activate_leaf %f["a"] [%i] cells [1] : !d
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @words_and_another_leaf(%f: !f) {
  metate.cells (%slot, %s) in %f["a@0"] : !f {
    // expected-error @below {{(V3) expected words or the cells of another leaf, got both}}
    %ok = metate.activate_leaf %f["a"] [%s] like %f["a"] cells [1] : !f, !f
    metate.yield
  }
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @leaf_without_task(%f: !f, %i: index) {
  // expected-error @below {{(V4) expected words, or a metate.cells around it}}
  %ok = metate.activate_leaf %f["a"] [%i] : !f
  metate.return
}

// -----

!p = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>]>]>>
metate.kernel @slots_below_bits(%f: !p, %i: index) {
  // expected-error @below {{(V1) expected a bitmasked level right below the last pool, and none below it, got 'a@1'}}
  metate.deactivate_leaf %f["a@1"] [%i] cells [1] : !p
  metate.return
}

// -----

!d = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @word_of_a_dense_leaf(%f: !d, %i: index, %b: i32) {
  // expected-error @below {{(V1) expected a bitmasked level right below the last pool, and none below it, got 'a'}}
  metate.deactivate_word %f["a"] [%i] word %i bits %b : !d
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @given_up_without_coordinates(%f: !f) {
  // expected-error @below {{(V2) expected 1 coordinates, got 0}}
  metate.deactivate_leaf %f["a"] [] cells [1] : !f
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @stage_part(%f: !t, %i: index) {
  // expected-error @below {{(S4) expected parts of 1 directions each, -1, 0 or 1 where there is a halo}}
  %t = metate.stage_leaf %f["a"][%i] halo [0] to [1] parts [-1] : !t -> memref<9xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [4], [#metate.dense<"i", [2], [#metate.place<"a" : f32>]>]>]>>
metate.kernel @row_of_two_levels(%f: !t, %i: index) {
  // expected-error @below {{(S5) expected a scalar member whose leaf is one dense or bitmasked level over all its axes, got 'a'}}
  %r = metate.stage_row %f["a"] [%i] at [] shift 1 halo [] to [] : !t -> memref<8xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
metate.kernel @row_without_place(%f: !t, %i: index) {
  // expected-error @below {{(S6) expected 2 bases, and an index and halo widths for all axes but the last, got 2, 0, 0 and 0}}
  %r = metate.stage_row %f["a"] [%i, %i] at [] shift 1 halo [] to [] : !t -> memref<8xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
metate.kernel @row_too_far(%f: !t, %i: index) {
  // expected-error @below {{(S6) expected halo widths from 0 to 8 along axis 0}}
  %r = metate.stage_row %f["a"] [%i, %i] at [%i] shift 1 halo [9] to [0] : !t -> memref<8xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
metate.kernel @row_shifted_too_far(%f: !t, %i: index) {
  // expected-error @below {{(S6) expected a shift of at most 8, got 9}}
  %r = metate.stage_row %f["a"] [%i, %i] at [%i] shift 9 halo [1] to [0] : !t -> memref<8xf32>
  metate.return
}

// -----

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
metate.kernel @row_of_another_length(%f: !t, %i: index) {
  // expected-error @below {{(S7) expected a row of type 'memref<8xf32>', got 'memref<10xf32>'}}
  %r = metate.stage_row %f["a"] [%i, %i] at [%i] shift 1 halo [1] to [0] : !t -> memref<10xf32>
  metate.return
}

// -----

!f = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @full_without_bits(%f: !f) {
  metate.cells (%slot, %s) in %f["a@0"] : !f {
    // expected-error @below {{(V5) expected a bitmasked level right below 'a@0', which the task goes over, got 'a'}}
    %full = metate.is_leaf_full %f["a"] : !f
    metate.yield
  }
  metate.return
}

// -----

// expected-error @below {{(B1) pool 'x': expected sizes of at least 0 and a power of two up to 4096 as alignment, got bytes 8, scale 0, align 3}}
#p = #metate.pool<"x", launch bytes 8 align 3>

// -----

// expected-error @below {{(B2) pool 'x': expected at most 4 factors of a scale, got 1 of 0}}
#p = #metate.pool<"x", launch bytes 8 align 8 factors [1]>

// -----

// expected-error @below {{(B3) expected a pool's name of letters, digits and underscores, got 'x y'}}
#p = #metate.pool<"x y", launch bytes 8 align 8>

// -----

metate.kernel @k() {
  // expected-error @below {{(Q1) (B1) pool 'x'}}
  %p = metate.pool "x" launch bytes 8 align 0
  metate.return
}

// -----

metate.kernel @k(%n: i32) {
  %m = arith.addi %n, %n : i32
  // expected-error @below {{(Q2) expected factors that are arguments of the kernel}}
  %p = metate.pool "x" launch bytes 8 align 8 scale 4 by (%m : i32)
  metate.return
}

// -----

metate.kernel @k() {
  metate.serial {
    // expected-error @below {{(Q3) expected a worker's pool in a range or directly in the kernel}}
    %p = metate.pool "x" worker bytes 8 align 8
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @k(%p: !metate.block) {
  // expected-error @below {{(Q4) expected a metate.pool as operand}}
  %n = metate.pool_bytes %p
  metate.return
}

// -----

func.func private @real(%n: index) {
  return
}
metate.kernel @k(%n: index) {
  // expected-error @below {{(L1) expected a func.func with a body, marked 'metate.task', got 'real'}}
  metate.launch @real(%n) : (index) -> ()
  metate.return
}

// -----

func.func private @k_task0() attributes {metate.task}
metate.kernel @k() {
  // expected-error @below {{(L1) expected a func.func with a body, marked 'metate.task', got 'k_task0'}}
  metate.launch @k_task0() : () -> ()
  metate.return
}

// -----

func.func private @k_task0(%n: index) attributes {metate.task} {
  return
}
metate.kernel @k(%n: i32) {
  // expected-error @below {{(L2) expected operands and results of the task's type '(index) -> ()', got '(i32) -> ()'}}
  metate.launch @k_task0(%n) : (i32) -> ()
  metate.return
}

// -----

func.func private @k_task0(%n: index) attributes {metate.task} {
  metate.range (%i) = (%n) to (%n) {
    metate.yield
  }
  metate.range (%i) = (%n) to (%n) {
    metate.yield
  }
  return
}
metate.kernel @k(%n: index) {
  // expected-error @below {{(L3) expected a task of one block with at most one metate.range}}
  metate.launch @k_task0(%n) : (index) -> ()
  metate.return
}

// -----

func.func private @k_task0(%n: index) attributes {metate.task} {
  %m = arith.addi %n, %n : index
  metate.range (%i) = (%n) to (%m) {
    metate.yield
  }
  return
}
metate.kernel @k(%n: index) {
  // expected-error @below {{(L3) expected bounds that are arguments or constants of the task}}
  metate.launch @k_task0(%n) : (index) -> ()
  metate.return
}

// -----

metate.kernel @exchanged(%a: memref<?xi32>, %x: i32, %y: i32) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{(X1) expected to be the value of atomic operations of kind 'assign', but is used by 'memref.store'}}
  %v = metate.exchange_if %x, %y : i32
  memref.store %v, %a[%c0] : memref<?xi32>
  metate.return
}

// -----

// expected-error @below {{(G6) dim 'n': expected bounds with a multiple of 8 between them, at most 2^62 - 1, got 9 to 15}}
metate.kernel @k(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 9 to 15 by 8>]}) {
  metate.return
}

// -----

// expected-error @below {{(G6) expected a dim's name of letters, digits and underscores, got 'a b'}}
metate.kernel @k(%x: memref<?xf32> {metate.shape = [#metate.dim<"a b", 0 to 15>]}) {
  metate.return
}

// -----

// expected-error @below {{(G7) argument 'x': expected a number or a #metate.dim for each of 2 dimensions, got [4]}}
metate.interface @k entry "k" tasks 0 [#metate.argument<"x", "ndarray", f32 rank = 2 shape = [4]>]
