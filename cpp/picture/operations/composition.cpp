#include "composition.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tilewright::picture {

namespace {

constexpr int64_t kFollowed = int64_t{1} << 16;  // elements of B
constexpr int64_t kSide = 36;                    // rows and columns of each of three large panels
constexpr int64_t kPair = 44;                    // and of each of two

Operand operand_of(const Left& a, const AnyLayout& b) {
  if (const auto* swizzle = std::get_if<Swizzle>(&a)) {
    return {*swizzle, std::holds_alternative<Layout>(b) ? cosize(std::get<Layout>(b)).value : size_of(b)};
  }
  if (const auto* composed = std::get_if<ComposedLayout>(&a)) return Operand(*composed);
  return Operand(std::get<Layout>(a));
}

}  // namespace

Picture composition_picture(const Left& given, const AnyLayout& by, const AnyLayout& composed,
                            const std::optional<IntTuple>& at) {
  const Operand b(by), a = operand_of(given, by), result(composed);
  // One mode that became several stays on one line.
  const bool line = shape_of(by).rank() == 1 && result.shape().rank() > 1;
  std::vector<const Operand*> measured{&b, &a, &result};
  if (std::holds_alternative<Swizzle>(given)) measured.erase(measured.begin() + 1);
  std::vector<Table> tables =
      tables_of({b.shape(), a.shape(), line ? one_mode(result.shape()) : result.shape()}, kSide, room_for(measured));
  tables[2].rename(result.shape());
  const auto through = [&](int64_t index) { return b.index_in(a.shape(), index); };

  const int64_t start = followed("composition", tables[0], at, [&](int64_t index) {
    return tables[1].place(through(index), 1) && tables[2].place(index, 2);
  });
  const int64_t via = through(start);
  std::unordered_map<int64_t, int64_t> reached;  // of each index of A the first one of B
  for (int64_t i = 0; i < std::min(b.size(), kFollowed); ++i) reached.emplace(through(i), i);

  const int64_t first = product(shape_of(by).mode(0)).value;
  const auto colors = [&](const Table& table) {
    Looks looks{{}, {start}};
    looks.picked = true;
    for (const int64_t index : table.drawn()) looks.owners.emplace_back(index % first);
    return looks;
  };
  Looks of_a{{}, {via}};
  for (const int64_t index : tables[1].drawn()) {
    const auto origin = reached.find(index);
    of_a.owners.push_back(origin == reached.end() ? Owner() : Owner(origin->second % first));
    of_a.faded.push_back(origin == reached.end());
  }
  const std::array<std::string, 3> names = {"B = " + b.text(), "A = " + a.text(), "A o B = " + result.text()};
  Picture picture{concat("composition(", a.text(), ", ", b.text(), ") = ", result.text()), {}, {}, {}};
  picture.panels = arranged(tables[0].offsets(names[0], "a coordinate to an index of A", b, colors(tables[0])),
                            tables[1].offsets(names[1], "an index to an offset; pale: not reached", a, of_a),
                            tables[2].offsets(names[2], "a coordinate of B to an offset", result, colors(tables[2])));
  const std::string given_text = b.text_at(start), offset = result.text_at(start);
  const auto from = tables[0].place(start, 0), over = tables[1].place(via, 1), to = tables[2].place(start, 2);
  add_link(picture, from, over, given_text);
  add_link(picture, over, to, offset);
  const std::string coordinate = tables[0].coordinate(start);
  picture.notes.push_back(concat("at ", coordinate, ": B gives ", given_text, ", A(", given_text, ") = ", offset,
                                 ", and A o B at ", coordinate, " = ", offset));
  if (via >= a.size()) {
    picture.notes.push_back(
        concat("index ", given_text, " is past the ", a.size(), " elements of A, which goes on with its last stride"));
  }
  for (std::size_t i = 0; i < names.size(); ++i) tables[i].add_notes(picture.notes, names[i]);
  return picture;
}

Picture composition_by_mode_picture(const AnyLayout& given, const Tiler& tiler, const AnyLayout& composed) {
  const Operand a(given), result(composed);
  const std::vector<Table> tables = tables_of({a.shape(), result.shape()}, kPair, room_for({&a}));
  // Which index of A is taken, by the same operation on indices.
  const Layout taken = composition(make_layout(product_each(a.shape())), tiler);
  std::vector<int64_t> indices(static_cast<std::size_t>(std::min(size(taken).value, kFollowed)));
  std::iota(indices.begin(), indices.end(), 0);
  const std::vector<Owner> leaves = leaves_of(result.shape(), indices);
  const Operand of_taken{AnyLayout(taken)};
  std::unordered_map<int64_t, Owner> owners;
  for (const int64_t i : indices) owners[of_taken.index_in(a.shape(), i)] = leaves[static_cast<std::size_t>(i)];
  Looks looks{{}, {}};
  for (const int64_t index : tables[0].drawn()) {
    const auto owner = owners.find(index);
    looks.owners.push_back(owner == owners.end() ? Owner() : owner->second);
    looks.faded.push_back(owner == owners.end());
  }
  Picture picture{concat("composition(", a.text(), ", ", tiler.text(), ") = ", result.text()), {}, {}, {}};
  picture.panels = arranged(tables[0].offsets("A = " + a.text(), "pale: not taken", a, looks),
                            operand_panel(tables[1], "A o B", result, "mode by mode"));
  tables[0].add_notes(picture.notes, "A = " + a.text());
  tables[1].add_notes(picture.notes, "A o B = " + result.text());
  return picture;
}

Picture no_composition_picture(const Left& given, const AnyLayout& by, std::optional<int64_t> at) {
  const Operand b(by);
  std::vector<int64_t> marked, via;
  if (at) {
    marked = {*at};
    const IntTuple found = b.at(*at);
    if (found.is_leaf() && !found.leaf().has_basis()) via = {known(found.leaf())};
  }
  std::vector<Panel> panels{operand_panel("B", b, "a coordinate to an index of A", marked)};
  Picture picture;
  if (!std::holds_alternative<Swizzle>(given)) {
    const Operand a = operand_of(given, by);
    panels.push_back(operand_panel("A", a, "an index to an offset", via));
    if (!via.empty()) {
      add_link(picture, Table(b.shape(), kMost).place(*at, 0), Table(a.shape(), kMost).place(via[0], 1),
               std::to_string(via[0]));
    }
  }
  picture.panels = arranged(std::move(panels));
  return picture;
}

}  // namespace tilewright::picture
