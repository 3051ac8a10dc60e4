#include <algorithm>
#include <numeric>
#include <string>

#include "algebra.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

// Raises with the first coordinate c where A(c) is not in the wide element R(c'), else with the first c' where R(c')
// does not begin where A puts the first of the coordinates that c' packs.
[[noreturn]] void refuse_upcast(const std::string& cause, LayoutView layout, LayoutView result, int64_t n,
                                const SmallVector<int64_t, 8>& packs) {
  const Modes narrow = modes_of(layout), wide = modes_of(result);
  const FlatFunction values(narrow);
  for (int64_t i = 0; i < std::min(size(layout).value, kScanLimit); ++i) {
    int64_t rest = i, element = 0;
    for (std::size_t k = 0; k < narrow.size(); ++k) {
      element += rest % narrow[k].extent.value / packs[k] * wide[k].stride.value;
      rest /= narrow[k].extent.value;
    }
    const int64_t offset = values(i);
    const int64_t inside = offset / n - (offset % n < 0 ? 1 : 0);
    if (element == inside) continue;
    throw LayoutError(concat(cause, "; coordinate ", i, " at offset ", offset, " is in element ", inside,
                             ", but CuTe's answer ", to_string(result), " gives ", element),
                      CounterExample(i, element, inside));
  }
  for (int64_t j = 0; j < std::min(size(result).value, kScanLimit); ++j) {
    int64_t rest = j, start = 0, first = 0;
    for (std::size_t k = 0; k < wide.size(); ++k) {
      const int64_t digit = rest % wide[k].extent.value;
      start += digit * wide[k].stride.value * n;
      first += digit * packs[k] * narrow[k].stride.value;
      rest /= wide[k].extent.value;
    }
    if (start == first) continue;
    throw LayoutError(concat(cause, "; element ", j, " of CuTe's answer ", to_string(result), " begins at offset ",
                             start, ", but its first coordinate is at ", first),
                      CounterExample(j, start, first));
  }
  fail(cause);
}

// n*R(c') is where A puts the first of the coordinates that c' packs, and every A(c) lies in the element R(c').
void verify_upcast(LayoutView layout, LayoutView result, int64_t n, const SmallVector<int64_t, 8>& packs) {
  int64_t inside = 0;  // the greatest offset that the packed coordinates reach inside one element
  const Modes modes = modes_of(layout);
  auto refuse = [&](const std::string& cause) { refuse_upcast(cause, layout, result, n, packs); };
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const int64_t s = modes[i].extent.value, d = modes[i].stride.value;
    if (s <= 1 || d == 0) continue;
    if (d < 0 && d % n != 0)
      refuse(concat("the negative stride ", d, " is not a multiple of ", n, ": elements would be read backwards"));
    if (packs[i] == 1 && d % n != 0) {
      refuse(concat("the dynamic stride ", d, " is not a multiple of ", n, ": it would point inside an element"));
    }
    if (d % n != 0 || packs[i] > 1) inside = checked_add(inside, checked_mul(std::min(s, packs[i]) - 1, d));
  }
  if (inside >= n) {
    refuse(concat("the modes that lie inside an element of ", n, " reach offset ", inside,
                  " together and overlap the next element"));
  }
}

// Raises with the first coordinate that only CuTe's answer has, or that it lacks.
[[noreturn]] void refuse_size(const std::string& cause, LayoutView result, int64_t count) {
  const int64_t found = size(result).value;
  const CounterExample example = found > count ? CounterExample(count, std::to_string(evaluate(result, count)), "_")
                                               : CounterExample(found, "_", "_");
  throw LayoutError(cause, example);
}

}  // namespace

Layout upcast(LayoutView layout, int64_t n) {
  if (n <= 0) fail(concat("the factor must be positive, but got ", n));
  const Node factor = static_int(n);
  Nodes shape, stride;
  shape.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  stride.append(layout.stride.get(), static_cast<std::size_t>(layout.stride.span()));
  SmallVector<int64_t, 8> packs;  // coordinates of each leaf that one wide element holds
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Node &extent = shape[i], &step = stride[i];
    if (extent.is_tuple()) continue;
    packs.push_back(1);
    if (step.is(0)) continue;
    if (step.has_basis()) fail("a layout with basis strides has no elements to recast");
    if (step.is_dynamic()) {
      step = div(step, factor);
      continue;
    }
    const Node width = abs(step);
    if (width.value % n != 0 && n % width.value != 0) {
      fail(concat("stride ", step.value, " and the factor ", n, " do not divide one another; CuTe rejects it too"));
    }
    const Node pack = ceil_div(factor, width);
    packs.back() = pack.value;
    extent = ceil_div(extent, pack);
    step = mul(sign(step), ceil_div(width, factor));
  }
  Layout result = Layout::unchecked(IntTuple(std::move(shape)), IntTuple(std::move(stride)));
  if (checks_enabled()) verify_upcast(layout, result, n, packs);
  return result;
}

Layout downcast(LayoutView layout, int64_t n) {
  if (n <= 0) fail(concat("the factor must be positive, but got ", n));
  const Node factor = static_int(n);
  Nodes shape, stride;
  shape.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  stride.append(layout.stride.get(), static_cast<std::size_t>(layout.stride.span()));
  bool adjacent = n == 1;
  bool backwards = false;
  int64_t units = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Node &extent = shape[i], &step = stride[i];
    if (extent.is_tuple()) continue;
    if (step.has_basis()) fail("a layout with basis strides has no elements to recast");
    if (step.is(1) || step.is(-1)) {
      extent = mul(extent, factor);
      adjacent = true;
      backwards = backwards || step.value < 0;
      ++units;
    } else {
      step = mul(step, factor);
    }
  }
  if (!adjacent) fail("downcast requires adjacent elements: no mode has a static stride of 1; CuTe rejects it too");
  Layout result = Layout::unchecked(IntTuple(std::move(shape)), IntTuple(std::move(stride)));
  if (checks_enabled() && n > 1 && backwards) {
    int64_t step = 1;  // the coordinate of the second part of the first element
    for (const Mode& mode : modes_of(result)) {
      if (mode.stride.is(-1)) break;
      step = checked_mul(step, mode.extent.value);
    }
    throw LayoutError("a mode has stride -1: the parts of its elements would be counted backwards",
                      CounterExample(step, -1, 1));
  }
  if (checks_enabled() && n > 1 && units > 1) {
    refuse_size(
        concat(units, " modes have stride 1: each would be split, and the parts counted ", units, " times over"),
        result, checked_mul(size(layout).value, n));
  }
  return result;
}

Layout recast(LayoutView layout, int64_t old_bits, int64_t new_bits) {
  if (old_bits <= 0 || new_bits <= 0)
    fail(concat("widths must be positive, but got ", old_bits, " and ", new_bits, " bits"));
  const int64_t common = std::gcd(old_bits, new_bits);
  const int64_t up = new_bits / common;
  const int64_t down = old_bits / common;
  if (up == 1) return down == 1 ? Layout(layout) : downcast(layout, down);
  if (down == 1) return upcast(layout, up);
  // Neither width divides the other. An upcast that packs less than a whole element, or a second mode of stride 1,
  // would change the number of bits.
  Layout result = downcast(upcast(layout, up), down);
  const int64_t before = checked_mul(size(layout).value, old_bits);
  const int64_t after = checked_mul(size(result).value, new_bits);
  if (checks_enabled() && before != after) {
    refuse_size(concat("the layout holds ", before, " bits, but CuTe's answer ", to_string(result), " holds ", after),
                result, before / new_bits);
  }
  return result;
}

}  // namespace tilewright
