// Inverses and alignments of composed layouts.
#include <algorithm>
#include <numeric>

#include "composed.hpp"
#include "law.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

// Both inverses of inner o offset o outer are outer' o -offset o inner'. A swizzle is its own inverse, and CuTe leaves
// it on the right, where it has no shape; here it is carried through outer' to the left, with the coordinate of the
// offset.
template <class Invert>
AnyLayout invert(const ComposedLayout& layout, const char* what, Invert&& inverse_of) {
  const auto* inner = std::get_if<Layout>(&layout.inner());
  const Swizzle* swizzle = layout.swizzle();
  if ((swizzle == nullptr && inner == nullptr) || !layout.offset().is_leaf() || has_basis(layout.outer().stride())) {
    fail(concat("the ", what, " of ", to_string(layout),
                " is known only where the inner function is a swizzle or a layout, and the offset is an integer"));
  }
  const Node& offset = layout.offset().leaf();
  if (inner) {
    const Unchecked scope;  // the law of the whole is checked, where the parts may lead out of each other
    const IntTuple back(mul(static_int(-1), offset));
    return ComposedLayout(inverse_of(LayoutView(layout.outer())), back, inverse_of(LayoutView(*inner)));
  }
  const Layout inverse = inverse_of(LayoutView(layout.outer()));
  const AnyLayout carried = [&] {
    const Unchecked scope;
    return composition(inverse, *swizzle);
  }();
  const auto* behind = std::get_if<ComposedLayout>(&carried);
  if (offset.is(0)) return carried;
  const FlatFunction coordinate(modes_of(inverse));
  const int64_t back = checked_mul(-1, coordinate((*swizzle)(known(offset))));
  const Node start = offset.is_static() ? static_int(back) : dynamic_int(back, 1, offset.is_wide());
  const Swizzle outside = behind ? *behind->swizzle() : Swizzle(0, 0, 0);
  return ComposedLayout(outside, IntTuple(start), inverse);
}

// Whether the answer is CuTe's own, which unchecked() gives as it is.
bool is_cutes(const ComposedLayout& layout) { return layout.swizzle() == nullptr || layout.offset().leaf().is(0); }

std::string answer_text(const ComposedLayout& layout, const AnyLayout& inverse) {
  if (is_cutes(layout)) return "CuTe's answer";
  return concat(text_of(inverse), " with the swizzle on the left");
}

void require_identity(const Chain& chain, const Layout& domain, const char* law, const std::string& answer) {
  require_equal(chain, Chain::coordinate(domain), size(domain).value, "i", [&](const CounterExample& at) {
    return concat(law, " fails for ", answer, ": at ", at.coordinate, " it gives ", at.got);
  });
}

}  // namespace

AnyLayout right_inverse(const ComposedLayout& layout) {
  const AnyLayout inverse = invert(layout, "right inverse", [](LayoutView l) { return right_inverse(l); });
  if (checks_enabled() || !is_cutes(layout)) {
    require_identity(chain_of(inverse).then(layout.outer()).inside(layout), outer_of(inverse), "A(R(i)) = i",
                     answer_text(layout, inverse));
  }
  return inverse;
}

AnyLayout left_inverse(const ComposedLayout& layout) {
  const AnyLayout inverse = invert(layout, "left inverse", [](LayoutView l) { return left_inverse(l); });
  if (checks_enabled() || !is_cutes(layout)) {
    require_identity(chain_of(layout).then(outer_of(inverse)).inside(inverse), layout.outer(), "L(A(i)) = i",
                     answer_text(layout, inverse));
  }
  return inverse;
}

// CuTe does not look.
Layout nullspace(const ComposedLayout&) { return Layout::leaf(static_int(1), static_int(0)); }

Node max_alignment(const Swizzle& swizzle) { return static_int(int64_t{1} << swizzle.base()); }

Node max_alignment(const ComposedLayout& layout) {
  if (layout.swizzle() == nullptr) return static_int(1);  // CuTe does not look
  const int64_t whole = std::gcd(max_alignment(*layout.swizzle()).value, max_alignment(layout.outer()).value);
  return static_int(std::gcd(whole, divisibility(layout.offset().leaf())));
}

Layout make_fragment_like(const ComposedLayout& layout) {
  if (layout.swizzle() == nullptr)
    fail(concat("a fragment is made like ", to_string(layout), " only where its inner function is a swizzle"));
  return make_fragment_like(layout.outer());
}

ComposedLayout domain_offset(TupleView coord, const ComposedLayout& layout) {
  return {layout.inner(), add_offset(layout.offset(), crd2idx(coord, layout.outer())), layout.outer()};
}

