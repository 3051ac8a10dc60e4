// Loads, stores, fills and copies.
#include <bit>
#include <cstring>

#include "address.hpp"
#include "elements.hpp"
#include "handlers.hpp"
#include "host/execute/shadow/shadow.hpp"
#include "lanes.hpp"

namespace tilewright::execute {

using program::Space;

namespace {

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

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

void read_fragment(const Warp& warp, const AccessCode& access, uint32_t element, void* to) {
  const uint64_t address = warp.at<uint64_t>(access.pointer)[0] + static_cast<uint64_t>(access.offsets[element]);
  switch (access.bytes) {
    case 1:
      return read_fragment(warp.frame, address, static_cast<uint8_t*>(to));
    case 2:
      return read_fragment(warp.frame, address, static_cast<uint16_t*>(to));
    case 4:
      return read_fragment(warp.frame, address, static_cast<uint32_t*>(to));
    default:
      return read_fragment(warp.frame, address, static_cast<uint64_t*>(to));
  }
}

void write_fragment(const Warp& warp, const AccessCode& access, uint32_t element, const void* from, Mask mask) {
  const uint64_t address = warp.at<uint64_t>(access.pointer)[0] + static_cast<uint64_t>(access.offsets[element]);
  switch (access.bytes) {
    case 1:
      return write_fragment(warp.frame, address, static_cast<const uint8_t*>(from), mask);
    case 2:
      return write_fragment(warp.frame, address, static_cast<const uint16_t*>(from), mask);
    case 4:
      return write_fragment(warp.frame, address, static_cast<const uint32_t*>(from), mask);
    default:
      return write_fragment(warp.frame, address, static_cast<const uint64_t*>(from), mask);
  }
}

// ---- rows: one element of each lane ----

// The addresses of a row and the lanes that may touch it.
template <bool kChecked>
Mask row(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Use use, Mask mask,
         uint64_t* addresses, Mask& undefined, const void* written = nullptr) {
  row_addresses(warp, access, element, addresses);
  if constexpr (kChecked) return warp.shadow->look(warp, i, access, use, addresses, mask, undefined, written);
  return mask;
}

bool look_at_fragment(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Use use,
                      Mask mask, Mask& undefined) {
  const uint64_t address = warp.at<uint64_t>(access.pointer)[0] + static_cast<uint64_t>(access.offsets[element]);
  return warp.shadow->look_at_fragment(warp, i, access, use, address, mask, undefined);
}

// Reads a row; what may not be read is 0. The lanes that may.
template <bool kChecked>
Mask read_one(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask, void* to,
              Mask& undefined) {
  uint64_t addresses[kLanes];
  if (!access.is_fragment) {
    const Mask readable = row<kChecked>(warp, i, access, element, Use::kRead, mask, addresses, undefined);
    if (kChecked && readable != mask) std::memset(to, 0, kLanes * access.bytes);
    read_row(warp, access, addresses, readable, to);
    return readable;
  }
  if constexpr (kChecked) {
    if (!look_at_fragment(warp, i, access, element, Use::kRead, mask, undefined)) {
      std::memset(to, 0, kLanes * access.bytes);
      return 0;
    }
  }
  read_fragment(warp, access, element, to);
  return mask;
}

template <bool kChecked>
void write_one(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask,
               const void* from, Mask undefined) {
  uint64_t addresses[kLanes];
  if (!access.is_fragment) {
    const Mask writable = row<kChecked>(warp, i, access, element, Use::kWrite, mask, addresses, undefined, from);
    return write_row(warp, access, addresses, writable, from);
  }
  if (kChecked && !look_at_fragment(warp, i, access, element, Use::kWrite, mask, undefined)) return;
  write_fragment(warp, access, element, from, mask);
}

}  // namespace

bool is_right(const Warp& warp, const Instruction& i, const AccessCode& access, Use use, uint32_t first,
              uint32_t elements, int64_t vector, Mask mask) {
  if (access.is_fragment) {
    return use == Use::kRead ? Shadow::is_written(warp, access, first, elements, mask)
                             : Shadow::write(warp, access, first, elements, mask);
  }
  return warp.shadow->look_at_runs(warp, i, access, use, first, elements, vector, mask);
}

Mask read_element(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask,
                  void* to, Mask& undefined, bool is_checked) {
  const auto read = is_checked ? &read_one<true> : &read_one<false>;
  return read(warp, i, access, element, mask, to, undefined);
}

void write_element(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask,
                   const void* from, Mask undefined, bool is_checked) {
  const auto write = is_checked ? &write_one<true> : &write_one<false>;
  write(warp, i, access, element, mask, from, undefined);
}

namespace {

// The same of all elements; if not, vectors that are not aligned are found.
bool is_right(const Warp& warp, const Instruction& i, const AccessCode& access, Use use) {
  const int64_t vector = Shadow::vector_of(access);
  if (is_right(warp, i, access, use, 0, access.count, vector, warp.mask)) return true;
  warp.shadow->look_at_vector(warp, i, access, 0, vector, warp.mask);
  return false;
}

// ---- loads and stores ----

template <bool kChecked>
void load(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  uint8_t* to = warp.at<uint8_t>(i.to);
  Mask undefined = 0;
  if (kChecked && is_right(warp, i, access, Use::kRead)) {
    load<false>(warp, i);
    if (!warp.has_undefined) return;
    for (uint32_t e = 0; e < access.count; ++e) Shadow::set_undefined(warp, i.to, access.bytes, e, 0, 0);
    return;
  }
  for (uint32_t e = 0; e < access.count; ++e, to += kLanes * access.bytes) {
    undefined = 0;
    read_one<kChecked>(warp, i, access, e, warp.mask, to, undefined);
    if constexpr (kChecked) Shadow::set_undefined(warp, i.to, access.bytes, e, undefined, i.place);
  }
}

template <bool kChecked>
void store(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  const uint8_t* from = warp.at<uint8_t>(i.a);
  const uint32_t step = i.one_a ? 0 : kLanes * access.bytes;
  Mask undefined = 0;
  if (kChecked && !warp.has_undefined && is_right(warp, i, access, Use::kWrite)) return store<false>(warp, i);
  if (kChecked && warp.has_undefined) {
    warp.shadow->look_at_vector(warp, i, access, 0, Shadow::vector_of(access), warp.mask);
  }
  for (uint32_t e = 0; e < access.count; ++e, from += step) {
    if constexpr (kChecked) undefined = Shadow::undefined(warp, i.a, access.bytes, i.one_a ? 0 : e);
    write_one<kChecked>(warp, i, access, e, warp.mask, from, undefined);
  }
}

// ---- copies ----

// The lanes for which instruction `which` of a copy is executed.
template <bool kChecked>
Mask predicate_of(const Warp& warp, const Instruction& i, const MemoryCode& memory, uint32_t which) {
  if (memory.accesses.size() < 3) return warp.mask;
  const AccessCode& access = memory.accesses[2];
  uint8_t values[kLanes] = {};
  Mask undefined = 0;
  const Mask readable = read_one<kChecked>(warp, i, access, which, warp.mask, values, undefined);
  if (kChecked && undefined != 0) Shadow::find_undefined(warp, i, undefined, 0, "decides what is copied");
  Mask mask = 0;
  for (uint32_t l = 0; l < kLanes; ++l) mask |= Mask{values[l] != 0} << l;
  return mask & readable;
}

template <bool kChecked>
void copy(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const AccessCode &from = memory.accesses[0], &to = memory.accesses[1];
  const auto elements = static_cast<uint32_t>(memory.ints[1]);
  const int64_t vector = memory.ints[0] / 8;
  alignas(64) uint8_t values[kRowsAtOnce][kLanes * 8];
  Mask undefined[kRowsAtOnce] = {};
  for (uint32_t first = 0; first < from.count; first += elements) {
    const Mask mask = predicate_of<kChecked>(warp, i, memory, first / elements);
    if (mask == 0) continue;
    bool is_read = false, is_written = false;
    if constexpr (kChecked) {
      is_read = is_right(warp, i, from, Use::kRead, first, elements, vector, mask);
      is_written = is_read && is_right(warp, i, to, Use::kWrite, first, elements, vector, mask);
      if (!is_read) warp.shadow->look_at_vector(warp, i, from, first, vector, mask);
      if (!is_written) warp.shadow->look_at_vector(warp, i, to, first, vector, mask);
    }
    for (uint32_t begin = first; begin < first + elements; begin += kRowsAtOnce) {
      const uint32_t last = std::min(begin + kRowsAtOnce, first + elements);
      for (uint32_t e = begin; e < last; ++e) {
        undefined[e - begin] = 0;
        const auto read = kChecked && !is_read ? &read_one<true> : &read_one<false>;
        read(warp, i, from, e, mask, values[e - begin], undefined[e - begin]);
      }
      for (uint32_t e = begin; e < last; ++e) {
        const auto write = kChecked && !is_written ? &write_one<true> : &write_one<false>;
        write(warp, i, to, e, mask, values[e - begin], undefined[e - begin]);
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
      copy.number = warp.copies++;
      Mask undefined = 0;
      // Where the predicate is false nothing is read, and zeros land.
      copy.zeros = warp.mask & ~mask;
      copy.left = row<kChecked>(warp, i, from, e, Use::kAsyncRead, mask, copy.from, undefined) | copy.zeros;
      copy.left &= row<kChecked>(warp, i, to, e, Use::kAsyncWrite, warp.mask, copy.to, undefined);
      std::memcpy(copy.group, warp.committed, sizeof copy.group);
      if (copy.left != 0) warp.pending.push_back(copy);
    }
  }
}

// What lanes_of(copy) says lands, in an order that the seed chooses.
template <class Lanes, class Landed>
void land(Warp& warp, Lanes&& lanes_of, Landed&& landed) {
  std::vector<PendingCopy*> ready;
  std::vector<Mask> masks;
  for (PendingCopy& copy : warp.pending) {
    const Mask now = lanes_of(copy);
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
    if (warp.shadow != nullptr) landed(copy, masks[n]);
    copy.left &= ~masks[n];
  }
  std::erase_if(warp.pending, [](const PendingCopy& copy) { return copy.left == 0; });
}

void commit(Warp& warp, const Instruction&) {
  for (uint32_t l = 0; l < kLanes; ++l) warp.committed[l] += warp.mask >> l & 1;
}

// The groups of a lane but the last ones land.
void wait(Warp& warp, const Instruction& i) {
  const uint32_t allowed = i.side;
  const auto lanes_of = [&](const PendingCopy& copy) {
    Mask now = 0;
    for (Mask left = copy.left & warp.mask; left != 0; left &= left - 1) {
      const int l = std::countr_zero(left);
      if (copy.group[l] + allowed < warp.committed[l]) now |= Mask{1} << l;
    }
    return now;
  };
  land(warp, lanes_of, [&](const PendingCopy& copy, Mask mask) { warp.shadow->land(warp, copy, mask); });
}

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

}  // namespace

void land_for_barrier(Warp& warp, Mask lanes, uint64_t before, uint32_t barrier) {
  land(
      warp, [&](const PendingCopy& copy) { return copy.number < before ? copy.left & lanes : 0; },
      [&](const PendingCopy& copy, Mask mask) { warp.shadow->land_for_barrier(warp, copy, mask, barrier); });
}

Handler load_handler(bool checked) { return checked ? &load<true> : &load<false>; }
Handler store_handler(bool checked) { return checked ? &store<true> : &store<false>; }
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
