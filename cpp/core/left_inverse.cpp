#include "left_inverse.hpp"

#include <algorithm>
#include <numeric>

#include "bounded_sum.hpp"
#include "carries.hpp"

namespace tilewright {

namespace {

constexpr int kMostChains = 4096;
constexpr std::size_t kMostShown = 8;
constexpr int64_t kSmallPrimes = int64_t{1} << 16;  // factors below are found

int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// L(offset) = value.
struct Point {
  int64_t offset;
  int64_t value;
};

// Integers c with sum of c_l * floor(x / radices_l) = L(x) at the points, which come by the magnitude of x: columns are
// combined until each equation has one unknown.
class System {
 public:
  System(const std::vector<int64_t>& radices, const std::vector<Point>& points) : count_(radices.size()) {
    for (std::size_t l = 0; l < count_; ++l) {
      Column column;
      for (const Point& point : points) column.push_back(point.offset / radices[l]);
      for (std::size_t k = 0; k < count_; ++k) column.push_back(k == l ? 1 : 0);
      columns_.push_back(std::move(column));
    }
    Column rest;
    for (const Point& point : points) rest.push_back(point.value);
    rest.resize(points.size() + count_, 0);
    std::size_t used = 0;
    for (std::size_t row = 0; row < points.size(); ++row) {
      if (!eliminate(rest, row, used)) {
        contradiction_ = row;
        return;
      }
    }
    for (std::size_t l = 0; l < count_; ++l) solution_.push_back(-rest[points.size() + l]);
  }

  // The first point that contradicts those before it.
  std::optional<std::size_t> contradiction() const { return contradiction_; }
  const std::vector<Wide>& solution() const { return solution_; }

 private:
  using Column = std::vector<Wide>;

  static void subtract(Column& from, Wide factor, const Column& column) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = wide_add(from[i], wide_mul(-factor, column[i]));
  }

  bool eliminate(Column& rest, std::size_t row, std::size_t& used) {
    const auto size = [&](std::size_t l) { return columns_[l][row] < 0 ? -columns_[l][row] : columns_[l][row]; };
    std::size_t pivot = count_;
    while (true) {
      pivot = count_;
      for (std::size_t l = used; l < count_; ++l) {
        if (columns_[l][row] != 0 && (pivot == count_ || size(l) < size(pivot))) pivot = l;
      }
      if (pivot == count_) return rest[row] == 0;
      bool alone = true;
      for (std::size_t l = used; l < count_; ++l) {
        if (l == pivot || columns_[l][row] == 0) continue;
        subtract(columns_[l], columns_[l][row] / columns_[pivot][row], columns_[pivot]);
        alone = alone && columns_[l][row] == 0;
      }
      if (alone) break;
    }
    std::swap(columns_[used], columns_[pivot]);
    const Column& column = columns_[used++];
    if (rest[row] % column[row] != 0) return false;
    subtract(rest, rest[row] / column[row], column);
    return true;
  }

  std::size_t count_;
  std::vector<Column> columns_;
  std::optional<std::size_t> contradiction_;
  std::vector<Wide> solution_;
};

std::vector<Line> lines_of(const Outer& outer, const std::vector<Wanted>& wanted) {
  std::vector<Line> lines;
  for (const Wanted& mode : wanted) lines.emplace_back(outer, mode.extent, mode.stride);
  return lines;
}

// Coordinates of the modes at which L has not its value.
std::optional<Coordinates> not_inverted(const Modes& inverse, const std::vector<Wanted>& wanted, bool smallest) {
  const Layout layout = from_modes(inverse);
  const Outer outer(layout);
  std::vector<Line> lines = lines_of(outer, wanted);
  std::optional<std::size_t> broken;
  int64_t at = 0;
  for (std::size_t k = 0; k < lines.size() && !broken; ++k) {
    const Layout right = Layout::leaf(static_int(wanted[k].extent), static_int(wanted[k].position));
    if (const auto i = lines[k].first_difference(right)) broken = k, at = *i;
  }
  if (broken) {
    // Only what comes before may be smaller, or what is added to a part of the mode.
    lines.resize(*broken + 1, lines.front());
    if (smallest && at > 1) lines.back() = lines.back().with_extent(at);
    if (smallest && at == 1) lines.pop_back();
  }
  std::optional<Coordinates> found;
  if (smallest || !broken) found = carrying(lines);
  if (found && smallest) {
    if (auto first = first_carrying(lines)) found = std::move(first);
  }
  if (found) {
    found->resize(wanted.size(), 0);
  } else if (broken) {
    found.emplace(wanted.size(), 0);
    (*found)[*broken] = at;
  }
  return found;
}

// Offsets x and -x other than 0, both with values of at least 1: L would not be odd.
std::optional<std::string> opposites(const std::vector<Wanted>& wanted) {
  const auto negative = [](const Wanted& mode) { return mode.stride < 0; };
  if (std::none_of(wanted.begin(), wanted.end(), negative) || std::all_of(wanted.begin(), wanted.end(), negative))
    return std::nullopt;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    // The digits of both together, of which that of mode k is not 0.
    std::vector<Multiple> terms;
    for (const Wanted& mode : wanted) terms.push_back({mode.stride, checked_mul(2, mode.extent - 1)});
    terms[k].count -= 1;
    auto digits = bounded_sum(terms, -wanted[k].stride);
    if (!digits) continue;
    (*digits)[k] += 1;
    Point one{0, 0}, other{0, 0};
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      // At least two digits differ from 0, or one is 2 or more; of each, one coordinate gets the larger half.
      const int64_t half = (*digits)[j] / 2, rest = (*digits)[j] - half;
      const auto [mine, its] = one.value <= other.value ? std::pair{rest, half} : std::pair{half, rest};
      one.offset += mine * wanted[j].stride, one.value += mine * wanted[j].position;
      other.offset += its * wanted[j].stride, other.value += its * wanted[j].position;
    }
    return concat("L(", one.offset, ") = ", one.value, ", L(", other.offset, ") = ", other.value);
  }
  return std::nullopt;
}

