#include "bulk.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/error.hpp"
#include "host/execute/lanes/address.hpp"
#include "host/execute/lanes/handlers.hpp"
#include "host/execute/lanes/numbers.hpp"
#include "host/execute/profile/profile.hpp"
#include "host/execute/profile/timeline.hpp"
#include "host/execute/shadow/shadow.hpp"
#include "maps.hpp"

namespace tilewright::execute {

namespace {

constexpr uint64_t kChunk = 16, kBoxAlignment = 128;  // bytes

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

// Of 16 bytes in shared memory those that a swizzle of so many bytes puts in their place.
uint64_t swizzled(uint64_t address, int64_t span) {
  if (span == 0) return address;
  const uint64_t mask = static_cast<uint64_t>(span) / kChunk - 1;
  return address ^ (address >> 7 & mask) << 4;
}

}  // namespace

uint32_t elected(const Warp& warp, const Instruction& i) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  if (warp.shadow == nullptr || warp.mask == warp.live || memory_of(warp, i).is_elected) return lane;
  Finding* finding = warp.cta->report(warp, i, FindingKind::kLane, static_cast<int>(lane), [&] {
    return concat("all threads of a warp choose the one that asks for the copy, and ",
                  std::popcount(warp.live & ~warp.mask),
                  " of them do not reach it here; write it for the whole warp, without elect_one");
  });
  if (finding != nullptr) {
    finding->other = warp.cta->thread_of(warp, std::countr_zero(warp.live & ~warp.mask));
  }
  return lane;
}

namespace {

uint64_t address_of(const Warp& warp, const AccessCode& access, uint32_t lane) {
  uint64_t addresses[kLanes];
  row_addresses(warp, access, 0, addresses);
  return addresses[lane];
}

// The pieces of a box: rows of its fastest mode, each in up to three parts, of which those outside of the tensor are
// zeros; under a swizzle 16 bytes at a time.
class Box {
 public:
  Box(const TensorMap& map, const int64_t* coordinates, uint64_t shared)
      : map_(map), at_(coordinates), shared_(shared) {
    const std::size_t rank = map.box.size();
    std::vector<int64_t> index(rank, 0);
    for (uint64_t row = 0;; ++row) {
      add_row(index, row);
      std::size_t m = 1;
      for (; m < rank && ++index[m] == map.box[m]; ++m) index[m] = 0;
      if (m >= rank) break;
    }
  }
  std::vector<BulkPiece> pieces;

 private:
  void add_row(const std::vector<int64_t>& index, uint64_t row) {
    uint64_t global = map_.address;
    bool is_inside = true;
    for (std::size_t m = 1; m < index.size(); ++m) {
      const int64_t at = at_[m] + index[m];
      is_inside = is_inside && at >= 0 && at < map_.shape[m];
      global += static_cast<uint64_t>(at * map_.strides[m - 1]);
    }
    const int64_t all = map_.box[0];
    const int64_t first = is_inside ? std::clamp<int64_t>(-at_[0], 0, all) : all;
    const int64_t last = is_inside ? std::clamp<int64_t>(map_.shape[0] - at_[0], first, all) : all;
    global += static_cast<uint64_t>(at_[0] * map_.bytes);
    const uint64_t begin = row * static_cast<uint64_t>(all * map_.bytes);
    add(begin, 0, first, 0);
    add(begin, first, last, global);
    add(begin, last, all, 0);
  }
  // Elements of a row; without an address zeros.
  void add(uint64_t row, int64_t first, int64_t last, uint64_t global) {
    const auto end = static_cast<uint64_t>(last * map_.bytes);
    for (auto at = static_cast<uint64_t>(first * map_.bytes); at < end;) {
      const uint64_t address = shared_ + row + at;
      const uint64_t bytes = map_.swizzle == 0 ? end - at : std::min(end - at, kChunk - address % kChunk);
      pieces.push_back({swizzled(address, map_.swizzle), global == 0 ? 0 : global + at, static_cast<uint32_t>(bytes)});
      at += bytes;
    }
  }

