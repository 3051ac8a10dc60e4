// Int128 beside the compiler's own integer of 128 bits: exits with the number of the first operation that differs.
#include "core/int128.hpp"

#include <cstdio>
#include <random>
#include <vector>

#define TILEWRIGHT_PORTABLE
#include "core/portable.hpp"

using Own = __int128;
using tilewright::Int128;

namespace {

Own own(const Int128& x) {
  return static_cast<Own>(static_cast<unsigned __int128>(static_cast<uint64_t>(x >> 64)) << 64 |
                          static_cast<uint64_t>(x));
}
Int128 ours(Own x) { return (Int128(static_cast<int64_t>(x >> 64)) << 64) + Int128(static_cast<uint64_t>(x)); }
Own wrapped(unsigned __int128 x) { return static_cast<Own>(x); }
unsigned __int128 bits(Own x) { return static_cast<unsigned __int128>(x); }

std::vector<Own> numbers() {
  std::vector<Own> found;
  for (int shift = 0; shift < 127; shift += 7) {
    for (int add = -2; add <= 2; ++add) {
      found.push_back((static_cast<Own>(1) << shift) + add);
      found.push_back(-(static_cast<Own>(1) << shift) + add);
    }
  }
  const Own least = wrapped(bits(1) << 127);
  for (const Own x : {least, wrapped(bits(least) - 1), wrapped(bits(least) + 1), Own{INT64_MIN}, Own{INT64_MAX}}) {
    found.push_back(x);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    found.push_back(wrapped(bits(static_cast<Own>(random())) << 64 | random()) >> random() % 128);
  }
  return found;
}

int check(Own x, Own y) {
  const Int128 a = ours(x), b = ours(y);
  if (own(a) != x) return 1;
  if (own(a + b) != wrapped(bits(x) + bits(y))) return 2;
  if (own(a - b) != wrapped(bits(x) - bits(y))) return 3;
  if (own(a * b) != wrapped(bits(x) * bits(y))) return 4;
  if ((a < b) != (x < y) || (a == b) != (x == y) || (a >= b) != (x >= y)) return 5;
  Own sum, product;
  Int128 our_sum, our_product;
  if (add_overflows(a, b, our_sum) != __builtin_add_overflow(x, y, &sum) || own(our_sum) != sum) return 6;
  if (mul_overflows(a, b, our_product) != __builtin_mul_overflow(x, y, &product) || own(our_product) != product) {
    return 7;
  }
  const bool divides = y != 0 && !(y == -1 && x == wrapped(bits(1) << 127));
  if (divides && (own(a / b) != x / y || own(a % b) != x % y)) return 8;
  const int shift = static_cast<int>(bits(y) % 128);
  if (own(a >> shift) != x >> shift || own(a << shift) != wrapped(bits(x) << shift)) return 9;
  const auto low = static_cast<int64_t>(x), high = static_cast<int64_t>(y);
  int64_t narrow = 0, our_narrow = 0;
  if (tilewright::add_overflows(low, high, our_narrow) != __builtin_add_overflow(low, high, &narrow)) return 10;
  if (narrow != our_narrow) return 11;
  if (tilewright::mul_overflows(low, high, our_narrow) != __builtin_mul_overflow(low, high, &narrow)) return 12;
  if (narrow != our_narrow) return 13;
  if (static_cast<double>(a) != static_cast<double>(x)) return 14;
  const double real = static_cast<double>(x) * 0.75;
  if (own(Int128(real)) != static_cast<Own>(real)) return 15;
  if (own(a & b) != (x & y)) return 17;
  if (static_cast<int64_t>(a) != low || static_cast<bool>(a) != (x != 0)) return 16;
  return 0;
}

}  // namespace

int main() {
  std::size_t count = 0;
  for (const Own x : numbers()) {
    for (const Own y : numbers()) {
      ++count;
      if (const int wrong = check(x, y)) return wrong;
    }
  }
  std::printf("%zu pairs\n", count);
}
