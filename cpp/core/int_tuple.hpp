// IntTuple: a nested tuple of integers, kept flat.
//
// The tree is its preorder: a tuple is a header node followed by its children. `(4,(2,3))` is five nodes,
//
//     index      0         1     2          3     4
//     node    tuple(2)     4   tuple(2)     2     3
//     span       5         1     3          1     1
//
// so a mode is a pointer, the next mode lies span nodes further, and a shape and a congruent stride are walked in step.
// A header says how many children it has and how many nodes it spans. A coordinate may also hold None (CuTe's
// underscore).
//
// The alternative, a tree of heap objects, costs one allocation a leaf and a pointer chase a step; this one copies with
// memcpy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "integer.hpp"
#include "small_vector.hpp"

namespace tilewright {

using Nodes = SmallVector<Node, 8>;

inline constexpr int kMaxDepth = 64;
// Beyond any real layout; what is quadratic in the number of modes stays far below a second.
inline constexpr std::size_t kMaxNodes = 1u << 12;
[[noreturn]] void too_many_entries();
// Raises where a tuple would be nested deeper than kMaxDepth.
void check_depth(int64_t depth);

// A view of one (sub)tree: a pointer to its first node.
class TupleView {
 public:
  TupleView(const Node* node) : node_(node) {}  // NOLINT: a view is its pointer

  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  const Node* get() const { return node_; }
  bool is_leaf() const { return !node_->is_tuple(); }
  int64_t span() const { return node_->span(); }
  int64_t rank() const { return node_->rank(); }
  // Mode i; a leaf is its own mode 0.
  TupleView mode(int64_t i) const;

 private:
  const Node* node_;
};

// Calls f(child) for each mode at the top of a view; a leaf is its own single mode.
template <class F>
void for_each_mode(TupleView view, F&& f) {
  if (view.is_leaf()) {
    f(view);
    return;
  }
  const Node* child = view.get() + 1;
  for (int64_t i = 0; i < view.rank(); ++i) {
    f(TupleView(child));
    child += child->span();
  }
}

// Calls f(leaf) for each leaf in order.
template <class F>
void for_each_leaf(TupleView view, F&& f) {
  const Node* const end = view.get() + view.span();
  for (const Node* node = view.get(); node != end; ++node) {
    if (!node->is_tuple()) f(*node);
  }
}

class IntTuple {
 public:
  IntTuple() { open_empty(); }
  explicit IntTuple(const Node& leaf) { nodes_.push_back(leaf); }
  explicit IntTuple(TupleView view) { nodes_.append(view.get(), static_cast<std::size_t>(view.span())); }
  explicit IntTuple(Nodes&& nodes) : nodes_(std::move(nodes)) {}

  TupleView view() const { return TupleView(nodes_.begin()); }
  operator TupleView() const { return view(); }  // NOLINT: passing an IntTuple where a view is read is the point
  bool is_leaf() const { return view().is_leaf(); }
  int64_t rank() const { return view().rank(); }
  const Node& leaf() const { return nodes_[0]; }
  const Nodes& nodes() const { return nodes_; }
  Nodes& nodes() { return nodes_; }

  friend bool operator==(const IntTuple& a, const IntTuple& b);

 private:
  void open_empty() { nodes_.push_back(Node{1, 0, Node::kTuple}); }
  Nodes nodes_;
};

// Appends a tree node by node. Every open() needs its close(), which fills in the header.
class TupleBuilder {
 public:
  void open() {
    open_.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(Node{1, 0, Node::kTuple});
  }
  void close() {
    const uint32_t header = open_.back();
    open_.pop_back();
    nodes_[header].value = static_cast<int64_t>(nodes_.size() - header);
    count_child();
  }
  void leaf(const Node& node) {
    nodes_.push_back(node);
    count_child();
  }
  void copy(TupleView view) {
    nodes_.append(view.get(), static_cast<std::size_t>(view.span()));
    count_child();
  }
  IntTuple take() { return IntTuple(std::move(nodes_)); }

 private:
  void count_child() {
    if (nodes_.size() > kMaxNodes) too_many_entries();
    if (!open_.empty()) ++nodes_[open_.back()].aux;
  }
  Nodes nodes_;
  SmallVector<uint32_t, 8> open_;
};

// The same tree with every leaf replaced by f(leaf).
template <class F>
IntTuple map_leaves(TupleView view, F&& f) {
  Nodes nodes;
  nodes.append(view.get(), static_cast<std::size_t>(view.span()));
  for (Node& node : nodes) {
    if (!node.is_tuple()) node = f(node);
  }
  return IntTuple(std::move(nodes));
}

// CuTe's text without the underscore of static integers: `(4,(2,3))`, `(3)`, `_` for None, `?{i64 div=8}` for a dynamic
// leaf.
std::string to_string(TupleView view);
// The same with the values of dynamic leaves, as printf shows them.
std::string values_text(TupleView view);
std::size_t hash_value(TupleView view);
// `mode 1`, of nested modes `mode (1,0)`, for a leaf inside a tree; empty where the tree is that leaf.
std::string mode_text(TupleView tree, const Node* leaf);

// Structure.
int64_t depth(TupleView view);
bool congruent(TupleView a, TupleView b);
bool weakly_congruent(TupleView a, TupleView b);
bool compatible(TupleView a, TupleView b);
bool all_static(TupleView view);
bool has_none(TupleView view);
bool has_basis(TupleView view);
IntTuple flatten(TupleView view);           // a leaf stays a leaf
IntTuple flatten_to_tuple(TupleView view);  // always a tuple
IntTuple unflatten(TupleView flat, TupleView profile);
IntTuple wrap(TupleView view);
IntTuple unwrap(TupleView view);
IntTuple repeat_like(TupleView view, const Node& leaf);

// Arithmetic over leaves.
Node product(TupleView view);
Node sum(TupleView view);
IntTuple product_each(TupleView view);
IntTuple product_like(TupleView view, TupleView guide);
Node inner_product(TupleView a, TupleView b);
IntTuple elem_scale(TupleView a, TupleView b);
IntTuple ceil_div(TupleView a, TupleView b);
IntTuple round_up(TupleView a, TupleView b);
IntTuple shape_div(TupleView a, TupleView b);
// size(shape) == size(tiler) * size(ceil_div(shape, tiler)): tiles cover the shape without overhang.
bool evenly_divides(TupleView shape, TupleView tiler);
bool lex_less(TupleView a, TupleView b);
bool colex_less(TupleView a, TupleView b);
bool elem_less(TupleView a, TupleView b);

// Strides of the compact layout of a shape; a static extent of 1 gets stride 0.
enum class Major { kLeft, kRight };
IntTuple compact(TupleView shape, TupleView start, Major major);
inline IntTuple compact_left(TupleView shape) { return compact(shape, IntTuple(static_int(1)), Major::kLeft); }
// Compact strides whose order follows `order` (0 is fastest); a dynamic order entry sorts after the static ones.
IntTuple compact_order(TupleView shape, TupleView order);

// CuTe's coalesce of a shape: neighbouring static extents, and neighbouring dynamic ones, become their product.
IntTuple coalesce_shape(TupleView shape);

// The strides E(path) of the identity layout of a shape.
IntTuple basis_like(TupleView shape);

}  // namespace tilewright
