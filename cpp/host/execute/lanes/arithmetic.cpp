// Arithmetic of integers, which wrap around, and of f32 and f64.
#include <bit>
#include <type_traits>

#include "handlers.hpp"
#include "operators.hpp"
#include "program/fold.hpp"

namespace tilewright::execute {

using program::Opcode;

namespace {

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

// Finds what does not fit, and computes what is left of it.
template <class T, Opcode kCode>
void check_fit(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  Mask beyond = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    T result;
    const bool is_beyond = kCode == Opcode::kMul   ? __builtin_mul_overflow(a[l], b[l], &result)
                           : kCode == Opcode::kSub ? __builtin_sub_overflow(a[l], b[l], &result)
                                                   : __builtin_add_overflow(a[l], b[l], &result);
    beyond |= Mask{is_beyond} << l;
  }
  for (beyond &= warp.mask; beyond != 0; beyond &= beyond - 1) {
    const int lane = std::countr_zero(beyond);
    warp.cta->report(warp, i, FindingKind::kOverflow, lane, [&] {
      return program::does_not_fit(kCode, sizeof(T) == 4 ? program::Scalar::kInt32 : program::Scalar::kInt64, a[lane],
                                   b[lane]);
    });
  }
  i.run(warp, i);
}

template <Opcode kCode>
Handler fit_check(Kind kind) {
  return kind == Kind::kI32 ? &check_fit<int32_t, kCode> : kind == Kind::kI64 ? &check_fit<int64_t, kCode> : nullptr;
}

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

Handler fit_check_handler(Opcode code, Kind kind) {
  return code == Opcode::kMul   ? fit_check<Opcode::kMul>(kind)
         : code == Opcode::kSub ? fit_check<Opcode::kSub>(kind)
                                : fit_check<Opcode::kAdd>(kind);
}

Handler division_check_handler(Kind kind) { return of_kind<GetDivisionCheck>(unsigned_kind(kind)); }

}  // namespace tilewright::execute
