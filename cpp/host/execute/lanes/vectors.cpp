// Vectors: moving elements and whole slots.
#include <bit>
#include <cstring>

#include "handlers.hpp"
#include "lanes.hpp"

namespace tilewright::execute {

namespace {

template <template <class> class F>
Handler of_bytes(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return &F<uint8_t>::run;
    case 2:
      return &F<uint16_t>::run;
    case 4:
      return &F<uint32_t>::run;
    default:
      return &F<uint64_t>::run;
  }
}

template <class T>
constexpr std::size_t kRow = kLanes * sizeof(T);

template <class T>
struct Splat {
  static void run(Warp& warp, const Instruction& i) {
    for (uint32_t e = 0; e < i.count; ++e) std::memcpy(warp.at<T>(i.to) + e * kLanes, warp.at<T>(i.a), kRow<T>);
  }
};

template <class T>
struct Copy {
  static void run(Warp& warp, const Instruction& i) {
    std::memcpy(warp.at<T>(i.to), warp.at<T>(i.a), i.count * kRow<T>);
  }
};

template <class T>
struct MaskedCopy {
  static void run(Warp& warp, const Instruction& i) {
    if (warp.mask == kAllLanes) return Copy<T>::run(warp, i);
    T* to = warp.at<T>(i.to);
    const T* from = warp.at<T>(i.a);
    for (uint32_t e = 0; e < i.count; ++e, to += kLanes, from += kLanes) {
      for (uint32_t l = 0; l < kLanes; ++l) to[l] = (warp.mask >> l & 1) != 0 ? from[l] : to[l];
    }
  }
};

template <class T>
struct Pack {
  static void run(Warp& warp, const Instruction& i) {
    const std::vector<Slot>& slots = warp.code->operands[i.side].slots;
    T* to = warp.at<T>(i.to);
    for (const Slot slot : slots) {
      std::memcpy(to, warp.at<T>(slot), kRow<T>);
      to += kLanes;
    }
  }
};

template <class T>
struct Extract {
  static void run(Warp& warp, const Instruction& i) {
    std::memcpy(warp.at<T>(i.to), warp.at<T>(i.a) + std::size_t{i.side} * kLanes, kRow<T>);
  }
};

// An index that is out of range: the lanes that have one.
Mask outside(Warp& warp, const Instruction& i, const int32_t* index) {
  Mask wrong = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (index[l] < 0 || static_cast<uint32_t>(index[l]) >= i.count) wrong |= Mask{1} << l;
  }
  if (warp.shadow != nullptr) {
    for (Mask left = wrong & warp.mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      warp.cta->report(warp, i, FindingKind::kOutOfBounds, lane,
                       "element " + std::to_string(index[lane]) + " of a vector of " + std::to_string(i.count));
    }
  }
  return wrong;
}

template <class T>
struct ExtractAt {
  static void run(Warp& warp, const Instruction& i) {
    T* to = warp.at<T>(i.to);
    const T* from = warp.at<T>(i.a);
    const int32_t* index = warp.at<int32_t>(i.b);
    const Mask wrong = outside(warp, i, index);
    for (uint32_t l = 0; l < kLanes; ++l) {
      to[l] = (wrong >> l & 1) != 0 ? T{0} : from[static_cast<uint32_t>(index[l]) * kLanes + l];
    }
  }
};

template <class T>
struct Insert {
  static void run(Warp& warp, const Instruction& i) {
    T* to = warp.at<T>(i.to);
    std::memcpy(to, warp.at<T>(i.a), i.count * kRow<T>);
    std::memcpy(to + std::size_t{i.side} * kLanes, warp.at<T>(i.b), kRow<T>);
  }
};

