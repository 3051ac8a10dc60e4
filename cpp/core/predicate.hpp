// Conditions on integers that are not known yet, such as the extents of a layout that only a launch knows.
//
//     n <= 128 or 128 | n
//
// A predicate compares products and sums of unknowns: divides, at most, equal, and, or. What makes one simplifies it by
// what is known of its unknowns: an extent is positive, and a number may be known to divide it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct Unknown {
  std::string name;      // `n`
  std::string meaning;   // `size<0>(A)`
  int64_t divisor = 1;   // divides it
  bool positive = true;  // else it may be any integer
};

// A product: a coefficient and unknowns by their indices, ascending.
struct Monomial {
  int64_t coefficient = 1;
  std::vector<uint32_t> unknowns = {};

  Monomial(int64_t value = 1) : coefficient(value) {}  // NOLINT: a number is a product
  static Monomial unknown(uint32_t index);

  bool is_constant() const { return unknowns.empty(); }
  bool is(int64_t value) const { return is_constant() && coefficient == value; }
  int64_t at(const std::vector<int64_t>& values) const;
  friend Monomial operator*(const Monomial& a, const Monomial& b);
  friend bool operator==(const Monomial&, const Monomial&) = default;
};

// A sum of products with different unknowns.
struct Polynomial {
  std::vector<Monomial> terms = {};

  Polynomial() = default;
  Polynomial(const Monomial& term);                           // NOLINT: a product is a sum
  Polynomial(int64_t value) : Polynomial(Monomial(value)) {}  // NOLINT
  int64_t at(const std::vector<int64_t>& values) const;
  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

class Predicate {
 public:
  enum class Kind { kTrue, kFalse, kDivides, kAtMost, kEqual, kAll, kAny };

  Predicate(bool value = true) : kind_(value ? Kind::kTrue : Kind::kFalse) {}  // NOLINT: a truth value is one
  Predicate(Kind kind, Polynomial left, Polynomial right)
      : kind_(kind), left_(std::move(left)), right_(std::move(right)) {}
  Predicate(Kind kind, std::vector<Predicate> parts) : kind_(kind), parts_(std::move(parts)) {}

  Kind kind() const { return kind_; }
  bool is_true() const { return kind_ == Kind::kTrue; }
  bool is_false() const { return kind_ == Kind::kFalse; }
  // Of divides, at most and equal.
  const Polynomial& left() const { return left_; }
  const Polynomial& right() const { return right_; }
  // Of all and any.
  const std::vector<Predicate>& parts() const { return parts_; }

  // By one value for each unknown. Throws where a number in it does not fit into 64 bits.
  bool holds(const std::vector<int64_t>& values) const;
  // The unknowns in it, ascending.
  std::vector<uint32_t> unknowns() const;
  // The same with other indices: unknown i becomes indices[i].
  Predicate renamed(const std::vector<uint32_t>& indices) const;
  std::string text(const std::vector<Unknown>& unknowns) const;

  friend bool operator==(const Predicate&, const Predicate&) = default;

 private:
  Kind kind_;
  Polynomial left_;
  Polynomial right_;
  std::vector<Predicate> parts_;
};

// Makes predicates, simplified.
class Predicates {
 public:
  explicit Predicates(const std::vector<Unknown>& unknowns) : unknowns_(unknowns) {}

  // a | b of numbers other than 0.
  Predicate divides(const Monomial& a, const Monomial& b) const;
  Predicate at_most(const Polynomial& a, const Polynomial& b) const;
  Predicate equal(const Polynomial& a, const Polynomial& b) const;
  Predicate all(std::vector<Predicate> parts) const;
  Predicate any(std::vector<Predicate> parts) const;

 private:
  bool implies(const Predicate& p, const Predicate& q) const;
  const std::vector<Unknown>& unknowns_;
};

}  // namespace tilewright
