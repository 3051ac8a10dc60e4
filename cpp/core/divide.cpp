#include <algorithm>
#include <numeric>
#include <optional>

#include "algebra.hpp"
#include "codomain.hpp"
#include "covering.hpp"
#include "decide.hpp"
#include "regroup.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// The least number that T, whose strides are not negative, does not reach.
int64_t first_missing(LayoutView tiling, BasisId basis) {
  Modes modes;
  for_each_leaf(tiling, [&](const Node& extent, const Node& stride) {
    if (extent.value > 1 && stride.value > 0 && stride.basis() == basis)
      modes.push_back({extent, without_basis(stride)});
  });
  std::sort(modes.begin(), modes.end(), [](const Mode& x, const Mode& y) { return x.stride.value < y.stride.value; });
  int64_t end = 1;
  for (const Mode& mode : modes) {
    if (mode.stride.value > end) break;  // the modes to come reach nothing below their strides
    end = checked_add(end, checked_mul(mode.extent.value - 1, mode.stride.value));
  }
  return end;
}

// The size of what comes before a mode of A.
int64_t step_of(LayoutView a, BasisId basis) {
  int64_t step = 1;
  if (basis == 0) return step;
  const BasisPath& path = basis_path(basis);
  for (auto mode = path.rbegin(); mode != path.rend(); ++mode) {
    for (int64_t i = 0; i < *mode; ++i) step = checked_mul(step, size(a.mode(i)).value);
    a = a.mode(*mode);
  }
  return step;
}

// The first coordinate of A that is in no tile.
std::optional<int64_t> first_lost(LayoutView a, LayoutView tiling) {
  const int64_t domain = size(a).value;
  std::optional<int64_t> lost;
  for (const BasisId basis : bases_of(tiling)) {
    const int64_t missing = first_missing(tiling, basis);
    if (missing >= size(at_path(a, basis)).value) continue;
    const int64_t coordinate = checked_mul(missing, step_of(a, basis));
    lost = std::min(lost.value_or(coordinate), coordinate);
  }
  return lost && *lost < domain ? lost : std::nullopt;
}

void require_all(LayoutView a, LayoutView tiling, const Layout& result) {
  const auto lost = first_lost(a, tiling);
  if (!lost) return;
  const Trace::Silence silence;
  throw LayoutError(concat("the division loses elements: coordinate ", *lost, " of the layout is in no tile of ",
                           to_string(result), " (size ", size(tiling).value, ", the layout has ", size(a).value, ")"),
                    CounterExample(*lost, "_", values_text(crd2idx(IntTuple(static_int(*lost)), a))));
}

// A o (B, B*): what a tile reaches beyond A does not matter, and no element of A is lost.
Layout compose_tiling(LayoutView a, LayoutView tiling) {
  return below(
      [&] {
        if (!checks_enabled()) return compose(a, tiling).layout;
        Layout result = decided(a, tiling, Where::kInside);
        require_all(a, tiling, result);
        return result;
      },
      step::kCall, "composition", a, tiling);
}

Layout divide_by(LayoutView a, const Layout& tiler) {
  // Basis strides name the modes of A, which coalescing would merge.
  const bool by_mode = has_basis(tiler.stride());
  const IntTuple cotarget = by_mode ? IntTuple(a.shape) : from_modes(coalesced(modes_of(a), LastExtent::kDrop)).shape();
  note(step::kDivide, cotarget, by_mode ? "A" : "coalesce(A)");
  const Layout rest = below([&] { return complement(tiler, cotarget); }, step::kCall, "complement", tiler, cotarget);
  const Layout tiling = pair(tiler, rest);
  note(step::kTiling, rest, tiling);
  return in_context([&] { return concat("(B, B*) = ", to_string(tiling)); }, [&] { return compose_tiling(a, tiling); });
}

// A tiler much like this one that divides A: with its strides spread out, or as a tile of other size.
std::string remedy_for(LayoutView a, const Layout& tiler) {
  const Trace::Silence silence;
  if (!all_static(tiler.shape()) || !all_static(tiler.stride()) || has_basis(tiler.stride())) return "";
  const auto divides = [&](const Layout& other) {
    return !(other == tiler) && attempted([&] { return divide_by(a, other); });
  };
  Modes modes = filtered(tiler);
  for (const Mode& mode : modes) {
    if (mode.stride.value <= 0) return "";
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& x, const Mode& y) { return x.stride.value < y.stride.value; });
  const Layout spread = from_modes(spread_out(modes));
  if (divides(spread)) return concat("; ", to_string(spread), " divides it");
  // Tiles of consecutive elements that end with a mode of A, or divide it.
  int64_t below = 1, above = 0, position = 1;
  const int64_t wanted = size(tiler).value;
  for (const Mode& mode : coalesced(modes_of(a), LastExtent::kDrop)) {
    const int64_t extent = mode.extent.value;
    if (position <= wanted) below = std::max(below, position * std::gcd(wanted / position, extent));
    position = checked_mul(position, extent);
    if (above == 0 && position > wanted) above = position;
  }
  std::string text;
  for (const int64_t count : {below, above}) {
    const Layout tile = Layout::leaf(static_int(count), static_int(1));
    if (count > 1 && divides(tile)) text += concat(text.empty() ? "; " : " and ", to_string(tile));
  }
  return text.empty() ? text : concat(text, text.find(" and ") == std::string::npos ? " divides it" : " divide it");
}

Layout divide_by_layout(LayoutView a, const Layout& tiler) {
  try {
    return divide_by(a, tiler);
  } catch (LayoutError& error) {
    if (checks_enabled()) error.add_remedy(remedy_for(a, tiler));
    throw;
  }
}

}  // namespace

Layout logical_divide(LayoutView layout, const Tiler& tiler) {
  if (tiler.kind() == Tiler::Kind::kNone) return Layout(layout);
  if (tiler.kind() != Tiler::Kind::kModes) return divide_by_layout(layout, tiler.as_layout());
  const auto& modes = tiler.modes();
  const auto count = static_cast<int64_t>(modes.size());
  if (count > layout.rank()) {
    fail(concat("Too many modes in tiler: the tiler ", tiler.text(), " has ", count, " modes, the layout ",
                to_string(layout), " has ", layout.rank()));
  }
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; i < layout.rank(); ++i) {
    if (i < count) {
      const Tiler& part = modes[static_cast<std::size_t>(i)];
      const LayoutView mode = layout.mode(i);
      builder.copy(on_mode(i, [&] { return logical_divide(mode, part); }, step::kModeWith, mode, "divided by", part));
    } else {
      builder.copy(layout.mode(i));
    }
  }
  builder.close();
  return builder.take();
}

Layout zipped_divide(LayoutView layout, const Tiler& tiler) {
  return unzip_tiles(logical_divide(layout, tiler), tiler);
}
Layout tiled_divide(LayoutView layout, const Tiler& tiler) {
  return splice(zipped_divide(layout, tiler), {false, true});
}
Layout flat_divide(LayoutView layout, const Tiler& tiler) { return splice(zipped_divide(layout, tiler), {true, true}); }

}  // namespace tilewright
