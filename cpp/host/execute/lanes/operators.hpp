// What arithmetic does with the numbers of one lane. Integers wrap around.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lanes.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

template <class T>
using Unsigned =
    typename std::conditional_t<std::is_floating_point_v<T>, std::type_identity<T>, std::make_unsigned<T>>::type;

// Wide enough that the CPU's promotion to int wraps nothing.
template <class T>
using Wrapping =
    std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>>;

template <class T>
TILEWRIGHT_INLINE T quotient(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return x / y;
  } else if constexpr (sizeof(T) <= 4) {
    // Exact: the quotient of two numbers of 32 bits is further from the next integer than a double rounds.
    const double by = y == 0 ? 1.0 : static_cast<double>(y);
    const double result = static_cast<double>(x) / by;
    if constexpr (std::is_signed_v<T>) {
      const auto whole = result >= 2147483648.0 ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(result);
      return y == 0 ? T{0} : static_cast<T>(whole);
    } else {
      return y == 0 ? T{0} : static_cast<T>(static_cast<int64_t>(result));
    }
  } else {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(0 - static_cast<Unsigned<T>>(x));
    }
    return x / y;
  }
}

template <class T>
TILEWRIGHT_INLINE T remainder_of(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(x, y);
  } else {
    return static_cast<T>(static_cast<Wrapping<T>>(x) -
                          static_cast<Wrapping<T>>(quotient(x, y)) * static_cast<Wrapping<T>>(y));
  }
}

// Python's divmod of floats.
template <class T>
TILEWRIGHT_INLINE void divmod(T x, T y, T& whole, T& rest) {
  rest = std::fmod(x, y);
  T division = (x - rest) / y;
  if (rest != 0) {
    if ((y < 0) != (rest < 0)) {
      rest += y;
      division -= 1;
    }
  } else {
    rest = std::copysign(T{0}, y);
  }
  if (division != 0) {
    whole = std::floor(division);
    if (division - whole > T(0.5)) whole += 1;
  } else {
    whole = std::copysign(T{0}, x / y);
  }
}

struct Add {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
  }
};
struct Sub {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
  }
};
struct Mul {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
  }
};
struct Div {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return quotient(x, y);
  }
};
struct Rem {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return remainder_of(x, y);
  }
};
struct FloorDiv {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      T whole, rest;
      divmod(x, y, whole, rest);
      return whole;
    } else {
      const T q = quotient(x, y);
      if constexpr (std::is_unsigned_v<T>) return q;
      const T r = remainder_of(x, y);
      return static_cast<T>(q - ((y != 0) & (r != 0) & ((r < 0) != (y < 0))));
    }
  }
};
struct FloorMod {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      T whole, rest;
      divmod(x, y, whole, rest);
      return rest;
    } else {
      const T r = remainder_of(x, y);
      if constexpr (std::is_unsigned_v<T>) return r;
      return static_cast<T>(static_cast<Wrapping<T>>(r) +
                            (((r != 0) & ((r < 0) != (y < 0))) ? static_cast<Wrapping<T>>(y) : Wrapping<T>{0}));
    }
  }
};
struct Pow {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x, y);
    } else {
      if (std::is_signed_v<T> && y < 0) {  // 1 / x^-y, towards zero
        if (x == 1) return 1;
        return static_cast<T>(static_cast<T>(x + 1) == 0 ? ((y & 1) != 0 ? x : T{1}) : T{0});
      }
      auto base = static_cast<Wrapping<T>>(x), result = Wrapping<T>{1};
      for (auto exponent = static_cast<Unsigned<T>>(y); exponent != 0;
           exponent = static_cast<Unsigned<T>>(exponent >> 1)) {
        if ((exponent & 1) != 0) result *= base;
        base *= base;
      }
      return static_cast<T>(result);
    }
  }
};
struct Min {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (x < y) return x;
      if (y < x) return y;
      if (x != x) return y;
      return y != y || std::signbit(x) ? x : y;
    } else {
      return x < y ? x : y;
    }
  }
};
struct Max {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (y < x) return x;
      if (x < y) return y;
      if (x != x) return y;
      return y == y && std::signbit(x) ? y : x;
    } else {
      return x < y ? y : x;
    }
  }
};
struct And {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct Xor {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
// The amount as an unsigned number: a negative one is too many.
struct Shl {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    const auto by = static_cast<Wrapping<T>>(static_cast<Unsigned<T>>(y));
    constexpr Wrapping<T> kWidth = 8 * sizeof(T);
    return by >= kWidth ? T{0} : static_cast<T>(static_cast<Wrapping<T>>(x) << by);
  }
};
struct Shr {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    const auto by = static_cast<Wrapping<T>>(static_cast<Unsigned<T>>(y));
    constexpr Wrapping<T> kWidth = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) return static_cast<T>(x >> (by >= kWidth ? kWidth - 1 : by));
    return by >= kWidth ? T{0} : static_cast<T>(x >> by);
  }
};

