// The RFC's host listing in its own spelling: `namespace taichi = metate::rfc` is the only addition.
// rfc_names FOLDER: loads the module that rfc.py saved there and runs its kernels on two instances.
#include "metate/rfc.hpp"

#include <iostream>

namespace taichi = metate::rfc;

namespace {

// The test's own "device": plain memory with the alignment that a tree needs.
struct DeviceMemory {
  void *data;
  std::size_t size;
};

DeviceMemory AllocateDeviceMemory(std::size_t bytes) {
  std::size_t rounded = (bytes + METATE_BLOCK_ALIGN - 1) / METATE_BLOCK_ALIGN * METATE_BLOCK_ALIGN;
  return {std::aligned_alloc(METATE_BLOCK_ALIGN, rounded), bytes};
}

int fail(const metate::Status &status) {
  std::cerr << "rfc_names: " << status.name() << ": " << status.text << "\n";
  return 1;
}

int runType(taichi::Module &m, const char *type, const char *fill, const char *run) {
  auto *t = m.GetSNodeTreeType(type);
  auto *f = m.GetKernel(fill);
  auto *k = m.GetKernel(run);
  if (!t || !f || !k)
    return fail(m.status());
  std::cout << "-- " << k->name() << " " << k->signature() << std::endl;
  std::size_t n = t->GetSize();
  DeviceMemory memories[2] = {AllocateDeviceMemory(n), AllocateDeviceMemory(n)};
  {
    auto first = taichi::MakeMemoryResourceTyped(memories[0], t);
    auto second = taichi::MakeMemoryResourceTyped(memories[1], t);
    for (const auto &status : {f->Run({first, 1.0f}), f->Run({second, 10.0f})})
      if (!status.ok())
        return fail(status);
    int number = 0;
    for (const auto &typed : {first, second}) {
      std::cout << "== " << type << " " << run << " " << number++ << std::endl;
      if (auto status = k->Run({typed}); !status.ok())
        return fail(status);
      std::fflush(stdout); // kernels print through stdio
    }
  }
  for (DeviceMemory &memory : memories)
    std::free(memory.data);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: rfc_names FOLDER\n";
    return 2;
  }
  auto m = taichi::LoadModule(argv[1]);
  if (!m.ok())
    return fail(m.status());
  std::cout << "-- arch " << m.arch() << std::endl;
  if (int failed = runType(m, "ab_aos", "fill1", "run1"))
    return failed;
  return runType(m, "ab_soa", "fill2", "run2");
}
