// What a warp does with matrices: mma.sync, ldmatrix, stmatrix. All of its lanes take part.
//
// The sum over k of an mma.sync is formed in order, one product after the other, in C's type or, where that is Float16,
// in Float32: as the host executes our GEMM templates.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "address.hpp"
#include "elements.hpp"
#include "fragments.hpp"
#include "handlers.hpp"
#include "lanes.hpp"

namespace tilewright::execute {

using program::Scalar;

void look_at_lanes(const Warp& warp, const Instruction& i, const char* name) {
  if (warp.shadow == nullptr || warp.mask == kAllLanes) return;
  const Mask absent = ~warp.mask;
  Finding* finding = warp.cta->report(warp, i, FindingKind::kLane, std::countr_zero(warp.mask),
                                      std::string(name) + " is executed by the 32 lanes of a warp together, and " +
                                          std::to_string(std::popcount(absent)) +
                                          ((absent & warp.live) != 0 ? " of them do not reach it here"
                                                                     : " of them do not exist: the block is smaller"));
  if (finding != nullptr && (absent & warp.live) != 0) {
    finding->other = warp.cta->thread_of(warp, std::countr_zero(absent & warp.live));
  }
}

namespace {

constexpr uint32_t kRowBytes = 16, kRows = kMatrixRows;
constexpr uint32_t kMostRows = 16, kMostColumns = 8, kMostDepth = 32;  // of an instruction

// ---- ldmatrix and stmatrix ----

// Which lane's row has what a register holds, and which element of the row that is.
struct InRow {
  uint32_t lane, element;
};

InRow in_row(uint32_t matrix, uint32_t lane, uint32_t part, uint32_t together, bool is_transposed) {
  if (is_transposed) return {kRows * matrix + 2 * (lane % 4) + part, lane / 4};
  return {kRows * matrix + lane / 4, lane % 4 * together + part};
}

struct Matrices {
  const AccessCode &rows, &fragment;
  uint32_t matrices, row, together, each;  // elements of a row, of a register, and of a lane's part of one instruction
  bool is_transposed;
  Mask lanes;  // those that name a row

  Matrices(const MemoryCode& memory, bool is_load)
      : rows(memory.accesses[is_load ? 0 : 1]),
        fragment(memory.accesses[is_load ? 1 : 0]),
        matrices(static_cast<uint32_t>(memory.ints[0])),
        row(kRowBytes / rows.bytes),
        together(kRegisterBytes / rows.bytes),
        each(matrices * together),
        is_transposed(memory.ints[1] != 0),
        lanes(kAllLanes >> (kLanes - kRows * matrices)) {}

  // f(element of the part, lane, lane of the row, element of the row) for all that an instruction moves.
  template <class F>
  void each_place(F&& f) const {
    for (uint32_t part = 0; part < each; ++part) {
      for (uint32_t l = 0; l < kLanes; ++l) {
        const InRow at = in_row(part / together, l, part % together, together, is_transposed);
        f(part, l, at.lane, at.element);
      }
    }
  }
};

constexpr uint32_t kMostElements = 16;  // of a row, and of a part

struct Values {
  alignas(64) uint8_t bytes[kMostElements][kLanes * 4] = {};
  Mask undefined[kMostElements] = {};

