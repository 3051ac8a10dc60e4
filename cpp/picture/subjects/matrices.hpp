// Pictures of multiplications as the PTX manual draws them: A to the left of C, B above it, coloured by thread.
#pragma once

#include "tv.hpp"

namespace tilewright::picture {

// A, B or C of a product (M,N,K). Who has which element, at row + rows * column of (m,k), (n,k) or (m,n); without
// owners the instruction reads it from shared memory, in matrices of 8 rows of 16 bytes, each of so many elements.
struct Matrix {
  char name;
  std::string says;
  std::optional<Owners> owners;
  int64_t of_row = 8;
};

struct MatricesStyle {
  std::optional<std::array<int64_t, 3>> blocks;  // extents after which thick lines stand
  std::optional<int64_t> only;                   // a thread whose elements stand out
};
// The panels and the notes on what is left out; the picture has no title yet.
Picture matrices_picture(const std::array<int64_t, 3>& extents, const std::vector<Matrix>& operands,
                         const MatricesStyle& style);

}  // namespace tilewright::picture
