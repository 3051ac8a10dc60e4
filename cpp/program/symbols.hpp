// The algebra's symbolic integers as values of the program that is built.
#pragma once

#include "builder.hpp"
#include "core/symbolic.hpp"

namespace tilewright::program {

class BuilderSymbols final : public Symbols {
 public:
  explicit BuilderSymbols(Builder& builder) : builder_(builder) {}
  int64_t apply(SymbolicOp op, const Node& a, const Node& b, bool wide) override;
  int64_t swizzle(const Node& offset, int64_t y_mask, int64_t shift) override;
  // The node as a value of the given integer type.
  ValueId value_of(const Node& node, Scalar scalar);

 private:
  ValueId binary(Opcode code, ValueId a, ValueId b);
  ValueId fitting(Opcode code, ValueId a, ValueId b);
  Builder& builder_;
};

}  // namespace tilewright::program
