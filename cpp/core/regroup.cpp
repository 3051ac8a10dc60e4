#include "regroup.hpp"

#include "steps.hpp"

namespace tilewright {

namespace {

struct Split {
  Layout tile;
  Layout rest;
};

Split split(LayoutView divided, const Tiler& tiler) {
  if (tiler.kind() != Tiler::Kind::kModes) {
    if (divided.rank() != 2) {
      note(step::kNoPair, divided);
      fail(concat("the tiler ", tiler.text(), " leaves the mode ", to_string(divided),
                  " as it is, but regrouping needs a (tile, rest) pair: give that mode a tiler"));
    }
    return {Layout(divided.mode(0)), Layout(divided.mode(1))};
  }
  LayoutBuilder tiles, rests;
  tiles.open();
  rests.open();
  const auto count = static_cast<int64_t>(tiler.modes().size());
  for (int64_t i = 0; i < divided.rank(); ++i) {
    if (i < count) {
      const Split part = in_mode(i, [&] { return split(divided.mode(i), tiler.modes()[static_cast<std::size_t>(i)]); });
      tiles.copy(part.tile);
      rests.copy(part.rest);
    } else {
      rests.copy(divided.mode(i));
    }
  }
  tiles.close();
  rests.close();
  return {tiles.take(), rests.take()};
}

}  // namespace

Layout unzip_tiles(LayoutView divided, const Tiler& tiler) {
  note(step::kLogical, divided);
  const Split parts = split(divided, tiler);
  Layout result = pair(parts.tile, parts.rest);
  note(step::kZipped, result);
  return result;
}

Layout splice(LayoutView pair, std::array<bool, 2> open) {
  LayoutBuilder builder;
  builder.open();
  for (int64_t k = 0; k < 2; ++k) {
    const LayoutView part = pair.mode(k);
    if (open[static_cast<std::size_t>(k)] && part.rank() > 1) {
      for_each_mode(part, [&](LayoutView mode) { builder.copy(mode); });
    } else if (!(open[static_cast<std::size_t>(k)] && part.rank() == 0)) {
      builder.copy(part);
    }
  }
  builder.close();
  Layout result = builder.take();
  note(open[0] ? step::kFlat : step::kTiled, result);
  return result;
}

}  // namespace tilewright
