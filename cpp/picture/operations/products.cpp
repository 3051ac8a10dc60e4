#include "products.hpp"

#include <algorithm>

namespace tilewright::picture {

namespace {

constexpr int64_t kSide = 36;  // rows and columns of each of three large panels

int64_t size_of(const Tiler& tiler) {
  if (tiler.kind() == Tiler::Kind::kNone) return 1;
  if (tiler.kind() != Tiler::Kind::kModes) return size(tiler.as_layout()).value;
  int64_t found = 1;
  for (const Tiler& mode : tiler.modes()) found *= size_of(mode);
  return found;
}

int64_t rank_of(const AnyLayout& layout) { return shape_of(layout).is_leaf() ? 1 : shape_of(layout).rank(); }

// The sizes of the modes, padded with ones.
Extents sizes(const AnyLayout& layout, int64_t rank) {
  const TupleView shape = shape_of(layout);
  Extents found;
  for (int64_t i = 0; i < rank; ++i) {
    found.push_back(i < rank_of(layout) ? product(shape.is_leaf() ? shape : shape.mode(i)).value : 1);
  }
  return found;
}

// Which copy of the block, and which element of it, stands at an index of a product. A product has the modes of the
// block and those of the copies in one of three orders: the block's first and then the copies' (logical, zipped, tiled,
// flat), pairs (block, copies) mode by mode (blocked, and logical by a tuple), or pairs (copies, block) (raked).
class Copies {
 public:
  Copies(const std::string& operation, const AnyLayout& block, const Repeats& tiler) {
    const bool raked = operation == "raked_product", modes = !tiler.layout;
    paired_ = raked || operation == "blocked_product" || (operation == "logical_product" && modes);
    Extents of_tiler;
    if (modes) {
      for (const Tiler& mode : tiler.modes.modes()) of_tiler.push_back(size_of(mode));
      of_tiler.resize(std::max(of_tiler.size(), static_cast<std::size_t>(rank_of(block))), 1);
    } else if (paired_) {
      of_tiler = sizes(*tiler.layout, std::max(rank_of(block), rank_of(*tiler.layout)));
    } else {
      of_tiler = {picture::size_of(*tiler.layout)};
    }
    block_ = modes || paired_ ? sizes(block, static_cast<int64_t>(of_tiler.size())) : Extents{picture::size_of(block)};
    for (const bool of_copies : {raked, !raked}) {
      for (std::size_t i = 0; i < block_.size(); ++i) {
        digits_.push_back({of_copies, of_copies ? of_tiler[i] : block_[i], paired_ ? i : 0});
      }
    }
    std::stable_sort(digits_.begin(), digits_.end(), [](const Digit& a, const Digit& b) { return a.mode < b.mode; });
  }

  bool paired() const { return paired_; }
  const Extents& block() const { return block_; }

  // (element of the block, copy), both as indices.
  std::pair<int64_t, int64_t> of(int64_t index) const {
    int64_t found[2] = {0, 0}, scale[2] = {1, 1};
    for (const Digit& digit : digits_) {
      found[digit.of_copies] += index % digit.extent * scale[digit.of_copies];
      scale[digit.of_copies] *= digit.extent;
      index /= digit.extent;
    }
    return {found[0], found[1]};
  }

 private:
  struct Digit {
    bool of_copies;
    int64_t extent;
    std::size_t mode;
  };
  bool paired_;
  Extents block_;
  std::vector<Digit> digits_;
};

std::string says(const std::string& operation, bool by_mode) {
  if (operation == "logical_product" && by_mode) return "each mode as (block, copy)";
  if (operation == "blocked_product") return "each mode as (block, copy): whole blocks";
  if (operation == "raked_product") return "each mode as (copy, block): interleaved";
  const char* modes = operation == "tiled_product"  ? "(block, copy, ..)"
                      : operation == "flat_product" ? "(block, .., copy, ..)"
                                                    : "(block, copy)";
  return concat(modes, ": a column for each copy");
}

// Thick lines where a block ends; columns are all modes but the first, of which several end at other places.
void set_rules(Panel& panel, const Extents& block, const Grid& grid) {
  panel.row_rules = ends(block.size() > 1 ? block[0] : 1, grid.rows);
  panel.column_rules = block.size() > 2 ? std::vector<Rule>() : ends(block.back(), grid.columns);
}

}  // namespace

Picture product_picture(const std::string& operation, const AnyLayout& given, const Repeats& tiler,
                        const AnyLayout& made, const std::optional<IntTuple>& at) {
  const Operand block(given), result(made);
  std::optional<Operand> by;
  if (tiler.layout) by.emplace(*tiler.layout);
  const Copies copies(operation, given, tiler);
  std::vector<IntTuple> shapes{block.shape(), result.shape()};
  if (by) shapes.push_back(by->shape());
  const int64_t down = operation == "flat_product" ? rank_of(given) : 1;
  const std::vector<Table> tables = tables_of(shapes, kSide, room_for({&result}), {1, down});
  const Table &first = tables[0], &product = tables[1];
  const int64_t index =
      followed(operation, product, at, [&](int64_t i) { return first.place(copies.of(i).first, 0).has_value(); });
  const auto [element, copy] = copies.of(index);

  std::vector<Panel> panels;
  Looks of_block{std::vector<Owner>(first.cells(), 0), {element}};
  panels.push_back(first.offsets("block " + block.text(), "what is repeated", block, of_block));
  if (by) {
    Looks looks{{}, {copy}};
    for (const int64_t i : tables[2].drawn()) {
      looks.owners.emplace_back(i);
      looks.more.push_back({{"copy", std::to_string(i)}});
    }
    panels.push_back(tables[2].offsets("tiler " + by->text(), "a cell for each copy", *by, looks));
  }
  Looks looks{{}, {index}};
  looks.picked = true;
  for (const int64_t i : product.drawn()) {
    const auto [part, number] = copies.of(i);
    looks.owners.emplace_back(number);
    looks.more.push_back({{"copy", std::to_string(number)}, {"of the block", first.coordinate(part)}});
  }
  panels.push_back(product.offsets(result.text(), says(operation, !by), result, looks));
  if (operation == "raked_product") {  // the block is spread out, so nothing ends at its extents
    panels.back().row_rules.clear(), panels.back().column_rules.clear();
  } else if (copies.paired()) {
    set_rules(panels.back(), copies.block(), product.grid());
  }
  const auto last = static_cast<int64_t>(panels.size()) - 1;
  Picture picture{
      concat(operation, "(", block.text(), ", ", by ? by->text() : tiler.modes.text(), ") = ", result.text()),
      {},
      {},
      {}};
  picture.panels = arranged(std::move(panels));
  add_link(picture, first.place(element, 0), product.place(index, last));
  picture.notes.push_back(concat("element ", first.coordinate(element), " of copy ",
                                 by ? tables[2].coordinate(copy) : std::to_string(copy), " has the coordinate ",
                                 product.coordinate(index), " and the offset ", result.text_at(index)));
  first.add_notes(picture.notes, "the block " + block.text());
  if (by) tables[2].add_notes(picture.notes, "the tiler " + by->text());
  product.add_notes(picture.notes, result.text());
  return picture;
}

}  // namespace tilewright::picture
