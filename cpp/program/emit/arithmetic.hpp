// Operations on scalars as expressions of C++.
#pragma once

#include <set>
#include <vector>

#include "range.hpp"
#include "text.hpp"

namespace tilewright::program {

// Headers of the device library that a kernel needs, in the order of inclusion.
using Headers = std::set<std::string_view>;

struct Operand {
  Expr expr;
  Scalar scalar;
  ValueId id = kNoValue;  // of a scalar value, of which more may be known
};

class Arithmetic {
 public:
  Arithmetic(Ranges& ranges, Headers& headers) : ranges_(ranges), headers_(headers) {}

  // Of the families unary, binary, shift, compare, select, fma and cast; of vectors, for one element.
  Expr apply(const Operation& operation, const std::vector<Operand>& x, Scalar result);
  // x op y of a reduction.
  Expr reduce(std::string_view operation, Scalar scalar, const Expr& x, const Expr& y);
  Expr cast(const Operand& x, Scalar to);
  // As a value of the scalar's own type.
  Expr plain(const Expr& x, Scalar scalar) const;
  // For `as<float>(x)` where narrow floats are computed with.
  Expr to_float(const Expr& x, Scalar scalar);
  Expr from_float(const Expr& x, Scalar scalar);
  void need(std::string_view header) { headers_.insert(header); }

 private:
  Expr unary(const Operation& operation, const Operand& x);
  Expr binary(Opcode code, const Operand& x, const Operand& y, bool is_fast);
  Expr integer_binary(Opcode code, const Operand& x, const Operand& y);
  Expr float_binary(Opcode code, Scalar scalar, const Expr& x, const Expr& y, bool is_fast);
  Expr boolean_binary(Opcode code, const Expr& x, const Expr& y);
  const Operand* negates(Opcode code, const Operand& x, const Operand& y);
  Expr negated_narrow(const Operand& x);
  Expr sum_or_product(Opcode code, const Operand& x, const Operand& y);
  Expr divided(Opcode code, const Operand& x, const Operand& y);
  Expr shift(Opcode code, const Operand& x, const Operand& y);
  Expr compare(Opcode code, const Operand& x, const Operand& y);
  Expr mathematics(const Operation& operation, Scalar scalar, const Expr& x);
  Expr fma(Scalar scalar, const Expr& x, const Expr& y, const Expr& z);
  Expr bitcast(const Operand& x, Scalar to);
  // An integer of C++'s int in the scalar's own type, which is narrower.
  Expr narrowed(const Expr& x, Scalar scalar) const;
  Range range(const Operand& x) { return x.id == kNoValue ? Ranges::all_of(x.scalar) : ranges_.of(x.id); }

  Ranges& ranges_;
  Headers& headers_;
};

}  // namespace tilewright::program
