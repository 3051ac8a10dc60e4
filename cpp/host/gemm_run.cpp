#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "gemm_epilogue.hpp"
#include "gemm_multiply.hpp"
#include "gemm_program.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kProductsOfWorker = int64_t{1} << 20;  // less does not pay for a thread's start
constexpr int64_t kMaxWorkers = 256;

// One operand's way from global memory to packed registers.
template <class T>
class Side {
 public:
  Side(const Operand& operand, const GemmTensor& tensor, const std::vector<Places>& places, const GemmTables& tables,
       int64_t k, int64_t rows)
      : load_(operand.load),
        smem_(operand.smem),
        fill_(operand.fill),
        tensor_(tensor),
        bytes_(bytes_of(tensor.type)),
        decode_(decoder<T>(tensor.type)),
        rounding_(tables.rounding),
        places_(places),
        stage_(operand.stage_elements),
        image_(static_cast<std::size_t>(operand.stage_elements * tables.pipeline.stages)),
        step_(static_cast<std::size_t>(k * rows)),
        packed_(places.size() * step_) {}

  // The tile at (row, k) of the matrix that begins at element `start` goes into a slot.
  void load(int64_t start, int64_t row, int64_t k, int64_t slot) {
    T* const image = image_.data() + slot * stage_;
    const auto* const base = reinterpret_cast<const uint8_t*>(tensor_.address);
    const auto inside = [&](const std::array<int64_t, 2>& c) {
      const int64_t r = row + c[0], kk = k + c[1];
      return r >= 0 && r < tensor_.extents[0] && kk >= 0 && kk < tensor_.extents[1];
    };
    for (int64_t i = 0; i < load_.count(); ++i) {
      if (!load_.is_there(i)) continue;
      const int32_t* const places = smem_.values.data() + i * load_.width;
      const std::array<int64_t, 2> first = load_.at(i, 0), last = load_.at(i, load_.width - 1);
      const bool starts_inside = inside(first), is_whole = starts_inside && inside(last);
      const int64_t offset = start + (row + first[0]) * tensor_.strides[0] + (k + first[1]) * tensor_.strides[1];
      const int64_t step = tensor_.strides[static_cast<std::size_t>(load_.mode)];
      const bool is_left_out = load_.predicate == Predicate::access && !starts_inside;
      for (int64_t e = 0; e < load_.width; ++e) {
        if (is_whole || (!is_left_out && inside(load_.at(i, e)))) {
          image[places[e]] = rounded(decode_(base + (offset + e * step) * bytes_), rounding_);
        } else if (fill_) {
          image[places[e]] = 0;
        }
      }
    }
  }

  // The registers of all groups.
  void pack(int64_t slot) {
    const T* const image = image_.data() + slot * stage_;
    T* to = packed_.data();
    for (const Places& places : places_) {
      for (const int32_t place : places) *to++ = image[place];
    }
  }
  const T* packed(std::size_t group) const { return packed_.data() + group * step_; }

 private:
  const Accesses& load_;
  const Array& smem_;
  bool fill_;
  const GemmTensor& tensor_;
  int64_t bytes_;
  Decode<T> decode_;
  Rounding rounding_;
  const std::vector<Places>& places_;
  int64_t stage_;
  std::vector<T> image_;
  std::size_t step_;
  std::vector<T> packed_;
};

class AnyWorker {
 public:
  virtual ~AnyWorker() = default;
  virtual void operator()(const TileWork& tile) = 0;
};

// Computes tiles of C, one after the other, with shared memory of its own.
template <class T, class Compute>
class Worker final : public AnyWorker {
 public:
  Worker(const GemmProgram& program, const GemmProblem& problem)
      : program_(program),
        problem_(problem),
        tables_(program.tables()),
        a_(tables_.a, problem.a, program.a_places(), tables_, program.k(), program.rows_a()),
        b_(tables_.b, problem.b, program.b_places(), tables_, program.k(), program.rows_b()),
        sums_(static_cast<std::size_t>(program.sums())),
        total_(sums_.size()),
        image_(static_cast<std::size_t>(tables_.store.image_elements)) {}

  void operator()(const TileWork& tile) override {
    bool is_first = true;
    for (const auto& [first, count] : tile.units) {
      add_unit(tile, first, count);
      if (is_first) {
        total_.swap(sums_);
      } else {
        add(total_, sums_);
      }
      is_first = false;
    }
    store(tile);
  }

 private:
  static T sum(T x, T y) {
    if constexpr (!std::is_integral_v<T>) return x + y;
    return static_cast<T>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }
  static void add(std::vector<T>& to, const std::vector<T>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = sum(to[i], from[i]);
  }

  // Leaves the sums of K tiles in sums_.
  void add_unit(const TileWork& tile, int64_t first, int64_t count) {
    std::fill(sums_.begin(), sums_.end(), T{0});
    if (tables_.promote == 0) {
      for (int64_t t = first; t < first + count; ++t) add_k_tile(tile, t);
      return;
    }
    promoted_.assign(sums_.size(), T{0});
    for (int64_t t = 0; t < count; ++t) {
      add_k_tile(tile, first + t);
      if ((t + 1) % tables_.promote == 0 || t + 1 == count) {
        add(promoted_, sums_);
        std::fill(sums_.begin(), sums_.end(), T{0});
      }
    }
    sums_.swap(promoted_);
  }

