// Tables of the operands and the result of an operation: the first modes run down, the others across.
#pragma once

#include "picture/tables/grids.hpp"
#include "picture/tables/values.hpp"

namespace tilewright::picture {

// An operand: a layout, or a swizzle, which has as many elements as are asked for.
class Operand {
 public:
  explicit Operand(AnyLayout layout);
  Operand(const Swizzle& swizzle, int64_t size);

  const std::string& text() const { return text_; }
  const IntTuple& shape() const { return shape_; }
  int64_t size() const { return product(shape_).value; }
  // An offset, or a coordinate, in CuTe's notation.
  IntTuple at(int64_t index) const;
  std::string text_at(int64_t index) const;
  // What it gives as an index of a shape.
  int64_t index_in(TupleView shape, int64_t index) const;

 private:
  std::variant<Values, Swizzle> function_;
  std::string text_;
  IntTuple shape_;
};

// How the cells of a table look that are drawn, in order; what is empty is so of none.
struct Looks {
  std::vector<Owner> owners;
  std::vector<int64_t> marked;  // indices
  std::vector<bool> faded = {};
  std::vector<Hover> more = {};  // what pointing at a cell shows behind coordinate and offset
  bool picked = false;           // whether a cell may be chosen
};

// (shape): its elements as those of one mode.
IntTuple one_mode(TupleView shape);

// The coordinates of a shape on one panel; those of a shape of one mode run line by line.
class Table {
 public:
  Table(TupleView shape, int64_t most, int64_t down = 1);

  // The same elements, called by their coordinates in another shape.
  void rename(TupleView shape) { shape_ = IntTuple(shape); }
  const Grid& grid() const { return grid_; }
  const IntTuple& shape() const { return shape_; }
  bool is_cut() const { return !notes_.empty(); }
  std::size_t cells() const { return grid_.rows.size() * grid_.columns.size(); }
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<int64_t> drawn() const { return grid_.indices(); }  // line by line
  std::optional<Place> place(int64_t index, int64_t panel) const;
  std::string coordinate(int64_t index) const;
  Panel offsets(const std::string& title, const std::string& subtitle, const Operand& operand,
                const Looks& looks) const;
  // What is to be said where not all of it is drawn.
  void add_notes(std::vector<std::string>& notes, const std::string& what) const;

 private:
  IntTuple shape_;
  Grid grid_;
  std::vector<std::string> notes_;
};

int64_t index_followed(const std::string& operation, const Table& table, const IntTuple& at);

inline constexpr int64_t kRoom = 3 * kMost * kMost;  // cells of which a picture has 200 kB for each one's text
inline constexpr int64_t kHovered = 5 << 10;         // and for all that pointing at them shows

// How many cells a picture of operands has at most, where none is cut: texts that are long take more room.
int64_t room_for(const std::vector<const Operand*>& operands);
// The tables of one picture: of 64 rows and columns where there is room, else of `most`. `downs`: how many modes of
// each run down, by default one.
std::vector<Table> tables_of(const std::vector<IntTuple>& shapes, int64_t most, int64_t room,
                             const std::vector<int64_t>& downs = {});
// The index that a picture follows: that of the coordinate `at`, else one in the middle for which follows(index) holds.
template <class F>
int64_t followed(const std::string& operation, const Table& table, const std::optional<IntTuple>& at, F&& follows) {
  if (at) return index_followed(operation, table, *at);
  const std::vector<int64_t> drawn = table.drawn();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const int64_t index = drawn[(i + drawn.size() * 5 / 8) % drawn.size()];
    if (follows(index)) return index;
  }
  return drawn[0];
}
// The coordinates of indices in the last leaf of a shape: the colour of what varies least.
std::vector<Owner> leaves_of(TupleView shape, const std::vector<int64_t>& indices);
// An operand as a plain table of offsets, with some indices marked; it says itself what has no place in it.
Panel operand_panel(const std::string& name, const Operand& operand, const std::string& subtitle = "",
                    const std::vector<int64_t>& marked = {});
Panel operand_panel(const Table& table, const std::string& name, const Operand& operand, const std::string& subtitle,
                    const std::vector<int64_t>& marked = {});
// An arrow between two cells where both are drawn.
void add_link(Picture& picture, const std::optional<Place>& start, const std::optional<Place>& end,
              const std::string& text = "");
// Panels side by side where a page is wide enough for them, else one below the other.
std::vector<Placed> arranged(std::vector<Panel> panels);
// The same of panels one by one: a list in braces would copy the cells of each.
template <class... Panels>
std::vector<Placed> arranged(Panel first, Panels... more) {
  std::vector<Panel> panels;
  panels.push_back(std::move(first));
  (panels.push_back(std::move(more)), ...);
  return arranged(std::move(panels));
}

}  // namespace tilewright::picture
