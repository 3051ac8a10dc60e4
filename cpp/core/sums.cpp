#include "sums.hpp"

#include <algorithm>
#include <numeric>

#include "error.hpp"

namespace tilewright {

namespace {

constexpr int kMostSteps = 1 << 20;

Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }

// The x with factor * x = value modulo `modulus`, where their common divisor is 1.
Wide divided(Wide value, Wide factor, Wide modulus) {
  Wide a = factor % modulus, b = modulus, x = 1, y = 0;
  while (b != 0) {
    const Wide q = a / b;
    a -= q * b, std::swap(a, b);
    x -= q * y, std::swap(x, y);
  }
  const Wide inverse = (x % modulus + modulus) % modulus;
  return (value % modulus + modulus) % modulus * inverse % modulus;
}

// Multiples without a gap between them: factor * x, where x is the sum of `ratio` times that of each part.
struct Run {
  struct Part {
    std::size_t index;
    Wide ratio;
    Wide most;
  };
  Wide factor;
  Wide most;
  std::vector<Part> parts;
};

std::vector<Run> runs_of(const std::vector<Multiple>& multiples) {
  std::vector<std::size_t> order(multiples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return multiples[i].factor < multiples[j].factor; });
  std::vector<Run> runs;
  for (const std::size_t i : order) {
    const auto [factor, most] = multiples[i];
    if (most <= 0) continue;
    const auto joins = [factor = factor](const Run& run) {
      return factor % run.factor == 0 && factor / run.factor <= run.most + 1;
    };
    const auto run = std::find_if(runs.begin(), runs.end(), joins);
    if (run == runs.end()) {
      runs.push_back({factor, most, {{i, 1, most}}});
    } else {
      const Wide ratio = factor / run->factor;
      run->parts.push_back({i, ratio, most});
      run->most = wide_add(run->most, wide_mul(ratio, most));
    }
  }
  return runs;
}

// From the greatest factor to the smallest: each x leaves what the smaller ones reach, and what their common divisor
// divides.
class Search {
 public:
  explicit Search(std::vector<Run> runs) : runs_(std::move(runs)), values_(runs_.size(), 0) {
    Wide reach = 0;
    int64_t common = 0;
    for (const Run& run : runs_) {
      below_.push_back({reach, common});
      reach = wide_add(reach, wide_mul(run.factor, run.most));
      common = std::gcd(common, static_cast<int64_t>(run.factor));
    }
    below_.push_back({reach, common});
  }

  bool reaches(std::size_t count, Wide target) {
    if (++steps_ > kMostSteps) {
      fail(concat("whether the offsets meet was not decided within ", kMostSteps,
                  " steps (the question is hard in general); use fewer modes"));
    }
    const auto [reach, common] = below_[count];
    if (target < 0 || target > reach) return false;
    if (count == 0) return true;
    if (target % common != 0) return false;
    const Run& run = runs_[count - 1];
    const auto [rest, divisor] = below_[count - 1];
    Wide x = target > rest ? (target - rest + run.factor - 1) / run.factor : 0;
    const Wide last = std::min(run.most, floor_div(target, run.factor));
    Wide step = 1;
    if (divisor != 0) {
      step = divisor / common;
      const Wide first = step == 1 ? 0 : divided(target / common, run.factor / common, step);
      x += (first - x % step + step) % step;
    }
    for (; x <= last; x += step) {
      values_[count - 1] = x;
      if (reaches(count - 1, target - x * run.factor)) return true;
    }
    return false;
  }

  std::vector<int64_t> solution(std::size_t count) const {
    std::vector<int64_t> found(count, 0);
    for (std::size_t k = 0; k < runs_.size(); ++k) {
      Wide rest = values_[k];
      for (auto part = runs_[k].parts.rbegin(); part != runs_[k].parts.rend(); ++part) {
        const Wide share = std::min(part->most, rest / part->ratio);
        found[part->index] = static_cast<int64_t>(share);
        rest -= share * part->ratio;
      }
    }
    return found;
  }

 private:
  struct Below {
    Wide reach;
    int64_t common;
  };

  std::vector<Run> runs_;
  std::vector<Below> below_;
  std::vector<Wide> values_;
  int steps_ = 0;
};

}  // namespace

std::optional<std::vector<int64_t>> reaching(const std::vector<Multiple>& multiples, Wide target) {
  std::vector<Run> runs = runs_of(multiples);
  const std::size_t count = runs.size();
  Search search(std::move(runs));
  if (!search.reaches(count, target)) return std::nullopt;
  return search.solution(multiples.size());
}

}  // namespace tilewright
