// Conversions: as C converts; floats saturate to integers, and NaN becomes 0.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/wide.hpp"
#include "handlers.hpp"
#include "lanes.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

using program::Scalar;

namespace {

template <class To>
struct Cast {
  template <class From>
  static TILEWRIGHT_INLINE To of(From x) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      // The bounds are powers of two or the limits themselves, and exact in either type.
      constexpr auto kMost = std::numeric_limits<To>::max(), kLeast = std::numeric_limits<To>::min();
      constexpr From kOver = static_cast<From>(kMost / 2 + 1) * 2;
      if (!(x == x)) return 0;
      if (x >= kOver) return kMost;
      if (x <= static_cast<From>(kLeast)) return kLeast;
      return static_cast<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
};

struct ToBoolean {
  template <class From>
  static TILEWRIGHT_INLINE uint8_t of(From x) {
    return x != 0;
  }
};

// A double from which rounding once more gives what rounding the integer would.
struct ToOdd {
  template <class From>
  static TILEWRIGHT_INLINE double of(From x) {
    const auto nearest = static_cast<double>(x);
    if constexpr (sizeof(From) <= 4) {
      return nearest;
    } else {
      const auto bits = std::bit_cast<uint64_t>(nearest);
      const auto exact = static_cast<Wide>(x), got = static_cast<Wide>(nearest);
      if (got == exact || (bits & 1) != 0) return nearest;
      return std::bit_cast<double>((exact > got) == (x > 0) ? bits + 1 : bits - 1);
    }
  }
};

template <host::SmallFloat kFormat, class Pattern>
struct Widen {
  static TILEWRIGHT_INLINE float of(Pattern x) { return host::widen<kFormat>(x); }
};
template <host::SmallFloat kFormat, class Pattern>
struct Narrow {
  static TILEWRIGHT_INLINE Pattern of(float x) { return static_cast<Pattern>(host::narrow<kFormat>(x)); }
  static TILEWRIGHT_INLINE Pattern of(double x) { return of(host::to_odd(x)); }
};

struct WidenE2M1 {
  static TILEWRIGHT_INLINE float of(uint8_t x) { return widen_e2m1(x); }
};
struct NarrowE2M1 {
  static TILEWRIGHT_INLINE uint8_t of(float x) { return narrow_e2m1(x); }
  static TILEWRIGHT_INLINE uint8_t of(double x) { return of(host::to_odd(x)); }
};
struct WidenE8M0 {
  static TILEWRIGHT_INLINE float of(uint8_t x) { return widen_e8m0(x); }
};
struct NarrowE8M0 {
  static TILEWRIGHT_INLINE uint8_t of(float x) { return narrow_e8m0(static_cast<double>(x)); }
  static TILEWRIGHT_INLINE uint8_t of(double x) { return narrow_e8m0(x); }
};

struct Same {
  static TILEWRIGHT_INLINE float of(float x) { return x; }
};
struct NarrowTF32 {
  static TILEWRIGHT_INLINE float of(float x) { return narrow_tf32(x); }
  static TILEWRIGHT_INLINE float of(double x) { return of(host::to_odd(x)); }
};

template <class F, class T>
Handler each() {
  return &plain_handler<Each1<F, T, T>>;
}
template <class F, class To, class From>
Handler each() {
  return handler_of<Each1<F, To, From>>();
}

template <class To>
Handler cast_to(Kind from) {
  switch (from) {
    case Kind::kI8:
      return each<Cast<To>, To, int8_t>();
    case Kind::kI16:
      return each<Cast<To>, To, int16_t>();
    case Kind::kI32:
      return each<Cast<To>, To, int32_t>();
    case Kind::kI64:
      return each<Cast<To>, To, int64_t>();
    case Kind::kU8:
      return each<Cast<To>, To, uint8_t>();
    case Kind::kU16:
      return each<Cast<To>, To, uint16_t>();
    case Kind::kU32:
      return each<Cast<To>, To, uint32_t>();
    case Kind::kU64:
      return each<Cast<To>, To, uint64_t>();
    case Kind::kF32:
      return each<Cast<To>, To, float>();
    case Kind::kF64:
      return each<Cast<To>, To, double>();
  }
  return nullptr;
}

struct FlipSign8 {
  static TILEWRIGHT_INLINE uint8_t of(uint8_t x) { return x ^ 0x80; }
};
struct FlipSign4 {
  static TILEWRIGHT_INLINE uint8_t of(uint8_t x) { return x ^ 8; }
};
struct FlipSign16 {
  static TILEWRIGHT_INLINE uint16_t of(uint16_t x) { return x ^ 0x8000; }
};
struct ClearSign8 {
  static TILEWRIGHT_INLINE uint8_t of(uint8_t x) { return x & 0x7F; }
};
struct ClearSign4 {
  static TILEWRIGHT_INLINE uint8_t of(uint8_t x) { return x & 7; }
};
struct ClearSign16 {
  static TILEWRIGHT_INLINE uint16_t of(uint16_t x) { return x & 0x7FFF; }
};

template <class F, class Pattern>
Handler narrow_from(bool from_wide) {
  return from_wide ? each<F, Pattern, double>() : each<F, Pattern, float>();
}

}  // namespace

