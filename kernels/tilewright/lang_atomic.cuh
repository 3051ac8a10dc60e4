// Atomics for which there is no function of CUDA: by comparing and swapping the word that holds the element.
#pragma once

#include "tilewright/lang_narrow.cuh"

namespace tilewright {

template <int kBytes>
struct AtomicWord;
template <>
struct AtomicWord<2> {
  using type = uint16;
};
template <>
struct AtomicWord<4> {
  using type = uint32;
};
template <>
struct AtomicWord<8> {
  using type = uint64;
};

// *pointer = change(*pointer); the old value.
template <class T, class Change>
__device__ T atomic_change(T* pointer, const Change& change) {
  using Word = typename AtomicWord<sizeof(T)>::type;
  auto* word = reinterpret_cast<Word*>(pointer);
  Word old = *reinterpret_cast<volatile Word*>(word), seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, __builtin_bit_cast(Word, change(__builtin_bit_cast(T, seen))));
  } while (old != seen);
  return __builtin_bit_cast(T, old);
}

template <class T>
constexpr bool kIsNarrow = kIsSame<T, Half> || kIsSame<T, BFloat16> || kIsSame<T, TFloat32>;

// combine(x, y) in the type's own arithmetic: narrow floats are taken to float and rounded.
template <class T, class Combine>
__device__ T atomic_combine(T* pointer, T x, const Combine& combine) {
  return atomic_change(pointer, [&](T old) -> T {
    if constexpr (kIsNarrow<T>) {
      return convert<T>(combine(to_float(old), to_float(x)));
    } else {
      return static_cast<T>(combine(old, x));
    }
  });
}

// The pointer alone says what T is, as the literals of narrow integers are ints.
template <class T>
__device__ T atomic_add(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return a + b; });
}
// Of a number and NaN it is the number.
template <class T>
__device__ T atomic_min(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return b < a || a != a ? b : a; });
}
template <class T>
__device__ T atomic_max(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return b > a || a != a ? b : a; });
}
template <class T>
__device__ T atomic_and(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return a & b; });
}
template <class T>
__device__ T atomic_or(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return a | b; });
}
template <class T>
__device__ T atomic_xor(T* pointer, decltype(T()) x) {
  return atomic_combine(pointer, x, [](auto a, auto b) { return a ^ b; });
}
template <class T>
__device__ T atomic_exch(T* pointer, decltype(T()) x) {
  return atomic_change(pointer, [&](T) { return x; });
}
template <class T>
__device__ T atomic_cas(T* pointer, decltype(T()) expected, decltype(T()) x) {
  using Word = typename AtomicWord<sizeof(T)>::type;
  return __builtin_bit_cast(
      T, atomicCAS(reinterpret_cast<Word*>(pointer), __builtin_bit_cast(Word, expected), __builtin_bit_cast(Word, x)));
}

}  // namespace tilewright