template <class T>
struct InsertAt {
  static void run(Warp& warp, const Instruction& i) {
    T* to = warp.at<T>(i.to);
    std::memcpy(to, warp.at<T>(i.a), i.count * kRow<T>);
    const T* value = warp.at<T>(i.b);
    const int32_t* index = warp.at<int32_t>(i.c);
    const Mask wrong = outside(warp, i, index);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((wrong >> l & 1) == 0) to[static_cast<uint32_t>(index[l]) * kLanes + l] = value[l];
    }
  }
};

template <class T>
struct Shuffle {
  static void run(Warp& warp, const Instruction& i) {
    T* to = warp.at<T>(i.to);
    const T* from = warp.at<T>(i.a);
    for (const int64_t which : warp.code->operands[i.side].ints) {
      std::memcpy(to, from + which * kLanes, kRow<T>);
      to += kLanes;
    }
  }
};

// The bits of a lane's elements, least first, as elements of another width.
void bitcast(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const auto from_bits = static_cast<uint32_t>(info.ints[0]), to_bits = static_cast<uint32_t>(info.ints[1]);
  const uint32_t from_bytes = from_bits < 8 ? 1 : from_bits / 8, to_bytes = to_bits < 8 ? 1 : to_bits / 8;
  const auto to_count = static_cast<uint32_t>(info.ints[2]);
  const uint8_t* from = warp.at<uint8_t>(i.a);
  uint8_t* to = warp.at<uint8_t>(i.to);
  const bool is_signed = info.ints[3] != 0;  // elements of 4 bits are kept with their sign
  if (from_bits == to_bits && from_bits >= 8) {
    std::memcpy(to, from, std::size_t{to_count} * kLanes * to_bytes);
    return;
  }
  const uint32_t part = from_bits < to_bits ? from_bits : to_bits;
  const uint32_t total = to_count * to_bits;
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t e = 0; e < to_count; ++e) std::memset(to + (e * kLanes + l) * to_bytes, 0, to_bytes);
    for (uint32_t at = 0; at < total; at += part) {
      uint64_t source = 0, target = 0;
      std::memcpy(&source, from + (at / from_bits * kLanes + l) * from_bytes, from_bytes);
      uint8_t* place = to + (at / to_bits * kLanes + l) * to_bytes;
      std::memcpy(&target, place, to_bytes);
      const uint64_t ones = part == 64 ? ~uint64_t{0} : (uint64_t{1} << part) - 1;
      target |= (source >> (at % from_bits) & ones) << (at % to_bits);
      std::memcpy(place, &target, to_bytes);
    }
    if (is_signed) {
      for (uint32_t e = 0; e < to_count; ++e) {
        uint8_t& byte = to[e * kLanes + l];
        byte = static_cast<uint8_t>(byte << 4);
        byte = static_cast<uint8_t>(static_cast<int8_t>(byte) >> 4);
      }
    }
  }
}

struct Prmt {
  static TILEWRIGHT_INLINE uint32_t of(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t nibble = selector >> (4 * i) & 15;
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (nibble & 7))) & 0xFF;
      if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

}  // namespace

Handler splat_handler(uint32_t bytes) { return of_bytes<Splat>(bytes); }
Handler copy_lanes_handler(bool masked, uint32_t bytes) {
  return masked ? of_bytes<MaskedCopy>(bytes) : of_bytes<Copy>(bytes);
}
Handler pack_handler(uint32_t bytes) { return of_bytes<Pack>(bytes); }
Handler extract_handler(uint32_t bytes, bool dynamic) {
  return dynamic ? of_bytes<ExtractAt>(bytes) : of_bytes<Extract>(bytes);
}
Handler insert_handler(uint32_t bytes, bool dynamic) {
  return dynamic ? of_bytes<InsertAt>(bytes) : of_bytes<Insert>(bytes);
}
Handler shuffle_elements_handler(uint32_t bytes) { return of_bytes<Shuffle>(bytes); }
Handler bitcast_handler() { return &bitcast; }
Handler prmt_handler() { return &plain_handler<Each3<Prmt, uint32_t, uint32_t, uint32_t, uint32_t>>; }

}  // namespace tilewright::execute
