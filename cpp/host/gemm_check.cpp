#include "gemm_check.hpp"

#include <algorithm>
#include <set>

namespace tilewright::host {

namespace {

constexpr std::size_t kShown = 8;

// Which coordinate of the tile a place of shared memory holds.
struct Owner {
  int32_t row = -1;
  int32_t k = -1;
  bool exists() const { return row >= 0; }
};

std::vector<Owner> owners_of(const Operand& operand, const std::string& name, GemmReport& report) {
  std::vector<Owner> owners(static_cast<std::size_t>(operand.stage_elements));
  const Accesses& load = operand.load;
  for (int64_t i = 0; i < load.count(); ++i) {
    if (!load.is_there(i)) continue;
    for (int64_t e = 0; e < load.width; ++e) {
      const auto c = load.at(i, e);
      Owner& owner =
          owners[static_cast<std::size_t>(operand.smem.values[static_cast<std::size_t>(i * load.width + e)])];
      if (owner.exists()) report["race_" + name].add({c[0], c[1]});
      owner = {static_cast<int32_t>(c[0]), static_cast<int32_t>(c[1])};
    }
  }
  return owners;
}

// cp.async copies to one aligned place; the other kinds put elements anywhere (TMA where tma_offsets says).
void look_at_shared_alignment(const Operand& operand, int64_t bytes, int64_t stages, const std::string& name,
                              GemmReport& report) {
  const Accesses& load = operand.load;
  if (load.kind != Access::cp_async) return;
  const int64_t size = load.width * bytes;
  const bool stages_fit = stages == 1 || operand.stage_elements * bytes % size == 0;
  for (int64_t i = 0; i < load.count(); ++i) {
    if (!load.is_there(i)) continue;
    const int32_t* const places = operand.smem.values.data() + i * load.width;
    bool fits = stages_fit && places[0] * bytes % size == 0 && (size == 4 || size == 8 || size == 16);
    for (int64_t e = 1; e < load.width; ++e) fits = fits && places[e] == places[0] + e;
    if (!fits) report["misaligned_shared_" + name].add({load.at(i, 0)[0], load.at(i, 0)[1]});
  }
}

class Vote {
 public:
  void add(int64_t value) { ++counts_[value]; }
  // The value that came most often, the smallest of several; -1 without any.
  int64_t winner() const {
    int64_t best = -1, most = 0;
    for (const auto& [value, count] : counts_) {
      if (count > most) best = value, most = count;
    }
    return best;
  }

 private:
  std::map<int64_t, int64_t> counts_;
};

// f(row among the group's rows, step of the sum, who, place) for each element of an operand that a group holds; `who`
// is the thread, or, where the MMA reads shared memory itself, the group's m or n.
template <class F>
void for_each_element(const Operand& operand, const std::optional<Array>& tv, const Group& group, int64_t at,
                      int64_t atom_rows, int64_t atom_k, F&& f) {
  const Array& table = operand.fragment ? *operand.fragment : *operand.matrix;
  const int64_t atoms = table.size(1), atoms_k = table.size(2);
  for (int64_t i = 0; i < atoms; ++i) {
    for (int64_t j = 0; j < atoms_k; ++j) {
      if (operand.matrix) {
        const int32_t* place = table.values.data() + ((at * atoms + i) * atoms_k + j) * atom_rows * atom_k;
        for (int64_t row = 0; row < atom_rows; ++row) {
          for (int64_t k = 0; k < atom_k; ++k) f(i * atom_rows + row, j * atom_k + k, at, *place++);
        }
        continue;
      }
      for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
        const int64_t thread = group.thread[lane], values = tv->size(1);
        for (int64_t v = 0; v < values; ++v) {
          const int64_t index = tv->values[lane * static_cast<std::size_t>(values) + static_cast<std::size_t>(v)];
          const int32_t place =
              table.values[static_cast<std::size_t>(((thread * atoms + i) * atoms_k + j) * values + v)];
          f(i * atom_rows + index % atom_rows, j * atom_k + index / atom_rows, thread, place);
        }
      }
    }
  }
}

// f(row of A, row of B among the group's rows, thread, m, n in the tile) for each accumulator.
template <class F>
void for_each_accumulator(const Mma& mma, const Group& group, F&& f) {
  for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
    const int64_t thread = group.thread[lane];
    const int32_t* coord = mma.c_coord.values.data() + thread * mma.accumulators() * 2;
    for (int64_t i = 0; i < mma.atoms_m(); ++i) {
      for (int64_t j = 0; j < mma.atoms_n(); ++j) {
        for (int64_t v = 0; v < mma.values(); ++v, coord += 2) {
          const int64_t index = mma.c.values[static_cast<std::size_t>(static_cast<int64_t>(lane) * mma.values() + v)];
          f(i * mma.shape[0] + index % mma.shape[0], j * mma.shape[1] + index / mma.shape[0], thread, coord[0],
            coord[1]);
        }
      }
    }
  }
}

