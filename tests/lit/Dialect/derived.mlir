// RUN: metate-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: metate.derived @down "reverse" of @up
metate.derived @down "reverse" of @up

// -----

// expected-error @below {{(V4) expected the mode "reverse" or "forward", got "backward"}}
metate.derived @down "backward" of @up

// -----

// expected-error @below {{(V5) expected two kernels, got 'up' twice}}
metate.derived @up "forward" of @up
