// What the compiler makes is what libmetate takes: a packed module's bytes and the JIT's descriptor
// are opened and launched through the C API, and give the same results.
#include "Saxpy.h"

#include "metate/Jit/Jit.h"
#include "metate/Module/Module.h"
#include "metate/metate.h"

#include <gtest/gtest.h>

using namespace metate;
using namespace metate::test;

namespace {
struct Opened {
  metate_device *device = nullptr;
  metate_module *module = nullptr;
  Opened() { EXPECT_EQ(metate_device_open(nullptr, &device), METATE_OK); }
  ~Opened() {
    if (module)
      EXPECT_EQ(metate_module_close(module), METATE_OK);
    EXPECT_EQ(metate_device_close(device), METATE_OK);
  }

  /// y += a * x over five elements, with strides of 2 in x.
  std::vector<float> saxpy(float a) const {
    const metate_kernel *kernel = nullptr;
    EXPECT_EQ(metate_module_find_kernel(module, "saxpy", &kernel), METATE_OK)
        << metate_last_error();
    std::vector<float> x = {1, 2, 3, 4, 5}, y = {10, 20, 30, 40, 50};
    const int64_t shape[1] = {5};
    metate_array arrays[2] = {};
    metate_argument arguments[3] = {};
    arguments[0].kind = METATE_ARGUMENT_SCALAR;
    arguments[0].dtype = METATE_F32;
    arguments[0].rows = arguments[0].columns = 1;
    std::memcpy(&arguments[0].value.bits, &a, sizeof a);
    for (int k = 0; k < 2; ++k) {
      arrays[k].data = k ? y.data() : x.data();
      arrays[k].dtype = METATE_F32;
      arrays[k].rank = 1;
      arrays[k].shape = shape;
      arguments[k + 1].kind = METATE_ARGUMENT_NDARRAY;
      arguments[k + 1].value.array = &arrays[k];
    }
    EXPECT_EQ(metate_kernel_launch(kernel, arguments, 3), METATE_OK) << metate_last_error();
    return y;
  }
};
} // namespace

static const std::vector<float> expected = {10.5f, 21, 31.5f, 42, 52.5f};

TEST(Runtime, OpensAndRunsAPackedModule) {
  Compiled compiled(saxpyText);
  const char *const targets[] = {"x86-64", "x86-64-v3", "aarch64"};
  llvm::cantFail(emitFor(*compiled.module, targets));
  std::string bytes = llvm::cantFail(pack(*compiled.module, ownTargets()));
  EXPECT_EQ(metate_module_verify(bytes.data(), bytes.size()), METATE_OK) << metate_last_error();
  Opened opened;
  ASSERT_EQ(metate_module_open_bytes(opened.device, bytes.data(), bytes.size(), 0, &opened.module),
            METATE_OK)
      << metate_last_error();
  EXPECT_EQ(opened.saxpy(0.5f), expected);
}

TEST(Runtime, OpensAndRunsAJitModule) {
  Compiled compiled(saxpyText);
  llvm::cantFail(emitFor(*compiled.module, {"native"}));
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> module = llvm::cantFail(jit->add(*compiled.module, *named("native")));
  Opened opened;
  ASSERT_EQ(metate_module_open_static(opened.device, module->descriptor().data(),
                                      module->descriptor().size(), module->entries().data(),
                                      uint32_t(module->entries().size()), &opened.module),
            METATE_OK)
      << metate_last_error();
  EXPECT_EQ(opened.saxpy(0.5f), expected);
}

// A variant for any CPU is one that libmetate can judge: it may refuse the machine, but never
// because a feature's name is unknown to it. The two tables of names stand on different sides of
// abi/.
TEST(Runtime, KnowsEveryFeatureThatAVariantMayAsk) {
  for (const char *cpu : {"znver5", "sapphirerapids", "graniterapids-d", "diamondrapids", "bdver4",
                          "arrowlake", "tigerlake"}) {
    Compiled compiled(saxpyText);
    llvm::cantFail(emitFor(*compiled.module, {cpu}, optimised(0)));
    std::string bytes = llvm::cantFail(pack(*compiled.module, ownTargets()));
    Opened opened;
    metate_status status =
        metate_module_open_bytes(opened.device, bytes.data(), bytes.size(), 0, &opened.module);
    if (status == METATE_OK)
      continue;
    EXPECT_EQ(status, METATE_E_UNSUPPORTED) << cpu << ": " << metate_last_error();
    // What this machine lacks, a level or a feature by name; never a name that nobody here knows.
    std::string reason = metate_last_error();
    EXPECT_TRUE(reason.find("this CPU lacks") != std::string::npos ||
                reason.find("it needs x86-64-v") != std::string::npos)
        << cpu << ": " << reason;
  }
}
