#include "symbols.hpp"

namespace tilewright::program {

ValueId BuilderSymbols::binary(Opcode code, ValueId a, ValueId b) {
  return builder_.add_one({code, {a, b}, {}, {}, {}, {}, {}});
}

// Where the sum or product has to fit: layouts do not mean what is left of it otherwise.
ValueId BuilderSymbols::fitting(Opcode code, ValueId a, ValueId b) {
  return builder_.add_one({code, {a, b}, {}, {}, {}, {}, std::string(kHasToFit)});
}

ValueId BuilderSymbols::value_of(const Node& node, Scalar scalar) {
  if (!node.is_symbolic()) return builder_.integer(scalar, node.value);
  const auto id = static_cast<ValueId>(node.value);
  return builder_.add_one({Opcode::kCast, {id}, {number(scalar)}, {}, {}, {}, {}});
}

int64_t BuilderSymbols::apply(SymbolicOp op, const Node& a, const Node& b, bool wide) {
  const Scalar scalar = wide ? Scalar::kInt64 : Scalar::kInt32;
  const ValueId x = value_of(a, scalar), y = value_of(b, scalar);
  const auto constant = [&](int64_t value) { return builder_.integer(scalar, value); };
  const auto sign = [&] {
    const ValueId zero = constant(0);
    const ValueId below =
        builder_.add_one({Opcode::kSelect, {binary(Opcode::kLt, x, zero), constant(-1), zero}, {}, {}, {}, {}, {}});
    return builder_.add_one({Opcode::kSelect, {binary(Opcode::kGt, x, zero), constant(1), below}, {}, {}, {}, {}, {}});
  };
  switch (op) {
    case SymbolicOp::kAdd:
      return fitting(Opcode::kAdd, x, y);
    case SymbolicOp::kMul:
      return fitting(Opcode::kMul, x, y);
    case SymbolicOp::kDiv:
      return binary(Opcode::kDiv, x, y);
    case SymbolicOp::kMod:
      return binary(Opcode::kRem, x, y);
    case SymbolicOp::kMin:
      return binary(Opcode::kMin, x, y);
    case SymbolicOp::kMax:
      return binary(Opcode::kMax, x, y);
    case SymbolicOp::kAnd:
      return binary(Opcode::kAnd, x, y);
    case SymbolicOp::kXor:
      return binary(Opcode::kXor, x, y);
    case SymbolicOp::kShr:
      return binary(Opcode::kShr, x, y);
    case SymbolicOp::kAbs:
      return builder_.add_one({Opcode::kAbs, {x}, {}, {}, {}, {}, {}});
    case SymbolicOp::kSign:
      return sign();
    case SymbolicOp::kWiden:
      return x;
    case SymbolicOp::kCeilDiv:
    case SymbolicOp::kShapeDiv: {
      // y is positive. Nothing on the way is larger than x: x + y - 1 might not fit.
      const ValueId is_cut = binary(Opcode::kGt, binary(Opcode::kRem, x, y), constant(0));
      const ValueId one_more = builder_.add_one({Opcode::kCast, {is_cut}, {number(scalar)}, {}, {}, {}, {}});
      return binary(Opcode::kAdd, binary(Opcode::kDiv, x, y), one_more);
    }
  }
  throw ProgramError("no such operation on symbolic integers");
}

int64_t BuilderSymbols::swizzle(const Node& offset, int64_t y_mask, int64_t shift) {
  const Scalar scalar = offset.is_wide() ? Scalar::kInt64 : Scalar::kInt32;
  const ValueId x = value_of(offset, scalar);
  const ValueId bits = binary(Opcode::kAnd, x, builder_.integer(scalar, y_mask));
  const ValueId moved =
      binary(shift >= 0 ? Opcode::kShr : Opcode::kShl, bits, builder_.integer(scalar, shift >= 0 ? shift : -shift));
  return binary(Opcode::kXor, x, moved);
}

}  // namespace tilewright::program
