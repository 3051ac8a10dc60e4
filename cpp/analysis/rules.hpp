// The rules of the hardware, one function each, so that a measurement corrects one alone.
//
// The addresses are aligned to the width of the access: lanes either access the same bytes or have none in common, and
// an access lies in one sector.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "access.hpp"

namespace tilewright::analysis::rules {

// A few integers without order: a table of twice as many places, each key at the first free place from its own on.
template <unsigned Capacity>
class Few {
 public:
  // Whether the key is new.
  bool insert(int64_t key) {
    unsigned place = static_cast<unsigned>(static_cast<uint64_t>(key) * kMix >> (64 - kBits));
    while (used_[place / 64] >> (place % 64) & 1) {
      if (keys_[place] == key) return false;
      place = (place + 1) % kPlaces;
    }
    used_[place / 64] |= uint64_t{1} << (place % 64);
    keys_[place] = key;
    ++count_;
    return true;
  }
  int count() const { return count_; }

 private:
  static constexpr unsigned kPlaces = 2 * Capacity;
  static constexpr unsigned kBits = std::bit_width(kPlaces - 1);
  static constexpr uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  static_assert(kPlaces == 1u << kBits && kPlaces % 64 == 0);
  std::array<int64_t, kPlaces> keys_;
  std::array<uint64_t, kPlaces / 64> used_{};
  int count_ = 0;
};

template <class F>
void for_each_lane(uint32_t active, F&& f) {
  for (; active; active &= active - 1) f(std::countr_zero(active));
}

// How many different pieces of 2^shift bytes the lanes touch; no access reaches over the end of its piece.
inline int pieces(const int64_t* addresses, uint32_t active, int shift) {
  Few<kWarp> seen;
  for_each_lane(active, [&](int lane) { seen.insert(addresses[lane] >> shift); });
  return seen.count();
}

// G2: a request moves each 32-byte sector once, loads and stores alike.
// Source: Nsight Compute, Kernel Profiling Guide, "Memory Tables"; CUDA C++ Programming Guide, "Device Memory
// Accesses".
inline int sectors(const int64_t* addresses, uint32_t active) { return pieces(addresses, active, 5); }

// G3: and looks each line of 128 bytes up once.
// Source: Kernel Profiling Guide, "tag".
inline int lines(const int64_t* addresses, uint32_t active) { return pieces(addresses, active, 7); }

// G4: the least sectors in which the active lanes' bytes fit, were they all different and side by side, or fewer, where
// lanes that share bytes took fewer.
// Source: read with Nsight Compute on an H200: memory_l2_theoretical_sectors_global_ideal of 437 accesses.
inline int ideal_sectors(int lanes, int width, int sectors) {
  const int full = (lanes * width + kSector - 1) / kSector;
  return full < sectors ? full : sectors;
}

// S1 to S3: the lanes of a pass.
// Source: NVIDIA forum 77228 (8 bytes), 359822 (16 bytes); confirmed with Nsight Compute on an H200.
inline int lanes_of_pass(int width) { return width <= kWord ? kWarp : kBanks * kWord / width; }

// S4: the passes of a load are joined two by two where each active lane of the warp has the address of lane^1, or each
// has that of lane^2, inactive lanes aside. So 8 bytes take 1 pass and 16 bytes take 2, where all lanes read one
// address. It is all or nothing: one pair of lanes with different addresses keeps every pass of the warp apart.
// Source: NVIDIA forum 77228; l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld of 370 accesses on an H200. (Nsight
// Compute's count for an instruction, memory_l1_wavefronts_shared, is another model: docs/ncu.md.)
inline bool passes_join(const Access& access, const int64_t* addresses, uint32_t active) {
  if (access.op != Op::load) return false;
  const auto equal_across = [&](int distance) {
    bool equal = true;
    for_each_lane(active, [&](int lane) {
      const int other = lane ^ distance;
      if (active >> other & 1) equal = equal && addresses[lane] == addresses[other];
    });
    return equal;
  };
  return equal_across(1) || equal_across(2);
}

// S1: the different words in the fullest bank; sub-words of one word are one. An aligned access of 8 or 16 bytes has
// the words of 2 or 4 banks side by side to itself, so what is counted are accesses in a group of banks.
// Source: CUDA C++ Programming Guide, "Shared Memory".
inline int wavefronts_of_pass(const int64_t* addresses, uint32_t active, int width) {
  const int bytes = width < kWord ? kWord : width;
  const int shift = std::countr_zero(static_cast<unsigned>(bytes));
  const int64_t groups = kBanks * kWord / bytes;
  Few<kWarp> seen;
  std::array<uint8_t, kBanks> in_group{};
  int fullest = 0;
  for_each_lane(active, [&](int lane) {
    const int64_t piece = addresses[lane] >> shift;
    if (!seen.insert(piece)) return;
    const int count = ++in_group[static_cast<std::size_t>(piece & (groups - 1))];
    if (count > fullest) fullest = count;
  });
  return fullest;
}

// S1 to S4 together.
inline int wavefronts_of_lanes(const Access& access, const int64_t* addresses, uint32_t active) {
  int lanes = lanes_of_pass(access.width);
  if (lanes < kWarp && passes_join(access, addresses, active)) lanes *= 2;
  const auto pass = static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
  int total = 0;
  for (int lane = 0; lane < kWarp; lane += lanes) {
    total += wavefronts_of_pass(addresses, active & pass << lane, access.width);
  }
  return total;
}

// S5: the least wavefronts in which the active lanes' bytes fit, or fewer, where lanes that share words took fewer.
// Source: Kernel Profiling Guide, memory_l1_wavefronts_shared_ideal.
inline int64_t ideal_wavefronts(int lanes, int width, int64_t wavefronts) {
  const int64_t full = (lanes * width + kBanks * kWord - 1) / (kBanks * kWord);
  return full < wavefronts ? full : wavefronts;
}

// S6: each matrix takes a pass of its own: 8 rows of 16 bytes.
// Source: PTX ISA, ldmatrix; the layouts of CuTe's SM75 copy traits.
inline int wavefronts_of_matrices(const int64_t* rows, int matrices) {
  int total = 0;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    total += wavefronts_of_pass(rows + kMatrixRows * matrix, 0xFF, kMatrixRow);
  }
  return total;
}

}  // namespace tilewright::analysis::rules
