// A kernel that plans memory: y[i] = sum over k < 16 of tile[k] + x[n - 1 - i], where the tile is a worker's own,
// filled with i + k, and the x come by way of a copy that another task has made.
metate.kernel @mirror(%n: i64 {metate.name = "n"}, %x: memref<?xf32> {metate.name = "x"}, %y: memref<?xf32> {metate.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %end = arith.index_cast %n : i64 to index
  metate.range (%i) = (%c0) to (%end) {
    %copy = metate.pool "copy" launch bytes 0 align 64 scale 4 by (%n : i64)
    %v = memref.load %x[%i] : memref<?xf32>
    %at = arith.muli %i, %c4 : index
    metate.write %v, %copy[%at] scope -1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%end) {
    %copy = metate.pool "copy" launch bytes 0 align 64 scale 4 by (%n : i64)
    %tile = metate.pool "tile" worker bytes 64 align 64
    scf.for %k = %c0 to %c16 step %c1 {
      %sum = arith.addi %i, %k : index
      %bits = arith.index_cast %sum : index to i32
      %value = arith.sitofp %bits : i32 to f32
      %at = arith.muli %k, %c4 : index
      metate.write %value, %tile[%at] scope -1 : f32
    }
    %total = scf.for %k = %c0 to %c16 step %c1 iter_args(%before = %zero) -> f32 {
      %at = arith.muli %k, %c4 : index
      %value = metate.read %tile[%at] scope -1 : f32
      %after = arith.addf %before, %value : f32
      scf.yield %after : f32
    }
    %last = arith.subi %end, %c1 : index
    %other = arith.subi %last, %i : index
    %at = arith.muli %other, %c4 : index
    %v = metate.read %copy[%at] scope -1 : f32
    %result = arith.addf %total, %v : f32
    memref.store %result, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
