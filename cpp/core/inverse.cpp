#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include "algebra.hpp"
#include "codomain.hpp"
#include "covering.hpp"
#include "function.hpp"
#include "law.hpp"
#include "left_inverse.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

struct Placed {
  Mode mode;
  Node position;  // stride of the mode in the compact layout of the same shape: where its 1-D coordinate counts
};
using Places = SmallVector<Placed, 8>;

Places place(const Modes& modes) {
  Places placed;
  Node position = static_int(1);
  for (const Mode& mode : modes) {
    placed.push_back({mode, mode.extent.is(1) ? static_int(0) : position});
    position = mul(position, mode.extent);
  }
  return placed;
}

// A stride that nobody knows yet continues none, wherever it stands.
bool comes_before(const Node& a, const Node& b) {
  if (a.is_symbolic() || b.is_symbolic()) return b.is_symbolic() && !a.is_symbolic();
  return a.value < b.value;
}

// The modes along one basis by their strides, which become integers. CuTe sorts by exchanges, which moves equal
// strides about: the first of them decides the answer.
Places by_stride(const Places& placed, BasisId basis) {
  Places sorted;
  for (const Placed& entry : placed) {
    if (entry.mode.stride.basis() != basis) continue;
    sorted.push_back({{entry.mode.extent, without_basis(entry.mode.stride)}, entry.position});
  }
  for (Placed* first = sorted.begin(); first != sorted.end(); ++first) {
    for (Placed* other = first + 1; other != sorted.end(); ++other) {
      if (comes_before(other->mode.stride, first->mode.stride)) std::swap(*first, *other);
    }
  }
  return sorted;
}

[[gnu::cold]] std::string order_text(const Places& sorted) {
  std::string text;
  for (const Placed& entry : sorted) {
    const Layout mode = Layout::leaf(entry.mode.extent, entry.mode.stride);
    text += concat(text.empty() ? "" : ", ", step_text(mode.view()), " (", step_text(&entry.position), ")");
  }
  return text;
}

// From stride 1 on, each mode that statically continues the last one.
Modes right_chain(const Places& sorted) {
  Modes result;
  Node wanted = static_int(1);
  for (const Placed& entry : sorted) {
    const Mode& mode = entry.mode;
    if (!static_equal(mode.stride, wanted)) {
      const bool known = mode.stride.is_static() && wanted.is_static();
      note(known ? step::kNotNext : step::kNotKnownNext, mode.stride, mode, wanted);
      continue;
    }
    result.push_back({mode.extent, entry.position});
    wanted = mul(mode.extent, wanted);
    note(step::kNext, mode.stride, mode, result.back(), wanted);
  }
  if (result.empty()) note(step::kNothingLeft);
  if (result.size() > 1) note(step::kTogether, result);
  return result;
}

// The digits of an offset in the strides, each counted where its mode has its coordinate.
Modes left_chain(const Places& sorted) {
  Modes result;
  if (sorted.empty()) {
    note(step::kNothingLeft);
    return result;
  }
  Node reached = static_int(1);
  Node position = static_int(0);  // offsets below the least stride come from coordinate 0
  for (const Placed& entry : sorted) {
    const Node& stride = entry.mode.stride;
    if (stride.is(0)) {
      note(step::kRepeats, entry.mode);
      continue;
    }
    if (mod(stride, reached).value != 0) {
      note(step::kNoMultiple, stride, entry.mode, reached);
      fail(concat("stride ", stride.value, " is not a multiple of the next smaller stride ", reached.value,
                  "; CuTe rejects it too"));
    }
    result.push_back({div(stride, reached), position});
    note(step::kOffsets, reached, stride, result.back().extent, position, result.back());
    position = entry.position;
    reached = stride;
  }
  result.push_back({sorted.back().mode.extent, position});
  note(step::kThenItself, sorted.back().mode.extent, sorted.back().mode, result.back());
  const Modes apart = result;
  result = coalesced(apart, LastExtent::kDrop);
  note(step::kTogetherCoalesced, apart, result);
  return result;
}

