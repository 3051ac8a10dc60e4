// Boxes of C in shared memory, of 64 rows of a consumer: how large they are, and where matrices of stmatrix lie there.
//
//   along N   64 rows of 128 bytes
//   along M   columns of 128 bytes: 64 rows of 2 bytes, or, of 4 bytes, two parts of 32 rows, one behind the other
//
// All are swizzled by 128 bytes. Along N a box is as wide as its rows. Along M it may have any number of columns, so
// that with 2 bytes tiles of any width are whole boxes: the largest that divides the tile.
#pragma once

namespace tilewright {

enum StoreKind { kSingles = 0, kPairs = 1, kBoxes = 2, kBoxesAlongM = 3, kLines = 4 };

// kOutBytes of an element; kUnits of 8 columns that a consumer finishes one after the other in a block of rows.
template <int kKind, int kOutBytes, int kUnits>
struct Sm90Box {
  static constexpr bool kAlongM = kKind == kBoxesAlongM;
  static constexpr int kMost = 128 / kOutBytes / 8;

  static constexpr int largest_divisor(int most) {
    while (kUnits % most != 0) --most;
    return most;
  }

  static constexpr int kGroups = kAlongM && kOutBytes == 2 ? largest_divisor(kMost) : kMost;  // units of a box
  static constexpr int kColumns = kGroups * 8;
  static constexpr int kBytes = 64 * kColumns * kOutBytes;    // a multiple of 1024, as the swizzle needs it
  static constexpr int kParts = kAlongM ? kOutBytes / 2 : 1;  // boxes of the copy engine
  static constexpr int kPartBytes = kBytes / kParts;

  // The address of the 16 bytes that a lane names for four matrices: the upper and the lower 8 of the warp's rows by
  // the 8 columns of unit j, and the same of the next unit. Behind the last unit are the first two once more: along N
  // where that unit would be, along M in their own place.
  template <int kLast>
  __device__ static unsigned matrices(unsigned box, int j) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32, next = lane / 16;
    if constexpr (kAlongM) {
      const int unit = j + 1 < kLast ? j + next : j;
      return box + (unit * 8 + lane % 8) * 128 + ((2 * warp + lane / 8 % 2 ^ lane % 8) << 4);
    } else {
      return box + (warp * 16 + lane % 16) * 128 + ((j + next ^ lane % 8) << 4);
    }
  }
};

}  // namespace tilewright
