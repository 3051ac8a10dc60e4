#include <vector>

#include "algebra.hpp"
#include "modes.hpp"
#include "regroup.hpp"

namespace tilewright {

namespace {

// n where the strides of T, read off, continue one another from 1 up to n, so that T reaches exactly [0, n); else -1.
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
    if (next == modes.size()) return -1;
    end = checked_mul(end, modes[next].extent.value);
    modes.erase(next);
  }
  return end;
}

void verify_divide(LayoutView a, LayoutView tiling, const Composed& composed) {
  const int64_t domain = size(a).value;
  if (composed.proved && chain_end(tiling) >= domain) return;
  const std::string cause = composed.cause.empty() ? "the tiles do not fit into the layout" : composed.cause;
  const int64_t count = size(tiling).value;
  if (size(composed.layout).value != count) {
    fail(concat(cause, "; CuTe gives ", to_string(composed.layout), " of size ", size(composed.layout).value,
                ", but (B, B*) has size ", count));
  }
  if (count > kScanLimit || domain > kScanLimit) {
    fail(concat(cause, "; the result could not be proved and is too large to compare coordinate by coordinate (size ",
                count, ", limit ", kScanLimit, "): use unchecked() to take CuTe's answer"));
  }
  const FlatFunction inner(modes_of(tiling));
  std::vector<bool> seen(static_cast<std::size_t>(domain), false);
  // With basis strides the components are compared one by one; plain strides are the one component 0.
  std::vector<std::pair<FlatFunction, FlatFunction>> components;
  SmallVector<BasisId, 4> bases;
  for_each_leaf(a, [&](const Node&, const Node& stride) {
    for (const BasisId known : bases) {
      if (known == stride.basis()) return;
    }
    bases.push_back(stride.basis());
  });
  for (const BasisId basis : bases) {
    auto component = [basis](LayoutView layout) {
      Modes modes = modes_of(layout);
      for (Mode& mode : modes) {
        if (mode.stride.basis() != basis) mode.stride = static_int(0);
      }
      return FlatFunction(modes);
    };
    components.emplace_back(component(a), component(composed.layout));
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t t = inner(i);
    if (t < 0 || t >= domain) continue;
    seen[static_cast<std::size_t>(t)] = true;
    for (const auto& [whole, part] : components) {
      if (part(i) == whole(t)) continue;
      const CounterExample example(i, values_text(crd2idx(IntTuple(static_int(i)), LayoutView(composed.layout))),
                                   values_text(crd2idx(IntTuple(static_int(t)), a)));
      throw LayoutError(concat(cause, "; at coordinate ", i, " CuTe gives ", example.got, ", but A((B,B*)(", i,
                               ")) = A(", t, ") = ", example.expected),
                        example);
    }
  }
  for (int64_t t = 0; t < domain; ++t) {
    if (!seen[static_cast<std::size_t>(t)]) {
      throw LayoutError(concat("the division loses elements: coordinate ", t, " of the layout is in no tile of ",
                               to_string(composed.layout), " (size ", count, ", the layout has ", domain, ")"),
                        CounterExample(t, "_", values_text(crd2idx(IntTuple(static_int(t)), a))));
    }
  }
}

Layout divide_by_layout(LayoutView a, const Layout& tiler) {
  const Layout rest = complement(tiler, coalesce(a).shape());
  const Layout tiling = pair(tiler, rest);
  return in_context([&] { return concat("(B, B*) = ", to_string(tiling)); },
                    [&] {
                      Composed composed = compose(a, tiling);
                      if (checks_enabled()) verify_divide(a, tiling, composed);
                      return std::move(composed.layout);
                    });
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
      builder.copy(in_mode(i, [&] { return logical_divide(layout.mode(i), modes[static_cast<std::size_t>(i)]); }));
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