  const TensorMap& map_;
  const int64_t* at_;
  uint64_t shared_;
};

std::vector<BulkPiece> pieces_of_box(const Warp& warp, const Instruction& i, const TensorMap& map, uint32_t lane,
                                     std::size_t coordinates) {
  const MemoryCode& memory = memory_of(warp, i);
  std::vector<int64_t> at(map.box.size(), 0);
  for (std::size_t m = 0; m < std::min(coordinates, at.size()); ++m)
    at[m] = warp.at<int32_t>(memory.slots[1 + m])[lane];
  return Box(map, at.data(), address_of(warp, memory.accesses[0], lane)).pieces;
}

void look_at_alignment(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t lane,
                       uint64_t alignment) {
  if (warp.shadow == nullptr) return;
  const uint64_t address = address_of(warp, access, lane);
  if (address % alignment == 0) return;
  warp.cta->report(warp, i, FindingKind::kMisaligned, static_cast<int>(lane), [&] {
    return concat("the copy begins at byte ", address, " of its memory; it needs a multiple of ", alignment);
  });
}

// ---- to shared memory ----

void load(Warp& warp, const Instruction& i, uint32_t lane, std::vector<BulkPiece> pieces, std::vector<Cta*> targets,
          const AccessCode& to, const AccessCode& at_barrier, int64_t bytes) {
  BulkCopy copy;
  copy.instruction = &i;
  copy.access = &to;
  copy.warp = &warp;
  copy.lane = lane;
  copy.pieces = std::move(pieces);
  copy.barrier = static_cast<uint32_t>(address_of(warp, at_barrier, lane));
  copy.bytes = bytes;
  for (Cta* cta : targets) {
    if (cta->has_ended) {
      if (warp.shadow != nullptr) warp.shadow->find_early_exit(warp, i, *cta, lane);
      continue;
    }
    if (!cta->mbarriers.contains(copy.barrier)) {
      warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane), [&] {
        return concat("the mbarrier at byte ", copy.barrier,
                      " of shared memory, which is to count the copy's bytes, was never initialised");
      });
      continue;
    }
    if (warp.shadow != nullptr && !warp.shadow->look_at_bulk(copy, cta, at_barrier)) continue;
    copy.targets.push_back(cta);
  }
  if (copy.targets.empty()) return;
  if (warp.shadow != nullptr) warp.shadow->look_at_bulk(copy, nullptr, at_barrier);
  ClusterState& cluster = *warp.cta->cluster;
  copy.step = warp.clock;
  if (Timeline* const timeline = warp.cta->timeline; timeline != nullptr) {
    copy.span = timeline->open(warp, i, SpanKind::kBulkLoad, copy.barrier);
  }
  cluster.loads.push_back(std::move(copy));
  if (warp.cta->random != 0 && warp.cta->next_random() % 2 != 0) land_one(cluster);
}

void load_box(Warp& warp, const Instruction& i, uint32_t lane, std::size_t coordinates) {
  const MemoryCode& memory = memory_of(warp, i);
  const bool has_mask = memory.ints[1] != 0;
  const std::optional<TensorMap> map = map_of(warp, i, lane);
  if (!map) return;
  std::vector<Cta*> targets;
  if (has_mask) {
    const uint32_t mask = warp.at<uint32_t>(memory.slots[1 + coordinates])[lane];
    const std::vector<Cta*>& ctas = warp.cta->cluster->ctas;
    for (std::size_t rank = 0; rank < ctas.size(); ++rank) {
      if ((mask >> rank & 1) != 0) targets.push_back(ctas[rank]);
    }
    if (mask == 0 || mask >> ctas.size() != 0) {
      warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane), [&] {
        return concat("mcast_mask is ", mask, ", but the cluster has ",
                      counted(static_cast<int64_t>(ctas.size()), "CTA"), ", a bit each");
      });
    }
  } else {
    targets.push_back(warp.cta);
  }
  look_at_alignment(warp, i, memory.accesses[0], lane, kBoxAlignment);
  std::vector<BulkPiece> pieces = pieces_of_box(warp, i, *map, lane, coordinates);
  if (warp.cta->profile != nullptr) warp.cta->profile->count_bulk(warp, i, pieces, true);
  int64_t bytes = memory.ints[0];
  if (bytes == 0) bytes = std::accumulate(map->box.begin(), map->box.end(), map->bytes, std::multiplies<>());
  load(warp, i, lane, std::move(pieces), std::move(targets), memory.accesses[0], memory.accesses[1], bytes);
}

void tma_load(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const bool has_mask = memory.ints[1] != 0, has_condition = memory.ints.size() > 2 && memory.ints[2] != 0;
  const std::size_t coordinates = memory.slots.size() - 1 - (has_mask ? 1 : 0) - (has_condition ? 1 : 0);
  if (!has_condition) return load_box(warp, i, elected(warp, i), coordinates);
  for (Mask left = warp.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (warp.at<uint8_t>(memory.slots.back())[lane] != 0) load_box(warp, i, lane, coordinates);
  }
}

