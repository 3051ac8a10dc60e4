#include "axes.hpp"

#include <algorithm>

#include "core/layout.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kEnding = 8;  // rows or columns at the end of what is cut

bool inside(TupleView coordinate, TupleView shape) {
  if (coordinate.is_leaf()) return 0 <= known(*coordinate) && coordinate->value < product(shape).value;
  for (int64_t i = 0; i < std::min(coordinate.rank(), shape.rank()); ++i) {
    if (!inside(coordinate.mode(i), shape.mode(i))) return false;
  }
  return true;
}

}  // namespace

Shown shown_of(int64_t extent, int64_t most) {
  if (most < 2 || most > kLargest) {
    throw OptionError(
        concat("most must be a whole number of rows and columns, at least 2 and at most ", kLargest, ", not ", most));
  }
  const int64_t last = extent <= most ? 0 : std::min(kEnding, most / 4);
  Shown shown;
  for (int64_t i = 0; i < (extent <= most ? extent : most - last - 1); ++i) shown.emplace_back(i);
  if (extent <= most) return shown;
  shown.emplace_back();
  for (int64_t i = extent - last; i < extent; ++i) shown.emplace_back(i);
  return shown;
}

bool is_cut(const Shown& shown) { return std::find(shown.begin(), shown.end(), std::nullopt) != shown.end(); }

std::string cut_note(const std::string& what, int64_t rows, int64_t columns, int64_t most) {
  if (rows <= most && columns <= most) return "";
  const auto drawn = [&](int64_t extent) { return extent <= most ? extent : most - 1; };
  return concat(what, " has ", rows, " x ", columns, " elements, of which ", drawn(rows), " x ", drawn(columns),
                " are drawn: the first ones and the last");
}

Extents extents(TupleView shape) {
  Extents found;
  for_each_leaf(shape, [&](const Node& leaf) {
    if (known(leaf) != 1) found.push_back(leaf.value);
  });
  if (found.empty()) found.push_back(1);
  return found;
}

int64_t product_of(const Extents& extents) {
  int64_t found = 1;
  for (const int64_t extent : extents) found = checked_mul(found, extent);
  return found;
}

Extents digits(int64_t index, const Extents& leaves) {
  Extents found;
  for (std::size_t i = 0; i + 1 < leaves.size(); ++i) {
    found.push_back(index % leaves[i]);
    index /= leaves[i];
  }
  found.push_back(index);
  return found;
}

Axis axis_of(const Extents& leaves, const Shown& shown, const std::string& prefix) {
  Axis axis;
  for (std::size_t leaf = leaves.size(); leaf-- > 0;) {
    int64_t step = 1;
    for (std::size_t i = 0; i < leaf; ++i) step *= leaves[i];
    Level level;
    std::optional<int64_t> before;  // the coordinate in this leaf and those further out, as a number
    for (const std::optional<int64_t>& i : shown) {
      const std::optional<int64_t> here = i ? std::optional(*i / step) : std::nullopt;
      if (here && here == before && leaf != 0) {
        ++level.back().span;
      } else {
        level.push_back(
            {here ? prefix + std::to_string(leaf + 1 < leaves.size() ? *here % leaves[leaf] : *here) : kElision});
      }
      before = here;
    }
    axis.push_back(std::move(level));
  }
  return axis;
}

std::vector<Rule> rules_of(const Extents& leaves, const Shown& shown) {
  std::vector<Rule> found;
  for (std::size_t n = 1; n < shown.size(); ++n) {
    if (!shown[n - 1] || !shown[n]) continue;
    const Extents a = digits(*shown[n - 1], leaves), b = digits(*shown[n], leaves);
    std::size_t changed = a.size() - 1;
    while (changed > 0 && a[changed] == b[changed]) --changed;
    if (changed > 0) found.push_back({static_cast<int64_t>(n), std::min<int64_t>(static_cast<int64_t>(changed), 3)});
  }
  return found;
}

std::vector<Rule> ends(int64_t extent, const Shown& shown) {
  std::vector<Rule> found;
  for (std::size_t n = 1; n < shown.size(); ++n) {
    const auto& before = shown[n - 1];
    if (before && (*before + 1) % extent == 0) found.push_back({static_cast<int64_t>(n), 2});
  }
  return found;
}

IntTuple static_shape(TupleView shape) {
  return map_leaves(shape, [](const Node& leaf) { return static_int(known(leaf)); });
}

int64_t index_of(TupleView at, TupleView shape) {
  const auto index = [&] {
    try {
      return known(crd2idx(at, shape));
    } catch (const LayoutError& error) {
      fail(concat("crd2idx(", to_string(at), ", ", to_string(shape), "): ", error.what()));
    }
  }();
  if (!inside(at, shape)) {
    throw OptionError(concat("at=", to_string(at), " lies outside the shape ", to_string(shape)));
  }
  return index;
}

std::string coordinate_text(int64_t index, TupleView shape) {
  return to_string(idx2crd(IntTuple(static_int(index)), shape).view());
}

}  // namespace tilewright::picture
