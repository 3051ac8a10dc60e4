#include "gemm_program.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "plan.hpp"

namespace tilewright::host {

namespace {

// The places of an operand for one group: `at` is the group's m or n.
Places places_of(const Operand& operand, const std::optional<Array>& tv, const Group& group, int64_t at,
                 int64_t atom_rows, int64_t atom_k, int64_t block) {
  const Array& table = operand.fragment ? *operand.fragment : *operand.matrix;
  const int64_t atoms = table.size(1), atoms_k = table.size(2);
  const int64_t rows = atoms * atom_rows, pitch = padded(rows, block);
  Places places(static_cast<std::size_t>(atoms_k * atom_k * pitch));
  const auto put = [&](int64_t i, int64_t j, int64_t row, int64_t k, int32_t place) {
    places[static_cast<std::size_t>((j * atom_k + k) * pitch + i * atom_rows + row)] = place;
  };
  for (int64_t i = 0; i < atoms; ++i) {
    for (int64_t j = 0; j < atoms_k; ++j) {
      if (operand.matrix) {
        const int32_t* const atom = table.values.data() + ((at * atoms + i) * atoms_k + j) * atom_rows * atom_k;
        for (int64_t row = 0; row < atom_rows; ++row) {
          for (int64_t k = 0; k < atom_k; ++k) put(i, j, row, k, atom[row * atom_k + k]);
        }
        continue;
      }
      const int64_t values = tv->size(1);
      for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
        const int32_t* const registers =
            table.values.data() + ((group.thread[lane] * atoms + i) * atoms_k + j) * values;
        for (int64_t v = 0; v < values; ++v) {
          const int32_t index = tv->values[lane * static_cast<std::size_t>(values) + static_cast<std::size_t>(v)];
          put(i, j, index % atom_rows, index / atom_rows, registers[v]);
        }
      }
    }
  }
  for (int64_t k = 0; k < atoms_k * atom_k; ++k) {
    const auto row = places.begin() + k * pitch;
    std::fill(row + rows, row + pitch, row[rows - 1]);
  }
  return places;
}

// Gives equal places one number.
class Distinct {
 public:
  std::size_t operator()(Places places, std::vector<Places>& all) {
    const auto [entry, is_new] = known_.try_emplace(std::move(places), all.size());
    if (is_new) all.push_back(entry->first);
    return entry->second;
  }

 private:
  std::map<Places, std::size_t> known_;
};

GemmTables checked(GemmTables tables) {
  check_tables(tables);
  return tables;
}

}  // namespace

GemmProgram::GemmProgram(GemmTables tables) : tables_(checked(std::move(tables))) {
  const Mma& mma = tables_.mma;
  const auto [atom_m, atom_n, atom_k] = mma.shape;
  k_ = tables_.atoms_k() * atom_k;
  rows_a_ = padded(mma.atoms_m() * atom_m, kBlockM);
  rows_b_ = padded(mma.atoms_n() * atom_n, kBlockN);
  sums_ = 0;
  sum_of_.resize(static_cast<std::size_t>(mma.threads() * mma.accumulators()));
  Distinct distinct_a, distinct_b;
  for (const Group& group : groups_of(mma)) {
    Places a = places_of(tables_.a, mma.a, group, group.m, atom_m, atom_k, kBlockM);
    Places b = places_of(tables_.b, mma.b, group, group.n, atom_n, atom_k, kBlockN);
    groups_.push_back({distinct_a(std::move(a), a_places_), distinct_b(std::move(b), b_places_), sums_});
    for (int64_t t = 0; t < mma.threads(); ++t) {
      const int32_t* const at = mma.thread.values.data() + 4 * t;
      if (at[1] != group.m || at[2] != group.n || at[3] != group.k) continue;
      auto sum = sum_of_.begin() + t * mma.accumulators();
      for (int64_t i = 0; i < mma.atoms_m(); ++i) {
        for (int64_t j = 0; j < mma.atoms_n(); ++j) {
          for (int64_t v = 0; v < mma.values(); ++v) {
            const int64_t index = mma.c.values[static_cast<std::size_t>(at[0] * mma.values() + v)];
            const int64_t row = i * atom_m + index % atom_m, column = j * atom_n + index / atom_m;
            *sum++ = static_cast<int32_t>(sums_ + row * rows_b_ + column);
          }
        }
      }
    }
    sums_ += rows_a_ * rows_b_;
  }
}

std::vector<TileWork> work_of(const GemmTables& tables, const GemmProblem& problem) {
  const int64_t tiles_m = tiles_of(problem.m, tables.tile[0]), tiles_n = tiles_of(problem.n, tables.tile[1]);
  const int64_t tiles_k = k_tiles_of(tables, problem), batches = problem.batches();
  std::vector<TileWork> tiles;
  if (problem.empty()) return tiles;
  constexpr int64_t kMaxTiles = int64_t{1} << 26;
  if (tiles_m > kMaxTiles / tiles_n || tiles_m * tiles_n > kMaxTiles / batches) {
    throw PlanError(concat("problem: ", tiles_m, " x ", tiles_n, " x ", batches, " tiles are more than 2^26"));
  }
  if (!tables.work) {
    tiles.reserve(static_cast<std::size_t>(tiles_m * tiles_n * batches));
    for (int64_t l = 0; l < batches; ++l) {
      for (int64_t n = 0; n < tiles_n; ++n) {
        for (int64_t m = 0; m < tiles_m; ++m) tiles.push_back({m, n, l, {{0, tiles_k}}});
      }
    }
    return tiles;
  }
  std::map<std::array<int64_t, 3>, std::size_t> known;
  for (int64_t u = 0; u < tables.work->size(0); ++u) {
    const int32_t* const unit = tables.work->values.data() + 5 * u;
    const std::array<int64_t, 3> at{unit[0], unit[1], unit[2]};
    const bool inside = at[0] >= 0 && at[0] < tiles_m && at[1] >= 0 && at[1] < tiles_n && at[2] >= 0 && at[2] < batches;
    if (!inside || unit[3] < 0 || unit[4] < 0 || unit[3] + int64_t{unit[4]} > tiles_k) {
      throw PlanError(concat("tables.work[", u, "] = (", unit[0], ", ", unit[1], ", ", unit[2], ", ", unit[3], ", ",
                             unit[4], ") lies outside of the ", tiles_m, " x ", tiles_n, " x ", batches, " tiles with ",
                             tiles_k, " K tiles each"));
    }
    const auto [entry, is_new] = known.try_emplace(at, tiles.size());
    if (is_new) tiles.push_back({at[0], at[1], at[2], {}});
    tiles[entry->second].units.push_back({unit[3], unit[4]});
  }
  return tiles;
}

}  // namespace tilewright::host
