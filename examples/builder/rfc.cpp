// The RFC's kernels written in C++, without Python: builder_rfc compiles and runs them here.
//
//   builder_rfc                 the same lines as examples/rfc/rfc.py
//   builder_rfc --save FILE     ships them: ab.metate for hosts with libmetate, ab.o and ab.h for a linker
//   builder_rfc --dump          the import stage's IR
#include "metate/builder.hpp"
#include "metate/metate.hpp"

#include <cstdio>
#include <string>

namespace mb = metate::builder;

namespace {

// "a" and "b" side by side in a cell, and a branch for each.
mb::TreeType arrayOfStructs() {
  return {{mb::pointer(
      "ij", 3,
      {mb::dense("ij", 5, {mb::place("a", mb::f32), mb::place("b", mb::vector(3, mb::f32))})})}};
}
mb::TreeType structOfArrays() {
  return {{mb::pointer("ij", 3, {mb::dense("ij", 5, {mb::place("a", mb::f32)})}),
           mb::pointer("ij", 3, {mb::dense("ij", 5, {mb::place("b", mb::vector(3, mb::f32))})})}};
}

void fill(mb::Kernel &k, const mb::TreeType &type) {
  mb::Tree f = k.tree("f", type);
  mb::Value scale = k.value("scale", mb::f32);
  k.parallel_for({15, 15}, [&](mb::Value i, mb::Value j) {
    mb::Value row = floor_div(i, 5);
    mb::Value column = floor_div(j, 5);
    k.if_(row == column, [&] {
      f("a", i, j) = scale * (i + 0.5 * j);
      f("b", i, j) = k.vector({i, j, 1.0});
    });
  });
}

void run(mb::Kernel &k, const mb::TreeType &type) {
  mb::Tree f = k.tree("f", type);
  k.for_each(f, "a", [&](mb::Value i, mb::Value j) {
    mb::Value I = k.vector({i, j});
    mb::Place v = k.variable(f("a", I) * f("b", I));
    k.print("I= ", I, "  a*b= ", v, "\n");
  });
}

mb::Module write() {
  mb::Module module("rfc");
  module.add_type("ab_aos", arrayOfStructs());
  module.add_type("ab_soa", structOfArrays());
  module.kernel("fill1", [](mb::Kernel &k) { fill(k, arrayOfStructs()); });
  module.kernel("fill2", [](mb::Kernel &k) { fill(k, structOfArrays()); });
  module.kernel("run1", [](mb::Kernel &k) { run(k, arrayOfStructs()); });
  module.kernel("run2", [](mb::Kernel &k) { run(k, structOfArrays()); });
  return module;
}

// Two instances with different data go through one compiled kernel.
void runHere(const mb::Code &code) {
  metate_print_sink sink{
      nullptr, [](void *, const char *text, size_t bytes) { std::fwrite(text, 1, bytes, stdout); }};
  auto hooks = metate::sized<metate_device_hooks>();
  hooks.print = &sink;
  auto device = metate::Device::open(&hooks);
  auto module = metate::Module::open_static(code.get(), device);
  for (auto [name, filled, shown] :
       {std::array{"ab_aos", "fill1", "run1"}, std::array{"ab_soa", "fill2", "run2"}}) {
    metate::Tree trees[2] = {module.tree_type(name).make(), module.tree_type(name).make()};
    module.kernel(filled)(trees[0], 1.0f);
    module.kernel(filled)(trees[1], 10.0f);
    for (int number = 0; number < 2; ++number) {
      std::printf("== %s %s %d\n", name, shown, number);
      module.kernel(shown)(trees[number]);
    }
  }
}

} // namespace

int main(int count, char **words) {
  std::string asked = count > 1 ? words[1] : "";
  try {
    mb::Module module = write();
    if (asked == "--dump")
      std::fputs(module.text(/*locations=*/false).c_str(), stdout);
    else if (asked == "--save" && count == 3)
      module.save(words[2], {{"x86-64-v3"}, {}});
    else if (asked.empty())
      runHere(module.compile());
    else
      return std::fputs("usage: builder_rfc [--dump | --save FILE]\n", stderr), 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "builder_rfc: %s\n", error.what());
    return 1;
  }
}
