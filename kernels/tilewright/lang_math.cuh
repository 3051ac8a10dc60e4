// Functions of floating-point numbers: the hardware's approximations, and Python's // and %.
#pragma once

namespace tilewright {

#define TILEWRIGHT_FAST(name, instruction)                    \
  __device__ inline float fast_##name(float x) {              \
    float result;                                             \
    asm(instruction " %0, %1;" : "=f"(result) : "f"(x));      \
    return result;                                            \
  }
TILEWRIGHT_FAST(exp2, "ex2.approx.ftz.f32")
TILEWRIGHT_FAST(sqrt, "sqrt.approx.ftz.f32")
TILEWRIGHT_FAST(rsqrt, "rsqrt.approx.ftz.f32")
TILEWRIGHT_FAST(rcp, "rcp.approx.ftz.f32")
TILEWRIGHT_FAST(tanh, "tanh.approx.f32")
#undef TILEWRIGHT_FAST

// The remainder has the sign of y, and x is the quotient times y plus the remainder as nearly as can be.
template <class T>
__device__ T floor_mod(T x, T y) {
  const T rest = fmod(x, y);
  if (rest == 0) return copysign(rest, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

template <class T>
__device__ T floor_div(T x, T y) {
  const T rest = fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return copysign(T{0}, x / y);
  const T whole = floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

}  // namespace tilewright
