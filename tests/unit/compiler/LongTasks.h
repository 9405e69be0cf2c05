// A module as the map stage leaves it: an entry that calls task bodies by address, as a host does, each long
// enough to be compiled on its own. What tests of code in several parts compile.
#ifndef METATE_TESTS_COMPILER_LONGTASKS_H
#define METATE_TESTS_COMPILER_LONGTASKS_H

#include "metate/abi/kernel.h"

#include <cstring>
#include <string>

namespace metate::test {

/// Steps of each task's arithmetic: about three operations a step.
inline constexpr int longTaskSteps = 200;

/// Task k takes slot 0 through `steps` rounds, adds the constant and what an f16 makes of a tenth, and writes slot k + 1.
inline std::string longTasksText(int tasks, int steps = longTaskSteps,
                                 const std::string &extra = "") {
  std::string text = "module @long_tasks {\n"
                     "  metate.interface @long entry \"metate_k_long\" tasks " +
                     std::to_string(tasks) + " []\n" + extra +
                     "  llvm.mlir.global internal constant @addend(1000 : i64) : i64\n"
                     "  llvm.func internal @step(%value: i64, %round: i64) -> i64 {\n"
                     "    %three = llvm.mlir.constant(3 : i64) : i64\n"
                     "    %product = llvm.mul %value, %three : i64\n"
                     "    %result = llvm.xor %product, %round : i64\n"
                     "    llvm.return %result : i64\n  }\n";
  for (int k = 0; k < tasks; ++k) {
    std::string number = std::to_string(k), at = std::to_string(k + 1);
    text += "  llvm.func internal @task" + number + "(%slots: !llvm.ptr) {\n" +
            "    %v0 = llvm.load %slots : !llvm.ptr -> i64 loc(\"long.py\":" + at + ":1)\n";
    for (int step = 0; step < steps; ++step) {
      std::string s = std::to_string(step), next = std::to_string(step + 1);
      text += "    %r" + s + " = llvm.mlir.constant(" + std::to_string(step * (k + 1)) +
              " : i64) : i64\n    %v" + next + " = llvm.call @step(%v" + s + ", %r" + s +
              ") : (i64, i64) -> i64\n";
    }
    text += "    %last = llvm.add %v" + std::to_string(steps) + ", %v0 : i64\n" +
            "    %at = llvm.mlir.addressof @addend : !llvm.ptr\n"
            "    %addend = llvm.load %at : !llvm.ptr -> i64\n"
            "    %sum = llvm.add %last, %addend : i64\n"
            "    %float = llvm.uitofp %v0 : i64 to f32\n"
            "    %half = llvm.fptrunc %float : f32 to f16\n"
            "    %back = llvm.fpext %half : f16 to f32\n"
            "    %whole = llvm.fptoui %back : f32 to i64\n"
            "    %all = llvm.add %sum, %whole : i64\n"
            "    %to = llvm.getelementptr %slots[" +
            at +
            "] : (!llvm.ptr) -> !llvm.ptr, i64\n"
            "    llvm.store %all, %to : i64, !llvm.ptr\n    llvm.return\n  }\n";
  }
  text += "  llvm.func @metate_k_long(%slots: !llvm.ptr, %pools: !llvm.ptr, %host: !llvm.ptr) -> "
          "i32 {\n";
  for (int k = 0; k < tasks; ++k) {
    std::string number = std::to_string(k);
    text += "    %f" + number + " = llvm.mlir.addressof @task" + number +
            " : !llvm.ptr\n    llvm.call %f" + number + "(%slots) : !llvm.ptr, (!llvm.ptr) -> ()\n";
  }
  return text + "    %ok = llvm.mlir.constant(0 : i32) : i32\n    llvm.return %ok : i32\n  }\n}\n";
}

/// Does the entry compute what longTasksText() says?
inline bool runsLongTasks(metate_entry entry, int tasks, int steps = longTaskSteps) {
  constexpr int64_t start = 2049; // no f16: 2048
  metate_slot slots[16] = {};
  slots[0].i = start;
  if (entry(slots, nullptr, nullptr) != METATE_OK)
    return false;
  for (int k = 0; k < tasks; ++k) {
    uint64_t value = start;
    for (int step = 0; step < steps; ++step)
      value = value * 3 ^ uint64_t(step * (k + 1));
    if (uint64_t(slots[k + 1].i) != value + start + 1000 + 2048)
      return false;
  }
  return true;
}

} // namespace metate::test

#endif
