#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "move.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kBytesOfWorker = int64_t{1} << 20;  // less does not pay for a thread's start
constexpr int64_t kMaxWorkers = 256;
constexpr int64_t kSharesOfWorker = 8;  // work is dealt out in so many pieces, for threads that are held up

// Runs CTAs one after the other, with a shared-memory image of its own.
class Worker {
 public:
  Worker(const Tables& tables, uint64_t src_address, uint64_t dst_address)
      : tables_(tables),
        g_(tables.geometry()),
        bytes_(g_.element_bytes),
        element_(*mover_of(bytes_)),
        src_(reinterpret_cast<const uint8_t*>(src_address)),
        dst_(reinterpret_cast<uint8_t*>(dst_address)),
        dst_element_(static_cast<int64_t>(dst_address / static_cast<uint64_t>(bytes_))),
        image_(new uint8_t[static_cast<std::size_t>(tables.image_bytes())]()) {}

  void operator()(int64_t first, int64_t last) noexcept {
    int64_t left = last - first;
    Coord tile{};
    std::array<std::size_t, kMaxRank> shares{};
    for (std::size_t m = 0; m < g_.rank; ++m) {
      tile[m] = first % g_.tiles[m];
      first /= g_.tiles[m];
      shares[m] = tables_.box_share(m, tile[m]);
    }
    while (left > 0) {
      std::size_t index = 0;
      for (std::size_t m = 0; m < g_.rank; ++m) {
        index += shares[m];
        origin_[m] = tile[m] * g_.tile[m];
      }
      int64_t done = 1;
      const Box& box = tables_.box(index);
      if (!tables_.staged()) {
        done = box.chained ? chained(box, left) : (direct(box), 1);
      } else {
        load(box);
        store(box);
      }
      left -= done;
      tile[tables_.fastest()] += done - 1;
      for (std::size_t m = 0; m < g_.rank; ++m) {
        if (++tile[m] == g_.tiles[m]) tile[m] = 0;
        shares[m] = tables_.box_share(m, tile[m]);
        if (tile[m] != 0) break;
      }
    }
  }

 private:
  // Where phase 1 or phase 2 of the CTA starts, in elements.
  int64_t base(const Coord& strides, const Coord& back) const {
    int64_t sum = 0;
    for (std::size_t m = 0; m < g_.rank; ++m) sum = wrapping_add(sum, wrapping_mul(origin_[m] - back[m], strides[m]));
    return sum;
  }

  const uint8_t* src(int64_t element) const { return src_ + wrapping_mul(element, bytes_); }
  uint8_t* dst(int64_t element) const { return dst_ + wrapping_mul(element, bytes_); }

  void direct(const Box& box) const {
    const std::size_t inner = tables_.load().inner();
    const int64_t from = base(g_.src_strides, {}), to = base(g_.dst_strides, {});
    const std::ptrdiff_t from_step = g_.src_strides[inner] * bytes_, to_step = g_.dst_strides[inner] * bytes_;
    for (const Run& run : box.load) {
      Cut cut{0, run.count};
      int64_t source = wrapping_add(from, run.from), target = wrapping_add(to, run.to);
      if (g_.dst_shift > 0) {
        cut = shifted(run, target);
        if (cut.count <= 0) continue;
        source = wrapping_add(source, wrapping_mul(cut.first, g_.src_strides[inner]));
        target = wrapping_add(target, cut.first);
      }
      if (from_step == bytes_ && to_step == bytes_) {
        std::memcpy(dst(target), src(source), static_cast<std::size_t>(cut.count * bytes_));
      } else {
        element_.strided(dst(target), to_step, src(source), from_step, cut.count);
      }
    }
  }

  // What is inside of the problem of a run along dst_mode that is shifted by sh; `row` is the destination's offset of
  // the row where the tile starts. The first element counts from there.
  struct Cut {
    int64_t first;
    int64_t count;
  };
  Cut shifted(const Run& run, int64_t row) const {
    const int64_t start = origin_[g_.d];
    const int64_t shift = floor_mod(wrapping_add(dst_element_ - start, row), g_.dst_shift);
    const int64_t first = std::max(run.first, shift - start);
    const int64_t last = std::min(run.first + run.count, g_.extents[g_.d] - start + shift);
    return {first - shift, last - first};
  }

  // As many CTAs of a row of tiles as there are whole ones, run by run through all of them: their number.
  int64_t chained(const Box& box, int64_t limit) const {
    const std::size_t q = tables_.fastest();
    const int64_t from = base(g_.src_strides, {}), to = base(g_.dst_strides, {});
    const int64_t ctas = std::min(limit, (g_.extents[q] - origin_[q]) / g_.tile[q]);
    for (const Run& run : box.load) {
      std::memcpy(dst(wrapping_add(to, run.to)), src(wrapping_add(from, run.from)),
                  static_cast<std::size_t>(ctas * run.count * bytes_));
    }
    return ctas;
  }

