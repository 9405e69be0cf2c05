// What the test module holds. kernels.cpp knows these layouts.
#include "module.h"

#include "kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace metate::test {

Bytes abAos() {
  return typeBlob({pointer("pointer0", "ij", {3, 3},
                           {dense("dense1", "ij", {5, 5},
                                  {place("a", METATE_F32), place("b", METATE_F32, 3)})})},
                  "tree<pointer(ij, 3, 3)[dense(ij, 5, 5)[a: f32, b: vector(3, f32)]]>");
}

Bytes abSoa() {
  return typeBlob(
      {pointer("pointer0", "ij", {3, 3}, {dense("dense1", "ij", {5, 5}, {place("a", METATE_F32)})}),
       pointer("pointer0", "ij", {3, 3},
               {dense("dense1", "ij", {5, 5}, {place("b", METATE_F32, 3)})})},
      "tree<pointer(ij, 3, 3)[dense(ij, 5, 5)[a: f32]], "
      "pointer(ij, 3, 3)[dense(ij, 5, 5)[b: vector(3, f32)]]>");
}

static ArgumentSpec scalar(std::string name, uint32_t dtype) {
  return {std::move(name), METATE_ARGUMENT_SCALAR, dtype};
}

static ArgumentSpec array(std::string name, uint32_t dtype, uint32_t access, uint32_t rank = 1) {
  ArgumentSpec spec{std::move(name), METATE_ARGUMENT_NDARRAY, dtype};
  spec.rank = rank;
  spec.access = access;
  return spec;
}

static ArgumentSpec tree(std::string name, uint32_t type, uint32_t access) {
  ArgumentSpec spec{std::move(name), METATE_ARGUMENT_TREE};
  spec.access = access;
  spec.type = type;
  return spec;
}

ModuleSpec testModuleSpec() {
  const uint32_t read = METATE_ACCESS_READ, write = METATE_ACCESS_WRITE;
  const uint32_t activate = write | METATE_ACCESS_ACTIVATE;
  ArgumentSpec vector{"v", METATE_ARGUMENT_VECTOR, METATE_F32, 3, 1, 1};
  ArgumentSpec matrix{"m", METATE_ARGUMENT_VECTOR, METATE_F64, 2, 2, 2};
  ArgumentSpec out = array("out", METATE_F64, write);
  out.fixed = {9};
  out.flags = METATE_ARGUMENT_CONTIGUOUS;
  ArgumentSpec result = array("result", METATE_F64, write, 0);
  result.flags = METATE_ARGUMENT_RESULT;
  ModuleSpec spec;
  spec.name = "test";
  spec.types = {{"ab_aos", abAos()}, {"ab_soa", abSoa()}};
  spec.kernels = {
      {"empty", {}},
      {"fill", {tree("f", 0, activate), scalar("scale", METATE_F32)}, METATE_KERNEL_NO_ALIAS, 0},
      {"run1", {tree("f", 0, read)}},
      {"axpy",
       {array("x", METATE_F32, read), array("y", METATE_F32, read | write),
        scalar("s", METATE_F32)},
       METATE_KERNEL_NO_ALIAS},
      {"check_positive", {array("x", METATE_I32, read)}},
      {"echo", {vector, matrix, scalar("c", METATE_I8), scalar("on", METATE_U1), out}},
      {"copy", {tree("f", 0, read), tree("g", 1, activate)}, METATE_KERNEL_NO_ALIAS},
      {"total", {array("x", METATE_F64, read), result}, METATE_KERNEL_HAS_RESULT},
      {"fail_with", {scalar("code", METATE_I32)}},
      {"pools",
       {array("out", METATE_U64, write)},
       0,
       METATE_NONE,
       {{"scratch", METATE_POOL_LAUNCH, 1000, 8, 8, {1}}, {"tile", METATE_POOL_WORKER, 40, 64}}},
  };
  spec.texts = {{"kernels.py", 12, 1, ""}, {"kernels.py", 34, 5, "x must be positive"}};
  spec.variants = {{METATE_ARCH_X86_64, 1, METATE_FORMAT_SHARED_OBJECT, "x86-64", ""}};
  spec.derivatives = {{TEST_AXPY, METATE_DERIVATIVE_REVERSE, TEST_ECHO, 0},
                      {TEST_AXPY, METATE_DERIVATIVE_FORWARD, TEST_SUM, 0},
                      {TEST_SUM, METATE_DERIVATIVE_REVERSE, TEST_FAIL, 0}};
#if defined(__aarch64__)
  spec.variants[0].arch = METATE_ARCH_AARCH64;
  spec.variants[0].level = 0;
#endif
  return spec;
}

Bytes testModuleFile(const std::string &payloadPath) {
  Bytes head = descriptor(testModuleSpec());
  Bytes payload = readWhole(payloadPath);
  const uint64_t mark[2] = {0x7465736c6c697720ull, 0x6261636b64656562ull};
  const auto *wanted = reinterpret_cast<const uint8_t *>(mark);
  uint8_t *end = payload.data() + payload.size();
  uint8_t *at = std::search(payload.data(), end, wanted, wanted + sizeof mark);
  if (at == end)
    std::abort(); // the payload was not built from payload.cpp
  std::memcpy(at, head.data() + offsetof(metate_descriptor, signature_hash), sizeof mark);
  return carrier(head, {payload});
}

} // namespace metate::test
