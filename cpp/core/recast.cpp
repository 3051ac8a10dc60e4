#include <numeric>

#include "algebra.hpp"
#include "modes.hpp"

namespace tilewright {

Layout upcast(LayoutView layout, int64_t n) {
  if (n <= 0) fail(concat("the factor must be positive, but got ", n));
  const Node factor = static_int(n);
  Nodes shape, stride;
  shape.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  stride.append(layout.stride.get(), static_cast<std::size_t>(layout.stride.span()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Node &extent = shape[i], &step = stride[i];
    if (extent.is_tuple() || step.is(0)) continue;
    if (step.has_basis()) fail("a layout with basis strides has no elements to recast");
    if (step.is_dynamic()) {
      if (checks_enabled() && step.value % n != 0) {
        fail(concat("the dynamic stride ", step.value, " is not a multiple of ", n, ": it would point inside an element"));
      }
      step = div(step, factor);
      continue;
    }
    const Node width = abs(step);
    if (width.value % n != 0 && n % width.value != 0) {
      fail(concat("stride ", step.value, " and the factor ", n, " do not divide one another; CuTe rejects it too"));
    }
    const Node covered = shape_div(factor, width);  // elements of this mode that one wide element covers
    if (checks_enabled() && extent.value % covered.value != 0 && covered.value % extent.value != 0) {
      fail(concat("extent ", extent.value, " with stride ", step.value, " does not come out even in elements of ", n));
    }
    extent = shape_div(extent, covered);
    step = mul(sign(step), shape_div(width, factor));
  }
  return Layout::unchecked(IntTuple(std::move(shape)), IntTuple(std::move(stride)));
}

Layout downcast(LayoutView layout, int64_t n) {
  if (n <= 0) fail(concat("the factor must be positive, but got ", n));
  const Node factor = static_int(n);
  Nodes shape, stride;
  shape.append(layout.shape.get(), static_cast<std::size_t>(layout.shape.span()));
  stride.append(layout.stride.get(), static_cast<std::size_t>(layout.stride.span()));
  bool adjacent = n == 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Node &extent = shape[i], &step = stride[i];
    if (extent.is_tuple()) continue;
    if (step.has_basis()) fail("a layout with basis strides has no elements to recast");
    if (step.is(1) || step.is(-1)) {
      extent = mul(extent, factor);
      adjacent = true;
    } else {
      step = mul(step, factor);
    }
  }
  if (!adjacent) fail("downcast requires adjacent elements: no mode has a static stride of 1; CuTe rejects it too");
  return Layout::unchecked(IntTuple(std::move(shape)), IntTuple(std::move(stride)));
}

Layout recast(LayoutView layout, int64_t old_bits, int64_t new_bits) {
  if (old_bits <= 0 || new_bits <= 0) fail(concat("widths must be positive, but got ", old_bits, " and ", new_bits, " bits"));
  const int64_t common = std::gcd(old_bits, new_bits);
  const int64_t up = new_bits / common;
  const int64_t down = old_bits / common;
  if (up == 1) return down == 1 ? Layout(layout) : downcast(layout, down);
  if (down == 1) return upcast(layout, up);
  return downcast(upcast(layout, up), down);
}

}  // namespace tilewright
