// Sessions: a kernel's arguments one by one, by name, in C and C++.
#include "fixture.h"

#include "metate/session.hpp"

#include <array>

using namespace metate::test;

namespace {

struct SessionTest : ::testing::Test {
  metate::Device device = metate::Device::open();
  metate::Module module = metate::Module::open(METATE_TEST_FILE, device);
  metate_session *session = nullptr;

  metate_session *open(const char *kernel) {
    EXPECT_OK(metate_session_open(module.kernel(kernel).get(), &session));
    return session;
  }
  void TearDown() override {
    if (session) {
      EXPECT_OK(metate_session_close(session));
    }
    EXPECT_EQ(device.describe().live_objects, 1u); // the module
  }
};

metate_argument scalar(float value) {
  metate_argument argument{METATE_ARGUMENT_SCALAR, METATE_F32, 1, 1, {0}};
  std::memcpy(&argument.value.bits, &value, sizeof value);
  return argument;
}

} // namespace

TEST_F(SessionTest, argumentsStayWhereTheyAre) {
  std::array<float, 3> x = {1, 2, 3}, y = {1, 1, 1};
  open("axpy");
  {
    // The description is copied, so it may go.
    int64_t shape[1] = {3};
    metate_array array{x.data(), METATE_F32, 1, METATE_ARRAY_READ_ONLY, 0, shape, nullptr};
    metate_argument argument{METATE_ARGUMENT_NDARRAY, 0, 0, 0, {}};
    argument.value.array = &array;
    EXPECT_OK(metate_session_set_input(session, "x", &argument));
    array.data = y.data();
    array.flags = 0;
    EXPECT_OK(metate_session_set_input(session, "y", &argument));
    shape[0] = -1;
  }
  metate_argument s = scalar(2);
  EXPECT_OK(metate_session_set_input(session, "s", &s));
  EXPECT_OK(metate_session_run(session, nullptr));
  EXPECT_EQ(y, (std::array<float, 3>{3, 5, 7}));
  s = scalar(1);
  EXPECT_OK(metate_session_set_input(session, "s", &s));
  EXPECT_OK(metate_session_run(session, nullptr));
  metate_argument found{};
  EXPECT_OK(metate_session_get_output(session, "y", &found));
  EXPECT_EQ(found.value.array->data, y.data());
  EXPECT_EQ(found.value.array->shape[0], 3);
  EXPECT_OK(metate_session_set_input(session, "y", &found)); // its own description
  EXPECT_OK(metate_session_run(session, nullptr));
  EXPECT_EQ(y, (std::array<float, 3>{5, 9, 13}));
}

TEST_F(SessionTest, whatIsWrongIsNamed) {
  open("axpy");
  metate_argument s = scalar(2), found{};
  EXPECT_FAILS(METATE_E_NOT_FOUND, metate_session_set_input(session, "z", &s), "kernel 'axpy'",
               "'z'", "it has x, y, s");
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, metate_session_set_input(session, "x", &s),
               "argument 0 'x'");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_session_run(session, nullptr),
               "argument 0 'x' is not set: call metate_session_set_input");
  EXPECT_FAILS(METATE_E_INVALID_ARGUMENT, metate_session_get_output(session, "s", &found),
               "'s' is not set");
  metate_array array{&s, METATE_F32, 2, 0, 0, nullptr, nullptr};
  metate_argument argument{METATE_ARGUMENT_NDARRAY, 0, 0, 0, {}};
  EXPECT_FAILS(METATE_E_NULL, metate_session_set_input(session, "x", &argument), "'x' is NULL");
  argument.value.array = &array;
  EXPECT_FAILS(METATE_E_TYPE_MISMATCH, metate_session_set_input(session, "x", &argument),
               "expected 1 dimensions, got 2");
  array.rank = 1;
  EXPECT_FAILS(METATE_E_NULL, metate_session_set_input(session, "x", &argument), "shape is NULL");
  EXPECT_FAILS(METATE_E_NULL, metate_session_set_input(session, nullptr, &argument), "name");
  EXPECT_FAILS(METATE_E_NULL, metate_session_open(nullptr, &session), "kernel");
}

TEST_F(SessionTest, launchesCheckWhatIsSet) {
  auto kernel = metate::Session::open(module.kernel("axpy"));
  std::array<double, 2> wrong = {};
  std::vector<float> y(3);
  kernel.set_input("x", metate::ArrayView<double>{wrong.data(), {2}});
  kernel.set_input("y", y);
  kernel.set_input("s", 1.0f);
  EXPECT_EQ(kernel.try_run().code, METATE_E_TYPE_MISMATCH);
}

TEST_F(SessionTest, inCpp) {
  auto total = metate::Session::open(module.kernel("total"));
  std::vector<double> x = {1, 2, 3.5};
  double result = 0;
  total.set_input("x", x);
  total.set_input("result", metate::ArrayView<double>{&result, {}});
  total.run();
  EXPECT_EQ(result, 6.5);
  x[0] = 11; // borrowed
  total.run();
  EXPECT_EQ(total.get_output<double>("result").data, &result);
  EXPECT_EQ(result, 16.5);
  EXPECT_EQ(total.get_output<double>("x").shape, std::vector<int64_t>{3});
  EXPECT_EQ(total.try_get_output<float>("x").status().code, METATE_E_TYPE_MISMATCH);
  EXPECT_EQ(total.try_set_input("y", 1.0f).code, METATE_E_NOT_FOUND);
  // Vectors and matrices are kept.
  auto echo = metate::Session::open(module.kernel("echo"));
  std::vector<double> out(9);
  echo.set_input("v", std::array<float, 3>{1, 2, 3});
  echo.set_input("c", int8_t(7));
  echo.set_input("on", true);
  echo.set_input("out", out);
  metate::Session moved = std::move(echo);
  EXPECT_EQ(moved.try_run().code, METATE_E_INVALID_ARGUMENT);
}

TEST_F(SessionTest, memoryIsTheDevices) {
  metate_device_hooks hooks = metate::sized<metate_device_hooks>();
  struct Few {
    int left;
    metate_allocator hooks{this,
                           [](void *self, size_t bytes, size_t align) -> void * {
                             auto &own = *static_cast<Few *>(self);
                             return own.left-- > 0 ? std::aligned_alloc(align < 16 ? 16 : align,
                                                                        (bytes + 63) / 64 * 64)
                                                   : nullptr;
                           },
                           [](void *, void *pointer, size_t, size_t) { std::free(pointer); }};
  } few{1000};
  hooks.allocator = &few.hooks;
  auto own = metate::Device::open(&hooks);
  auto opened = metate::Module::open(METATE_TEST_FILE, own);
  for (int left = 0; left < 3; ++left) {
    few.left = left;
    metate_session *none = nullptr;
    EXPECT_FAILS(METATE_E_OUT_OF_MEMORY, metate_session_open(opened.kernel("axpy").get(), &none),
                 "refused memory for a session");
  }
  few.left = 3;
  metate_session *made = nullptr;
  EXPECT_OK(metate_session_open(opened.kernel("axpy").get(), &made));
  EXPECT_OK(metate_session_close(made));
}