// Why L(A(i)) = i may fail: the digits of an offset are the coordinates of its modes where each stride lies beyond the
// modes below it and all strides have one sign. Between neighbours of different sign the smaller borrows from the
// larger.
std::optional<std::string> doubt_of(const Places& sorted) {
  const Placed* below = nullptr;  // the last mode that moves
  for (const Placed& entry : sorted) {
    const Mode& mode = entry.mode;
    if (mode.stride.value == 0) continue;
    const bool moves = mode.extent.value > 1;
    if (below != nullptr) {
      const Mode& smaller = below->mode;
      const int64_t end = checked_mul(smaller.extent.value, smaller.stride.value);
      if (end > mode.stride.value) {
        note(step::kNotInjective, mode.stride, mode, end, smaller);
        const std::string reach =
            concat("the mode ", smaller.extent.value, ":", smaller.stride.value, " reaches offset ",
                   end - smaller.stride.value, " and meets the mode with stride ", mode.stride.value, " at offset ",
                   mode.stride.value);
        return moves ? concat("the layout is not injective: ", reach, ", so no left inverse exists") : reach;
      }
      if (moves && (below->position.value < 0) != (entry.position.value < 0)) {
        note(step::kSignsDiffer, smaller, mode);
        return "negative strides next to positive ones";
      }
    }
    if (moves) below = &entry;
  }
  return std::nullopt;
}

// The modes that move, with the signs of their strides: where L has to have which value.
std::vector<Wanted> wanted_of(const Places& sorted) {
  std::vector<Wanted> wanted;
  for (const Placed& entry : sorted) {
    const int64_t stride = entry.mode.stride.value, position = entry.position.value;
    if (entry.mode.extent.value == 1 || stride == 0) continue;
    wanted.push_back({entry.mode.extent.value, position < 0 ? -stride : stride, position < 0 ? -position : position});
  }
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) { return a.position < b.position; });
  return wanted;
}

// The modes as a layout, and a coordinate of it as one of A.
Layout moving(const std::vector<Wanted>& wanted) {
  Modes modes;
  for (const Wanted& mode : wanted) modes.push_back({static_int(mode.extent), static_int(mode.stride)});
  return from_modes(modes);
}
int64_t coordinate_in_layout(int64_t i, const std::vector<Wanted>& wanted) {
  int64_t coordinate = 0;
  for (const Wanted& mode : wanted) {
    coordinate += i % mode.extent * mode.position;
    i /= mode.extent;
  }
  return coordinate;
}

// A left inverse of the modes along one entry of A's codomain: CuTe's where it is right.
class LeftInverse {
 public:
  LeftInverse(const Places& sorted, LayoutView layout) : sorted_(sorted), layout_(layout), wanted_(wanted_of(sorted)) {}

  Modes answer() {
    std::string cause;
    Trace* const trace = Trace::current();
    const std::size_t start = trace == nullptr ? 0 : trace->steps().size();
    try {
      if (const auto doubt = doubt_of(sorted_)) cause = *doubt;
      Modes cute = left_chain(sorted_);
      if (cause.empty()) return cute;
      const auto wrong = first_not_inverted(cute, wanted_);
      if (!wrong || (repeats() && finds_offsets(cute))) {
        note(step::kInverts, from_modes(cute));
        return cute;
      }
      const int64_t got = FlatFunction(cute)(offset_of(*wrong));
      cause += concat("; L(A(i)) = i fails at ", *wrong, " for ", to_string(from_modes(cute)), ", which gives ", got);
      example_.emplace(*wrong, got, *wrong);
    } catch (const LayoutError& error) {
      if (cause.empty() || !example_) cause = error.what();
    }
    Modes modes = found(cause);
    if (trace != nullptr) trace->rewind(start);
    note(step::kInterpolated, from_modes(modes));
    return modes;
  }