struct Eq {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x == y;
  }
};
struct Ne {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x != y;
  }
};
struct Lt {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x < y;
  }
};
struct Le {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x <= y;
  }
};
struct Gt {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x > y;
  }
};
struct Ge {
  template <class T>
  static TILEWRIGHT_INLINE uint8_t of(T x, T y) {
    return x >= y;
  }
};

struct Neg {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x) {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return static_cast<T>(0 - static_cast<Wrapping<T>>(x));
  }
};
struct Not {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x) {
    return static_cast<T>(~x);
  }
};
struct Abs {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    if constexpr (std::is_unsigned_v<T>) return x;
    return static_cast<T>(x < 0 ? 0 - static_cast<Wrapping<T>>(x) : static_cast<Wrapping<T>>(x));
  }
};
struct Popc {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x) {
    return static_cast<T>(std::popcount(static_cast<Unsigned<T>>(x)));
  }
};

#define TILEWRIGHT_FLOAT_FUNCTION(Name, expression) \
  struct Name {                                     \
    template <class T>                              \
    static TILEWRIGHT_INLINE T of(T x) {            \
      return static_cast<T>(expression);            \
    }                                               \
  };
TILEWRIGHT_FLOAT_FUNCTION(Exp, std::exp(x))
TILEWRIGHT_FLOAT_FUNCTION(Exp2, std::exp2(x))
TILEWRIGHT_FLOAT_FUNCTION(Log, std::log(x))
TILEWRIGHT_FLOAT_FUNCTION(Log2, std::log2(x))
TILEWRIGHT_FLOAT_FUNCTION(Log10, std::log10(x))
TILEWRIGHT_FLOAT_FUNCTION(Sqrt, std::sqrt(x))
TILEWRIGHT_FLOAT_FUNCTION(Rsqrt, 1.0 / std::sqrt(static_cast<double>(x)))
TILEWRIGHT_FLOAT_FUNCTION(Rcp, T{1} / x)
TILEWRIGHT_FLOAT_FUNCTION(Sin, std::sin(x))
TILEWRIGHT_FLOAT_FUNCTION(Cos, std::cos(x))
TILEWRIGHT_FLOAT_FUNCTION(Tan, std::tan(x))
TILEWRIGHT_FLOAT_FUNCTION(Asin, std::asin(x))
TILEWRIGHT_FLOAT_FUNCTION(Acos, std::acos(x))
TILEWRIGHT_FLOAT_FUNCTION(Atan, std::atan(x))
TILEWRIGHT_FLOAT_FUNCTION(Tanh, std::tanh(x))
TILEWRIGHT_FLOAT_FUNCTION(Erf, std::erf(x))
TILEWRIGHT_FLOAT_FUNCTION(Floor, std::floor(x))
TILEWRIGHT_FLOAT_FUNCTION(Ceil, std::ceil(x))
#undef TILEWRIGHT_FLOAT_FUNCTION

struct Atan2 {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x, T y) {
    return std::atan2(x, y);
  }
};

struct Fma {
  static TILEWRIGHT_INLINE float of(float x, float y, float z) { return std::fma(x, y, z); }
  static TILEWRIGHT_INLINE double of(double x, double y, double z) { return std::fma(x, y, z); }
};

struct FmaToOdd {
  static TILEWRIGHT_INLINE double of(double x, double y, double z) { return fma_to_odd(x, y, z); }
};

template <class T>
struct Select {
  static TILEWRIGHT_INLINE T of(uint8_t c, T x, T y) { return c != 0 ? x : y; }
};

struct WrapBoolean {
  static TILEWRIGHT_INLINE uint8_t of(uint8_t x) { return x & 1; }
};
struct WrapInt4 {
  static TILEWRIGHT_INLINE int8_t of(int8_t x) {
    return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(x) << 4) >> 4);
  }
};

struct ClampShift {
  template <class T>
  static TILEWRIGHT_INLINE T of(T x) {
    const auto by = static_cast<Unsigned<T>>(x);
    return static_cast<T>(by > 64 ? 64 : by);
  }
};

}  // namespace tilewright::execute
