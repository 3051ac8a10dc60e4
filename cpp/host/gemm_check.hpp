// Executes a GEMM plan thread by thread with a mark on every place of shared memory, and says what is wrong with it.
//
// Written for clearness, not for speed. It follows the tables register by register and shares no compiled form with
// GemmProgram, so each is an oracle for the other: the sums are the same, bit by bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gemm_problem.hpp"
#include "gemm_tables.hpp"

namespace tilewright::host {

struct GemmFinding {
  int64_t count = 0;
  std::vector<std::vector<int64_t>> first;  // a few

  void add(std::vector<int64_t> coord);
};

// By name, those of GemmReport in Python; what was not found is not there.
using GemmReport = std::map<std::string, GemmFinding>;

// What an element of an operand is multiplied as: the row in the tile for each row of a group's atoms, and the k in the
// tile for each step of the sum. Found by vote among all that take part, so that one wrong entry is the one named.
struct Meaning {
  std::vector<std::vector<int64_t>> rows_a;  // [group][atom along m * M + m of the atom]
  std::vector<std::vector<int64_t>> rows_b;
  std::map<int64_t, std::vector<int64_t>> k;  // [a group's k][atom along k * K + k of the atom]

  int64_t k_of(const Group& group, int64_t step) const { return k.at(group.k)[static_cast<std::size_t>(step)]; }
};

// What can be said without a problem: of the layouts alone.
Meaning check_layouts(const GemmTables& tables, const std::vector<Group>& groups, int64_t a_bytes, int64_t b_bytes,
                      GemmReport& report);

// `move`: compute C for real, as run() does; else addresses are only computed with. The tables have been checked.
GemmReport check(const GemmTables& tables, const GemmProblem& problem, bool move);

}  // namespace tilewright::host
