// The integers of the algebra: static or dynamic, possibly scaling a basis element.
//
// A leaf of an IntTuple is one 16-byte Node; so is the header of a tuple. What depends on structure (may two modes
// merge? does a stride divide a shape?) asks only static facts, exactly as CuTe's types do; a dynamic number passes
// through the operations declared here and nowhere else. Arithmetic is 64-bit and every overflow is an error.
//
// Rules of mixing, the same as CuTe's:
//   static op static    -> static
//   0 * x, x * 0        -> static 0       0 / x, 0 % x, x % 1 -> static 0
//   anything else       -> dynamic
#pragma once

#include <cstdint>
#include <string>

#include "error.hpp"

namespace tilewright {

using BasisId = uint32_t;  // 0: a plain integer; otherwise a path in the table of basis.hpp

struct Node {
  enum Kind : uint32_t { kInteger = 0, kTuple = 1, kNone = 2 };

  int64_t value = 0;  // integer: the number; tuple: nodes of the subtree, this one included
  uint32_t aux = 1;   // dynamic integer: a number known to divide it; tuple: number of children
  uint32_t tag = 0;   // kind (2 bits), dynamic, 64-bit, symbolic, basis id

  Kind kind() const { return static_cast<Kind>(tag & 3u); }
  bool is_integer() const { return kind() == kInteger; }
  bool is_tuple() const { return kind() == kTuple; }
  bool is_none() const { return kind() == kNone; }
  bool is_dynamic() const { return (tag & 4u) != 0; }
  bool is_static() const { return !is_dynamic(); }
  bool is_wide() const { return (tag & 8u) != 0; }
  // A dynamic integer whose value nobody knows yet: `value` is the id of a value in the program being traced.
  bool is_symbolic() const { return (tag & 16u) != 0; }
  BasisId basis() const { return tag >> 5; }
  bool has_basis() const { return (tag >> 5) != 0; }

  // Nodes of the subtree, and modes at its top (a leaf is one mode).
  int64_t span() const { return is_tuple() ? value : 1; }
  int64_t rank() const { return is_tuple() ? aux : 1; }

  // Statically known to be the plain integer v.
  bool is(int64_t v) const { return value == v && (tag & ~8u) == 0; }

  friend bool operator==(const Node& a, const Node& b) {
    return a.value == b.value && (a.tag & ~8u) == (b.tag & ~8u) && (!a.is_tuple() || a.aux == b.aux);
  }
};

static_assert(sizeof(Node) == 16);

inline constexpr uint32_t kDynamicBit = 4u;
inline constexpr uint32_t kWideBit = 8u;
inline constexpr uint32_t kSymbolicBit = 16u;

inline Node static_int(int64_t value) { return Node{value, 1, 0}; }
inline Node none_node() { return Node{0, 1, Node::kNone}; }
Node dynamic_int(int64_t value, int64_t divisor, bool wide);
inline Node with_basis(Node node, BasisId basis) {
  node.tag = (node.tag & 31u) | (basis << 5);
  return node;
}
inline Node without_basis(Node node) { return with_basis(node, 0); }

// The largest number known to divide the node.
int64_t divisibility(const Node& node);
// The number of a node where an operation cannot do without: raises where nobody knows it yet.
[[noreturn]] void unknown_number();
inline int64_t known(const Node& node) {
  if (node.is_symbolic()) unknown_number();
  return node.value;
}

Node add(const Node& a, const Node& b);
Node sub(const Node& a, const Node& b);
Node mul(const Node& a, const Node& b);
Node div(const Node& a, const Node& b);  // towards zero
Node mod(const Node& a, const Node& b);  // sign of a
Node ceil_div(const Node& a, const Node& b);
Node min(const Node& a, const Node& b);
Node max(const Node& a, const Node& b);
Node abs(const Node& a);
Node sign(const Node& a);
// CuTe's division of extents: a / b where b divides a, else 1 where a divides b. Where neither divides the other CuTe
// rounds up, if it does not know; that is the answer inside an Unchecked scope.
Node shape_div(const Node& a, const Node& b);

// Statically known to be equal.
inline bool static_equal(const Node& a, const Node& b) {
  return a.is_static() && b.is_static() && a.value == b.value && a.basis() == b.basis();
}

// Whether the operations of this thread check their laws; see Unchecked in algebra.hpp.
bool checks_enabled();

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);

}  // namespace tilewright
