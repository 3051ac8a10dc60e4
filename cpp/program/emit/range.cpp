#include "range.hpp"

#include <algorithm>
#include <numeric>

#include "program/fold.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxGrid = 0x7FFFFFFF;
constexpr int64_t kMaxGridYZ = 65535;

int64_t gcd(int64_t a, int64_t b) { return std::gcd(a, b); }

// 0 is divided by everything, which the divisor 0 says.
Range constant(Wide value) {
  const Wide magnitude = value < 0 ? -value : value;
  return {value, value, magnitude < (Wide{1} << 62) ? static_cast<int64_t>(magnitude) : 1};
}

Range join(const Range& a, const Range& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), gcd(a.divisor, b.divisor)};
}

bool is_exact(const Range& range) { return range.low == range.high; }

}  // namespace

Range Ranges::all_of(Scalar scalar) {
  const int width = width_of(scalar);
  const Wide one = 1;
  if (is_signed(scalar)) return {-(one << (width - 1)), (one << (width - 1)) - 1, 1};
  return {0, (one << width) - 1, 1};
}

Range Ranges::of(ValueId id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  const Type& type = program_.type(id);
  Range range = {0, 0, 1};
  if (type.is_number() && !type.is_vector() && is_integer(type.scalar)) {
    const Range all = all_of(type.scalar);
    known_.emplace(id, all);  // for what a loop carries
    range = compute(id);
    // What may have wrapped around can have any value; a power of two divides it still.
    if (range.low < all.low || range.high > all.high) {
      range = {all.low, all.high, range.divisor == 0 ? 1 : range.divisor & -range.divisor};
    }
  }
  known_[id] = range;
  return range;
}

Range Ranges::exact(Opcode code, const Range& x, const Range& y) {
  switch (code) {
    case Opcode::kAdd:
      return {x.low + y.low, x.high + y.high, gcd(x.divisor, y.divisor)};
    case Opcode::kSub:
      return {x.low - y.high, x.high - y.low, gcd(x.divisor, y.divisor)};
    case Opcode::kMul: {
      constexpr Wide kMost = static_cast<Wide>(1) << 63;  // products of larger ones need not fit
      if (x.high >= kMost || y.high >= kMost) return {-kMost * 4, kMost * 4, 1};
      const Wide ends[] = {x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high};
      const auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
      const Wide divisor = static_cast<Wide>(x.divisor) * y.divisor;
      return {*low, *high, divisor <= (int64_t{1} << 62) ? static_cast<int64_t>(divisor) : 1};
    }
    default:
      return {0, 0, 1};
  }
}

bool Ranges::fits(Opcode code, Scalar scalar, ValueId x, ValueId y) {
  const Range range = exact(code, of(x), of(y)), all = all_of(scalar);
  return range.low >= all.low && range.high <= all.high;
}

Range Ranges::compute(ValueId id) {
  const Scalar scalar = program_.type(id).scalar;
  const Definition& at = uses_.definition(id);
  if (at.kind == Definition::Kind::kBlockParameter) return of_parameter(at, scalar);
  if (at.kind == Definition::Kind::kResult) return of_operation(program_.operations[at.op], at.index, scalar);
  return all_of(scalar);
}

// The index of a loop lies between its bounds; of what is carried, only its type is known.
Range Ranges::of_parameter(const Definition& at, Scalar scalar) {
  if (at.op == kNoOp || program_.operations[at.op].code != Opcode::kFor || at.index != 0) return all_of(scalar);
  const Operation& loop = program_.operations[at.op];
  const Range start = of(loop.operands[0]), stop = of(loop.operands[1]), step = of(loop.operands[2]);
  const int64_t divisor = gcd(start.divisor, step.divisor);
  if (step.low > 0) return {start.low, std::max(start.low, stop.high - 1), divisor};
  if (step.high < 0) return {std::min(start.high, stop.low + 1), start.high, divisor};
  return all_of(scalar);
}

