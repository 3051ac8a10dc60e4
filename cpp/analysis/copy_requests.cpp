#include "copy_requests.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace tilewright::analysis {

namespace {

constexpr std::size_t kLanes = kWarp;

int64_t dot(const int64_t* coordinate, const Coordinate& steps) {
  return std::inner_product(steps.begin(), steps.end(), coordinate, int64_t{0});
}

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The first coordinate of each access, by access, warp and lane, and which lanes are threads.
struct Accesses {
  std::size_t rank = 0;
  std::vector<int64_t> coordinates;
  std::vector<uint32_t> exist;

  // Those of every `step`-th value.
  Accesses(const Dealt& dealt, std::size_t rank, int64_t step) : rank(rank) {
    const std::size_t threads = dealt.threads.size();
    const std::size_t warps = (threads + kLanes - 1) / kLanes;
    for (std::size_t value = 0; value < dealt.values.size(); value += static_cast<std::size_t>(step)) {
      for (std::size_t warp = 0; warp < warps; ++warp) {
        const std::size_t lanes = std::min(kLanes, threads - warp * kLanes);
        exist.push_back(static_cast<uint32_t>((uint64_t{1} << lanes) - 1));
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          for (std::size_t mode = 0; mode < rank; ++mode) {
            const int64_t thread = lane < lanes ? dealt.threads[warp * kLanes + lane][mode] : 0;
            coordinates.push_back(thread + dealt.values[value][mode]);
          }
        }
      }
    }
  }

  std::size_t lanes() const { return exist.size() * kLanes; }
  int64_t* at(std::size_t lane) { return &coordinates[lane * rank]; }
  const int64_t* at(std::size_t lane) const { return &coordinates[lane * rank]; }

  void move(std::size_t mode, int64_t by) {
    for (std::size_t lane = 0; lane < lanes(); ++lane) at(lane)[mode] += by;
  }

  std::vector<int64_t> offsets(const Coordinate& steps) const {
    std::vector<int64_t> found(lanes());
    for (std::size_t lane = 0; lane < lanes(); ++lane) found[lane] = dot(at(lane), steps);
    return found;
  }

  // Byte addresses in shared memory.
  std::vector<int64_t> places(const SharedTile& shared, int64_t element) const {
    std::vector<int64_t> found = offsets(shared.stride);
    for (int64_t& at : found) {
      at += shared.offset;
      at = (shared.swizzle ? (*shared.swizzle)(at) : at) * element;
    }
    return found;
  }

  // The same lanes for which `holds`, by warps.
  template <class F>
  std::vector<uint32_t> where(const std::vector<uint32_t>& of, F&& holds) const {
    std::vector<uint32_t> found(of.size());
    for (std::size_t warp = 0; warp < of.size(); ++warp) {
      for (uint32_t left = of[warp]; left; left &= left - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(left));
        if (holds(warp * kLanes + lane)) found[warp] |= uint32_t{1} << lane;
      }
    }
    return found;
  }

  // Those of which one of `count` coordinates along a mode is inside of the tensor.
  std::vector<uint32_t> touching(const std::vector<uint32_t>& of, const Group& group, std::size_t along,
                                 int64_t count) const {
    return where(of, [&](std::size_t lane) {
      for (std::size_t mode = 0; mode < rank; ++mode) {
        const int64_t first = at(lane)[mode];
        if (first + (mode == along ? count - 1 : 0) < group.low[mode] || first >= group.high[mode]) return false;
      }
      return true;
    });
  }

  // Those of which `count` coordinates along a mode are inside of the tensor.
  std::vector<uint32_t> inside(const std::vector<uint32_t>& of, const Group& group, std::size_t along,
                               int64_t count) const {
    return where(of, [&](std::size_t lane) {
      for (std::size_t mode = 0; mode < rank; ++mode) {
        const int64_t first = at(lane)[mode];
        if (first < group.low[mode] || first + (mode == along ? count - 1 : 0) >= group.high[mode]) return false;
      }
      return true;
    });
  }
};

