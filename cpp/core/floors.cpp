#include "floors.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "error.hpp"

namespace tilewright {

namespace {

constexpr int kMostCuts = 4096;

struct Slope {
  Wide numerator;
  Wide denominator;

  friend bool operator<(const Slope& x, const Slope& y) {
    return x.numerator * y.denominator < y.numerator * x.denominator;
  }
  friend bool operator==(const Slope& x, const Slope& y) {
    return x.numerator == y.numerator && x.denominator == y.denominator;
  }
};

// The fraction of the smallest denominator in the open interval (low, high), by continued fractions. A high of
// denominator 0 is infinite.
Slope simplest(const Slope& low, const Slope& high) {
  const Wide whole = low.numerator / low.denominator;
  if (high.denominator == 0 || (whole + 1) * high.denominator < high.numerator) return {whole + 1, 1};
  const Slope inverse = simplest({high.denominator, high.numerator - whole * high.denominator},
                                 {low.denominator, low.numerator - whole * low.denominator});
  return {whole * inverse.numerator + inverse.denominator, inverse.numerator};
}

// The lattice points (i, m) with low < m / i < high, and the first of them.
struct Cone {
  Slope low;
  Slope high;
  Wide weight;
  Slope first;
};

// The lattice points of h: cones, and the rays at multiples of a denominator.
class Points {
 public:
  explicit Points(int64_t end) : end_(end) {}

  void ray(Wide denominator, Wide weight) {
    if (denominator >= end_) return;
    for (auto& [other, sum] : rays_) {
      if (other != denominator) continue;
      sum = wide_add(sum, weight);
      return;
    }
    rays_.emplace_back(denominator, weight);
  }

  void cone(Slope low, Slope high, Wide weight) {
    const Slope first = simplest(low, high);
    if (first.denominator >= end_) return;
    // The mirror image has as many points at each i.
    const Slope left{high.denominator - high.numerator, high.denominator};
    const Slope right{low.denominator - low.numerator, low.denominator};
    const bool mirrored = left < low || (left == low && right < high);
    if (mirrored) low = left, high = right;
    for (Cone& other : cones_) {
      if (!(other.low == low) || !(other.high == high)) continue;
      other.weight = wide_add(other.weight, weight);
      return;
    }
    cones_.push_back(
        {low, high, weight, mirrored ? Slope{first.denominator - first.numerator, first.denominator} : first});
  }

  // The first i with a point, and the sum of the weights there.
  std::optional<std::pair<Wide, Wide>> first() const {
    std::optional<std::pair<Wide, Wide>> at;
    auto meet = [&at](Wide i, Wide weight) {
      if (weight == 0 || (at && at->first < i)) return;
      if (!at || i < at->first) {
        at.emplace(i, weight);
      } else {
        at->second = wide_add(at->second, weight);
      }
    };
    for (const auto& [denominator, weight] : rays_) meet(denominator, weight);
    for (const Cone& cone : cones_) meet(cone.first.denominator, cone.weight);
    return at;
  }

  // Takes away the points at i and its multiples on rays that have their first point there; they cancel.
  void cut(Wide i) {
    std::erase_if(rays_, [i](const auto& ray) { return ray.first == i; });
    std::vector<Cone> cones = std::move(cones_);
    cones_.clear();
    for (const Cone& c : cones) {
      if (c.weight == 0) continue;
      if (c.first.denominator != i) {
        cones_.push_back(c);
      } else {
        cone(c.low, c.first, c.weight);
        cone(c.first, c.high, c.weight);
      }
    }
  }

 private:
  Wide end_;
  std::vector<std::pair<Wide, Wide>> rays_;
  std::vector<Cone> cones_;
};

}  // namespace

std::optional<int64_t> first_nonzero(const Floors& floors, int64_t end) {
  Floors slopes;
  for (const Floor& floor : floors) {
    if (floor.numerator == 0 || floor.weight == 0) continue;
    const int64_t common = std::gcd(floor.numerator, floor.denominator);
    slopes.push_back({floor.numerator / common, floor.denominator / common, floor.weight});
  }
  auto steeper = [](const Floor& x, const Floor& y) {
    return Wide{x.numerator} * y.denominator > Wide{y.numerator} * x.denominator;
  };
  std::sort(slopes.begin(), slopes.end(), steeper);
  // By parts: the floors of one slope less those of the next are the points between them.
  Points points(end);
  Wide sum = 0;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    sum = wide_add(sum, slopes[k].weight);
    const bool last = k + 1 == slopes.size();
    const Slope high{slopes[k].numerator, slopes[k].denominator};
    const Slope low = last ? Slope{0, 1} : Slope{slopes[k + 1].numerator, slopes[k + 1].denominator};
    if (sum == 0 || low == high) continue;
    points.ray(high.denominator, sum);
    points.cone(low, high, sum);
  }
  for (int cuts = 0; cuts < kMostCuts; ++cuts) {
    const auto at = points.first();
    if (!at) return std::nullopt;
    if (at->second != 0) return static_cast<int64_t>(at->first);
    points.cut(at->first);
  }
  fail(concat("the carries cancel in ", kMostCuts, " places: where they stop to do so was not decided"));
}

namespace {

// The smallest `step * i mod modulus` above 0 for 0 < i < count, and an i that has it; 0 where there is none.
std::pair<int64_t, int64_t> min_residue(int64_t step, int64_t modulus, int64_t count) {
  if (step == 0 || count <= 1) return {0, 0};
  const Wide last = Wide{step} * (count - 1);
  if (last < modulus) return {step, 1};
  if (step > modulus - step) {
    const auto [value, i] = max_residue(modulus - step, modulus, count);
    return {value == 0 ? 0 : modulus - value, i};
  }
  const auto wraps = static_cast<int64_t>(last / modulus);
  const auto [value, wrap] = min_residue((step - modulus % step) % step, step, wraps + 1);
  if (value == 0) return {step, 1};
  return {value, static_cast<int64_t>((Wide{modulus} * wrap + step - 1) / step)};
}

}  // namespace

std::pair<int64_t, int64_t> max_residue(int64_t step, int64_t modulus, int64_t count) {
  step %= modulus;
  if (step == 0 || count <= 1) return {0, 0};
  const Wide last = Wide{step} * (count - 1);
  if (last < modulus) return {static_cast<int64_t>(last), count - 1};
  if (step > modulus - step) {
    const auto [value, i] = min_residue(modulus - step, modulus, count);
    return {value == 0 ? 0 : modulus - value, i};
  }
  // Just before each wrap.
  const auto wraps = static_cast<int64_t>(last / modulus);
  auto [value, wrap] = max_residue((step - modulus % step) % step, step, wraps + 1);
  wrap = std::max<int64_t>(wrap, 1);
  const std::pair<int64_t, int64_t> before{modulus - step + value,
                                           static_cast<int64_t>((Wide{modulus} * wrap + step - 1) / step - 1)};
  return std::max(before, {static_cast<int64_t>(last % modulus), count - 1});
}

}  // namespace tilewright
