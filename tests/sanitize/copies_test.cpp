// Two copies of one module side by side, each with hooks, an allocator and an executor of its own, under ThreadSanitizer: as .metate,
// as shared objects that the system loads twice, and as objects that are linked into one program. Nothing of one copy may show in the
// other, and nothing that they share may be unordered.
#include "host.h"

#include "metate/abi/kernel.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>

using namespace metate::test;
using metate::Tree;

namespace {

// Memory by itself: a header in front of each block says whose it is.
class Allocator {
public:
  ~Allocator() { EXPECT_EQ(live.load(), 0u) << name << ": blocks were not given back"; }
  explicit Allocator(std::string name) : name(std::move(name)) {}
  metate_allocator hooks() { return {this, allocate, release}; }
  std::atomic<uint64_t> live{0}, all{0};

private:
  static constexpr size_t head = 4096; // as far as any alignment

  static void *allocate(void *self, size_t bytes, size_t align) {
    auto *own = static_cast<Allocator *>(self);
    void *block = nullptr;
    if (align > head || posix_memalign(&block, head, head + bytes) != 0)
      return nullptr;
    *static_cast<Allocator **>(block) = own;
    ++own->live, ++own->all;
    return static_cast<char *>(block) + head;
  }
  static void release(void *self, void *place, size_t, size_t) {
    auto *own = static_cast<Allocator *>(self);
    void *block = static_cast<char *>(place) - head;
    EXPECT_EQ(*static_cast<Allocator **>(block), own) << "a block of the other copy's allocator";
    --own->live;
    std::free(block);
  }
  std::string name;
};

// An executor that knows whose it is, around another one.
class Executor {
public:
  explicit Executor(const metate_executor &inner) : inner(inner) {}
  metate_executor hooks() { return {this, run, inner.worker_count, 0}; }
  std::atomic<uint64_t> loops{0};

private:
  static int32_t run(void *self, int64_t count, int64_t grain, uint32_t workers,
                     metate_task_body body, void *context) {
    auto *own = static_cast<Executor *>(self);
    ++own->loops;
    return own->inner.parallel_for(own->inner.self, count, grain, workers, body, context);
  }
  metate_executor inner;
};

// A copy with everything that is its own.
class Copy {
public:
  Copy(std::string name, const metate_executor &inner)
      : name(std::move(name)), allocator(this->name), executor(inner) {
    auto hooks = metate::sized<metate_device_hooks>();
    const metate_allocator memory = allocator.hooks();
    const metate_executor loops = executor.hooks();
    const metate_print_sink sink{&printed, [](void *self, const char *text, size_t bytes) {
                                   static_cast<std::string *>(self)->append(text, bytes);
                                 }};
    hooks.allocator = &memory;
    hooks.executor = &loops;
    hooks.print = &sink;
    device.emplace(metate::Device::open(&hooks));
  }
  ~Copy() {
    module.reset();
    device.reset();
  }

  template <typename... Values> void run(const char *kernel, Values &&...values) {
    metate::Status status = module->kernel(kernel).try_launch(std::forward<Values>(values)...);
    EXPECT_TRUE(status.ok()) << name << ": " << kernel << ": " << status.text;
  }

  // All that the module can do with its hooks: loops, activations, atomics, prints, failures.
  void exercise(int rounds, float number) {
    Tree tree = module->tree_type("sparse").make(), other = module->tree_type("sparse").make();
    std::vector<float> sums(3), x(1000, number), y(1000);
    std::vector<int32_t> counts(4);
    for (int round = 0; round < rounds; ++round) {
      tree.reset();
      run("fill", tree);
      run("count", tree, 500);
      run("scale", tree, number);
      sums.assign(3, 0.0f);
      run("reduce", tree, sums, counts);
      run("axpy", 2.0f, x, y);
      run("print_some", x);
      run("check_all", x, number + 1.0f);
      metate::Status status = module->kernel("check_all").try_launch(x, number);
      EXPECT_EQ(status.code, METATE_E_ASSERT) << name;
      EXPECT_NE(status.text.find("too large"), std::string::npos) << status.text;
    }
    EXPECT_EQ(y[999], 2.0f * number * float(rounds)) << name;
    EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 10 * rounds) << name;
    char line[64];
    std::snprintf(line, sizeof line, "x 900 = %.1f\n", double(number));
    EXPECT_NE(printed.find(line), std::string::npos) << name << ": " << printed;
    EXPECT_GT(executor.loops.load(), uint64_t(rounds)) << name;
    EXPECT_GT(allocator.all.load(), 0u) << name;
  }

  std::string name, printed;
  Allocator allocator;
  Executor executor;
  std::optional<metate::Device> device;
  std::optional<metate::Module> module;
};

// Where the two copies come from.
void openFiles(Copy &one, Copy &two) {
  std::string path = modulePath("thread");
  one.module.emplace(metate::Module::open(path.c_str(), *one.device));
  two.module.emplace(metate::Module::open(path.c_str(), *two.device));
}

struct Loaded {
  explicit Loaded(const std::string &path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle)
      ADD_FAILURE() << dlerror();
  }
  ~Loaded() { dlclose(handle); }
  Loaded(const Loaded &) = delete;
  template <typename T> T *get(const char *name) const {
    void *found = dlsym(handle, name);
    EXPECT_TRUE(found) << name;
    return reinterpret_cast<T *>(found);
  }
  void *handle;
};

