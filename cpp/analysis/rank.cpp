#include "rank.hpp"

#include <array>
#include <bit>

#include "core/error.hpp"

namespace tilewright::analysis {

namespace {

// The vectors of a basis, by their highest bits.
class Span {
 public:
  void add(int64_t vector) {
    for (auto left = static_cast<uint64_t>(vector); left;) {
      uint64_t& pivot = pivots_[static_cast<std::size_t>(std::bit_width(left)) - 1];
      if (!pivot) {
        pivot = left;
        ++rank_;
        return;
      }
      left ^= pivot;
    }
  }
  int rank() const { return rank_; }

 private:
  std::array<uint64_t, 64> pivots_{};
  int rank_ = 0;
};

int64_t image_size(const int64_t* columns, int bits, int shift) {
  Span span;
  for (int i = 0; i < bits; ++i) span.add(columns[i] >> shift);
  return int64_t{1} << span.rank();
}

int64_t wavefronts_of_pass(const int64_t* columns, int bits, int width) {
  Span words, banks;
  const auto add = [&](int64_t word) {
    words.add(word);
    banks.add(word % kBanks);
  };
  for (int i = 0; i < bits; ++i) add(columns[i] / kWord);
  for (int word = 1; word < width / kWord; word *= 2) add(word);
  return int64_t{1} << (words.rank() - banks.rank());
}

int64_t wavefronts(const Access& access, const int64_t* columns, int bits) {
  const int of_pass = access.of_matrices() ? 3 : access.width <= kWord ? 5 : access.width == 8 ? 4 : 3;
  if (bits <= of_pass) return wavefronts_of_pass(columns, bits, access.width);
  // Passes are joined two by two where the lanes n and n^1, or n and n^2, have the same address.
  const bool merge = access.op == Op::load && (columns[0] == 0 || columns[1] == 0);
  const int joined = merge ? of_pass + 1 : of_pass;
  return wavefronts_of_pass(columns, joined, access.width) << (bits - joined);
}

}  // namespace

std::vector<int64_t> columns_of(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed && !composed->swizzle()) fail("only swizzles of a layout are linear over F2");
  std::vector<int64_t> columns;
  int64_t used = composed ? composed->offset().leaf().value : 0;
  for (const Mode& mode : modes_of(composed ? composed->outer() : std::get<Layout>(layout))) {
    const int64_t extent = mode.extent.value, stride = mode.stride.value;
    if (mode.stride.has_basis()) fail("the offsets of a layout with basis strides are coordinates, not numbers");
    if (!std::has_single_bit(static_cast<uint64_t>(extent))) fail(concat("the extent ", extent, " is no power of two"));
    if (stride < 0) fail(concat("the stride ", stride, " is negative"));
    for (int64_t step = 1; step < extent; step *= 2) {
      const int64_t column = checked_mul(step, stride);
      if (column & used) {
        fail(concat("adding ", column, " to an offset carries, so the layout is not linear over F2"));
      }
      used |= column;
      columns.push_back(column);
    }
  }
  if (composed) {
    for (int64_t& column : columns) column = (*composed->swizzle())(column);
  }
  return columns;
}

Request by_rank(const Access& access, const int64_t* columns, int bits) {
  Request request;
  request.lanes = access.of_matrices() ? kWarp : int64_t{1} << bits;
  request.useful_bytes = access.width * image_size(columns, bits, 0);
  const int64_t bytes = request.lanes * access.width;
  if (access.memory == Memory::global) {
    request.sectors = image_size(columns, bits, 5);
    request.lines = image_size(columns, bits, 7);
    const int64_t least = (bytes + kSector - 1) / kSector;
    request.ideal_sectors = least < request.sectors ? least : request.sectors;
  } else {
    request.wavefronts = wavefronts(access, columns, bits);
    const int64_t least = access.of_matrices() ? access.matrices : (bytes + kLine - 1) / kLine;
    request.ideal_wavefronts = least < request.wavefronts ? least : request.wavefronts;
  }
  return request;
}

}  // namespace tilewright::analysis
