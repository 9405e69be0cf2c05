// RUN: metate-opt %s --metate-bin-scatters="most-bytes=10000000" | FileCheck %s
// RUN: metate-opt %s --metate-bin-scatters="most-bytes=10000000 streamed=0" | FileCheck %s --check-prefix=STREAM

!grid = !metate.tree<#metate.dense<"ij", [256, 200], [#metate.place<"m" : f32>, #metate.place<"v" : vector<3xf32>>]>>
!points = !metate.tree<#metate.dense<"i", [50000], [#metate.place<"x" : i32>, #metate.place<"y" : i32>, #metate.place<"v" : vector<3xf32>>]>>

// The place around which an iteration adds is computed and counted, counts are summed up, what iterations read is put in order; slabs of blocks
// are added to by way of a tile, even ones first. Coordinates are 0 to 3 from the base: a tile of 16 + 3 by
// 128 + 3 cells of four numbers.
// CHECK-LABEL: metate.kernel @around
// CHECK: metate.range (%[[PART:.*]]) = {{.*}} to (%c16
// CHECK:   metate.pool "scatter_order" launch bytes {{[0-9]+}} align 64
// CHECK:   scf.for %[[I:.*]] =
// CHECK:     metate.load %{{.*}}["x"]
// CHECK:     arith.maxsi
// CHECK:     arith.minsi
// CHECK:     metate.write {{.*}} : i32
// CHECK-NOT: metate.atomic
// CHECK: metate.range {{.*}} to (%c1
// CHECK: metate.range {{.*}} to (%c16
// CHECK:   metate.load %{{.*}}["v"]
// CHECK:   metate.write {{.*}} : f32
// CHECK: metate.range {{.*}} attributes {metate.one_body, metate.side_by_side}
// CHECK:   metate.pool "scatter_tile" worker bytes 39824 align 64
// CHECK:   metate.read {{.*}} : vector<4xf32>
// CHECK:   metate.store %{{.*}}["v"]
// CHECK: metate.range {{.*}} attributes {metate.one_body, metate.side_by_side}
// CHECK-NOT: metate.atomic
// CHECK: metate.return
metate.kernel @around(%p: !points, %g: !grid) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %mass = arith.constant 1.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %y = metate.load %p["y"] [%i] : !points -> i32
    %v = metate.load %p["v"] [%i] : !points -> vector<3xf32>
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %by, %b : index
        %0 = metate.atomic addf %v, %g["v"] [%nx, %ny] active : vector<3xf32>, !grid
        %1 = metate.atomic addf %mass, %g["m"] [%nx, %ny] active : f32, !grid
      }
    }
    metate.yield
  }
  metate.return
}

// The loop changes what says where it adds; another number of additions; two places.
// CHECK-LABEL: metate.kernel @kept
// CHECK-NOT: metate.pool
metate.kernel @kept(%p: !points, %g: !grid) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %mass = arith.constant 1.0 : f32
  %c = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %bx = arith.index_cast %x : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %bx, %b : index
        %1 = metate.atomic addf %mass, %g["m"] [%nx, %ny] active : f32, !grid
      }
    }
    %next = arith.addi %x, %c : i32
    metate.store %next, %p["x"] [%i] active : i32, !points
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %bx = arith.index_cast %x : i32 to index
    %0 = metate.atomic addf %mass, %g["m"] [%bx, %bx] active : f32, !grid
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %y = metate.load %p["y"] [%i] : !points -> i32
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      scf.for %b = %zero to %four step %one {
        %0 = metate.atomic addf %mass, %g["m"] [%bx, %by] active : f32, !grid
        %1 = metate.atomic addf %mass, %g["m"] [%by, %bx] active : f32, !grid
      }
    }
    metate.yield
  }
  metate.return
}

