// wgmma on the CPU. Each warp of a warpgroup computes its 16 rows, as soon as the instruction is reached: of A in
// shared memory it reads them, of B all. What it may not do until a wait has let the instruction finish, the checks
// find.
//
// Matrices in shared memory are read by their descriptors, as the hardware does: byte x of the canonical layout lies at
// swizzle(begin + x), whatever the tensor's layout says.
#include "program/wgmma.hpp"

#include <cstring>
#include <vector>

#include "address.hpp"
#include "elements.hpp"
#include "fragments.hpp"
#include "handlers.hpp"
#include "lanes.hpp"

namespace tilewright::execute {

using program::Scalar;
using program::Wgmma;

namespace {

constexpr uint32_t kWarpRows = 16, kPiece = 16;  // rows of a warp; bytes that always lie side by side
constexpr uint32_t kSwizzleShift = 3;

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

// The pieces of rows [first, first + rows) of a matrix: along K those of a row, or along M those of a column.
std::vector<uint64_t> pieces_of(const Wgmma::Form& form, uint32_t first, uint32_t rows, uint32_t k, uint32_t bytes,
                                uint64_t begin) {
  const auto span = static_cast<uint64_t>(form.span), row = span == 0 ? kPiece : span;
  const auto leading = static_cast<uint64_t>(form.leading), stride = static_cast<uint64_t>(form.stride);
  const uint64_t along = span != 0 ? leading : stride, across = span != 0 ? stride : leading;
  const uint64_t mask = (row / kPiece - 1) << 4;
  std::vector<uint64_t> pieces;
  const auto add = [&](uint64_t x) {
    const uint64_t address = begin + x;
    pieces.push_back(address ^ (address >> kSwizzleShift & mask));
  };
  if (form.is_mn_major) {
    for (uint64_t c = 0; c < k; ++c) {
      for (uint64_t at = first * bytes; at < (first + rows) * bytes; at += kPiece) {
        add(at % row + at / row * along + c % 8 * row + c / 8 * across);
      }
    }
    return pieces;
  }
  for (uint64_t r = first; r < first + rows; ++r) {
    for (uint64_t at = 0; at < k * bytes; at += kPiece) {
      add(r % 8 * row + r / 8 * stride + at % row + at / row * leading);
    }
  }
  return pieces;
}

// Where the matrices of an operand begin; one address for all lanes.
std::vector<uint64_t> begins_of(Warp& warp, const Instruction& i, const AccessCode& access) {
  std::vector<uint64_t> begins(access.count);
  const uint64_t* pointer = warp.at<uint64_t>(access.pointer);
  uint64_t differ = 0;
  for (uint32_t e = 0; e < access.count; ++e) {
    uint64_t offsets[kLanes];
    if (access.is_static) {
      std::fill_n(offsets, kLanes, static_cast<uint64_t>(access.offsets[e]));
    } else {
      dynamic_offsets(warp, access, e, offsets);
    }
    begins[e] = pointer[0] + offsets[0];
    for (uint32_t l = 1; l < kLanes; ++l) differ |= (pointer[l] + offsets[l]) ^ begins[e];
  }
  if (differ != 0 && warp.shadow != nullptr && warp.mask == kAllLanes) {
    warp.cta->report(warp, i, FindingKind::kLane, 0,
                     "the lanes of a warp name different matrices in shared memory, but a wgmma has one");
  }
  return begins;
}

struct Shape {
  Wgmma w;
  uint32_t n, k, rows, columns, depth, first;  // first: of the warp's rows
  explicit Shape(const Warp& warp, const MemoryCode& memory)
      : w(memory.ints),
        n(static_cast<uint32_t>(w.n)),
        k(static_cast<uint32_t>(w.k)),
        rows(static_cast<uint32_t>(w.rows)),
        columns(static_cast<uint32_t>(w.columns)),
        depth(static_cast<uint32_t>(w.depth)),
        first(warp.index % 4 * kWarpRows) {}

  std::vector<uint64_t> pieces_a(const MemoryCode& memory, uint64_t begin) const {
    return pieces_of(w.a, first, kWarpRows, k, memory.accesses[1].bytes, begin);
  }
  std::vector<uint64_t> pieces_b(const MemoryCode& memory, uint64_t begin) const {
    return pieces_of(w.b, 0, n, k, memory.accesses[2].bytes, begin);
  }
};

template <class T>
struct Multiply {
  // A matrix of so many rows, as [row][k] or, transposed, [k][row].
  static std::vector<T> matrix(const Warp& warp, const AccessCode& access, const Wgmma::Form& form,
                               const std::vector<uint64_t>& pieces, uint32_t rows, uint32_t k, bool transposed) {
    std::vector<T> to(std::size_t{rows} * k);
    const uint32_t together = kPiece / access.bytes;
    const uint32_t of_line = (form.is_mn_major ? rows : k) / together;  // pieces
    const auto size = static_cast<uint64_t>(warp.cta->launch->shared_bytes);
    for (uint32_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p] > size || size - pieces[p] < kPiece) continue;
      const uint8_t* from = warp.shared + pieces[p];
      for (uint32_t e = 0; e < together; ++e) {
        const uint32_t line = p / of_line, at = p % of_line * together + e;
        const uint32_t r = form.is_mn_major ? at : line, c = form.is_mn_major ? line : at;
        to[transposed ? std::size_t{c} * rows + r : std::size_t{r} * k + c] =
            number_of<T>(access.scalar, from + e * access.bytes);
      }
    }
    return to;
  }

