#include "lattice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "error.hpp"

namespace tilewright {

namespace {

using Real = double;
using Row = std::vector<Wide>;
using Direction = std::vector<Real>;

constexpr int64_t kBudget = int64_t{1} << 18;  // values of coordinates that are tried
constexpr Real kReduced = 0.99;                // of Lovász's condition
constexpr Real kSpare = 2;                     // points for each sum, a side: so the middle of the box has one
constexpr Real kUnit = 0x1p56;                 // the largest entry of a direction in integers

[[noreturn]] void undecided(std::size_t strides) {
  fail(concat("whether bounded multiples of ", static_cast<int64_t>(strides),
              " strides that do not nest add up to a number was not decided: the search has a limit of ", kBudget,
              " steps of 128 bits; use strides that divide each other"));
}

class Search {
 public:
  Search(const std::vector<Side>& sides, Wide target) : sides_(sides), target_(target) {
    for (const Side& side : sides_) scale_.push_back(1 / (static_cast<Real>(side.count) + 1));
  }

  // The solution near the middle of the box, where it lies in it.
  std::optional<Row> middle() {
    if (!kernel()) return std::nullopt;
    center();
    return inside(start_) ? std::optional(start_) : std::nullopt;
  }

  std::optional<Row> run() {
    if (const auto point = middle()) return point;
    if (start_.empty()) return std::nullopt;
    bounds();
    found_ = start_;
    if (!enumerate(static_cast<int>(basis_.size()) - 1)) return std::nullopt;
    return found_;
  }

 private:
  std::size_t rank() const { return sides_.size(); }
  [[noreturn]] void give_up() const { undecided(rank()); }

  Wide times(Wide a, Wide b) const {
    Wide result;
    if (mul_overflows(a, b, result)) give_up();
    return result;
  }
  Wide plus(Wide a, Wide b) const {
    Wide result;
    if (add_overflows(a, b, result)) give_up();
    return result;
  }
  static bool is_narrow(Wide x) { return x == static_cast<int64_t>(x); }
  // Most numbers have 64 bits, whose products need no check and whose conversions are instructions.
  static Real real(Wide x) { return is_narrow(x) ? static_cast<Real>(static_cast<int64_t>(x)) : static_cast<Real>(x); }
  static Wide whole(Real x) {
    return std::abs(x) < 0x1p62 ? static_cast<Wide>(static_cast<int64_t>(x)) : static_cast<Wide>(x);
  }
  void add(Row& row, Wide factor, const Row& other) const {
    for (std::size_t i = 0; i < rank(); ++i) {
      const bool small = is_narrow(factor) && is_narrow(other[i]);
      row[i] = plus(row[i], small ? factor * other[i] : times(factor, other[i]));
    }
  }
  Wide dot(const Row& a, const Row& b) const {
    Wide sum = 0;
    for (std::size_t i = 0; i < rank(); ++i) sum = plus(sum, times(a[i], b[i]));
    return sum;
  }

  // ---- the basis ----

  // Solves the equation without bounds, one stride after another; false where the gcd does not divide the target.
  bool kernel() {
    Row unit(rank(), 0);  // of sum gcd
    unit[0] = 1;
    Wide gcd = sides_[0].step;
    for (std::size_t k = 1; k < rank(); ++k) {
      Wide r = gcd, next_r = sides_[k].step, s = 1, next_s = 0, t = 0, next_t = 1;
      while (next_r != 0) {
        const Wide quotient = r / next_r;
        r -= quotient * next_r, s -= quotient * next_s, t -= quotient * next_t;
        std::swap(r, next_r), std::swap(s, next_s), std::swap(t, next_t);
      }
      Row zero(rank(), 0);
      add(zero, -(sides_[k].step / r), unit);
      zero[k] = gcd / r;
      for (Wide& x : unit) x = times(x, s);
      unit[k] = t;
      gcd = r;
      basis_.push_back(zero);
      reduce();
      approach(unit, {});
    }
    if (target_ % gcd != 0) return false;
    start_ = Row(rank(), 0);
    add(start_, target_ / gcd, unit);
    return true;
  }

