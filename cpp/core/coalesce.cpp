#include <algorithm>

#include "algebra.hpp"
#include "modes.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

[[gnu::cold, gnu::noinline]] void note_apart(Mode mode, Mode next) {
  const Node reached = mul(mode.extent, mode.stride);
  if (next.extent.is_dynamic()) {
    note(step::kDynamicShape, mode, next, next.extent);
  } else if (reached.is_static() && next.stride.is_static()) {
    note(step::kApart, mode, next, mode.extent, mode.stride, reached, next.stride);
  } else {
    note(step::kNotKnown, mode, next, mode.extent, mode.stride, next.stride);
  }
}

}  // namespace

Modes coalesced(const Modes& modes, LastExtent last, bool recorded) {
  // From the right: a static extent of 1 vanishes with its stride, and a mode merges into its right neighbour where the
  // neighbour statically goes on with its stride. Built back to front, so the front of the result is the back of
  // `reversed`.
  Modes reversed;
  const std::size_t count = modes.size();
  for (std::size_t k = count; k-- > 0;) {
    Mode mode = modes[k];
    const bool is_last = k + 1 == count;
    if (mode.extent.is(1)) {
      // Past the size a layout goes on with its last stride, even one of extent 1; composition may ask for that.
      if (!is_last || last == LastExtent::kDrop) {
        if (recorded) record(step::kDropped, mode);
        continue;
      }
      mode.extent = static_int(2);
    }
    if (!reversed.empty()) {
      Mode& front = reversed.back();
      if (front.extent.is_static() && static_equal(mul(mode.extent, mode.stride), front.stride)) {
        const Mode merged{mul(mode.extent, front.extent), mode.stride};
        if (recorded) record(step::kMerged, mode, front, mode.extent, mode.stride, front.stride, merged);
        front = merged;
        continue;
      }
      if (recorded) note_apart(mode, front);
    }
    reversed.push_back(mode);
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

Layout coalesce(LayoutView layout) {
  const Modes modes = modes_of(layout);
  const bool recorded = Trace::current() != nullptr;
  if (recorded && depth(layout.shape) > 1) record(step::kFlattened, modes);
  if (recorded && modes.size() > 1) record(step::kFromTheRight);
  const Modes merged = coalesced(modes, LastExtent::kDrop, recorded);
  if (recorded && merged.empty()) record(step::kNothingLeft);
  return from_modes(merged);
}

namespace {

template <class F>
Layout by_profile(LayoutView layout, TupleView profile, F&& f) {
  if (profile.is_leaf()) return f(layout);
  if (profile.rank() > layout.rank()) {
    fail(concat("the profile ", to_string(profile), " has ", counted(profile.rank(), "mode"), ", more than the layout ",
                to_string(layout), " with ", layout.rank()));
  }
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; i < layout.rank(); ++i) {
    if (i < profile.rank()) {
      builder.copy(
          on_mode(i, [&] { return by_profile(layout.mode(i), profile.mode(i), f); }, step::kMode, layout.mode(i)));
    } else {
      builder.copy(layout.mode(i));
    }
  }
  builder.close();
  return builder.take();
}

}  // namespace

Layout coalesce(LayoutView layout, TupleView profile) {
  return by_profile(layout, profile, [](LayoutView mode) { return coalesce(mode); });
}

Layout filter_zeros(LayoutView layout) {
  Nodes shape;
  shape.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_tuple() && layout.stride.get()[i].is(0)) shape[i] = static_int(1);
  }
  return Layout::unchecked(IntTuple(std::move(shape)), IntTuple(layout.stride));
}

IntTuple filter_zeros(TupleView shape, TupleView profile) {
  if (profile.is_leaf()) {
    return profile->is(0) ? repeat_like(shape, static_int(1)) : IntTuple(shape);
  }
  if (shape.is_leaf() || shape.rank() != profile.rank()) {
    fail(concat("the profile ", to_string(profile), " does not fit the shape ", to_string(shape),
                ": one entry per mode is needed"));
  }
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < shape.rank(); ++i) {
    builder.copy(in_mode(i, [&] { return filter_zeros(shape.mode(i), profile.mode(i)); }));
  }
  builder.close();
  return builder.take();
}

Modes filtered(LayoutView layout) {
  Modes modes;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    modes.push_back({stride.is(0) ? static_int(1) : extent, stride});
  });
  return coalesced(modes, LastExtent::kDrop);
}

Layout filter(LayoutView layout) { return from_modes(filtered(layout)); }

Layout filter(LayoutView layout, TupleView profile) {
  return by_profile(layout, profile, [](LayoutView mode) { return filter(mode); });
}

Layout nullspace(LayoutView layout) {
  const Modes modes = modes_of(layout);
  Modes result;
  Node current = static_int(1);
  for (const Mode& mode : modes) {
    if (mode.stride.is(0)) result.push_back({mode.extent, mode.extent.is(1) ? static_int(0) : current});
    current = mul(current, mode.extent);
  }
  return from_modes(result);
}

}  // namespace tilewright
