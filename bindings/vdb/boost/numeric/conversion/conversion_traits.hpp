// In place of Boost's header, the only one that OpenVDB 10's math needs and that clang from 20 on refuses in Boost
// before 1.83 (an enumeration's value out of its range). OpenVDB asks it for the wider of two numeric types.
#pragma once

#include <type_traits>

namespace boost::numeric {

/// supertype: of two numbers the type of their sum; else T, as in Boost.
template <typename T, typename S, bool = std::is_arithmetic_v<T> && std::is_arithmetic_v<S>>
struct conversion_traits {
  using supertype = T;
};

template <typename T, typename S> struct conversion_traits<T, S, true> {
  using supertype = std::common_type_t<T, S>;
};

} // namespace boost::numeric
