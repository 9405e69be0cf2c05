//===- Constants.h - numbers of the expansions ------------------*- C++ -*-===//
//
// Polynomials interpolate at Chebyshev's points, in 60 digits, and are rounded to their format; each is followed by the
// error, relative to the function's result, that is left. A constant in two parts is their exact sum: of what is multiplied by
// a whole number k the first part has so few bits that the product is exact.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_CONSTANTS_H
#define METATE_ELEMENTARY_CONSTANTS_H

#include <cstdint>
#include <span>

namespace metate::elementary {

/// A number as hi + lo.
struct Parts {
  double hi, lo;
};

/// A base of logarithms: log x = k * step + scale * ln m, where x = 2^k * m.
struct Base {
  Parts step, scale;
};

/// A format, and the polynomials that suffice for it. Ranges stand where they are used.
struct Constants {
  int mantissa;     // bits that are stored
  uint64_t bias;    // of the exponent
  uint64_t lowBits; // those that cut() drops: what is left, and what is dropped, multiply exactly
  double rounder;   // 1.5 * 2^mantissa: what is added to it loses its fraction
  double unit;      // 2^mantissa: floats from here on are whole
  double tiny,
      grow; // below `tiny`, the least normal number, a factor `grow` = 2^(mantissa + 2) makes a number normal
  double most;                 // 2^(bias - 3): twice as much and more may overflow
  double least, lift;          // below `least` a factor `lift` keeps the low parts of products
  double leastProduct;         // from here on products have them
  Parts expRange, exp2Range;   // beyond these results are 0 and infinity
  double coshRange, tanhRange; // beyond these they are infinity and 1
  double invLn2, sqrtHalf;
  Parts ln2Step, ln2Product; // times k; times 12 or 26 bits
  Base natural, binary, decimal;
  Parts pi, halfPi, quarterPi;
  Parts arcs[3]; // atan of 1/2, 1, 3/2
  std::span<const double> exponential, logarithm, sine, cosine, arcTangent, arcSine, hyperbolicSine,
      hyperbolicTangent;
};

// (e^x - 1 - x) / x^2 of |x| <= ln 2 / 2: exponential. (log((1 + s) / (1 - s)) / s - 2) / s^2 of s^2, where the logarithm is
// of 1/sqrt 2 to sqrt 2: logarithm; without its first term: powerLogarithm. (f(x) - x) / x^3 of x^2: sine to pi/4, arcTangent
// to 7/16, arcSine to 1/2, hyperbolicSine to 1, hyperbolicTangent to 0.55. (cos x - 1 + x^2/2) / x^4 of x^2 to pi/4: cosine.
// clang-format off
namespace singles {
inline constexpr double exponential[] = {0x1p-1, 0x1.555556p-3, 0x1.5554eap-5, 0x1.1110ep-7, 0x1.6d4324p-10, 0x1.a124f2p-13}; // 2^-30.4
inline constexpr double logarithm[] = {0x1.555556p-1, 0x1.9999ecp-2, 0x1.245c4p-2, 0x1.ddcf72p-3}; // 2^-31.6
inline constexpr double sine[] = {-0x1.555556p-3, 0x1.11110ep-7, -0x1.a013a8p-13, 0x1.6dbdeep-19}; // 2^-28.3
inline constexpr double cosine[] = {0x1.555554p-5, -0x1.6c12d2p-10, 0x1.9bd88p-16}; // 2^-30.2
inline constexpr double arcTangent[] = {-0x1.555556p-2, 0x1.999968p-3, -0x1.248622p-3, 0x1.c4f138p-4, -0x1.5d7524p-4, 0x1.8af548p-5}; // 2^-28.9
inline constexpr double arcSine[] = {0x1.555554p-3, 0x1.333432p-4, 0x1.6d5b8ep-5, 0x1.fd921ap-6, 0x1.18e1f6p-6, 0x1.14138cp-5}; // 2^-28.5
inline constexpr double hyperbolicSine[] = {0x1.555556p-3, 0x1.111112p-7, 0x1.a01a14p-13, 0x1.71d208p-19, 0x1.b557f6p-26}; // 2^-27.5
inline constexpr double hyperbolicTangent[] = {-0x1.555556p-2, 0x1.111104p-3, -0x1.ba142cp-5, 0x1.657904p-6, -0x1.176274p-7, 0x1.4b1a28p-9}; // 2^-28.0
inline constexpr uint32_t digits[] = {0x00000028, 0xBE60DB93, 0x91054A7F, 0x09D5F47D, 0x4D377036, 0xD8A5664F, 0x10E4107F, 0x9458EAF7}; // of 2 / pi, from 2^25 on, the highest first
} // namespace singles
namespace doubles {
inline constexpr double exponential[] = {0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555556p-5, 0x1.11111111100dcp-7, 0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13, 0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19, 0x1.27e4db646b17ep-22, 0x1.af4de97ca4194p-26, 0x1.1f730349868cep-29}; // 2^-61.4
inline constexpr double logarithm[] = {0x1.5555555555558p-1, 0x1.99999999952d7p-2, 0x1.2492492df281ap-2, 0x1.c71c62e3f11e6p-3, 0x1.7462b51cb66b1p-3, 0x1.39fe51a7c18f9p-3, 0x1.2b5900de53b32p-3}; // 2^-57.6
inline constexpr double powerLogarithm[] = {0x1.999999999999ep-2, 0x1.249249248e532p-2, 0x1.c71c71d7e7fc3p-3, 0x1.745d09f06d811p-3, 0x1.3b18b8ee7a308p-3, 0x1.1018ae366a914p-3, 0x1.08788c3e01713p-3}; // 2^-62.7
inline constexpr double sine[] = {-0x1.5555555555555p-3, 0x1.111111111111p-7, -0x1.a01a01a019937p-13, 0x1.71de3a54607a5p-19, -0x1.ae64541295cdfp-26, 0x1.61217ee5cca1bp-33, -0x1.ab17bdcbd3414p-41}; // 2^-57.3
inline constexpr double cosine[] = {0x1.5555555555555p-5, -0x1.6c16c16c16967p-10, 0x1.a01a019f4e9b4p-16, -0x1.27e4fa17bf139p-22, 0x1.1eeb68cd22f56p-29, -0x1.907d8f29fe831p-37}; // 2^-59.4
inline constexpr double arcTangent[] = {-0x1.5555555555555p-2, 0x1.99999999998c4p-3, -0x1.2492492485417p-3, 0x1.c71c71bd21787p-4, -0x1.745d154ac3da3p-4, 0x1.3b1375a0eb258p-4, -0x1.110c9a0c8644ap-4, 0x1.e1704532a7e28p-5, -0x1.ab582fd05ec97p-5, 0x1.6ffb4e901f5dbp-5, -0x1.0f54730d6c30ep-5, 0x1.e3ddb8d3850abp-7}; // 2^-58.0
inline constexpr double arcSine[] = {0x1.5555555555556p-3, 0x1.3333333332ec4p-4, 0x1.6db6db6e3292ep-5, 0x1.f1c71c1d4aa0dp-6, 0x1.6e8bb1d89492bp-6, 0x1.1c4d343fa57f6p-6, 0x1.c9cf3759fd8ffp-7, 0x1.78246f32d075cp-7, 0x1.524ea8b3aad31p-7, 0x1.653a8f8cfd43cp-8, 0x1.1d661531b222ep-6, -0x1.e7a24f548c99fp-7, 0x1.d78189767524ep-6}; // 2^-57.3
inline constexpr double hyperbolicSine[] = {0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a01a01ap-13, 0x1.71de3a556c724p-19, 0x1.ae64567f56d77p-26, 0x1.61246136dd6aep-33, 0x1.ae7f44a90b9ap-41, 0x1.9526542299b9fp-49, 0x1.328dfe84b402ap-57}; // 2^-56.6
inline constexpr double hyperbolicTangent[] = {-0x1.5555555555555p-2, 0x1.1111111111032p-3, -0x1.ba1ba1b9feb3cp-5, 0x1.664f48770be76p-6, -0x1.226e32eebbb26p-7, 0x1.d6d338edc6017p-9, -0x1.7d97cb7a94b76p-10, 0x1.34c57de48a611p-11, -0x1.ec0e9550d42c9p-13, 0x1.64f707d11ba4fp-14, -0x1.59962093e21dp-16}; // 2^-57.1
// Of 2 / pi, from 2^54 on, the lowest first.
inline constexpr uint8_t digits[] = {0xAC, 0x10, 0xBA, 0x1A, 0x3F, 0x62, 0xBF, 0xF6, 0xD7, 0xD4, 0x25, 0xA5, 0x14, 0xEF, 0x73, 0x0E, 0x7A, 0xF6, 0xE2, 0xCB, 0xD7, 0x8F, 0x75, 0x4F, 0xEA, 0x5A, 0xD4, 0xBF, 0x3C, 0xCD, 0x7E, 0x8C, 0x9E, 0x6E, 0x13, 0x96, 0x4F, 0x9E, 0xFD, 0x6C, 0xDA, 0x3E, 0xDA, 0x14, 0xB4, 0x16, 0x23, 0x5E, 0xDE, 0x1F, 0x30, 0x0B, 0xBC, 0xFF, 0x2F, 0xF1, 0x3F, 0x76, 0x50, 0xF2, 0x7B, 0x17, 0xBF, 0x08, 0x39, 0xE9, 0x73, 0xA6, 0x06, 0x73, 0xAC, 0x23, 0x73, 0x82, 0xFC, 0xBE, 0x68, 0x4D, 0xE0, 0x38, 0xD3, 0x09, 0x89, 0x76, 0x5D, 0xEA, 0x6B, 0x04, 0xD1, 0x7D, 0x4E, 0x53, 0x62, 0x39, 0xD6, 0x3B, 0xFC, 0x39, 0x24, 0xA3, 0x13, 0xD4, 0x5D, 0x92, 0x0C, 0xC0, 0xA5, 0x9B, 0x84, 0x74, 0xDC, 0x48, 0x6E, 0xC3, 0x8A, 0x77, 0xBD, 0x57, 0xC7, 0xA2, 0xFC, 0x83, 0x20, 0x87, 0x78, 0x32, 0x2B, 0xC5, 0xB6, 0x81, 0xBB, 0x69, 0xEA, 0xA3, 0xAF, 0x4E, 0xF8, 0x53, 0x2A, 0x88, 0x9C, 0xDC, 0x06, 0xF3, 0x45, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
} // namespace doubles
// clang-format on

inline constexpr Constants floatConstants = {
    .mantissa = 23,
    .bias = 127,
    .lowBits = 0xFFF,
    .rounder = 0x1.8p23,
    .unit = 0x1p23,
    .tiny = 0x1p-126,
    .grow = 0x1p25,
    .most = 0x1p124,
    .least = 0x1p-80,
    .lift = 0x1p60,
    .leastProduct = 0x1p-100,
    .expRange = {-104.5, 89.0},
    .exp2Range = {-152.0, 129.0},
    .coshRange = 91.0,
    .tanhRange = 10.0,
    .invLn2 = 0x1.715476p+0,
    .sqrtHalf = 0x1.6a09e6p-1,
    .ln2Step = {0x1.62e4p-1, 0x1.7f7d1cp-20},
    .ln2Product = {0x1.62ep-1, 0x1.0bfbe8p-15},
    .natural = {{0x1.62e4p-1, 0x1.7f7d1cp-20}, {1, 0}},
    .binary = {{1, 0}, {0x1.716p+0, -0x1.7135a8p-13}},
    .decimal = {{0x1.344p-2, 0x1.3509f8p-18}, {0x1.bccp-2, -0x1.09d5b2p-15}},
    .pi = {0x1.921fb6p+1, -0x1.777a5cp-24},
    .halfPi = {0x1.921fb6p+0, -0x1.777a5cp-25},
    .quarterPi = {0x1.921fb6p-1, -0x1.777a5cp-26},
    .arcs = {{0x1.dac67p-2, 0x1.586ed4p-28},
             {0x1.921fb6p-1, -0x1.777a5cp-26},
             {0x1.f730bep-1, -0x1.afc12cp-26}},
    .exponential = singles::exponential,
    .logarithm = singles::logarithm,
    .sine = singles::sine,
    .cosine = singles::cosine,
    .arcTangent = singles::arcTangent,
    .arcSine = singles::arcSine,
    .hyperbolicSine = singles::hyperbolicSine,
    .hyperbolicTangent = singles::hyperbolicTangent,
};

inline constexpr Constants doubleConstants = {
    .mantissa = 52,
    .bias = 1023,
    .lowBits = 0x7FFFFFF,
    .rounder = 0x1.8p52,
    .unit = 0x1p52,
    .tiny = 0x1p-1022,
    .grow = 0x1p54,
    .most = 0x1p1020,
    .least = 0x1p-900,
    .lift = 0x1p120,
    .leastProduct = 0x1p-960,
    .expRange = {-746.0, 710.0},
    .exp2Range = {-1080.0, 1025.0},
    .coshRange = 712.0,
    .tanhRange = 22.0,
    .invLn2 = 0x1.71547652b82fep+0,
    .sqrtHalf = 0x1.6a09e667f3bcdp-1,
    .ln2Step = {0x1.62e42ffp-1, -0x1.718432a1b0e26p-35},
    .ln2Product = {0x1.62e43p-1, -0x1.05c610ca86c39p-29},
    .natural = {{0x1.62e42ffp-1, -0x1.718432a1b0e26p-35}, {1, 0}},
    .binary = {{1, 0}, {0x1.7154768p+0, -0x1.6a3e80f444178p-27}},
    .decimal = {{0x1.3441350ap-2, -0x1.0c0219dc1da99p-39},
                {0x1.bcb7b18p-2, -0x1.6c8d78e6acaa4p-29}},
    .pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53},
    .halfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54},
    .quarterPi = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
    .arcs = {{0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
             {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
             {0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56}},
    .exponential = doubles::exponential,
    .logarithm = doubles::logarithm,
    .sine = doubles::sine,
    .cosine = doubles::cosine,
    .arcTangent = doubles::arcTangent,
    .arcSine = doubles::arcSine,
    .hyperbolicSine = doubles::hyperbolicSine,
    .hyperbolicTangent = doubles::hyperbolicTangent,
};

} // namespace metate::elementary

#endif
