#include "arithmetic.hpp"

#include "core/error.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

bool has_int_arithmetic(Scalar scalar) { return width_of(scalar) < 32; }

std::string_view symbol_of(Opcode code) {
  switch (code) {
    case Opcode::kAdd:
      return "+";
    case Opcode::kSub:
      return "-";
    case Opcode::kMul:
      return "*";
    case Opcode::kDiv:
    case Opcode::kFloorDiv:
      return "/";
    case Opcode::kRem:
    case Opcode::kFloorMod:
      return "%";
    case Opcode::kAnd:
      return "&";
    case Opcode::kOr:
      return "|";
    case Opcode::kXor:
      return "^";
    case Opcode::kEq:
      return "==";
    case Opcode::kNe:
      return "!=";
    case Opcode::kLt:
      return "<";
    case Opcode::kLe:
      return "<=";
    case Opcode::kGt:
      return ">";
    default:
      return ">=";
  }
}

Level level_of(Opcode code) {
  switch (code) {
    case Opcode::kAdd:
    case Opcode::kSub:
      return Level::kSum;
    case Opcode::kMul:
    case Opcode::kDiv:
    case Opcode::kFloorDiv:
    case Opcode::kRem:
    case Opcode::kFloorMod:
      return Level::kProduct;
    case Opcode::kEq:
    case Opcode::kNe:
      return Level::kEquality;
    case Opcode::kLt:
    case Opcode::kLe:
    case Opcode::kGt:
    case Opcode::kGe:
      return Level::kRelation;
    default:
      return Level::kBits;
  }
}

bool is_fast(const Operation& operation) { return !operation.ints.empty() && operation.ints[0] == 1; }

}  // namespace

Expr Arithmetic::narrowed(const Expr& x, Scalar scalar) const {
  if (scalar == Scalar::kInt4) return call("wrap4", {x.text});
  return call(value_type(scalar), {x.text});
}

Expr Arithmetic::plain(const Expr& x, Scalar scalar) const { return x.is_wrapped ? narrowed(x, scalar) : x; }

Expr Arithmetic::to_float(const Expr& x, Scalar scalar) {
  if (!is_narrow(scalar)) return x;
  need("tilewright/lang_narrow.cuh");
  return call("to_float", {x.text});
}

Expr Arithmetic::from_float(const Expr& x, Scalar scalar) {
  if (!is_narrow(scalar)) return x;
  need("tilewright/lang_narrow.cuh");
  return call(concat("convert<", value_type(scalar), ">"), {x.text});
}

Expr Arithmetic::apply(const Operation& operation, const std::vector<Operand>& x, Scalar result) {
  switch (facts(operation.code).family) {
    case Family::kUnary:
      return unary(operation, x[0]);
    case Family::kBinary:
      return binary(operation.code, x[0], x[1], is_fast(operation));
    case Family::kShift:
      return shift(operation.code, x[0], x[1]);
    case Family::kCompare:
      return compare(operation.code, x[0], x[1]);
    case Family::kSelect:
      return {concat(within(x[0].expr, Level::kOr), " ? ", within(plain(x[1].expr, x[1].scalar), Level::kOr), " : ",
                     within(plain(x[2].expr, x[2].scalar), Level::kOr)),
              Level::kTernary};
    case Family::kFma:
      return fma(result, x[0].expr, x[1].expr, x[2].expr);
    default:
      return operation.code == Opcode::kBitcast ? bitcast(x[0], result) : cast(x[0], result);
  }
}

Expr Arithmetic::reduce(std::string_view operation, Scalar scalar, const Expr& x, const Expr& y) {
  const Opcode code = opcode_of(operation);
  return plain(binary(code, {x, scalar}, {y, scalar}, false), scalar);
}

