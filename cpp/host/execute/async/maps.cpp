// Tensor maps in memory, which threads change. The GPU's bits are not known; here they hold what a copy needs.
#include "maps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bulk.hpp"
#include "core/error.hpp"
#include "host/execute/lanes/address.hpp"
#include "host/execute/lanes/handlers.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

namespace {

using program::Opcode;
using program::Space;

constexpr uint64_t kMagic = 0x70616D726F736E65;  // a tensor map begins with it
constexpr std::size_t kModes = 5;
constexpr int64_t kAligned = 16, kMostExtent = int64_t{1} << 32, kStrideLimit = int64_t{1} << 40;

struct Packed {
  uint64_t magic, address;
  int64_t strides[kModes - 1];
  uint32_t last[kModes];  // extents less 1
  uint16_t box[kModes];
  uint8_t modes, bytes, swizzle;
};
static_assert(sizeof(Packed) <= kMapBytes);

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

Packed packed(const TensorMap& map) {
  Packed p{};
  p.magic = kMagic;
  p.address = map.address;
  p.modes = static_cast<uint8_t>(map.box.size());
  p.bytes = static_cast<uint8_t>(map.bytes);
  p.swizzle = static_cast<uint8_t>(map.swizzle);
  for (std::size_t m = 0; m < map.box.size(); ++m) {
    p.last[m] = static_cast<uint32_t>(map.shape[m] - 1);
    p.box[m] = static_cast<uint16_t>(map.box[m]);
    if (m > 0) p.strides[m - 1] = map.strides[m - 1];
  }
  return p;
}

TensorMap unpacked(const Packed& p) {
  TensorMap map{p.address, p.bytes, {}, {}, {}, p.swizzle};
  for (std::size_t m = 0; m < p.modes; ++m) {
    map.shape.push_back(int64_t{p.last[m]} + 1);
    map.box.push_back(p.box[m]);
    if (m > 0) map.strides.push_back(p.strides[m - 1]);
  }
  return map;
}

// The address of an access, those of shared memory in its window.
uint64_t place_of(const Warp& warp, const AccessCode& access, uint32_t lane) {
  uint64_t addresses[kLanes];
  row_addresses(warp, access, 0, addresses);
  return addresses[lane] | (access.space == Space::kShared ? kSharedWindow : 0);
}

uint8_t* bytes_at(const Warp& warp, uint64_t address) {
  return (address & kSharedWindow) != 0 ? warp.shared + (address & ~kSharedWindow)
                                        : reinterpret_cast<uint8_t*>(address);
}

bool touch(const Warp& warp, const Instruction& i, const AccessCode& access, Use use, uint64_t address, uint32_t lane) {
  return warp.shadow == nullptr || warp.shadow->touch_map(warp, i, access, use, address, lane);
}

bool is_there(const Warp& warp, const Instruction& i, const Packed& map, uint32_t lane) {
  if (map.magic == kMagic && map.modes >= 1 && map.modes <= kModes) return true;
  warp.cta->report(warp, i, FindingKind::kNotWritten, static_cast<int>(lane),
                   "there is no tensor map at the address; copy_tensormap(atom, pointer) writes one there");
  return false;
}

Packed read(const Warp& warp, uint64_t address) {
  Packed map;
  std::memcpy(&map, bytes_at(warp, address), sizeof map);
  return map;
}

// Each thread that is here writes the same.
void copy(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  for (Mask left = warp.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t to = place_of(warp, memory.accesses[0], lane);
    const Packed map = packed(*reinterpret_cast<const TensorMap*>(warp.at<uint64_t>(memory.slots[0])[lane]));
    if (touch(warp, i, memory.accesses[0], Use::kWrite, to, lane)) std::memcpy(bytes_at(warp, to), &map, sizeof map);
  }
}

void replace(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const uint32_t lane = elected(warp, i);
  const uint64_t at = place_of(warp, memory.accesses[0], lane);
  if (!touch(warp, i, memory.accesses[0], Use::kRead, at, lane)) return;
  Packed map = read(warp, at);
  if (!is_there(warp, i, map, lane)) return;
  const auto modes = static_cast<std::size_t>(memory.ints[0]);
  const auto report = [&](FindingKind kind, auto&& message) {
    warp.cta->report(warp, i, kind, static_cast<int>(lane), message);
  };
  const auto number = [&](std::size_t operand) { return warp.at<int64_t>(memory.slots[operand])[lane]; };
  if (modes != map.modes) {
    return report(FindingKind::kOutOfBounds, [&] {
      return concat("the tensor map is of ", counted(map.modes, "mode"), ", and the tensor has ", modes);
    });
  }
  map.address = warp.at<uint64_t>(memory.slots[0])[lane];
  if (map.address % kAligned != 0) {
    report(FindingKind::kMisaligned,
           [&] { return concat("the tensor's address is no multiple of ", kAligned, " bytes, which TMA needs"); });
  }
  for (std::size_t m = 0; m < modes; ++m) {
    const int64_t extent = number(1 + m), stride = number(1 + modes + m);
    if (extent < 1 || extent > kMostExtent) {
      return report(FindingKind::kOutOfBounds,
                    [&] { return concat("extent ", m, " of the tensor is ", extent, "; TMA takes 1 to 2^32"); });
    }
    map.last[m] = static_cast<uint32_t>(extent - 1);
    if (m == 0) {
      if (stride == 1 || extent == 1) continue;
      return report(FindingKind::kMisaligned, [&] {
        return concat("the stride of the fastest mode is ", stride, " elements, but the tensor map's is contiguous");
      });
    }
    const int64_t bytes = stride * map.bytes;
    if (bytes % kAligned != 0 || bytes < 0 || bytes >= kStrideLimit) {
      return report(FindingKind::kMisaligned, [&] {
        return concat("stride ", m, " of the tensor is ", bytes,
                      " bytes (the fastest mode is 0); TMA takes multiples of ", kAligned, " below 2^40: pad the rows");
      });
    }
    map.strides[m - 1] = bytes;
  }
  if (touch(warp, i, memory.accesses[0], Use::kWrite, at, lane)) std::memcpy(bytes_at(warp, at), &map, sizeof map);
}

// The whole warp does it. Which of its threads reads is not said, so that one that is rarely elected tells whether the
// warp was synchronised after the change.
void publish(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  elected(warp, i);
  const uint32_t lane = kLanes - 1 - static_cast<uint32_t>(std::countl_zero(warp.mask));
  const uint64_t to = place_of(warp, memory.accesses[0], lane), from = place_of(warp, memory.accesses[1], lane);
  const bool is_right = touch(warp, i, memory.accesses[1], Use::kRead, from, lane) &&
                        touch(warp, i, memory.accesses[0], Use::kWrite, to, lane);
  const Packed map = read(warp, from);
  if (is_right && is_there(warp, i, map, lane)) std::memcpy(bytes_at(warp, to), &map, sizeof map);
  if (warp.shadow == nullptr) return;
  warp.shadow->fence(warp, "proxy.tensormap");
  warp.shadow->sync_lanes(warp, warp.mask);
}

void acquire(Warp& warp, const Instruction& i) {
  if (warp.shadow == nullptr) return;
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  warp.shadow->acquire_map(warp, place_of(warp, memory_of(warp, i).accesses[0], lane));
}

}  // namespace

std::optional<TensorMap> map_of(const Warp& warp, const Instruction& i, uint32_t lane) {
  const MemoryCode& memory = memory_of(warp, i);
  const uint64_t at = warp.at<uint64_t>(memory.slots[0])[lane];
  if (!memory.is_map_in_memory) return *reinterpret_cast<const TensorMap*>(at);
  if ((at & kWindowMask) != 0) {
    warp.cta->report(warp, i, FindingKind::kOutOfBounds, static_cast<int>(lane),
                     "a copy takes its tensor map from global memory; bring it there by cp_fence_tma_desc_release");
    return std::nullopt;
  }
  if (warp.shadow != nullptr && !warp.shadow->look_at_map(warp, i, memory.accesses[0], at, lane)) return std::nullopt;
  const Packed map = read(warp, at);
  if (!is_there(warp, i, map, lane)) return std::nullopt;
  return unpacked(map);
}

Handler tensor_map_handler(Opcode code) {
  return code == Opcode::kMapCopy      ? &copy
         : code == Opcode::kMapReplace ? &replace
         : code == Opcode::kMapPublish ? &publish
                                       : &acquire;
}

}  // namespace tilewright::execute