 private:
  bool repeats() const {
    return std::any_of(sorted_.begin(), sorted_.end(),
                       [](const Placed& entry) { return entry.mode.stride.value == 0 && entry.mode.extent.value > 1; });
  }

  int64_t offset_of(int64_t coordinate) const {
    int64_t offset = 0;
    for (const Wanted& mode : wanted_) offset += coordinate / mode.position % mode.extent * mode.stride;
    return offset;
  }

  // Where A repeats by stride 0 and overlaps as well, one of the coordinates with its offset will do: A(L(A(i))) =
  // A(i).
  bool finds_offsets(const Modes& inverse) const {
    const Layout moves = moving(wanted_);
    const FlatFunction offset(modes_of(moves)), coordinate(inverse);
    const int64_t count = size(moves).value, end = size(layout_).value;
    for (int64_t i = 0; i < std::min(count, kScanLimit); ++i) {
      const int64_t at = coordinate(offset(i));
      if (at < 0 || at >= end || offset_of(at) != offset(i)) return false;
    }
    if (count > kScanLimit) not_compared("the layout repeats offsets", kScanLimit, count);
    return true;
  }

  Modes found(const std::string& cause) const {
    if (const auto same = collision(moving(wanted_))) {
      const int64_t i = coordinate_in_layout(same->first, wanted_), j = coordinate_in_layout(same->second, wanted_);
      refuse(concat(cause, "; the coordinates ", i, " and ", j, " have the same offset ", offset_of(i)));
    }
    const bool known =
        std::all_of(sorted_.begin(), sorted_.end(), [](const Placed& entry) { return entry.mode.extent.is_static(); });
    if (!known) refuse(cause);
    LeftInverseFound found;
    try {
      found = find_left_inverse(wanted_);
    } catch (const LayoutError& error) {
      refuse(concat(cause, "; ", error.what()));
    }
    if (!found.modes) refuse(concat(cause, "; no layout L has ", found.contradiction));
    return std::move(*found.modes);
  }

  [[noreturn]] void refuse(std::string text) const {
    Modes modes;
    for (const Wanted& mode : wanted_) {
      if (mode.stride < 0) throw LayoutError(text, example_);
      modes.push_back({static_int(mode.extent), static_int(mode.stride)});
    }
    std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
    throw LayoutError(concat(text, "; ", to_string(from_modes(spread_out(modes))), " has one"), example_);
  }

  const Places& sorted_;
  LayoutView layout_;
  std::vector<Wanted> wanted_;
  std::optional<CounterExample> example_;
};

// The modes of coalesce(layout).
Modes simplified(LayoutView layout) {
  const Modes modes = coalesced(modes_of(layout), LastExtent::kDrop);
  note_simpler(step::kCoalesced, modes, layout);
  return modes;
}

// f(its modes by stride) of each entry of the codomain.
template <class F>
Layout chain_by_entry(LayoutView layout, const Places& placed, F&& f) {
  const auto chain = [&](BasisId basis) {
    const Places sorted = by_stride(placed, basis);
    if (!sorted.empty()) note(step::kByStrideIndexed, [&] { return order_text(sorted); });
    return from_modes(f(sorted));
  };
  return by_entry_of(layout, [&](BasisId basis) {
    if (basis == 0) return chain(basis);
    return below([&] { return chain(basis); }, step::kEntry, [&] { return basis_suffix(basis); });
  });
}

}  // namespace

Layout right_inverse(LayoutView layout) { return chain_by_entry(layout, place(simplified(layout)), right_chain); }

