#include "layout.hpp"

#include <limits>
#include <map>
#include <optional>

#include "algebra.hpp"
#include "modes.hpp"
#include "steps.hpp"
#include "symbolic.hpp"
#include "wide.hpp"

namespace tilewright {

namespace {

[[noreturn]] void not_an_integer(const char* what, TupleView tree, const Node& leaf) {
  const std::string mode = mode_text(tree, &leaf);
  fail(concat("the ", what, " ", to_string(TupleView(&leaf)),
              mode.empty() ? mode : concat(" of ", mode, " of ", to_string(tree)), " is not an integer"));
}

}  // namespace

Layout::Layout(IntTuple shape, IntTuple stride) : shape_(std::move(shape)), stride_(std::move(stride)) {
  if (!congruent(shape_, stride_)) {
    fail(concat("shape and stride must be congruent (the same profile), but the shape is ", to_string(shape_),
                " and the stride ", to_string(stride_)));
  }
  for_each_leaf(shape_.view(), [&](const Node& extent) {
    if (!extent.is_integer() || extent.has_basis()) not_an_integer("extent", shape_, extent);
    if (!extent.is_symbolic() && extent.value <= 0) {
      const std::string mode = mode_text(shape_, &extent);
      fail(concat("Expected size in shape to be strictly positive, but got ", extent.value,
                  mode.empty() ? mode : concat(" in ", mode, " of ", to_string(shape_))));
    }
  });
  for_each_leaf(stride_.view(), [&](const Node& stride) {
    if (!stride.is_integer()) not_an_integer("stride", stride_, stride);
  });
}

Modes modes_of(LayoutView layout) {
  Modes modes;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) { modes.push_back({extent, stride}); });
  return modes;
}

Layout from_modes(const Modes& modes) {
  LayoutBuilder builder;
  builder.flat(modes);
  return builder.take();
}

Layout pair(LayoutView first, LayoutView second) {
  LayoutBuilder builder;
  builder.open();
  builder.copy(first);
  builder.copy(second);
  builder.close();
  return builder.take();
}

std::string to_string(LayoutView layout) { return to_string(layout.shape) + ":" + to_string(layout.stride); }