std::vector<uint32_t> without(const std::vector<uint32_t>& all, const std::vector<uint32_t>& some) {
  std::vector<uint32_t> found(all.size());
  std::transform(all.begin(), all.end(), some.begin(), found.begin(), [](uint32_t a, uint32_t b) { return a & ~b; });
  return found;
}

bool any(const std::vector<uint32_t>& masks) {
  return std::any_of(masks.begin(), masks.end(), [](uint32_t mask) { return mask != 0; });
}

void give(Tally& tally, const std::vector<int64_t>& addresses, const std::vector<uint32_t>& masks) {
  for (std::size_t warp = 0; warp < masks.size(); ++warp) tally.request(&addresses[warp * kLanes], masks[warp]);
}

// Tiles of a group that begin alike. Who reads what depends on where the source begins in 16 bytes where accesses are
// joined, and where rows of the destination begin, on that of the destination.
struct Part {
  const Group& group;
  Starts starts;
  std::array<int64_t, 2> phase;
  std::optional<int64_t> origin;  // the source's address, where the end of its memory may be near

  Starts whole() const {  // of shared memory: all tiles begin alike
    int64_t tiles = 0;
    for (const Start& start : starts) tiles += start.times;
    return {{{0, 0}, tiles}};
  }
};

// Whether a tile may touch an end of the source's memory.
bool at_end(const std::vector<Mode>& modes, const Group& group) {
  for (std::size_t mode = 0; mode < modes.size(); ++mode) {
    const int64_t alone = modes[mode].alone;
    if (alone && group.tiles[mode] >= alone && group.tiles[mode] < modes[mode].tiles - alone) return false;
  }
  return true;
}

template <class F>
void for_each_part(const CopyLaunch& launch, bool source, bool target, F&& f) {
  const std::array<int64_t, 2> within{source && launch.joined ? launch.joined - 1 : 0,
                                      target && launch.dst_shift ? launch.dst_shift * launch.element - 1 : 0};
  const std::vector<Mode> modes = launch.modes();
  for (const Group& group : groups(modes, launch.base, 1)) {
    std::optional<int64_t> origin;
    if (source && launch.reads_beyond() && at_end(modes, group)) {
      origin = launch.base[0];
      for (std::size_t mode = 0; mode < modes.size(); ++mode) *origin += group.tiles[mode] * modes[mode].step[0];
    }
    std::vector<Part> parts;
    for (const Start& start : group.starts) {
      const std::array<int64_t, 2> phase{start.at[0] & within[0], start.at[1] & within[1]};
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.phase == phase; });
      Part& of = part == parts.end() ? parts.emplace_back(Part{group, {}, phase, origin}) : *part;
      of.starts.push_back(start);
    }
    for (const Part& part : parts) f(part);
  }
}

// Moves accesses to where the destination's rows begin behind a multiple of dst_shift elements, along a mode.
void align_rows(const CopyLaunch& launch, const Part& part, Accesses& accesses, std::size_t along) {
  if (!launch.dst_shift) return;
  const std::size_t mode = launch.vector_mode[1];
  for (std::size_t lane = 0; lane < accesses.lanes(); ++lane) {
    int64_t* at = accesses.at(lane);
    const int64_t row = part.phase[1] + dot(at, launch.strides[1]) - at[mode] * launch.strides[1][mode];
    at[along] -= floor_divided(row, launch.element) & (launch.dst_shift - 1);
  }
}

std::vector<uint32_t> inside(const CopyLaunch& launch, const Part& part, const Accesses& accesses,
                             const std::vector<uint32_t>& of, std::size_t mode, int64_t count) {
  return launch.checked ? accesses.inside(of, part.group, mode, count) : of;
}