  void take(uint32_t to, uint32_t to_lane, const Values& other, uint32_t from, uint32_t from_lane, uint32_t size) {
    std::memcpy(bytes[to] + to_lane * size, other.bytes[from] + from_lane * size, size);
    undefined[to] |= (other.undefined[from] >> from_lane & 1) << to_lane;
  }
};

template <bool kChecked>
void ldmatrix(Warp& warp, const Instruction& i) {
  const Matrices m(warp.code->memory[i.side], true);
  const Mask naming = m.lanes & warp.mask;
  look_at_lanes(warp, i, "ldmatrix");
  for (uint32_t first = 0, to = 0; first < m.rows.count; first += m.row, to += m.each) {
    Values rows, parts;
    if constexpr (kChecked) warp.shadow->look_at_vector(warp, i, m.rows, first, kRowBytes, naming);
    for (uint32_t e = 0; e < m.row; ++e) {
      read_element(warp, i, m.rows, first + e, naming, rows.bytes[e], rows.undefined[e], kChecked);
    }
    m.each_place([&](uint32_t part, uint32_t l, uint32_t lane, uint32_t element) {
      parts.take(part, l, rows, element, lane, m.rows.bytes);
    });
    for (uint32_t e = 0; e < m.each; ++e) {
      write_element(warp, i, m.fragment, to + e, warp.mask, parts.bytes[e], parts.undefined[e], kChecked);
    }
  }
}

template <bool kChecked>
void stmatrix(Warp& warp, const Instruction& i) {
  const Matrices m(warp.code->memory[i.side], false);
  const Mask naming = m.lanes & warp.mask;
  look_at_lanes(warp, i, "stmatrix");
  for (uint32_t first = 0, from = 0; first < m.rows.count; first += m.row, from += m.each) {
    Values rows, parts;
    if constexpr (kChecked) warp.shadow->look_at_vector(warp, i, m.rows, first, kRowBytes, naming);
    for (uint32_t e = 0; e < m.each; ++e) {
      read_element(warp, i, m.fragment, from + e, warp.mask, parts.bytes[e], parts.undefined[e], kChecked);
    }
    m.each_place([&](uint32_t part, uint32_t l, uint32_t lane, uint32_t element) {
      rows.take(element, lane, parts, part, l, m.rows.bytes);
    });
    for (uint32_t e = 0; e < m.row; ++e) {
      write_element(warp, i, m.rows, first + e, naming, rows.bytes[e], rows.undefined[e], kChecked);
    }
  }
}

// ---- mma.sync ----

struct Shape {
  uint32_t m, n, k;               // of an instruction
  uint32_t rows, columns, depth;  // how many there are
  uint32_t of_a, of_b, of_c;      // elements of a lane
};

Shape shape_of(const MemoryCode& memory) {
  const auto at = [&](std::size_t x) { return static_cast<uint32_t>(memory.ints[x]); };
  const uint32_t m = at(0), n = at(1), k = at(2);
  return {m, n, k, at(3), at(4), at(5), m * k / kLanes, n * k / kLanes, m * n / kLanes};
}

template <class T>
struct Multiply {
  // sums[row][column] += a[row][k] * b[k][column], k in order.
  static TILEWRIGHT_INLINE void add(const Shape& s, const T* a, const T* b, T* sums) {
    for (uint32_t row = 0; row < s.m; ++row) {
      T all[kMostColumns];
      std::memcpy(all, sums + row * kMostColumns, sizeof all);
      for (uint32_t k = 0; k < s.k; ++k) {
        const T x = a[row * kMostDepth + k];
        const T* const y = b + k * kMostColumns;
        for (uint32_t n = 0; n < kMostColumns; ++n) {
          if constexpr (std::is_same_v<T, double>) {
            all[n] = __builtin_fma(x, y[n], all[n]);
          } else {
            all[n] += x * y[n];
          }
        }
      }
      std::memcpy(sums + row * kMostColumns, all, sizeof all);
    }
  }

  // The matrices of a fragment, one after the other: rows of `stride` numbers, or columns.
  static void read(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t each, uint32_t together,
                   uint32_t rows, uint32_t row_step, uint32_t column_step, uint32_t size, std::vector<T>& to) {
    alignas(64) uint8_t values[kLanes * 8] = {};
    Mask ignored = 0;
    to.assign(access.count / each * size, T{});
    for (uint32_t e = 0; e < access.count; ++e) {
      read_element(warp, i, access, e, kAllLanes, values, ignored, false);
      T* const matrix = to.data() + e / each * size;
      for (uint32_t l = 0; l < kLanes; ++l) {
        const Place at = place_of(e % each, l, together, rows);
        matrix[at.row * row_step + at.column * column_step] = number_of<T>(access.scalar, values + l * access.bytes);
      }
    }
  }

  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    const MemoryCode& memory = warp.code->memory[i.side];
    const Shape s = shape_of(memory);
    const AccessCode& d = memory.accesses[0];
    constexpr uint32_t kA = kMostRows * kMostDepth, kB = kMostDepth * kMostColumns, kC = kMostRows * kMostColumns;
    std::vector<T> a, b, sums;
    const AccessCode &left = memory.accesses[1], &right = memory.accesses[2], &c = memory.accesses[3];
    read(warp, i, left, s.of_a, together_of(left), s.m, kMostDepth, 1, kA, a);
    read(warp, i, right, s.of_b, together_of(right), s.n, 1, kMostColumns, kB, b);
    read(warp, i, c, s.of_c, kTogetherOfC, s.m, kMostColumns, 1, kC, sums);
    const bool is_half = d.scalar == Scalar::kFloat16;
    for (uint32_t n = 0; n < s.columns; ++n) {
      for (uint32_t m = 0; m < s.rows; ++m) {
        T* const sum = sums.data() + (m + n * s.rows) * kC;
        for (uint32_t k = 0; k < s.depth; ++k) {
          add(s, a.data() + (m + k * s.rows) * kA, b.data() + (n + k * s.columns) * kB, sum);
          if (is_half) round_to_half(sum);
        }
      }
    }
    alignas(64) uint8_t values[kLanes * 8] = {};
    for (uint32_t e = 0; e < d.count; ++e) {
      const T* const sum = sums.data() + e / s.of_c * kC;
      for (uint32_t l = 0; l < kLanes; ++l) {
        const Place at = place_of(e % s.of_c, l, kTogetherOfC, s.m);
        encode(d.scalar, sum[at.row * kMostColumns + at.column], values + l * d.bytes);
      }
      write_element(warp, i, d, e, warp.mask, values, 0, false);
    }
  }

