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

// kBiasMode: the mode along which the bias runs, 0 for M, 1 for N, -1 where there is none. kActivation: 0 none, 1 relu,
// 2 gelu, 3 gelu_tanh, 4 silu. kScales: alpha is not 1. kReads: beta is not 0.
template <class ComputeType, class OutType, class Bias, int kBiasMode, int kActivation, bool kScales, bool kReads_>
struct Epilogue {
  using Compute = ComputeType;
  using Out = OutType;
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

  // Not yet converted to the type that is written.
  template <class Acc>
  __device__ static Compute apply(const Params& params, Acc acc, Compute c, Compute bias) {
    Compute x = convert<Compute>(acc);
    if constexpr (kScales) x *= params.alpha;
    if constexpr (kReads) x += params.beta * c;
    if constexpr (kHasBias) x += bias;
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
};

}  // namespace tilewright
