#include "operations.hpp"

#include <algorithm>

#include "core/steps.hpp"

namespace tilewright::page {

namespace {

Value from(AnyLayout layout) {
  return std::visit([](auto&& kind) { return Value(std::move(kind)); }, std::move(layout));
}

// f on a layout, or on the layout that a swizzle follows.
template <class F>
Value lift(const Value& value, F&& f) {
  if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) return on_outer(*composed, f);
  return f(LayoutView(layout_of(value)));
}

template <class F>
Value on_any(const Value& value, F&& f) {
  if (const auto* swizzle = std::get_if<Swizzle>(&value.variant())) return f(*swizzle);
  if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) return f(*composed);
  return f(LayoutView(layout_of(value)));
}

Value compose(const Value& a, const Value& b) {
  const auto* layout = std::get_if<Layout>(&a.variant());
  const auto* swizzle = std::get_if<Swizzle>(&a.variant());
  const auto* right = std::get_if<Layout>(&b.variant());
  const auto* right_swizzle = std::get_if<Swizzle>(&b.variant());
  const auto* right_composed = std::get_if<ComposedLayout>(&b.variant());
  if (layout && right) return composition(LayoutView(*layout), LayoutView(*right));
  if (swizzle) {
    if (right_swizzle) return composition(*swizzle, *right_swizzle);
    if (!right_composed) return from(composition(*swizzle, layout_of(b)));
    if (!right_composed->swizzle()) throw KindError("expected a layout, a swizzle or a swizzled layout");
    return ComposedLayout(composition(*swizzle, *right_composed->swizzle()), right_composed->offset(),
                          right_composed->outer());
  }
  if (layout && right_swizzle) return from(composition(*layout, *right_swizzle));
  if (layout && right_composed) return from(composition(*layout, *right_composed));
  const auto* composed = std::get_if<ComposedLayout>(&a.variant());
  if (composed && right_swizzle) return from(composition(*composed, *right_swizzle));
  const Tiler tiler = tiler_of(b);
  return lift(a, [&](LayoutView l) { return composition(l, tiler); });
}

IntTuple shape_of(const Value& value) {
  if (const auto* layout = std::get_if<Layout>(&value.variant())) return layout->shape();
  if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) return composed->outer().shape();
  return tuple_of(value);
}

Layout outer_of(const Value& value) {
  const auto* composed = std::get_if<ComposedLayout>(&value.variant());
  return composed ? composed->outer() : layout_of(value);
}

template <Layout (*kOperation)(LayoutView, const Tiler&)>
Value by_tiler(const Values& x) {
  const Tiler tiler = tiler_of(x[1]);
  return lift(x[0], [&](LayoutView l) { return kOperation(l, tiler); });
}

template <Layout (*kOperation)(LayoutView, LayoutView)>
Value by_block(const Values& x) {
  const Layout tiler = tiler_of(x[1]).as_layout();
  return lift(x[0], [&](LayoutView l) { return kOperation(l, tiler); });
}

template <Layout (*kOperation)(LayoutView), Layout (*kInProfile)(LayoutView, TupleView)>
Value in_profile(const Values& x) {
  if (x.size() == 1) return lift(x[0], [](LayoutView l) { return kOperation(l); });
  return lift(x[0], [&](LayoutView l) { return kInProfile(l, tuple_of(x[1])); });
}

Value complement_of(const Values& x) {
  const Layout layout = outer_of(x[0]);
  return x.size() == 1 ? complement(layout) : complement(layout, shape_of(x[1]));
}

template <Layout (*kInverse)(LayoutView), AnyLayout (*kOfComposed)(const ComposedLayout&)>
Value inverse(const Values& x) {
  if (const auto* composed = std::get_if<ComposedLayout>(&x[0].variant())) return from(kOfComposed(*composed));
  if (const auto* swizzle = std::get_if<Swizzle>(&x[0].variant())) return *swizzle;
  return kInverse(layout_of(x[0]));
}

Value product(const Values& x) {
  const auto* block = std::get_if<Layout>(&x[0].variant());
  const auto* swizzled = std::get_if<ComposedLayout>(&x[1].variant());
  if (block && swizzled) return from(logical_product(*block, *swizzled));
  return by_tiler<logical_product>(x);
}

Value layout_tv(const Values& x) {
  TvLayout tv = make_layout_tv(layout_of(x[0]), layout_of(x[1]));
  return Values{std::move(tv.tiler), std::move(tv.layout)};
}

Value tile(const Values& x) {
  const IntTuple& shape = tuple_of(x[1]);
  TupleBuilder order;
  order.open();
  for (int64_t i = 0; i < shape.rank(); ++i) order.leaf(static_int(i));
  order.close();
  const IntTuple sequence = x.size() == 3 ? tuple_of(x[2]) : order.take();
  return lift(x[0], [&](LayoutView l) { return tile_to_shape(l, shape, sequence); });
}

Value recast_of(const Values& x) {
  const int64_t to = number_of(x[0]), old = number_of(x[1]);
  return on_any(x[2], [=](const auto& l) { return recast(l, old, to); });
}

