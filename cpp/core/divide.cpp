#include <algorithm>
#include <vector>

#include "algebra.hpp"
#include "codomain.hpp"
#include "decide.hpp"
#include "regroup.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// The strides of T, read off, continue one another from 1 up to n, so that T reaches all of [0, n).
int64_t chain_end(LayoutView tiling) {
  Modes modes;
  for_each_leaf(tiling, [&](const Node& extent, const Node& stride) {
    if (extent.value != 1 && stride.value != 0) modes.push_back({extent, stride});
  });
  int64_t end = 1;
  while (!modes.empty()) {
    std::size_t next = modes.size();
    for (std::size_t i = 0; i < modes.size(); ++i) {
      if (modes[i].stride.value == end) next = i;
    }
    if (next == modes.size()) break;
    end = checked_mul(end, modes[next].extent.value);
    modes.erase(next);
  }
  return end;
}

// Whether the strides prove that every coordinate of A is in a tile: each mode of A that a basis element names is
// filled, and together they are all of A.
bool covers(LayoutView a, LayoutView tiling) {
  const int64_t domain = size(a).value;
  if (!has_basis(tiling.stride)) return chain_end(tiling) >= domain;
  int64_t covered = 1;
  for (const BasisId basis : bases_of(tiling)) {
    Modes modes = modes_of(tiling);
    for (Mode& mode : modes) {
      mode.stride = mode.stride.basis() == basis ? without_basis(mode.stride) : static_int(0);
    }
    const int64_t extent = size(at_path(a, basis)).value;
    if (chain_end(from_modes(modes)) < extent) return false;
    covered = checked_mul(covered, extent);
  }
  return covered == domain;
}

// Where (B, B*) lies in A: one part for each basis element of its strides, which names a mode of A.
class Tiling {
 public:
  Tiling(LayoutView a, LayoutView tiling) {
    for (const BasisId basis : bases_of(tiling)) {
      parts_.push_back({along(tiling, basis), size(at_path(a, basis)).value, step_of(a, basis)});
    }
  }

  // The 1-D coordinate in A, -1 outside of A.
  int64_t operator()(int64_t i) const {
    int64_t coordinate = 0;
    for (const Part& part : parts_) {
      const int64_t t = part.function(i);
      if (t < 0 || t >= part.extent) return -1;
      coordinate += t * part.step;
    }
    return coordinate;
  }

 private:
  struct Part {
    FlatFunction function;
    int64_t extent;
    int64_t step;
  };

  // The size of what comes before a mode of A.
  static int64_t step_of(LayoutView a, BasisId basis) {
    int64_t step = 1;
    if (basis == 0) return step;
    const BasisPath& path = basis_path(basis);
    for (auto mode = path.rbegin(); mode != path.rend(); ++mode) {
      for (int64_t i = 0; i < *mode; ++i) step = checked_mul(step, size(a.mode(i)).value);
      a = a.mode(*mode);
    }
    return step;
  }

  std::vector<Part> parts_;
};

void verify_divide(LayoutView a, LayoutView tiling, const Composed& composed) {
  if (composed.proved() && covers(a, tiling)) return;
  Trace* const trace = Trace::current();
  const Trace::Silence silence;
  const Tiling place(a, tiling);
  const int64_t domain = size(a).value;
  const std::string cause =
      composed.proved() ? "the tiles do not fit into the layout" : composed.cause.text(tiling.shape);
  const int64_t count = size(tiling).value, found = size(composed.layout).value;
  auto given = [&](int64_t i) { return values_text(crd2idx(IntTuple(static_int(i)), LayoutView(composed.layout))); };
  auto demanded = [&](int64_t t) { return values_text(crd2idx(IntTuple(static_int(t)), a)); };
  if (found != count) {
    // The first coordinate that only one of the two has.
    const int64_t i = std::min(found, count);
    const int64_t t = place(i);
    throw LayoutError(concat(cause, "; CuTe gives ", to_string(composed.layout), " of size ", found,
                             ", but (B, B*) has size ", count),
                      CounterExample(i, found < count ? "_" : given(i), found < count && t >= 0 ? demanded(t) : "_"));
  }
  if (count > kScanLimit || domain > kScanLimit) {
    fail(concat(cause, "; the result could not be proved and is too large to compare coordinate by coordinate (size ",
                count, ", limit ", kScanLimit, "): use unchecked() to take CuTe's answer"));
  }
  std::vector<bool> seen(static_cast<std::size_t>(domain), false);
  std::vector<std::pair<FlatFunction, FlatFunction>> components;
  for (const BasisId basis : bases_of(a)) components.emplace_back(along(a, basis), along(composed.layout, basis));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = place(i);
    if (t < 0) continue;
    seen[static_cast<std::size_t>(t)] = true;
    for (const auto& [whole, part] : components) {
      if (part(i) == whole(t)) continue;
      const CounterExample example(i, given(i), demanded(t));
      throw LayoutError(concat(cause, "; at coordinate ", i, " CuTe gives ", example.got, ", but A((B,B*)(", i,
                               ")) = A(", t, ") = ", example.expected),
                        example);
    }
  }
  for (int64_t t = 0; t < domain; ++t) {
    if (!seen[static_cast<std::size_t>(t)]) {
      throw LayoutError(concat("the division loses elements: coordinate ", t, " of the layout is in no tile of ",
                               to_string(composed.layout), " (size ", count, ", the layout has ", domain, ")"),
                        CounterExample(t, "_", demanded(t)));
    }
  }
  if (trace != nullptr) trace->add(step::kCompared, {"R(i) = A((B, B*)(i)), where that lies in A,", count});
}

// CuTe's answer where it is right inside of A, else A o (B, B*) where that is a layout.
Layout compose_tiling(LayoutView a, LayoutView tiling) {
  if (!checks_enabled()) return compose(a, tiling).layout;
  std::optional<Composed> cute;
  std::optional<LayoutError> refusal;
  try {
    cute = below([&] { return compose(a, tiling); }, step::kCall, "composition", a, tiling);
    verify_divide(a, tiling, *cute);
    return std::move(cute->layout);
  } catch (const LayoutError& error) {
    refusal = error;
  }
  try {
    Decided decided = [&] {
      const Trace::Silence silence;
      return decide(a, tiling, cute ? &*cute : nullptr, [&] { return std::string(refusal->what()); });
    }();
    if (auto* const whole = std::get_if<Layout>(&decided)) {
      note(step::kFound, *whole);
      verify_divide(a, tiling, {*whole, {}});
      return std::move(*whole);
    }
  } catch (const LayoutError&) {  // the first one says more
  }
  throw *refusal;
}

Layout divide_by_layout(LayoutView a, const Layout& tiler) {
  // Basis strides name the modes of A, which coalescing would merge.
  const bool by_mode = has_basis(tiler.stride());
  const IntTuple cotarget = by_mode ? IntTuple(a.shape) : from_modes(coalesced(modes_of(a), LastExtent::kDrop)).shape();
  note(step::kDivide, cotarget, by_mode ? "A" : "coalesce(A)");
  const Layout rest =
      below([&] { return complement(tiler, cotarget, Reach::kAny); }, step::kCall, "complement", tiler, cotarget);
  const Layout tiling = pair(tiler, rest);
  note(step::kTiling, rest, tiling);
  return in_context([&] { return concat("(B, B*) = ", to_string(tiling)); }, [&] { return compose_tiling(a, tiling); });
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
