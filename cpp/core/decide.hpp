// What composition answers where CuTe's conditions do not prove CuTe's answer: the decision of docs/theory.md.
#pragma once

#include "modes.hpp"

namespace tilewright {

// The coordinates i of B that count: all, or those with B(i) in A, of which a division speaks.
enum class Where { kEverywhere, kInside };

// A o B: CuTe's answer where it is right; of static integers, else the modes of it that are right, and the coarsest
// ones in place of the others. Throws where no layout is A o B, and where CuTe's answer to dynamic integers is wrong.
Layout decided(LayoutView a, LayoutView b, Where where);

}  // namespace tilewright