// A record of a line: eight of them are gathered in the cache, then each is written whole, around the caches. The iteration's own number is not asked
// for, and is not kept. Those of @around have 32 bytes, which are less than a line.
// CHECK-LABEL: metate.kernel @lines
// CHECK-NOT: metate.nontemporal
// STREAM-LABEL: metate.kernel @around
// STREAM-NOT: metate.nontemporal
// STREAM-LABEL: metate.kernel @lines
// STREAM: metate.range {{.*}} to (%c16
// STREAM: metate.range {{.*}} to (%c1
// STREAM: metate.range {{.*}} to (%c16{{.*}} attributes {metate.side_by_side}
// STREAM:   metate.pool "scatter_batch" worker bytes 512 align 64
// STREAM:   scf.for {{.*}} step %c8
// STREAM:     %[[NUMBER:.*]] = arith.minsi
// STREAM:     scf.for {{.*}} to %[[NUMBER]]
// STREAM:       metate.write {{.*}} : f32
// STREAM:     scf.for {{.*}} to %[[NUMBER]]
// STREAM:       metate.write {{.*}} : i32
// STREAM:       %[[LINE:.*]] = metate.read {{.*}} : vector<16xi32>
// STREAM:       metate.write %[[LINE]], {{.*}} {metate.nontemporal} : vector<16xi32>
!wide = !metate.tree<#metate.dense<"i", [50000], [#metate.place<"x" : i32>, #metate.place<"y" : i32>, #metate.place<"v" : vector<14xf32>>]>>
metate.kernel @lines(%p: !wide, %g: !grid) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !wide -> i32
    %y = metate.load %p["y"] [%i] : !wide -> i32
    %v = metate.load %p["v"] [%i] : !wide -> vector<14xf32>
    %mass = vector.extract %v[3] : f32 from vector<14xf32>
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %by, %b : index
        %1 = metate.atomic addf %mass, %g["m"] [%nx, %ny] active : f32, !grid
      }
    }
    metate.yield
  }
  metate.return
}

// Last dimensions of an array are numbers of a cell where they are an element's, and where all additions name them: a cell of the tile has the vector's three
// numbers and the mass, four numbers of one array, or one of them. Of an array of any extents nothing is planned.
// CHECK-LABEL: metate.kernel @arrays
// CHECK:   metate.pool "scatter_tile" worker bytes 39824 align 64
// CHECK:   metate.read {{.*}} : vector<4xf32>
// CHECK:   memref.store %{{.*}}, %arg1[%{{.*}}, %{{.*}}, %c2
// CHECK:   memref.store %{{.*}}, %arg2[%{{.*}}, %{{.*}}] : memref<256x200xf32>
// CHECK-NOT: memref.atomic_rmw
// CHECK-LABEL: metate.kernel @named
// CHECK:   metate.pool "scatter_tile" worker bytes 39824 align 64
// CHECK-NOT: memref.atomic_rmw
// CHECK-LABEL: metate.kernel @open
// CHECK-NOT: metate.pool
metate.kernel @arrays(%p: !points, %v: memref<256x200x3xf32> {metate.element = array<i64: 3>}, %m: memref<256x200xf32>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %mass = arith.constant 1.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %y = metate.load %p["y"] [%i] : !points -> i32
    %w = metate.load %p["v"] [%i] component [%zero] : !points -> f32
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %by, %b : index
        %0 = memref.atomic_rmw addf %w, %v[%nx, %ny, %zero] : (f32, memref<256x200x3xf32>) -> f32
        %1 = memref.atomic_rmw addf %w, %v[%nx, %ny, %one] : (f32, memref<256x200x3xf32>) -> f32
        %2 = memref.atomic_rmw addf %w, %v[%nx, %ny, %two] : (f32, memref<256x200x3xf32>) -> f32
        %3 = memref.atomic_rmw addf %mass, %m[%nx, %ny] : (f32, memref<256x200xf32>) -> f32
      }
    }
    metate.yield
  }
  metate.return
}
metate.kernel @named(%p: !points, %g: memref<256x200x4xf32>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  %mass = arith.constant 1.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %y = metate.load %p["y"] [%i] : !points -> i32
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %by, %b : index
        %0 = memref.atomic_rmw addf %mass, %g[%nx, %ny, %zero] : (f32, memref<256x200x4xf32>) -> f32
        %1 = memref.atomic_rmw addf %mass, %g[%nx, %ny, %two] : (f32, memref<256x200x4xf32>) -> f32
      }
    }
    metate.yield
  }
  metate.return
}
metate.kernel @open(%p: !points, %g: memref<?x?xf32>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %mass = arith.constant 1.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %x = metate.load %p["x"] [%i] : !points -> i32
    %y = metate.load %p["y"] [%i] : !points -> i32
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    scf.for %a = %zero to %four step %one {
      %nx = arith.addi %bx, %a : index
      scf.for %b = %zero to %four step %one {
        %ny = arith.addi %by, %b : index
        %0 = memref.atomic_rmw addf %mass, %g[%nx, %ny] : (f32, memref<?x?xf32>) -> f32
      }
    }
    metate.yield
  }
  metate.return
}
