// What one lane computes by an instruction of inline PTX.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "assembly.hpp"
#include "host/execute/lanes/numbers.hpp"

namespace tilewright::execute::ptx {

namespace {

double real(Scalar scalar, uint64_t pattern) {
  uint8_t bytes[8];
  std::memcpy(bytes, &pattern, sizeof bytes);
  return decode<double>(scalar, bytes);
}

// Of numbers that are exact, or rounded to odd.
uint64_t pattern(Scalar scalar, double value) {
  uint8_t bytes[8] = {};
  encode(scalar, value, bytes);
  uint64_t made;
  std::memcpy(&made, bytes, sizeof made);
  return made;
}

int64_t integer(Scalar scalar, uint64_t pattern) {
  const uint32_t unused = 64 - bits_of(scalar);
  const uint64_t up = pattern << unused;
  return program::is_signed(scalar) ? static_cast<int64_t>(up) >> unused : static_cast<int64_t>(up >> unused);
}

double flushed(const Operation& o, double value) {
  const double least = o.scalar == Scalar::kFloat16 ? 0x1p-14 : 0x1p-126;  // of normal numbers
  const bool is_flushed = o.flushes && std::fabs(value) < least;
  return is_flushed ? std::copysign(0.0, value) : value;
}

// .sat makes 0 of NaN, .relu and .satfinite keep it.
double bounded(const Operation& o, double value) {
  if (o.saturates) return value > 0 ? std::min(value, 1.0) : 0.0;
  if (o.relu && value <= 0) return 0.0;
  if (!o.is_finite || std::isnan(value)) return value;
  const double most = o.to == Scalar::kFloat16    ? 65504.0
                      : o.to == Scalar::kBFloat16 ? 0x1.fep127
                      : o.to == Scalar::kTFloat32
                          ? 0x1.ffcp127
                          : std::numeric_limits<double>::infinity();  // others do so by themselves
  return std::clamp(value, -most, most);
}

double chosen(const Operation& o, double a, double b) {
  if (o.keeps_nan && (std::isnan(a) || std::isnan(b))) return std::numeric_limits<double>::quiet_NaN();
  const bool is_max = o.code == Code::kMax;
  if (a == b) return std::signbit(a) == is_max ? b : a;  // -0 is less than 0
  return is_max ? std::fmax(a, b) : std::fmin(a, b);
}

double computed(const Operation& o, double a, double b, double c) {
  switch (o.code) {
    case Code::kAdd:
      return o.scalar == Scalar::kFloat64 ? a + b : fma_to_odd(a, 1.0, b);
    case Code::kSub:
      return o.scalar == Scalar::kFloat64 ? a - b : fma_to_odd(a, 1.0, -b);
    case Code::kMul:
      return a * b;
    case Code::kFma:
      return o.scalar == Scalar::kFloat64 ? std::fma(a, b, c) : fma_to_odd(a, b, c);
    case Code::kDiv:
      return a / b;
    case Code::kMin:
    case Code::kMax:
      return chosen(o, a, b);
    case Code::kAbs:
      return std::fabs(a);
    case Code::kNeg:
      return -a;
    case Code::kCopySign:
      return std::copysign(b, a);
    case Code::kExp2:
      return std::exp2(a);
    case Code::kLog2:
      return std::log2(a);
    case Code::kSin:
      return std::sin(a);
    case Code::kCos:
      return std::cos(a);
    case Code::kRcp:
      return 1 / a;
    case Code::kRsqrt:
      return 1 / std::sqrt(a);
    case Code::kSqrt:
      return std::sqrt(a);
    default:  // tanh
      return std::tanh(a);
  }
}

uint64_t of_reals(const Operation& o, const std::vector<uint64_t>& x) {
  double values[3] = {};
  for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 3); ++i) values[i] = flushed(o, real(o.scalar, x[i]));
  return pattern(o.scalar, flushed(o, bounded(o, computed(o, values[0], values[1], values[2]))));
}

