#include "images.hpp"

#include <algorithm>
#include <array>

namespace tilewright::analysis {

int64_t wavefronts_in(const int64_t* image, const TileAccess& tile) {
  const int64_t access_bits = static_cast<int64_t>(tile.values) * tile.element_bits;
  int64_t total = 0;
  for (std::size_t first = 0; first < tile.count; first += tile.values) {
    for (std::size_t warp = 0; warp < tile.threads; warp += kWarp) {
      std::array<int64_t, kWarp> addresses{};
      const std::size_t lanes = std::min<std::size_t>(kWarp, tile.threads - warp);
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
      total += wavefronts(tile.access, addresses.data(), static_cast<uint32_t>((uint64_t{1} << lanes) - 1));
    }
  }
  return total;
}

}  // namespace tilewright::analysis
