// The client in C++ (metate/rpc.hpp) and a server in one program: bytes go from one to the other, some of them damaged.
#include "metate/rpc.hpp"
#include "service.h"

#include <cstdio>

namespace {

struct Loop {
  metate_rpc server{};
  alignas(64) unsigned char memory[32768];
  metate::rpc::Bytes answers;
  uint32_t state = 1, damage = 0; // one of so many bytes

  uint8_t passed(uint8_t byte) {
    state = state * 1664525 + 1013904223;
    return damage && state % damage == 0 ? uint8_t(state >> 24) : byte;
  }
  size_t read(void *to, size_t bytes) {
    size_t count = std::min({bytes, answers.size(), size_t(17)});
    for (size_t k = 0; k < count; ++k)
      static_cast<uint8_t *>(to)[k] = passed(answers[k]);
    answers.erase(answers.begin(), answers.begin() + long(count));
    return count;
  }
  bool write(const void *from, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k) {
      uint8_t byte = passed(static_cast<const uint8_t *>(from)[k]);
      metate_rpc_receive(&server, &byte, 1);
    }
    return true;
  }
};

std::vector<std::string> heard;

void show(const char *what, const metate::Status &status) {
  std::printf("%s: %s\n", what, status ? "fine" : status.text.c_str());
}

} // namespace

int main() {
  static Loop loop;
  metate_rpc_options options{};
  options.module = &service_module;
  options.memory = loop.memory;
  options.bytes = sizeof loop.memory;
  options.write = [](void *self, const void *bytes, size_t count) {
    auto *from = static_cast<const uint8_t *>(bytes);
    auto &to = static_cast<Loop *>(self)->answers;
    to.insert(to.end(), from, from + count);
  };
  options.write_self = &loop;
  options.print_bytes = 400;
  if (metate_rpc_open(&loop.server, &options) != METATE_OK)
    return 1;
  auto connected = metate::rpc::Client::try_connect(
      {[](void *to, size_t bytes) { return loop.read(to, bytes); },
       [](const void *from, size_t bytes) { return loop.write(from, bytes); },
       [](const std::string &text) { heard.push_back(text); }},
      50);
  if (!connected)
    return show("connect", connected.status()), 1;
  metate::rpc::Client &client = *connected;
  std::printf("%zu kernels, %s\n", client.kernels().size(), client.kernels()[0].name.c_str());
  loop.damage = 400;

  std::vector<float> x(300), y(300, 1);
  for (size_t k = 0; k < x.size(); ++k)
    x[k] = float(k);
  metate::rpc::Session axpy = client.session("axpy");
  axpy.set_input("a", 2);
  axpy.set_input<float>("x", x, {300});
  axpy.set_input<float>("y", y, {300});
  for (int k = 0; k < 5; ++k)
    axpy.run();
  y = axpy.get_output<float>("y");
  std::printf("%g %g %g\n", double(y[0]), double(y[1]), double(y[299]));

  metate::rpc::Session total = client.session("total");
  total.set_input<float>("x", x, {300});
  total.run();
  std::printf("%g\n", total.get_result<double>());

  const std::vector<double> m{0, 2, 3, 0};
  const std::vector<float> by{1, 2, 3}, points{1, 1, 1, 2, 2, 2};
  metate::rpc::Session shift = client.session("shift");
  shift.set_input<double>("m", m);
  shift.set_input<float>("by", by);
  shift.set_input<float>("points", points, {2, 3});
  shift.run();
  std::vector<float> moved = shift.get_output<float>("points"),
                     result = *shift.try_results<float>(3);
  std::printf("%g %g, %g %g %g\n", double(moved[0]), double(moved[5]), double(result[0]),
              double(result[1]), double(result[2]));

  const std::vector<int32_t> limits{1, 1500};
  metate::rpc::Session stop = client.session("stop");
  show("unset", stop.try_run());
  stop.set_input<int32_t>("x", limits, {2});
  metate::Status failed = stop.try_run();
  std::printf("%s, %s\n", failed.name(), failed.text.substr(failed.text.find("kernel '")).c_str());
  show("dtype", stop.try_set_input<float>("x", x, {300}));
  show("shape", stop.try_set_input<int32_t>("x", limits, {3}));
  show("name", stop.try_set_input("z", 1));
  show("session", client.try_session("stopp").status());
  try {
    stop.run();
  } catch (const metate::Exception &error) {
    std::printf("thrown\n");
  }
  metate::rpc::Session tell = client.session("tell");
  tell.set_input("by", 0.5f);
  for (int n : {3, 20}) {
    tell.set_input("n", n);
    tell.run();
    std::printf("%zu: %s", heard.size(), heard.back().c_str());
  }
  std::printf("%s", heard[2].c_str());
  loop.damage = 1;
  show("noise", stop.try_run());
  return 0;
}