bool compared(const Operation& o, const std::vector<uint64_t>& x) {
  std::string how = o.how;
  if (!program::is_float(o.scalar)) {
    const bool is_signed = program::is_signed(o.scalar);
    const int64_t a = integer(o.scalar, x[0]), b = integer(o.scalar, x[1]);
    const bool less = is_signed ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
    if (how == "eq") return a == b;
    if (how == "ne") return a != b;
    if (how == "lt" || how == "lo") return less;
    if (how == "ge" || how == "hs") return !less;
    return (how == "le" || how == "ls") == (less || a == b);
  }
  const double a = flushed(o, real(o.scalar, x[0])), b = flushed(o, real(o.scalar, x[1]));
  const bool is_nan = std::isnan(a) || std::isnan(b);
  if (how == "num" || how == "nan") return is_nan == (how == "nan");
  if (is_nan) return how.size() == 3;  // equ, neu, ltu, ..
  how.resize(2);
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (how == "lt") return a < b;
  if (how == "le") return a <= b;
  return how == "gt" ? a > b : a >= b;
}

double to_whole(const std::string& how, double value) {
  if (how == "rmi") return std::floor(value);
  if (how == "rpi") return std::ceil(value);
  return how == "rzi" ? std::trunc(value) : std::nearbyint(value);  // the environment rounds to the nearest even one
}

// The integers of a type.
std::pair<double, double> limits(Scalar scalar) {
  const int bits = static_cast<int>(bits_of(scalar));
  if (program::is_signed(scalar)) return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  return {0.0, std::ldexp(1.0, bits) - 1};
}

uint64_t to_integer(Scalar from, Scalar to, double value) {
  const bool has_zero = from != Scalar::kFloat64 && bits_of(to) < 64;
  if (std::isnan(value)) return has_zero ? 0 : uint64_t{1} << (bits_of(to) - 1);
  const auto [least, most] = limits(to);
  const bool is_signed = program::is_signed(to);
  if (value <= least) return low(is_signed ? uint64_t{1} << (bits_of(to) - 1) : 0, bits_of(to));
  if (value >= most) return low(~uint64_t{0}, bits_of(to) - (is_signed ? 1 : 0));
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
}

uint64_t converted(const Operation& o, uint64_t x) {
  const bool from_real = program::is_float(o.scalar), to_real = program::is_float(o.to);
  if (from_real) {
    double value = flushed(o, real(o.scalar, x));
    if (!o.how.empty()) value = to_whole(o.how, value);
    return to_real ? pattern(o.to, flushed(o, bounded(o, value))) : to_integer(o.scalar, o.to, value);
  }
  const int64_t value = integer(o.scalar, x);
  const bool is_signed = program::is_signed(o.scalar);
  if (to_real) {
    const auto rounded = [&](auto to) {
      return is_signed ? static_cast<decltype(to)>(value) : static_cast<decltype(to)>(static_cast<uint64_t>(value));
    };
    if (o.to == Scalar::kFloat32) return std::bit_cast<uint32_t>(rounded(0.0f));
    return pattern(o.to, rounded(0.0));
  }
  if (!o.saturates) return low(static_cast<uint64_t>(value), bits_of(o.to));
  if (is_signed && value < 0) {
    const int64_t least = program::is_signed(o.to) ? std::numeric_limits<int64_t>::min() >> (64 - bits_of(o.to)) : 0;
    return low(static_cast<uint64_t>(std::max(value, least)), bits_of(o.to));
  }
  const uint64_t most = low(~uint64_t{0}, bits_of(o.to) - (program::is_signed(o.to) ? 1 : 0));
  return std::min(static_cast<uint64_t>(value), most);
}

// The upper half of a product of 64 bits.
uint64_t upper(uint64_t a, uint64_t b) {
  const uint64_t a0 = low(a, 32), a1 = a >> 32, b0 = low(b, 32), b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + low(middle, 32);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}
uint64_t upper(Scalar scalar, uint64_t a, uint64_t b) {
  const auto x = static_cast<uint64_t>(integer(scalar, a)), y = static_cast<uint64_t>(integer(scalar, b));
  if (bits_of(scalar) < 64) {
    const uint64_t product = x * y;
    return product >> bits_of(scalar);
  }
  const bool is_signed = program::is_signed(scalar);
  const uint64_t less =
      (is_signed && static_cast<int64_t>(x) < 0 ? y : 0) + (is_signed && static_cast<int64_t>(y) < 0 ? x : 0);
  return upper(x, y) - less;
}