  // Fragments of 16 rows, one after the other, as [row][column].
  static std::vector<T> fragments(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t each,
                                  uint32_t together, uint32_t columns) {
    std::vector<T> to(access.count / each * kWarpRows * columns);
    alignas(64) uint8_t values[kLanes * 8] = {};
    Mask ignored = 0;
    for (uint32_t e = 0; e < access.count; ++e) {
      read_element(warp, i, access, e, kAllLanes, values, ignored, false);
      for (uint32_t l = 0; l < kLanes; ++l) {
        const Place at = place_of(e % each, l, together, kWarpRows);
        to[(e / each * kWarpRows + at.row) * columns + at.column] =
            number_of<T>(access.scalar, values + l * access.bytes);
      }
    }
    return to;
  }

  // The products of an instruction are summed in the order of k.
  static TILEWRIGHT_INLINE void add(const T* __restrict a, const T* __restrict b, T* __restrict sums, uint32_t n,
                                    uint32_t k) {
    for (uint32_t row = 0; row < kWarpRows; ++row) {
      T* const to = sums + row * n;
      for (uint32_t c = 0; c < k; ++c) {
        const T x = a[row * k + c];
        const T* const y = b + c * n;
        for (uint32_t j = 0; j < n; ++j) to[j] += x * y[j];
      }
    }
  }

  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    const MemoryCode& memory = memory_of(warp, i);
    const Shape s(warp, memory);
    const AccessCode &d = memory.accesses[0], &a = memory.accesses[1], &b = memory.accesses[2];
    const auto of_d = static_cast<uint32_t>(s.w.values_d());
    const std::size_t size_a = std::size_t{kWarpRows} * s.k, size_d = std::size_t{kWarpRows} * s.n;
    std::vector<T> left;
    if (s.w.is_a_in_registers) {
      left = fragments(warp, i, a, static_cast<uint32_t>(s.w.values_a()), together_of(a), s.k);
    } else {
      for (const uint64_t begin : begins_of(warp, i, a)) {
        const std::vector<T> one = matrix(warp, a, s.w.a, s.pieces_a(memory, begin), kWarpRows, s.k, false);
        left.insert(left.end(), one.begin(), one.end());
      }
    }
    std::vector<T> sums(s.rows * s.columns * size_d);
    if (*warp.at<uint8_t>(i.a) != 0) sums = fragments(warp, i, d, of_d, kTogetherOfC, s.n);
    const std::vector<uint64_t> begins_b = begins_of(warp, i, b);
    for (uint32_t c = 0; c < s.depth; ++c) {
      for (uint32_t column = 0; column < s.columns; ++column) {
        const std::vector<T> right =
            matrix(warp, b, s.w.b, s.pieces_b(memory, begins_b[column + c * s.columns]), s.n, s.k, true);
        for (uint32_t row = 0; row < s.rows; ++row) {
          T* const to = sums.data() + (row + column * s.rows) * size_d;
          add(left.data() + (row + c * s.rows) * size_a, right.data(), to, s.n, s.k);
          if (d.scalar == Scalar::kFloat16) round_to_half(to, size_d);
        }
      }
    }
    alignas(64) uint8_t values[kLanes * 8] = {};
    for (uint32_t e = 0; e < d.count; ++e) {
      const T* const sum = sums.data() + e / of_d * size_d;
      for (uint32_t l = 0; l < kLanes; ++l) {
        const Place at = place_of(e % of_d, l, kTogetherOfC, kWarpRows);
        encode(d.scalar, sum[at.row * s.n + at.column], values + l * d.bytes);
      }
      write_element(warp, i, d, e, warp.mask, values, 0, false);
    }
  }

  // Each instruction gives sums of C's type.
  static void round_to_half(T* sum, std::size_t count) {
    if constexpr (std::is_same_v<T, float>) {
      uint8_t bits[2];
      for (std::size_t e = 0; e < count; ++e) {
        encode(Scalar::kFloat16, sum[e], bits);
        sum[e] = decode<float>(Scalar::kFloat16, bits);
      }
    }
  }
};

// ---- checks ----

// Rows of a matrix, of which the pieces are, that depend on what was never written.
void spread(const Wgmma::Form& form, const std::vector<bool>& never_written, uint32_t rows, uint32_t k, uint32_t bytes,
            std::vector<bool>& to, std::size_t first) {
  const uint32_t together = kPiece / bytes, of_line = (form.is_mn_major ? rows : k) / together;
  for (uint32_t p = 0; p < never_written.size(); ++p) {
    if (!never_written[p]) continue;
    if (!form.is_mn_major) {
      to[first + p / of_line] = true;
      continue;
    }
    for (uint32_t e = 0; e < together; ++e) to[first + p % of_line * together + e] = true;
  }
}