// Chains of radices 1 | Q_1 | Q_2 | ... of L, one prime after another. L is a sum of c_l * floor(x / Q_l), so each
// offset of A gives a linear equation.
class Search {
 public:
  explicit Search(const std::vector<Wanted>& wanted) : wanted_(wanted) {
    for (const Wanted& mode : wanted_) {
      reach_ = checked_add(reach_, checked_mul(magnitude(mode.stride), mode.extent - 1));
      points_.push_back({mode.stride, mode.position});
      add_primes(magnitude(mode.stride));
      add_primes(mode.extent);
    }
    sort_points();
  }

  LeftInverseFound run() {
    std::vector<int64_t> radices{1};
    if (auto found = extend(radices)) return {std::move(found), ""};
    std::string text;
    for (std::size_t k = 0; k < points_.size() && k < kMostShown; ++k)
      text += concat(k == 0 ? "" : ", ", "L(", points_[k].offset, ") = ", points_[k].value);
    if (points_.size() > kMostShown) text += concat(" and ", points_.size() - kMostShown, " more");
    return {std::nullopt, text};
  }

 private:
  void add_primes(int64_t number) {
    const auto add = [&](int64_t prime) {
      if (std::find(primes_.begin(), primes_.end(), prime) == primes_.end()) primes_.push_back(prime);
    };
    for (int64_t p = 2; p < kSmallPrimes && p <= number / p; ++p) {
      while (number % p == 0) number /= p, add(p);
    }
    if (number > 1) add(number);
  }

  void sort_points() {
    std::stable_sort(points_.begin(), points_.end(),
                     [](const Point& a, const Point& b) { return magnitude(a.offset) < magnitude(b.offset); });
  }

  void add_point(const Coordinates& at) {
    Point point{0, 0};
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      point.offset += wanted_[k].stride * at[k];
      point.value = checked_add(point.value, checked_mul(wanted_[k].position, at[k]));
    }
    points_.push_back(point);
    sort_points();
  }

  Modes layout_of(const std::vector<int64_t>& radices, const std::vector<Wide>& weights) const {
    Modes modes;
    Wide stride = 0;
    for (std::size_t l = 0; l < radices.size(); ++l) {
      if (l > 0) stride = wide_mul(stride, radices[l] / radices[l - 1]);
      stride = wide_add(stride, weights[l]);
      const int64_t extent =
          l + 1 < radices.size() ? radices[l + 1] / radices[l] : std::max<int64_t>(reach_ / radices[l] + 1, 2);
      modes.push_back({static_int(extent), static_int(narrow(stride))});
    }
    return coalesced(modes, LastExtent::kDrop);
  }

  std::optional<Modes> extend(std::vector<int64_t>& radices) {
    if (++chains_ > kMostChains) {
      fail(
          concat("whether a layout L has L(A(i)) = i was not decided within ", kMostChains,
                 " chains of radices (no way is known that needs few for every layout); use strides of which each is a "
                 "multiple of the next smaller one"));
    }
    std::optional<int64_t> bound;  // below which the next radix lies
    while (!bound) {
      const System system(radices, points_);
      if (const auto row = system.contradiction()) {
        bound = magnitude(points_[*row].offset);
        continue;
      }
      Modes found = layout_of(radices, system.solution());
      const auto wrong = not_inverted(found, wanted_, false);
      if (!wrong) return found;
      add_point(*wrong);
    }
    const int64_t last = radices.back(), most = *bound / last;
    const auto step = [&](int64_t prime) {
      radices.push_back(last * prime);
      auto found = extend(radices);
      radices.pop_back();
      return found;
    };
    for (const int64_t prime : primes_) {
      if (prime > most) continue;
      if (auto found = step(prime)) return found;
    }
    for (int64_t p = 2; p <= most; ++p) {
      if (std::find(primes_.begin(), primes_.end(), p) != primes_.end() || !is_prime(p)) continue;
      if (auto found = step(p)) return found;
    }
    return std::nullopt;
  }

  static bool is_prime(int64_t n) {
    for (int64_t p = 2; p <= n / p; ++p) {
      if (n % p == 0) return false;
    }
    return true;
  }

  const std::vector<Wanted>& wanted_;
  std::vector<Point> points_;
  std::vector<int64_t> primes_;
  int64_t reach_ = 0;
  int chains_ = 0;
};

}  // namespace

std::optional<int64_t> first_not_inverted(const Modes& inverse, const std::vector<Wanted>& wanted) {
  const auto at = not_inverted(inverse, wanted, true);
  if (!at) return std::nullopt;
  int64_t coordinate = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) coordinate += (*at)[k] * wanted[k].position;
  return coordinate;
}

LeftInverseFound find_left_inverse(const std::vector<Wanted>& wanted) {
  if (const auto opposite = opposites(wanted)) return {std::nullopt, *opposite};
  return Search(wanted).run();
}

}  // namespace tilewright
