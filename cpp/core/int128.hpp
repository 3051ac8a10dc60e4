// A signed integer of 128 bits for compilers without one, such as Microsoft's. It wraps around, as unsigned integers
// do.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tilewright {

class Int128 {
 public:
  constexpr Int128() = default;
  template <std::integral T>
  constexpr Int128(T value)  // NOLINT: implicit, as between integers
      : low_(static_cast<uint64_t>(value)), high_(std::is_signed_v<T> && value < T{0} ? ~uint64_t{0} : 0) {}
  // Rounds towards zero; of magnitudes below 2^127.
  constexpr explicit Int128(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;
    const Int128 mantissa = (bits & 0xfffffffffffff) | uint64_t{1} << 52;
    if (exponent < -52) return;
    *this = exponent < 0 ? mantissa >> -exponent : mantissa << exponent;
    if (value < 0) *this = -*this;
  }

  template <std::integral T>
  constexpr explicit operator T() const {
    return static_cast<T>(low_);
  }
  constexpr explicit operator bool() const { return (low_ | high_) != 0; }
  // To nearest, of two equally near ones to even, as compilers convert.
  constexpr explicit operator double() const {
    const bool negative = *this < 0;
    Int128 magnitude = negative ? -*this : *this;
    int shift = 0;
    for (; magnitude.high_ != 0; ++shift) {  // what is shifted out leaves a trace below the 53 bits that count
      const uint64_t lost = magnitude.low_ & 1;
      magnitude = magnitude.shifted_right_unsigned(1);
      magnitude.low_ |= lost;
    }
    auto result = static_cast<double>(magnitude.low_);
    for (; shift > 0; --shift) result *= 2;
    return negative ? -result : result;
  }

  friend constexpr bool operator==(const Int128&, const Int128&) = default;
  friend constexpr std::strong_ordering operator<=>(const Int128& a, const Int128& b) {
    if (a.high_ != b.high_) return static_cast<int64_t>(a.high_) <=> static_cast<int64_t>(b.high_);
    return a.low_ <=> b.low_;
  }

  constexpr Int128 operator+() const { return *this; }
  constexpr Int128 operator-() const { return Int128(~high_, ~low_) + 1; }
  friend constexpr Int128 operator+(const Int128& a, const Int128& b) {
    const uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_ ? 1 : 0), low};
  }
  friend constexpr Int128 operator-(const Int128& a, const Int128& b) { return a + -b; }
  friend constexpr Int128 operator*(const Int128& a, const Int128& b) {
    constexpr uint64_t kHalf = 0xffffffff;
    const uint64_t a0 = a.low_ & kHalf, a1 = a.low_ >> 32, b0 = b.low_ & kHalf, b1 = b.low_ >> 32;
    const uint64_t first = a0 * b0, second = a1 * b0 + (first >> 32), third = a0 * b1 + (second & kHalf);
    const uint64_t carried = a1 * b1 + (second >> 32) + (third >> 32);
    return {carried + a.high_ * b.low_ + a.low_ * b.high_, third << 32 | (first & kHalf)};
  }
  // Towards zero.
  friend constexpr Int128 operator/(const Int128& a, const Int128& b) {
    Int128 rest;
    const Int128 quotient = divided(magnitude(a), magnitude(b), rest);
    return (a < 0) == (b < 0) ? quotient : -quotient;
  }
  // With the sign of a.
  friend constexpr Int128 operator%(const Int128& a, const Int128& b) {
    Int128 rest;
    divided(magnitude(a), magnitude(b), rest);
    return a < 0 ? -rest : rest;
  }
  friend constexpr Int128 operator&(const Int128& a, const Int128& b) { return {a.high_ & b.high_, a.low_ & b.low_}; }
  friend constexpr Int128 operator<<(const Int128& a, int bits) {
    if (bits == 0) return a;
    if (bits >= 64) return {a.low_ << (bits - 64), 0};
    return {a.high_ << bits | a.low_ >> (64 - bits), a.low_ << bits};
  }
  friend constexpr Int128 operator>>(const Int128& a, int bits) {
    const Int128 shifted = a.shifted_right_unsigned(bits);
    return a < 0 && bits != 0 ? Int128(shifted.high_ | (Int128(-1) << (128 - bits)).high_,
                                       shifted.low_ | (Int128(-1) << (128 - bits)).low_)
                              : shifted;
  }

  constexpr Int128& operator+=(const Int128& b) { return *this = *this + b; }
  constexpr Int128& operator-=(const Int128& b) { return *this = *this - b; }
  constexpr Int128& operator*=(const Int128& b) { return *this = *this * b; }
  constexpr Int128& operator/=(const Int128& b) { return *this = *this / b; }
  constexpr Int128& operator%=(const Int128& b) { return *this = *this % b; }
  constexpr Int128& operator++() { return *this += 1; }

  static constexpr Int128 max() { return {~uint64_t{0} >> 1, ~uint64_t{0}}; }
  static constexpr Int128 min() { return {uint64_t{1} << 63, 0}; }

  friend constexpr bool add_overflows(const Int128& a, const Int128& b, Int128& result) {
    result = a + b;
    return (a < 0) == (b < 0) && (result < 0) != (a < 0);
  }
  friend constexpr bool mul_overflows(const Int128& a, const Int128& b, Int128& result) {
    result = a * b;
    if (a == 0 || b == 0) return false;
    if (b == -1) return a == min();
    return (a == -1 && b == min()) || result / b != a;
  }

 private:
  constexpr Int128(uint64_t high, uint64_t low) : low_(low), high_(high) {}
  static constexpr Int128 magnitude(const Int128& a) { return a < 0 ? -a : a; }  // of the least one, as unsigned bits
  constexpr Int128 shifted_right_unsigned(int bits) const {
    if (bits == 0) return *this;
    if (bits >= 64) return {0, bits == 64 ? high_ : high_ >> (bits - 64)};
    return {high_ >> bits, low_ >> bits | high_ << (64 - bits)};
  }
  constexpr bool is_below(const Int128& b) const { return high_ != b.high_ ? high_ < b.high_ : low_ < b.low_; }
  // Of unsigned bits, one bit of the quotient after another where the operands have more than 64.
  static constexpr Int128 divided(const Int128& a, const Int128& b, Int128& rest) {
    if (a.high_ == 0 && b.high_ == 0) {
      rest = {0, a.low_ % b.low_};
      return {0, a.low_ / b.low_};
    }
    Int128 quotient;
    rest = 0;
    const int bits = a.high_ != 0 ? 64 + std::bit_width(a.high_) : std::bit_width(a.low_);
    for (int i = bits - 1; i >= 0; --i) {
      const bool carried = rest.high_ >> 63 != 0;
      rest = rest << 1;
      rest.low_ |= a.shifted_right_unsigned(i).low_ & 1;
      quotient = quotient << 1;
      if (carried || !rest.is_below(b)) {
        rest -= b;
        quotient.low_ |= 1;
      }
    }
    return quotient;
  }

  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace tilewright
