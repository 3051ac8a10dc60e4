// One number of any scalar: small floats, and elements by their patterns.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "host/gemm_numbers.hpp"
#include "program/type.hpp"

namespace tilewright::execute {

// ---- the small floats that host/gemm_numbers.hpp lacks ----

// Neither infinity nor NaN: both saturate.
inline float widen_e2m1(uint8_t x) {
  constexpr float kNumbers[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (x & 8) != 0 ? -kNumbers[x & 7] : kNumbers[x & 7];
}
inline uint8_t narrow_e2m1(float x) {
  const float size = std::fabs(x);
  // Ties go to the even pattern.
  const bool passed[7] = {size > 0.25f, size >= 0.75f, size > 1.25f, size >= 1.75f,
                          size > 2.5f,  size >= 3.5f,  !(size <= 5)};
  int pattern = 0;
  for (const bool each : passed) pattern += each;
  if (!(size == size)) pattern = 7;
  return static_cast<uint8_t>(pattern | (std::signbit(x) ? 8 : 0));
}

inline float widen_e8m0(uint8_t x) {
  if (x == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(x == 0 ? 0x400000u : uint32_t{x} << 23);
}
// The nearest power of two, ties up; numbers that are not above zero become the least.
inline uint8_t narrow_e8m0(double x) {
  if (!(x == x)) return 255;
  if (x <= 0) return 0;
  if (!(x <= std::numeric_limits<double>::max())) return 254;
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  const int pattern = exponent - (fraction < 0.75 ? 1 : 0) + 127;
  return static_cast<uint8_t>(pattern < 0 ? 0 : pattern > 254 ? 254 : pattern);
}

inline float narrow_tf32(float x) { return host::rounded(x, host::Rounding::tf32_rna); }

// x * y + z of doubles that hold small floats: the product is exact, and the sum is rounded to odd, so that rounding it
// again to a small float is rounding once.
inline double fma_to_odd(double x, double y, double z) {
  const double product = x * y, sum = product + z;
  const double back = sum - product;
  const double error = (product - (sum - back)) + (z - back);
  const auto bits = std::bit_cast<uint64_t>(sum);
  if (!(error != 0) || !std::isfinite(sum) || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// ---- elements ----

// The element as a double or as an integer of 64 bits.
template <class T>
T decode(program::Scalar scalar, const uint8_t* from) {
  using host::read_as;
  using program::Scalar;
  switch (scalar) {
    case Scalar::kBoolean:
    case Scalar::kUint8:
      return static_cast<T>(*from);
    case Scalar::kInt4:
    case Scalar::kInt8:
      return static_cast<T>(static_cast<int8_t>(*from));
    case Scalar::kInt16:
      return static_cast<T>(read_as<int16_t>(from));
    case Scalar::kInt32:
      return static_cast<T>(read_as<int32_t>(from));
    case Scalar::kInt64:
      return static_cast<T>(read_as<int64_t>(from));
    case Scalar::kUint16:
      return static_cast<T>(read_as<uint16_t>(from));
    case Scalar::kUint32:
      return static_cast<T>(read_as<uint32_t>(from));
    case Scalar::kUint64:
      return static_cast<T>(read_as<uint64_t>(from));
    case Scalar::kFloat4E2M1FN:
      return static_cast<T>(widen_e2m1(*from));
    case Scalar::kFloat8E4M3FN:
      return static_cast<T>(host::widen<host::kE4M3>(*from));
    case Scalar::kFloat8E5M2:
      return static_cast<T>(host::widen<host::kE5M2>(*from));
    case Scalar::kFloat8E8M0FNU:
      return static_cast<T>(widen_e8m0(*from));
    case Scalar::kFloat16:
      return static_cast<T>(host::widen<host::kHalf>(read_as<uint16_t>(from)));
    case Scalar::kBFloat16:
      return static_cast<T>(host::widen<host::kBFloat16>(read_as<uint16_t>(from)));
    case Scalar::kTFloat32:
    case Scalar::kFloat32:
      return static_cast<T>(read_as<float>(from));
    case Scalar::kFloat64:
      return static_cast<T>(read_as<double>(from));
  }
  return T{};
}

// Integers wrap around; floats of less than 64 bits are rounded as if `value` were exact where it was rounded to odd.
template <class T>
void encode(program::Scalar scalar, T value, uint8_t* to) {
  using program::Scalar;
  const auto put = [to](auto bits) { std::memcpy(to, &bits, sizeof bits); };
  const auto single = [&] { return host::to_odd(static_cast<double>(value)); };
  switch (scalar) {
    case Scalar::kBoolean:
      return put(static_cast<uint8_t>(value != 0));
    case Scalar::kInt4:
      return put(static_cast<int8_t>(static_cast<int8_t>(static_cast<uint64_t>(value) << 4) >> 4));
    case Scalar::kInt8:
    case Scalar::kUint8:
      return put(static_cast<uint8_t>(value));
    case Scalar::kInt16:
    case Scalar::kUint16:
      return put(static_cast<uint16_t>(value));
    case Scalar::kInt32:
    case Scalar::kUint32:
      return put(static_cast<uint32_t>(value));
    case Scalar::kInt64:
    case Scalar::kUint64:
      return put(static_cast<uint64_t>(value));
    case Scalar::kFloat4E2M1FN:
      return put(narrow_e2m1(single()));
    case Scalar::kFloat8E4M3FN:
      return put(static_cast<uint8_t>(host::narrow<host::kE4M3>(single())));
    case Scalar::kFloat8E5M2:
      return put(static_cast<uint8_t>(host::narrow<host::kE5M2>(single())));
    case Scalar::kFloat8E8M0FNU:
      return put(narrow_e8m0(static_cast<double>(value)));
    case Scalar::kFloat16:
      return put(static_cast<uint16_t>(host::narrow<host::kHalf>(single())));
    case Scalar::kBFloat16:
      return put(static_cast<uint16_t>(host::narrow<host::kBFloat16>(single())));
    case Scalar::kTFloat32:
      return put(narrow_tf32(single()));
    case Scalar::kFloat32:
      return put(static_cast<float>(value));
    case Scalar::kFloat64:
      return put(static_cast<double>(value));
  }
}

}  // namespace tilewright::execute
