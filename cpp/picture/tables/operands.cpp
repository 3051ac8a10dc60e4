#include "operands.hpp"

#include <algorithm>

#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

constexpr double kPage = 1300.0, kWide = 7.3;  // pixels, of a page and of a letter
constexpr int64_t kShort = 8;                  // letters of the texts of so many cells

// Some modes of a shape: one alone is itself.
IntTuple side(TupleView shape, int64_t begin, int64_t end) {
  if (end - begin == 1) return IntTuple(shape.mode(begin));
  TupleBuilder builder;
  builder.open();
  for (int64_t i = begin; i < end; ++i) builder.copy(shape.mode(i));
  builder.close();
  return builder.take();
}

Grids grids_for(TupleView shape, int64_t most, int64_t down) {
  if (shape.is_leaf() || shape.rank() == 1) return grids_of(shape, most);
  down = std::min(down, shape.rank() - 1);
  TupleBuilder sides;
  sides.open();
  sides.copy(side(shape, 0, down));
  sides.copy(side(shape, down, shape.rank()));
  sides.close();
  return grids_of(sides.take(), most);
}

}  // namespace

IntTuple one_mode(TupleView shape) {
  TupleBuilder builder;
  builder.open();
  builder.copy(shape);
  builder.close();
  return builder.take();
}

Operand::Operand(AnyLayout layout)
    : function_(Values(std::move(layout))),
      text_(text_of(std::get<Values>(function_).layout())),
      shape_(static_shape(shape_of(std::get<Values>(function_).layout()))) {}

Operand::Operand(const Swizzle& swizzle, int64_t size)
    : function_(swizzle), text_(to_string(swizzle)), shape_(static_int(size)) {}

IntTuple Operand::at(int64_t index) const {
  if (const auto* swizzle = std::get_if<Swizzle>(&function_)) return IntTuple(static_int((*swizzle)(index)));
  const auto& values = std::get<Values>(function_);
  if (const auto i = static_cast<std::size_t>(index); index >= 0 && i < values.known().size()) {
    return IntTuple(static_int(values.known()[i]));
  }
  const IntTuple at{static_int(index)};
  const auto* composed = std::get_if<ComposedLayout>(&values.layout());
  return composed ? (*composed)(at) : crd2idx(at, LayoutView(std::get<Layout>(values.layout())));
}

std::string Operand::text_at(int64_t index) const {
  if (const auto* values = std::get_if<Values>(&function_)) {
    const auto i = static_cast<std::size_t>(index);
    if (index >= 0 && i < values->known().size()) return std::to_string(values->known()[i]);
  }
  const IntTuple found = at(index);
  if (found.is_leaf() && !found.leaf().has_basis()) return std::to_string(known(found.leaf()));
  return to_string(found.view());
}

int64_t Operand::index_in(TupleView shape, int64_t index) const {
  const IntTuple found = at(index);
  return found.is_leaf() ? known(found.leaf()) : crd2idx(found, shape).value;
}

Table::Table(TupleView shape, int64_t most, int64_t down) : shape_(static_shape(shape)) {
  Grids found = grids_for(shape_, most, down);
  grid_ = std::move(found.grids[0]);
  notes_ = std::move(found.notes);
}

std::optional<Place> Table::place(int64_t index, int64_t panel) const {
  const auto at = grid_.place(index);
  if (!at) return std::nullopt;
  return Place{panel, at->first, at->second};
}

std::string Table::coordinate(int64_t index) const {
  return shape_.is_leaf() ? std::to_string(index) : coordinate_text(index, shape_);
}