void bulk_load(Warp& warp, const Instruction& i) {
  const uint32_t lane = elected(warp, i);
  const MemoryCode& memory = memory_of(warp, i);
  look_at_alignment(warp, i, memory.accesses[0], lane, kChunk);
  look_at_alignment(warp, i, memory.accesses[1], lane, kChunk);
  std::vector<BulkPiece> pieces{{address_of(warp, memory.accesses[1], lane), address_of(warp, memory.accesses[0], lane),
                                 static_cast<uint32_t>(memory.ints[0])}};
  if (warp.cta->profile != nullptr) warp.cta->profile->count_bulk(warp, i, pieces, true);
  load(warp, i, lane, std::move(pieces), {warp.cta}, memory.accesses[1], memory.accesses[2], memory.ints[0]);
}

// ---- from shared memory ----

void store(Warp& warp, const Instruction& i, uint32_t lane, std::vector<BulkPiece> pieces, const AccessCode& from) {
  BulkCopy copy;
  copy.instruction = &i;
  copy.access = &from;
  copy.warp = &warp;
  copy.lane = lane;
  copy.group = warp.bulk_committed[lane];
  std::erase_if(pieces, [](const BulkPiece& piece) { return piece.global == 0; });
  copy.pieces = std::move(pieces);
  if (warp.cta->profile != nullptr) warp.cta->profile->count_bulk(warp, i, copy.pieces, false);
  if (warp.shadow != nullptr && !warp.shadow->look_at_bulk(copy, nullptr, from)) return;
  warp.stores.push_back(std::move(copy));
}

void tma_store(Warp& warp, const Instruction& i) {
  const uint32_t lane = elected(warp, i);
  const MemoryCode& memory = memory_of(warp, i);
  look_at_alignment(warp, i, memory.accesses[0], lane, kBoxAlignment);
  const std::optional<TensorMap> map = map_of(warp, i, lane);
  if (!map) return;
  store(warp, i, lane, pieces_of_box(warp, i, *map, lane, memory.slots.size() - 1), memory.accesses[0]);
}

void bulk_store(Warp& warp, const Instruction& i) {
  const uint32_t lane = elected(warp, i);
  const MemoryCode& memory = memory_of(warp, i);
  look_at_alignment(warp, i, memory.accesses[0], lane, kChunk);
  look_at_alignment(warp, i, memory.accesses[1], lane, kChunk);
  const BulkPiece all{address_of(warp, memory.accesses[0], lane), address_of(warp, memory.accesses[1], lane),
                      static_cast<uint32_t>(memory.ints[0])};
  store(warp, i, lane, {all}, memory.accesses[0]);
}

// What is there and what comes, by the operation of a reduction.
template <class T>
void reduce(program::Scalar scalar, const std::string& how, const uint8_t* from, uint8_t* to, uint32_t count,
            uint32_t bytes) {
  for (uint32_t e = 0; e < count; ++e, from += bytes, to += bytes) {
    const T a = decode<T>(scalar, to), b = decode<T>(scalar, from);
    T result = how == "min" ? std::min(a, b) : how == "max" ? std::max(a, b) : static_cast<T>(a + b);
    if constexpr (!std::is_floating_point_v<T>) {
      if (how == "and") result = a & b;
      if (how == "or") result = a | b;
      if (how == "xor") result = a ^ b;
    }
    encode(scalar, result, to);
  }
}

void move_stored(const BulkCopy& copy) {
  const std::string& how = memory_of(*copy.warp, *copy.instruction).text;
  const program::Scalar scalar = copy.access->scalar;
  const uint32_t bytes = copy.access->bytes;
  for (const BulkPiece& piece : copy.pieces) {
    const uint8_t* from = copy.warp->shared + piece.shared;
    auto* to = reinterpret_cast<uint8_t*>(piece.global);
    if (how.empty()) {
      std::memcpy(to, from, piece.bytes);
    } else if (scalar == program::Scalar::kFloat64) {
      reduce<double>(scalar, how, from, to, piece.bytes / bytes, bytes);
    } else if (program::is_float(scalar)) {
      reduce<float>(scalar, how, from, to, piece.bytes / bytes, bytes);
    } else if (program::is_signed(scalar)) {
      reduce<int64_t>(scalar, how, from, to, piece.bytes / bytes, bytes);
    } else {
      reduce<uint64_t>(scalar, how, from, to, piece.bytes / bytes, bytes);
    }
  }
}

