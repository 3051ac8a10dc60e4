#include "int_tuple.hpp"

#include <algorithm>

#include "basis.hpp"

namespace tilewright {

TupleView TupleView::mode(int64_t i) const {
  if (i < 0 || i >= rank())
    fail(concat("mode ", i, " does not exist: ", to_string(*this), " has ", counted(rank(), "mode")));
  if (is_leaf()) return *this;
  const Node* child = node_ + 1;
  for (; i > 0; --i) child += child->span();
  return TupleView(child);
}

bool operator==(const IntTuple& a, const IntTuple& b) {
  return a.nodes_.size() == b.nodes_.size() && std::equal(a.nodes_.begin(), a.nodes_.end(), b.nodes_.begin());
}

namespace {

std::string leaf_text(const Node& node) {
  if (node.is_none()) return "_";
  std::string text;
  if (node.is_static()) {
    text = std::to_string(node.value);
  } else if (node.is_wide()) {
    text = node.aux > 1 ? concat("?{i64 div=", node.aux, "}") : "?{i64}";
  } else {
    text = node.aux > 1 ? concat("?{div=", node.aux, "}") : "?";
  }
  return text + basis_suffix(node.basis());
}

void write(TupleView view, std::string& out) {
  if (view.is_leaf()) {
    out += leaf_text(*view);
    return;
  }
  out += '(';
  bool first = true;
  for_each_mode(view, [&](TupleView mode) {
    if (!first) out += ',';
    first = false;
    write(mode, out);
  });
  out += ')';
}

}  // namespace

std::string to_string(TupleView view) {
  std::string out;
  write(view, out);
  return out;
}

std::string values_text(TupleView view) {
  return to_string(map_leaves(
      view, [](const Node& leaf) { return leaf.is_none() ? leaf : with_basis(static_int(leaf.value), leaf.basis()); }));
}

std::size_t hash_value(TupleView view) {
  std::size_t hash = 0x9e3779b97f4a7c15ull;
  for (const Node* node = view.get(); node != view.get() + view.span(); ++node) {
    for (const uint64_t word : {static_cast<uint64_t>(node->value), static_cast<uint64_t>(node->tag & ~8u)}) {
      hash ^= word + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
    }
  }
  return hash;
}

std::string mode_text(TupleView tree, const Node* leaf) {
  std::string path;
  bool nested = false;
  while (!tree.is_leaf()) {
    int64_t i = 0;
    TupleView mode = tree.mode(0);
    while (leaf >= mode.get() + mode.span()) mode = tree.mode(++i);
    nested = !path.empty();
    path += concat(nested ? "," : "", i);
    tree = mode;
  }
  if (path.empty()) return path;
  return nested ? concat("mode (", path, ")") : concat("mode ", path);
}

void too_many_entries() {
  fail(concat("a tuple has at most ", kMaxNodes, " entries, nested tuples included: use fewer or larger modes"));
}

void check_depth(int64_t depth) {
  if (depth > kMaxDepth)
    fail(concat("a tuple is nested at most ", kMaxDepth, " deep: flatten it, or group fewer modes"));
}

int64_t depth(TupleView view) {
  if (view.is_leaf()) return 0;
  int64_t deepest = 0;
  for_each_mode(view, [&](TupleView mode) { deepest = std::max(deepest, depth(mode)); });
  return deepest + 1;
}

bool congruent(TupleView a, TupleView b) {
  if (a.span() != b.span()) return false;
  for (int64_t i = 0; i < a.span(); ++i) {
    const Node &x = a.get()[i], &y = b.get()[i];
    if (x.is_tuple() != y.is_tuple() || (x.is_tuple() && x.rank() != y.rank())) return false;
  }
  return true;
}

bool weakly_congruent(TupleView a, TupleView b) {
  if (a.is_leaf()) return true;
  if (b.is_leaf() || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!weakly_congruent(a.mode(i), b.mode(i))) return false;
  }
  return true;
}

bool compatible(TupleView a, TupleView b) {
  if (a.is_leaf()) return known(*a) == known(product(b));
  if (b.is_leaf() || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!compatible(a.mode(i), b.mode(i))) return false;
  }
  return true;
}

bool all_static(TupleView view) {
  bool result = true;
  for_each_leaf(view, [&](const Node& leaf) { result = result && leaf.is_static(); });
  return result;
}