std::string besideModules(const char *name) {
  return std::filesystem::path(modulePath("thread")).replace_filename(name).string();
}

// The same file under two names is mapped twice.
std::string secondFile() {
  // A file for each test: tests run side by side.
  std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string second = besideModules(("thread." + test + ".so").c_str());
  std::filesystem::copy_file(besideModules("thread.so"), second,
                             std::filesystem::copy_options::overwrite_existing);
  return second;
}

class CopiesTest : public ::testing::Test {
protected:
  void SetUp() override {
    METATE_NEED_MODULES();
    ASSERT_EQ(METATE_OK, metate_threads_executor_create(4, &four));
  }
  void TearDown() override { metate_threads_executor_destroy(&four); }

  // From two threads at once, then with the executors exchanged.
  template <typename Open> void sideBySide(Open open) {
    for (bool exchanged : {false, true}) {
      Copy one("one", exchanged ? turnsExecutor() : four),
          two("two", exchanged ? four : turnsExecutor());
      open(one, two);
      std::thread other([&] { two.exercise(3, 7.0f); });
      one.exercise(8, 5.0f);
      other.join();
      EXPECT_EQ(one.printed.find("7.0"), std::string::npos);
      EXPECT_EQ(two.printed.find("5.0"), std::string::npos);
    }
  }
  metate_executor four{};
};

} // namespace

TEST_F(CopiesTest, modulesThatAreOpenedTwice) { sideBySide(openFiles); }

TEST_F(CopiesTest, sharedObjectsThatAreOpenedTwice) {
  std::string paths[] = {besideModules("thread.so"), secondFile()};
  sideBySide([&](Copy &one, Copy &two) {
    one.module.emplace(metate::Module::open(paths[0].c_str(), *one.device));
    two.module.emplace(metate::Module::open(paths[1].c_str(), *two.device));
  });
}

TEST_F(CopiesTest, sharedObjectsThatTheSystemLoads) {
  Loaded first(besideModules("thread.so")), second(secondFile());
  ASSERT_NE(first.get<void>("thread_axpy"), second.get<void>("thread_axpy"));
  sideBySide([&](Copy &one, Copy &two) {
    one.module.emplace(metate::Module::open_static(
        *first.get<metate_static_module>("thread_module"), *one.device));
    two.module.emplace(metate::Module::open_static(
        *second.get<metate_static_module>("thread_module"), *two.device));
  });
}

TEST_F(CopiesTest, objectsThatAreLinkedIntoOneProgram) {
  Loaded program(besideModules("thread-linked.so"));
  sideBySide([&](Copy &one, Copy &two) {
    one.module.emplace(
        metate::Module::open_static(*program.get<metate_static_module>("one_module"), *one.device));
    two.module.emplace(
        metate::Module::open_static(*program.get<metate_static_module>("two_module"), *two.device));
  });
}

// Without libmetate: direct entries, each with the hooks that its call brings.
TEST_F(CopiesTest, directCallsWithHooksOfTheirOwn) {
  using Print = int32_t(const float *, int64_t, void *const *, const metate_host *);
  using Check = int32_t(const float *, int64_t, float, void *const *, const metate_host *);
  Loaded linked(besideModules("thread-linked.so")), first(besideModules("thread.so")),
      second(secondFile());
  struct Pair {
    const Loaded *from[2];
    const char *prefix[2];
  } pairs[] = {{{&linked, &linked}, {"one_", "two_"}}, {{&first, &second}, {"thread_", "thread_"}}};
  for (const Pair &pair : pairs) {
    auto call = [&](int number) {
      std::string prefix = pair.prefix[number];
      auto *print = pair.from[number]->get<Print>((prefix + "print_some").c_str());
      auto *check = pair.from[number]->get<Check>((prefix + "check_all").c_str());
      Executor executor(number ? four : turnsExecutor());
      const metate_executor loops = executor.hooks();
      struct Printed {
        std::mutex lock;
        uint64_t items = 0;
      } printed;
      for (int round = 0; round < 5; ++round) {
        metate_failure failure{};
        metate_host host{};
        host.struct_size = sizeof host;
        host.max_workers = 4;
        host.executor_self = loops.self;
        host.parallel_for = loops.parallel_for;
        host.print_self = &printed;
        host.print = [](void *self, const metate_print_item *, uint32_t count) {
          auto *own = static_cast<Printed *>(self);
          std::lock_guard<std::mutex> guard(own->lock);
          own->items += count;
        };
        host.failure = &failure;
        std::vector<float> x(1000, float(number));
        EXPECT_EQ(METATE_OK, print(x.data(), 1000, nullptr, &host));
        EXPECT_EQ(METATE_OK, check(x.data(), 1000, 9.0f, nullptr, &host));
        EXPECT_EQ(METATE_E_ASSERT, check(x.data(), 1000, -1.0f, nullptr, &host));
        EXPECT_EQ(failure.code, uint32_t(METATE_E_ASSERT));
      }
      EXPECT_GE(printed.items, 50u);
      EXPECT_EQ(printed.items % 50, 0u);
      EXPECT_GE(executor.loops.load(), 15u);
    };
    std::thread other(call, 1);
    call(0);
    other.join();
  }
}
