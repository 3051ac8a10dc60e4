// Loads, stores, fills and copies.
#include <bit>
#include <cstring>

#include "address.hpp"
#include "handlers.hpp"
#include "host/execute/shadow/shadow.hpp"
#include "lanes.hpp"

namespace tilewright::execute {

using program::Space;

namespace {

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

// The addresses of a row and the lanes that may touch it.
template <bool kChecked>
Mask row(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Use use, Mask mask,
         uint64_t* addresses, Mask& undefined) {
  row_addresses(warp, access, element, addresses);
  if constexpr (kChecked) return warp.shadow->look(warp, i, access, use, addresses, mask, undefined);
  return mask;
}

template <bool kChecked>
void load(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  uint8_t* to = warp.at<uint8_t>(i.to);
  uint64_t addresses[kLanes];
  Mask undefined = 0;
  if constexpr (kChecked) warp.shadow->look_at_vector(warp, i, access, warp.mask);
  for (uint32_t e = 0; e < access.count; ++e, to += kLanes * access.bytes) {
    const Mask mask = row<kChecked>(warp, i, access, e, Use::kRead, warp.mask, addresses, undefined);
    if (kChecked && mask != warp.mask) std::memset(to, 0, kLanes * access.bytes);
    read_row(warp, access, addresses, mask, to);
    if constexpr (kChecked) Shadow::set_undefined(warp, i.to, access.bytes, e, undefined, i.place);
  }
}

template <bool kChecked>
void store(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  const uint8_t* from = warp.at<uint8_t>(i.a);
  const uint32_t step = i.one_a ? 0 : kLanes * access.bytes;
  uint64_t addresses[kLanes];
  Mask undefined = 0;
  if constexpr (kChecked) warp.shadow->look_at_vector(warp, i, access, warp.mask);
  for (uint32_t e = 0; e < access.count; ++e, from += step) {
    if constexpr (kChecked) undefined = Shadow::undefined(warp, i.a, access.bytes, i.one_a ? 0 : e);
    const Mask mask = row<kChecked>(warp, i, access, e, Use::kWrite, warp.mask, addresses, undefined);
    write_row(warp, access, addresses, mask, from);
  }
}

// ---- fragments: all lanes have one address, so that a row is 4 bytes of each lane side by side ----

template <class T>
TILEWRIGHT_INLINE void read_fragment(const uint8_t* frame, uint64_t address, T* to) {
  if constexpr (sizeof(T) == 8) {
    const auto* low = reinterpret_cast<const uint32_t*>(frame + (address >> 2) * kFrameRow);
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = low[l] | uint64_t{low[kLanes + l]} << 32;
  } else if constexpr (sizeof(T) == 4) {
    std::memcpy(to, frame + (address >> 2) * kFrameRow, kFrameRow);
  } else {
    const auto* rows = reinterpret_cast<const uint32_t*>(frame + (address >> 2) * kFrameRow);
    const uint32_t shift = 8 * (address & 3);
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = static_cast<T>(rows[l] >> shift);
  }
}

template <class T>
TILEWRIGHT_INLINE void write_fragment(uint8_t* frame, uint64_t address, const T* from, Mask mask) {
  auto* row = reinterpret_cast<uint32_t*>(frame + (address >> 2) * kFrameRow);
  const auto active = [mask](uint32_t l) { return (mask >> l & 1) != 0; };
  if constexpr (sizeof(T) == 8) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      row[l] = active(l) ? static_cast<uint32_t>(from[l]) : row[l];
      row[kLanes + l] = active(l) ? static_cast<uint32_t>(from[l] >> 32) : row[kLanes + l];
    }
  } else if constexpr (sizeof(T) == 4) {
    if (mask == kAllLanes) {
      std::memcpy(row, from, kFrameRow);
      return;
    }
    for (uint32_t l = 0; l < kLanes; ++l) row[l] = active(l) ? from[l] : row[l];
  } else {
    const uint32_t shift = 8 * (address & 3), ones = ((uint32_t{1} << 8 * sizeof(T)) - 1) << shift;
    for (uint32_t l = 0; l < kLanes; ++l) {
      row[l] = active(l) ? (row[l] & ~ones) | uint32_t{from[l]} << shift : row[l];
    }
  }
}

template <class T, bool kChecked>
void load_fragment(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  const uint64_t base = warp.at<uint64_t>(access.pointer)[0];
  T* to = warp.at<T>(i.to);
  for (uint32_t e = 0; e < access.count; ++e, to += kLanes) {
    const uint64_t address = base + static_cast<uint64_t>(access.offsets[e]);
    if constexpr (kChecked) {
      Mask undefined = 0;
      if (!warp.shadow->look_at_fragment(warp, i, access, Use::kRead, address, warp.mask, undefined)) {
        std::memset(to, 0, sizeof(T) * kLanes);
        continue;
      }
      Shadow::set_undefined(warp, i.to, sizeof(T), e, undefined, i.place);
    }
    read_fragment<T>(warp.frame, address, to);
  }
}