bool has_none(TupleView view) {
  bool result = false;
  for_each_leaf(view, [&](const Node& leaf) { result = result || leaf.is_none(); });
  return result;
}

bool has_basis(TupleView view) {
  bool result = false;
  for_each_leaf(view, [&](const Node& leaf) { result = result || leaf.has_basis(); });
  return result;
}

IntTuple flatten_to_tuple(TupleView view) {
  TupleBuilder builder;
  builder.open();
  for_each_leaf(view, [&](const Node& leaf) { builder.leaf(leaf); });
  builder.close();
  return builder.take();
}

IntTuple flatten(TupleView view) { return view.is_leaf() ? IntTuple(view) : flatten_to_tuple(view); }

IntTuple unflatten(TupleView flat, TupleView profile) {
  int64_t slots = 0;
  for_each_leaf(profile, [&](const Node&) { ++slots; });
  if (slots != flat.rank()) {
    fail(concat(to_string(flat), " has ", counted(flat.rank(), "mode"), ", but the profile ", to_string(profile),
                " has room for ", slots));
  }
  int64_t next = 0;
  TupleBuilder builder;
  auto fill = [&](auto&& self, TupleView slot) -> void {
    if (slot.is_leaf()) {
      builder.copy(flat.mode(next++));
      return;
    }
    builder.open();
    for_each_mode(slot, [&](TupleView mode) { self(self, mode); });
    builder.close();
  };
  fill(fill, profile);
  return builder.take();
}

IntTuple wrap(TupleView view) {
  if (!view.is_leaf()) return IntTuple(view);
  TupleBuilder builder;
  builder.open();
  builder.copy(view);
  builder.close();
  return builder.take();
}

IntTuple unwrap(TupleView view) {
  while (!view.is_leaf() && view.rank() == 1) view = view.mode(0);
  return IntTuple(view);
}

IntTuple repeat_like(TupleView view, const Node& leaf) {
  return map_leaves(view, [&](const Node&) { return leaf; });
}

Node product(TupleView view) {
  Node result = static_int(1);
  for_each_leaf(view, [&](const Node& leaf) {
    // A first factor stays what it is: 1 * x would lose nothing, but a static 1 must not turn a basis element plain.
    result = result.is(1) ? leaf : mul(result, leaf);
  });
  return result;
}

Node sum(TupleView view) {
  Node result = static_int(0);
  for_each_leaf(view, [&](const Node& leaf) { result = add(result, leaf); });
  return result;
}

IntTuple product_each(TupleView view) {
  TupleBuilder builder;
  builder.open();
  for_each_mode(view, [&](TupleView mode) { builder.leaf(product(mode)); });
  builder.close();
  return builder.take();
}

namespace {

[[noreturn]] void rank_mismatch(TupleView a, TupleView b) {
  fail(concat("the ranks differ: ", to_string(a), " has ", counted(a.rank(), "mode"), ", ", to_string(b), " has ",
              b.rank()));
}

[[noreturn]] void more_modes(TupleView b, TupleView a) {
  fail(concat(to_string(b), " has ", counted(b.rank(), "mode"), ", more than ", to_string(a), " with ", a.rank()));
}

[[noreturn]] void kind_mismatch(TupleView a, TupleView b) {
  fail(concat("an integer meets a tuple: ", to_string(a), " and ", to_string(b), " must have the same profile"));
}

// Applies f to pairs of leaves of congruent trees.
template <class F>
IntTuple zip_leaves(TupleView a, TupleView b, F&& f) {
  if (!congruent(a, b)) {
    if (a.is_leaf() != b.is_leaf()) kind_mismatch(a, b);
    if (a.rank() != b.rank()) rank_mismatch(a, b);
    fail(concat("the profiles differ: ", to_string(a), " and ", to_string(b), " must be congruent"));
  }
  Nodes nodes;
  nodes.append(a.get(), static_cast<std::size_t>(a.span()));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_tuple()) nodes[i] = f(nodes[i], b.get()[i]);
  }
  return IntTuple(std::move(nodes));
}

// Divides a tuple by one number, mode after mode: each mode takes its part, the rest goes on.
template <class Divide>
IntTuple divide_through(TupleView a, Node rest, Divide&& divide) {
  TupleBuilder builder;
  builder.open();
  int64_t i = 0;
  for_each_mode(a, [&](TupleView mode) {
    in_mode(i++, [&] {
      builder.copy(divide(mode, IntTuple(rest).view()));
      rest = divide(IntTuple(rest).view(), mode).leaf();
    });
  });
  builder.close();
  return builder.take();
}

}  // namespace

