// What compilers spell differently. TILEWRIGHT_PORTABLE takes the spelling that needs nothing of the compiler.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__GNUC__) && !defined(TILEWRIGHT_PORTABLE)
#define TILEWRIGHT_INLINE inline __attribute__((always_inline))
#else
#define TILEWRIGHT_INLINE inline
#endif

namespace tilewright {

// result = a + b and result = a * b; true where that does not fit into 64 bits.
constexpr bool add_overflows(int64_t a, int64_t b, int64_t& result) {
#if defined(__GNUC__) && !defined(TILEWRIGHT_PORTABLE)
  return __builtin_add_overflow(a, b, &result);
#else
  result = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return ((a ^ result) & (b ^ result)) < 0;
#endif
}

constexpr bool mul_overflows(int64_t a, int64_t b, int64_t& result) {
#if defined(__GNUC__) && !defined(TILEWRIGHT_PORTABLE)
  return __builtin_mul_overflow(a, b, &result);
#else
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  result = static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  if (a == 0 || b == 0) return false;
  return (a == -1 && b == kLeast) || (b == -1 && a == kLeast) || (b != -1 && result / b != a);
#endif
}

}  // namespace tilewright
