// Moving elements: between strided memory and strided memory, and between strided memory and places of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilewright::host {

// One access of N bytes; memory need not be aligned.
template <int N>
inline void move_one(uint8_t* to, const uint8_t* from) {
  std::memcpy(to, from, N);
}

// Steps are in bytes.
template <int N>
void move_strided(uint8_t* to, std::ptrdiff_t to_step, const uint8_t* from, std::ptrdiff_t from_step, int64_t count) {
  if (to_step == N) {
    for (int64_t i = 0; i < count; ++i) move_one<N>(to + i * N, from + i * from_step);
    return;
  }
  for (int64_t i = 0; i < count; ++i) move_one<N>(to + i * to_step, from + i * from_step);
}

// image[table[i * step]] = from[i]
template <int N>
void scatter(uint8_t* image, const int32_t* table, std::ptrdiff_t step, const uint8_t* from, std::ptrdiff_t from_step,
             int64_t count) {
  for (int64_t i = 0; i < count; ++i) move_one<N>(image + table[i * step], from + i * from_step);
}

// to[i] = image[table[i * step]]
template <int N>
void gather(uint8_t* to, std::ptrdiff_t to_step, const uint8_t* image, const int32_t* table, std::ptrdiff_t step,
            int64_t count) {
  for (int64_t i = 0; i < count; ++i) move_one<N>(to + i * to_step, image + table[i * step]);
}

// The functions for an access of some bytes.
struct Mover {
  decltype(&move_strided<1>) strided;
  decltype(&scatter<1>) scatter;
  decltype(&gather<1>) gather;
};

template <int N>
inline constexpr Mover kMover{&move_strided<N>, &scatter<N>, &gather<N>};

// Null where there is no fixed-size access of so many bytes.
inline const Mover* mover_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return &kMover<1>;
    case 2:
      return &kMover<2>;
    case 4:
      return &kMover<4>;
    case 8:
      return &kMover<8>;
    case 16:
      return &kMover<16>;
    case 32:
      return &kMover<32>;
    case 64:
      return &kMover<64>;
    default:
      return nullptr;
  }
}

}  // namespace tilewright::host