  // Each instruction gives sums of C's type.
  static void round_to_half(T* sum) {
    if constexpr (std::is_same_v<T, float>) {
      uint8_t bits[2];
      for (uint32_t e = 0; e < kMostRows * kMostColumns; ++e) {
        encode(Scalar::kFloat16, sum[e], bits);
        sum[e] = decode<float>(Scalar::kFloat16, bits);
      }
    }
  }
};

// Looks at the elements of a fragment: whether they can be touched, and which were never written.
bool look(const Warp& warp, const Instruction& i, const AccessCode& access, Use use, std::vector<Mask>& undefined) {
  bool is_right = true;
  for (uint32_t e = 0; e < access.count; ++e) {
    if (access.is_fragment) {
      const uint64_t address = warp.at<uint64_t>(access.pointer)[0] + static_cast<uint64_t>(access.offsets[e]);
      is_right = warp.shadow->look_at_fragment(warp, i, access, use, address, warp.mask, undefined[e]) && is_right;
      continue;
    }
    uint64_t addresses[kLanes];
    row_addresses(warp, access, e, addresses);
    is_right = warp.shadow->look(warp, i, access, use, addresses, warp.mask, undefined[e]) == warp.mask && is_right;
  }
  return is_right;
}

// Whether all can be multiplied. A sum is defined where its row of A, its column of B and what it is added to are.
bool look(const Warp& warp, const Instruction& i) {
  const MemoryCode& memory = warp.code->memory[i.side];
  const AccessCode& d = memory.accesses[0];
  const auto is_written = [&](std::size_t x) {
    const AccessCode& access = memory.accesses[x];
    return access.is_fragment && Shadow::is_written(warp, access, 0, access.count, warp.mask);
  };
  if (is_written(1) && is_written(2) && is_written(3) && d.is_fragment &&
      Shadow::write(warp, d, 0, d.count, warp.mask)) {
    return true;
  }
  std::vector<Mask> undefined[4];
  bool is_right = true;
  for (std::size_t x = 1; x < 4; ++x) {
    undefined[x].resize(memory.accesses[x].count);
    is_right = look(warp, i, memory.accesses[x], Use::kRead, undefined[x]) && is_right;
  }
  const Shape s = shape_of(memory);
  // Of each row of A, by (row, m), and of each column of B, by (column, n).
  std::vector<bool> rows(s.rows * kMostRows), columns(s.columns * kMostColumns);
  const auto spread = [&](std::size_t x, uint32_t each, uint32_t extent, uint32_t count, uint32_t most,
                          std::vector<bool>& to) {
    for (uint32_t e = 0; e < undefined[x].size(); ++e) {
      for (Mask left = undefined[x][e]; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        const Place at = place_of(e % each, lane, together_of(memory.accesses[x]), extent);
        to[e / each % count * most + at.row] = true;
      }
    }
  };
  spread(1, s.of_a, s.m, s.rows, kMostRows, rows);
  spread(2, s.of_b, s.n, s.columns, kMostColumns, columns);
  undefined[0] = undefined[3];
  for (uint32_t e = 0; e < d.count; ++e) {
    const uint32_t m = e / s.of_c % s.rows, n = e / s.of_c / s.rows;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Place at = place_of(e % s.of_c, l, kTogetherOfC, s.m);
      const bool is_undefined = rows[m * kMostRows + at.row] || columns[n * kMostColumns + at.column];
      undefined[0][e] |= Mask{is_undefined} << l;
    }
  }
  return look(warp, i, d, Use::kWrite, undefined[0]) && is_right;
}

template <class T>
void checked_mma(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "mma.sync");
  if (look(warp, i)) handler_of<Multiply<T>>()(warp, i);
}

}  // namespace

Handler mma_handler(const MemoryCode& memory, bool checked) {
  const Scalar scalar = memory.accesses[0].scalar;
  if (scalar == Scalar::kFloat64) return checked ? &checked_mma<double> : handler_of<Multiply<double>>();
  if (scalar == Scalar::kInt32) return checked ? &checked_mma<uint32_t> : handler_of<Multiply<uint32_t>>();
  return checked ? &checked_mma<float> : handler_of<Multiply<float>>();
}
Handler ldmatrix_handler(const MemoryCode&, bool checked) { return checked ? &ldmatrix<true> : &ldmatrix<false>; }
Handler stmatrix_handler(const MemoryCode&, bool checked) { return checked ? &stmatrix<true> : &stmatrix<false>; }

}  // namespace tilewright::execute
