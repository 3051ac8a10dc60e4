// Element types and the conversions between them: round to nearest even, fp8 and integers saturate, NaN stays NaN (0
// where the result is an integer).
//
// Each conversion is one PTX cvt. What an architecture lacks (bf16 before sm_80, fp8 before sm_89) is done on the bits,
// with the same results.
#pragma once

namespace tilewright {

struct Half {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};
struct Float8E4M3 {
  unsigned char bits;
};
struct Float8E5M2 {
  unsigned char bits;
};
// A float of which a tensor core reads the first 19 bits: 8 of the exponent, 10 of the mantissa.
struct TFloat32 {
  float value;
};

#ifdef __CUDA_ARCH__
constexpr int kArch = __CUDA_ARCH__;
#else
constexpr int kArch = 0;  // a host compiler, which has no cvt
#endif

template <class A, class B>
constexpr bool kIsSame = false;
template <class A>
constexpr bool kIsSame<A, A> = true;

template <class T>
constexpr bool kIsInteger = kIsSame<T, signed char> || kIsSame<T, unsigned char> || kIsSame<T, int>;

// ---- to float, exactly but for int ----

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(double x) { return static_cast<float>(x); }
__device__ inline float to_float(int x) { return static_cast<float>(x); }
__device__ inline float to_float(signed char x) { return static_cast<float>(x); }
__device__ inline float to_float(unsigned char x) { return static_cast<float>(x); }
__device__ inline float to_float(TFloat32 x) { return x.value; }

// Put together of halves: of a register that holds two numbers, either one takes one instruction.
__device__ inline float to_float(BFloat16 x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("mov.b32 %0, {0, %1};" : "=f"(result) : "h"(x.bits));
  return result;
#else
  return __builtin_bit_cast(float, static_cast<unsigned>(x.bits) << 16);
#endif
}

__device__ inline float to_float(Half x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}

// The upper half of an fp16 number.
__device__ inline float to_float(Float8E5M2 x) { return to_float(Half{static_cast<unsigned short>(x.bits << 8)}); }

// Without an instruction: as an fp16 number, whose exponent counts from 15 instead of 7, it is 2^8 times smaller.
template <bool kHasInstruction = kArch >= 890>
__device__ float to_float(Float8E4M3 x) {
  const unsigned magnitude = x.bits & 0x7f;
  float result;
  if constexpr (kHasInstruction) {
    unsigned both;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"(static_cast<unsigned short>(x.bits)));
    result = to_float(Half{static_cast<unsigned short>(both)});
  } else {
    const unsigned sign = (x.bits & 0x80) << 8;
    result = to_float(Half{static_cast<unsigned short>(sign | magnitude << 7)}) * 256;
  }
  return magnitude == 0x7f ? __builtin_bit_cast(float, 0x7fffffff) : result;
}

// ---- from float ----

template <class To>
struct Narrow;

template <>
struct Narrow<Half> {
  __device__ static Half one(float x) {
    Half result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    return result;
  }
  __device__ static unsigned pair(float lo, float hi) {
    if constexpr (kArch >= 800) {
      unsigned result;
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(hi), "f"(lo));
      return result;
    } else {
      return one(lo).bits | static_cast<unsigned>(one(hi).bits) << 16;
    }
  }
};

template <>
struct Narrow<BFloat16> {
  template <bool kHasInstruction = kArch >= 800>
  __device__ static BFloat16 one(float x) {
    BFloat16 result;
    if constexpr (kHasInstruction) {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
    } else {
      const unsigned bits = __builtin_bit_cast(unsigned, x);
      const unsigned rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      result.bits = static_cast<unsigned short>(x != x ? 0x7fff : rounded);
    }
    return result;
  }
  template <bool kHasInstruction = kArch >= 800>
  __device__ static unsigned pair(float lo, float hi) {
    if constexpr (kHasInstruction) {
      unsigned result;
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(hi), "f"(lo));
      return result;
    } else {
      return one(lo).bits | static_cast<unsigned>(one(hi).bits) << 16;
    }
  }
};

