#include "law.hpp"

#include <algorithm>
#include <functional>

namespace tilewright {

namespace {

using Linear = Chain::Linear;
using Digits = Chain::Digits;

// Below this, values are compared without looking at bits.
constexpr int64_t kFew = 256;

bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

int64_t all_of(const std::vector<int64_t>& numbers) {
  int64_t bits = 0;
  for (const int64_t number : numbers) bits |= number;
  return bits;
}

// Whether no two of the numbers have a bit in common, and none is negative. `shared` collects those that do or are.
bool disjoint(const std::vector<int64_t>& numbers, std::vector<std::size_t>& shared) {
  int64_t used = 0;
  const std::size_t before = shared.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || (used & numbers[i]) != 0) shared.push_back(i);
    if (numbers[i] >= 0) used |= numbers[i];
  }
  return shared.size() == before;
}

bool make_exclusive(Linear& linear, std::vector<std::size_t>& carrying) {
  if (!linear.additive) return true;
  if (!disjoint(linear.columns, carrying)) return false;
  linear.base = checked_add(linear.base, linear.constant);
  linear.constant = 0;
  linear.additive = false;
  return true;
}

bool make_additive(Linear& linear, std::vector<std::size_t>& carrying) {
  if (linear.additive) return true;
  if (!disjoint(linear.columns, carrying)) return false;
  for (int64_t& column : linear.columns) column = (linear.constant ^ column) - linear.constant;
  linear.additive = true;
  return true;
}

bool make_additive(Linear& linear) {
  std::vector<std::size_t> carrying;
  return make_additive(linear, carrying);
}

// Moves the part of the base below `period`, a power of two or 0 for all of it, into the constant of the XOR.
bool fold_base(Linear& linear, int64_t period, std::vector<std::size_t>& carrying) {
  const int64_t varying = all_of(linear.columns);
  linear.base = checked_add(linear.base, linear.constant & ~varying);
  linear.constant &= varying;
  const int64_t low = period == 0 ? linear.base : linear.base & (period - 1);
  if (low < 0) return false;
  for (std::size_t i = 0; i < linear.columns.size(); ++i) {
    if ((linear.columns[i] & low) != 0) carrying.push_back(i);
  }
  if ((low & varying) != 0) return false;
  linear.base -= low;
  linear.constant |= low;
  return true;
}

bool apply(const Swizzle& swizzle, Linear& linear, std::vector<std::size_t>& carrying) {
  if (!make_exclusive(linear, carrying) || !fold_base(linear, swizzle.period(), carrying)) return false;
  linear.constant = swizzle(linear.constant);
  for (int64_t& column : linear.columns) column = swizzle(column);
  return true;
}

bool apply(int64_t offset, Linear& linear, std::vector<std::size_t>&) {
  linear.base = checked_add(linear.base, offset);
  return true;
}

// The layout takes each bit of its coordinate to a number of its own, because its extents are powers of two, but for
// the last, which does not wrap.
bool apply(const FlatFunction& layout, Linear& linear, std::vector<std::size_t>& carrying) {
  for (std::size_t i = 0; i + 1 < layout.extents.size(); ++i) {
    if (!is_power_of_two(layout.extents[i])) return false;
  }
  if (!make_exclusive(linear, carrying) || !fold_base(linear, 0, carrying)) return false;
  const int64_t varying = all_of(linear.columns);
  std::vector<int64_t> weights;
  for (int bit = 0; bit < 62; ++bit) {
    if ((varying >> bit & 1) != 0) weights.push_back(layout(int64_t{1} << bit));
  }
  std::vector<std::size_t> shared;
  const bool exclusive = disjoint(weights, shared);
  const int64_t start = linear.constant & varying;
  linear.base = layout(linear.constant & ~varying);
  if (!exclusive && !make_additive(linear, carrying)) return false;
  for (int64_t& column : linear.columns) {
    // Disjoint weights of disjoint bits add without a carry, so the layout itself gives their XOR.
    column = exclusive ? layout(column) : layout(start + column) - layout(start);
  }
  linear.constant = layout(start);
  return true;
}

// The next combination of the digits that are walked.
bool advance(std::vector<int64_t>& values, const std::vector<Chain::Digit>& digits) {
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (++values[i] < digits[i].radix) return true;
    values[i] = 0;
  }
  return false;
}

