#include <algorithm>

#include "algebra.hpp"
#include "codomain.hpp"
#include "composed.hpp"
#include "law.hpp"
#include "regroup.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// The same layout with its dynamic integers made static.
Layout by_value(LayoutView layout) {
  Modes modes = modes_of(layout);
  for (Mode& mode : modes) mode = {static_int(known(mode.extent)), static_int(known(mode.stride))};
  return from_modes(modes);
}

// The offsets in which A* has its places. With basis strides each entry of the codomain has room for all copies, so
// that copies counted by one number go along the first.
IntTuple room_for(LayoutView block, LayoutView copies) {
  const Node count = cosize(copies);
  if (!has_basis(block.stride)) {
    const Node elements = size(block);
    note(step::kProduct, elements, count);
    return IntTuple(mul(elements, count));
  }
  IntTuple room = map_leaves(coshape(block), [&](const Node& entry) { return mul(entry, count); });
  note(step::kProductOfBasis, room);
  return room;
}

// A* with as many places, at least.
Layout roomy_complement(LayoutView block, int64_t places) {
  const int64_t top = checked_add(offset_range(block).max, 1);
  return complement(by_value(block), IntTuple(static_int(checked_mul(checked_mul(top, 2), places))));
}

// CuTe gives the complement room for size(A) * cosize(B) offsets. Where A has gaps that may be too little: B then runs
// past the end of A*, which goes on with its last stride, into offsets that A has. The complement with room enough is
// the truth.
void verify_room(LayoutView block, LayoutView places, LayoutView copies, LayoutView placed) {
  const int64_t needed = checked_add(offset_range(copies).max, 1);
  const int64_t count = size(places).value;
  if (needed <= count) return;
  const Trace::Silence silence;
  const Layout all = roomy_complement(block, needed);
  const Chain steps(modes_of(copies));
  require_equal(
      Chain(modes_of(placed)), Chain(steps).then(all), size(copies).value, "A*(B(i))", [&](const CounterExample& at) {
        return concat("the complement of the block within size(A)*cosize(B) = ", mul(size(block), cosize(copies)).value,
                      " has ", count, " places, but the tiler needs ", needed, "; at coordinate ", at.coordinate,
                      " of the copies CuTe gives ", at.got, ", but A*(B(", at.coordinate, ")) = A*(",
                      steps(at.coordinate), ") = ", at.expected);
      });
}

// R(i, j) == A(i) + A*(B(j)), where A* has room for every offset of B.
void verify_product(const Layout& block, const ComposedLayout& tiler, const AnyLayout& result) {
  const int64_t inner = size(block).value, copies = size(tiler.outer()).value;
  if (checked_mul(inner, copies) > kScanLimit) {
    fail(concat("the ", inner, " x ", copies, " elements were not compared: use unchecked() to take CuTe's answer"));
  }
  const Chain got = chain_of(result), steps = chain_of(tiler), first = chain_of(block);
  require_size(result, inner * copies, "the product");
  int64_t needed = 1;
  for (int64_t j = 0; j < copies; ++j) needed = std::max(needed, checked_add(steps(j), 1));
  const Layout all = roomy_complement(block, needed);
  const FlatFunction places(modes_of(all));
  for (int64_t i = 0; i < inner * copies; ++i) {
    const int64_t expected = checked_add(first(i % inner), places(steps(i / inner)));
    if (got(i) == expected) continue;
    throw LayoutError(concat("the product does not carry the bits of the swizzle; at ", i, " CuTe gives ", got(i),
                             ", but A(", i % inner, ") + A*(B(", i / inner, ")) = ", expected),
                      CounterExample(i, got(i), expected));
  }
}

// Copies with basis strides have to stay inside of the modes of A* that they name.
void verify_entries(LayoutView places, LayoutView copies, LayoutView placed) {
  const Trace::Silence silence;
  for (const BasisId basis : bases_of(copies)) {
    const FlatFunction steps = along(copies, basis);
    const int64_t count = size(at_path(places, basis)).value;
    const int64_t scanned = std::min(steps.size(), kScanLimit);
    for (int64_t i = 0; i < scanned; ++i) {
      if (steps(i) < count) continue;
      const std::string got = values_text(crd2idx(IntTuple(static_int(i)), placed));
      throw LayoutError(concat("at coordinate ", i, " the copies are at place ", steps(i), basis_suffix(basis),
                               ", but the complement of the block has ", count, " there; CuTe gives ", got),
                        CounterExample(i, got, "_"));
    }
    if (scanned < steps.size()) not_compared("the copies have basis strides", scanned, steps.size());
  }
}

