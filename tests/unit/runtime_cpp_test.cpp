// metate.hpp and rfc.hpp over the test module's file.
#include "fixture.h"
#include "metate/rfc.hpp"

#include <filesystem>

using namespace metate::test;

TEST(CppApi, theManualsProgram) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  auto ab = module.tree_type("ab_aos");
  alignas(64) static char memory[20000];
  ASSERT_GE(sizeof memory, ab.size());
  auto tree = ab.bind(memory);
  module.kernel("fill")(tree, 2.0f);
  EXPECT_EQ(tree.read<float>("a", {0, 7}), 14.0f);
  EXPECT_EQ((tree.read<std::array<float, 3>>("b", {0, 7})), (std::array<float, 3>{1, 2, 3}));
  EXPECT_TRUE(tree.is_active("a", {0, 6}));
  tree.write("a", {0, 6}, 8.0f);
  EXPECT_EQ(tree.read<float>("a", {0, 6}), 8.0f);
  EXPECT_EQ(tree.stats().at(0).used, 9u);
  EXPECT_TRUE(tree.check().ok());
  tree.reset();
  EXPECT_FALSE(tree.is_active("a", {0, 6}));
}

TEST(CppApi, devicesByTheirDriver) {
  auto device = metate::Device::open_driver("cpu");
  EXPECT_EQ(device.describe().arch, metate::Device::open().describe().arch);
  metate::Device beside = device.open_beside();
  EXPECT_EQ(beside.describe().arch, device.describe().arch);
  EXPECT_NE(beside.get(), device.get());
  EXPECT_EQ(beside.inspect().memory_bytes, device.inspect().memory_bytes);
  EXPECT_GT(device.inspect().memory_bytes, uint64_t(1) << 28);
  EXPECT_NE(device.inspect().features & METATE_FEATURE_F64, 0u);
  auto none = metate::Device::try_open_driver("abacus");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code, METATE_E_UNSUPPORTED);
  EXPECT_NE(none.status().text.find("abacus"), std::string::npos);
}

TEST(CppApi, membersAsDenseArrays) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  auto tree = module.tree_type("ab_aos").make();
  module.kernel("fill")(tree, 2.0f);
  auto info = tree.describe();
  uint32_t level = 0;
  ASSERT_OK(metate_type_find_member(info.type, "b", &level));
  metate_level_description about{};
  about.struct_size = sizeof about;
  ASSERT_OK(metate_type_level(info.type, level, &about));
  ASSERT_EQ(about.path_rank, 2u);
  size_t columns = size_t(about.shape[1]), cells = size_t(about.shape[0]) * columns;
  std::vector<std::array<float, 3>> all(cells);
  tree.read_dense("b", all);
  EXPECT_EQ(all[7], (std::array<float, 3>{1, 2, 3}));
  for (auto &one : all)
    one = {4, 5, 6};
  tree.write_dense("b", all);
  EXPECT_EQ((tree.read<std::array<float, 3>>("b", {0, 7})), (std::array<float, 3>{4, 5, 6}));
  tree.fill("a", -1.0f);
  EXPECT_EQ(tree.read<float>("a", {0, 7}), -1.0f);
  EXPECT_EQ(tree.try_fill("a", 1.0).code, METATE_E_INVALID_ARGUMENT); // a double
  EXPECT_EQ(tree.try_write_dense("c", all).code, METATE_E_NOT_FOUND);
  all.pop_back();
  EXPECT_EQ(tree.try_read_dense("b", all).code, METATE_E_INVALID_ARGUMENT);
}

TEST(CppApi, membersTogether) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  auto tree = module.tree_type("ab_aos").make();
  tree.write("a", {0, 7}, 3.0f);
  uint32_t level = 0;
  ASSERT_OK(metate_type_find_member(tree.describe().type, "a", &level));
  metate_level_description about{};
  about.struct_size = sizeof about;
  ASSERT_OK(metate_type_level(tree.describe().type, level, &about));
  ASSERT_EQ(about.path_rank, 2u);
  std::vector<std::array<float, 2>> all(size_t(about.shape[0] * about.shape[1]), {9, 9});
  tree.read_members({"a", "a"}, all);
  EXPECT_EQ(all[7], (std::array<float, 2>{3, 3}));
  EXPECT_EQ(all.back(), (std::array<float, 2>{0, 0}));
  all[7] = {4, 5};
  std::vector<const char *> names = {"a", "a"};
  tree.write_members(names, all);
  EXPECT_EQ(tree.read<float>("a", {0, 7}), 5.0f);
  EXPECT_EQ(tree.try_write_members({"a", "b"}, all).code, METATE_E_INVALID_ARGUMENT);
  EXPECT_EQ(tree.try_read_members({"a", "c"}, all).code, METATE_E_NOT_FOUND);
  names.clear();
  auto none = tree.try_read_members(names, all);
  EXPECT_EQ(none.code, METATE_E_INVALID_ARGUMENT);
  EXPECT_NE(none.text.find("a member or more"), std::string::npos);
}