IntTuple product_like(TupleView view, TupleView guide) {
  if (guide.is_leaf()) return IntTuple(product(view));
  if (view.is_leaf()) kind_mismatch(view, guide);
  if (view.rank() != guide.rank()) rank_mismatch(view, guide);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < view.rank(); ++i)
    builder.copy(in_mode(i, [&] { return product_like(view.mode(i), guide.mode(i)); }));
  builder.close();
  return builder.take();
}

Node inner_product(TupleView a, TupleView b) {
  Node result = static_int(0);
  zip_leaves(a, b, [&](const Node& x, const Node& y) {
    result = add(result, mul(x, y));
    return x;
  });
  return result;
}

IntTuple elem_scale(TupleView a, TupleView b) {
  if (a.is_leaf()) return IntTuple(mul(*a, product(b)));
  if (b.is_leaf()) kind_mismatch(a, b);
  if (a.rank() != b.rank()) rank_mismatch(a, b);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < a.rank(); ++i) builder.copy(in_mode(i, [&] { return elem_scale(a.mode(i), b.mode(i)); }));
  builder.close();
  return builder.take();
}

IntTuple ceil_div(TupleView a, TupleView b) {
  if (a.is_leaf()) return IntTuple(ceil_div(*a, product(b)));
  if (b.is_leaf()) {
    return divide_through(a, *b, [](TupleView x, TupleView y) { return ceil_div(x, y); });
  }
  if (a.rank() < b.rank()) more_modes(b, a);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < a.rank(); ++i) {
    builder.copy(i < b.rank() ? in_mode(i, [&] { return ceil_div(a.mode(i), b.mode(i)); }) : IntTuple(a.mode(i)));
  }
  builder.close();
  return builder.take();
}

IntTuple round_up(TupleView a, TupleView b) {
  if (a.is_leaf() != b.is_leaf()) kind_mismatch(a, b);
  if (a.is_leaf()) return IntTuple(mul(ceil_div(*a, *b), *b));
  if (a.rank() < b.rank()) more_modes(b, a);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < a.rank(); ++i) {
    builder.copy(i < b.rank() ? in_mode(i, [&] { return round_up(a.mode(i), b.mode(i)); }) : IntTuple(a.mode(i)));
  }
  builder.close();
  return builder.take();
}

IntTuple shape_div(TupleView a, TupleView b) {
  if (a.is_leaf()) return IntTuple(shape_div(*a, product(b)));
  if (b.is_leaf()) {
    return divide_through(a, *b, [](TupleView x, TupleView y) { return shape_div(x, y); });
  }
  if (a.rank() != b.rank()) rank_mismatch(a, b);
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < a.rank(); ++i) builder.copy(in_mode(i, [&] { return shape_div(a.mode(i), b.mode(i)); }));
  builder.close();
  return builder.take();
}

bool evenly_divides(TupleView shape, TupleView tiler) {
  if (!shape.is_leaf() && !tiler.is_leaf() && tiler.rank() > shape.rank()) return false;
  return known(product(shape)) == checked_mul(known(product(tiler)), known(product(ceil_div(shape, tiler))));
}

bool lex_less(TupleView a, TupleView b) {
  if (a.is_leaf() != b.is_leaf()) kind_mismatch(a, b);
  if (a.is_leaf()) return known(*a) < known(*b);
  for (int64_t i = 0; i < a.rank() && i < b.rank(); ++i) {
    const TupleView x = a.mode(i), y = b.mode(i);
    if (in_mode(i, [&] { return lex_less(x, y); })) return true;
    if (lex_less(y, x)) return false;
  }
  return a.rank() < b.rank();
}

bool colex_less(TupleView a, TupleView b) {
  if (a.is_leaf() != b.is_leaf()) kind_mismatch(a, b);
  if (a.is_leaf()) return known(*a) < known(*b);
  for (int64_t i = 1; i <= a.rank() && i <= b.rank(); ++i) {
    const TupleView x = a.mode(a.rank() - i), y = b.mode(b.rank() - i);
    if (in_mode(a.rank() - i, [&] { return colex_less(x, y); })) return true;
    if (colex_less(y, x)) return false;
  }
  return a.rank() < b.rank();
}