Expr Arithmetic::unary(const Operation& operation, const Operand& x) {
  const Scalar scalar = x.scalar;
  if (is_float(scalar)) {
    const Expr value = to_float(x.expr, scalar);
    if (operation.code == Opcode::kNeg) {
      return from_float({"-" + within(value, Level::kPrimary), Level::kUnary}, scalar);
    }
    return from_float(mathematics(operation, scalar, value), scalar);
  }
  const Expr value = plain(x.expr, scalar);
  switch (operation.code) {
    case Opcode::kNot:
      if (scalar == Scalar::kBoolean) return {"!" + within(value, Level::kPrimary), Level::kUnary};
      return has_int_arithmetic(scalar) ? narrowed({"~" + within(value, Level::kPrimary)}, scalar)
                                        : Expr{"~" + within(value, Level::kPrimary), Level::kUnary};
    case Opcode::kNeg:
      if (scalar == Scalar::kBoolean) return value;  // -1 is odd
      if (has_int_arithmetic(scalar)) return negated_narrow(x);
      if (!is_signed(scalar) || range(x).low > Ranges::all_of(scalar).low) {
        return {"-" + within(value, Level::kPrimary), Level::kUnary};
      }
      return {concat(width_of(scalar) == 64 ? "0ull - " : "0u - ", within(value, Level::kProduct)), Level::kSum, true};
    case Opcode::kAbs:
      if (!is_signed(scalar)) return value;
      if (range(x).low >= 0) return value;
      need("tilewright/lang_integer.cuh");
      return call(concat("magnitude<", value_type(scalar), ">"), {value.text});
    case Opcode::kPopc: {
      const std::string bits = call(width_of(scalar) == 64                       ? "uint64"
                                    : is_signed(scalar) && width_of(scalar) < 32 ? concat("u", value_type(scalar))
                                                                                 : std::string("uint32"),
                                    {value.text})
                                   .text;
      const Expr count = call(width_of(scalar) == 64 ? "__popcll" : "__popc", {bits});
      return scalar == Scalar::kInt32 ? count : call(value_type(scalar), {count.text});
    }
    case Opcode::kFloor:
    case Opcode::kCeil:
      return value;
    default:
      throw ProgramError(concat(facts(operation.code).text, " is an operation on floating-point numbers, not on ",
                                facts(scalar).text, "; convert the operand first"));
  }
}

Expr Arithmetic::binary(Opcode code, const Operand& x, const Operand& y, bool is_fast) {
  const Scalar scalar = x.scalar;
  if (is_float(scalar)) {
    return from_float(float_binary(code, scalar, to_float(x.expr, scalar), to_float(y.expr, scalar), is_fast), scalar);
  }
  if (scalar == Scalar::kBoolean) return boolean_binary(code, x.expr, y.expr);
  return integer_binary(code, x, y);
}

// A Boolean is 0 or 1, and what is not 0 becomes 1.
Expr Arithmetic::boolean_binary(Opcode code, const Expr& x, const Expr& y) {
  switch (code) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kMax:
      return infix(x, "||", y, Level::kOr);
    case Opcode::kSub:
    case Opcode::kXor:
      return infix(x, "!=", y, Level::kEquality);
    case Opcode::kMul:
    case Opcode::kAnd:
    case Opcode::kMin:
      return infix(x, "&&", y, Level::kAnd);
    case Opcode::kDiv:
    case Opcode::kFloorDiv:
      return x;
    case Opcode::kPow:
      return {concat(within(x, Level::kPrimary), " || !", within(y, Level::kPrimary)), Level::kOr};
    default:
      return {"false"};
  }
}