// The bits of the smallest coordinate on which two linear functions differ; nothing where that stays open.
struct Difference {
  bool decided = true;
  bool differs = false;
  std::vector<std::size_t> bits = {};
};

Difference difference(Linear got, Linear expected) {
  const std::size_t count = got.columns.size();
  auto differ = [&](const std::vector<std::size_t>& bits) { return got.at(bits) != expected.at(bits); };
  if (differ({})) return {true, true, {}};
  std::vector<std::vector<std::size_t>> found;
  for (std::size_t j = 0; j < count && found.empty(); ++j) {
    if (differ({j})) found.push_back({j});
  }
  const bool got_adds = make_additive(got), expected_adds = make_additive(expected);
  if (got_adds && expected_adds) return {true, !found.empty(), found.empty() ? std::vector<std::size_t>{} : found[0]};
  if (!got_adds && !expected_adds) {
    std::vector<std::size_t> carrying;
    fold_base(got, 0, carrying), fold_base(expected, 0, carrying);
    if (got.base == expected.base) return {true, !found.empty(), found.empty() ? std::vector<std::size_t>{} : found[0]};
  }
  // A pair below the bit that differs alone would be the smaller coordinate.
  const std::size_t limit = found.empty() ? count : found[0][0];
  for (std::size_t k = 0; k < limit; ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      if (differ({j, k})) return {true, true, {j, k}};
    }
  }
  if (!found.empty() && got_adds != expected_adds) return {true, true, found[0]};
  return {false, false, {}};
}

// The digits of both chains, where they divide the coordinate alike; those that are walked lie in `odd`.
struct Shared {
  Digits got;
  Digits expected;

  // Walks the bits that carry, too.
  void walk(std::vector<std::size_t>& bits) {
    std::sort(bits.begin(), bits.end(), std::greater<>());
    bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
    for (Digits* digits : {&got, &expected}) {
      for (const std::size_t bit : bits) {
        digits->odd.push_back(digits->bits[bit]);
        digits->bits.erase(digits->bits.begin() + static_cast<std::ptrdiff_t>(bit));
      }
    }
  }
};

// The law for every combination of the walked digits; nothing where it stays open. `carrying` are bits to walk then.
std::optional<Verdict> compare_bits(const Chain& got, const Chain& expected, const Shared& digits,
                                    std::vector<std::size_t>& carrying) {
  const std::vector<Chain::Digit>&mine = digits.got.odd, &theirs = digits.expected.odd;
  int64_t combinations = 1;
  for (const Chain::Digit& digit : mine) {
    if (digit.radix > kScanLimit / 64 / combinations) return std::nullopt;
    combinations *= digit.radix;
  }
  std::optional<int64_t> smallest;
  std::vector<int64_t> values(mine.size(), 0);
  do {
    int64_t position = 0, start = 0, other = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      position += values[i] * mine[i].position;
      start = checked_add(start, checked_mul(values[i], mine[i].stride));
      other = checked_add(other, checked_mul(values[i], theirs[i].stride));
    }
    const auto f = got.linear(digits.got, start, carrying), g = expected.linear(digits.expected, other, carrying);
    if (!f || !g) return std::nullopt;
    const Difference found = difference(*f, *g);
    if (!found.decided) return std::nullopt;
    if (!found.differs) continue;
    for (const std::size_t bit : found.bits) position += digits.got.bits[bit].position;
    smallest = std::min(smallest.value_or(position), position);
  } while (advance(values, mine));
  if (smallest) return Verdict{Verdict::Kind::kFails, *smallest};
  return Verdict{Verdict::Kind::kHolds, 0};
}

std::optional<Verdict> compare_bits(const Chain& got, const Chain& expected) {
  Shared digits{got.digits(), expected.digits()};
  const auto same = [](const std::vector<Chain::Digit>& a, const std::vector<Chain::Digit>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Chain::Digit& x, const Chain::Digit& y) {
      return x.position == y.position && x.radix == y.radix;
    });
  };
  if (!same(digits.got.bits, digits.expected.bits) || !same(digits.got.odd, digits.expected.odd)) return std::nullopt;
  while (true) {
    std::vector<std::size_t> carrying;
    const auto verdict = compare_bits(got, expected, digits, carrying);
    if (verdict || carrying.empty()) return verdict;
    digits.walk(carrying);
  }
}

}  // namespace