  void scale(const Row& row, Direction& result) const {
    result.resize(rank());
    for (std::size_t i = 0; i < rank(); ++i) result[i] = real(row[i]) * scale_[i];
  }
  static Real dot(const Direction& a, const Direction& b) {
    Real sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  // Gram and Schmidt: the part of row k that is orthogonal to the rows before it.
  void orthogonalize(std::size_t k) {
    ortho_.resize(basis_.size()), norm_.resize(basis_.size()), mu_.resize(basis_.size());
    Direction& row = ortho_[k];
    scale(basis_[k], row);
    mu_[k].resize(k);
    for (std::size_t j = 0; j < k; ++j) {
      const Real mu = mu_[k][j] = dot(row, ortho_[j]) / norm_[j];
      for (std::size_t i = 0; i < rank(); ++i) row[i] -= mu * ortho_[j][i];
    }
    norm_[k] = dot(row, row);
  }

  static Real nearest(Real x) {
    constexpr Real kIntegers = 0x1.8p52;  // plus less than 2^51 it has no bits behind the point
    return std::abs(x) < 0x1p51 ? (x + kIntegers) - kIntegers : x;
  }

  // Subtracts multiples of the first `count` rows until `row` lies near `center`, in scaled coordinates.
  void approach(Row& row, const Direction& center, std::size_t count) {
    along_.resize(count);
    for (int round = 0; round < 8; ++round) {
      scale(row, distance_);
      for (std::size_t i = 0; i < center.size(); ++i) distance_[i] -= center[i];
      for (std::size_t j = 0; j < count; ++j) along_[j] = dot(distance_, ortho_[j]) / norm_[j];
      Real most = 0;
      for (std::size_t j = count; j-- > 0;) {
        const Real multiple = nearest(along_[j]);
        if (multiple == 0) continue;
        if (!(std::abs(multiple) < 0x1p120)) give_up();
        add(row, -whole(multiple), basis_[j]);
        for (std::size_t i = 0; i < j; ++i) along_[i] -= multiple * mu_[j][i];
        most = std::max(most, std::abs(multiple));
      }
      if (most < 0x1p20) return;  // else what was rounded off may be another multiple
    }
  }
  void approach(Row& row, const Direction& center) { approach(row, center, basis_.size()); }

  // The algorithm of Lenstra, Lenstra and Lovász. All rows but the last are reduced already. How well it reduces
  // decides about the time only.
  void reduce() {
    int steps = 0;
    for (std::size_t k = basis_.size() - 1; k < basis_.size(); ++k) {
      approach(basis_[k], {}, k);
      orthogonalize(k);
      for (; k > 0; --k) {
        const Real mu = mu_[k][k - 1];
        if (norm_[k] >= (kReduced - mu * mu) * norm_[k - 1]) break;
        if (++steps > 10000) give_up();
        exchange(k);
      }
    }
  }

  // Row k comes before row k - 1, which is to be orthogonalized again.
  void exchange(std::size_t k) {
    const Real mu = mu_[k][k - 1];
    for (std::size_t i = 0; i < rank(); ++i) ortho_[k][i] += mu * ortho_[k - 1][i];
    mu_[k].pop_back();
    std::swap(basis_[k], basis_[k - 1]), std::swap(ortho_[k], ortho_[k - 1]), std::swap(mu_[k], mu_[k - 1]);
    norm_[k - 1] = dot(ortho_[k - 1], ortho_[k - 1]);
  }

  void center() {
    Direction middle(rank());
    for (std::size_t i = 0; i < rank(); ++i) middle[i] = static_cast<Real>(sides_[i].count) / 2 * scale_[i];
    approach(start_, middle);
  }

  bool inside(const Row& point) const {
    for (std::size_t i = 0; i < rank(); ++i) {
      if (point[i] < 0 || point[i] > sides_[i].count) return false;
    }
    return true;
  }

  // ---- the bounds ----

  // <x, direction> <= high for every point of the box on the hyperplane.
  struct Bound {
    Row direction;
    Wide high = 0;
  };
  // A direction plus any multiple of d says the same on the hyperplane. The best multiple is that of the linear
  // program: with it, the sides before a critical one, by entry / d, end at their counts, and those behind it at 0.
  Bound bound(Direction v) const {
    std::vector<std::size_t> order(rank());
    for (std::size_t i = 0; i < rank(); ++i) order[i] = i, v[i] *= scale_[i];
    const auto slope = [&](std::size_t i) { return v[i] / static_cast<Real>(sides_[i].step); };
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return slope(i) > slope(j); });
    Wide left = target_;
    std::size_t critical = 0;
    while (critical + 1 < rank()) {
      const Side& side = sides_[order[critical]];
      if (left < side.step * side.count) break;
      left -= side.step * side.count;
      ++critical;
    }
    const Real multiple = slope(order[critical]);
    Real largest = 0;
    for (std::size_t i = 0; i < rank(); ++i) {
      v[i] -= multiple * static_cast<Real>(sides_[i].step);
      largest = std::max(largest, std::abs(v[i]));
    }
    if (!(largest > 0)) give_up();
    Bound result{Row(rank()), 0};
    for (std::size_t i = 0; i < rank(); ++i) {
      result.direction[i] = whole(nearest(v[i] / largest * kUnit));
      if (result.direction[i] > 0) result.high = plus(result.high, times(result.direction[i], sides_[i].count));
    }
    return result;
  }
  Bound bound_below(Direction v) const {
    for (Real& x : v) x = -x;
    return bound(std::move(v));
  }