Range Ranges::of_special(const Operation& operation) const {
  const int64_t dimension = operation.ints.empty() ? 0 : operation.ints[0];
  const int64_t threads = function_.threads[dimension] > 0 ? function_.threads[dimension] : kMaxThreads;
  switch (operation.code) {
    case Opcode::kThreadIdx:
      return {0, threads - 1, threads == 1 ? 0 : 1};
    case Opcode::kBlockDim:
      if (function_.threads[dimension] > 0) return constant(threads);
      return {1, kMaxThreads, 1};
    case Opcode::kBlockIdx:
      return {0, (dimension == 0 ? kMaxGrid : kMaxGridYZ) - 1, 1};
    case Opcode::kGridDim:
      return {1, dimension == 0 ? kMaxGrid : kMaxGridYZ, 1};
    case Opcode::kLaneIdx:
    case Opcode::kWarpIdx:
      return {0, 31, 1};
    default:
      return {0, kMaxGrid, 1};
  }
}

Range Ranges::of_operation(const Operation& operation, uint32_t index, Scalar scalar) {
  const auto operand = [&](std::size_t i) { return of(operation.operands[i]); };
  const Range all = all_of(scalar);
  switch (operation.code) {
    case Opcode::kConstant:
      return constant(is_signed(scalar) ? Wide{value_of_bits(scalar, operation.bits)} : Wide{operation.bits});
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
      return exact(operation.code, operand(0), operand(1));
    case Opcode::kMin: {
      const Range x = operand(0), y = operand(1);
      return {std::min(x.low, y.low), std::min(x.high, y.high), gcd(x.divisor, y.divisor)};
    }
    case Opcode::kMax: {
      const Range x = operand(0), y = operand(1);
      return {std::max(x.low, y.low), std::max(x.high, y.high), gcd(x.divisor, y.divisor)};
    }
    case Opcode::kSelect:
      return join(operand(1), operand(2));
    case Opcode::kDiv:
    case Opcode::kFloorDiv: {
      const Range x = operand(0), y = operand(1);
      if (x.low < 0 || y.low <= 0) return all;
      const bool divides = is_exact(y) && x.divisor % static_cast<int64_t>(y.low) == 0;
      return {x.low / y.high, x.high / y.low, divides ? x.divisor / static_cast<int64_t>(y.low) : 1};
    }
    case Opcode::kRem:
    case Opcode::kFloorMod: {
      const Range x = operand(0), y = operand(1);
      if (y.low <= 0 || (x.low < 0 && operation.code == Opcode::kRem)) return all;
      if (x.low >= 0 && x.high < y.low) return x;
      return {0, x.low >= 0 ? std::min(x.high, y.high - 1) : y.high - 1, gcd(x.divisor, y.divisor)};
    }
    case Opcode::kAnd: {
      const Range x = operand(0), y = operand(1);
      if (x.low >= 0 && y.low >= 0) return {0, std::min(x.high, y.high), 1};
      if (y.low >= 0) return {0, y.high, 1};
      if (x.low >= 0) return {0, x.high, 1};
      return all;
    }
    case Opcode::kShl: {
      const Range x = operand(0), y = operand(1);
      if (!is_exact(y) || y.low < 0 || y.low >= width_of(scalar)) return all;
      const Wide factor = static_cast<Wide>(1) << static_cast<int>(y.low);
      return exact(Opcode::kMul, x, constant(factor));
    }
    case Opcode::kShr: {
      const Range x = operand(0), y = operand(1);
      if (!is_exact(y) || y.low < 0 || y.low >= width_of(scalar)) return all;
      return {x.low >> static_cast<int>(y.low), x.high >> static_cast<int>(y.low), 1};
    }
    case Opcode::kCast:
      if (is_float(program_.type(operation.operands[0]).scalar)) return all;
      return operand(0);
    case Opcode::kUniform:
      return operand(0);
    case Opcode::kIf:
      return join(of(program_.blocks[operation.blocks[0]].yields[index]),
                  of(program_.blocks[operation.blocks[1]].yields[index]));
    default:
      return facts(operation.code).family == Family::kSpecial ? of_special(operation) : all;
  }
}

}  // namespace tilewright::program
