// Integers of 128 bits, for proofs about products of two 64-bit integers; overflow is an error, too.
#pragma once

#include <cstdint>
#include <string>

#include "portable.hpp"

#if !defined(__SIZEOF_INT128__) || defined(_MSC_VER) || defined(TILEWRIGHT_PORTABLE)
#include "int128.hpp"
#else
#define TILEWRIGHT_INT128
#endif

namespace tilewright {

#ifdef TILEWRIGHT_INT128
__extension__ using Wide = __int128;

constexpr bool add_overflows(Wide a, Wide b, Wide& result) { return __builtin_add_overflow(a, b, &result); }
constexpr bool mul_overflows(Wide a, Wide b, Wide& result) { return __builtin_mul_overflow(a, b, &result); }
#else
using Wide = Int128;  // clang with Microsoft's libraries has __int128, but not the functions that divide it
#endif

Wide wide_add(Wide a, Wide b);
Wide wide_mul(Wide a, Wide b);
int64_t narrow(Wide value);
std::string to_string(Wide value);

// Of b > 0.
constexpr Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0); }
constexpr Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

}  // namespace tilewright
