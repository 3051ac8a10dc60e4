// Executes a compiled plan.
#pragma once

#include <cstdint>

#include "tables.hpp"

namespace tilewright::host {

// Copies; the addresses are those of coordinate 0. `workers` threads at most; 0: as many as there are cores and the
// amount of data is worth.
void run(const Tables& tables, uint64_t src_address, uint64_t dst_address, int64_t workers);

}  // namespace tilewright::host