Layout left_inverse(LayoutView layout) {
  Places placed = place(simplified(layout));
  const bool checked = checks_enabled();
  for (Placed& entry : placed) {
    Node& stride = entry.mode.stride;
    if (stride.is_dynamic()) fail("the strides must be static; CuTe rejects it too");
    if (!checked || stride.value >= 0) continue;
    // CuTe's answer would have negative extents. The digits of the magnitude are right where all strides are negative.
    entry.position = mul(static_int(-1), entry.position);
    stride = abs(stride);
  }
  return chain_by_entry(layout, placed, [&](const Places& sorted) {
    return checked ? LeftInverse(sorted, layout).answer() : left_chain(sorted);
  });
}

Layout max_common_layout(LayoutView a, LayoutView b) {
  const Layout nothing = Layout::leaf(static_int(1), static_int(0));
  if (has_basis(b.stride)) return nothing;
  const Layout inverse = right_inverse(b);
  Composed composed = compose(a, inverse);
  const Modes common = coalesced(modes_of(composed.layout), LastExtent::kDrop);
  const bool contiguous = !common.empty() && common[0].extent.is_static() && common[0].stride.is(1);
  if (!contiguous) return nothing;
  Layout result = composition(inverse, Layout::leaf(common[0].extent, static_int(1)));
  if (!composed.proved() && checks_enabled()) {
    require_equal(Chain(modes_of(result)).then(a), Chain::coordinate(result), size(result).value, "A(R(i)) = i",
                  [&](const CounterExample& at) {
                    return concat(composed.cause.text(inverse.shape()), "; CuTe answers ", to_string(result),
                                  ", but element ", at.coordinate, " of it lies at offset ", at.got,
                                  " of the left layout");
                  });
  }
  return result;
}

Node max_alignment(LayoutView layout) {
  const Modes modes = coalesced(modes_of(layout), LastExtent::kDrop);
  // A mode of dynamic extent does not lengthen the contiguous part.
  int64_t contiguous = 1;
  SmallVector<bool, 8> used;
  for (std::size_t i = 0; i < modes.size(); ++i) used.push_back(false);
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < modes.size() && !found; ++i) {
      if (used[i] || modes[i].extent.is_dynamic() || modes[i].stride.has_basis()) continue;
      if (!static_equal(modes[i].stride, static_int(contiguous))) continue;
      contiguous = checked_mul(contiguous, modes[i].extent.value);
      used[i] = found = true;
    }
  }
  int64_t alignment = contiguous;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (used[i] || modes[i].stride.is(0)) continue;
    const Node& stride = modes[i].stride;
    if (stride.is_static()) alignment = stride.has_basis() ? 1 : std::gcd(alignment, divisibility(stride));
  }
  int64_t position = 1;
  for (std::size_t i = 0; i < modes.size() && checks_enabled(); ++i) {
    const int64_t stride = modes[i].stride.value;
    if (modes[i].stride.is_dynamic() && modes[i].extent.value > 1 && stride % alignment != 0) {
      throw LayoutError(concat("CuTe answers ", alignment, " without looking at the dynamic stride ", stride,
                               ", which is not a multiple of it: the offset of coordinate ", position, " is ", stride,
                               ", and ", std::abs(stride % alignment), " is left over"),
                        CounterExample{position, stride % alignment, 0});
    }
    position = checked_mul(position, modes[i].extent.value);
  }
  return static_int(alignment);
}

Layout domain_distribute(TupleView shape, const Node& b) {
  if (b.is_dynamic() || !all_static(shape))
    fail("the shape and the number to distribute must be static; CuTe rejects it too");
  Modes modes;
  Node rest = b;
  Node position = static_int(1);
  for_each_leaf(shape, [&](const Node& extent) {
    if (extent.value <= 0 || rest.value <= 0) fail("extents and the number to distribute must be positive");
    const Node share = static_int(std::gcd(extent.value, rest.value));
    modes.push_back({share, extent.is(1) ? static_int(0) : position});
    rest = div(rest, share);
    position = mul(position, extent);
  });
  return from_modes(coalesced(modes, LastExtent::kDrop));
}

}  // namespace tilewright
