#include "images.hpp"

#include <algorithm>
#include <array>

namespace tilewright::analysis {

namespace {

using Addresses = std::array<int64_t, kWarp>;

// Whether one is the other moved by whole words: then its words lie in as many banks as before, only in others.
bool translated(const Addresses& a, const Addresses& b, std::size_t lanes) {
  const int64_t by = a[0] - b[0];
  if (by % kWord != 0) return false;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    if (a[lane] - b[lane] != by) return false;
  }
  return true;
}

}  // namespace

int64_t wavefronts_in(const int64_t* image, const TileAccess& tile) {
  const int64_t access_bits = static_cast<int64_t>(tile.values) * tile.element_bits;
  int64_t total = 0;
  for (std::size_t warp = 0; warp < tile.threads; warp += kWarp) {
    const std::size_t lanes = std::min<std::size_t>(kWarp, tile.threads - warp);
    const auto active = static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
    Addresses before{};  // of the warp's last request
    int64_t taken = -1;
    for (std::size_t first = 0; first < tile.count; first += tile.values) {
      Addresses addresses{};
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const int64_t* at = tile.at + (warp + lane) * tile.count + first;
        const int64_t offset = image[at[0]];
        for (std::size_t value = 1; value < tile.values; ++value) {
          if (image[at[value]] != offset + static_cast<int64_t>(value)) return -1;
        }
        const int64_t bits = 8 * tile.base + offset * tile.element_bits;
        if (bits % access_bits != 0) return -1;
        addresses[lane] = bits / 8;
      }
      if (taken < 0 || !translated(addresses, before, lanes)) {
        taken = wavefronts(tile.access, addresses.data(), active);
      }
      before = addresses;
      total += taken;
    }
  }
  return total;
}

}  // namespace tilewright::analysis