template <class T, bool kChecked>
void store_fragment(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  const uint64_t base = warp.at<uint64_t>(access.pointer)[0];
  const T* from = warp.at<T>(i.a);
  const uint32_t step = i.one_a ? 0 : kLanes;
  for (uint32_t e = 0; e < access.count; ++e, from += step) {
    const uint64_t address = base + static_cast<uint64_t>(access.offsets[e]);
    if constexpr (kChecked) {
      Mask undefined = Shadow::undefined(warp, i.a, sizeof(T), i.one_a ? 0 : e);
      if (!warp.shadow->look_at_fragment(warp, i, access, Use::kWrite, address, warp.mask, undefined)) continue;
    }
    write_fragment<T>(warp.frame, address, from, warp.mask);
  }
}

// ---- copies ----

// The lanes for which instruction `which` of a copy is executed.
template <bool kChecked>
Mask predicate_of(const Warp& warp, const Instruction& i, const MemoryCode& memory, uint32_t which) {
  if (memory.accesses.size() < 3) return warp.mask;
  const AccessCode& access = memory.accesses[2];
  uint64_t addresses[kLanes];
  uint8_t values[kLanes] = {};
  Mask undefined = 0;
  const Mask readable = row<kChecked>(warp, i, access, which, Use::kRead, warp.mask, addresses, undefined);
  if (kChecked && undefined != 0) Shadow::find_undefined(warp, i, undefined, 0, "decides what is copied");
  read_row(warp, access, addresses, readable, values);
  Mask mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) mask |= Mask{values[l] != 0} << l;
  return mask & readable;
}

template <bool kChecked>
void copy(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const AccessCode &from = memory.accesses[0], &to = memory.accesses[1];
  const auto elements = static_cast<uint32_t>(memory.ints[1]);
  uint64_t addresses[kLanes];
  alignas(64) uint8_t values[kRowsAtOnce][kLanes * 8];
  Mask undefined[kRowsAtOnce] = {};
  for (uint32_t first = 0; first < from.count; first += elements) {
    const Mask mask = predicate_of<kChecked>(warp, i, memory, first / elements);
    if (mask == 0) continue;
    if constexpr (kChecked) {
      warp.shadow->look_at_vector(warp, i, from, first, memory.ints[0] / 8, mask);
      warp.shadow->look_at_vector(warp, i, to, first, memory.ints[0] / 8, mask);
    }
    for (uint32_t begin = first; begin < first + elements; begin += kRowsAtOnce) {
      const uint32_t last = std::min(begin + kRowsAtOnce, first + elements);
      for (uint32_t e = begin; e < last; ++e) {
        const Mask readable = row<kChecked>(warp, i, from, e, Use::kRead, mask, addresses, undefined[e - begin]);
        if (kChecked && readable != mask) std::memset(values[e - begin], 0, sizeof values[0]);
        read_row(warp, from, addresses, readable, values[e - begin]);
      }
      for (uint32_t e = begin; e < last; ++e) {
        const Mask writable = row<kChecked>(warp, i, to, e, Use::kWrite, mask, addresses, undefined[e - begin]);
        write_row(warp, to, addresses, writable, values[e - begin]);
      }
    }
  }
}

// Each element of each lane is under way until it lands.
template <bool kChecked>
void copy_async(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const AccessCode &from = memory.accesses[0], &to = memory.accesses[1];
  const auto elements = static_cast<uint32_t>(memory.ints[1]);
  for (uint32_t first = 0; first < from.count; first += elements) {
    const Mask mask = predicate_of<kChecked>(warp, i, memory, first / elements);
    if constexpr (kChecked) {
      warp.shadow->look_at_vector(warp, i, from, first, memory.ints[0] / 8, mask);
      warp.shadow->look_at_vector(warp, i, to, first, memory.ints[0] / 8, warp.mask);
    }
    for (uint32_t e = first; e < first + elements; ++e) {
      PendingCopy copy{};
      copy.instruction = &i;
      Mask undefined = 0;
      // Where the predicate is false nothing is read, and zeros land.
      copy.zeros = warp.mask & ~mask;
      copy.left = row<kChecked>(warp, i, from, e, Use::kRead, mask, copy.from, undefined) | copy.zeros;
      copy.left &= row<kChecked>(warp, i, to, e, Use::kAsyncWrite, warp.mask, copy.to, undefined);
      std::memcpy(copy.group, warp.committed, sizeof copy.group);
      if (copy.left != 0) warp.pending.push_back(copy);
    }
  }
}