// Accesses that are made: those that are guarded or joined if an element is inside of the tensor, and others if all
// are; of those that are joined, or read what lies behind their elements, the ones between the ends of its memory.
std::vector<uint32_t> read_loads(const CopyLaunch& launch, const Part& part, const Accesses& accesses,
                                 const std::vector<int64_t>& offsets) {
  const std::size_t mode = launch.vector_mode[0];
  if (!launch.joined && !launch.guarded) {
    const std::vector<uint32_t> whole = inside(launch, part, accesses, accesses.exist, mode, launch.load_vector);
    if (!part.origin) return whole;
    const int64_t bytes = launch.load_vector * launch.src_step * launch.element;
    return accesses.where(whole,
                          [&](std::size_t lane) { return *part.origin + offsets[lane] + bytes <= launch.memory[1]; });
  }
  std::vector<uint32_t> read = accesses.exist;
  if (launch.checked) read = accesses.touching(read, part.group, mode, launch.load_vector);
  if (!part.origin) return read;
  return accesses.where(read, [&](std::size_t lane) {
    const int64_t at = *part.origin + offsets[lane];
    const int64_t first = at & -launch.joined;
    return first >= launch.memory[0] && first + (first == at ? 1 : 2) * launch.joined <= launch.memory[1];
  });
}

// The accesses that read what begins at these offsets.
void count_loads(const CopyLaunch& launch, const Part& part, Tally& tally, Accesses accesses,
                 std::vector<int64_t> offsets, const std::vector<uint32_t>& read) {
  if (launch.joined) {
    const int64_t phase = part.phase[0];
    for (const bool second : {false, true}) {
      std::vector<int64_t> addresses(offsets.size());
      std::transform(offsets.begin(), offsets.end(), addresses.begin(), [&](int64_t offset) {
        const int64_t at = phase + offset;
        const int64_t first = at & -launch.joined;
        return second && at != first ? first + launch.joined : first;
      });
      give(tally, addresses, read);
      tally.repeat(part.starts, 0, phase);
    }
    return;
  }
  const std::size_t mode = launch.vector_mode[0];
  const int64_t step = launch.strides[0][mode];
  const int64_t count = launch.single && step ? launch.load_vector : 1;
  for (int64_t j = 0; j < count; ++j) {
    give(tally, offsets, launch.guarded && step ? inside(launch, part, accesses, read, mode, 1) : read);
    tally.repeat(part.starts);
    for (int64_t& offset : offsets) offset += step;
    accesses.move(mode, 1);
  }
}

// The elements of accesses that are not stored as a whole, one after the other.
void count_edges(const CopyLaunch& launch, const Part& part, Tally& tally, Accesses accesses,
                 const std::vector<uint32_t>& of) {
  if (launch.store_vector == 1 || !any(of)) return;
  const std::size_t mode = launch.vector_mode[1];
  for (int64_t element = 0; element < launch.store_vector; ++element, accesses.move(mode, 1)) {
    give(tally, accesses.offsets(launch.strides[1]), inside(launch, part, accesses, of, mode, 1));
  }
  tally.repeat(part.starts, 1);
}

}  // namespace

std::vector<Mode> CopyLaunch::modes() const {
  std::vector<Mode> found;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    Mode mode{tiles[i], tile[i], extents[i], {tile[i] * strides[0][i], tile[i] * strides[1][i]}};
    if (i == vector_mode[1]) mode.back = dst_shift;
    if (reads_beyond() && mode.step[0]) {  // of the source's memory, in its first or last tiles
      const int64_t bytes = std::abs(mode.step[0]);
      const int64_t access = joined ? joined : load_vector * src_step * element;
      mode.alone = 1 + (3 * access + bytes - 1) / bytes;
    }
    found.push_back(mode);
  }
  return found;
}

void direct_requests(const CopyLaunch& launch, const Dealt& load, const DirectTallies& tallies) {
  const std::size_t mode = launch.vector_mode[0];
  const Accesses dealt(load, launch.tile.size(), launch.load_vector);
  for_each_part(launch, true, true, [&](const Part& part) {
    Accesses accesses = dealt;
    align_rows(launch, part, accesses, mode);
    const std::vector<int64_t> src = accesses.offsets(launch.strides[0]);
    const std::vector<uint32_t> read = read_loads(launch, part, accesses, src);
    count_loads(launch, part, tallies.load, accesses, src, read);
    const std::vector<uint32_t> whole = inside(launch, part, accesses, read, mode, launch.store_vector);
    give(tallies.store, accesses.offsets(launch.strides[1]), whole);
    tallies.store.repeat(part.starts, 1);
    count_edges(launch, part, tallies.store_edges, accesses, without(read, whole));
    if (launch.load_vector == 1 && launch.src_step <= 1) return;
    const std::vector<uint32_t> others = without(accesses.exist, read);
    if (launch.guarded || !any(others)) return;
    for (int64_t element = 0; element < launch.load_vector; ++element, accesses.move(mode, 1)) {
      const std::vector<uint32_t> made = inside(launch, part, accesses, others, mode, 1);
      give(tallies.load_edges, accesses.offsets(launch.strides[0]), made);
      give(tallies.store_edges, accesses.offsets(launch.strides[1]), made);
    }
    tallies.load_edges.repeat(part.starts);
    tallies.store_edges.repeat(part.starts, 1);
  });
}