// ---- common vectors
// -------------------------------------------------------------------------------------------------------------------

namespace {

void require_swizzles(const AnyLayout& a, const AnyLayout& b) {
  for (const AnyLayout* layout : {&a, &b}) {
    const auto* composed = std::get_if<ComposedLayout>(layout);
    if (composed && composed->swizzle() == nullptr)
      fail(concat("the common vector of ", to_string(*composed), " is known only for swizzles"));
  }
}

Layout common_of_outers(const AnyLayout& a, const AnyLayout& b) {
  const Unchecked scope;
  return max_common_layout(LayoutView(outer_of(a)), LayoutView(outer_of(b)));
}

// The elements of the vector follow each other from wherever the first lies: the offset of a swizzled layout moves all.
void require_contiguous(const AnyLayout& layout, const Layout& vector) {
  const Chain elements = Chain(modes_of(vector)).then(outer_of(layout)).inside(layout);
  const int64_t start = elements(0);
  require_equal(elements, Chain::coordinate(vector).plus(start), size(vector).value, "consecutive offsets",
                [&](const CounterExample& at) {
                  return concat("CuTe answers ", to_string(vector), ", but element ", at.coordinate,
                                " of it lies at offset ", at.got, " of ", text_of(layout),
                                ", and the vector begins at ", start);
                });
}

// Two layouts with the same swizzle share the vector in the order of its offsets, where these are a run and the offset
// in front of the swizzle does not change their order. A swizzle permutes the offsets of an aligned block.
void require_run(const ComposedLayout& a, const ComposedLayout& b, const Layout& vector) {
  const int64_t count = size(vector).value;
  const Swizzle& swizzle = *a.swizzle();
  const int64_t start = a.offset().leaf().value, other = b.offset().leaf().value;
  const int64_t block = swizzle.shift() < 0 ? swizzle.period() : int64_t{1} << (swizzle.base() + swizzle.bits());
  const bool same = (start - other) % swizzle.period() == 0;
  if (same && start % block == 0 && count % block == 0) return;
  if (count > kScanLimit)
    fail(concat("the ", count, " elements that CuTe answers were not compared: use unchecked() to take its answer"));
  int64_t least = swizzle(start), greatest = least;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = swizzle(start + i), there = swizzle(other + i);
    least = std::min(least, at), greatest = std::max(greatest, at);
    const int64_t expected = at - swizzle(start) + swizzle(other);
    if (there == expected) continue;
    const CounterExample example(i, there, expected);
    throw LayoutError(concat("CuTe answers ", count, " elements, but element ", i, " of them lies at offset ", at,
                             " of ", to_string(a), " and at ", there, " of ", to_string(b), ", which begin at ",
                             swizzle(start), " and ", swizzle(other)),
                      example);
  }
  if (greatest - least == count - 1) return;
  fail(concat("CuTe answers ", count, " elements, but in ", to_string(a), " they lie at offsets ", least, " to ",
              greatest));
}

}  // namespace

Layout max_common_layout(const AnyLayout& a, const AnyLayout& b) {
  const auto* plain_a = std::get_if<Layout>(&a);
  const auto* plain_b = std::get_if<Layout>(&b);
  if (plain_a && plain_b) return max_common_layout(LayoutView(*plain_a), LayoutView(*plain_b));
  require_swizzles(a, b);
  Layout vector = common_of_outers(a, b);
  // A swizzle keeps runs of 2^M together.
  for (const AnyLayout* layout : {&a, &b}) {
    const auto* composed = std::get_if<ComposedLayout>(layout);
    const Node run = composed ? max_alignment(*composed->swizzle()) : size(vector);
    if (run.value < size(vector).value)
      vector = composition(LayoutView(vector), LayoutView(Layout::leaf(run, static_int(1))));
  }
  if (checks_enabled()) require_contiguous(a, vector), require_contiguous(b, vector);
  return vector;
}

int64_t max_common_vector(const AnyLayout& a, const AnyLayout& b) {
  const auto* composed_a = std::get_if<ComposedLayout>(&a);
  const auto* composed_b = std::get_if<ComposedLayout>(&b);
  require_swizzles(a, b);
  if (!composed_a || !composed_b || !(*composed_a->swizzle() == *composed_b->swizzle()))
    return size(max_common_layout(a, b)).value;
  const Layout vector = common_of_outers(a, b);
  if (checks_enabled()) {
    require_contiguous(composed_a->outer(), vector), require_contiguous(composed_b->outer(), vector);
    require_run(*composed_a, *composed_b, vector);
  }
  return size(vector).value;
}

}  // namespace tilewright