  void bounds() {
    // The dual basis: <b_k, u_i> is 1 for k = i, and nearly 0 otherwise.
    const std::size_t m = basis_.size();
    std::vector<Direction> dual(m);
    for (std::size_t i = m; i-- > 0;) {
      dual[i] = ortho_[i];
      for (Real& x : dual[i]) x /= norm_[i];
      for (std::size_t k = i + 1; k < m; ++k) {
        for (std::size_t x = 0; x < rank(); ++x) dual[i][x] -= mu_[k][i] * dual[k][x];
      }
    }
    // limit >= |c_i| for the coordinates c of every point in the box, because limit >= alpha + limit / 2.
    Wide limit = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (const Bound& side : {bound(dual[i]), bound_below(dual[i])}) {
        const Wide own = magnitude(dot(basis_[i], side.direction));
        Wide others = 0;
        for (std::size_t k = 0; k < m; ++k) {
          if (k != i) others = plus(others, magnitude(dot(basis_[k], side.direction)));
        }
        if (own == 0 || others > own / 2) give_up();
        limit = std::max(limit, times(2, magnitude(plus(side.high, -dot(start_, side.direction))) / own + 1));
      }
    }
    for (std::size_t j = 0; j < m; ++j) {
      Level level;
      level.above = bound(ortho_[j]), level.below = bound_below(ortho_[j]);
      for (Bound* side : {&level.above, &level.below}) {
        for (std::size_t i = 0; i < j; ++i) {
          side->high = plus(side->high, times(limit, magnitude(dot(basis_[i], side->direction))));
        }
      }
      level.step_above = dot(basis_[j], level.above.direction);
      level.step_below = -dot(basis_[j], level.below.direction);
      if (level.step_above <= 0 || level.step_below <= 0) give_up();
      levels_.push_back(std::move(level));
    }
  }

  static Wide magnitude(Wide x) { return x < 0 ? -x : x; }

