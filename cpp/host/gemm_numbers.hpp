// Element types of a GEMM and their conversions, as the kernels' numeric.cuh does them: round to nearest even, fp8 and
// integers saturate, NaN stays NaN (0 where the result is an integer).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tilewright::host {

enum class Type { f16, bf16, f32, f64, e4m3, e5m2, i8, u8, i32 };

// What the MMA makes of an element of f32: all of it, or a TF32 number, cut off or rounded to nearest.
enum class Rounding { none, tf32, tf32_rna };

constexpr int64_t bytes_of(Type type) {
  switch (type) {
    case Type::e4m3:
    case Type::e5m2:
    case Type::i8:
    case Type::u8:
      return 1;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::f32:
    case Type::i32:
      return 4;
    case Type::f64:
      return 8;
  }
  return 0;
}

template <class T>
T read_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// ---- small floats ----

// A float of 1 sign bit, `exponent` and `mantissa` bits. E4M3 has no infinity: its exponent of ones holds numbers.
struct SmallFloat {
  int exponent;
  int mantissa;
  uint32_t most;      // the largest finite number's bits
  uint32_t overflow;  // what larger numbers become
  uint32_t nan;

  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }
};
inline constexpr SmallFloat kHalf{5, 10, 0x7bff, 0x7c00, 0x7fff};
inline constexpr SmallFloat kBFloat16{8, 7, 0x7f7f, 0x7f80, 0x7fff};
inline constexpr SmallFloat kE4M3{4, 3, 0x7e, 0x7e, 0x7f};
inline constexpr SmallFloat kE5M2{5, 2, 0x7b, 0x7b, 0x7f};

template <SmallFloat kFormat>
float widen(uint32_t bits) {
  constexpr int kWidth = 1 + kFormat.exponent + kFormat.mantissa;
  const uint32_t sign = bits >> (kWidth - 1) << 31;
  const uint32_t magnitude = bits & ((1u << (kWidth - 1)) - 1);
  const uint32_t exponent = magnitude >> kFormat.mantissa;
  uint32_t wide = 0;
  if (magnitude > kFormat.most) {
    const bool is_infinite =
        magnitude == kFormat.most + 1 && magnitude >> kFormat.mantissa << kFormat.mantissa == magnitude;
    wide = is_infinite ? 0x7f800000u : 0x7fffffffu;
  } else if (exponent == 0) {
    const float unit = std::bit_cast<float>(static_cast<uint32_t>(128 - kFormat.bias() - kFormat.mantissa) << 23);
    if constexpr (kFormat.exponent == 8) {
      wide = magnitude << (23 - kFormat.mantissa);  // subnormal as a float, too
    } else {
      wide = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * unit);
    }
  } else {
    wide = (magnitude << (23 - kFormat.mantissa)) + (static_cast<uint32_t>(127 - kFormat.bias()) << 23);
  }
  return std::bit_cast<float>(sign | wide);
}

template <SmallFloat kFormat>
uint32_t narrow(float x) {
  constexpr int kDropped = 23 - kFormat.mantissa;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 31 << (kFormat.exponent + kFormat.mantissa);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return kFormat.nan;
  const auto rounded = [](uint32_t number, int dropped) {  // number / 2^dropped, to nearest even
    if (dropped > 31) return 0u;
    const uint32_t half = (1u << (dropped - 1)) - 1 + (number >> dropped & 1);
    return (number + half) >> dropped;
  };
  const int exponent = static_cast<int>(magnitude >> 23) - 127 + kFormat.bias();
  uint32_t result = 0;
  if (exponent <= 0 && kFormat.exponent < 8) {
    result = rounded((magnitude & 0x7fffff) | 0x800000, kDropped + 1 - exponent);  // subnormal
  } else {
    result = rounded(magnitude - (static_cast<uint32_t>(127 - kFormat.bias()) << 23), kDropped);
  }
  return sign | (result > kFormat.most ? kFormat.overflow : result);
}

// A float from which rounding once more gives what rounding the double would: of the two neighbours of an inexact
// number, the odd one.
inline float to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == x || std::isnan(x) || (bits & 1) != 0) return nearest;
  return std::bit_cast<float>(std::fabs(nearest) > std::fabs(x) ? bits - 1 : bits + 1);
}

// ---- elements in memory to the type they are computed with, and back ----

