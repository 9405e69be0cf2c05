// The `_runtime` extension: libmetate for Python. It links libmetate only,
// never the compiler, so a process that runs modules needs nothing else.
#include "Arguments.h"
#include "Array.h"
#include "Callable.h"
#include "Dispatcher.h"
#include "Elements.h"
#include "Launch.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace metate::python {
namespace {

constexpr std::pair<uint32_t, const char *> featureNames[] = {
    {METATE_FEATURE_F64, "f64"},
    {METATE_FEATURE_F16, "f16"},
    {METATE_FEATURE_I16, "i16"},
    {METATE_FEATURE_I8, "i8"},
    {METATE_FEATURE_I64_ATOMICS, "64-bit atomics"},
    {METATE_FEATURE_F32_ATOMIC_ADD, "atomic sums of f32"},
};

nb::dict inspect(const Device &device) {
  metate_machine_info info = device.inspect();
  nb::dict features, found;
  for (auto [bit, name] : featureNames)
    features[name] = nb::bool_((info.features & bit) != 0);
  found["memory_bytes"] = nb::int_(info.memory_bytes);
  found["version"] = nb::make_tuple(info.version[0], info.version[1]);
  found["features"] = features;
  return found;
}

void bindDevice(nb::module_ &module) {
  nb::class_<Profile>(module, "Profile", "What a device's launches took; times in nanoseconds.")
      .def("totals", &Profile::totals, nb::sig("def totals(self) -> list[tuple]"))
      .def("events", &Profile::events, nb::sig("def events(self) -> list[tuple]"))
      .def("clear", &Profile::clear)
      .def_prop_ro("forgotten", &Profile::forgotten);
  nb::class_<Device>(module, "Device", nb::is_weak_referenceable(),
                     "The host's CPU with an executor, or another machine; prints go to "
                     "sys.stdout.")
      .def(nb::init<uint32_t, bool, std::string, std::shared_ptr<Device>>(), nb::arg("threads") = 0,
           nb::arg("profile") = false, nb::arg("driver") = "cpu",
           nb::arg("beside").none() = nb::none(),
           "threads: 0 = as many as the machine has; profile: launches are timed; driver: that of "
           "libmetate_DRIVER.so; beside: a device of it, whose machine and memory are shared. "
           "Raises RuntimeError_ where there is no such machine.")
      .def("wait", &Device::wait, "Returns when all that was launched has ended.")
      .def("inspect", &inspect, nb::sig("def inspect(self) -> dict"),
           "What its machine has: memory_bytes (0: not known), version of the driver's interface "
           "((0, 0): it has none), features: a dict from names to whether kernels may use them.")
      .def_prop_ro("driver", [](const Device &self) { return self.driverName(); })
      .def_prop_ro("profile", &Device::profile, nb::rv_policy::reference_internal,
                   nb::sig("def profile(self) -> Profile | None"))
      .def_prop_rw("threads", &Device::threads, &Device::setThreads)
      .def_prop_rw("launch_timeout", &Device::launchTimeout, &Device::setLaunchTimeout,
                   "Seconds that a kernel of debug mode may run; 0: as long as it likes.")
      .def("copy", [](Device &self, nb::handle to,
                      nb::handle from) { return self.copy(to.ptr(), from.ptr()); })
      .def_prop_ro("executor", [](const Device &self) { return std::string(self.executorName()); })
      .def_prop_ro("name", [](const Device &self) { return std::string(self.describe().name); })
      .def_prop_ro("arch", [](const Device &self) { return self.describe().arch; })
      .def_prop_ro("level", [](const Device &self) { return self.describe().level; })
      .def_prop_ro("live_objects", [](const Device &self) { return self.describe().live_objects; });
}

} // namespace
} // namespace metate::python

NB_MODULE(_runtime, module) {
  using namespace metate::python;
  module.doc() = "libmetate for Python: devices, types, trees, modules, kernel calls.";
  module.attr("abi_version") = metate_abi_version();
  module.def("describe_array", &Frame::describeArray, nb::arg("array").none(),
             "(dtype, shape, row-major without gaps) of an array in the host's memory or a CUDA "
             "device's; None of anything else.");
  watchMainThread();
  bindDevice(module);
  bindType(module);
  bindArray(module);
  bindTree(module);
  bindElements(module);
  bindModule(module);
  bindDispatcher(module);
  bindCallable(module);
}
