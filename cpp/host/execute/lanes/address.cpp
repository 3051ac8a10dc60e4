#include "address.hpp"

#include <bit>
#include <cstring>

namespace tilewright::execute {

using program::Space;

void dynamic_offsets(const Warp& warp, const AccessCode& access, uint32_t element, uint64_t* to) {
  const auto value = [&warp](Slot slot, bool is_wide, uint32_t l) {
    return is_wide ? warp.at<int64_t>(slot)[l] : int64_t{warp.at<int32_t>(slot)[l]};
  };
  int64_t fixed = access.offset;
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = 0;
  if (access.dynamic != kNoSlot) {
    for (uint32_t l = 0; l < kLanes; ++l)
      to[l] = static_cast<uint64_t>(value(access.dynamic, access.dynamic_is_wide, l));
  }
  int64_t rest = element;
  for (const AccessCode::Mode& mode : access.modes) {
    const int64_t coordinate = rest % mode.extent;
    rest /= mode.extent;
    if (coordinate == 0) continue;
    if (mode.dynamic == kNoSlot) {
      fixed += coordinate * mode.stride;
    } else {
      for (uint32_t l = 0; l < kLanes; ++l) {
        to[l] += static_cast<uint64_t>(coordinate) * static_cast<uint64_t>(value(mode.dynamic, mode.is_wide, l));
      }
    }
  }
  for (uint32_t l = 0; l < kLanes; ++l) to[l] += static_cast<uint64_t>(fixed);
  if (access.element_swizzle.bits != 0) {
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = swizzled(access.element_swizzle, to[l]);
  }
  for (uint32_t l = 0; l < kLanes; ++l) to[l] *= access.unit;
}

namespace {

// f(lane) for the lanes of a mask.
template <class F>
inline void each_lane(Mask mask, F&& f) {
  if (mask == kAllLanes) {
    for (uint32_t l = 0; l < kLanes; ++l) f(l);
    return;
  }
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

// The host's address of an element that a lane touches.
inline uint8_t* place(const Warp& warp, Space space, uint64_t address, uint32_t lane) {
  if (space == Space::kGeneric) {
    const uint64_t window = address & kWindowMask;
    space = window == kSharedWindow ? Space::kShared : window == kFrameWindow ? Space::kRegister : Space::kGlobal;
    if (space != Space::kGlobal) address &= ~kWindowMask;
    if (space == Space::kShared && (address & kRemoteMask) != 0) {
      const Cta* there = cta_of(warp, address);
      return (there == nullptr ? warp.shared : there->shared) + (address & ~kRemoteMask);
    }
  }
  switch (space) {
    case Space::kShared:
      return warp.shared + address;
    case Space::kRegister:
      return warp.frame + frame_place(address, lane);
    default:
      return reinterpret_cast<uint8_t*>(address);
  }
}

bool is_in_frame(Space space, uint64_t address) {
  return space == Space::kRegister || (space == Space::kGeneric && (address & kWindowMask) == kFrameWindow);
}

template <class T>
T get(const Warp& warp, Space space, uint64_t address, uint32_t lane) {
  T value;
  if constexpr (sizeof(T) == 8) {
    if (is_in_frame(space, address)) {
      std::memcpy(&value, place(warp, space, address, lane), 4);
      std::memcpy(reinterpret_cast<uint8_t*>(&value) + 4, place(warp, space, address + 4, lane), 4);
      return value;
    }
  }
  std::memcpy(&value, place(warp, space, address, lane), sizeof value);
  return value;
}

template <class T>
void put(const Warp& warp, Space space, uint64_t address, uint32_t lane, T value) {
  if constexpr (sizeof(T) == 8) {
    if (is_in_frame(space, address)) {
      std::memcpy(place(warp, space, address, lane), &value, 4);
      std::memcpy(place(warp, space, address + 4, lane), reinterpret_cast<const uint8_t*>(&value) + 4, 4);
      return;
    }
  }
  std::memcpy(place(warp, space, address, lane), &value, sizeof value);
}

template <class T>
void read(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, T* to) {
  // The usual spaces with a loop of their own.
  if (access.space == Space::kGlobal) {
    each_lane(mask, [&](uint32_t l) { std::memcpy(to + l, reinterpret_cast<const void*>(addresses[l]), sizeof(T)); });
  } else if (access.space == Space::kShared) {
    const uint8_t* shared = warp.shared;
    each_lane(mask, [&](uint32_t l) { std::memcpy(to + l, shared + addresses[l], sizeof(T)); });
  } else {
    each_lane(mask, [&](uint32_t l) { to[l] = get<T>(warp, access.space, addresses[l], l); });
  }
}

template <class T>
void write(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, const T* from) {
  if (access.space == Space::kGlobal) {
    each_lane(mask, [&](uint32_t l) { std::memcpy(reinterpret_cast<void*>(addresses[l]), from + l, sizeof(T)); });
  } else if (access.space == Space::kShared) {
    uint8_t* shared = warp.shared;
    each_lane(mask, [&](uint32_t l) { std::memcpy(shared + addresses[l], from + l, sizeof(T)); });
  } else {
    each_lane(mask, [&](uint32_t l) { put(warp, access.space, addresses[l], l, from[l]); });
  }
}

// Elements of 4 bits: the lower half of a byte comes first. Integers are kept with their sign.
void read_halves(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, uint8_t* to) {
  const bool is_signed = program::is_signed(access.scalar);
  each_lane(mask, [&](uint32_t l) {
    const auto byte = get<uint8_t>(warp, access.space, addresses[l] >> 1, l);
    const auto half = static_cast<uint8_t>((addresses[l] & 1) != 0 ? byte >> 4 : byte & 15);
    to[l] = is_signed ? static_cast<uint8_t>(static_cast<int8_t>(half << 4) >> 4) : half;
  });
}

void write_halves(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask,
                  const uint8_t* from) {
  each_lane(mask, [&](uint32_t l) {
    const auto byte = get<uint8_t>(warp, access.space, addresses[l] >> 1, l);
    const int half = from[l] & 15;
    put(warp, access.space, addresses[l] >> 1, l,
        static_cast<uint8_t>((addresses[l] & 1) != 0 ? (byte & 15) | half << 4 : (byte & 0xF0) | half));
  });
}

}  // namespace

void read_row(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, void* to) {
  if (access.is_half) return read_halves(warp, access, addresses, mask, static_cast<uint8_t*>(to));
  switch (access.bytes) {
    case 1:
      return read(warp, access, addresses, mask, static_cast<uint8_t*>(to));
    case 2:
      return read(warp, access, addresses, mask, static_cast<uint16_t*>(to));
    case 4:
      return read(warp, access, addresses, mask, static_cast<uint32_t*>(to));
    default:
      return read(warp, access, addresses, mask, static_cast<uint64_t*>(to));
  }
}

void write_row(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, const void* from) {
  if (access.is_half) return write_halves(warp, access, addresses, mask, static_cast<const uint8_t*>(from));
  switch (access.bytes) {
    case 1:
      return write(warp, access, addresses, mask, static_cast<const uint8_t*>(from));
    case 2:
      return write(warp, access, addresses, mask, static_cast<const uint16_t*>(from));
    case 4:
      return write(warp, access, addresses, mask, static_cast<const uint32_t*>(from));
    default:
      return write(warp, access, addresses, mask, static_cast<const uint64_t*>(from));
  }
}

}  // namespace tilewright::execute
