#include "fold.hpp"

#include "core/error.hpp"

namespace tilewright::program {

int width_of(Scalar scalar) { return scalar == Scalar::kBoolean ? 1 : facts(scalar).bits; }

int64_t value_of_bits(Scalar scalar, uint64_t bits) {
  const int width = width_of(scalar);
  if (width == 64) return static_cast<int64_t>(bits);
  bits &= (uint64_t{1} << width) - 1;
  if (is_signed(scalar) && (bits >> (width - 1) & 1) != 0) bits |= ~uint64_t{0} << width;
  return static_cast<int64_t>(bits);
}

uint64_t bits_of_value(Scalar scalar, int64_t value) {
  if (scalar == Scalar::kBoolean) return value != 0;
  const int width = width_of(scalar);
  return width == 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

namespace {

// Quotient and remainder towards zero, of unsigned 64-bit numbers too.
std::optional<int64_t> divide(Scalar scalar, int64_t x, int64_t y, bool remainder) {
  if (y == 0) return std::nullopt;
  if (!is_signed(scalar)) {
    const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
    return static_cast<int64_t>(remainder ? a % b : a / b);
  }
  if (y == -1) return remainder ? 0 : static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  return remainder ? x % y : x / y;
}

bool less(Scalar scalar, int64_t x, int64_t y) {
  return is_signed(scalar) ? x < y : static_cast<uint64_t>(x) < static_cast<uint64_t>(y);
}

}  // namespace

std::optional<int64_t> fold_binary(Opcode code, Scalar scalar, int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  switch (code) {
    case Opcode::kAdd:
      return static_cast<int64_t>(a + b);
    case Opcode::kSub:
      return static_cast<int64_t>(a - b);
    case Opcode::kMul:
      return static_cast<int64_t>(a * b);
    case Opcode::kDiv:
      return divide(scalar, x, y, false);
    case Opcode::kRem:
      return divide(scalar, x, y, true);
    case Opcode::kFloorDiv:
    case Opcode::kFloorMod: {
      const bool remainder = code == Opcode::kFloorMod;
      const std::optional<int64_t> rest = divide(scalar, x, y, true);
      if (!rest) return std::nullopt;
      const bool down = *rest != 0 && is_signed(scalar) && (*rest < 0) != (y < 0);
      if (remainder) return down ? *rest + y : *rest;
      return *divide(scalar, x, y, false) - (down ? 1 : 0);
    }
    case Opcode::kMin:
      return less(scalar, x, y) ? x : y;
    case Opcode::kMax:
      return less(scalar, x, y) ? y : x;
    case Opcode::kAnd:
      return x & y;
    case Opcode::kOr:
      return x | y;
    case Opcode::kXor:
      return x ^ y;
    case Opcode::kShl:
      return b >= static_cast<uint64_t>(width_of(scalar)) ? 0 : static_cast<int64_t>(a << b);
    case Opcode::kShr:
      if (b >= static_cast<uint64_t>(width_of(scalar))) return x < 0 && is_signed(scalar) ? -1 : 0;
      return is_signed(scalar) ? x >> b : static_cast<int64_t>(a >> b);
    default:
      return std::nullopt;
  }
}

bool fits(Opcode code, Scalar scalar, int64_t x, int64_t y) {
  int64_t result = 0;
  const bool is_beyond = code == Opcode::kMul   ? __builtin_mul_overflow(x, y, &result)
                         : code == Opcode::kSub ? __builtin_sub_overflow(x, y, &result)
                                                : __builtin_add_overflow(x, y, &result);
  return !is_beyond && value_of_bits(scalar, bits_of_value(scalar, result)) == result;
}

std::string does_not_fit(Opcode code, Scalar scalar, const std::string& x, const std::string& y) {
  const char* sign = code == Opcode::kMul ? " * " : code == Opcode::kSub ? " - " : " + ";
  return concat("a layout's size or offset is ", x, sign, y, ", which is beyond ", facts(scalar).name,
                scalar == Scalar::kInt32 ? ": make one of its extents or strides an Int64" : "");
}

std::optional<bool> fold_compare(Opcode code, Scalar scalar, int64_t x, int64_t y) {
  switch (code) {
    case Opcode::kEq:
      return x == y;
    case Opcode::kNe:
      return x != y;
    case Opcode::kLt:
      return less(scalar, x, y);
    case Opcode::kLe:
      return !less(scalar, y, x);
    case Opcode::kGt:
      return less(scalar, y, x);
    case Opcode::kGe:
      return !less(scalar, x, y);
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright::program
