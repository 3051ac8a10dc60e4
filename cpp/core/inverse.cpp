#include <algorithm>
#include <numeric>

#include "algebra.hpp"
#include "law.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

struct Placed {
  Mode mode;
  Node position;  // stride of the mode in the compact layout of the same shape: where its 1-D coordinate counts
};

SmallVector<Placed, 8> place(const Modes& modes) {
  SmallVector<Placed, 8> placed;
  Node position = static_int(1);
  for (const Mode& mode : modes) {
    placed.push_back({mode, mode.extent.is(1) ? static_int(0) : position});
    position = mul(position, mode.extent);
  }
  return placed;
}

bool any_negative(const Modes& modes) {
  return std::any_of(modes.begin(), modes.end(), [](const Mode& mode) { return mode.stride.value < 0; });
}

void verify_inverse(const FlatFunction& outer, const FlatFunction& inner, const char* law) {
  const int64_t count = std::min(inner.size(), kScanLimit);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t got = outer(inner(i));
    if (got != i) {
      throw LayoutError(concat("negative strides: ", law, " fails at ", i, " for CuTe's answer, which gives ", got),
                        CounterExample{i, got, i});
    }
  }
}

}  // namespace

Layout right_inverse(LayoutView layout) {
  const Modes modes = coalesced(modes_of(layout), LastExtent::kDrop);
  const auto placed = place(modes);
  Modes result;
  Node wanted = static_int(1);
  // From stride 1 on, each mode that statically continues the last one.
  for (bool found = true; found && wanted.is_static();) {
    found = false;
    for (const Placed& candidate : placed) {
      if (!static_equal(abs(candidate.mode.stride), wanted) || candidate.mode.stride.has_basis()) continue;
      result.push_back({candidate.mode.extent, mul(sign(candidate.mode.stride), candidate.position)});
      wanted = mul(candidate.mode.extent, wanted);
      found = true;
      break;
    }
  }
  Layout inverse = from_modes(result);
  if (checks_enabled() && any_negative(modes)) {
    verify_inverse(FlatFunction(modes), FlatFunction(modes_of(inverse)), "A(R(i)) = i");
  }
  return inverse;
}

Layout left_inverse(LayoutView layout) {
  const Modes modes = coalesced(modes_of(layout), LastExtent::kDrop);
  const auto placed = place(modes);
  SmallVector<Placed, 8> sorted;
  for (const Placed& entry : placed) {
    const Node& stride = entry.mode.stride;
    if (stride.is(0)) continue;
    if (stride.has_basis()) fail("a layout with basis strides has no left inverse: its offsets are coordinates");
    if (stride.is_dynamic()) fail("the strides must be static; CuTe rejects it too");
    sorted.push_back(entry);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Placed& a, const Placed& b) {
    return abs(a.mode.stride).value < abs(b.mode.stride).value;
  });
  Modes result;
  Node reached = static_int(1);
  Node position = static_int(0);  // offsets below the least stride come from coordinate 0
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const Node stride = abs(sorted[k].mode.stride);
    if (stride.value % reached.value != 0) {
      fail(concat("stride ", stride.value, " is not a multiple of the next smaller stride ", reached.value,
                  "; CuTe rejects it too"));
    }
    result.push_back({div(stride, reached), position});
    if (checks_enabled() && k > 0) {
      const Mode& below = sorted[k - 1].mode;
      const int64_t filled = checked_mul(below.extent.value, abs(below.stride).value);
      if (filled > stride.value) {
        fail(concat("the layout is not injective: the mode ", below.extent.value, ":", below.stride.value,
                    " reaches offset ", filled - abs(below.stride).value, " and meets the mode with stride ",
                    stride.value, " at offset ", stride.value, ", so no left inverse exists"));
      }
    }
    position = mul(sign(sorted[k].mode.stride), sorted[k].position);
    reached = stride;
  }
  if (!sorted.empty()) result.push_back({sorted.back().mode.extent, position});
  if (sorted.empty()) return Layout::leaf(product(layout.shape), static_int(0));  // every offset is 0
  const bool scan = checks_enabled() && any_negative(modes);
  Layout inverse = from_modes(coalesced(result, LastExtent::kDrop));
  if (scan) verify_inverse(FlatFunction(modes_of(inverse)), FlatFunction(modes), "L(A(i)) = i");
  return inverse;
}

Layout max_common_layout(LayoutView a, LayoutView b) {
  const Layout inverse = right_inverse(b);
  Composed composed = compose(a, inverse);
  const Modes common = coalesced(modes_of(composed.layout), LastExtent::kDrop);
  const bool contiguous = !common.empty() && common[0].extent.is_static() && common[0].stride.is(1);
  if (!contiguous) return Layout::leaf(static_int(1), static_int(0));
  Layout result = composition(inverse, Layout::leaf(common[0].extent, static_int(1)));
  if (!composed.proved && checks_enabled()) {
    require_equal(Chain(modes_of(result)).then(a), Chain::coordinate(result), size(result).value, "A(R(i)) = i",
                  [&](const CounterExample& at) {
                    return concat(composed.cause, "; CuTe answers ", to_string(result), ", but element ", at.coordinate,
                                  " of it lies at offset ", at.got, " of the left layout");
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
      if (!static_equal(abs(modes[i].stride), static_int(contiguous))) continue;
      contiguous = checked_mul(contiguous, modes[i].extent.value);
      used[i] = found = true;
    }
  }
  int64_t alignment = contiguous;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (used[i] || modes[i].stride.is(0)) continue;
    const Node& stride = modes[i].stride;
    if (stride.is_static()) alignment = stride.has_basis() ? 1 : std::gcd(alignment, stride.value);
  }
  for (std::size_t i = 0; i < modes.size() && checks_enabled(); ++i) {
    if (modes[i].stride.is_dynamic() && modes[i].extent.value > 1 && modes[i].stride.value % alignment != 0) {
      fail(concat("CuTe answers ", alignment, " without looking at the dynamic stride ", modes[i].stride.value,
                  ", which is not a multiple of it"));
    }
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
