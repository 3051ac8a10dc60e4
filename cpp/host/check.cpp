#include "check.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "mapping.hpp"

namespace tilewright::host {

namespace {

constexpr std::size_t kShown = 8;
constexpr int64_t kMaxElements = int64_t{1} << 32;  // of the problem: each has a mark of one byte

std::vector<Coord> coordinates_of(const ThreadValues& tv) {
  std::vector<Coord> coords;
  coords.reserve(static_cast<std::size_t>(tv.threads() * tv.values()));
  tv.for_each([&](int64_t, int64_t, const Coord& coord) { coords.push_back(coord); });
  return coords;
}

class Check {
 public:
  Check(const CopyPlan& plan, bool move)
      : plan_(plan),
        g_(plan),
        move_(move),
        dst_element_(static_cast<int64_t>(plan.dst_address / static_cast<uint64_t>(g_.element_bytes))),
        load_(plan.load_tv, g_.rank, "load_tv"),
        store_(plan.store_tv, g_.rank, "store_tv"),
        loads_(coordinates_of(load_)),
        stores_(coordinates_of(store_)) {
    check_direct(plan);
    if (g_.elements > kMaxElements) {
      throw PlanError(concat("extents: ", g_.elements, " elements are too many to mark each; at most ", kMaxElements));
    }
    written_.resize(static_cast<std::size_t>(g_.elements));
    if (!plan.smem) return;
    smem_.emplace(*plan.smem, g_);
    const auto size = static_cast<std::size_t>(smem_->size());
    image_.resize(size * static_cast<std::size_t>(g_.element_bytes));
    owner_.resize(size);
    writer_.resize(size, -1);
  }

  Report operator()() {
    look_at_layouts();
    for (cta_ = 0; cta_ < g_.ctas; ++cta_) {
      int64_t rest = cta_;
      for (std::size_t m = 0; m < g_.rank; ++m) {
        origin_[m] = rest % g_.tiles[m] * g_.tile[m];
        rest /= g_.tiles[m];
      }
      for (std::size_t i = 0; i < loads_.size(); ++i) smem_ ? load(i) : copy(i);
      for (std::size_t i = 0; smem_ && i < stores_.size(); ++i) store(i);
    }
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (written_[i] == 0) report_.never_written.add(coordinate_of(static_cast<int64_t>(i)));
    }
    return std::move(report_);
  }

 private:
  // What no CTA is needed for.
  void look_at_layouts() {
    const auto look = [&](const std::vector<Coord>& coords, const Coord& box) {
      for (const Coord& c : coords) {
        bool inside = true;
        for (std::size_t m = 0; m < g_.rank; ++m) inside = inside && c[m] >= 0 && c[m] < box[m];
        if (!inside) report_.outside_tile.add(c);
      }
    };
    look(loads_, g_.box);
    if (smem_) look(stores_, g_.tile);
    load_vector_ =
        whole_accesses(load_, loads_, plan_.load_vector, plan_.src_mode, plan_.src_strides, smem_.has_value());
    store_vector_ = whole_accesses(store_, stores_, plan_.store_vector, plan_.dst_mode, plan_.dst_strides, true);
  }

  // The vector width as far as accesses may have it: 1 where they may not.
  int64_t whole_accesses(const ThreadValues& tv, const std::vector<Coord>& coords, int64_t vector, int64_t mode,
                         const Coord& strides, bool must_be_contiguous) {
    if (vector == 1) return 1;
    const bool has_mode = mode >= 0 && mode < static_cast<int64_t>(g_.rank);
    const auto m = static_cast<std::size_t>(has_mode ? mode : 0);
    const bool unit = has_mode && (strides[m] == 1 || g_.extents[m] <= 1);
    if (tv.values() % vector != 0 || !has_mode || (must_be_contiguous && !unit)) {
      const int64_t accesses = (tv.values() - 1) / vector + 1;
      for (std::size_t t = 0; t < static_cast<std::size_t>(tv.threads()); ++t) {
        for (int64_t k = 0; k < accesses; ++k)
          report_.not_contiguous.add(
              coords[t * static_cast<std::size_t>(tv.values()) + static_cast<std::size_t>(k * vector)]);
      }
      return 1;
    }
    const int64_t before = report_.not_contiguous.count;
    for_each_broken_access(tv, vector, mode, [&](int64_t, const Coord& c) { report_.not_contiguous.add(c); });
    return unit && report_.not_contiguous.count == before ? vector : 1;
  }

  bool inside(const Coord& r) const {
    for (std::size_t m = 0; m < g_.rank; ++m) {
      if (r[m] < 0 || r[m] >= g_.extents[m]) return false;
    }
    return true;
  }

  int64_t linear(const Coord& r) const {
    int64_t index = 0;
    for (std::size_t m = g_.rank; m-- > 0;) index = index * g_.extents[m] + r[m];
    return index;
  }

  Coord coordinate_of(int64_t index) const {
    Coord r{};
    for (std::size_t m = 0; m < g_.rank; ++m) {
      r[m] = index % g_.extents[m];
      index /= g_.extents[m];
    }
    return r;
  }

  int64_t offset(const Coord& r, const Coord& strides) const {
    int64_t sum = 0;
    for (std::size_t m = 0; m < g_.rank; ++m) sum = wrapping_add(sum, wrapping_mul(r[m], strides[m]));
    return sum;
  }