void staged_loads(const CopyLaunch& launch, const Dealt& load, const SharedTile& shared, const LoadTallies& tallies) {
  const std::size_t mode = launch.vector_mode[0];
  const Accesses dealt(load, launch.tile.size(), launch.load_vector);
  for_each_part(launch, true, false, [&](const Part& part) {
    Accesses there = dealt;  // in shared memory
    Accesses accesses = dealt;
    accesses.move(launch.vector_mode[1], -launch.dst_shift);
    const std::vector<int64_t> src = accesses.offsets(launch.strides[0]);
    const std::vector<uint32_t> read = read_loads(launch, part, accesses, src);
    const Starts tiles = part.whole();
    if (AsyncTally* const* load_to = std::get_if<AsyncTally*>(&tallies.load)) {
      const std::vector<int64_t> places = there.places(shared, launch.element);
      for (std::size_t warp = 0; warp < read.size(); ++warp) {
        const std::size_t lane = warp * kLanes;
        (*load_to)->request(&src[lane], &places[lane], read[warp], read[warp]);
      }
      (*load_to)->repeat(part.starts);
    } else {
      count_loads(launch, part, *std::get<Tally*>(tallies.load), accesses, src, read);
      Accesses put = dealt;
      for (int64_t element = 0; element < launch.load_vector; element += launch.smem_store) {
        give(tallies.put, put.places(shared, launch.element), read);
        put.move(mode, launch.smem_store);
      }
      tallies.put.repeat(tiles);
    }
    const std::vector<uint32_t> others = without(accesses.exist, read);
    if (launch.guarded || !any(others)) return;
    for (int64_t element = 0; element < launch.load_vector; ++element) {
      const std::vector<uint32_t> made = inside(launch, part, accesses, others, mode, 1);
      give(tallies.load_edges, accesses.offsets(launch.strides[0]), made);
      give(tallies.put_edges, there.places(shared, launch.element), made);
      accesses.move(mode, 1);
      there.move(mode, 1);
    }
    tallies.load_edges.repeat(part.starts);
    tallies.put_edges.repeat(tiles);
  });
}

void staged_stores(const CopyLaunch& launch, const Dealt& store, const SharedTile& shared,
                   const StoreTallies& tallies) {
  const std::size_t mode = launch.vector_mode[1];
  const Accesses dealt(store, launch.tile.size(), launch.store_vector * launch.smem_load);
  for_each_part(launch, false, true, [&](const Part& part) {
    Accesses row = dealt;
    align_rows(launch, part, row, mode);
    Accesses values = row;
    values.move(mode, launch.dst_shift);
    // Reads that bring what several stores may need are made by all threads.
    const bool alone = launch.smem_load == 1 && launch.store_vector == 1;
    const std::vector<uint32_t> taken = alone ? inside(launch, part, row, row.exist, mode, 1) : dealt.exist;
    for (int64_t element = 0; element < launch.store_vector; ++element, values.move(mode, 1)) {
      give(tallies.take, values.places(shared, launch.element), taken);
    }
    tallies.take.repeat(part.whole());
    for (int64_t word = 0; word < launch.smem_load; ++word, row.move(launch.vector_mode[0], 1)) {
      const std::vector<uint32_t> whole = inside(launch, part, row, row.exist, mode, launch.store_vector);
      give(tallies.store, row.offsets(launch.strides[1]), whole);
      tallies.store.repeat(part.starts, 1);
      count_edges(launch, part, tallies.store_edges, row, without(row.exist, whole));
    }
  });
}

}  // namespace tilewright::analysis