Expr Arithmetic::integer_binary(Opcode code, const Operand& x, const Operand& y) {
  const Scalar scalar = x.scalar;
  const Expr a = plain(x.expr, scalar), b = plain(y.expr, scalar);
  if (const Operand* negative = negates(code, x, y); negative != nullptr && has_int_arithmetic(scalar)) {
    return negated_narrow(*negative);
  }
  switch (code) {
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
      return sum_or_product(code, x, y);
    case Opcode::kDiv:
    case Opcode::kRem:
    case Opcode::kFloorDiv:
    case Opcode::kFloorMod:
      return divided(code, x, y);
    case Opcode::kMin:
    case Opcode::kMax: {
      const std::string_view name = code == Opcode::kMin ? "min" : "max";
      if (!has_int_arithmetic(scalar)) return call(name, {a.text, b.text});
      return narrowed(call(name, {concat("int(", a.text, ")"), concat("int(", b.text, ")")}), scalar);
    }
    case Opcode::kPow:
      need("tilewright/lang_integer.cuh");
      return narrowed(call(concat("power<", value_type(scalar), ">"), {a.text, b.text}), scalar);
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor: {
      const Expr result = infix(a, symbol_of(code), b, Level::kBits);
      return has_int_arithmetic(scalar) ? narrowed(result, scalar) : result;
    }
    default:
      throw ProgramError(concat(facts(code).text, " is an operation on floating-point numbers, not on ",
                                facts(scalar).text, "; convert the operands first"));
  }
}

// What 0 - x, x * -1 and x / -1 negate; nullptr for other operations.
const Operand* Arithmetic::negates(Opcode code, const Operand& x, const Operand& y) {
  const auto is = [this](const Operand& operand, int number) {
    const Range known = range(operand);
    return known.low == number && known.high == number;
  };
  if (code == Opcode::kSub && is(x, 0)) return &y;
  if (code == Opcode::kMul && is(x, -1)) return &y;
  const bool scales = code == Opcode::kMul || code == Opcode::kDiv || code == Opcode::kFloorDiv;
  return scales && is(y, -1) ? &x : nullptr;
}

// Where it may be the least number, by the function that says why.
Expr Arithmetic::negated_narrow(const Operand& x) {
  const Expr value = plain(x.expr, x.scalar);
  if (!is_signed(x.scalar) || x.scalar == Scalar::kInt4 || range(x).low > Ranges::all_of(x.scalar).low) {
    return narrowed({"-" + within(value, Level::kPrimary)}, x.scalar);
  }
  need("tilewright/lang_integer.cuh");
  return call(concat("negated<", value_type(x.scalar), ">"), {value.text});
}

// C++'s int must not overflow. Where it might, the numbers are taken as unsigned, which wrap around.
Expr Arithmetic::sum_or_product(Opcode code, const Operand& x, const Operand& y) {
  const Scalar scalar = x.scalar;
  const Level level = level_of(code);
  const std::string_view symbol = symbol_of(code);
  const auto joined = [&](const Expr& a, const Expr& b) { return infix(a, symbol, b, level); };
  if (has_int_arithmetic(scalar)) {
    // Sums of two narrow ones fit an int, products of two 16-bit ones need not.
    const Expr a = plain(x.expr, scalar), b = plain(y.expr, scalar);
    const bool is_large = code == Opcode::kMul && width_of(scalar) == 16;
    return narrowed(joined(is_large ? call("uint32", {a.text}) : a, b), scalar);
  }
  if (!is_signed(scalar)) return joined(x.expr, y.expr);
  const Range exact = Ranges::exact(code, range(x), range(y)), all = Ranges::all_of(scalar);
  if (exact.low >= all.low && exact.high <= all.high) {
    return joined(plain(x.expr, scalar), plain(y.expr, scalar));
  }
  Expr a = x.expr, b = y.expr;
  if (!a.is_wrapped && !b.is_wrapped) {
    // One unsigned operand makes the other one unsigned, too: a constant, where there is one.
    const std::string_view suffix = width_of(scalar) == 64 ? "ull" : "u";
    const auto is_natural = [](const Range& known) { return known.low == known.high && known.low >= 0; };
    const Range left = range(x), right = range(y);
    if (is_natural(right)) {
      b = {tilewright::to_string(right.low) + std::string(suffix)};
    } else if (is_natural(left)) {
      a = {tilewright::to_string(left.low) + std::string(suffix)};
    } else {
      a = call(unsigned_type(scalar), {a.text});
    }
  }
  Expr result = joined(a, b);
  result.is_wrapped = true;
  return result;
}

