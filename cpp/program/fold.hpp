// Operations on constants, and identities: what a value is without computing it.
#pragma once

#include <optional>
#include <string>

#include "program.hpp"

namespace tilewright::program {

// An integer's value from its pattern, and back; a pattern has the scalar's width.
int64_t value_of_bits(Scalar scalar, uint64_t bits);
uint64_t bits_of_value(Scalar scalar, int64_t value);
// Bits that a value of the scalar has in a register.
int width_of(Scalar scalar);

// x code y for integers of one scalar; none where it is not defined (a division by zero).
std::optional<int64_t> fold_binary(Opcode code, Scalar scalar, int64_t x, int64_t y);
// Whether the sum, difference or product is a number of the scalar.
bool fits(Opcode code, Scalar scalar, int64_t x, int64_t y);
// `the extents or offsets of a layout need 70000 * 70000, which is beyond Int32: ..`
std::string does_not_fit(Opcode code, Scalar scalar, const std::string& x, const std::string& y);
inline std::string does_not_fit(Opcode code, Scalar scalar, int64_t x, int64_t y) {
  return does_not_fit(code, scalar, std::to_string(x), std::to_string(y));
}
std::optional<bool> fold_compare(Opcode code, Scalar scalar, int64_t x, int64_t y);

}  // namespace tilewright::program
