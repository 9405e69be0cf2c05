// A kernel or a graph run by steps in the C++ API. Hosts that want it include it beside metate.hpp.
//
//   metate::Session session = metate::Session::open(module.kernel("steps"));
//   session.set_input("x", x);                       // borrowed: it must outlive the session
//   session.set_input("turns", 3);
//   session.run();
//   metate::ArrayView<float> result = session.get_output<float>("x"); // the caller's memory
#ifndef METATE_SESSION_HPP
#define METATE_SESSION_HPP

#include "metate/kernel.hpp"
#include "metate/metate_session.h"

#include <map>

namespace metate {

class Session {
public:
  static Result<Session> try_open(const Kernel &kernel) {
    metate_session *raw = nullptr;
    if (metate_status code = metate_session_open(kernel.get(), &raw))
      return Status::of(code);
    return Session(raw);
  }
  metate_session *get() const { return handle.get(); }

  /// An argument of the kernel by its name: scalars and vectors are kept, arrays and trees borrowed.
  Status try_set_input(const char *name, const Argument &value) {
    Argument kept = value;
    metate_argument raw = kept.get();
    if (metate_status code = metate_session_set_input(get(), name, &raw))
      return Status::of(code);
    raw = values.insert_or_assign(name, value).first->second.get();
    return Status::of(metate_session_set_input(get(), name, &raw));
  }
  Status try_run(const LaunchOptions &options = {}) {
    metate_launch_options raw = options.get();
    return Status::of(metate_session_run(get(), &raw));
  }
  /// An array that was set, where the kernel has written. METATE_E_TYPE_MISMATCH: it is none of T.
  template <typename T> Result<ArrayView<T>> try_get_output(const char *name) const {
    metate_argument found{};
    if (metate_status code = metate_session_get_output(get(), name, &found))
      return Status::of(code);
    if (found.kind != METATE_ARGUMENT_NDARRAY || found.value.array->dtype != dtype_of<T>())
      return Status{METATE_E_TYPE_MISMATCH, std::string("'") + name + "' is no array of " +
                                                metate_dtype_name(dtype_of<T>())};
    const metate_array &array = *found.value.array;
    ArrayView<T> view{static_cast<T *>(array.data), {array.shape, array.shape + array.rank}};
    if (array.strides)
      view.strides.assign(array.strides, array.strides + array.rank);
    return view;
  }
#if METATE_EXCEPTIONS
  static Session open(const Kernel &kernel) { return unwrap(try_open(kernel)); }
  void set_input(const char *name, const Argument &value) { unwrap(try_set_input(name, value)); }
  void run(const LaunchOptions &options = {}) { unwrap(try_run(options)); }
  template <typename T> ArrayView<T> get_output(const char *name) const {
    return unwrap(try_get_output<T>(name));
  }
#endif

private:
  explicit Session(metate_session *raw) : handle(raw) {}
  detail::Handle<metate_session, metate_session_close> handle;
  std::map<std::string, Argument> values; // nodes stay where they are
};

} // namespace metate

#endif
