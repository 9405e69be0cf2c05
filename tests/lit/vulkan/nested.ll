; Conditions inside of one another: more of them than a device of Mesa 22.3 runs are an error there, instead of other results.
; RUN: %python %S/Inputs/nested.py 80 > %t.ll
; RUN: metate-spirv %t.ll %t.spv --lavapipe nested:64
; RUN: %python %S/Inputs/nested.py 81 > %t.ll
; RUN: metate-spirv %t.ll %t.spv nested:64
; RUN: not metate-spirv %t.ll %t.spv --lavapipe nested:64 2>&1 | FileCheck %s
; CHECK: error: nested: conditions are nested 81 deep, of which lavapipe runs 80; make several kernels of it