Handler cast_handler(Kind from, Kind to) {
  // Narrower integers of either sign are the low bits, and wider ones depend on the sign of what is widened.
  switch (to) {
    case Kind::kI8:
      return cast_to<int8_t>(from);
    case Kind::kI16:
      return cast_to<int16_t>(from);
    case Kind::kI32:
      return cast_to<int32_t>(from);
    case Kind::kI64:
      return cast_to<int64_t>(from);
    case Kind::kU8:
      return cast_to<uint8_t>(from);
    case Kind::kU16:
      return cast_to<uint16_t>(from);
    case Kind::kU32:
      return cast_to<uint32_t>(from);
    case Kind::kU64:
      return cast_to<uint64_t>(from);
    case Kind::kF32:
      return cast_to<float>(from);
    case Kind::kF64:
      return cast_to<double>(from);
  }
  return nullptr;
}

Handler cast_to_boolean_handler(Kind from) {
  switch (from) {
    case Kind::kI8:
    case Kind::kU8:
      return each<ToBoolean, uint8_t, uint8_t>();
    case Kind::kI16:
    case Kind::kU16:
      return each<ToBoolean, uint8_t, uint16_t>();
    case Kind::kI32:
    case Kind::kU32:
      return each<ToBoolean, uint8_t, uint32_t>();
    case Kind::kI64:
    case Kind::kU64:
      return each<ToBoolean, uint8_t, uint64_t>();
    case Kind::kF32:
      return each<ToBoolean, uint8_t, float>();
    case Kind::kF64:
      return each<ToBoolean, uint8_t, double>();
  }
  return nullptr;
}

Handler cast_to_odd_handler(Kind from) {
  switch (from) {
    case Kind::kI32:
      return each<ToOdd, double, int32_t>();
    case Kind::kU32:
      return each<ToOdd, double, uint32_t>();
    case Kind::kI64:
      return each<ToOdd, double, int64_t>();
    case Kind::kU64:
      return each<ToOdd, double, uint64_t>();
    default:
      return cast_handler(from, Kind::kF64);
  }
}

Handler widen_handler(Scalar from) {
  switch (from) {
    case Scalar::kFloat16:
      return each<Widen<host::kHalf, uint16_t>, float, uint16_t>();
    case Scalar::kBFloat16:
      return each<Widen<host::kBFloat16, uint16_t>, float, uint16_t>();
    case Scalar::kFloat8E4M3FN:
      return each<Widen<host::kE4M3, uint8_t>, float, uint8_t>();
    case Scalar::kFloat8E5M2:
      return each<Widen<host::kE5M2, uint8_t>, float, uint8_t>();
    case Scalar::kFloat4E2M1FN:
      return each<WidenE2M1, float, uint8_t>();
    case Scalar::kFloat8E8M0FNU:
      return each<WidenE8M0, float, uint8_t>();
    case Scalar::kTFloat32:
      return each<Same, float, float>();
    default:
      return nullptr;
  }
}

Handler narrow_handler(Scalar to, bool from_wide) {
  switch (to) {
    case Scalar::kFloat16:
      return narrow_from<Narrow<host::kHalf, uint16_t>, uint16_t>(from_wide);
    case Scalar::kBFloat16:
      return narrow_from<Narrow<host::kBFloat16, uint16_t>, uint16_t>(from_wide);
    case Scalar::kFloat8E4M3FN:
      return narrow_from<Narrow<host::kE4M3, uint8_t>, uint8_t>(from_wide);
    case Scalar::kFloat8E5M2:
      return narrow_from<Narrow<host::kE5M2, uint8_t>, uint8_t>(from_wide);
    case Scalar::kFloat4E2M1FN:
      return narrow_from<NarrowE2M1, uint8_t>(from_wide);
    case Scalar::kFloat8E8M0FNU:
      return narrow_from<NarrowE8M0, uint8_t>(from_wide);
    case Scalar::kTFloat32:
      return narrow_from<NarrowTF32, float>(from_wide);
    default:
      return nullptr;
  }
}

Handler float_bits_handler(program::Opcode code, Scalar scalar) {
  const bool neg = code == program::Opcode::kNeg;
  switch (program::facts(scalar).bits) {
    case 4:
      return neg ? each<FlipSign4, uint8_t>() : each<ClearSign4, uint8_t>();
    case 8:
      return neg ? each<FlipSign8, uint8_t>() : each<ClearSign8, uint8_t>();
    default:
      return neg ? each<FlipSign16, uint16_t>() : each<ClearSign16, uint16_t>();
  }
}

}  // namespace tilewright::execute