std::vector<int64_t> winners(const std::vector<Vote>& votes) {
  std::vector<int64_t> result;
  for (const Vote& vote : votes) result.push_back(vote.winner());
  return result;
}

// Direct stores name accumulators; others go through the image, round by round.
void look_at_store(const GemmTables& tables, GemmReport& report) {
  const Store& store = tables.store;
  const Mma& mma = tables.mma;
  const Accesses& accesses = store.accesses;
  const int64_t accumulators = mma.accumulators(), per_thread = accesses.coord.size(1);
  const int32_t* const coords = mma.c_coord.values.data();
  const auto differs = [&](int64_t sum, const std::array<int64_t, 2>& c) {
    return coords[2 * sum] != c[0] || coords[2 * sum + 1] != c[1];
  };
  std::set<int64_t> slices, added;  // the k of all threads; of those whose sums are added up
  for (int64_t t = 0; t < mma.threads(); ++t) slices.insert(mma.k_of(t));
  std::vector<int64_t> image(static_cast<std::size_t>(store.image_elements), -1);
  for (int64_t round = 0; round < store.rounds; ++round) {
    std::fill(image.begin(), image.end(), -1);
    for (int64_t i = 0; store.smem_write && i < mma.threads() * accumulators; ++i) {
      if (store.written_in(static_cast<std::size_t>(i)) != round) continue;
      int64_t& sum = image[static_cast<std::size_t>(store.smem_write->values[static_cast<std::size_t>(i)])];
      if (sum >= 0) report["race_store"].add({coords[2 * i], coords[2 * i + 1]});
      sum = i;
    }
    for (int64_t i = 0; i < accesses.count(); ++i) {
      if (!accesses.is_there(i) || store.read_in(static_cast<std::size_t>(i)) != round) continue;
      for (int64_t e = 0; e < accesses.width; ++e) {
        const auto c = accesses.at(i, e);
        const auto entry = static_cast<std::size_t>(i * accesses.width + e);
        int64_t sums = 0;
        added.clear();
        const auto look_at = [&](int64_t sum) {
          ++sums;
          if (sum < 0) {
            report["uninitialised_store"].add({c[0], c[1]});
          } else if (differs(sum, c)) {
            report["wrong_store"].add({c[0], c[1]});
          } else {
            added.insert(mma.k_of(sum / accumulators));
          }
        };
        look_at(store.value ? i / per_thread * accumulators + store.value->values[entry]
                            : image[static_cast<std::size_t>(store.smem_read->values[entry])]);
        store.for_each_added(entry, [&](std::size_t place) { look_at(image[place]); });
        if (added != slices || sums != static_cast<int64_t>(slices.size())) report["wrong_sum"].add({c[0], c[1]});
      }
    }
  }
}

}  // namespace

void GemmFinding::add(std::vector<int64_t> coord) {
  ++count;
  if (first.size() < kShown) first.push_back(std::move(coord));
}