  void add_k_tile(const TileWork& tile, int64_t t) {
    const int64_t slot = t % tables_.pipeline.stages, k = first_k_of(tables_, problem_) + t * tables_.tile[2];
    a_.load(problem_.batch_offset(problem_.a, tile.batch), tile.m * tables_.tile[0], k, slot);
    b_.load(problem_.batch_offset(problem_.b, tile.batch), tile.n * tables_.tile[1], k, slot);
    a_.pack(slot);
    b_.pack(slot);
    for (const GemmProgram::GroupPlan& group : program_.groups()) {
      multiply(a_.packed(group.a), b_.packed(group.b), sums_.data() + group.first_sum, program_.k(), program_.rows_a(),
               program_.rows_b());
    }
  }

  void store(const TileWork& tile) {
    const Store& store = tables_.store;
    for (int64_t round = 0; round < store.rounds; ++round) {
      if (store.smem_write) fill_image(round);
      store_round(tile, round);
    }
  }

  void fill_image(int64_t round) {
    const Store& store = tables_.store;
    const int64_t accumulators = tables_.mma.accumulators();
    for (int64_t t = 0; t < tables_.mma.threads(); ++t) {
      for (int64_t v = 0; v < accumulators; ++v) {
        const auto i = static_cast<std::size_t>(t * accumulators + v);
        if (store.written_in(i) != round) continue;
        image_[static_cast<std::size_t>(store.smem_write->values[i])] = total_sum(t, v);
      }
    }
  }

  void store_round(const TileWork& tile, int64_t round) {
    const Finish<T, Compute> finish(problem_, tile.batch);
    const Store& store = tables_.store;
    const Accesses& accesses = store.accesses;
    const int64_t m = tile.m * tables_.tile[0], n = tile.n * tables_.tile[1], per_thread = accesses.coord.size(1);
    const auto inside = [&](const std::array<int64_t, 2>& c) { return m + c[0] < problem_.m && n + c[1] < problem_.n; };
    const int32_t* const sources = (store.value ? *store.value : *store.smem_read).values.data();
    for (int64_t i = 0; i < accesses.count(); ++i) {
      if (!accesses.is_there(i) || store.read_in(static_cast<std::size_t>(i)) != round) continue;
      for (int64_t e = 0; e < accesses.width; ++e) {
        const std::array<int64_t, 2> c = accesses.at(i, e);
        if (!inside(c)) continue;
        const int32_t source = sources[i * accesses.width + e];
        T value = store.value ? total_sum(i / per_thread, source) : image_[static_cast<std::size_t>(source)];
        store.for_each_added(static_cast<std::size_t>(i * accesses.width + e),
                             [&](std::size_t place) { value = sum(value, image_[place]); });
        finish(value, m + c[0], n + c[1]);
      }
    }
  }

  T total_sum(int64_t thread, int64_t accumulator) const {
    return total_[static_cast<std::size_t>(program_.sum_of(thread, accumulator))];
  }

  const GemmProgram& program_;
  const GemmProblem& problem_;
  const GemmTables& tables_;
  Side<T> a_;
  Side<T> b_;
  std::vector<T> sums_;
  std::vector<T> total_;
  std::vector<T> promoted_;
  std::vector<T> image_;
};

std::unique_ptr<AnyWorker> make_worker(const GemmProgram& program, const GemmProblem& problem) {
  if (problem.acc == Type::f64) return std::make_unique<Worker<double, double>>(program, problem);
  if (problem.acc == Type::f32) return std::make_unique<Worker<float, float>>(program, problem);
  if (problem.compute == Type::i32) return std::make_unique<Worker<int32_t, int32_t>>(program, problem);
  return std::make_unique<Worker<int32_t, float>>(program, problem);
}

int64_t workers_for(const GemmProblem& problem, int64_t tiles, int64_t asked) {
  const int64_t most = std::min(tiles, kMaxWorkers);
  if (asked > 0) return std::min(asked, most);
  const double products = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                          static_cast<double>(problem.k + 16) * static_cast<double>(problem.batches());
  if (products < 2.0 * kProductsOfWorker) return 1;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min(cores, most);
}

}  // namespace

void run(const GemmProgram& program, const GemmProblem& problem, int64_t asked) {
  const std::vector<TileWork> tiles = work_of(program.tables(), problem);
  if (tiles.empty()) return;
  const int64_t count = workers_for(problem, static_cast<int64_t>(tiles.size()), asked);
  std::vector<std::unique_ptr<AnyWorker>> workers;
  for (int64_t i = 0; i < count; ++i) workers.push_back(make_worker(program, problem));
  std::atomic<std::size_t> next{0};
  const auto work = [&](AnyWorker& worker) {
    for (std::size_t i; (i = next.fetch_add(1)) < tiles.size();) worker(tiles[i]);
  };
  std::vector<std::thread> threads;
  threads.reserve(workers.size() - 1);
  try {
    for (std::size_t i = 1; i < workers.size(); ++i) threads.emplace_back(work, std::ref(*workers[i]));
  } catch (const std::exception&) {  // no more threads to be had: those there are do the work
  }
  work(*workers[0]);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tilewright::host
