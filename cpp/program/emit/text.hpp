// Expressions of C++ with what it takes to put them into others.
#pragma once

#include <string>
#include <string_view>

#include "program/type.hpp"

namespace tilewright::program {

// How tightly an expression binds, from the loosest. Of bit operations and shifts nobody remembers it: their operands
// are primary.
enum class Level : uint8_t { kTernary, kOr, kAnd, kEquality, kRelation, kBits, kSum, kProduct, kUnary, kPrimary };

struct Expr {
  std::string text;
  Level level = Level::kPrimary;
  // It has C++'s unsigned type of the scalar's width, in which integers wrap around; the value is its pattern.
  bool is_wrapped = false;
};

// The text where at least this tight an expression is expected.
std::string within(const Expr& expression, Level level);
Expr call(std::string_view function, std::initializer_list<std::string_view> arguments);
Expr infix(const Expr& x, std::string_view symbol, const Expr& y, Level level);

// The C++ type of a value of the scalar, and of an element of it in memory.
std::string_view value_type(Scalar scalar);
std::string_view memory_type(Scalar scalar);
// `unsigned` of the scalar's width, as which integers wrap around.
std::string_view unsigned_type(Scalar scalar);
// What a value of the type is declared as: `float`, `Vec<float, 4>`, `float*`.
std::string declared_type(const Type& type);
std::string pointer_type(const Type& type);
// Floats that have no arithmetic of their own: each operation is one of float, rounded.
inline bool is_narrow(Scalar scalar) {
  return is_float(scalar) && scalar != Scalar::kFloat32 && scalar != Scalar::kFloat64;
}
inline bool is_sub_byte(Scalar scalar) { return scalar == Scalar::kInt4 || scalar == Scalar::kFloat4E2M1FN; }

Expr literal(Scalar scalar, uint64_t bits);
// Text in quotes, as C++ reads it.
std::string quoted(std::string_view text);

}  // namespace tilewright::program
