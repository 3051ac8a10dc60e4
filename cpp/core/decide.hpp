// What composition answers where CuTe's conditions do not prove CuTe's answer: the decision of docs/theory.md.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "modes.hpp"

namespace tilewright {

// A o B. `cute` is CuTe's answer, unproved, or null where CuTe rejects the operands for `cause`. Of static integers:
// the modes of CuTe's answer that are right, and the coarsest ones in place of the others. The error where no layout is
// A o B, and where CuTe's answer to dynamic integers is wrong: a value, since to throw through all the steps of the
// decision would take longer than the decision.
using Decided = std::variant<Layout, LayoutError>;
Decided decide(LayoutView a, LayoutView b, const Composed* cute, const std::function<std::string()>& cause);

}  // namespace tilewright
