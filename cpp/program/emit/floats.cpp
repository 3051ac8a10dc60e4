// Arithmetic of floating-point numbers, and conversions.
#include "arithmetic.hpp"
#include "core/error.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

struct Named {
  Opcode code;
  std::string_view precise;  // C's name for double; with an f for float
  std::string_view fast;     // of float; where there is none, the precise one
};

constexpr Named kFunctions[] = {
    {Opcode::kAbs, "fabs", ""},
    {Opcode::kExp, "exp", "__expf"},
    {Opcode::kExp2, "exp2", "fast_exp2"},
    {Opcode::kLog, "log", "__logf"},
    {Opcode::kLog2, "log2", "__log2f"},
    {Opcode::kLog10, "log10", "__log10f"},
    {Opcode::kSqrt, "sqrt", "fast_sqrt"},
    {Opcode::kRsqrt, "rsqrt", "fast_rsqrt"},
    {Opcode::kSin, "sin", "__sinf"},
    {Opcode::kCos, "cos", "__cosf"},
    {Opcode::kTan, "tan", "__tanf"},
    {Opcode::kAsin, "asin", ""},
    {Opcode::kAcos, "acos", ""},
    {Opcode::kAtan, "atan", ""},
    {Opcode::kTanh, "tanh", "fast_tanh"},
    {Opcode::kErf, "erf", ""},
    {Opcode::kFloor, "floor", ""},
    {Opcode::kCeil, "ceil", ""},
};

bool is_own(std::string_view function) { return function.starts_with("fast_"); }

}  // namespace

Expr Arithmetic::mathematics(const Operation& operation, Scalar scalar, const Expr& x) {
  const bool is_double = scalar == Scalar::kFloat64;
  const bool fast = !operation.ints.empty() && operation.ints[0] == 1 && !is_double;
  if (operation.code == Opcode::kRcp) {
    if (!fast) return infix({is_double ? "1.0" : "1.0f"}, "/", x, Level::kProduct);
    need("tilewright/lang_math.cuh");
    return call("fast_rcp", {x.text});
  }
  for (const Named& function : kFunctions) {
    if (function.code != operation.code) continue;
    if (fast && !function.fast.empty()) {
      if (is_own(function.fast)) need("tilewright/lang_math.cuh");
      return call(function.fast, {x.text});
    }
    return call(concat(function.precise, is_double ? "" : "f"), {x.text});
  }
  throw ProgramError(concat(facts(operation.code).text, " is an operation on integers, not on ", facts(scalar).text,
                            "; convert the operand first"));
}

// x and y are of float for narrow scalars.
Expr Arithmetic::float_binary(Opcode code, Scalar scalar, const Expr& x, const Expr& y, bool is_fast) {
  const std::string_view f = scalar == Scalar::kFloat64 ? "" : "f";
  switch (code) {
    case Opcode::kAdd:
      return infix(x, "+", y, Level::kSum);
    case Opcode::kSub:
      return infix(x, "-", y, Level::kSum);
    case Opcode::kMul:
      return infix(x, "*", y, Level::kProduct);
    case Opcode::kDiv:
      if (is_fast && f == "f") return call("__fdividef", {x.text, y.text});
      return infix(x, "/", y, Level::kProduct);
    case Opcode::kRem:
      return call(concat("fmod", f), {x.text, y.text});
    case Opcode::kFloorDiv:
    case Opcode::kFloorMod:
      need("tilewright/lang_math.cuh");
      return call(code == Opcode::kFloorDiv ? "floor_div" : "floor_mod", {x.text, y.text});
    case Opcode::kPow:
      return call(concat("pow", f), {x.text, y.text});
    case Opcode::kAtan2:
      return call(concat("atan2", f), {x.text, y.text});
    case Opcode::kMin:
      return call(concat("fmin", f), {x.text, y.text});
    case Opcode::kMax:
      return call(concat("fmax", f), {x.text, y.text});
    default:
      throw ProgramError(concat(facts(code).text, " is an operation on integers, not on ", facts(scalar).text,
                                "; convert the operands first"));
  }
}

Expr Arithmetic::cast(const Operand& x, Scalar to) {
  const Scalar from = x.scalar;
  if (from == to) return x.expr;
  if (is_float(from)) {
    if (to == Scalar::kBoolean) return infix(to_float(x.expr, from), "!=", {"0"}, Level::kEquality);
    if (is_integer(to)) {
      need("tilewright/lang_cast.cuh");
      const Expr whole = call(concat("to_integer<", to == Scalar::kInt4 ? "Int4" : value_type(to), ">"),
                              {to_float(x.expr, from).text});
      return whole;
    }
    if (!is_narrow(to)) {
      const Expr value = to_float(x.expr, from);
      return is_narrow(from) && to == Scalar::kFloat32 ? value : call(value_type(to), {value.text});
    }
    return from_float(is_narrow(from) ? to_float(x.expr, from) : x.expr, to);
  }
  if (is_float(to)) {
    const Expr value = plain(x.expr, from);
    if (!is_narrow(to)) return call(value_type(to), {value.text});
    // Integers that a float does not hold are rounded once all the same.
    need("tilewright/lang_narrow.cuh");
    if (width_of(from) <= 16) return from_float(call("float", {value.text}), to);
    need("tilewright/lang_cast.cuh");
    return from_float(call("to_odd_float", {value.text}), to);
  }
  if (to == Scalar::kBoolean) return infix(plain(x.expr, from), "!=", {"0"}, Level::kEquality);
  if (to == Scalar::kInt4) return call("wrap4", {plain(x.expr, from).text});
  // A wrapped expression of the same width has the bits already.
  if (x.expr.is_wrapped && width_of(from) >= width_of(to)) return call(value_type(to), {x.expr.text});
  return call(value_type(to), {plain(x.expr, from).text});
}

Expr Arithmetic::bitcast(const Operand& x, Scalar to) {
  if (x.scalar == to) return x.expr;
  const Expr value = plain(x.expr, x.scalar);
  if (is_integer(x.scalar) && is_integer(to) && to != Scalar::kBoolean && to != Scalar::kInt4) {
    return call(value_type(to), {value.text});
  }
  if (is_sub_byte(x.scalar) && is_sub_byte(to)) {
    if (to == Scalar::kInt4) return call("wrap4", {value.text + ".bits"});
    return {concat("Float4E2M1{uint8(", value.text, " & 15)}")};
  }
  return call("__builtin_bit_cast", {value_type(to), value.text});
}

}  // namespace tilewright::program