namespace {

// An element of the codomain of a layout with basis strides, under construction: a number or one entry per mode.
struct Component {
  Node value = static_int(0);
  bool is_number = false;
  std::vector<Component> modes;
};

struct Codomain {
  Component root;
  std::size_t entries = 1;
};

void add_at(Codomain& codomain, const BasisPath& path, const Node& term) {
  Component* at = &codomain.root;
  const char* const mixed =
      "the offsets mix integers and coordinates: one stride is plain, or its basis element ends another's; give every "
      "mode a basis element of its own";
  for (std::size_t i = path.size(); i-- > 0;) {
    const uint32_t mode = path[i];
    if (at->is_number) fail(mixed);
    if (at->modes.size() <= mode) {
      codomain.entries += mode + 1 - at->modes.size();
      if (codomain.entries > kMaxNodes) too_many_entries();
      at->modes.resize(mode + 1);
    }
    at = &at->modes[mode];
  }
  if (!at->modes.empty()) fail(mixed);
  at->is_number = true;
  at->value = add(at->value, term);
}

void emit(const Component& component, TupleBuilder& builder) {
  if (component.modes.empty()) {
    builder.leaf(component.value);
    return;
  }
  builder.open();
  for (const Component& mode : component.modes) emit(mode, builder);
  builder.close();
}

IntTuple to_tuple(const Codomain& codomain) {
  TupleBuilder builder;
  emit(codomain.root, builder);
  return builder.take();
}

[[noreturn]] void bad_coordinate(TupleView coord, TupleView shape) {
  fail(concat("the coordinate ", to_string(coord), " does not fit the shape ", to_string(shape),
              ": each part must be an integer or a tuple with one entry per mode"));
}

// Calls f(leaf, digit) for each leaf of a shape with the digits of one index. The last mode of a tuple takes what is
// left.
template <class F>
void for_each_digit(Node index, TupleView shape, F&& f) {
  if (shape.is_leaf()) {
    f(shape, index);
    return;
  }
  int64_t remaining = shape.rank();
  for_each_mode(shape, [&](TupleView mode) {
    if (--remaining == 0) {
      for_each_digit(index, mode, f);
      return;
    }
    const Node extent = product(mode);
    for_each_digit(mod(index, extent), mode, f);
    index = div(index, extent);
  });
}

// Walks a coordinate down a layout and calls f(extent, stride, digit) for each leaf.
template <class F>
void walk(TupleView coord, LayoutView layout, F&& f) {
  if (coord.is_leaf()) {
    if (!coord->is_integer()) bad_coordinate(coord, layout.shape);
    const Node* const strides = layout.stride.get();
    for_each_digit(*coord, layout.shape,
                   [&](TupleView leaf, const Node& digit) { f(strides[leaf.get() - layout.shape.get()], digit); });
    return;
  }
  if (layout.is_leaf() || coord.rank() != layout.rank()) bad_coordinate(coord, layout.shape);
  for (int64_t i = 0; i < coord.rank(); ++i) {
    in_mode(i, [&] { walk(coord.mode(i), layout.mode(i), f); });
  }
}

// How an index becomes the coordinate of each mode, from the outermost tuple inwards.
[[gnu::cold]] void note_digits(TupleView coord, TupleView shape) {
  if (shape.is_leaf()) return;
  if (!coord.is_leaf()) {
    for (int64_t i = 0; i < shape.rank(); ++i) note_digits(coord.mode(i), shape.mode(i));
    return;
  }
  const IntTuple extents = product_each(shape);
  const std::string index = step_text(coord);
  TupleBuilder builder;
  std::string parts;
  Node below = static_int(1);
  builder.open();
  for_each_digit(*coord, extents, [&](TupleView extent, const Node& digit) {
    builder.leaf(digit);
    const bool first = parts.empty(), last = extent.get() == extents.nodes().end() - 1;
    if (!first) parts += ", ";
    parts += first ? index : concat("floor(", index, "/", step_text(&below), ")");
    if (!last) parts += " mod " + step_text(extent);
    below = mul(below, *extent);
  });
  builder.close();
  const IntTuple digits = builder.take();
  note(step::kDigits, coord, shape, parts, digits);
  note_digits(digits, shape);
}

// Whether the static modes reach offsets that take more than 32 bits.
bool reaches_beyond_32_bits(LayoutView layout) {
  Wide reach = 0;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.is_dynamic() || stride.is_dynamic()) return;
    const Wide step = stride.value < 0 ? -Wide{stride.value} : stride.value;
    reach += (extent.value - 1) * step;
  });
  return reach > std::numeric_limits<int32_t>::max();
}

IntTuple offset_of(TupleView coord, LayoutView layout) {
  if (!has_basis(layout.stride)) {
    Node offset = static_int(0);
    std::optional<bool> is_far;
    walk(coord, layout, [&](const Node& stride, const Node& digit) {
      if (digit.is_symbolic() && !is_far) is_far = reaches_beyond_32_bits(layout);
      const bool widens = digit.is_symbolic() && *is_far;
      offset = add(offset, mul(widens ? widened(digit) : digit, stride));
    });
    return IntTuple(offset);
  }
  int64_t leaves = 0;
  for_each_leaf(layout.shape, [&](const Node&) { ++leaves; });
  if (leaves == 1) {
    // One basis stride scales: the result is a basis element again, 3 * 1@0 = 3@0.
    IntTuple result;
    walk(coord, layout, [&](const Node& stride, const Node& digit) { result = IntTuple(mul(digit, stride)); });
    return result;
  }
  Codomain codomain;
  walk(coord, layout, [&](const Node& stride, const Node& digit) {
    if (!stride.is(0)) add_at(codomain, basis_path(stride.basis()), mul(digit, without_basis(stride)));
  });
  return to_tuple(codomain);
}

[[gnu::cold]] void note_offset(TupleView coord, LayoutView layout, const IntTuple& offset) {
  note_digits(coord, layout.shape);
  TupleBuilder digits, strides;
  std::string terms;
  digits.open();
  strides.open();
  walk(coord, layout, [&](const Node& stride, const Node& digit) {
    digits.leaf(digit);
    strides.leaf(stride);
    terms += concat(terms.empty() ? "" : " + ", step_text(&digit), "*", step_text(&stride));
  });
  digits.close();
  strides.close();
  note(step::kInnerProduct, digits.take(), strides.take(), terms, offset);
}

}  // namespace