  void load(const Box& box) {
    const int64_t from = base(g_.src_strides, g_.back);
    const std::ptrdiff_t step = g_.src_strides[tables_.load().inner()] * bytes_;
    for (const Run& run : box.load) put(src(wrapping_add(from, run.from)), step, run.to, run.count);
  }

  void store(const Box& box) {
    const int64_t to = base(g_.dst_strides, {});
    const std::ptrdiff_t step = g_.dst_strides[tables_.store().inner()] * bytes_;
    for (const Run& run : box.store) {
      int64_t position = run.from, target = wrapping_add(to, run.to), count = run.count;
      if (g_.dst_shift > 0) {
        const Cut cut = shifted(run, target);
        if (cut.count <= 0) continue;
        position += cut.first - run.first + g_.dst_shift;
        target = wrapping_add(target, cut.first);
        count = cut.count;
      }
      get(dst(target), step, position, count);
    }
  }

  // The elements of a run as single ones up to a group of the table, as groups, and single ones again:
  // f(mover, offset in the run, position, number of accesses, elements of one).
  template <class F>
  void in_groups(const Image& image, bool unit, int64_t position, int64_t count, F&& f) const {
    int64_t done = 0;
    if (unit && image.chunk > 1) {
      const int64_t head = std::min(count, -position & (image.chunk - 1));
      const int64_t groups = (count - head) / image.chunk;
      if (head > 0) f(element_, 0, position, head, 1);
      if (groups > 0) f(*mover_of(image.chunk * bytes_), head, position + head, groups, image.chunk);
      done = head + groups * image.chunk;
    }
    if (done < count) f(element_, done, position + done, count - done, 1);
  }

  void put(const uint8_t* from, std::ptrdiff_t step, int64_t position, int64_t count) const {
    const Image& image = tables_.load_image();
    in_groups(image, step == bytes_, position, count,
              [&](const Mover& mover, int64_t at, int64_t first, int64_t accesses, int64_t elements) {
                mover.scatter(image_.get(), image.table.data() + first, elements, from + at * step, elements * step,
                              accesses);
              });
  }

  void get(uint8_t* to, std::ptrdiff_t step, int64_t position, int64_t count) const {
    const Image& image = tables_.store_image();
    in_groups(image, step == bytes_, position, count,
              [&](const Mover& mover, int64_t at, int64_t first, int64_t accesses, int64_t elements) {
                mover.gather(to + at * step, elements * step, image_.get(), image.table.data() + first, elements,
                             accesses);
              });
  }

  const Tables& tables_;
  const Geometry& g_;
  int64_t bytes_;
  const Mover& element_;
  const uint8_t* src_;
  uint8_t* dst_;
  int64_t dst_element_;
  std::unique_ptr<uint8_t[]> image_;  // zero at first: a broken plan may read what it has not written
  Coord origin_{};                    // of the CTA's tile
};

int64_t workers_for(const Geometry& g, int64_t asked) {
  const int64_t most = std::min(g.ctas, kMaxWorkers);
  if (asked > 0) return std::min(asked, most);
  const int64_t worth = g.elements / (kBytesOfWorker / g.element_bytes);
  if (worth <= 1) return 1;  // to ask for the number of cores takes longer than a small copy
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min({cores, worth, most});
}

}  // namespace

void run(const Tables& tables, uint64_t src_address, uint64_t dst_address, int64_t asked) {
  const int64_t ctas = tables.geometry().ctas;
  if (ctas == 0) return;
  const int64_t count = workers_for(tables.geometry(), asked);
  std::vector<Worker> workers;
  workers.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) workers.emplace_back(tables, src_address, dst_address);
  if (count == 1) {
    workers[0](0, ctas);
    return;
  }
  const int64_t share = std::max(int64_t{1}, ctas / (count * kSharesOfWorker));
  std::atomic<int64_t> next{0};
  const auto work = [&](Worker& worker) {
    for (int64_t first; (first = next.fetch_add(share)) < ctas;) worker(first, std::min(ctas, first + share));
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count) - 1);
  try {
    for (std::size_t i = 1; i < workers.size(); ++i) threads.emplace_back(work, std::ref(workers[i]));
  } catch (const std::exception&) {  // no more threads to be had: those there are do the work
  }
  work(workers[0]);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tilewright::host