Meaning check_layouts(const GemmTables& tables, const std::vector<Group>& groups, int64_t a_bytes, int64_t b_bytes,
                      GemmReport& report) {
  const Mma& mma = tables.mma;
  const std::vector<Owner> a = owners_of(tables.a, "a", report), b = owners_of(tables.b, "b", report);
  look_at_shared_alignment(tables.a, a_bytes, tables.pipeline.stages, "a", report);
  look_at_shared_alignment(tables.b, b_bytes, tables.pipeline.stages, "b", report);

  // What each element is multiplied as.
  Meaning meaning;
  std::map<int64_t, std::vector<Vote>> k_votes;
  const auto elements = [&](bool is_a, const Group& group, auto&& f) {
    for_each_element(is_a ? tables.a : tables.b, is_a ? mma.a : mma.b, group, is_a ? group.m : group.n,
                     mma.shape[is_a ? 0 : 1], mma.shape[2], f);
  };
  for (const Group& group : groups) {
    std::vector<Vote> rows_a(static_cast<std::size_t>(mma.atoms_m() * mma.shape[0]));
    std::vector<Vote> rows_b(static_cast<std::size_t>(mma.atoms_n() * mma.shape[1]));
    for_each_accumulator(mma, group, [&](int64_t row_a, int64_t row_b, int64_t, int64_t m, int64_t n) {
      rows_a[static_cast<std::size_t>(row_a)].add(m);
      rows_b[static_cast<std::size_t>(row_b)].add(n);
    });
    meaning.rows_a.push_back(winners(rows_a));
    meaning.rows_b.push_back(winners(rows_b));
    std::vector<Vote>& steps = k_votes[group.k];
    steps.resize(static_cast<std::size_t>(tables.atoms_k() * mma.shape[2]));
    for (const bool is_a : {true, false}) {
      elements(is_a, group, [&](int64_t, int64_t step, int64_t, int32_t place) {
        const Owner& owner = (is_a ? a : b)[static_cast<std::size_t>(place)];
        if (owner.exists()) steps[static_cast<std::size_t>(step)].add(owner.k);
      });
    }
  }
  for (const auto& [slice, votes] : k_votes) meaning.k[slice] = winners(votes);

  // Whether all that take part hold what it means.
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for_each_accumulator(mma, groups[g], [&](int64_t row_a, int64_t row_b, int64_t thread, int64_t m, int64_t n) {
      const bool fits = meaning.rows_a[g][static_cast<std::size_t>(row_a)] == m &&
                        meaning.rows_b[g][static_cast<std::size_t>(row_b)] == n;
      if (!fits) report["wrong_accumulator"].add({thread, m, n});
    });
    for (const bool is_a : {true, false}) {
      const std::vector<int64_t>& rows = (is_a ? meaning.rows_a : meaning.rows_b)[g];
      elements(is_a, groups[g], [&](int64_t row, int64_t step, int64_t who, int32_t place) {
        const Owner& owner = (is_a ? a : b)[static_cast<std::size_t>(place)];
        const int64_t m = rows[static_cast<std::size_t>(row)], k = meaning.k_of(groups[g], step);
        if (!owner.exists() || (owner.row == m && owner.k == k)) return;
        report[is_a ? "wrong_a" : "wrong_b"].add({who, m, k});
      });
    }
  }
  std::vector<int64_t> summed(static_cast<std::size_t>(tables.tile[2]));
  for (const auto& [slice, steps] : meaning.k) {
    for (const int64_t k : steps) {
      if (k >= 0 && ++summed[static_cast<std::size_t>(k)] == 2) report["k_summed_twice"].add({k});
    }
  }
  for (std::size_t k = 0; k < summed.size(); ++k) {
    if (summed[k] == 0) report["k_not_summed"].add({static_cast<int64_t>(k)});
  }
  look_at_store(tables, report);
  return meaning;
}

}  // namespace tilewright::host