IntTuple crd2idx(TupleView coord, LayoutView layout) {
  IntTuple offset = offset_of(coord, layout);
  if (Trace::current() != nullptr) note_offset(coord, layout, offset);
  return offset;
}

Node crd2idx(TupleView coord, TupleView shape) {
  // Horner from the last mode: no stride is needed, and the last extent never enters.
  if (coord.is_leaf()) {
    if (!coord->is_integer()) bad_coordinate(coord, shape);
    return *coord;
  }
  if (shape.is_leaf() || coord.rank() != shape.rank()) bad_coordinate(coord, shape);
  Node index = static_int(0);
  Node scale = static_int(1);
  std::string terms;
  for (int64_t i = 0; i < coord.rank(); ++i) {
    const Node part = in_mode(i, [&] { return crd2idx(coord.mode(i), shape.mode(i)); });
    index = add(index, mul(part, scale));
    if (Trace::current() != nullptr) terms += concat(i == 0 ? "" : " + ", step_text(&part), "*", step_text(&scale));
    if (i + 1 < coord.rank()) scale = mul(scale, product(shape.mode(i)));
  }
  note(step::kIndex, coord, shape, terms, index);
  return index;
}

int64_t evaluate(LayoutView layout, int64_t index) {
  const Node* shape = layout.shape.get();
  const Node* stride = layout.stride.get();
  if (layout.is_leaf()) return checked_mul(index, known(*stride));
  const Node* const end = shape + shape->span();
  int64_t offset = 0;
  const Node* last = nullptr;
  for (const Node* node = shape; node != end; ++node) {
    if (!node->is_tuple()) last = node;
  }
  for (; shape != end; ++shape, ++stride) {
    if (shape->is_tuple()) continue;
    if (shape == last) return checked_add(offset, checked_mul(index, known(*stride)));
    if (known(*shape) == 0) fail("the layout has an extent of 0 and maps no coordinate");
    offset = checked_add(offset, checked_mul(index % shape->value, known(*stride)));
    index /= shape->value;
  }
  return offset;
}

IntTuple coshape(LayoutView layout) {
  const Node one = static_int(1);
  if (!has_basis(layout.stride)) {
    Node last = static_int(0);
    for_each_leaf(
        layout, [&](const Node& extent, const Node& stride) { last = add(last, mul(sub(extent, one), abs(stride))); });
    return IntTuple(add(last, one));
  }
  Codomain codomain;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (!stride.is(0)) add_at(codomain, basis_path(stride.basis()), mul(sub(extent, one), without_basis(abs(stride))));
  });
  return map_leaves(to_tuple(codomain), [&](const Node& leaf) { return add(leaf, one); });
}

Node cosize(LayoutView layout) { return product(coshape(layout)); }

Range offset_range(LayoutView layout) {
  Range range{0, 0};
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    int64_t& bound = known(stride) < 0 ? range.min : range.max;
    bound = checked_add(bound, checked_mul(known(extent) - 1, stride.value));
  });
  return range;
}

IntTuple idx2crd(TupleView index, TupleView shape) {
  if (!index.is_leaf()) {
    if (shape.is_leaf() || index.rank() != shape.rank()) bad_coordinate(index, shape);
    TupleBuilder builder;
    builder.open();
    for (int64_t i = 0; i < index.rank(); ++i) {
      builder.copy(in_mode(i, [&] { return idx2crd(index.mode(i), shape.mode(i)); }));
    }
    builder.close();
    return builder.take();
  }
  if (!index->is_integer()) bad_coordinate(index, shape);
  Nodes nodes;
  nodes.append(shape.get(), static_cast<std::size_t>(shape.span()));
  for_each_digit(*index, shape, [&](TupleView leaf, const Node& digit) {
    nodes[static_cast<std::size_t>(leaf.get() - shape.get())] = digit;
  });
  return IntTuple(std::move(nodes));
}

IntTuple crd2crd(TupleView coord, TupleView source, TupleView target) {
  if (!coord.is_leaf() && !target.is_leaf()) {
    if (source.is_leaf() || coord.rank() != source.rank() || coord.rank() != target.rank()) {
      fail(concat("the ranks differ: coordinate ", to_string(coord), ", source shape ", to_string(source),
                  ", target shape ", to_string(target)));
    }
    TupleBuilder builder;
    builder.open();
    for (int64_t i = 0; i < coord.rank(); ++i) {
      builder.copy(in_mode(i, [&] { return crd2crd(coord.mode(i), source.mode(i), target.mode(i)); }));
    }
    builder.close();
    return builder.take();
  }
  return idx2crd(IntTuple(crd2idx(coord, source)), target);
}

