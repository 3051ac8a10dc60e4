// Loops over the lanes of vectors, compiled for the CPU at hand.
#pragma once

#include "core/portable.hpp"
#include "host/execute/machine.hpp"

// The same bits with and without wider vectors: nothing is contracted, and fma rounds once either way.
#if defined(__x86_64__) && defined(__GNUC__)
#define TILEWRIGHT_WIDE __attribute__((target("avx2,fma")))
#endif

namespace tilewright::execute {

inline bool is_wide() {
#ifdef TILEWRIGHT_WIDE
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return wide;
#else
  return false;
#endif
}

// Body::run, as it is or with wide vectors.
template <class Body>
void plain_handler(Warp& warp, const Instruction& instruction) {
  Body::run(warp, instruction);
}
#ifdef TILEWRIGHT_WIDE
template <class Body>
TILEWRIGHT_WIDE void wide_handler(Warp& warp, const Instruction& instruction) {
  Body::run(warp, instruction);
}
#endif
template <class Body>
Handler handler_of() {
#ifdef TILEWRIGHT_WIDE
  if (is_wide()) return &wide_handler<Body>;
#endif
  return &plain_handler<Body>;
}

// to[i] = F::of(a[i]) and so on, for all lanes of all elements.
template <class F, class To, class A>
struct Each1 {
  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    To* __restrict to = warp.at<To>(i.to);
    const A* __restrict a = warp.at<A>(i.a);
    for (uint32_t e = 0; e < i.count; ++e) {
      for (uint32_t l = 0; l < kLanes; ++l) to[l] = F::of(a[l]);
      to += kLanes;
      a += kLanes;
    }
  }
};

template <class F, class To, class A, class B>
struct Each2 {
  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    To* __restrict to = warp.at<To>(i.to);
    const A* __restrict a = warp.at<A>(i.a);
    const B* __restrict b = warp.at<B>(i.b);
    const uint32_t step_a = i.one_a ? 0 : kLanes, step_b = i.one_b ? 0 : kLanes;
    for (uint32_t e = 0; e < i.count; ++e) {
      for (uint32_t l = 0; l < kLanes; ++l) to[l] = F::of(a[l], b[l]);
      to += kLanes;
      a += step_a;
      b += step_b;
    }
  }
};

template <class F, class To, class A, class B, class C>
struct Each3 {
  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    To* __restrict to = warp.at<To>(i.to);
    const A* __restrict a = warp.at<A>(i.a);
    const B* __restrict b = warp.at<B>(i.b);
    const C* __restrict c = warp.at<C>(i.c);
    const uint32_t step_a = i.one_a ? 0 : kLanes, step_b = i.one_b ? 0 : kLanes, step_c = i.one_c ? 0 : kLanes;
    for (uint32_t e = 0; e < i.count; ++e) {
      for (uint32_t l = 0; l < kLanes; ++l) to[l] = F::of(a[l], b[l], c[l]);
      to += kLanes;
      a += step_a;
      b += step_b;
      c += step_c;
    }
  }
};

}  // namespace tilewright::execute