// The groups of a lane but the last `allowed` ones land, in an order that the seed chooses.
void land(Warp& warp, uint32_t allowed) {
  std::vector<PendingCopy*> ready;
  std::vector<Mask> masks;
  for (PendingCopy& copy : warp.pending) {
    Mask now = 0;
    for (Mask left = copy.left & warp.mask; left != 0; left &= left - 1) {
      const int l = std::countr_zero(left);
      if (copy.group[l] + allowed < warp.committed[l]) now |= Mask{1} << l;
    }
    if (now == 0) continue;
    ready.push_back(&copy);
    masks.push_back(now);
  }
  for (std::size_t n = ready.size(); n > 1 && warp.cta->random != 0; --n) {
    const std::size_t other = warp.cta->next_random() % n;
    std::swap(ready[n - 1], ready[other]);
    std::swap(masks[n - 1], masks[other]);
  }
  alignas(64) uint8_t values[kLanes * 8];
  for (std::size_t n = 0; n < ready.size(); ++n) {
    PendingCopy& copy = *ready[n];
    const MemoryCode& memory = memory_of(warp, *copy.instruction);
    if ((masks[n] & copy.zeros) != 0) std::memset(values, 0, sizeof values);
    read_row(warp, memory.accesses[0], copy.from, masks[n] & ~copy.zeros, values);
    write_row(warp, memory.accesses[1], copy.to, masks[n], values);
    if (warp.shadow != nullptr) {
      warp.shadow->land(warp, *copy.instruction, memory.accesses[1], copy.to, masks[n]);
    }
    copy.left &= ~masks[n];
  }
  std::erase_if(warp.pending, [](const PendingCopy& copy) { return copy.left == 0; });
}

void commit(Warp& warp, const Instruction&) {
  for (uint32_t l = 0; l < kLanes; ++l) warp.committed[l] += warp.mask >> l & 1;
}

void wait(Warp& warp, const Instruction& i) { land(warp, i.side); }

// ---- pointers ----

template <class T>
void offset(Warp& warp, const Instruction& i) {
  uint64_t* __restrict to = warp.at<uint64_t>(i.to);
  const uint64_t* __restrict pointer = warp.at<uint64_t>(i.a);
  const T* __restrict by = warp.at<T>(i.b);
  const uint64_t unit = i.side;
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = pointer[l] + static_cast<uint64_t>(int64_t{by[l]}) * unit;
}

// A fresh allocation of a frame has not been written.
void enter_frame(Warp& warp, const Instruction& i) {
  warp.shadow->forget(warp, warp.code->allocations[i.side], warp.mask);
}

bool is_fragment(const AccessCode& access) {
  return access.space == Space::kRegister && access.is_uniform && access.is_static && access.swizzle.bits == 0 &&
         !access.is_half && access.is_aligned;
}

template <template <class, bool> class F>
Handler of_bytes(uint32_t bytes, bool checked) {
  switch (bytes) {
    case 1:
      return checked ? &F<uint8_t, true>::run : &F<uint8_t, false>::run;
    case 2:
      return checked ? &F<uint16_t, true>::run : &F<uint16_t, false>::run;
    case 4:
      return checked ? &F<uint32_t, true>::run : &F<uint32_t, false>::run;
    default:
      return checked ? &F<uint64_t, true>::run : &F<uint64_t, false>::run;
  }
}
template <class T, bool kChecked>
struct LoadFragment {
  static void run(Warp& warp, const Instruction& i) { load_fragment<T, kChecked>(warp, i); }
};
template <class T, bool kChecked>
struct StoreFragment {
  static void run(Warp& warp, const Instruction& i) { store_fragment<T, kChecked>(warp, i); }
};

}  // namespace

Handler load_handler(const AccessCode& access, bool checked) {
  if (is_fragment(access)) return of_bytes<LoadFragment>(access.bytes, checked);
  return checked ? &load<true> : &load<false>;
}
Handler store_handler(const AccessCode& access, bool checked) {
  if (is_fragment(access)) return of_bytes<StoreFragment>(access.bytes, checked);
  return checked ? &store<true> : &store<false>;
}
Mask copied_lanes(const Warp& warp, const Instruction& instruction, uint32_t which) {
  return predicate_of<false>(warp, instruction, memory_of(warp, instruction), which);
}
Handler copy_handler(bool checked) { return checked ? &copy<true> : &copy<false>; }
Handler async_copy_handler(bool checked) { return checked ? &copy_async<true> : &copy_async<false>; }
Handler commit_handler() { return &commit; }
Handler wait_handler() { return &wait; }
Handler offset_handler(bool is_wide) { return is_wide ? &offset<int64_t> : &offset<int32_t>; }
Handler frame_handler() { return &enter_frame; }

}  // namespace tilewright::execute