IntTuple increment_coord(TupleView coord, TupleView shape) {
  if (!congruent(coord, shape)) bad_coordinate(coord, shape);
  Nodes nodes;
  nodes.append(coord.get(), static_cast<std::size_t>(coord.span()));
  std::size_t last = nodes.size();
  while (last > 0 && nodes[last - 1].is_tuple()) --last;
  // A carry that depends on a dynamic extent is dynamic, and so is every digit that it may change.
  Node carry = static_int(1);
  for (std::size_t i = 0; i < last && !carry.is(0); ++i) {
    if (nodes[i].is_tuple()) continue;
    nodes[i] = add(nodes[i], carry);
    if (i + 1 == last) break;  // the last digit goes on past its extent, as in idx2crd
    const Node& extent = shape.get()[i];
    if (nodes[i].is_symbolic() || extent.is_symbolic()) {
      carry = div(nodes[i], extent);
      nodes[i] = mod(nodes[i], extent);
      continue;
    }
    const bool known = nodes[i].is_static() && extent.is_static();
    const bool wraps = carry.value != 0 && nodes[i].value == extent.value;
    const bool wide = nodes[i].is_wide() || extent.is_wide();
    if (wraps) nodes[i].value = 0;
    if (!known) nodes[i] = dynamic_int(nodes[i].value, 1, wide);
    carry = known ? static_int(wraps) : dynamic_int(wraps, 1, wide);
  }
  return IntTuple(std::move(nodes));
}

Layout get(LayoutView layout, const std::vector<int64_t>& path) {
  for (const int64_t i : path) {
    if (layout.is_leaf() && i != 0) layout.shape.mode(i);  // raises
    layout = layout.mode(i);
  }
  return Layout(layout);
}

Layout select(LayoutView layout, const std::vector<int64_t>& modes) {
  LayoutBuilder builder;
  builder.open();
  for (const int64_t i : modes) builder.copy(layout.mode(i));
  builder.close();
  return builder.take();
}

void check_range(int64_t begin, int64_t end, int64_t rank) {
  if (begin < 0 || begin >= end || end > rank) {
    fail(concat("the modes [", begin, ",", end, ") of ", rank,
                " are empty or out of range (needs 0 <= begin < end <= ", rank, ")"));
  }
}

Layout take(LayoutView layout, int64_t begin, int64_t end) {
  check_range(begin, end, layout.rank());
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = begin; i < end; ++i) builder.copy(layout.mode(i));
  builder.close();
  return builder.take();
}

Layout group(LayoutView layout, int64_t begin, int64_t end) {
  check_range(begin, end, layout.rank());
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; i < layout.rank(); ++i) {
    if (i == begin) builder.open();
    builder.copy(layout.mode(i));
    if (i + 1 == end) builder.close();
  }
  builder.close();
  return builder.take();
}

void check_rank(int64_t rank, int64_t up_to) {
  if (up_to < rank) fail(concat("there are ", counted(rank, "mode"), " already, more than the rank to reach, ", up_to));
}

Layout append_to_rank(LayoutView layout, int64_t rank, LayoutView mode) {
  check_rank(layout.rank(), rank);
  if (rank == layout.rank()) return Layout(layout);
  LayoutBuilder builder;
  builder.open();
  for_each_mode(layout, [&](LayoutView part) { builder.copy(part); });
  for (int64_t i = layout.rank(); i < rank; ++i) builder.copy(mode);
  builder.close();
  return builder.take();
}

Layout prepend_to_rank(LayoutView layout, int64_t rank, LayoutView mode) {
  check_rank(layout.rank(), rank);
  if (rank == layout.rank()) return Layout(layout);
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = layout.rank(); i < rank; ++i) builder.copy(mode);
  for_each_mode(layout, [&](LayoutView part) { builder.copy(part); });
  builder.close();
  return builder.take();
}

Layout append(LayoutView layout, LayoutView mode) { return append_to_rank(layout, layout.rank() + 1, mode); }
Layout prepend(LayoutView layout, LayoutView mode) { return prepend_to_rank(layout, layout.rank() + 1, mode); }

