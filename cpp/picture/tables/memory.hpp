// Where an element lies: its address in bytes, and the bank of shared memory.
#pragma once

#include <set>

#include "core/wide.hpp"
#include "picture/model.hpp"

namespace tilewright::picture {

inline constexpr int64_t kBanks = 32, kWord = 4;  // banks of shared memory, bytes of each
inline constexpr int64_t kGroup = 4;  // banks, of 16 bytes, that have one colour: 32 would not be told apart

// The size of an element in bits, and the address in bytes of offset 0. `kind` says of which elements bank and address
// are, where no type has been given: f32 where `assumed`, else what follows from a swizzle.
struct Memory {
  int64_t bits = 32;
  int64_t base = 0;
  bool assumed = true;
  std::string kind = "f32";

  Wide address(int64_t offset) const;  // beyond 64 bits, too: of layouts that are larger than any memory
  int64_t bank(int64_t offset) const;
  int64_t group(int64_t offset) const { return bank(offset) / kGroup; }
  // What pointing at an element shows.
  void add_hover(Hover& hover, int64_t offset) const;
};

// What the colours of banks mean.
std::vector<Entry> bank_legend(const std::set<int64_t>& groups);

}  // namespace tilewright::picture
