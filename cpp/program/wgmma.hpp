// The operation wgmma: a warpgroup multiplies, asynchronously. For each m and n, over all k in order,
//
//   d[v,m,n] = (the Boolean ? d[v,m,n] : 0) + the sum of a[m,k] by b[n,k]
//
// where an instruction has 64 rows and N columns, thread 32 w + l of the warpgroup the rows 16 w to 16 w + 15. An
// operand in shared memory is named by where the unswizzled matrix of an instruction begins: access a has an element
// for each m and k, b one for each n and k. How the matrix lies from there on says its form, as the hardware's
// descriptor does. A group of them is under way until a wait lets it finish: it owns its registers, and reads shared
// memory.
#pragma once

#include <optional>

#include "program.hpp"

namespace tilewright::program {

struct Wgmma {
  // Of an operand in shared memory: distances in bytes, the bytes of the swizzle's span (0: none), and whether M or N
  // is the contiguous mode.
  struct Form {
    int64_t leading = 0, stride = 0, span = 0;
    bool is_mn_major = false;
  };
  int64_t n, k;                  // of an instruction
  int64_t rows, columns, depth;  // how many there are along M, N and K
  bool is_a_in_registers;
  Form a, b;

  // ints: n, k, rows, columns, depth, whether a is in registers, then each form.
  explicit Wgmma(const std::vector<int64_t>& ints);
  static constexpr std::size_t kInts = 14;
  static constexpr int64_t kRows = 64, kThreads = 128;

  int64_t values_a() const { return kRows * k / kThreads; }  // of a thread, where they are in registers
  int64_t values_d() const { return kRows * n / kThreads; }
};

// Bits 63 to 14 of the descriptor of a form.
uint64_t descriptor_of(const Wgmma::Form& form);

// What is wrong with the accesses and integers of the operation.
std::optional<std::string> wrong_with_wgmma(const Program& program, const std::vector<Access>& accesses,
                                            const std::vector<int64_t>& ints);

}  // namespace tilewright::program
