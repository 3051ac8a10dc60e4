#include <algorithm>
#include <memory>

#include "core/error.hpp"
#include "gemm_accesses.hpp"
#include "gemm_check.hpp"
#include "gemm_epilogue.hpp"
#include "gemm_program.hpp"
#include "plan.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 32;  // of C: each has a mark of one byte

// One operand in shared memory, with the number of the K tile that wrote each place.
template <class T>
class Slots {
 public:
  Slots(const Operand& operand, const GemmTables& tables, const GemmProblem& problem, const GemmTensor& tensor,
        const char* name, bool move, GemmReport& report)
      : operand_(operand),
        problem_(problem),
        tensor_(tensor),
        rounding_(tables.rounding),
        decode_(decoder<T>(tensor.type)),
        move_(move),
        name_(name),
        report_(report),
        global_(operand.load, problem, tensor, name, report),
        values_(static_cast<std::size_t>(operand.stage_elements * tables.pipeline.stages)),
        writers_(values_.size(), -1) {}

  // K tile number `serial`, at (row, k) of a matrix, into a slot.
  void load(int64_t slot, int64_t serial, const std::array<int64_t, 2>& origin, int64_t batch) {
    const Accesses& accesses = operand_.load;
    for (int64_t i = 0; i < accesses.count(); ++i) {
      if (!accesses.is_there(i)) continue;
      global_.access(i, origin, batch, [&](int64_t e, const std::array<int64_t, 2>& c, bool is_done) {
        if (!is_done && !operand_.fill) return;
        const auto place = static_cast<std::size_t>(
            slot * operand_.stage_elements + operand_.smem.values[static_cast<std::size_t>(i * accesses.width + e)]);
        writers_[place] = serial;
        values_[place] = 0;
        if (is_done && move_) {
          values_[place] = rounded(decode_(reinterpret_cast<const uint8_t*>(global_.address(c, batch))), rounding_);
        }
      });
    }
  }

  // A register of K tile number `serial`, that is taken for the element c of a matrix.
  T read(int64_t slot, int64_t serial, int32_t offset, const std::array<int64_t, 2>& c, int64_t batch) {
    const auto place = static_cast<std::size_t>(slot * operand_.stage_elements + offset);
    // What no element of C comes from may be anything.
    if (writers_[place] != serial && c[0] < tensor_.extents[0]) {
      const char* const what = writers_[place] > serial ? "overwritten_" : "uninitialised_";
      report_[what + name_].add(coordinate(problem_, c[0], c[1], batch));
    }
    return values_[place];
  }

 private:
  const Operand& operand_;
  const GemmProblem& problem_;
  const GemmTensor& tensor_;
  Rounding rounding_;
  Decode<T> decode_;
  bool move_;
  std::string name_;
  GemmReport& report_;
  Global global_;
  std::vector<T> values_;
  std::vector<int64_t> writers_;
};

template <class T, class Compute>
class Check {
 public:
  Check(const GemmTables& tables, const GemmProblem& problem, bool move)
      : tables_(tables),
        mma_(tables.mma),
        problem_(problem),
        move_(move),
        groups_(groups_of(tables.mma)),
        meaning_(check_layouts(tables, groups_, bytes_of(problem.a.type), bytes_of(problem.b.type), report_)),
        a_(tables.a, tables, problem, problem.a, "a", move, report_),
        b_(tables.b, tables, problem, problem.b, "b", move, report_),
        c_(tables.store.accesses, problem, problem.c, "c", report_),
        sums_(static_cast<std::size_t>(mma_.threads() * mma_.accumulators())),
        image_(static_cast<std::size_t>(tables.store.image_elements)) {
    const int64_t most = kMaxElements / std::max<int64_t>(1, problem.m) / std::max<int64_t>(1, problem.n);
    if (!problem.empty() && problem.batches() > most) {
      throw PlanError("problem: C has more than 2^32 elements, too many to mark each");
    }
    written_.resize(static_cast<std::size_t>(problem.m * problem.n * problem.batches()));
  }

