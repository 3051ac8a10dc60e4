// The tables of a plan, followed once from end to end, so that running them is gathers and small dense products:
//
//     fragment or matrix, and the atom's thread-value layout  ->  which place of shared memory is element (row, k) of
//     the
//                                                                operand that a group of threads multiplies
//     the accumulators' thread-value layout                   ->  which sum of the group is a thread's value
//
// A group is the threads of one atom, with all the atoms that they multiply: (rows of A) x (rows of B) sums.
#pragma once

#include <memory>
#include <vector>

#include "gemm_problem.hpp"
#include "gemm_tables.hpp"

namespace tilewright::host {

// The places in shared memory of one operand of a group: [k][row], rows padded by repeating the last one.
using Places = std::vector<int32_t>;

inline constexpr int64_t kBlockM = 4;  // sums are kept in blocks of so many rows of A and of B
inline constexpr int64_t kBlockN = 8;

inline constexpr int64_t padded(int64_t count, int64_t block) { return (count + block - 1) / block * block; }

// What the CTAs do: the units of work of each tile of C, tiles in the order of their first units.
struct TileWork {
  int64_t m, n, batch;                        // tile indices, batch index
  std::vector<std::array<int64_t, 2>> units;  // first K tile, number of K tiles
};
std::vector<TileWork> work_of(const GemmTables& tables, const GemmProblem& problem);

inline int64_t tiles_of(int64_t extent, int64_t tile) { return extent / tile + (extent % tile != 0 ? 1 : 0); }
inline int64_t k_tiles_of(const GemmTables& tables, const GemmProblem& problem) {
  return tiles_of(problem.k, tables.tile[2]);
}
// k of element 0 of K tile 0: negative where the first one is cut.
inline int64_t first_k_of(const GemmTables& tables, const GemmProblem& problem) {
  return tables.residue_first ? problem.k - k_tiles_of(tables, problem) * tables.tile[2] : 0;
}

class GemmProgram {
 public:
  // Raises PlanError for bad tables.
  explicit GemmProgram(GemmTables tables);

  const GemmTables& tables() const { return tables_; }
  struct GroupPlan {
    std::size_t a;  // index into a_places
    std::size_t b;
    int64_t first_sum;
  };
  const std::vector<GroupPlan>& groups() const { return groups_; }
  const std::vector<Places>& a_places() const { return a_places_; }
  const std::vector<Places>& b_places() const { return b_places_; }
  int64_t k() const { return k_; }            // products that are added up for one K tile
  int64_t rows_a() const { return rows_a_; }  // of a group, padded
  int64_t rows_b() const { return rows_b_; }
  int64_t sums() const { return sums_; }  // of all groups
  // Which sum is an accumulator of a thread.
  int32_t sum_of(int64_t thread, int64_t accumulator) const {
    return sum_of_[static_cast<std::size_t>(thread * tables_.mma.accumulators() + accumulator)];
  }

 private:
  GemmTables tables_;
  std::vector<GroupPlan> groups_;
  std::vector<Places> a_places_;
  std::vector<Places> b_places_;
  std::vector<int32_t> sum_of_;
  int64_t k_, rows_a_, rows_b_, sums_;
};

// Computes C; the addresses are those of the problem. `workers` CPU threads at most; 0: as many as there are cores and
// the amount of work is worth. Raises PlanError for work that lies outside of the problem.
void run(const GemmProgram& program, const GemmProblem& problem, int64_t workers);

}  // namespace tilewright::host
