// Kernels that only look: an entry that compares each of its slots with the argument it came from
// and touches every byte of memory behind it, and arguments made from a kernel's description.
#ifndef METATE_TESTS_FUZZ_PROBE_H
#define METATE_TESTS_FUZZ_PROBE_H

#include "harness.h"

#include <memory>
#include <vector>

namespace metate::fuzz {

// Entries for open_static; all of them run the probe that lives on this thread.
constexpr uint32_t probeEntries = 64;
/// What the kernel plans for these arguments.
std::vector<metate_planned_pool> planOf(const metate_kernel *kernel,
                                        const std::vector<metate_argument> &arguments);
// Is one of them more than the harness's allocator gives?
bool asksForMuch(const std::vector<metate_planned_pool> &pools);

extern const metate_entry probeEntry[probeEntries];

// An array with the memory that it may reach: `bytes` bytes at `memory`.
struct GivenArray {
  metate_array array{};
  int64_t shape[METATE_MAX_RANK] = {};
  int64_t strides[METATE_MAX_RANK] = {};
  std::unique_ptr<test::Exact> memory;
};

struct GivenTree {
  metate_tree *tree = nullptr;
  std::unique_ptr<test::Exact> memory;
  ~GivenTree();
};

// What a launch takes, and the owner of all that it points to.
struct Arguments {
  std::vector<metate_argument> list;
  std::vector<std::unique_ptr<GivenArray>> arrays;
  std::vector<std::unique_ptr<GivenTree>> trees;
  std::vector<std::unique_ptr<test::Exact>> values;

  // Memory that arrays may lie in. Elements are touched only there; without a region, everywhere.
  std::vector<test::Exact *> regions;
  bool isInside(const metate_array &array) const;

  // What the description asks for. False when that needs more memory than the harness gives.
  bool fill(const metate_kernel *kernel, const metate_kernel_description &about,
            test::Random &random);
  // Makes one argument wrong in a way that its description excludes.
  void spoil(uint32_t index, test::Random &random);

private:
  bool fillArray(const metate_kernel *kernel, const metate_argument_description &info,
                 test::Random &random);
  bool fillTree(const metate_argument_description &info);
};

// The kernel's dim that an extent is to be.
metate_dim_description dimOf(const metate_kernel *kernel, int64_t fixed);

// The number of elements and the bytes below and above the data pointer that an array's strides
// reach; false when they do not fit into 63 bits.
bool reachOf(const metate_array &array, uint64_t *elements, int64_t *lowest, int64_t *highest);

// The expectation of the next launch.
class Probe {
public:
  Probe(const metate_kernel *kernel, const metate_kernel_description &about,
        const Arguments &arguments);
  ~Probe();
  void requireRan() const;
  // From now on the kernel prints something and records this failure, as kernels do.
  void failNext(test::Random &random);
  // What the launch of a failing kernel must say.
  void requireFailure(metate_status status) const;
  int32_t run(const metate_slot *slots, void *const *pools, const metate_host *host);
  static Probe *current;

private:
  const metate_kernel *kernel;
  const metate_kernel_description about;
  const Arguments &arguments;
  bool isPlanned = false; // before the launch: a tree that is to be sorted is busy in it
  std::vector<metate_planned_pool> planned;
  uint32_t runs = 0;
  test::Random *dice = nullptr;
  metate_failure failure{};

  void look(const metate_argument_description &info, const metate_argument &argument,
            const metate_slot *slots) const;
};

void touchText(const char *text);
// Reads `bytes` bytes, and with `write` writes them back.
void touch(void *memory, uint64_t bytes, bool write);

} // namespace metate::fuzz

#endif