TEST(CppApi, levelsThatShrink) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  auto type = module.tree_type("ab_aos");
  auto tree = type.make();
  tree.write("a", {0, 7}, 14.0f);
  tree.write("a", {7, 0}, 2.0f);
  auto version = tree.topology_version();
  tree.deactivate("a", {0, 6}); // its block
  EXPECT_NE(tree.topology_version(), version);
  EXPECT_EQ(tree.read<float>("a", {0, 7}), 0.0f);
  EXPECT_EQ(tree.stats().at(0).used, 1u);
  std::string path = std::filesystem::temp_directory_path() / "metate-levels-that-shrink";
  tree.save(path.c_str());
  auto mapped = type.load(path.c_str(), METATE_BIND_READ_ONLY);
  EXPECT_EQ(mapped.read<float>("a", {7, 0}), 2.0f);
  EXPECT_EQ(mapped.try_deactivate_all().code, METATE_E_INVALID_ARGUMENT);
  std::filesystem::remove(path);
  alignas(64) static char memory[20000];
  tree.migrate(memory, sizeof memory, nullptr, METATE_BIND_FIT);
  EXPECT_EQ(static_cast<void *>(tree.block().data()), memory);
  EXPECT_EQ(tree.read<float>("a", {7, 0}), 2.0f);
  metate::Capacities few({{"pointer0", 1}});
  auto one = few.get();
  tree.migrate(nullptr, 0, &one); // what is in use has the second slot
  EXPECT_EQ(tree.stats().at(0).capacity, 1u);
  EXPECT_EQ(tree.read<float>("a", {7, 0}), 2.0f);
  tree.deactivate_all("pointer0");
  tree.sort();
  tree.trim();
  EXPECT_EQ(tree.stats().at(0).high_water, 0u);
  EXPECT_EQ(tree.try_append("pointer0", {}).status().code, METATE_E_INVALID_ARGUMENT);
  EXPECT_EQ(tree.try_length("nothing", {}).status().code, METATE_E_NOT_FOUND);
}

TEST(CppApi, argumentsOfEveryKind) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  std::vector<double> out(9);
  // A matrix goes as an array view of an ndarray kernel or through the C API; echo takes one by
  // value.
  std::vector<float> x{1, 2, 3};
  std::array<float, 3> y{10, 20, 30};
  module.kernel("axpy")(x, metate::ArrayView{y.data(), {3}}, 2.0f);
  EXPECT_EQ(y[2], 36.0f);
  const std::vector<float> constant{1, 1, 1};
  module.kernel("axpy")(constant, metate::ArrayView{y.data(), {3}}, 1.0f);
  EXPECT_EQ(y[2], 37.0f);
  auto refused = module.kernel("axpy").try_launch(x, constant, 1.0f);
  EXPECT_EQ(refused.code, METATE_E_INVALID_ARGUMENT);
  EXPECT_NE(refused.text.find("read-only"), std::string::npos);
}

TEST(CppApi, argumentsStayInPlaceByName) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  auto axpy = module.kernel("axpy").bind({{"y", y}, {"x", x}});
  axpy(2.0f);
  axpy(2.0f);
  EXPECT_EQ(y, (std::vector<float>{14, 28, 42}));
  axpy.set("s", -1.0f);
  axpy();
  EXPECT_EQ(y, (std::vector<float>{13, 26, 39}));
  EXPECT_EQ(axpy.try_launch(1.0f).text, "kernel 'axpy': 1 arguments more than are left open");
  auto fill = module.kernel("fill");
  auto type = fill.tree_type("f");
  EXPECT_EQ(type.name(), "ab_aos");
  auto tree = type.make();
  auto bound = fill.bind({{"f", tree}});
  EXPECT_EQ(bound.try_launch().text, "kernel 'fill': argument 'scale' is missing");
  bound(2.0f);
  EXPECT_EQ(tree.read<float>("a", {0, 7}), 14.0f);
  EXPECT_EQ(fill.try_bind({{"g", tree}}).status().text,
            "kernel 'fill' has no argument 'g'; it has f, scale");
  EXPECT_EQ(fill.try_tree_type("scale").status().code, METATE_E_NOT_FOUND);
}

TEST(CppApi, derivativesOfAKernel) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  metate::Kernel axpy = module.kernel("axpy");
  EXPECT_EQ(axpy.grad().name(), "echo");
  EXPECT_EQ(axpy.fwd().name(), "total");
  EXPECT_EQ(module.kernel("echo").try_grad().status().code, METATE_E_NOT_FOUND);
  EXPECT_THROW(module.kernel("total").fwd(), metate::Exception);
}

TEST(CppApi, failuresAreResultsOrExceptions) {
  auto device = metate::Device::open();
  auto missing = metate::Module::try_open("/no/such/file", device);
  EXPECT_FALSE(missing);
  EXPECT_EQ(missing.status().code, METATE_E_IO);
  EXPECT_THROW(metate::Module::open("/no/such/file", device), metate::Exception);
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  try {
    module.kernel("nope");
    FAIL();
  } catch (const metate::Exception &error) {
    EXPECT_EQ(error.status().code, METATE_E_NOT_FOUND);
    EXPECT_NE(std::string(error.what()).find("'nope'"), std::string::npos);
  }
}

