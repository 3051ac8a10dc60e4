// What composition answers where CuTe's conditions do not prove CuTe's answer: the decision of docs/theory.md.
#pragma once

#include <functional>

#include "modes.hpp"

namespace tilewright {

// A o B. `cute` is CuTe's answer, unproved, or null where CuTe rejects the operands for `cause`. Of static integers:
// the modes of CuTe's answer that are right, and the coarsest ones in place of the others. Throws where no layout is A
// o B, and where CuTe's answer to dynamic integers is wrong.
Layout decide(LayoutView a, LayoutView b, const Composed* cute, const std::function<std::string()>& cause);

}  // namespace tilewright