// A* o B: CuTe's answer where it is right, else with room enough in A*, of static integers.
Layout place_copies(LayoutView block, LayoutView places, LayoutView copies) {
  const auto placed_in = [&](LayoutView room) {
    Layout placed = below([&] { return composition(room, copies); }, step::kCall, "composition", room, copies);
    note(step::kPlaced, placed);
    return placed;
  };
  if (!checks_enabled()) return placed_in(places);
  try {
    Layout placed = placed_in(places);
    if (has_basis(copies.stride)) {
      verify_entries(places, copies, placed);
    } else if (!has_basis(block.stride)) {
      verify_room(block, places, copies, placed);
    }
    return placed;
  } catch (const LayoutError&) {
    const bool plain = all_static(block.shape) && all_static(block.stride) && all_static(copies.shape) &&
                       all_static(copies.stride) && !has_basis(block.stride) && !has_basis(copies.stride);
    if (!plain || offset_range(copies).min < 0 || offset_range(copies).max < size(places).value) throw;
    const int64_t needed = checked_add(offset_range(copies).max, 1);
    const auto roomy = attempted([&] {
      const Trace::Silence silence;
      return roomy_complement(block, needed);
    });
    if (roomy) note(step::kRoom, needed, size(places), *roomy);
    if (auto placed = roomy ? attempted([&] { return placed_in(*roomy); }) : std::nullopt) return std::move(*placed);
    throw;
  }
}

}  // namespace

Layout logical_product(LayoutView block, const Tiler& tiler) {
  if (tiler.kind() == Tiler::Kind::kNone) return Layout(block);
  if (tiler.kind() != Tiler::Kind::kModes) {
    const Layout copies = tiler.as_layout();
    const IntTuple room = room_for(block, copies);
    const Layout places = below([&] { return complement(block, room); }, step::kCall, "complement", block, room);
    note(step::kPlaces, places);
    return in_context([&] { return concat("A* = ", to_string(places)); },
                      [&] { return pair(block, place_copies(block, places, copies)); });
  }
  const auto& modes = tiler.modes();
  const auto count = static_cast<int64_t>(modes.size());
  if (count > block.rank()) {
    fail(concat("Too many modes in tiler: the tiler ", tiler.text(), " has ", count, " modes, the block ",
                to_string(block), " has ", block.rank()));
  }
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; i < block.rank(); ++i) {
    if (i < count) {
      const Tiler& part = modes[static_cast<std::size_t>(i)];
      const LayoutView mode = block.mode(i);
      builder.copy(on_mode(i, [&] { return logical_product(mode, part); }, step::kModeWith, mode, "times", part));
    } else {
      builder.copy(block.mode(i));
    }
  }
  builder.close();
  return builder.take();
}

// CuTe carries the swizzle through the copies: the Y and Z bits that the tiler reaches, as offsets of the product.
AnyLayout logical_product(const Layout& block, const ComposedLayout& tiler) {
  const Swizzle* swizzle = tiler.swizzle();
  if (swizzle == nullptr || !tiler.offset().leaf().is(0)) {
    fail(concat("the tiler ", to_string(tiler), " needs a swizzle as its inner function and the offset 0"));
  }
  const Layout& plain = tiler.outer();
  const Layout product = [&] {
    const Unchecked scope;
    return logical_product(block, Tiler(plain));
  }();
  const Layout bits = compose(projection(*swizzle, true), plain).layout;
  const int64_t active = evaluate(bits, checked_add(known(size(bits)), -1));
  auto carried = [&](int64_t mask) { return evaluate(product.view().mode(1), evaluate(plain, active & mask)); };
  const AnyLayout result =
      composition(Swizzle::from_masks(carried(swizzle->y_mask()), carried(swizzle->z_mask())), product);
  if (checks_enabled()) verify_product(block, tiler, result);
  return result;
}

Layout zipped_product(LayoutView block, const Tiler& tiler) {
  return unzip_tiles(logical_product(block, tiler), tiler);
}
Layout tiled_product(LayoutView block, const Tiler& tiler) {
  return splice(zipped_product(block, tiler), {false, true});
}
Layout flat_product(LayoutView block, const Tiler& tiler) { return splice(zipped_product(block, tiler), {true, true}); }

