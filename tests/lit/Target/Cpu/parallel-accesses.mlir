// RUN: metate-opt %s --pass-pipeline="builtin.module(metate.kernel(metate-parallel-accesses))" --split-input-file | FileCheck %s
// RUN: metate-opt %s --split-input-file --metate-stage-map="target=x86-64-v3" | FileCheck %s --check-prefix=MAP
// RUN: metate-opt %s --pass-pipeline="builtin.module(metate.kernel(metate-parallel-accesses{masked}))" --split-input-file | FileCheck %s --check-prefix=MASK
// RUN: metate-opt %s --split-input-file --metate-stage-map="target=x86-64-v4" | FileCheck %s --check-prefix=MASKMAP

// Each iteration writes beside its neighbour: no access depends on another iteration's, whatever place it reads.
// CHECK: #[[GROUP:.*]] = #llvm.access_group
// CHECK-LABEL: metate.kernel @gathers
// CHECK: metate.read {{.*}} {access_groups = [#[[GROUP]]]}
// CHECK: metate.read {{.*}} {access_groups = [#[[GROUP]]]}
// CHECK: metate.write {{.*}} {access_groups = [#[[GROUP]]]}
// MAP: #[[LOOP:.*]] = #llvm.loop_annotation<parallelAccesses = #[[GROUP:.*]]>
// MAP: llvm.load {{.*}}access_groups = [#[[GROUP]]]
// MAP: llvm.store {{.*}}access_groups = [#[[GROUP]]]
// MAP: llvm.br {{.*}} {loop_annotation = #[[LOOP]]}
metate.kernel @gathers(%x: !metate.block, %at: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %row = arith.muli %i, %n overflow<nsw> : index
    %cell = arith.addi %row, %j overflow<nsw> : index
    %o = arith.muli %cell, %c4 overflow<nsw> : index
    %k = metate.read %at[%o] scope 1 : i32
    %there = arith.index_cast %k : i32 to index
    %q = arith.muli %there, %c4 overflow<nsw> : index
    %value = metate.read %x[%q] scope 0 : f32
    metate.write %value, %x[%o] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// A store under a condition, one at a place that memory says, one that skips places: vectors would be taken apart.
// CHECK-LABEL: metate.kernel @not
// CHECK-NOT: access_groups
// MAP-LABEL: llvm.func {{.*}}@not
// MAP-NOT: access_groups
metate.kernel @not(%x: !metate.block, %n: index, %f: f32, %ok: i1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %less = arith.cmpi slt, %i, %c8 : index
    scf.if %less {
      metate.write %f, %x[%o] scope 0 : f32
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %k = metate.read %x[%o] scope 0 : i32
    %there = arith.index_cast %k : i32 to index
    metate.write %f, %x[%there] scope 0 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c8 overflow<nsw> : index
    metate.write %f, %x[%o] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// Arguments that may overlap: the order of reads and writes shows.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK-NOT: access_groups
metate.kernel @overlapping(%x: !metate.block, %n: index, %f: f32) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%o] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// Machines that store vectors under a mask: of a short body without inner loops, of numbers of 32 and 64 bits, eight vectors side by side. LLVM is told
// nothing where another machine would take the vector apart.
// CHECK-LABEL: metate.kernel @colours
// CHECK-NOT: access_groups
// MAP-LABEL: llvm.func {{.*}}@colours
// MAP-NOT: access_groups
// MASK-LABEL: metate.kernel @colours
// MASK: metate.range
// MASK: metate.read {{.*}} {access_groups
// MASK: metate.write {{.*}} {access_groups
// MASK: metate.range
// MASK-NOT: access_groups
// MASK: metate.range
// MASK-NOT: access_groups
// MASK: metate.return
// MASKMAP: #llvm.loop_interleave<count = 8 : i32>
// MASKMAP: llvm.func {{.*}}@colours_task0
// MASKMAP: llvm.store {{.*}}access_groups
metate.kernel @colours(%x: !metate.block, %bytes: !metate.block, %n: index, %colour: index, %b: i8, %four: vector<4xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c1) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %left = arith.subi %o, %c4 overflow<nsw> : index
    %rest = arith.remui %i, %c2 : index
    %is = arith.cmpi eq, %rest, %colour : index
    scf.if %is {
      %value = metate.read %x[%left] scope 0 : f32
      metate.write %value, %x[%o] scope 0 : f32
    }
    metate.yield
  }
  metate.range (%i) = (%c1) to (%n) {
    %rest = arith.remui %i, %c2 : index
    %is = arith.cmpi eq, %rest, %colour : index
    scf.if %is {
      metate.write %b, %bytes[%i] scope 1 : i8
    }
    metate.yield
  }
  metate.range (%i) = (%c1) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %is = arith.cmpi eq, %i, %colour : index
    scf.if %is {
      metate.write %four, %bytes[%o] scope 1 : vector<4xf32>
    }
    metate.yield
  }
  metate.return
}

// -----

// Stores that lie apart, beside a sine and a cosine: vectors pay all the same. A sum alone is not worth them.
// MAP-LABEL: llvm.func {{.*}}@heavy
// MASKMAP-LABEL: llvm.func {{.*}}@heavy
// CHECK-LABEL: metate.kernel @heavy
// CHECK: metate.read {{.*}} {access_groups
// CHECK: metate.write {{.*}} {access_groups
// CHECK-LABEL: metate.kernel @light
// CHECK-NOT: access_groups
metate.kernel @heavy(%x: !metate.block, %y: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %apart = arith.muli %i, %c12 overflow<nsw> : index
    %v = metate.read %x[%o] scope 0 : f32
    %s = metate.elementary sin(%v) : f32
    %c = metate.elementary cos(%v) : f32
    %p = arith.mulf %s, %c : f32
    metate.write %p, %y[%apart] scope 1 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @light(%x: !metate.block, %y: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  metate.range (%i) = (%c0) to (%n) {
    %o = arith.muli %i, %c4 overflow<nsw> : index
    %apart = arith.muli %i, %c12 overflow<nsw> : index
    %v = metate.read %x[%o] scope 0 : f32
    %p = arith.addf %v, %v : f32
    metate.write %p, %y[%apart] scope 1 : f32
    metate.yield
  }
  metate.return
}