Value index_of(const Values& x) {
  const IntTuple& coord = tuple_of(x[0]);
  if (const auto* composed = std::get_if<ComposedLayout>(&x[1].variant())) return (*composed)(coord);
  if (const auto* layout = std::get_if<Layout>(&x[1].variant())) return crd2idx(coord, LayoutView(*layout));
  return IntTuple(crd2idx(coord, tuple_of(x[1]).view()));
}

bool is_none(const Value& value) {
  const auto* tuple = std::get_if<IntTuple>(&value.variant());
  return tuple && tuple->is_leaf() && tuple->leaf().is_none();
}

struct Operation {
  std::string_view name;
  std::size_t least;  // operands
  std::size_t most;
  Value (*apply)(const Values&);
  bool explained = true;  // its steps are a derivation
};

constexpr bool kNotExplained = false;

constexpr Operation kOperations[] = {
    {"composition", 2, 2, [](const Values& x) { return compose(x[0], x[1]); }},
    {"coalesce", 1, 2, in_profile<coalesce, coalesce>},
    {"complement", 1, 2, complement_of},
    {"logical_divide", 2, 2, by_tiler<logical_divide>},
    {"zipped_divide", 2, 2, by_tiler<zipped_divide>},
    {"tiled_divide", 2, 2, by_tiler<tiled_divide>},
    {"flat_divide", 2, 2, by_tiler<flat_divide>},
    {"logical_product", 2, 2, product},
    {"zipped_product", 2, 2, by_tiler<zipped_product>},
    {"tiled_product", 2, 2, by_tiler<tiled_product>},
    {"flat_product", 2, 2, by_tiler<flat_product>},
    {"blocked_product", 2, 2, by_block<blocked_product>},
    {"raked_product", 2, 2, by_block<raked_product>},
    {"right_inverse", 1, 1, inverse<right_inverse, right_inverse>},
    {"left_inverse", 1, 1, inverse<left_inverse, left_inverse>},
    {"nullspace", 1, 1,
     [](const Values& x) -> Value {
       if (const auto* composed = std::get_if<ComposedLayout>(&x[0].variant())) return nullspace(*composed);
       return nullspace(layout_of(x[0]));
     },
     kNotExplained},
    {"filter", 1, 2, in_profile<filter, filter>, kNotExplained},
    {"filter_zeros", 1, 1, [](const Values& x) { return lift(x[0], [](LayoutView l) { return filter_zeros(l); }); },
     kNotExplained},
    {"flatten", 1, 1, [](const Values& x) { return lift(x[0], [](LayoutView l) { return flatten(l); }); },
     kNotExplained},
    {"with_shape", 2, 2,
     [](const Values& x) {
       const IntTuple shape = shape_of(x[1]);
       return lift(x[0], [&](LayoutView l) { return with_shape(l, shape); });
     },
     kNotExplained},
    {"make_layout_tv", 2, 2, layout_tv},
    {"tile_to_shape", 2, 3, tile, kNotExplained},
    {"max_common_layout", 2, 2,
     [](const Values& x) -> Value { return max_common_layout(any_layout_of(x[0]), any_layout_of(x[1])); },
     kNotExplained},
    {"upcast", 2, 2,
     [](const Values& x) {
       const int64_t n = number_of(x[1]);
       return on_any(x[0], [=](const auto& l) { return upcast(l, n); });
     },
     kNotExplained},
    {"downcast", 2, 2,
     [](const Values& x) {
       const int64_t n = number_of(x[1]);
       return on_any(x[0], [=](const auto& l) { return downcast(l, n); });
     },
     kNotExplained},
    {"recast_layout", 3, 3, recast_of, kNotExplained},
    {"crd2idx", 2, 2, index_of},
};

}  // namespace

namespace {

const Operation& operation_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                   [&](const Operation& known) { return known.name == name; });
  if (found == std::end(kOperations)) throw KindError("there is no such operation");
  return *found;
}

bool is_plain(const Value& value) {
  return !std::holds_alternative<ComposedLayout>(value.variant()) && !std::holds_alternative<Swizzle>(value.variant());
}

}  // namespace

bool is_explained(std::string_view operation, const Values& operands, const Trace& trace) {
  const bool on_outer = !trace.steps().empty() && trace.steps()[0].rule == &step::kOnOuter;
  return operation_of(operation).explained &&
         std::all_of(operands.begin() + (on_outer ? 1 : 0), operands.end(), is_plain);
}

Value apply(std::string_view operation, const Values& operands) {
  const Operation* const found = &operation_of(operation);
  if (operands.size() < found->least || operands.size() > found->most) {
    const int64_t wanted = static_cast<int64_t>(operands.size() < found->least ? found->least : found->most);
    throw KindError(concat("takes ", counted(wanted, "operand"), ", but got ", operands.size()));
  }
  return found->apply(operands);
}

std::string call_text(std::string_view operation, const Values& operands) {
  // A last operand that is None may have been left out: it is not shown.
  std::size_t count = operands.size();
  while (count > 1 && is_none(operands[count - 1])) --count;
  std::string text = std::string(operation) + "(";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + notation(operands[i]);
  return text + ")";
}

}  // namespace tilewright::page