  GemmReport operator()() {
    for (const TileWork& tile : work_of(tables_, problem_)) {
      look_at_units(tile);
      std::vector<T> total;
      for (const auto& [first, count] : tile.units) {
        std::fill(sums_.begin(), sums_.end(), T{0});
        promoted_.assign(sums_.size(), T{0});
        unit(tile, first, count);
        if (total.empty()) {
          total = sums_;
        } else {
          add(total, sums_);
        }
      }
      sums_ = std::move(total);
      store(tile);
    }
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (written_[i] != 0) continue;
      const auto index = static_cast<int64_t>(i);
      report_["never_written"].add(
          coordinate(problem_, index % problem_.m, index / problem_.m % problem_.n, index / problem_.m / problem_.n));
    }
    return std::move(report_);
  }

 private:
  static T plus(T x, T y) {
    if constexpr (!std::is_integral_v<T>) return x + y;
    return static_cast<T>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }
  static T times(T x, T y) {
    if constexpr (!std::is_integral_v<T>) return x * y;
    return static_cast<T>(static_cast<uint32_t>(x) * static_cast<uint32_t>(y));
  }

  static void add(std::vector<T>& to, const std::vector<T>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = plus(to[i], from[i]);
  }

  // Each K tile must be summed once.
  void look_at_units(const TileWork& tile) {
    std::vector<int64_t> summed(static_cast<std::size_t>(k_tiles_of(tables_, problem_)));
    for (const auto& [first, count] : tile.units) {
      for (int64_t t = first; t < first + count; ++t) ++summed[static_cast<std::size_t>(t)];
    }
    for (std::size_t t = 0; t < summed.size(); ++t) {
      if (summed[t] == 1) continue;
      const auto at = static_cast<int64_t>(t);
      report_[summed[t] == 0 ? "k_tile_not_summed" : "k_tile_summed_twice"].add({tile.m, tile.n, tile.batch, at});
    }
  }

  // The steps of the pipeline. A load writes as early as it may, and a read comes as late as it may.
  void unit(const TileWork& tile, int64_t first, int64_t count) {
    const Pipeline& p = tables_.pipeline;
    const int64_t arrived = std::min(p.landed, std::max<int64_t>(p.ahead - 1, 0));
    for (int64_t t = 0; t < count && p.last_read > arrived; ++t) report_["not_arrived"].add({first + t});
    for (int64_t t = 0; t < std::min(p.ahead, count); ++t) load(tile, first, t);
    for (int64_t step = 0; step + p.first_read < count; ++step) {
      if (step + p.ahead < count) load(tile, first, step + p.ahead);
      const int64_t t = step + p.first_read;
      if (t < 0) continue;
      multiply_tile(tile, first, t);
      if (tables_.promote > 0 && (t + 1) % tables_.promote == 0) {
        add(promoted_, sums_);
        std::fill(sums_.begin(), sums_.end(), T{0});
      }
    }
    if (tables_.promote > 0) {
      add(promoted_, sums_);
      sums_.swap(promoted_);
    }
    serial_ += count;
  }

  int64_t k_of(int64_t k_tile) const { return first_k_of(tables_, problem_) + k_tile * tables_.tile[2]; }

  void load(const TileWork& tile, int64_t first, int64_t t) {
    const int64_t slot = t % tables_.pipeline.stages, k = k_of(first + t);
    a_.load(slot, serial_ + t, {tile.m * tables_.tile[0], k}, tile.batch);
    b_.load(slot, serial_ + t, {tile.n * tables_.tile[1], k}, tile.batch);
  }

  // Fills the registers of an operand of an atom, thread by thread, and gives them by (row, k) as the atom takes them.
  void fragment(Slots<T>& slots, bool is_a, const Group& group, const std::vector<int64_t>& rows, int64_t i, int64_t j,
                const TileWork& tile, int64_t t, int64_t k_tile, std::vector<T>& values) {
    const Operand& operand = is_a ? tables_.a : tables_.b;
    const Array& table = operand.fragment ? *operand.fragment : *operand.matrix;
    const int64_t atom_rows = mma_.shape[is_a ? 0 : 1], atom_k = mma_.shape[2], atoms = table.size(1);
    const int64_t origin = is_a ? tile.m * tables_.tile[0] : tile.n * tables_.tile[1];
    const auto get = [&](int64_t row, int64_t k, int32_t offset) {
      const int64_t at_row = rows[static_cast<std::size_t>(i * atom_rows + row)];
      const int64_t at_k = meaning_.k_of(group, j * atom_k + k);
      values[static_cast<std::size_t>(row + k * atom_rows)] = slots.read(
          t % tables_.pipeline.stages, serial_ + t, offset, {origin + at_row, k_of(k_tile) + at_k}, tile.batch);
    };
    if (operand.matrix) {
      const int64_t at = is_a ? group.m : group.n;
      const int32_t* place = table.values.data() + ((at * atoms + i) * table.size(2) + j) * atom_rows * atom_k;
      for (int64_t row = 0; row < atom_rows; ++row) {
        for (int64_t k = 0; k < atom_k; ++k) get(row, k, *place++);
      }
      return;
    }
    const Array& tv = is_a ? *mma_.a : *mma_.b;
    const int64_t count = tv.size(1);
    for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
      const int32_t* const registers =
          table.values.data() + ((group.thread[lane] * atoms + i) * table.size(2) + j) * count;
      for (int64_t v = 0; v < count; ++v) {
        const int32_t index = tv.values[lane * static_cast<std::size_t>(count) + static_cast<std::size_t>(v)];
        get(index % atom_rows, index / atom_rows, registers[v]);
      }
    }
  }

  void multiply_tile(const TileWork& tile, int64_t first, int64_t t) {
    const auto [atom_m, atom_n, atom_k] = mma_.shape;
    const int64_t atoms_k = tables_.atoms_k();
    const auto fragments = [&](int64_t atoms, int64_t rows) {
      return std::vector<std::vector<T>>(static_cast<std::size_t>(atoms * atoms_k),
                                         std::vector<T>(static_cast<std::size_t>(rows * atom_k)));
    };
    auto a = fragments(mma_.atoms_m(), atom_m), b = fragments(mma_.atoms_n(), atom_n);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      for (int64_t j = 0; j < atoms_k; ++j) {
        for (int64_t i = 0; i < mma_.atoms_m(); ++i) {
          fragment(a_, true, group, meaning_.rows_a[g], i, j, tile, t, first + t, a[index(i, j)]);
        }
        for (int64_t i = 0; i < mma_.atoms_n(); ++i) {
          fragment(b_, false, group, meaning_.rows_b[g], i, j, tile, t, first + t, b[index(i, j)]);
        }
        for (int64_t i = 0; i < mma_.atoms_m(); ++i) {
          for (int64_t n = 0; n < mma_.atoms_n(); ++n) atom(group, i, n, a[index(i, j)], b[index(n, j)]);
        }
      }
    }
  }
  std::size_t index(int64_t i, int64_t j) const { return static_cast<std::size_t>(i * tables_.atoms_k() + j); }

  // One MMA: each thread gets its values of C.
  void atom(const Group& group, int64_t i, int64_t j, const std::vector<T>& a, const std::vector<T>& b) {
    if (!move_) return;
    const auto [atom_m, atom_n, atom_k] = mma_.shape;
    for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
      T* const c = sums_.data() + group.thread[lane] * mma_.accumulators() + (i * mma_.atoms_n() + j) * mma_.values();
      for (int64_t v = 0; v < mma_.values(); ++v) {
        const int64_t at = mma_.c.values[static_cast<std::size_t>(static_cast<int64_t>(lane) * mma_.values() + v)];
        const int64_t m = at % atom_m, n = at / atom_m;
        for (int64_t k = 0; k < atom_k; ++k) {
          const T product =
              times(a[static_cast<std::size_t>(m + k * atom_m)], b[static_cast<std::size_t>(n + k * atom_n)]);
          c[v] = plus(c[v], product);
        }
      }
    }
  }

  void store(const TileWork& tile) {
    const Store& store = tables_.store;
    const Accesses& accesses = store.accesses;
    const Finish<T, Compute> finish(problem_, tile.batch);
    const int64_t accumulators = mma_.accumulators();
    for (int64_t round = 0; round < store.rounds; ++round) {
      for (std::size_t i = 0; store.smem_write && i < sums_.size(); ++i) {
        if (store.written_in(i) != round) continue;
        image_[static_cast<std::size_t>(store.smem_write->values[i])] = sums_[i];
      }
      for (int64_t i = 0; i < accesses.count(); ++i) {
        if (!accesses.is_there(i) || store.read_in(static_cast<std::size_t>(i)) != round) continue;
        const std::array<int64_t, 2> origin{tile.m * tables_.tile[0], tile.n * tables_.tile[1]};
        c_.access(i, origin, tile.batch, [&](int64_t e, const std::array<int64_t, 2>& c, bool is_done) {
          if (!is_done) return;
          mark(c, tile.batch);
          if (!move_) return;
          const auto entry = static_cast<std::size_t>(i * accesses.width + e);
          const int64_t thread = i / accesses.coord.size(1);
          T sum = store.value ? sums_[static_cast<std::size_t>(thread * accumulators + store.value->values[entry])]
                              : image_[static_cast<std::size_t>(store.smem_read->values[entry])];
          store.for_each_added(entry, [&](std::size_t place) { sum = plus(sum, image_[place]); });
          finish(sum, c[0], c[1]);
        });
      }
    }
  }

  void mark(const std::array<int64_t, 2>& c, int64_t batch) {
    uint8_t& count = written_[static_cast<std::size_t>((batch * problem_.n + c[1]) * problem_.m + c[0])];
    if (count == 1) report_["written_twice"].add(coordinate(problem_, c[0], c[1], batch));
    if (count < 2) ++count;
  }

  const GemmTables& tables_;
  const Mma& mma_;
  const GemmProblem& problem_;
  bool move_;
  GemmReport report_;
  std::vector<Group> groups_;
  Meaning meaning_;
  Slots<T> a_;
  Slots<T> b_;
  Global c_;
  int64_t serial_ = 0;   // of the unit's first K tile
  std::vector<T> sums_;  // [thread][accumulator]
  std::vector<T> promoted_;
  std::vector<T> image_;
  std::vector<uint8_t> written_;
};

}  // namespace

GemmReport check(const GemmTables& tables, const GemmProblem& problem, bool move) {
  if (problem.acc == Type::f64) return Check<double, double>(tables, problem, move)();
  if (problem.acc == Type::f32) return Check<float, float>(tables, problem, move)();
  if (problem.compute == Type::i32) return Check<int32_t, int32_t>(tables, problem, move)();
  return Check<int32_t, float>(tables, problem, move)();
}

}  // namespace tilewright::host
