#include "layouts.hpp"

#include <algorithm>

namespace tilewright::picture {

namespace {

constexpr int64_t kPerLine = 4;  // panels
constexpr int64_t kColors = 16;  // of offsets: a power of two, so that the colours repeat with strides that are one

int64_t remainder(int64_t a, int64_t b) { return (a % b + b) % b; }

// The mode of a path, for its coordinate to be the colour.
TupleView mode_of(const Color& color, TupleView shape) {
  TupleView mode = shape;
  for (std::size_t i = 0; i < color.path.size(); ++i) {
    // A shape of one mode that is no tuple is its own mode 0.
    const int64_t modes = i == 0 && mode.is_leaf() ? 1 : mode.is_leaf() ? 0 : mode.rank();
    if (color.path[i] < 0 || color.path[i] >= modes) {
      throw OptionError(concat("color=", color.text, " names no mode of ",
                               shape.is_leaf() ? concat("(", to_string(shape), ")") : to_string(shape)));
    }
    mode = mode.mode(color.path[i]);
  }
  return mode;
}

// The coordinate of an index in a mode.
int64_t in_mode(const Color& color, TupleView shape, TupleView mode, int64_t index) {
  IntTuple at = idx2crd(IntTuple(static_int(index)), shape);
  TupleView inside = at;
  for (const int64_t i : color.path) inside = inside.mode(i);
  return crd2idx(inside, mode).value;
}

}  // namespace

Panel layout_panel(const Values& values, const Grid& grid, const std::string& title, const std::string& subtitle,
                   const Style& style) {
  const Color& color = style.color;
  if (color.kind == Color::kBank && (!style.memory || style.memory->assumed)) {
    throw OptionError("color='bank' needs the size of an element: dtype=Float16, for example");
  }
  const TupleView mode = color.kind == Color::kMode ? mode_of(color, grid.shape) : grid.shape.view();
  Panel panel = grid.panel(title, subtitle);
  panel.modes = grid.modes();
  std::set<int64_t> owners;
  std::vector<Spot> spots = grid.spots();
  // Of a layout with one plain mode the coordinate is the index.
  const bool indexed = !grid.flat() || (!spots.empty() && spots[0].name.find('(') != std::string::npos);
  panel.cells.reserve(spots.size());
  for (Spot& spot : spots) {
    const Offset offset = values.at(spot.index);
    Cell cell{spot.row,  spot.column, {offset.text}, {}, {}, false, style.mark && style.mark->index == spot.index,
              spot.index};
    cell.hover.reserve(6);
    cell.hover.emplace_back("coordinate", std::move(spot.name));
    if (style.content) {
      cell.lines[0] = style.content(spot.index);
      cell.hover.emplace_back("element", cell.lines[0]);
    }
    cell.hover.emplace_back("offset", offset.text);
    if (style.memory && offset.number) style.memory->add_hover(cell.hover, *offset.number);
    if (indexed) cell.hover.emplace_back("index", std::to_string(spot.index));
    if (color.kind == Color::kMode) {
      cell.owner = in_mode(color, grid.shape, mode, spot.index);
    } else if (color.kind == Color::kPart) {
      if (offset.number)
        cell.owner = static_cast<int64_t>(floor_div(style.memory->address(*offset.number), color.bytes));
    } else if (color.kind == Color::kBank) {
      if (!offset.number) throw OptionError("color='bank' is for offsets, not for coordinates");
      cell.owner = style.memory->group(*offset.number);
      owners.insert(*cell.owner);
    } else if (offset.first) {
      cell.owner = remainder(*offset.first, kColors);
    }
    panel.cells.push_back(std::move(cell));
  }
  panel.legend = bank_legend(owners);
  return panel;
}

std::string layout_subtitle(const Values& values, const std::string& title, const Color& color) {
  std::string subtitle = facts_of(values);
  if (const std::string text = text_of(values.layout()); title != text) {
    subtitle += "; with ? for what is dynamic: " + text;
  }
  if (color.kind == Color::kBank) subtitle += "; coloured by bank";
  if (color.kind != Color::kMode) return subtitle;
  std::string path;
  for (const int64_t i : color.path) path += concat(path.empty() ? "" : ",", i);
  return subtitle + "; coloured by mode " + (color.text.starts_with('(') ? "(" + path + ")" : path);
}

void add_mark_note(std::vector<std::string>& notes, const std::vector<Placed>& panels, const Style& style) {
  const bool drawn = std::any_of(panels.begin(), panels.end(), [](const Placed& placed) {
    const auto& cells = placed.panel.cells;
    return std::any_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.marked; });
  });
  if (style.mark && !drawn) {
    notes.push_back("the marked coordinate " + style.mark->text + " is among those that are not drawn");
  }
}

Picture layout_picture(const Values& values, const std::string& title, const std::string& subtitle, const Style& style,
                       std::vector<std::string> notes) {
  const Grids drawn = grids_of(shape_of(values.layout()), style.most);
  Picture picture{title, {}, {}, {}};
  const bool single = drawn.grids.size() == 1;
  for (const Grid& grid : drawn.grids) {
    const auto i = static_cast<int64_t>(picture.panels.size());
    picture.panels.push_back(
        {i / kPerLine, i % kPerLine, layout_panel(values, grid, grid.title(), single ? subtitle : "", style)});
  }
  if (!single) picture.notes.push_back(subtitle);
  for (std::string& note : notes) picture.notes.push_back(std::move(note));
  picture.notes.insert(picture.notes.end(), drawn.notes.begin(), drawn.notes.end());
  add_mark_note(picture.notes, picture.panels, style);
  return picture;
}

Picture layout_picture(const AnyLayout& layout, const Style& style) {
  const Values values(layout);
  const std::string title = values_text(layout);
  return layout_picture(values, title, layout_subtitle(values, title, style.color), style);
}

}  // namespace tilewright::picture
