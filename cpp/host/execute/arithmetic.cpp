// Arithmetic of integers, which wrap around, and of f32 and f64.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "handlers.hpp"
#include "lanes.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

using program::Opcode;

namespace {

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
  static TILEWRIGHT_INLINE float of(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  static TILEWRIGHT_INLINE double of(double x, double y, double z) { return __builtin_fma(x, y, z); }
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

// Finds divisors that are zero, and divides.
template <class T>
struct DivisionCheck {
  static void run(Warp& warp, const Instruction& i) {
    const T* b = warp.at<T>(i.b);
    for (uint32_t e = 0; e < (i.one_b ? 1 : i.count); ++e) {
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((warp.mask >> l & 1) != 0 && b[e * kLanes + l] == 0) {
          warp.cta->report(warp, i, FindingKind::kDivision, static_cast<int>(l), "an integer is divided by zero");
        }
      }
    }
    i.run(warp, i);
  }
};

template <template <class> class F>
Handler of_kind(Kind kind) {
  switch (kind) {
    case Kind::kI8:
      return F<int8_t>::get();
    case Kind::kI16:
      return F<int16_t>::get();
    case Kind::kI32:
      return F<int32_t>::get();
    case Kind::kI64:
      return F<int64_t>::get();
    case Kind::kU8:
      return F<uint8_t>::get();
    case Kind::kU16:
      return F<uint16_t>::get();
    case Kind::kU32:
      return F<uint32_t>::get();
    case Kind::kU64:
      return F<uint64_t>::get();
    case Kind::kF32:
      return F<float>::get();
    case Kind::kF64:
      return F<double>::get();
  }
  return nullptr;
}

enum class Domain { kAll, kIntegers, kFloats };
template <class T>
constexpr bool kIn(Domain domain) {
  return domain == Domain::kAll || std::is_floating_point_v<T> == (domain == Domain::kFloats);
}

// The handler of F for each type; `kNarrow`: what calls a library gains nothing by wide vectors.
template <class F, Domain kDomain, bool kLibrary = false>
struct Table {
  template <class T>
  struct Unary {
    static Handler get() {
      if constexpr (!kIn<T>(kDomain)) {
        return nullptr;
      } else if constexpr (kLibrary) {
        return &plain_handler<Each1<F, T, T>>;
      } else {
        return handler_of<Each1<F, T, T>>();
      }
    }
  };
  template <class T>
  struct Binary {
    static Handler get() {
      if constexpr (!kIn<T>(kDomain)) {
        return nullptr;
      } else if constexpr (kLibrary) {
        return &plain_handler<Each2<F, T, T, T>>;
      } else {
        return handler_of<Each2<F, T, T, T>>();
      }
    }
  };
  template <class T>
  struct Compare {
    static Handler get() { return handler_of<Each2<F, uint8_t, T, T>>(); }
  };
};

// Wrapping operations know no sign.
Kind unsigned_kind(Kind kind) {
  return kind <= Kind::kI64 ? static_cast<Kind>(static_cast<int>(kind) + static_cast<int>(Kind::kU8)) : kind;
}

template <class F, Domain kDomain, bool kLibrary = false>
Handler unary(Kind kind) {
  return of_kind<Table<F, kDomain, kLibrary>::template Unary>(kind);
}
template <class F, Domain kDomain, bool kLibrary = false>
Handler binary(Kind kind) {
  return of_kind<Table<F, kDomain, kLibrary>::template Binary>(kind);
}
template <class F>
Handler compare(Kind kind) {
  return of_kind<Table<F, Domain::kAll>::template Compare>(kind);
}

template <class T>
struct GetDivisionCheck {
  static Handler get() {
    if constexpr (std::is_floating_point_v<T>) return nullptr;
    return &plain_handler<DivisionCheck<T>>;
  }
};

}  // namespace

