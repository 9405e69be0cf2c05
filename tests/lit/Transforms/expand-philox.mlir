// RUN: metate-opt --metate-expand-philox %s | FileCheck %s
// RUN: metate-opt --metate-expand-philox --canonicalize %s | FileCheck %s --check-prefix=FOLDED

// Ten rounds of two products each; the key steps nine times.
// CHECK-LABEL: metate.kernel @words
// CHECK-SAME: (%[[C:[a-z0-9]+]]: i32 {{.*}}, %[[K:[a-z0-9]+]]: i32 {{.*}}, %{{.*}}: memref<4xi32> {{.*}})
metate.kernel @words(%c: i32 {metate.name = "c"}, %k: i32 {metate.name = "k"}, %x: memref<4xi32> {metate.name = "x"}) {
  // CHECK: %[[M0:.*]] = arith.constant -766435501 : i32
  // CHECK: %[[L0:.*]], %[[H0:.*]] = arith.mului_extended %[[C]], %[[M0]] : i32
  // CHECK: %[[M1:.*]] = arith.constant -845247145 : i32
  // CHECK: %[[L1:.*]], %[[H1:.*]] = arith.mului_extended %[[C]], %[[M1]] : i32
  // CHECK: %[[A:.*]] = arith.xori %[[H1]], %[[C]] : i32
  // CHECK: arith.xori %[[A]], %[[K]] : i32
  // CHECK: %[[B:.*]] = arith.xori %[[H0]], %[[C]] : i32
  // CHECK: arith.xori %[[B]], %[[K]] : i32
  // CHECK: %[[W0:.*]] = arith.constant -1640531527 : i32
  // CHECK: arith.addi %[[K]], %[[W0]] : i32
  // CHECK: %[[W1:.*]] = arith.constant -1150833019 : i32
  // CHECK: arith.addi %[[K]], %[[W1]] : i32
  // CHECK-COUNT-18: arith.mului_extended
  // CHECK-NOT: arith.mului_extended
  // CHECK: vector.from_elements
  // CHECK-NOT: metate.philox
  %w = metate.philox counter(%c, %c, %c, %c) key(%k, %k) : vector<4xi32>
  %zero = arith.constant 0 : index
  %0 = vector.extract %w[0] : i32 from vector<4xi32>
  memref.store %0, %x[%zero] : memref<4xi32>
  metate.return
}

// Random123's kat_vectors: philox4x32 10, counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0
// gives d16cfe09 94fdcceb 5001e420 24126ea1.
// FOLDED-LABEL: metate.kernel @known
metate.kernel @known(%x: memref<4xi32> {metate.name = "x"}) {
  %zero = arith.constant 0 : index
  %c0 = arith.constant 0x243f6a88 : i32
  %c1 = arith.constant 0x85a308d3 : i32
  %c2 = arith.constant 0x13198a2e : i32
  %c3 = arith.constant 0x03707344 : i32
  %k0 = arith.constant 0xa4093822 : i32
  %k1 = arith.constant 0x299f31d0 : i32
  %w = metate.philox counter(%c0, %c1, %c2, %c3) key(%k0, %k1) : vector<4xi32>
  %0 = vector.extract %w[0] : i32 from vector<4xi32>
  %1 = vector.extract %w[3] : i32 from vector<4xi32>
  // FOLDED-DAG: arith.constant -781386231 : i32
  // FOLDED-DAG: arith.constant 605187745 : i32
  memref.store %0, %x[%zero] : memref<4xi32>
  memref.store %1, %x[%zero] : memref<4xi32>
  metate.return
}