// Records what the instruction reads and owns. A sum is defined where its row of A, its column of B and what it is
// added to are.
void look(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const Shape s(warp, memory);
  const AccessCode &d = memory.accesses[0], &a = memory.accesses[1], &b = memory.accesses[2];
  Shadow& shadow = *warp.shadow;
  std::vector<bool> rows(std::size_t{s.rows} * kWarpRows), columns(std::size_t{s.columns} * s.n);
  const auto begin_of = [&](const AccessCode& access) { return warp.at<uint64_t>(access.pointer)[0]; };
  PendingWgmma pending{&i, warp.committed_wgmma, 0, begin_of(d), begin_of(a), {}, begins_of(warp, i, b)};
  std::vector<Mask> undefined;
  if (s.w.is_a_in_registers) {
    shadow.own(warp, i, a, undefined);
    const auto each = static_cast<uint32_t>(s.w.values_a());
    for (uint32_t e = 0; e < a.count; ++e) {
      for (Mask left = undefined[e]; left != 0; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        rows[e / each % s.rows * kWarpRows + place_of(e % each, lane, together_of(a), kWarpRows).row] = true;
      }
    }
  } else {
    pending.begins_a = begins_of(warp, i, a);
    for (uint32_t e = 0; e < a.count; ++e) {
      spread(s.w.a, shadow.look_at_operand(warp, i, a, s.pieces_a(memory, pending.begins_a[e])), kWarpRows, s.k,
             a.bytes, rows, e % s.rows * kWarpRows);
    }
  }
  for (uint32_t e = 0; e < b.count; ++e) {
    spread(s.w.b, shadow.look_at_operand(warp, i, b, s.pieces_b(memory, pending.begins_b[e])), s.n, s.k, b.bytes,
           columns, std::size_t{e % s.columns} * s.n);
  }
  pending.event = shadow.event(warp, i);
  warp.multiplying.push_back(std::move(pending));
  shadow.own(warp, i, d, undefined);
  const auto each = static_cast<uint32_t>(s.w.values_d());
  for (uint32_t e = 0; e < d.count; ++e) {
    if (*warp.at<uint8_t>(i.a) == 0) undefined[e] = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Place at = place_of(e % each, l, kTogetherOfC, kWarpRows);
      const bool is_undefined =
          rows[e / each % s.rows * kWarpRows + at.row] || columns[e / each / s.rows * s.n + at.column];
      undefined[e] |= Mask{is_undefined} << l;
    }
  }
  Shadow::define(warp, d, undefined);
}

template <class T>
void checked(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "wgmma");
  look_at_warpgroup(warp, i);
  if (warp.mask != kAllLanes) return;
  look(warp, i);
  handler_of<Multiply<T>>()(warp, i);
}

void fence(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "warpgroup.fence");
  look_at_warpgroup(warp, i);
  Shadow::fence_registers(warp);
}

void commit(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "warpgroup.commit_group");
  look_at_warpgroup(warp, i);
  ++warp.committed_wgmma;
}

// All groups finish but the last ones that may be under way, and what is in no group.
void wait(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "warpgroup.wait_group");
  look_at_warpgroup(warp, i);
  std::vector<PendingWgmma> left;
  const auto set_owner = [&](const PendingWgmma& pending, uint32_t place) {
    const MemoryCode& memory = memory_of(warp, *pending.instruction);
    Shadow::set_owner(warp, memory.accesses[0], pending.registers_d, place);
    if (!Wgmma(memory.ints).is_a_in_registers) return;
    Shadow::set_owner(warp, memory.accesses[1], pending.registers_a, place);
  };
  for (PendingWgmma& pending : warp.multiplying) {
    if (pending.group + i.side >= warp.committed_wgmma) {
      left.push_back(std::move(pending));
      continue;
    }
    const MemoryCode& memory = memory_of(warp, *pending.instruction);
    const Shape s(warp, memory);
    for (const uint64_t begin : pending.begins_a) warp.shadow->finish(warp, pending, s.pieces_a(memory, begin));
    for (const uint64_t begin : pending.begins_b) warp.shadow->finish(warp, pending, s.pieces_b(memory, begin));
    set_owner(pending, 0);
  }
  warp.multiplying = std::move(left);
  // Those that are left may use registers of those that have finished.
  for (const PendingWgmma& pending : warp.multiplying) set_owner(pending, pending.instruction->place);
}

}  // namespace

Handler wgmma_handler(const MemoryCode& memory, bool is_checked) {
  if (memory.accesses[0].scalar == Scalar::kInt32) {
    return is_checked ? &checked<uint32_t> : handler_of<Multiply<uint32_t>>();
  }
  return is_checked ? &checked<float> : handler_of<Multiply<float>>();
}
Handler wgmma_fence_handler() { return &fence; }
Handler wgmma_commit_handler() { return &commit; }
Handler wgmma_wait_handler() { return &wait; }

}  // namespace tilewright::execute
