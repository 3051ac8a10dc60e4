// The complement of static modes that CuTe rejects because they overlap or interleave. docs/theory.md has the proofs.
#pragma once

#include "modes.hpp"

namespace tilewright {

// R, where copies of A at the offsets of R make up [0, end) and more, and no offset lies in two of them. The modes of A
// come by stride, all positive. Throws `cause` with two copies that meet where there is no such layout.
Modes covering(const Modes& modes, int64_t end, const std::string& cause);

// The same modes with each stride at the next multiple of what those below it fill: they have a covering complement.
Modes spread_out(const Modes& modes);

}  // namespace tilewright