uint64_t divided(const Operation& o, uint64_t a, uint64_t b) {
  const bool is_rest = o.code == Code::kRem;
  const int64_t x = integer(o.scalar, a), y = integer(o.scalar, b);
  if (y == 0) return is_rest ? a : ~uint64_t{0};
  if (!program::is_signed(o.scalar)) {
    const auto p = static_cast<uint64_t>(x), q = static_cast<uint64_t>(y);
    return is_rest ? p % q : p / q;
  }
  if (y == -1) return is_rest ? 0 : 0 - a;
  return static_cast<uint64_t>(is_rest ? x % y : x / y);
}

uint64_t shifted(const Operation& o, uint64_t a, uint64_t by) {
  const uint32_t bits = bits_of(o.scalar);
  if (program::is_signed(o.scalar)) return static_cast<uint64_t>(integer(o.scalar, a) >> std::min<uint64_t>(by, 63));
  if (by >= bits) return 0;
  return o.code == Code::kShl ? a << by : a >> by;
}

uint64_t extracted(const Operation& o, uint64_t a, uint64_t begin, uint64_t length) {
  const uint32_t bits = bits_of(o.scalar), at = begin & 255, count = length & 255;
  const uint32_t sign = std::min(at + count - 1, bits - 1);
  const bool fills = program::is_signed(o.scalar) && count != 0 && (a >> sign & 1) != 0;
  uint64_t found = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    const bool is_inside = i < count && at + i < bits;
    found |= uint64_t{is_inside ? (a >> (at + i) & 1) != 0 : fills} << i;
  }
  return found;
}

uint64_t inserted(const Operation& o, uint64_t a, uint64_t b, uint64_t begin, uint64_t length) {
  const uint32_t bits = bits_of(o.scalar), at = begin & 255, count = length & 255;
  for (uint32_t i = 0; i < count && at + i < bits; ++i) {
    b = (b & ~(uint64_t{1} << (at + i))) | (a >> i & 1) << (at + i);
  }
  return b;
}

uint64_t first_bit(const Operation& o, uint64_t a) {
  const uint32_t bits = bits_of(o.scalar);
  const uint64_t looked = low(integer(o.scalar, a) < 0 && program::is_signed(o.scalar) ? ~a : a, bits);
  if (looked == 0) return low(~uint64_t{0}, 32);
  const auto at = static_cast<uint32_t>(63 - std::countl_zero(looked));
  return o.how == "shiftamt" ? bits - 1 - at : at;
}

uint64_t permuted(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t both = low(a, 32) | b << 32;
  uint64_t made = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint64_t nibble = selector >> (4 * i) & 15, byte = both >> (8 * (nibble & 7)) & 255;
    made |= ((nibble & 8) == 0 ? byte : (byte & 128) != 0 ? 255 : 0) << (8 * i);
  }
  return made;
}

uint64_t looked_up(const std::vector<uint64_t>& x) {
  uint64_t made = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    const uint64_t row = (x[0] >> i & 1) << 2 | (x[1] >> i & 1) << 1 | (x[2] >> i & 1);
    made |= (x[3] >> row & 1) << i;
  }
  return made;
}

uint64_t of_bytes(const Operation& o, uint64_t a, uint64_t b, uint64_t c) {
  const Scalar byte = program::is_signed(o.scalar) ? Scalar::kInt8 : Scalar::kUint8;
  for (uint32_t i = 0; i < 32; i += 8)
    c += static_cast<uint64_t>(integer(byte, a >> i & 255) * integer(byte, b >> i & 255));
  return c;
}

// .sat of a sum of Int32
uint64_t saturated(const Operation& o, uint64_t a, uint64_t b) {
  const int64_t x = integer(o.scalar, a), y = integer(o.scalar, b), sum = o.code == Code::kAdd ? x + y : x - y;
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  return static_cast<uint64_t>(std::clamp(sum, kLeast, kMost));
}

