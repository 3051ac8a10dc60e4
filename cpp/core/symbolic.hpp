// Integers that nobody knows yet: the door from the algebra to the program that is being traced.
//
// A symbolic leaf is a dynamic Node whose value is the id of a value of that program. The operations of integer.hpp ask
// here for the id of their result; the structure of an answer depends on static facts alone, never on an id.
#pragma once

#include <cstdint>

#include "integer.hpp"

namespace tilewright {

enum class SymbolicOp {
  kAdd,
  kMul,
  kDiv,
  kMod,
  kCeilDiv,
  kMin,
  kMax,
  kAbs,
  kSign,
  kShapeDiv,
  kAnd,
  kXor,
  kShr,
  kWiden
};

class Symbols {
 public:
  virtual ~Symbols() = default;
  // The id of `a op b`; b is ignored where there is one operand. An operand that is not symbolic counts by its value.
  virtual int64_t apply(SymbolicOp op, const Node& a, const Node& b, bool wide) = 0;
  // The id of offset ^ ((offset & y_mask) shifted to the right by `shift`).
  virtual int64_t swizzle(const Node& offset, int64_t y_mask, int64_t shift) = 0;
};

// The program that this thread traces; nullptr at the prompt.
Symbols* symbols();
void set_symbols(Symbols* symbols);

// The leaf of a value of the program.
Node symbolic_int(int64_t id, int64_t divisor, bool wide);
// A symbolic leaf in 64 bits.
Node widened(const Node& a);
// a op b where one of them is symbolic, without its basis.
Node symbolic(SymbolicOp op, const Node& a, const Node& b, int64_t divisor);

}  // namespace tilewright
