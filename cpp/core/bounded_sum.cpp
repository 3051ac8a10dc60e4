#include "bounded_sum.hpp"

#include <algorithm>
#include <numeric>

#include "error.hpp"
#include "lattice.hpp"

namespace tilewright {

namespace {

// Values that are tried before the question goes to the lattice: strides that nest need one or two each.
constexpr int kFew = 16;

// The inverse of a modulo m, for coprime numbers; 0 for m = 1.
Wide inverse(Wide a, Wide m) {
  Wide r = m, s = 0, next_r = a % m, next_s = 1;
  while (next_r != 0) {
    const Wide quotient = r / next_r;
    r -= quotient * next_r, s -= quotient * next_s;
    std::swap(r, next_r), std::swap(s, next_s);
  }
  return (s % m + m) % m;
}

// A term of positive step. A merged one has two parts: the second is `factor` steps of the first.
struct Part {
  Side side;
  std::size_t term = 0;  // of the caller, where it is not merged
  int first = -1;
  int second = -1;
  int64_t factor = 0;
};

class Search {
 public:
  Search(const std::vector<Multiple>& terms, Wide target) : terms_(terms), target_(target), answer_(terms.size(), 0) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto [step, count] = terms[i];
      if (step == 0 || count == 0) continue;
      if (step == INT64_MIN) fail("the stride -2^63 has no magnitude in 64 bits");
      // x of a negative step is counted from the other end.
      if (step < 0) target_ -= static_cast<Wide>(count) * step;
      open_.push_back(static_cast<int>(parts_.size()));
      parts_.push_back({{step < 0 ? -step : step, count}, i});
    }
    merge();
    Wide reach = 0;
    int64_t common = 0;
    for (const int id : open_) {
      const Side side = parts_[id].side;
      reach += side.count * side.step;
      common = std::gcd(common, side.step);
      levels_.push_back({reach, common});
    }
  }

  std::optional<std::vector<int64_t>> run() {
    const bool found = find(static_cast<int>(open_.size()) - 1, target_);
    if (!found && (budget_ >= 0 || !from_lattice())) return std::nullopt;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (terms_[i].step < 0) answer_[i] = terms_[i].count - answer_[i];
    }
    return answer_;
  }

 private:
  // Joins terms until no step is a multiple of another that reaches it.
  void merge() {
    while (true) {
      std::sort(open_.begin(), open_.end(), [&](int a, int b) { return parts_[a].side.step < parts_[b].side.step; });
      if (!merge_one()) return;
    }
  }
  bool merge_one() {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      for (std::size_t j = i + 1; j < open_.size(); ++j) {
        const Side a = parts_[open_[i]].side, b = parts_[open_[j]].side;
        if (b.step % a.step != 0 || b.step / a.step > a.count + 1) continue;
        const int64_t factor = b.step / a.step;
        parts_.push_back({{a.step, a.count + factor * b.count}, 0, open_[i], open_[j], factor});
        open_[i] = static_cast<int>(parts_.size()) - 1;
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(j));
        return true;
      }
    }
    return false;
  }

  // Whether the terms up to `level` sum up to t; sets the answer on the way back. False, too, once the budget is spent.
  bool find(int level, Wide t) {
    if (level < 0) return t == 0;
    const Level here = levels_[level];
    if (t < 0 || t > here.reach || t % here.common != 0) return false;
    const Side side = parts_[open_[level]].side;
    if (level == 0) return assign(open_[0], t / side.step);
    const Level below = levels_[level - 1];
    const Wide classes = below.common / here.common;
    const Wide residue = t / here.common % classes * inverse(side.step / here.common, classes) % classes;
    const Wide low = std::max<Wide>(0, ceil_div(t - below.reach, side.step));
    const Wide high = std::min(side.count, floor_div(t, side.step));
    for (Wide x = low + ((residue - low) % classes + classes) % classes; x <= high; x += classes) {
      if (--budget_ < 0) return false;
      if (find(level - 1, t - x * side.step)) return assign(open_[level], x);
    }
    return false;
  }

  bool from_lattice() {
    std::vector<Side> sides;
    for (const int id : open_) sides.push_back(parts_[id].side);
    const auto point = lattice_point(sides, target_);
    for (std::size_t i = 0; point && i < open_.size(); ++i) assign(open_[i], (*point)[i]);
    return point.has_value();
  }

  bool assign(int id, Wide x) {
    const Part& part = parts_[id];
    if (part.first < 0) {
      answer_[part.term] = static_cast<int64_t>(x);
      return true;
    }
    const Wide of_second = std::min(parts_[part.second].side.count, x / part.factor);
    return assign(part.first, x - of_second * part.factor) && assign(part.second, of_second);
  }

  struct Level {
    Wide reach;
    int64_t common;
  };

  const std::vector<Multiple>& terms_;
  Wide target_;
  std::vector<int64_t> answer_;
  std::vector<Part> parts_;
  std::vector<int> open_;  // by step, ascending
  std::vector<Level> levels_;
  int budget_ = kFew;
};

}  // namespace

std::optional<std::vector<int64_t>> bounded_sum(const std::vector<Multiple>& terms, int64_t target) {
  return Search(terms, target).run();
}

std::string why_no_sum(const std::vector<Multiple>& terms, int64_t target) {
  Wide least = 0, greatest = 0;
  int64_t common = 0;
  std::string sum;
  for (const auto& [step, count] : terms) {
    if (step == 0 || count == 0) continue;
    (step < 0 ? least : greatest) += Wide{step} * count;
    common = std::gcd(common, step);
    sum += concat(sum.empty() ? "" : " + ", "x*", step, " (x up to ", count, ")");
  }
  if (target < least || target > greatest)
    return concat("the sums lie in [", to_string(least), ", ", to_string(greatest), "], which lacks ", target);
  if (common != 0 && target % common != 0) return concat("every sum is a multiple of ", common, ", unlike ", target);
  return concat("no sum ", sum, " is ", target, ", as the search of all x shows");
}

}  // namespace tilewright