Chain Chain::coordinate(LayoutView layout) {
  Modes modes = modes_of(layout);
  int64_t position = 1;
  for (Mode& mode : modes) {
    mode = {static_int(mode.extent.value), static_int(position)};
    position = checked_mul(position, mode.extent.value);
  }
  return Chain(modes);
}

Chain& Chain::plus(int64_t offset) {
  if (offset != 0) links_.emplace_back(offset);
  return *this;
}

Chain& Chain::then(const Swizzle& swizzle) {
  links_.emplace_back(swizzle);
  return *this;
}

Chain& Chain::then(LayoutView layout) {
  links_.emplace_back(FlatFunction(modes_of(layout)));
  return *this;
}

Chain& Chain::inside(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed == nullptr) return *this;
  plus(composed->offset().leaf().value);
  if (const Swizzle* swizzle = composed->swizzle()) return then(*swizzle);
  return then(std::get<Layout>(composed->inner()).view());
}

Chain chain_of(const AnyLayout& layout) {
  Chain chain(modes_of(outer_of(layout)));
  return std::move(chain.inside(layout));
}

int64_t Chain::operator()(int64_t coordinate) const {
  int64_t value = first_(coordinate);
  for (const auto& link : links_) {
    if (const auto* offset = std::get_if<int64_t>(&link)) {
      value = checked_add(value, *offset);
    } else if (const auto* swizzle = std::get_if<Swizzle>(&link)) {
      value = (*swizzle)(value);
    } else {
      value = std::get<FlatFunction>(link)(value);
    }
  }
  return value;
}

int64_t Chain::Linear::at(const std::vector<std::size_t>& bits) const {
  int64_t value = constant;
  for (const std::size_t bit : bits) value = additive ? checked_add(value, columns[bit]) : value ^ columns[bit];
  return checked_add(base, value);
}

Chain::Digits Chain::digits() const {
  Digits digits;
  int64_t position = 1;
  for (const Mode& mode : modes_) {
    int64_t rest = mode.extent.value, stride = mode.stride.value;
    while (rest > 0 && rest % 2 == 0) {
      digits.bits.push_back({position, 2, stride});
      position = checked_mul(position, 2), stride = checked_mul(stride, 2), rest /= 2;
    }
    if (rest != 1) digits.odd.push_back({position, rest, stride});
    position = checked_mul(position, rest);
  }
  return digits;
}

std::optional<Chain::Linear> Chain::linear(const Digits& digits, int64_t start,
                                           std::vector<std::size_t>& carrying) const {
  Linear linear;
  linear.base = start;
  for (const Digit& bit : digits.bits) linear.columns.push_back(bit.stride);
  for (const auto& link : links_) {
    if (!std::visit([&](const auto& l) { return apply(l, linear, carrying); }, link)) return std::nullopt;
  }
  return linear;
}

Verdict compare(const Chain& got, const Chain& expected, int64_t count) {
  if (count > kFew) {
    if (const auto verdict = compare_bits(got, expected)) return *verdict;
  }
  const int64_t scanned = std::min(count, kScanLimit);
  for (int64_t i = 0; i < scanned; ++i) {
    if (got(i) != expected(i)) return {Verdict::Kind::kFails, i};
  }
  return {scanned == count ? Verdict::Kind::kHolds : Verdict::Kind::kOpen, scanned};
}

const Layout& outer_of(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  return composed ? composed->outer() : std::get<Layout>(layout);
}

std::string text_of(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  return composed ? to_string(*composed) : to_string(std::get<Layout>(layout));
}

void require_size(const AnyLayout& answer, int64_t count, const char* whole) {
  const int64_t got = size(outer_of(answer)).value;
  if (got != count)
    fail(concat("CuTe gives ", text_of(answer), " of size ", got, ", but ", whole, " has size ", count));
}

void require_equal(const Chain& got, const Chain& expected, int64_t count, const char* law,
                   const std::function<std::string(const CounterExample&)>& text) {
  const Verdict verdict = compare(got, expected, count);
  if (verdict.kind == Verdict::Kind::kHolds) return;
  if (verdict.kind == Verdict::Kind::kOpen) {
    fail(concat("the first ", verdict.coordinate, " of ", count, " coordinates agree with ", law,
                ", the rest were not compared: use unchecked() to take CuTe's answer"));
  }
  const CounterExample example(verdict.coordinate, got(verdict.coordinate), expected(verdict.coordinate));
  throw LayoutError(text(example), example);
}

}  // namespace tilewright