template <class Compute, Type kType>
Compute decode(const uint8_t* from) {
  if constexpr (kType == Type::f16) return static_cast<Compute>(widen<kHalf>(read_as<uint16_t>(from)));
  if constexpr (kType == Type::bf16) return static_cast<Compute>(widen<kBFloat16>(read_as<uint16_t>(from)));
  if constexpr (kType == Type::e4m3) return static_cast<Compute>(widen<kE4M3>(*from));
  if constexpr (kType == Type::e5m2) return static_cast<Compute>(widen<kE5M2>(*from));
  if constexpr (kType == Type::f32) return static_cast<Compute>(read_as<float>(from));
  if constexpr (kType == Type::f64) return static_cast<Compute>(read_as<double>(from));
  if constexpr (kType == Type::i8) return static_cast<Compute>(static_cast<int8_t>(*from));
  if constexpr (kType == Type::u8) return static_cast<Compute>(*from);
  if constexpr (kType == Type::i32) return static_cast<Compute>(read_as<int32_t>(from));
}

template <class To, class From>
To to_integer(From x) {
  constexpr double kLeast = std::numeric_limits<To>::lowest(), kMost = std::numeric_limits<To>::max();
  const double whole = std::nearbyint(static_cast<double>(x));
  if (!(whole == whole)) return 0;
  return static_cast<To>(whole < kLeast ? kLeast : whole > kMost ? kMost : whole);
}

template <class Compute, Type kType>
void encode(Compute value, uint8_t* to) {
  const auto put = [to](auto bits) { std::memcpy(to, &bits, sizeof bits); };
  // As a float from which a small float may be rounded.
  const auto single = [value] {
    if constexpr (std::is_same_v<Compute, float>) return value;
    return to_odd(static_cast<double>(value));
  };
  if constexpr (kType == Type::f16) put(static_cast<uint16_t>(narrow<kHalf>(single())));
  if constexpr (kType == Type::bf16) put(static_cast<uint16_t>(narrow<kBFloat16>(single())));
  if constexpr (kType == Type::e4m3) put(static_cast<uint8_t>(narrow<kE4M3>(single())));
  if constexpr (kType == Type::e5m2) put(static_cast<uint8_t>(narrow<kE5M2>(single())));
  if constexpr (kType == Type::f32) put(static_cast<float>(value));
  if constexpr (kType == Type::f64) put(static_cast<double>(value));
  if constexpr (kType == Type::i8) put(to_integer<int8_t>(value));
  if constexpr (kType == Type::u8) put(to_integer<uint8_t>(value));
  if constexpr (kType == Type::i32) put(to_integer<int32_t>(value));
}

// f.operator()<kType>() for a type that is known at run time.
template <class F>
decltype(auto) with_type(Type type, F&& f) {
  switch (type) {
    case Type::f16:
      return f.template operator()<Type::f16>();
    case Type::bf16:
      return f.template operator()<Type::bf16>();
    case Type::f32:
      return f.template operator()<Type::f32>();
    case Type::f64:
      return f.template operator()<Type::f64>();
    case Type::e4m3:
      return f.template operator()<Type::e4m3>();
    case Type::e5m2:
      return f.template operator()<Type::e5m2>();
    case Type::i8:
      return f.template operator()<Type::i8>();
    case Type::u8:
      return f.template operator()<Type::u8>();
    default:
      return f.template operator()<Type::i32>();
  }
}

template <class Compute>
using Decode = Compute (*)(const uint8_t*);
template <class Compute>
using Encode = void (*)(Compute, uint8_t*);

template <class Compute>
Decode<Compute> decoder(Type type) {
  return with_type(type, []<Type kType>() -> Decode<Compute> { return &decode<Compute, kType>; });
}
template <class Compute>
Encode<Compute> encoder(Type type) {
  return with_type(type, []<Type kType>() -> Encode<Compute> { return &encode<Compute, kType>; });
}

// What the MMA takes an operand for.
template <class T>
T rounded(T x, Rounding rounding) {
  if constexpr (std::is_same_v<T, float>) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    const bool is_finite = (bits & 0x7f800000) != 0x7f800000;
    if (rounding == Rounding::tf32_rna && is_finite) bits += 0x1000;
    if (rounding != Rounding::none && (is_finite || (bits & 0x7fffff) == 0)) bits &= ~0x1fffu;
    return std::bit_cast<float>(bits);
  }
  return x;
}

}  // namespace tilewright::host