Handler unary_handler(Opcode code, Kind kind) {
  constexpr Domain kFloats = Domain::kFloats;
  switch (code) {
    case Opcode::kNeg:
      return unary<Neg, Domain::kAll>(unsigned_kind(kind));
    case Opcode::kNot:
      return unary<Not, Domain::kIntegers>(unsigned_kind(kind));
    case Opcode::kAbs:
      return unary<Abs, Domain::kAll>(kind);
    case Opcode::kPopc:
      return unary<Popc, Domain::kIntegers, true>(unsigned_kind(kind));
    case Opcode::kExp:
      return unary<Exp, kFloats, true>(kind);
    case Opcode::kExp2:
      return unary<Exp2, kFloats, true>(kind);
    case Opcode::kLog:
      return unary<Log, kFloats, true>(kind);
    case Opcode::kLog2:
      return unary<Log2, kFloats, true>(kind);
    case Opcode::kLog10:
      return unary<Log10, kFloats, true>(kind);
    case Opcode::kSqrt:
      return unary<Sqrt, kFloats>(kind);
    case Opcode::kRsqrt:
      return unary<Rsqrt, kFloats>(kind);
    case Opcode::kRcp:
      return unary<Rcp, kFloats>(kind);
    case Opcode::kSin:
      return unary<Sin, kFloats, true>(kind);
    case Opcode::kCos:
      return unary<Cos, kFloats, true>(kind);
    case Opcode::kTan:
      return unary<Tan, kFloats, true>(kind);
    case Opcode::kAsin:
      return unary<Asin, kFloats, true>(kind);
    case Opcode::kAcos:
      return unary<Acos, kFloats, true>(kind);
    case Opcode::kAtan:
      return unary<Atan, kFloats, true>(kind);
    case Opcode::kTanh:
      return unary<Tanh, kFloats, true>(kind);
    case Opcode::kErf:
      return unary<Erf, kFloats, true>(kind);
    case Opcode::kFloor:
      return unary<Floor, kFloats, true>(kind);
    case Opcode::kCeil:
      return unary<Ceil, kFloats, true>(kind);
    default:
      return nullptr;
  }
}

Handler binary_handler(Opcode code, Kind kind) {
  switch (code) {
    case Opcode::kAdd:
      return binary<Add, Domain::kAll>(unsigned_kind(kind));
    case Opcode::kSub:
      return binary<Sub, Domain::kAll>(unsigned_kind(kind));
    case Opcode::kMul:
      return binary<Mul, Domain::kAll>(unsigned_kind(kind));
    case Opcode::kDiv:
      return binary<Div, Domain::kAll>(kind);
    case Opcode::kRem:
      return binary<Rem, Domain::kAll>(kind);
    case Opcode::kFloorDiv:
      return binary<FloorDiv, Domain::kAll>(kind);
    case Opcode::kFloorMod:
      return binary<FloorMod, Domain::kAll>(kind);
    case Opcode::kPow:
      return binary<Pow, Domain::kAll, true>(kind);
    case Opcode::kMin:
      return binary<Min, Domain::kAll>(kind);
    case Opcode::kMax:
      return binary<Max, Domain::kAll>(kind);
    case Opcode::kAnd:
      return binary<And, Domain::kIntegers>(unsigned_kind(kind));
    case Opcode::kOr:
      return binary<Or, Domain::kIntegers>(unsigned_kind(kind));
    case Opcode::kXor:
      return binary<Xor, Domain::kIntegers>(unsigned_kind(kind));
    case Opcode::kShl:
      return binary<Shl, Domain::kIntegers>(unsigned_kind(kind));
    case Opcode::kShr:
      return binary<Shr, Domain::kIntegers>(kind);
    case Opcode::kAtan2:
      return binary<Atan2, Domain::kFloats, true>(kind);
    default:
      return nullptr;
  }
}

Handler compare_handler(Opcode code, Kind kind) {
  switch (code) {
    case Opcode::kEq:
      return compare<Eq>(unsigned_kind(kind));
    case Opcode::kNe:
      return compare<Ne>(unsigned_kind(kind));
    case Opcode::kLt:
      return compare<Lt>(kind);
    case Opcode::kLe:
      return compare<Le>(kind);
    case Opcode::kGt:
      return compare<Gt>(kind);
    default:
      return compare<Ge>(kind);
  }
}

Handler fma_handler(Kind kind) {
  if (kind == Kind::kF32) return handler_of<Each3<Fma, float, float, float, float>>();
  return handler_of<Each3<Fma, double, double, double, double>>();
}

Handler fma_rounded_to_odd_handler() { return handler_of<Each3<FmaToOdd, double, double, double, double>>(); }

Handler select_handler(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return handler_of<Each3<Select<uint8_t>, uint8_t, uint8_t, uint8_t, uint8_t>>();
    case 2:
      return handler_of<Each3<Select<uint16_t>, uint16_t, uint8_t, uint16_t, uint16_t>>();
    case 4:
      return handler_of<Each3<Select<uint32_t>, uint32_t, uint8_t, uint32_t, uint32_t>>();
    default:
      return handler_of<Each3<Select<uint64_t>, uint64_t, uint8_t, uint64_t, uint64_t>>();
  }
}

Handler wrap_handler(program::Scalar scalar) {
  if (scalar == program::Scalar::kBoolean) return &plain_handler<Each1<WrapBoolean, uint8_t, uint8_t>>;
  return &plain_handler<Each1<WrapInt4, int8_t, int8_t>>;
}

Handler clamp_shift_handler(Kind kind) { return unary<ClampShift, Domain::kIntegers, true>(unsigned_kind(kind)); }

Handler division_check_handler(Kind kind) { return of_kind<GetDivisionCheck>(unsigned_kind(kind)); }

}  // namespace tilewright::execute
