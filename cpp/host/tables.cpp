#include "tables.hpp"

#include <algorithm>

namespace tilewright::host {

Walk::Walk(const ThreadValues& tv, const Geometry& geometry, const Coord& strides, std::optional<std::size_t> inner) {
  const std::size_t rank = geometry.rank;
  for (std::size_t m = 0; m < rank; ++m) order[m] = m;
  // The modes that move nothing come last.
  const auto key = [&](std::size_t m) {
    const int64_t stride = strides[m] < 0 ? -strides[m] : strides[m];
    const int group = inner == m ? 0 : geometry.box[m] == 1 ? 3 : stride == 0 ? 2 : 1;
    return std::pair(group, stride);
  };
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rank),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  int64_t volume = 1;
  for (std::size_t k = 0; k < rank; ++k) {
    pitch[order[k]] = volume;
    volume *= geometry.box[order[k]];
  }
  covered.resize(static_cast<std::size_t>(volume));
  tv.for_each([&](int64_t, int64_t, const Coord& coord) {
    int64_t position = 0;
    for (std::size_t m = 0; m < rank; ++m) position += coord[m] * pitch[m];
    covered[static_cast<std::size_t>(position)] = 1;
  });
}

namespace {

// Calls f(coordinate, position, count) for each stretch along the inner mode that is covered, inside of [begin, end).
template <class F>
void for_each_stretch(const Walk& walk, std::size_t rank, const Coord& begin, const Coord& end, F&& f) {
  Coord coord = begin;
  int64_t row = 0;
  for (std::size_t m = 0; m < rank; ++m) {
    if (begin[m] >= end[m]) return;
    if (m != walk.inner()) row += begin[m] * walk.pitch[m];
  }
  for (bool more = true; more;) {
    const uint8_t* const covered = walk.covered.data() + row;
    for (int64_t c = begin[walk.inner()]; c < end[walk.inner()];) {
      const int64_t first = c;
      while (c < end[walk.inner()] && covered[c] != 0) ++c;
      coord[walk.inner()] = first;
      if (c > first) f(std::as_const(coord), row + first, c - first);
      while (c < end[walk.inner()] && covered[c] == 0) ++c;
    }
    more = false;
    for (std::size_t k = 1; k < rank && !more; ++k) {
      const std::size_t m = walk.order[k];
      row += walk.pitch[m];
      more = ++coord[m] < end[m];
      if (!more) {
        row -= (end[m] - begin[m]) * walk.pitch[m];
        coord[m] = begin[m];
      }
    }
  }
}

int64_t dot(const Coord& coord, const Coord& strides, std::size_t rank, std::optional<std::size_t> without) {
  int64_t sum = 0;
  for (std::size_t m = 0; m < rank; ++m) {
    if (without != m) sum = wrapping_add(sum, wrapping_mul(coord[m], strides[m]));
  }
  return sum;
}

// Appends a run, or makes the last one longer where both sides go on.
void append(std::vector<Run>& runs, const Run& run, bool may_merge) {
  if (may_merge && !runs.empty()) {
    Run& last = runs.back();
    if (last.from + last.count == run.from && last.to + last.count == run.to) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

// Whether every group of `chunk` positions along the inner mode is contiguous in shared memory.
bool in_chunks(const std::vector<int32_t>& table, int64_t chunk, int64_t element_bytes) {
  const auto step = static_cast<std::size_t>(chunk);
  for (std::size_t first = 0; first < table.size(); first += step) {
    for (std::size_t i = 1; i < step; ++i) {
      if (table[first + i] != table[first] + static_cast<int64_t>(i) * element_bytes) return false;
    }
  }
  return true;
}

Image make_image(const SharedLayout& smem, const Walk& walk, const Geometry& geometry) {
  Image image;
  image.table.resize(walk.covered.size());
  Coord coord{};
  for (std::size_t position = 0; position < image.table.size(); ++position) {
    const std::optional<int64_t> offset = smem(coord);
    if (!offset) {
      std::string text;
      for (std::size_t m = 0; m < geometry.rank; ++m) text += concat(m == 0 ? "" : ",", coord[m]);
      fail(concat("smem has no place for the tile coordinate (", text, ") in its ", smem.size(), " elements"));
    }
    image.table[position] = static_cast<int32_t>(*offset * geometry.element_bytes);
    for (std::size_t k = 0; k < geometry.rank; ++k) {
      const std::size_t m = walk.order[k];
      if (++coord[m] < geometry.box[m]) break;
      coord[m] = 0;
    }
  }
  const int64_t row = geometry.box[walk.inner()];
  for (int64_t chunk = 64 / geometry.element_bytes; chunk > 1; chunk /= 2) {
    if (row % chunk == 0 && in_chunks(image.table, chunk, geometry.element_bytes)) {
      image.chunk = chunk;
      break;
    }
  }
  return image;
}

// The plan's thread-value layouts, checked.
ThreadValues checked_tv(const CopyPlan& plan, const Geometry& geometry, bool load) {
  const char* const field = load ? "load_tv" : "store_tv";
  const ThreadValues tv(load ? plan.load_tv : plan.store_tv, geometry.rank, field);
  check_coordinates(tv, geometry.rank, load ? geometry.box : geometry.tile);
  check_accesses(tv, load ? plan.load_vector : plan.store_vector, load ? plan.src_mode : plan.dst_mode,
                 load ? "load_vector" : "store_vector");
  return tv;
}

Geometry checked_geometry(const CopyPlan& plan) {
  Geometry geometry(plan);
  check_vector_strides(plan);
  check_direct(plan);
  return geometry;
}

std::optional<std::size_t> mode_if(bool condition, std::size_t mode) {
  return condition ? std::optional(mode) : std::nullopt;
}

}  // namespace

Tables::Tables(const CopyPlan& plan)
    : geometry_(checked_geometry(plan)),
      load_(checked_tv(plan, geometry_, true), geometry_, plan.smem ? geometry_.src_strides : geometry_.dst_strides,
            mode_if(!plan.smem && geometry_.dst_shift > 0, geometry_.d)),
      store_(checked_tv(plan, geometry_, false), geometry_, geometry_.dst_strides,
             mode_if(geometry_.dst_shift > 0, geometry_.d)) {
  if (plan.smem) {
    const SharedLayout smem(*plan.smem, geometry_);
    image_bytes_ = smem.size() * geometry_.element_bytes;
    load_image_ = make_image(smem, load_, geometry_);
    store_image_ = make_image(smem, store_, geometry_);
  }
  if (geometry_.ctas == 0) return;
  for (std::size_t m = geometry_.rank; m-- > 0;) {
    if (geometry_.tiles[m] > 1) fastest_ = m;
  }
  find_kinds();
}

Kind Tables::kind(std::size_t m, int64_t tile_index) const {
  const Geometry& g = geometry_;
  const int64_t origin = tile_index * g.tile[m];
  const int64_t left = g.extents[m] - origin;  // in phase 2
  Kind kind{std::max(int64_t{0}, g.back[m] - origin), std::min(g.box[m], left + g.back[m]), std::min(g.tile[m], left)};
  // Shifted rows are cut while they are copied.
  if (g.dst_shift > 0 && m == g.d) {
    kind.store_end = g.tile[m];
    if (!staged()) kind.end = g.tile[m];
  }
  return kind;
}

void Tables::find_kinds() {
  std::size_t count = 1;
  for (std::size_t m = 0; m < geometry_.rank; ++m) {
    // Tiles differ near both ends of a mode only.
    const int64_t tiles = geometry_.tiles[m];
    const int64_t near = geometry_.dst_shift / geometry_.tile[m] + 3;
    const auto add = [&](int64_t tile_index) {
      const Kind found = kind(m, tile_index);
      if (std::find(kinds_[m].begin(), kinds_[m].end(), found) == kinds_[m].end()) kinds_[m].push_back(found);
    };
    add(std::min(near, tiles - 1));  // looked up most often
    for (int64_t i = 0; i < std::min(near, tiles); ++i) add(i), add(tiles - 1 - i);
    radix_[m] = count;
    count *= kinds_[m].size();
  }
  boxes_.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    std::array<Kind, kMaxRank> kinds{};
    for (std::size_t m = 0; m < geometry_.rank; ++m) kinds[m] = kinds_[m][index / radix_[m] % kinds_[m].size()];
    boxes_.push_back(make_box(kinds));
  }
}

std::size_t Tables::box_share(std::size_t m, int64_t tile_index) const {
  const std::vector<Kind>& kinds = kinds_[m];
  if (kinds.size() == 1) return 0;
  const auto found = std::find(kinds.begin(), kinds.end(), kind(m, tile_index));
  return static_cast<std::size_t>(found - kinds.begin()) * radix_[m];
}

Box Tables::make_box(const std::array<Kind, kMaxRank>& kinds) const {
  const Geometry& g = geometry_;
  Coord begin{}, end{}, store_end{};
  for (std::size_t m = 0; m < g.rank; ++m) {
    begin[m] = kinds[m].begin;
    end[m] = kinds[m].end;
    store_end[m] = kinds[m].store_end;
  }
  Box box;
  const auto dst_row = mode_if(g.dst_shift > 0, g.d);
  const bool src_unit = g.src_strides[load_.inner()] == 1;
  if (!staged()) {
    const bool units = src_unit && g.dst_strides[load_.inner()] == 1;
    for_each_stretch(load_, g.rank, begin, end, [&](const Coord& c, int64_t, int64_t count) {
      const Run run{dot(c, g.src_strides, g.rank, dst_row), dot(c, g.dst_strides, g.rank, dst_row), c[load_.inner()],
                    count};
      append(box.load, run, units && !dst_row);
    });
    const std::size_t q = fastest_;
    const auto goes_on = [&](const Run& run) {
      return run.count == wrapping_mul(g.tile[q], g.src_strides[q]) &&
             run.count == wrapping_mul(g.tile[q], g.dst_strides[q]);
    };
    box.chained = units && !dst_row && end[q] == g.tile[q] && std::all_of(box.load.begin(), box.load.end(), goes_on);
    return box;
  }
  for_each_stretch(load_, g.rank, begin, end, [&](const Coord& c, int64_t position, int64_t count) {
    append(box.load, {dot(c, g.src_strides, g.rank, {}), position, c[load_.inner()], count}, src_unit);
  });
  const bool dst_unit = g.dst_strides[store_.inner()] == 1;
  for_each_stretch(store_, g.rank, Coord{}, store_end, [&](const Coord& c, int64_t position, int64_t count) {
    const Run run{position, dot(c, g.dst_strides, g.rank, dst_row), c[store_.inner()], count};
    append(box.store, run, dst_unit && !dst_row);
  });
  return box;
}

std::size_t Tables::bytes() const {
  std::size_t total = sizeof(Tables) + load_.covered.size() + store_.covered.size() +
                      (load_image_.table.size() + store_image_.table.size()) * sizeof(int32_t);
  for (const Box& box : boxes_) total += sizeof(Box) + (box.load.capacity() + box.store.capacity()) * sizeof(Run);
  return total;
}

}  // namespace tilewright::host
