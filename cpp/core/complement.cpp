// complement(L, M): sort the modes of L by stride; the gap below each mode, and the room above the last up to M, are
// the result.
//
//     strides d0 < d1 < ...      gap_k = d_k / (s_{k-1} * d_{k-1})      R = (gap_0, gap_1, ..., rest) : (1, s_0*d_0,
//     s_1*d_1, ...)
#include "algebra.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

// Removes and returns the mode with the least stride, the first of equals.
Mode take_least(Modes& modes) {
  std::size_t least = 0;
  for (std::size_t i = 1; i < modes.size(); ++i) {
    if (modes[i].stride.value < modes[least].stride.value) least = i;
  }
  const Mode mode = modes[least];
  modes.erase(least);
  return mode;
}

void verify_gap(const Node& gap, const Mode& mode, const Node& reached, LayoutView layout) {
  // With dynamic extents CuTe does not see it.
  const bool rejected = gap.is(0);
  if (gap.value > 0 || !(rejected || checks_enabled())) return;
  fail(concat("the modes of ", to_string(layout), " overlap or interleave: the mode ", mode.extent.value, ":",
              mode.stride.value, " starts below offset ", reached.value,
              " that the modes with smaller strides fill (needs stride >= ", reached.value, ")",
              rejected ? "; CuTe rejects it too" : ""));
}

void require_complement(const Modes& modes) {
  bool known = true;
  for (const Mode& mode : modes) {
    if (mode.stride.has_basis()) fail("a layout with basis strides has no complement: its offsets are coordinates");
    if (mode.stride.value < 0)
      fail(concat("the stride ", mode.stride.value, " is negative: a complement needs non-negative strides"));
    if (mode.stride.value == 0) fail("a dynamic stride is 0: CuTe divides by it");
    known = known && mode.stride.is_static();
  }
  if (modes.size() > 1 && !known) {
    fail(concat("dynamic strides are supported for one mode only, but ", to_string(from_modes(modes)), " has ",
                modes.size(), " modes with a dynamic stride among them; CuTe rejects it too"));
  }
}

}  // namespace

Layout complement(LayoutView layout, TupleView cotarget) {
  for_each_leaf(cotarget, [&](const Node& leaf) {
    if (leaf.value <= 0 || leaf.has_basis())
      fail(concat("the entries of the cotarget ", to_string(cotarget), " must be positive integers"));
  });
  Modes modes = filtered(layout);
  // Nothing but repetition: the whole cotarget is left over.
  if (modes.empty() || (modes.size() == 1 && modes[0].stride.is(0))) return make_layout(coalesce_shape(cotarget));
  require_complement(modes);
  Modes result;
  Node reached = static_int(1);
  while (!modes.empty()) {
    const Mode mode = take_least(modes);
    const Node gap = div(mode.stride, reached);
    verify_gap(gap, mode, reached, layout);
    result.push_back({gap, reached});
    reached = mul(mode.stride, mode.extent);
  }
  if (reached.value == 0) fail("an extent of the layout is 0: it has no complement");
  const IntTuple rest = coalesce_shape(ceil_div(cotarget, IntTuple(reached)));
  const IntTuple strides = compact(rest, IntTuple(reached), Major::kLeft);
  for_each_leaf(LayoutView{rest, strides},
                [&](const Node& extent, const Node& stride) { result.push_back({extent, stride}); });
  return from_modes(coalesced(result, LastExtent::kDrop));
}

Layout complement(LayoutView layout) {
  const Layout filtered = filter(layout);
  return complement(filtered, coshape(filtered));
}

}  // namespace tilewright
