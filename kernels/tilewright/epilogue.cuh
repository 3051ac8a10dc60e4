// What happens to an accumulator before it is written: D = activation(alpha * acc + beta * C + bias).
//
// What a problem does not have costs nothing: it is not in the type's code. The values of alpha and beta come at run
// time.
#pragma once

#include "tilewright/layout.cuh"
#include "tilewright/numeric.cuh"

namespace tilewright {

// x / (1 + exp(-y)); with y = x it is silu. Far below zero exp overflows, and the quotient is zero.
__device__ inline float times_sigmoid(float x, float y) { return __fdividef(x, 1 + expf(-y)); }
__device__ inline double times_sigmoid(double x, double y) { return x / (1 + exp(-y)); }

__device__ inline float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678118654752f)); }
__device__ inline double gelu(double x) { return 0.5 * x * (1 + erf(x * 0.70710678118654752)); }

// (1 + tanh(y)) / 2 is the sigmoid of 2 y.
template <class T>
__device__ T gelu_tanh(T x) {
  constexpr T kScale = static_cast<T>(1.5957691216057308);  // 2 sqrt(2 / pi)
  return times_sigmoid(x, kScale * (x + static_cast<T>(0.044715) * x * x * x));
}

// x / (1 + 2^z) of two at once, to some 20 bits: three steps of the slow special functions instead of four. It is 0
// where z is over 60, so that the product of both denominators is a float.
template <class T>
__device__ void divide_by_powers(T (&x)[2], const T (&z)[2]) {
  T d[2], inverse;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d[i]) : "f"(fminf(z[i], 60)));
    d[i] += 1;
    x[i] = z[i] > 60 ? 0 : x[i];  // NaN stays
  }
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(d[0] * d[1]));
  x[0] *= inverse * d[1];
  x[1] *= inverse * d[0];
}

// kBiasMode: the mode along which the bias runs, 0 for M, 1 for N, -1 where there is none. kActivation: 0 none, 1 relu,
// 2 gelu, 3 gelu_tanh, 4 silu. kScales: alpha is not 1. kReads: beta is not 0.
template <class ComputeType, class OutType, class Bias, int kBiasMode, int kActivation, bool kScales, bool kReads_>
struct Epilogue {
  using Compute = ComputeType;
  using Out = OutType;
  static constexpr bool kPlain = !kReads_ && kBiasMode < 0 && kActivation == 0 && !kScales;  // nothing but a cast
  static constexpr bool kReads = kReads_;
  static constexpr bool kHasBias = kBiasMode >= 0;
  static constexpr int kBiasAlong = kBiasMode;

  struct Params {
    Compute alpha, beta;
    const Bias* bias;
    int64 bias_stride;
  };

  __device__ static Compute bias_at(const Params& params, int64 m, int64 n) {
    if constexpr (!kHasBias) {
      return 0;
    } else {
      return convert<Compute>(params.bias[(kBiasMode == 0 ? m : n) * params.bias_stride]);
    }
  }

  template <class Acc>
  __device__ static Compute combined(const Params& params, Acc acc, Compute c, Compute bias) {
    Compute x = convert<Compute>(acc);
    if constexpr (kScales) x *= params.alpha;
    if constexpr (kReads) x += params.beta * c;
    if constexpr (kHasBias) x += bias;
    return x;
  }

  // Not yet converted to the type that is written.
  template <class Acc>
  __device__ static Compute apply(const Params& params, Acc acc, Compute c, Compute bias) {
    const Compute x = combined(params, acc, c, bias);
    if constexpr (kActivation == 1) {
      return x < 0 ? 0 : x;  // NaN stays
    } else if constexpr (kActivation == 2) {
      return gelu(x);
    } else if constexpr (kActivation == 3) {
      return gelu_tanh(x);
    } else if constexpr (kActivation == 4) {
      return times_sigmoid(x, x);
    } else {
      return x;
    }
  }

  // The same of two next to each other.
  template <class Acc>
  __device__ static void apply_pair(const Params& params, const Acc (&acc)[2], const Compute (&c)[2],
                                    const Compute (&bias)[2], Compute (&result)[2]) {
    if constexpr ((kActivation == 3 || kActivation == 4) && sizeof(Out) <= 2) {
      constexpr Compute kLog2e = static_cast<Compute>(1.4426950408889634);
      constexpr Compute kScale = kActivation == 3 ? kLog2e * static_cast<Compute>(1.5957691216057308) : kLog2e;
      Compute z[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Compute x = combined(params, acc[i], c[i], bias[i]);
        const Compute cubic = kActivation == 3 ? kScale * static_cast<Compute>(-0.044715) * (x * x) : 0;
        z[i] = x * (cubic - kScale);
        result[i] = x;
      }
      divide_by_powers(result, z);
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) result[i] = apply(params, acc[i], c[i], bias[i]);
    }
  }
};

}  // namespace tilewright
