// What is done with a sum before it is stored: activation(alpha * sum + beta * C + bias), as epilogue.cuh does it.
#pragma once

#include <cmath>
#include <type_traits>

#include "gemm_problem.hpp"

namespace tilewright::host {

template <class T>
T gelu(T x) {
  return static_cast<T>(0.5) * x * (1 + std::erf(x * static_cast<T>(0.70710678118654752)));
}
template <class T>
T times_sigmoid(T x, T y) {
  return x / (1 + std::exp(-y));
}
template <class T>
T gelu_tanh(T x) {
  const T scale = static_cast<T>(1.5957691216057308);  // 2 sqrt(2 / pi): (1 + tanh(y)) / 2 is the sigmoid of 2 y
  return times_sigmoid(x, scale * (x + static_cast<T>(0.044715) * x * x * x));
}

// The epilogue of a matrix of a batch. Integers wrap around.
template <class Sum, class Compute>
class Finish {
 public:
  Finish(const GemmProblem& problem, int64_t batch)
      : e_(problem.epilogue),
        alpha_(static_cast<Compute>(e_.alpha)),
        beta_(static_cast<Compute>(e_.beta)),
        c_(reinterpret_cast<uint8_t*>(problem.c.address)),
        bytes_(bytes_of(problem.c.type)),
        start_(problem.batch_offset(problem.c, batch)),
        strides_(problem.c.strides),
        read_(decoder<Compute>(problem.c.type)),
        write_(encoder<Compute>(problem.c.type)),
        bias_(decoder<Compute>(e_.bias_type)) {}

  // D(m, n) from its sum.
  void operator()(Sum sum, int64_t m, int64_t n) const {
    uint8_t* const at = c_ + (start_ + m * strides_[0] + n * strides_[1]) * bytes_;
    Compute x = static_cast<Compute>(sum);
    if (e_.alpha != 1) x = times(x, alpha_);
    if (e_.beta != 0) x = plus(x, times(beta_, read_(at)));
    if (e_.bias_mode >= 0) {
      const auto* const bias = reinterpret_cast<const uint8_t*>(e_.bias_address);
      x = plus(x, bias_(bias + (e_.bias_mode == 0 ? m : n) * e_.bias_stride * bytes_of(e_.bias_type)));
    }
    write_(activated(x), at);
  }

 private:
  static Compute times(Compute x, Compute y) {
    if constexpr (!std::is_integral_v<Compute>) return x * y;
    return static_cast<Compute>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  }
  static Compute plus(Compute x, Compute y) {
    if constexpr (!std::is_integral_v<Compute>) return x + y;
    return static_cast<Compute>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }

  Compute activated(Compute x) const {
    if (e_.activation == Activation::relu) return x < 0 ? 0 : x;
    if constexpr (!std::is_integral_v<Compute>) {
      if (e_.activation == Activation::gelu) return gelu(x);
      if (e_.activation == Activation::gelu_tanh) return gelu_tanh(x);
      if (e_.activation == Activation::silu) return times_sigmoid(x, x);
    }
    return x;
  }

  const GemmEpilogue& e_;
  Compute alpha_, beta_;
  uint8_t* c_;
  int64_t bytes_;
  int64_t start_;
  std::array<int64_t, 2> strides_;
  Decode<Compute> read_;
  Encode<Compute> write_;
  Decode<Compute> bias_;
};

}  // namespace tilewright::host