void commit(Warp& warp, const Instruction&) {
  for (uint32_t l = 0; l < kLanes; ++l) warp.bulk_committed[l] += warp.mask >> l & 1;
}

// The groups of a lane but the last ones have read shared memory, or have come to their end.
template <bool kRead>
void wait(Warp& warp, const Instruction& i) {
  for (BulkCopy& copy : warp.stores) {
    if ((warp.mask >> copy.lane & 1) == 0 || copy.group + i.side >= warp.bulk_committed[copy.lane]) continue;
    if (!copy.has_read) {
      move_stored(copy);
      if (warp.shadow != nullptr) warp.shadow->land_store(copy, i, true);
      copy.has_read = true;
    }
    if (kRead) continue;
    if (warp.shadow != nullptr) warp.shadow->land_store(copy, i, false);
    copy.warp = nullptr;
  }
  std::erase_if(warp.stores, [](const BulkCopy& copy) { return copy.warp == nullptr; });
}

}  // namespace

bool land_one(ClusterState& cluster) {
  std::vector<Warp*> arriving;
  for (Cta* cta : cluster.ctas) {
    for (Warp& warp : cta->warps) {
      if (!warp.arrivals.empty() && !cta->has_ended) arriving.push_back(&warp);
    }
  }
  const std::size_t count = cluster.loads.size() + arriving.size();
  if (count == 0) return false;
  Cta& leader = *cluster.ctas[0];
  const std::size_t which = leader.random == 0 ? 0 : leader.next_random() % count;
  if (which >= cluster.loads.size()) {
    arrive_by_copies(*arriving[which - cluster.loads.size()]);
    return true;
  }
  const BulkCopy copy = std::move(cluster.loads[which]);
  cluster.loads.erase(cluster.loads.begin() + static_cast<std::ptrdiff_t>(which));
  for (Cta* cta : copy.targets) {
    if (cta->has_ended) continue;  // that was found when it ended
    for (const BulkPiece& piece : copy.pieces) {
      uint8_t* to = cta->shared + piece.shared;
      if (piece.global == 0) {
        std::memset(to, 0, piece.bytes);
      } else {
        std::memcpy(to, reinterpret_cast<const void*>(piece.global), piece.bytes);
      }
    }
    if (cta->shadow != nullptr) cta->shadow->land_load(copy, *cta);
    Mbarrier& barrier = cta->mbarriers.at(copy.barrier);
    barrier.bytes -= copy.bytes;
    barrier.arriving = std::max(barrier.arriving, copy.step);
    if (copy.span != kNoSpan) barrier.landing.push_back(copy.span);
    complete_phases(*cta, copy.barrier);
  }
  return true;
}

void finish_bulk_copies(Cta& cta) {
  for (Warp& warp : cta.warps) {
    for (BulkCopy& copy : warp.stores) {
      if (!copy.has_read) {
        move_stored(copy);
        if (cta.shadow == nullptr) continue;
        cta.report(warp, *copy.instruction, FindingKind::kNotLanded, static_cast<int>(copy.lane),
                   "the CTA comes to its end while the copy may still read its shared memory; commit its group, and "
                   "wait: cp_async_bulk_commit_group(), cp_async_bulk_wait_group(0, read=True)");
      }
      if (warp.shadow != nullptr) warp.shadow->land_store(copy, *copy.instruction, false);
    }
    warp.stores.clear();
  }
  if (cta.shadow == nullptr) return;
  for (const BulkCopy& copy : cta.cluster->loads) {
    if (std::find(copy.targets.begin(), copy.targets.end(), &cta) == copy.targets.end()) continue;
    cta.shadow->find_early_exit(*copy.warp, *copy.instruction, cta, copy.lane);
  }
  cta.shadow->look_at_visits(cta);
}

Handler tma_load_handler() { return &tma_load; }
Handler tma_store_handler() { return &tma_store; }
Handler bulk_load_handler() { return &bulk_load; }
Handler bulk_store_handler() { return &bulk_store; }
Handler bulk_commit_handler() { return &commit; }
Handler bulk_wait_handler(bool is_read) { return is_read ? &wait<true> : &wait<false>; }

}  // namespace tilewright::execute