TEST(CppApi, makeBindsReservedMemory) {
  auto device = metate::Device::open();
  auto module = metate::Module::open(METATE_TEST_FILE, device);
  auto tree = module.tree_type("ab_soa").make(metate::Capacities({{"pointer0", 9}}, 4));
  EXPECT_EQ(tree.describe().workers, 4u);
  auto moved = std::move(tree);
  EXPECT_TRUE(moved.check().ok());
}

namespace taichi = metate::rfc;

namespace {
// Three ways a host may have memory.
struct DeviceMemory {
  void *data;
  size_t size;
};
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "metate-rfc-XXXXXX").string();
    path = mkdtemp(name.data());
    std::filesystem::copy_file(METATE_TEST_FILE, path / "module.metate");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};
} // namespace

TEST(RfcApi, theListing) {
  Folder folder;
  std::string printed;
  metate_print_sink sink{&printed, [](void *self, const char *text, size_t bytes) {
                           static_cast<std::string *>(self)->append(text, bytes);
                         }};
  auto m = taichi::LoadModule(folder.path.string(), {.print = &sink});
  ASSERT_TRUE(m.ok()) << m.status().text;
#if defined(__x86_64__)
  EXPECT_EQ(m.arch(), "x64");
#endif
  auto *t = m.GetSNodeTreeType("ab_aos");
  ASSERT_NE(t, nullptr);
  size_t n = t->GetSize();
  EXPECT_EQ(n, 12224u);
  Memory first(n), second(n);
  auto typed = taichi::MakeMemoryResourceTyped(first.data, t);
  auto other = taichi::MakeMemoryResourceTyped(DeviceMemory{second.data, n}, t);
  ASSERT_TRUE(typed.ok() && other.ok());
  auto *fill = m.GetKernel("fill");
  EXPECT_EQ(fill->signature(), "{args: {ab_aos, f32}, returns: {}}");
  EXPECT_TRUE(fill->Run({typed, 1.0f}).ok());
  EXPECT_TRUE(fill->Run({other, 3.0f}).ok());
  auto *k = m.GetKernel("run1");
  EXPECT_EQ(k->signature(), "{args: {ab_aos}, returns: {}}");
  EXPECT_TRUE(k->Run({typed}).ok());
  EXPECT_NE(printed.find("I= [1, 6]  a*b= [21.0, 42.0, 63.0]\n"), std::string::npos);
  printed.clear();
  EXPECT_TRUE(k->Run({other}).ok());
  EXPECT_NE(printed.find("I= [1, 6]  a*b= [63.0, 126.0, 189.0]\n"), std::string::npos);
  EXPECT_EQ(m.GetKernel("total")->signature(),
            "{args: {ndarray(f64, 1)}, returns: {ndarray(f64, 0)}}");
}

TEST(RfcApi, failuresAreStatuses) {
  auto bad = taichi::LoadModule("/no/such/folder");
  EXPECT_EQ(bad.status().code, METATE_E_IO);
  EXPECT_EQ(bad.GetKernel("run1"), nullptr);
  EXPECT_EQ(bad.arch(), "");
  auto m = taichi::LoadModule(METATE_TEST_FILE);
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m.GetSNodeTreeType("ab"), nullptr);
  EXPECT_EQ(m.status().code, METATE_E_NOT_FOUND);
  auto *t = m.GetSNodeTreeType("ab_aos");
  Memory memory(t->GetSize());
  auto small = taichi::MakeMemoryResourceTyped(DeviceMemory{memory.data, 100}, t);
  EXPECT_EQ(small.status().code, METATE_E_TOO_SMALL);
  EXPECT_NE(small.status().text.find("12224"), std::string::npos);
  EXPECT_EQ(m.GetKernel("run1")->Run({small}).code, METATE_E_TOO_SMALL);
  EXPECT_EQ(taichi::MakeMemoryResourceTyped(memory, nullptr).status().code, METATE_E_NULL);
  auto typed = taichi::MakeMemoryResourceTyped(memory, t);
  ASSERT_TRUE(typed.ok());
  EXPECT_EQ(taichi::MakeMemoryResourceTyped(memory, t).status().code, METATE_E_ALREADY_BOUND);
  auto *soa = m.GetSNodeTreeType("ab_soa");
  Memory other(soa->GetSize());
  auto wrong = taichi::MakeMemoryResourceTyped(other, soa);
  auto status = m.GetKernel("run1")->Run({wrong});
  EXPECT_EQ(status.code, METATE_E_TYPE_MISMATCH);
  EXPECT_NE(status.text.find("got a tree of type 'ab_soa'"), std::string::npos);
  EXPECT_EQ(m.GetKernel("run1")->Run({}).code, METATE_E_INVALID_ARGUMENT);
}