// fp8 of kMantissa explicit bits, whose exponent counts from kBias; kMost is the largest finite number.
template <int kMantissa, int kBias, unsigned kMost>
__device__ unsigned to_fp8(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x), sign = bits >> 24 & 0x80;
  unsigned magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7f;  // NaN
  unsigned result;
  if (magnitude < (128u - kBias) << 23) {  // subnormal: adding a power of two lets the sum's last bits round
    constexpr unsigned kUnit = (127u + 24 - kBias - kMantissa) << 23;
    const float sum = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kUnit);
    result = __builtin_bit_cast(unsigned, sum) - kUnit;
  } else {
    constexpr int kDropped = 23 - kMantissa;
    magnitude += (1u << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
    result = (magnitude - ((127u - kBias) << 23)) >> kDropped;
  }
  return sign | (result < kMost ? result : kMost);
}

template <>
struct Narrow<Float8E4M3> {
  template <bool kHasInstruction = kArch >= 890>
  __device__ static unsigned pair(float lo, float hi) {
    if constexpr (kHasInstruction) {
      unsigned short result;
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(result) : "f"(hi), "f"(lo));
      return result;
    } else {
      return to_fp8<3, 7, 0x7e>(lo) | to_fp8<3, 7, 0x7e>(hi) << 8;
    }
  }
  __device__ static Float8E4M3 one(float x) { return {static_cast<unsigned char>(pair(x, 0))}; }
};

template <>
struct Narrow<Float8E5M2> {
  template <bool kHasInstruction = kArch >= 890>
  __device__ static unsigned pair(float lo, float hi) {
    if constexpr (kHasInstruction) {
      unsigned short result;
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(result) : "f"(hi), "f"(lo));
      return result;
    } else {
      return to_fp8<2, 15, 0x7b>(lo) | to_fp8<2, 15, 0x7b>(hi) << 8;
    }
  }
  __device__ static Float8E5M2 one(float x) { return {static_cast<unsigned char>(pair(x, 0))}; }
};

// A float from which rounding once more gives what rounding the double would: of the two neighbours of an inexact
// number, the odd one.
__device__ inline float to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const unsigned bits = __builtin_bit_cast(unsigned, nearest);
  if (static_cast<double>(nearest) == x || x != x || bits & 1) return nearest;
  const double above = nearest < 0 || x < 0 ? x - nearest : nearest - x;
  return __builtin_bit_cast(float, above > 0 ? bits - 1 : bits + 1);
}

// ---- to integers ----

__device__ inline int to_int(float x) {
  int result;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
}

__device__ inline int to_int(double x) {
  int result;
  asm("cvt.rni.s32.f64 %0, %1;" : "=r"(result) : "d"(x));
  return result;
}

template <class To, class From>
__device__ To convert(From x) {
  constexpr bool kWide = kIsSame<From, double> || kIsSame<From, int>;  // a float does not hold them
  if constexpr (kIsSame<To, From>) {
    return x;
  } else if constexpr (kIsInteger<To>) {
    int whole;
    if constexpr (kIsInteger<From>) {
      whole = x;
    } else if constexpr (kIsSame<From, double>) {
      whole = to_int(x);
    } else {
      whole = to_int(to_float(x));
    }
    if constexpr (kIsSame<To, int>) return whole;
    constexpr int kLeast = kIsSame<To, signed char> ? -128 : 0;
    constexpr int kMost = kLeast + 255;
    return static_cast<To>(whole < kLeast ? kLeast : whole > kMost ? kMost : whole);
  } else if constexpr (kIsSame<To, double>) {
    if constexpr (kIsSame<From, int>) {
      return x;
    } else {
      return to_float(x);
    }
  } else if constexpr (kIsSame<To, float>) {
    return to_float(x);
  } else if constexpr (kWide) {
    return Narrow<To>::one(to_odd(x));
  } else {
    return Narrow<To>::one(to_float(x));
  }
}

// Two numbers next to each other, `lo` in the low bits: 32 bits for 16-bit types, 16 for fp8.
template <class To>
__device__ unsigned convert_pair(float lo, float hi) {
  return Narrow<To>::pair(lo, hi);
}

}  // namespace tilewright
