#include "carries.hpp"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

constexpr int kMostBoxes = 1 << 16;

struct Interval {
  int64_t low;
  int64_t high;
};
using Box = std::vector<Interval>;

class Search {
 public:
  Search(const std::vector<Line>& lines, std::optional<int64_t> end) : lines_(lines), end_(end) {
    Wide reach = 0;
    for (const Line& line : lines) reach += Wide{line.step() < 0 ? -line.step() : line.step()} * (line.counted() - 1);
    const int64_t most = narrow(reach);
    for (const FlatFunction& part : lines.front().outer().parts) {
      Floors floors;
      add_floors(floors, part, 1, most, 1);
      for (const Floor& floor : floors) {
        if (std::find(levels_.begin(), levels_.end(), floor.denominator) == levels_.end())
          levels_.push_back(floor.denominator);
      }
    }
  }

  bool differs(const Coordinates& at) const {
    int64_t x = 0;
    for (std::size_t j = 0; j < lines_.size(); ++j) x += lines_[j].step() * at[j];
    if (end_ && x >= *end_) return false;
    const auto& parts = lines_.front().outer().parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      Wide sum = 0;
      for (std::size_t j = 0; j < lines_.size(); ++j) sum += lines_[j](k, at[j]);
      if (sum != parts[k](x)) return true;
    }
    return false;
  }

  const std::vector<int64_t>& levels() const { return levels_; }

  // Where no stride is negative: the coordinates with the greatest residues at a level decide, unless carries cancel.
  enum class Quick { kNone, kFound, kOpen };
  Quick quick(Coordinates& found) const {
    for (const Line& line : lines_) {
      if (line.step() < 0 && line.counted() > 1) return Quick::kOpen;
    }
    bool carries = false;
    for (const int64_t level : levels_) {
      Wide sum = 0;
      found.clear();
      for (const Line& line : lines_) {
        const auto [residue, i] = max_residue(line.step(), level, line.counted());
        sum += residue;
        found.push_back(i);
      }
      if (sum < level) continue;
      if (differs(found)) return Quick::kFound;
      carries = true;
    }
    return carries ? Quick::kOpen : Quick::kNone;
  }

  // Takes boxes apart until each has the same carries everywhere; `ordered`: in the order of coordinates.
  struct Outcome {
    std::optional<Coordinates> found;
    bool decided;
  };
  Outcome split(Box whole, bool ordered) const {
    std::vector<Box> boxes{std::move(whole)};
    for (int count = 0; !boxes.empty(); ++count) {
      if (count == kMostBoxes) return {std::nullopt, false};
      const Box box = std::move(boxes.back());
      boxes.pop_back();
      Coordinates low, high;
      for (const Interval& range : box) low.push_back(range.low), high.push_back(range.high);
      if (differs(low)) return {low, true};
      if (!ordered && differs(high)) return {high, true};
      std::vector<Wide> spread(box.size(), 0);
      if (even(box, spread)) continue;
      // The mode to blame most, or the slowest one.
      std::size_t j = box.size();
      for (std::size_t k = 0; k < box.size(); ++k) {
        if (box[k].low == box[k].high) continue;
        if (j == box.size() || ordered || spread[k] > spread[j]) j = k;
      }
      if (j == box.size()) continue;
      const int64_t middle = box[j].low + (box[j].high - box[j].low) / 2;
      boxes.push_back(box);
      boxes.back()[j].low = middle + 1;
      boxes.push_back(box);
      boxes.back()[j].high = middle;
    }
    return {std::nullopt, true};
  }

 private:
  // Whether each level has the same carries all over the box; else `spread` says how much the residues of each mode
  // vary.
  bool even(const Box& box, std::vector<Wide>& spread) const {
    Wide low = 0, high = 0;
    for (std::size_t j = 0; j < box.size(); ++j) {
      const Wide first = Wide{lines_[j].step()} * box[j].low, last = Wide{lines_[j].step()} * box[j].high;
      low += std::min(first, last), high += std::max(first, last);
    }
    if (end_ && low >= *end_) return true;  // nothing here counts
    if ((low < 0 && high > 0) || (end_ && high >= *end_)) {
      for (std::size_t j = 0; j < box.size(); ++j) {
        const Wide step = lines_[j].step();
        spread[j] = (step < 0 ? -step : step) * (box[j].high - box[j].low);
      }
      return false;
    }
    bool result = true;
    for (const int64_t level : levels_) {
      Wide least = 0, most = 0;
      std::vector<Wide> varies;
      for (std::size_t j = 0; j < box.size(); ++j) {
        const auto [first, last] = residues(lines_[j].step(), level, box[j]);
        least += first, most += last;
        varies.push_back(last - first);
      }
      const bool same = low >= 0 ? floor_div(least, level) == floor_div(most, level)
                                 : floor_div(-least, level) == floor_div(-most, level);
      if (same) continue;
      result = false;
      for (std::size_t j = 0; j < box.size(); ++j) spread[j] = std::max(spread[j], varies[j]);
    }
    return result;
  }

  // Bounds of |step| * i mod level, with the sign of the step.
  static std::pair<Wide, Wide> residues(int64_t step, int64_t level, const Interval& range) {
    const Wide magnitude = step < 0 ? -Wide{step} : Wide{step};
    const Wide first = magnitude * range.low, last = magnitude * range.high;
    Wide least = 0, most = level - std::gcd(static_cast<int64_t>(magnitude), level);
    if (first / level == last / level) least = first % level, most = last % level;
    if (step < 0) return {-most, -least};
    return {least, most};
  }

  const std::vector<Line>& lines_;
  std::optional<int64_t> end_;
  std::vector<int64_t> levels_;
};

}  // namespace

namespace {

Box all_of(const std::vector<Line>& lines) {
  Box box;
  for (const Line& line : lines) box.push_back({0, line.counted() - 1});
  return box;
}

}  // namespace

std::optional<Coordinates> carrying(const std::vector<Line>& lines, std::optional<int64_t> end) {
  auto moves = [](const Line& line) { return line.counted() > 1 && line.step() != 0; };
  if (std::count_if(lines.begin(), lines.end(), moves) < 2) return std::nullopt;
  const Search search(lines, end);
  Coordinates found;
  const Search::Quick quick = search.quick(found);
  if (quick == Search::Quick::kFound) return found;
  if (quick == Search::Quick::kNone) return std::nullopt;
  Search::Outcome outcome = search.split(all_of(lines), false);
  if (!outcome.decided) {
    fail(concat("whether the carries between the modes of the right layout cancel was not decided within ", kMostBoxes,
                " boxes of coordinates (the question is hard in general); use fewer modes, or unchecked() to take "
                "CuTe's answer"));
  }
  return std::move(outcome.found);
}

std::optional<Coordinates> first_carrying(const std::vector<Line>& lines, std::optional<int64_t> end) {
  return Search(lines, end).split(all_of(lines), true).found;
}

std::vector<Residues> residues_of(const std::vector<Line>& lines) {
  std::vector<Residues> all;
  const Search search(lines, std::nullopt);
  for (const int64_t level : search.levels()) {
    Residues residues{level, {}};
    for (const Line& line : lines) {
      const int64_t magnitude = line.step() < 0 ? -line.step() : line.step();
      residues.greatest.push_back(max_residue(magnitude, level, line.counted()).first);
    }
    all.push_back(std::move(residues));
  }
  return all;
}

}  // namespace tilewright