Expr Arithmetic::divided(Opcode code, const Operand& x, const Operand& y) {
  const Scalar scalar = x.scalar;
  const Expr a = plain(x.expr, scalar), b = plain(y.expr, scalar);
  const bool is_remainder = code == Opcode::kRem || code == Opcode::kFloorMod;
  const bool floors = code == Opcode::kFloorDiv || code == Opcode::kFloorMod;
  const Range dividend = range(x), divisor = range(y);
  const auto natural = [&] {
    const Expr result = infix(a, symbol_of(code), b, Level::kProduct);
    return has_int_arithmetic(scalar) ? narrowed(result, scalar) : result;
  };
  if (!is_signed(scalar)) return natural();
  const bool is_minus_one_possible = divisor.low <= -1 && divisor.high >= -1;
  const bool overflows = is_minus_one_possible && dividend.low == Ranges::all_of(scalar).low;
  if (dividend.low >= 0 && divisor.low >= 0) return natural();
  if (!floors && (!overflows || has_int_arithmetic(scalar))) return natural();
  if (floors && divisor.low == divisor.high && divisor.low > 0 && (divisor.low & (divisor.low - 1)) == 0) {
    // Shifting to the right rounds down.
    int shift = 0;
    while ((Wide{1} << shift) != divisor.low) ++shift;
    const Expr count = {is_remainder ? tilewright::to_string(divisor.low - 1) : std::to_string(shift)};
    const Expr result = infix(a, is_remainder ? "&" : ">>", count, Level::kBits);
    return has_int_arithmetic(scalar) ? narrowed(result, scalar) : result;
  }
  need("tilewright/lang_integer.cuh");
  const std::string_view name = floors         ? is_remainder ? "floor_mod" : "floor_div"
                                : is_remainder ? "remainder"
                                               : "divide";
  return narrowed(call(concat(name, "<", value_type(scalar), ">"), {a.text, b.text}), scalar);
}

Expr Arithmetic::shift(Opcode code, const Operand& x, const Operand& y) {
  const Scalar scalar = x.scalar;
  const Range count = range(y);
  const Expr b = plain(y.expr, y.scalar);
  if (count.low < 0 || count.high >= width_of(scalar)) {
    need("tilewright/lang_integer.cuh");
    const std::string_view name = code == Opcode::kShl ? "shift_left" : "shift_right";
    return narrowed(call(concat(name, "<", value_type(scalar), ">"), {plain(x.expr, scalar).text, b.text}), scalar);
  }
  const Expr a = plain(x.expr, scalar);
  if (code == Opcode::kShr || (!has_int_arithmetic(scalar) && !is_signed(scalar))) {
    const Expr result = infix(a, code == Opcode::kShr ? ">>" : "<<", b, Level::kBits);
    return has_int_arithmetic(scalar) ? narrowed(result, scalar) : result;
  }
  // To the left C++20 shifts signed numbers as unsigned ones.
  const Expr result = infix(a, "<<", b, Level::kBits);
  return has_int_arithmetic(scalar) ? narrowed(result, scalar) : result;
}

Expr Arithmetic::compare(Opcode code, const Operand& x, const Operand& y) {
  const Expr a = is_float(x.scalar) ? to_float(x.expr, x.scalar) : plain(x.expr, x.scalar);
  const Expr b = is_float(x.scalar) ? to_float(y.expr, x.scalar) : plain(y.expr, x.scalar);
  return infix({a.text, a.level}, symbol_of(code), {b.text, b.level}, level_of(code));
}

Expr Arithmetic::fma(Scalar scalar, const Expr& x, const Expr& y, const Expr& z) {
  if (scalar == Scalar::kFloat32) return call("fmaf", {x.text, y.text, z.text});
  if (scalar == Scalar::kFloat64) return call("fma", {x.text, y.text, z.text});
  if (is_float(scalar)) {
    need("tilewright/lang_narrow.cuh");
    return call("multiply_add", {x.text, y.text, z.text});
  }
  const Operand product = {sum_or_product(Opcode::kMul, {x, scalar}, {y, scalar}), scalar};
  return sum_or_product(Opcode::kAdd, product, {z, scalar});
}

}  // namespace tilewright::program