  const uint8_t* src(const Coord& r) const {
    return reinterpret_cast<const uint8_t*>(plan_.src_address) + offset(r, g_.src_strides) * g_.element_bytes;
  }
  uint8_t* dst(const Coord& r) const {
    return reinterpret_cast<uint8_t*>(plan_.dst_address) + offset(r, g_.dst_strides) * g_.element_bytes;
  }

  // sh(r) of plan.hpp.
  int64_t sh(Coord r) const {
    if (g_.dst_shift == 0) return 0;
    r[g_.d] = 0;
    return floor_mod(wrapping_add(dst_element_, offset(r, g_.dst_strides)), g_.dst_shift);
  }

  Coord load_coordinate(const Coord& y) const {
    Coord r{};
    for (std::size_t m = 0; m < g_.rank; ++m) r[m] = origin_[m] - g_.back[m] + y[m];
    return r;
  }
  Coord store_coordinate(const Coord& x) const {
    Coord r{};
    for (std::size_t m = 0; m < g_.rank; ++m) r[m] = origin_[m] + x[m];
    if (g_.dst_shift > 0) r[g_.d] -= sh(r);
    return r;
  }

  // Reports the access that begins with value i where all its elements are inside and its address is not aligned.
  void look_at_alignment(Finding& finding, std::size_t i, int64_t vector, const Coord& r, int64_t mode,
                         uint64_t address) {
    if (vector == 1 || static_cast<int64_t>(i) % vector != 0) return;
    Coord last = r;
    last[static_cast<std::size_t>(mode)] += vector - 1;
    if (!inside(r) || !inside(last)) return;
    if (address % static_cast<uint64_t>(vector * g_.element_bytes) != 0) finding.add(r);
  }
  void look_at_load(std::size_t i, const Coord& r) {
    const uint64_t address = plan_.src_address + static_cast<uint64_t>(offset(r, g_.src_strides) * g_.element_bytes);
    look_at_alignment(report_.misaligned_load, i, load_vector_, r, plan_.src_mode, address);
  }
  void look_at_store(std::size_t i, const Coord& r) {
    const uint64_t address = plan_.dst_address + static_cast<uint64_t>(offset(r, g_.dst_strides) * g_.element_bytes);
    look_at_alignment(report_.misaligned_store, i, store_vector_, r, plan_.dst_mode, address);
  }

  void mark(const Coord& r) {
    uint8_t& count = written_[static_cast<std::size_t>(linear(r))];
    if (count == 1) report_.written_twice.add(r);
    if (count < 2) ++count;
  }

  void copy(std::size_t i) {
    const Coord r = store_coordinate(loads_[i]);
    if (!inside(r)) return;
    look_at_load(i, r);
    look_at_store(i, r);
    mark(r);
    if (move_) std::memcpy(dst(r), src(r), static_cast<std::size_t>(g_.element_bytes));
  }

  void load(std::size_t i) {
    const Coord r = load_coordinate(loads_[i]);
    if (!inside(r)) return;
    look_at_load(i, r);
    const std::optional<int64_t> place = (*smem_)(loads_[i]);
    if (!place) return report_.outside_shared.add(r);
    const auto at = static_cast<std::size_t>(*place);
    if (writer_[at] == cta_) report_.shared_written_twice.add(r);
    writer_[at] = cta_;
    owner_[at] = linear(r);
    if (move_) std::memcpy(image(at), src(r), static_cast<std::size_t>(g_.element_bytes));
  }

  void store(std::size_t i) {
    const Coord r = store_coordinate(stores_[i]);
    if (!inside(r)) return;
    look_at_store(i, r);
    mark(r);
    Coord y = stores_[i];
    if (g_.dst_shift > 0) y[g_.d] += g_.dst_shift - sh(r);
    const std::optional<int64_t> place = (*smem_)(y);
    if (!place) return report_.outside_shared.add(r);
    const auto at = static_cast<std::size_t>(*place);
    if (writer_[at] != cta_) {
      report_.read_before_write.add(r);
    } else if (owner_[at] != linear(r)) {
      report_.wrong.add(r);
    }
    if (move_) std::memcpy(dst(r), image(at), static_cast<std::size_t>(g_.element_bytes));
  }

  uint8_t* image(std::size_t at) { return image_.data() + at * static_cast<std::size_t>(g_.element_bytes); }

  const CopyPlan& plan_;
  Geometry g_;
  bool move_;
  int64_t dst_element_;
  ThreadValues load_;
  ThreadValues store_;
  std::vector<Coord> loads_;
  std::vector<Coord> stores_;
  int64_t load_vector_ = 1;
  int64_t store_vector_ = 1;
  std::optional<SharedLayout> smem_;
  std::vector<uint8_t> image_;
  std::vector<int64_t> owner_;   // which element of the source a place of shared memory holds
  std::vector<int64_t> writer_;  // the last CTA that wrote it
  std::vector<uint8_t> written_;
  Report report_;
  int64_t cta_ = 0;
  Coord origin_{};
};

}  // namespace

void Finding::add(const Coord& coord) {
  ++count;
  if (first.size() < kShown) first.push_back(coord);
}

Report check(const CopyPlan& plan, bool move) { return Check(plan, move)(); }

}  // namespace tilewright::host