Panel Table::offsets(const std::string& title, const std::string& subtitle, const Operand& operand,
                     const Looks& looks) const {
  Panel panel = grid_.panel(title, subtitle);
  std::vector<Spot> spots = grid_.spots();
  const bool named = grid_.shape == shape_;  // else the spots' names are not those of this shape
  panel.cells.reserve(spots.size());
  for (Spot& spot : spots) {
    const std::size_t i = panel.cells.size();
    Cell& cell = panel.cells.emplace_back();
    cell.row = spot.row, cell.column = spot.column;
    cell.lines.push_back(operand.text_at(spot.index));
    cell.owner = looks.owners[i];
    cell.hover.reserve(looks.more.empty() ? 2 : 2 + looks.more[i].size());
    cell.hover.emplace_back("coordinate", named ? std::move(spot.name) : coordinate(spot.index));
    cell.hover.emplace_back("offset", cell.lines[0]);
    cell.faded = !looks.faded.empty() && looks.faded[i];
    cell.marked = std::find(looks.marked.begin(), looks.marked.end(), spot.index) != looks.marked.end();
    if (looks.picked) cell.pick = spot.index;
    if (!looks.more.empty()) cell.hover.insert(cell.hover.end(), looks.more[i].begin(), looks.more[i].end());
  }
  return panel;
}

void Table::add_notes(std::vector<std::string>& notes, const std::string& what) const {
  for (const std::string& note : notes_) notes.push_back(what + ": " + note);
}

int64_t room_for(const std::vector<const Operand*>& operands) {
  const bool all_short = std::all_of(operands.begin(), operands.end(), [](const Operand* operand) {
    return length(operand->text_at(operand->size() - 1)) <= kShort;
  });
  return all_short ? kRoom : kHovered;
}

std::vector<Table> tables_of(const std::vector<IntTuple>& shapes, int64_t most, int64_t room,
                             const std::vector<int64_t>& downs) {
  const auto made = [&](int64_t at_most) {
    std::vector<Table> tables;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      tables.emplace_back(shapes[i], at_most, i < downs.size() ? downs[i] : 1);
    }
    return tables;
  };
  std::vector<Table> found = made(kMost);
  int64_t cells = 0;
  bool cut = false;
  for (const Table& table : found) {
    cells += static_cast<int64_t>(table.cells());
    cut = cut || table.is_cut();
  }
  return cells <= kHovered || (cells <= room && !cut) ? found : made(most);
}

int64_t index_followed(const std::string& operation, const Table& table, const IntTuple& at) {
  const int64_t index = crd2idx(at, table.shape()).value;
  if (index >= 0 && index < product(table.shape()).value) return index;
  throw OptionError(concat("at=", to_string(at.view()), " lies outside the shape ", to_string(table.shape().view()),
                           " of ", operation, "'s result"));
}

std::vector<Owner> leaves_of(TupleView shape, const std::vector<int64_t>& indices) {
  Extents inner = extents(static_shape(shape));
  inner.pop_back();
  const int64_t step = product_of(inner);
  std::vector<Owner> found;
  for (const int64_t index : indices) found.emplace_back(index / step);
  return found;
}

Panel operand_panel(const std::string& name, const Operand& operand, const std::string& subtitle,
                    const std::vector<int64_t>& marked) {
  const Table table(operand.shape(), kMost);
  std::string says = subtitle;
  for (const std::string& note : table.notes()) says += (says.empty() ? "" : "; ") + note;
  return operand_panel(table, name, operand, says, marked);
}

Panel operand_panel(const Table& table, const std::string& name, const Operand& operand, const std::string& subtitle,
                    const std::vector<int64_t>& marked) {
  const Looks looks{leaves_of(operand.shape(), table.drawn()), marked};
  return table.offsets(name + " = " + operand.text(), subtitle, operand, looks);
}

void add_link(Picture& picture, const std::optional<Place>& start, const std::optional<Place>& end,
              const std::string& text) {
  if (start && end) picture.links.push_back({*start, *end, text});
}

std::vector<Placed> arranged(std::vector<Panel> panels) {
  double width = 0;
  for (const Panel& panel : panels) {
    int64_t letters = -1;
    for (const Cell& cell : panel.cells) {
      for (const std::string& line : cell.lines) letters = std::max(letters, length(line));
    }
    const double cell = std::max(static_cast<double>(letters < 0 ? 1 : letters) * kWide + 10, 28.0);
    width += std::max(static_cast<double>(panel.columns) * cell + 40, static_cast<double>(length(panel.title)) * kWide);
  }
  std::vector<Placed> found;
  for (Panel& panel : panels) {
    const auto i = static_cast<int64_t>(found.size());
    found.push_back({width <= kPage ? 0 : i, width <= kPage ? i : 0, std::move(panel)});
  }
  return found;
}

}  // namespace tilewright::picture