namespace {

const Layout& unit() {
  static const Layout* const layout = new Layout(Layout::leaf(static_int(1), static_int(0)));
  return *layout;
}

// Block and tiler with the same number of modes, a leaf as one mode, and their logical product.
Layout padded_product(LayoutView block, LayoutView tiler) {
  const int64_t rank = std::max(block.rank(), tiler.rank());
  // With a leaf among two operands of one mode, both become the one mode of a tuple.
  const bool wrapped = rank == 1 && (block.is_leaf() || tiler.is_leaf());
  auto pad = [&](LayoutView layout) {
    return wrapped ? concatenate({Layout(layout)}) : append_to_rank(layout, rank, unit());
  };
  const Layout first = pad(block), second = pad(tiler);
  if (wrapped) {
    note(step::kWrapped, first, second);
  } else if (block.rank() != tiler.rank()) {
    note(step::kPadded, rank, first, second);
  }
  return logical_product(first, Tiler(second));
}

// The modes at one place of both halves of a product, as pairs.
Layout zipped_halves(LayoutView product, int64_t first, const Rule& rule) {
  Layout result = zip({Layout(product.mode(first)), Layout(product.mode(1 - first))});
  note(step::kLogical, product);
  note(rule, result);
  return result;
}

}  // namespace

Layout blocked_product(LayoutView block, LayoutView tiler) {
  return zipped_halves(padded_product(block, tiler), 0, step::kBlocked);
}

Layout raked_product(LayoutView block, LayoutView tiler) {
  return zipped_halves(padded_product(block, tiler), 1, step::kRaked);
}

namespace {

// M(tv(t, v)) = t + |thr| * v: the tile has to have the offsets 0, 1, .. up to the last value of the last thread.
void verify_tv(LayoutView tile, LayoutView inverse, LayoutView tv) {
  if (has_basis(tile.stride)) {
    fail(concat("the raked product M = ", to_string(tile), " has basis strides: its offsets are no thread and value"));
  }
  const int64_t count = size(tv).value, first = size(inverse).value;
  if (first >= count) return;
  const std::string cause = concat("the raked product M = ", to_string(tile), " has the offsets below ", first,
                                   " only, of the ", count, " that threads and values need");
  const FlatFunction outer(modes_of(tile)), inner(modes_of(tv));
  const int64_t end = std::min(count, first + kScanLimit);
  for (int64_t i = first; i < end; ++i) {
    const int64_t got = outer(inner(i));
    if (got == i) continue;
    throw LayoutError(concat(cause, "; CuTe gives tv = ", to_string(tv), ", and M(tv(", i, ")) = ", got),
                      CounterExample(i, got, i));
  }
  if (end < count) not_compared(cause, end, count);
}

}  // namespace

TvLayout make_layout_tv(LayoutView threads, LayoutView values) {
  const Layout tile = below([&] { return raked_product(threads, values); }, step::kPlacesOfValues, threads, values);
  TupleBuilder domain;
  domain.open();
  domain.leaf(size(threads));
  domain.leaf(size(values));
  domain.close();
  IntTuple extents = product_each(tile.shape());
  note(step::kTile, extents);
  const Layout inverse = below([&] { return right_inverse(tile); }, step::kBackwards, tile);
  const Layout grid = make_layout(domain.take());
  Layout tv = below([&] { return composition(inverse, grid); }, step::kAsThreadsValues, inverse, grid);
  if (checks_enabled()) verify_tv(tile, inverse, tv);
  return {std::move(extents), std::move(tv)};
}

namespace {

struct Replication {
  Layout block;
  IntTuple copies;
};

Replication replicate(LayoutView block, TupleView shape) {
  if (block.rank() > shape.rank()) {
    fail(concat("the layout ", to_string(block), " has ", counted(block.rank(), "mode"), ", the target shape ",
                to_string(shape), " only ", shape.rank()));
  }
  const int64_t rank = shape.rank();
  Layout padded = block.is_leaf() && rank == 1 ? concatenate({Layout(block)}) : append_to_rank(block, rank, unit());
  const IntTuple extents = product_each(padded.shape());
  const IntTuple target = product_each(shape);
  const bool known = all_static(extents) && all_static(target);
  if ((known || checks_enabled()) && !evenly_divides(target, extents)) {
    fail(concat("the block shape ", to_string(extents), " does not divide the target shape ", to_string(target)));
  }
  return {std::move(padded), ceil_div(target, extents)};
}

}  // namespace

Layout tile_to_shape(LayoutView block, TupleView shape, TupleView order) {
  const Replication copies = replicate(block, shape);
  return blocked_product(copies.block, make_ordered_layout(copies.copies, order));
}

Layout tile_to_shape_ordered(LayoutView block, TupleView shape, Major major) {
  const Replication copies = replicate(block, shape);
  const IntTuple stride = compact(copies.copies, IntTuple(static_int(1)), major);
  return blocked_product(copies.block, Layout(copies.copies, stride));
}

}  // namespace tilewright
