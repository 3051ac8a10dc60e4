#include "integer.hpp"

#include <limits>
#include <numeric>

#include "int_tuple.hpp"
#include "portable.hpp"
#include "symbolic.hpp"
#include "wide.hpp"

namespace tilewright {

void fail(const std::string& condition) { throw LayoutError(condition); }

void LayoutError::enter_mode(int64_t mode) {
  path_ = path_.empty() ? std::to_string(mode) : concat(mode, ",", path_);
  const bool nested = path_.find(',') != std::string::npos;
  text_ = concat("in mode ", nested ? "(" : "", path_, nested ? ")" : "", ": ", condition_);
}

void LayoutError::add_context(const std::string& context) { text_ = condition_ = concat(context, ": ", condition_); }

void LayoutError::add_remedy(const std::string& remedy) { text_ = condition_ = condition_ + remedy; }

void unknown_number() {
  fail(
      "a static number is needed here, but an operand is known only at run time; pass it as a Python int or as "
      "cutlass.Constexpr");
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (add_overflows(a, b, result)) {
    fail(concat("the sum ", a, " + ", b, " does not fit into 64 bits; use smaller extents or strides"));
  }
  return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (mul_overflows(a, b, result)) {
    fail(concat("the product ", a, " * ", b, " does not fit into 64 bits; use smaller extents or strides"));
  }
  return result;
}

namespace {

constexpr int64_t kMinValue = std::numeric_limits<int64_t>::min();

bool fits_32_bits(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

bool is_symbolic(const Node& a, const Node& b) { return a.is_symbolic() || b.is_symbolic(); }

void require_divisor(const Node& a, const Node& b) {
  if (b.is_symbolic() || (a.is_symbolic() && b.value != 0)) return;
  if (b.value == 0) fail(concat(a.value, " is divided by 0: an extent or a stride to divide by must not be 0"));
  if (a.value == kMinValue && b.value == -1) fail(concat("the quotient ", a.value, " / -1 does not fit into 64 bits"));
}

// The number with the kind of the two operands: static if both are, else dynamic with the divisor given.
Node combine(const Node& a, const Node& b, int64_t value, int64_t divisor) {
  if (a.is_static() && b.is_static()) return static_int(value);
  return dynamic_int(value, divisor, a.is_wide() || b.is_wide());
}

BasisId basis_of_product(const Node& a, const Node& b) {
  if (a.has_basis() && b.has_basis()) {
    fail(concat("the basis elements ", to_string(TupleView(&a)), " and ", to_string(TupleView(&b)),
                " have no product: multiply a basis element by an integer"));
  }
  return a.has_basis() ? a.basis() : b.basis();
}

}  // namespace

Node dynamic_int(int64_t value, int64_t divisor, bool wide) {
  // A divisor that outgrows its field loses odd factors first: powers of two are what alignment needs.
  uint64_t known = magnitude(divisor);
  while (known > std::numeric_limits<uint32_t>::max()) known = known % 2 == 0 ? known / 2 : 1;
  if (known == 0) known = 1;
  const bool is_wide = wide || !fits_32_bits(value);
  return Node{value, static_cast<uint32_t>(known), kDynamicBit | (is_wide ? kWideBit : 0u)};
}

int64_t divisibility(const Node& node) {
  if (node.is_dynamic()) return node.aux;
  if (node.value == kMinValue) return int64_t{1} << 62;
  return node.value < 0 ? -node.value : node.value;
}

Node add(const Node& a, const Node& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (a.basis() != b.basis()) {
    fail(concat(to_string(TupleView(&a)), " and ", to_string(TupleView(&b)),
                " have no sum: only integers, or multiples of one basis element, are added"));
  }
  const int64_t divisor = std::gcd(divisibility(a), divisibility(b));
  if (is_symbolic(a, b)) return with_basis(symbolic(SymbolicOp::kAdd, a, b, divisor), a.basis());
  return with_basis(combine(a, b, checked_add(a.value, b.value), divisor), a.basis());
}

Node sub(const Node& a, const Node& b) { return add(a, mul(static_int(-1), b)); }

Node mul(const Node& a, const Node& b) {
  if (a.is(0) && !b.has_basis()) return a;
  if (b.is(0) && !a.has_basis()) return b;
  const BasisId basis = basis_of_product(a, b);
  if (a.is_static() && b.is_static()) return with_basis(static_int(checked_mul(a.value, b.value)), basis);
  int64_t divisor = 0;
  if (mul_overflows(divisibility(a), divisibility(b), divisor)) divisor = 1;
  if (is_symbolic(a, b)) return with_basis(symbolic(SymbolicOp::kMul, a, b, divisor), basis);
  return with_basis(combine(a, b, checked_mul(a.value, b.value), divisor), basis);
}

Node div(const Node& a, const Node& b) {
  require_divisor(a, b);
  if (a.is(0)) return a;
  const bool exact = b.is_static() && divisibility(a) % b.value == 0;
  const int64_t divisor = exact ? divisibility(a) / b.value : 1;
  if (is_symbolic(a, b)) return with_basis(symbolic(SymbolicOp::kDiv, a, b, divisor), a.basis());
  return with_basis(combine(a, b, a.value / b.value, divisor), a.basis());
}

Node mod(const Node& a, const Node& b) {
  require_divisor(a, b);
  if (a.is(0) || b.is(1)) return static_int(0);
  const int64_t divisor = std::gcd(divisibility(a), divisibility(b));
  if (is_symbolic(a, b)) return symbolic(SymbolicOp::kMod, a, b, divisor);
  return combine(a, b, a.value % b.value, divisor);
}

Node ceil_div(const Node& a, const Node& b) {
  require_divisor(a, b);
  const bool exact = b.is_static() && divisibility(a) % b.value == 0;
  const int64_t divisor = exact ? divisibility(a) / b.value : 1;
  if (is_symbolic(a, b)) return symbolic(SymbolicOp::kCeilDiv, a, b, divisor);
  const int64_t rounded = a.value / b.value + (a.value % b.value != 0 && (a.value > 0) == (b.value > 0) ? 1 : 0);
  return combine(a, b, rounded, divisor);
}

Node min(const Node& a, const Node& b) {
  const int64_t divisor = std::gcd(divisibility(a), divisibility(b));
  if (is_symbolic(a, b)) return symbolic(SymbolicOp::kMin, a, b, divisor);
  return combine(a, b, a.value < b.value ? a.value : b.value, divisor);
}

Node max(const Node& a, const Node& b) {
  const int64_t divisor = std::gcd(divisibility(a), divisibility(b));
  if (is_symbolic(a, b)) return symbolic(SymbolicOp::kMax, a, b, divisor);
  return combine(a, b, a.value > b.value ? a.value : b.value, divisor);
}

Node abs(const Node& a) {
  if (a.is_symbolic()) return symbolic(SymbolicOp::kAbs, a, static_int(0), divisibility(a));
  if (a.value == kMinValue) fail(concat("the magnitude of ", a.value, " does not fit into 64 bits"));
  Node result = a;
  if (result.value < 0) result.value = -result.value;
  return result;
}

Node sign(const Node& a) {
  if (a.is_symbolic()) return symbolic(SymbolicOp::kSign, a, static_int(0), 1);
  const int64_t value = (a.value > 0) - (a.value < 0);
  return a.is_static() ? static_int(value) : dynamic_int(value, 1, a.is_wide());
}

Node shape_div(const Node& a, const Node& b) {
  require_divisor(a, b);
  if (is_symbolic(a, b)) {
    const bool exact = b.is_static() && divisibility(a) % b.value == 0;
    return symbolic(SymbolicOp::kShapeDiv, a, b, exact ? divisibility(a) / b.value : 1);
  }
  const bool decided = (a.is_static() && b.is_static()) || checks_enabled();
  if (a.value % b.value == 0) return div(a, b);
  if (decided && magnitude(b.value) % magnitude(a.value) != 0) {
    fail(concat("neither of ", a.value, " and ", b.value, " divides the other"));
  }
  return combine(a, b, static_cast<int64_t>((Wide{a.value} + b.value - 1) / b.value), 1);
}

}  // namespace tilewright
