// Integers of 128 bits, for proofs about products of two 64-bit integers; overflow is an error, too.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

__extension__ using Wide = __int128;

Wide wide_add(Wide a, Wide b);
Wide wide_mul(Wide a, Wide b);
int64_t narrow(Wide value);
std::string to_string(Wide value);

// Of b > 0.
constexpr Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0); }
constexpr Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

}  // namespace tilewright
