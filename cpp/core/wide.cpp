#include "wide.hpp"

#include <algorithm>

#include "error.hpp"

namespace tilewright {

namespace {

[[noreturn]] void too_large() { fail("the proof needs numbers beyond 127 bits; use smaller extents or strides"); }

}  // namespace

Wide wide_add(Wide a, Wide b) {
  Wide sum;
  if (add_overflows(a, b, sum)) too_large();
  return sum;
}

Wide wide_mul(Wide a, Wide b) {
  Wide product;
  if (mul_overflows(a, b, product)) too_large();
  return product;
}

int64_t narrow(Wide value) {
  if (value != static_cast<int64_t>(value)) {
    fail(concat("the offset ", to_string(value), " does not fit into 64 bits; use smaller extents or strides"));
  }
  return static_cast<int64_t>(value);
}

std::string to_string(Wide value) {
  if (const auto narrowed = static_cast<int64_t>(value); value == narrowed) return std::to_string(narrowed);
  std::string digits;
  const bool negative = value < 0;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace tilewright
