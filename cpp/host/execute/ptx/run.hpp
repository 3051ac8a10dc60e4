// Inline PTX on the lanes of a warp.
#pragma once

#include "assembly.hpp"
#include "host/execute/code/code.hpp"

namespace tilewright::execute {

// The instruction's operands hold the assembly, and the slots of what it is given and, behind them, of its results.
Handler assembly_handler();

}  // namespace tilewright::execute
