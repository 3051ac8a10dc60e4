// Tiled copies and multiplications, whose atoms the page has from Python.
#include <algorithm>

#include "picture/subjects/matrices.hpp"
#include "subjects.hpp"

namespace tilewright::page {

namespace {

using picture::Owners;
using picture::Pair;

int64_t extent_of(TupleView shape, int64_t mode) { return product(shape.mode(mode)).value; }

// (thread, value) of each element of an instruction, in order.
Owners elements_of(const Layout& tv) { return picture::owners_of(tv, IntTuple(static_int(cosize(tv).value))); }

constexpr std::size_t kModes[3][3] = {{0, 2, 1}, {1, 2, 0}, {0, 1, 2}};  // of A, B and C; the last is the one they lack

struct Tiled {
  std::array<int64_t, 3> atom, count, tile;
  Layout atoms;
  int64_t threads;  // of an atom
};

// By m + rows * k: the threads and values that have an element of an operand in the tile.
Owners tiled_owners(const Tiled& x, const Layout& tv, const std::size_t (&modes)[3]) {
  const auto [first, second, other] = modes;
  const Owners held = elements_of(tv);
  const int64_t values = extent_of(tv.shape(), 1), rows = x.atom[first];
  const int64_t repeats = x.tile[first] / (rows * x.count[first]);
  Owners found;
  for (int64_t i = 0; i < x.tile[first]; ++i) {
    for (int64_t j = 0; j < x.tile[second]; ++j) {
      const auto known = held.find(i % rows + rows * (j % x.atom[second]));
      if (known == held.end()) continue;
      const int64_t down = i / rows, across = j / x.atom[second];
      const int64_t repeat = down / x.count[first] + repeats * (across / x.count[second]);
      std::vector<Pair>& pairs = found[i + x.tile[first] * j];
      for (int64_t o = 0; o < x.count[other]; ++o) {
        std::array<int64_t, 3> at{};
        at[first] = down % x.count[first], at[second] = across % x.count[second], at[other] = o;
        const IntTuple index{static_int(at[0] + x.count[0] * (at[1] + x.count[1] * at[2]))};
        const int64_t group = crd2idx(index, LayoutView(x.atoms)).leaf().value;
        for (const Pair& pair : known->second) {
          pairs.push_back({pair.thread + x.threads * group, pair.value + values * repeat});
        }
      }
      std::sort(pairs.begin(), pairs.end());
    }
  }
  return found;
}

std::array<int64_t, 3> three(TupleView shape) {
  std::array<int64_t, 3> found{1, 1, 1};
  for (int64_t i = 0; i < 3 && i < (shape.is_leaf() ? 1 : shape.rank()); ++i) {
    found[static_cast<std::size_t>(i)] = product(shape.is_leaf() ? shape : shape.mode(i)).value;
  }
  return found;
}

}  // namespace

Owners readers_of(const Owners& writers, const Layout& source, const Layout& destination) {
  const Owners reads = elements_of(source);
  std::map<Pair, int64_t> element_of;
  for (const auto& [element, pairs] : elements_of(destination)) {
    for (const Pair& pair : pairs) element_of[pair] = element;
  }
  const int64_t threads = extent_of(destination.shape(), 0), values = extent_of(destination.shape(), 1);
  const int64_t each = extent_of(source.shape(), 1);
  Owners found;
  for (const auto& [index, pairs] : writers) {
    std::vector<Pair>& readers = found[index];
    for (const auto& [thread, value] : pairs) {
      const int64_t warp = thread / threads * threads, step = value / values * each;
      for (const Pair& pair : reads.at(element_of.at({thread % threads, value % values}))) {
        readers.push_back({warp + pair.thread, step + pair.value});
      }
    }
    std::sort(readers.begin(), readers.end());
  }
  return found;
}

picture::Picture copy_drawn(Request& request) {
  const AnyLayout tv = any_layout_of(request.value("layout"));
  const IntTuple tile = tuple_of(request.value("tile"));
  const std::string title = request.text("title", "");
  const auto only = request.number("focus");
  Owners writers = picture::owners_of(tv, tile);
  std::vector<picture::Side> sides;
  if (request.find("source") != nullptr) {
    const Layout source = layout_of(request.value("source")), destination = layout_of(request.value("destination"));
    sides.push_back({"source", readers_of(writers, source, destination)});
    sides.push_back({"destination", std::move(writers)});
  } else {
    sides.push_back({"source and destination", std::move(writers)});
  }
  request.all_read();
  return picture::copy_picture(title, tile, sides, only);
}

picture::Picture mma_drawn(Request& request) {
  const Value atoms = request.value("atoms");
  const auto* layout = std::get_if<Layout>(&atoms.variant());
  Tiled x{three(tuple_of(request.value("shape"))),
          {},
          three(tuple_of(request.value("tile"))),
          layout != nullptr ? *layout : make_layout(tuple_of(atoms)),
          request.number("threads", 1)};
  x.count = three(x.atoms.shape());
  std::vector<picture::Matrix> matrices;
  for (const char name : {'A', 'B', 'C'}) {
    const char field[] = {name, 0};
    if (request.find(field) == nullptr) {
      matrices.push_back(
          {name, "read from shared memory in matrices of 8 rows of 16 bytes", {}, 128 / request.number("bits", 16)});
    } else {
      const Layout tv = layout_of(request.value(field));
      matrices.push_back({name, "", tiled_owners(x, tv, kModes[name - 'A'])});
    }
  }
  const auto only = request.number("focus");
  const std::string title = request.text("title", "");
  request.all_read();
  const bool single = x.tile == x.atom;
  picture::Picture found =
      picture::matrices_picture(x.tile, matrices, {single ? std::nullopt : std::optional(x.atom), only});
  found.title = title;
  return found;
}

}  // namespace tilewright::page