  // Tries every coordinate along basis vector j that the box allows, those in the middle first.
  bool enumerate(int j) {
    if (j < 0) return inside(found_);
    const Level& level = levels_[static_cast<std::size_t>(j)];
    const Row& step = basis_[static_cast<std::size_t>(j)];
    const Wide high = floor_div(plus(level.above.high, -dot(found_, level.above.direction)), level.step_above);
    const Wide low = -floor_div(plus(level.below.high, -dot(found_, level.below.direction)), level.step_below);
    if (low > high) return false;
    const Row before = found_;
    const Wide middle = floor_div(low + high, 2);
    for (Wide distance = 0; distance <= high - low; ++distance) {
      const Wide x = middle + (distance % 2 == 0 ? -(distance / 2) : distance / 2 + 1);
      if (x < low || x > high) continue;
      if (--budget_ < 0) give_up();
      found_ = before;
      add(found_, x, step);
      if (enumerate(j - 1)) return true;
    }
    found_ = before;
    return false;
  }

  // The bounds of the coordinate along b_j: c * step <= high - <what is chosen, direction>, on either side. `high`
  // includes what the vectors before j add at most, where the direction is not quite orthogonal to them.
  struct Level {
    Bound above;
    Bound below;
    Wide step_above = 0;
    Wide step_below = 0;
  };

  std::vector<Side> sides_;
  Wide target_;
  std::vector<Real> scale_;
  std::vector<Row> basis_;
  std::vector<Direction> ortho_;
  std::vector<Real> norm_;
  std::vector<Direction> mu_;
  Direction distance_, along_;  // of approach
  Row start_;
  Row found_;
  std::vector<Level> levels_;
  int64_t budget_ = kBudget;
};

// The part of the box that the hyperplane meets: each side from `first` on, as a new box from 0 on.
bool tighten(std::vector<Side>& sides, Wide& target, std::vector<Wide>& first) {
  Wide reach = 0;
  for (const Side& side : sides) reach += side.step * side.count;
  if (target < 0 || target > reach) return false;
  const Wide whole = target;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side& side = sides[i];
    const Wide others = reach - side.step * side.count;
    const Wide low = whole > others ? (whole - others + side.step - 1) / side.step : 0;
    const Wide high = std::min(side.count, whole / side.step);
    if (low > high) return false;
    first.push_back(low);
    side.count = high - low;
    target -= low * side.step;
  }
  return true;
}

// A point whose coordinates are in the middle but for a few of the longest sides. Where the box has many more points
// than sums, it is found sooner, since the time grows with the cube of the rank and more.
std::optional<std::vector<Wide>> point_of_few(const std::vector<Side>& sides, Wide target) {
  std::vector<std::size_t> order(sides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t i) { return sides[i].step * sides[i].count; };
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return length(i) > length(j); });
  Real reach = 0, points = 1;
  for (const Side& side : sides) reach += static_cast<Real>(side.step * side.count);
  std::vector<Wide> point(sides.size());
  std::vector<Side> few;
  for (const std::size_t i : order) {
    if (few.empty() || points < reach) {
      few.push_back(sides[i]);
      points *= static_cast<Real>(sides[i].count + 1) / kSpare;
    } else {
      point[i] = sides[i].count / 2;
      target -= sides[i].step * point[i];
    }
  }
  if (few.size() == sides.size()) return std::nullopt;
  const auto found = Search(few, target).middle();
  if (!found) return std::nullopt;
  for (std::size_t k = 0; k < few.size(); ++k) point[order[k]] = (*found)[k];
  return point;
}

}  // namespace

std::optional<std::vector<Wide>> lattice_point(std::vector<Side> sides, Wide target) {
  std::vector<Wide> first;
  if (!tighten(sides, target, first)) return std::nullopt;
  auto point = point_of_few(sides, target);
  if (!point) point = Search(sides, target).run();
  for (std::size_t i = 0; point && i < sides.size(); ++i) (*point)[i] += first[i];
  return point;
}

}  // namespace tilewright
