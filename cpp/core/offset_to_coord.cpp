// The coordinate of an offset: the digits (offset / d) mod s where they lead back to it, else a search.
#include <algorithm>

#include "modes.hpp"

namespace tilewright {

namespace {

// The smallest coordinate with the offset, by trying them all; -1 where there is none.
int64_t search(int64_t offset, LayoutView layout) {
  constexpr int64_t kLimit = int64_t{1} << 22;
  const int64_t count = size(layout).value;
  if (count > kLimit) {
    fail(concat("the strides do not nest, and a layout of size ", count, " is too large to search (limit ", kLimit,
                ")"));
  }
  const FlatFunction function(modes_of(layout));
  for (int64_t i = 0; i < count; ++i) {
    if (function(i) == offset) return i;
  }
  return -1;
}

// Whether each stride jumps over all offsets of the smaller ones, in either direction, so that the digits are the only
// candidate.
bool nests(Modes modes) {
  for (Mode& mode : modes) mode.stride = abs(mode.stride);
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
  int64_t below = 1;
  for (const Mode& mode : modes) {
    if (mode.extent.value <= 1 || mode.stride.value == 0) continue;
    if (mode.stride.value < below || mode.stride.value % below != 0) return false;
    below = checked_mul(mode.extent.value, mode.stride.value);
  }
  return true;
}

using Digits = SmallVector<int64_t, 8>;

// (offset / d) mod s for each mode.
Digits digits_of(int64_t offset, const Modes& modes) {
  Digits digits;
  for (const Mode& mode : modes) {
    const bool moves = mode.extent.value > 1 && mode.stride.value != 0;
    digits.push_back(moves ? div(static_int(offset), static_int(mode.stride.value)).value % mode.extent.value : 0);
  }
  return digits;
}

// The digits with the modes of negative stride counted from their far end, where the offset is least: all offsets are
// then counted upwards from there.
Digits digits_from_least(int64_t offset, const Modes& modes) {
  Modes upwards = modes;
  for (Mode& mode : upwards) {
    if (mode.stride.value >= 0) continue;
    offset = checked_add(offset, checked_mul(mode.extent.value - 1, abs(mode.stride).value));
    mode.stride = abs(mode.stride);
  }
  Digits digits = digits_of(offset, upwards);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    if (modes[k].stride.value < 0) digits[k] = modes[k].extent.value - 1 - digits[k];
  }
  return digits;
}

// Whether the digits are a coordinate of the layout, and its offset is the one given.
bool reaches(const Digits& digits, const Modes& modes, int64_t offset) {
  int64_t reached = 0;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    if (digits[k] < 0 || digits[k] >= modes[k].extent.value) return false;
    reached = checked_add(reached, checked_mul(digits[k], modes[k].stride.value));
  }
  return reached == offset;
}

}  // namespace

namespace {

// Of an offset that nobody knows yet the digits can be computed, but not whether they lead back to it.
IntTuple symbolic_coord(const Node& offset, LayoutView layout) {
  const Modes modes = modes_of(layout);
  const auto counts_up = [](const Mode& mode) { return mode.stride.is_symbolic() || mode.stride.value >= 0; };
  const bool all_known = std::all_of(modes.begin(), modes.end(), [](const Mode& mode) {
    return !mode.extent.is_symbolic() && !mode.stride.is_symbolic();
  });
  if (!std::all_of(modes.begin(), modes.end(), counts_up) || (all_known && !nests(modes))) {
    fail(concat("the strides of ", to_string(layout), " do not nest upwards, and the coordinate of an offset that is "
                "known only at run time cannot be searched"));
  }
  Nodes nodes;
  nodes.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  std::size_t next = 0;
  for (Node& node : nodes) {
    if (node.is_tuple()) continue;
    const Mode& mode = modes[next++];
    const bool stays = mode.stride.is(0) || (!mode.stride.is_symbolic() && mode.stride.value == 0);
    if (node.is(1)) {
      node = static_int(0);
    } else if (stays) {
      node = dynamic_int(0, 1, offset.is_wide());
    } else {
      node = mod(div(offset, mode.stride), mode.extent);
    }
  }
  return IntTuple(std::move(nodes));
}

}  // namespace

IntTuple offset_to_coord(const Node& offset, LayoutView layout) {
  if (has_basis(layout.stride)) fail("the layout has basis strides: an offset of it is a coordinate already");
  bool known_everywhere = !offset.is_symbolic();
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    known_everywhere = known_everywhere && !extent.is_symbolic() && !stride.is_symbolic();
  });
  if (!known_everywhere) return symbolic_coord(offset, layout);
  auto number = [&](int64_t value) {
    return offset.is_static() ? static_int(value) : dynamic_int(value, 1, offset.is_wide());
  };
  const Modes modes = modes_of(layout);
  Digits digits = digits_of(offset.value, modes);
  if (!reaches(digits, modes, offset.value)) {
    const Digits mirrored = digits_from_least(offset.value, modes);
    if (reaches(mirrored, modes, offset.value)) {
      digits = mirrored;
    } else if (!nests(modes)) {
      const int64_t index = search(offset.value, layout);
      if (index >= 0) return idx2crd(IntTuple(number(index)), layout.shape);
    }
  }
  // Outside the image the digits are a projection: a thread's index in the modes that a partition keeps.
  Nodes nodes;
  nodes.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  std::size_t next = 0;
  for (Node& node : nodes) {
    if (node.is_tuple()) continue;
    node = node.is(1) ? static_int(0) : number(digits[next]);
    ++next;
  }
  return IntTuple(std::move(nodes));
}

}  // namespace tilewright
