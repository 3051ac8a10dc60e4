// For which values of their dynamic integers the operations answer right.
//
// CuTe's answer to dynamic integers has a structure that only static integers decide, and the values of the dynamic
// ones decide whether it satisfies the law of the operation. A condition says when it does, as a predicate on all their
// values; docs/theory.md proves it. Nothing where none is derived.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra.hpp"
#include "predicate.hpp"

namespace tilewright {

struct Condition {
  std::vector<Unknown> unknowns;  // those of the predicate
  std::vector<int64_t> values;    // what they are in the operands
  Predicate predicate;            // where it holds, the answer is right
  std::string provided;           // where it does not, the answer is wrong, provided that this holds; empty: always

  bool exact() const { return provided.empty(); }
  // `exact if and only if n <= 128 or 128 | n, where n is size<0>(B), here 256`
  std::string text() const;
};

std::optional<Condition> composition_condition(LayoutView a, const Tiler& b);
std::optional<Condition> divide_condition(LayoutView a, const Tiler& b);
std::optional<Condition> product_condition(LayoutView a, const Tiler& b);
// Of one that is no tuple as cotarget, whose value does not matter.
std::optional<Condition> complement_condition(LayoutView a);

}  // namespace tilewright