uint64_t of_integers(const Operation& o, const std::vector<uint64_t>& x) {
  const auto at = [&](std::size_t i) { return i < x.size() ? x[i] : 0; };
  // A register may be wider than the type: the rest of it does not count.
  const bool is_shift = o.code == Code::kShl || o.code == Code::kShr;
  const uint32_t bits = std::max<uint32_t>(bits_of(o.scalar), 8);
  const uint64_t a = low(at(0), bits), b = is_shift ? low(at(1), 32) : low(at(1), bits), c = at(2);
  const auto wide = [&](uint64_t value) { return static_cast<uint64_t>(integer(o.scalar, value)); };
  switch (o.code) {
    case Code::kMove:
      return a;
    case Code::kAdd:
      return o.saturates ? saturated(o, a, b) : a + b;
    case Code::kSub:
      return o.saturates ? saturated(o, a, b) : a - b;
    case Code::kMul:
      return a * b;
    case Code::kMulHigh:
      return upper(o.scalar, a, b);
    case Code::kMulWide:
      return wide(a) * wide(b);
    case Code::kMad:
      return a * b + c;
    case Code::kMadHigh:
      return upper(o.scalar, a, b) + c;
    case Code::kMadWide:
      return wide(a) * wide(b) + c;
    case Code::kDiv:
    case Code::kRem:
      return divided(o, a, b);
    case Code::kMin:
    case Code::kMax: {
      const bool less = program::is_signed(o.scalar) ? integer(o.scalar, a) < integer(o.scalar, b) : a < b;
      return less == (o.code == Code::kMin) ? a : b;
    }
    case Code::kAbs:
      return integer(o.scalar, a) < 0 ? 0 - a : a;
    case Code::kNeg:
      return 0 - a;
    case Code::kAnd:
      return a & b;
    case Code::kOr:
      return a | b;
    case Code::kXor:
      return a ^ b;
    case Code::kNot:
      return o.scalar == Scalar::kBoolean ? a ^ 1 : ~a;
    case Code::kNotZero:
      return a == 0;
    case Code::kShl:
    case Code::kShr:
      return shifted(o, a, b);
    case Code::kSelect:
      return c != 0 ? a : b;
    case Code::kPopc:
      return static_cast<uint64_t>(std::popcount(a));
    case Code::kClz:
      return static_cast<uint64_t>(std::countl_zero(a)) - (64 - bits_of(o.scalar));
    case Code::kBrev: {
      uint64_t turned = 0;
      for (uint32_t i = 0; i < bits_of(o.scalar); ++i) turned |= (a >> i & 1) << (bits_of(o.scalar) - 1 - i);
      return turned;
    }
    case Code::kBfind:
      return first_bit(o, a);
    case Code::kBfe:
      return extracted(o, a, b, c);
    case Code::kBfi:
      return inserted(o, a, b, c, at(3));
    case Code::kLop3:
      return looked_up(x);
    case Code::kPrmt:
      return permuted(a, b, c);
    case Code::kShfLeft:
    case Code::kShfRight: {
      const uint64_t by = o.wraps ? c & 31 : std::min<uint64_t>(low(c, 32), 32), both = a | b << 32;
      return o.code == Code::kShfRight ? both >> by : by == 0 ? b : both >> (32 - by);
    }
    default:  // dp4a
      return of_bytes(o, a, b, c);
  }
}

uint64_t of_one(const Operation& o, const std::vector<uint64_t>& x) {
  switch (o.code) {
    case Code::kCompare: {
      const bool is_so = compared(o, x);
      if (o.with == "and") return is_so && x[2] != 0;
      if (o.with == "or") return is_so || x[2] != 0;
      return o.with == "xor" ? is_so != (x[2] != 0) : is_so;
    }
    case Code::kConvert:
      return converted(o, x[0]);
    case Code::kConvertTwo: {  // the first one goes up
      const uint32_t bits = bits_of(o.to);
      return low(converted(o, x[0]), bits) << bits | low(converted(o, x[1]), bits);
    }
    case Code::kSelect:
    case Code::kMove:
      return of_integers(o, x);
    default:
      return program::is_float(o.scalar) ? of_reals(o, x) : of_integers(o, x);
  }
}

}  // namespace

uint64_t compute(const Operation& o, const std::vector<uint64_t>& operands) {
  // A narrow result of cvt fills its register, with its sign.
  const bool fills = o.code == Code::kConvert && !o.is_pair && !program::is_float(o.to) && bits_of(o.to) < 32;
  if (fills) return low(static_cast<uint64_t>(integer(o.to, of_one(o, operands))), 32);
  if (!o.is_pair) return low(of_one(o, operands), o.is_pair_to ? 2 * bits_of(o.to) : bits_of(o.to));
  uint64_t made = 0;
  for (uint32_t half = 0; half < 2; ++half) {
    std::vector<uint64_t> parts = operands;
    for (uint64_t& part : parts) part = low(part >> (half * bits_of(o.scalar)), bits_of(o.scalar));
    made |= low(of_one(o, parts), bits_of(o.to)) << (half * bits_of(o.to));
  }
  return made;
}

}  // namespace tilewright::execute::ptx