Layout replace(LayoutView layout, int64_t i, LayoutView mode) {
  layout.mode(i);  // raises where there is none
  if (layout.is_leaf()) return Layout(mode);
  LayoutBuilder builder;
  builder.open();
  for (int64_t k = 0; k < layout.rank(); ++k) builder.copy(k == i ? mode : layout.mode(k));
  builder.close();
  return builder.take();
}

Layout concatenate(const std::vector<Layout>& layouts) {
  LayoutBuilder builder;
  builder.open();
  for (const Layout& layout : layouts) builder.copy(layout);
  builder.close();
  return builder.take();
}

Layout zip(const std::vector<Layout>& layouts) {
  std::vector<LayoutView> parts;
  if (layouts.size() == 1) {
    for_each_mode(layouts[0].view(), [&](LayoutView mode) { parts.push_back(mode); });
  } else {
    for (const Layout& layout : layouts) parts.push_back(layout);
  }
  for (const LayoutView& part : parts) {
    if (part.rank() != parts[0].rank()) {
      fail(concat("the ranks differ: ", to_string(parts[0]), " has ", counted(parts[0].rank(), "mode"), ", ",
                  to_string(part), " has ", part.rank()));
    }
  }
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; !parts.empty() && i < parts[0].rank(); ++i) {
    builder.open();
    for (const LayoutView& part : parts) builder.copy(part.mode(i));
    builder.close();
  }
  builder.close();
  return builder.take();
}

Layout flatten(LayoutView layout) { return Layout::unchecked(flatten(layout.shape), flatten(layout.stride)); }

Layout unflatten(LayoutView layout, TupleView profile) {
  return Layout::unchecked(unflatten(layout.shape, profile), unflatten(layout.stride, profile));
}

namespace {

void slice_into(TupleView coord, TupleView part, bool keep_none, TupleBuilder& builder) {
  if (coord.is_leaf()) {
    if (coord->is_none() == keep_none) builder.copy(part);
    return;
  }
  if (part.is_leaf() || coord.rank() != part.rank()) bad_coordinate(coord, part);
  for (int64_t i = 0; i < coord.rank(); ++i) {
    in_mode(i, [&] { slice_into(coord.mode(i), part.mode(i), keep_none, builder); });
  }
}

IntTuple slice_or_dice(TupleView coord, TupleView tuple, bool keep_none) {
  if (coord.is_leaf() && coord->is_none() == keep_none) return IntTuple(tuple);
  TupleBuilder builder;
  builder.open();
  slice_into(coord, tuple, keep_none, builder);
  builder.close();
  return builder.take();
}

}  // namespace

IntTuple slice(TupleView coord, TupleView tuple) { return slice_or_dice(coord, tuple, true); }
IntTuple dice(TupleView coord, TupleView tuple) { return slice_or_dice(coord, tuple, false); }
Layout slice(TupleView coord, LayoutView layout) {
  return Layout::unchecked(slice(coord, layout.shape), slice(coord, layout.stride));
}
Layout dice(TupleView coord, LayoutView layout) {
  return Layout::unchecked(dice(coord, layout.shape), dice(coord, layout.stride));
}

Sliced slice_and_offset(TupleView coord, LayoutView layout) {
  const IntTuple origin = map_leaves(coord, [](const Node& leaf) { return leaf.is_none() ? static_int(0) : leaf; });
  return {slice(coord, layout), crd2idx(origin, layout)};
}

Layout make_layout(TupleView shape) { return {IntTuple(shape), compact_left(shape)}; }

Layout make_identity_layout(TupleView shape) { return {IntTuple(shape), basis_like(shape)}; }

Layout make_ordered_layout(TupleView shape, TupleView order) { return {IntTuple(shape), compact_order(shape, order)}; }

Layout make_layout_like(LayoutView layout) {
  const Layout ones = filter_zeros(layout);
  return Layout::unchecked(IntTuple(layout.shape), compact_order(ones.shape(), layout.stride));
}

Layout make_fragment_like(LayoutView layout) {
  if (layout.rank() <= 1) return make_layout(layout.shape);
  const LayoutView first = layout.mode(0);
  const Layout fragment = Layout::unchecked(IntTuple(first.shape), compact_left(filter_zeros(first).shape()));
  const Layout rest = take(layout, 1, layout.rank());
  return tiled_product(fragment, Tiler(make_ordered_layout(rest.shape(), rest.stride())));
}

}  // namespace tilewright