bool elem_less(TupleView a, TupleView b) {
  if (a.is_leaf() != b.is_leaf()) kind_mismatch(a, b);
  if (a.is_leaf()) return known(*a) < known(*b);
  if (a.rank() > b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!in_mode(i, [&] { return elem_less(a.mode(i), b.mode(i)); })) return false;
  }
  return true;
}

IntTuple compact(TupleView shape, TupleView start, Major major) {
  if (!start.is_leaf()) {
    if (shape.is_leaf()) kind_mismatch(shape, start);
    if (shape.rank() != start.rank()) rank_mismatch(shape, start);
    TupleBuilder builder;
    builder.open();
    for (int64_t i = 0; i < shape.rank(); ++i)
      builder.copy(in_mode(i, [&] { return compact(shape.mode(i), start.mode(i), major); }));
    builder.close();
    return builder.take();
  }
  Nodes nodes;
  nodes.append(shape.get(), static_cast<std::size_t>(shape.span()));
  Node current = *start;
  const std::size_t count = nodes.size();
  for (std::size_t k = 0; k < count; ++k) {
    Node& node = nodes[major == Major::kLeft ? k : count - 1 - k];
    if (node.is_tuple()) continue;
    const Node extent = node;
    node = extent.is(1) ? static_int(0) : current;
    if (!extent.is(1)) current = mul(current, extent);
  }
  return IntTuple(std::move(nodes));
}

IntTuple compact_order(TupleView shape, TupleView order) {
  if (!weakly_congruent(order, shape)) {
    fail(concat("the order ", to_string(order), " does not fit the shape ", to_string(shape),
                ": one entry per mode is needed"));
  }
  struct Entry {
    int64_t order;
    Node size;
  };
  SmallVector<Entry, 8> entries;
  int64_t largest = 0;
  // Basis elements have no order among each other: like dynamic entries, they come last, from left to right.
  const auto is_known = [](const Node& leaf) { return leaf.is_static() && !leaf.has_basis(); };
  for_each_leaf(order, [&](const Node& leaf) {
    if (is_known(leaf)) largest = std::max(largest, leaf.value);
  });
  auto collect = [&](auto&& self, TupleView part, TupleView entry) -> void {
    if (entry.is_leaf()) {
      entries.push_back(
          {is_known(*entry) ? entry->value : largest + 1 + static_cast<int64_t>(entries.size()), product(part)});
      return;
    }
    for (int64_t i = 0; i < entry.rank(); ++i) self(self, part.mode(i), entry.mode(i));
  };
  collect(collect, shape, order);
  std::size_t next = 0;
  TupleBuilder builder;
  auto emit = [&](auto&& self, TupleView part, TupleView entry) -> void {
    if (entry.is_leaf()) {
      Node start = static_int(1);
      for (const Entry& other : entries) {
        if (other.order < entries[next].order) start = mul(start, other.size);
      }
      ++next;
      builder.copy(compact(part, IntTuple(start), Major::kLeft));
      return;
    }
    builder.open();
    for (int64_t i = 0; i < entry.rank(); ++i) self(self, part.mode(i), entry.mode(i));
    builder.close();
  };
  emit(emit, shape, order);
  return builder.take();
}

IntTuple coalesce_shape(TupleView shape) {
  SmallVector<Node, 8> merged;
  for_each_leaf(shape, [&](const Node& leaf) {
    if (!merged.empty() && merged.back().is_static() == leaf.is_static()) {
      merged.back() = mul(merged.back(), leaf);
    } else {
      merged.push_back(leaf);
    }
  });
  if (merged.size() == 1) return IntTuple(merged[0]);
  TupleBuilder builder;
  builder.open();
  for (const Node& node : merged) builder.leaf(node);
  builder.close();
  return builder.take();
}

IntTuple basis_like(TupleView shape) {
  TupleBuilder builder;
  BasisPath outermost_first;
  auto emit = [&](auto&& self, TupleView part) -> void {
    if (part.is_leaf()) {
      BasisPath path;
      for (std::size_t i = outermost_first.size(); i-- > 0;) path.push_back(outermost_first[i]);
      builder.leaf(with_basis(static_int(1), basis_id(path)));
      return;
    }
    builder.open();
    uint32_t i = 0;
    for_each_mode(part, [&](TupleView mode) {
      outermost_first.push_back(i++);
      self(self, mode);
      outermost_first.pop_back();
    });
    builder.close();
  };
  emit(emit, shape);
  return builder.take();
}

}  // namespace tilewright
