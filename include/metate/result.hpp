// What the C++ API returns: a status, a value or the status that says why there is none, and the
// exception that the throwing spellings throw. Part of metate.hpp, which hosts include.
#ifndef METATE_RESULT_HPP
#define METATE_RESULT_HPP

#include "metate/metate.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#if defined(__cpp_exceptions) && !defined(METATE_NO_EXCEPTIONS)
#define METATE_EXCEPTIONS 1
#include <stdexcept>
#else
#define METATE_EXCEPTIONS 0
#include <cstdlib>
#endif

namespace metate {

/// A status and, if it is not METATE_OK, its text.
struct Status {
  metate_status code = METATE_OK;
  std::string text;

  bool ok() const { return code == METATE_OK; }
  explicit operator bool() const { return ok(); }
  const char *name() const { return metate_status_name(code); }

  /// Of the C call that just returned `code`.
  static Status of(metate_status code) {
    return code == METATE_OK ? Status{} : Status{code, metate_last_error()};
  }
};

/// A value or the status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// METATE_OK when there is a value.
  Status status() const { return ok() ? Status{} : *std::get_if<1>(&state); }
  /// The value; there must be one.
  T &operator*() & { return *std::get_if<0>(&state); }
  const T &operator*() const & { return *std::get_if<0>(&state); }
  T &&operator*() && { return std::move(*std::get_if<0>(&state)); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }

private:
  std::variant<T, Status> state;
};

#if METATE_EXCEPTIONS
/// What the throwing spellings throw.
class Exception : public std::runtime_error {
public:
  explicit Exception(Status status)
      : std::runtime_error(std::string(status.name()) + ": " + status.text), value(status) {}
  const Status &status() const { return value; }

private:
  Status value;
};

template <typename T> T unwrap(Result<T> result) {
  if (!result)
    throw Exception(result.status());
  return std::move(*result);
}
inline void unwrap(const Status &status) {
  if (!status)
    throw Exception(status);
}
#endif

/// The metate_dtype of a C++ scalar.
template <typename T> constexpr uint32_t dtype_of() {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<V, bool>)
    return METATE_U1;
  else if constexpr (std::is_same_v<V, float>)
    return METATE_F32;
  else if constexpr (std::is_same_v<V, double>)
    return METATE_F64;
  else {
    static_assert(std::is_integral_v<V> && sizeof(V) <= 8, "not a scalar of Metate");
    constexpr uint32_t rank = sizeof(V) == 1 ? 0 : sizeof(V) == 2 ? 1 : sizeof(V) == 4 ? 2 : 3;
    return (std::is_signed_v<V> ? METATE_I8 : METATE_U8) + rank;
  }
}

/// A struct of metate.h with its struct_size set.
template <typename T> T sized() {
  T value{};
  value.struct_size = sizeof value;
  return value;
}

namespace detail {
// Owns a handle; Close is the C function that ends it.
template <typename T, metate_status (*Close)(T *)> class Handle {
public:
  Handle() = default;
  explicit Handle(T *raw) : raw(raw) {}
  Handle(Handle &&other) noexcept : raw(std::exchange(other.raw, nullptr)) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(raw, other.raw);
    return *this;
  }
  ~Handle() {
    if (raw)
      Close(raw);
  }
  T *get() const { return raw; }

private:
  T *raw = nullptr;
};
} // namespace detail

} // namespace metate

#endif
