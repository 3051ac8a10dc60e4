// What conditions are derived from: names for the dynamic integers of operands, and the chain of products of the
// extents of A, along which a composition walks. The conditions are those of docs/theory.md.
#pragma once

#include <string>
#include <vector>

#include "condition.hpp"

namespace tilewright {

// The dynamic integers of operands, by where they stand.
class Unknowns {
 public:
  Unknowns() : make(unknowns_) {}
  Unknowns(const Unknowns&) = delete;
  Unknowns& operator=(const Unknowns&) = delete;

  // `path` are the modes of an operand that lead to this part of it.
  void name(LayoutView part, const std::string& operand, const std::string& path = "");
  void name(const Tiler& tiler, const std::string& operand, const std::string& path = "");

  // A leaf of an operand.
  Monomial number(const Node& leaf) const;

  // From here on a stride counts as positive; the condition says so.
  void suppose_positive(const Node& stride);
  // The predicate is no more than sufficient where this is not so.
  void provide(const std::string& assumption);
  // With the unknowns that are left in the predicate, and those that have to be positive in any case.
  Condition finish(const Predicate& predicate, bool always_positive) const;

 private:
  void add(const Node& leaf, const std::string& kind, const std::string& path, const std::string& operand);

  std::vector<Unknown> unknowns_;
  std::vector<const Node*> places_;
  std::vector<uint32_t> supposed_;
  std::vector<std::string> provided_;

 public:
  const Predicates make;
};

// A leaf s:d of the right layout, as the coordinates of A where its steps begin and end: d and s*d.
struct Leaf {
  Monomial begin;
  Monomial end;
};

// Which coordinates count: all, those inside of A, or all of an A that has no offset twice.
enum class Domain { kAll, kInside, kInjective };

// A as the products of its extents, P_0 = 1, P_1, ...
class ExtentChain {
 public:
  struct Mode {
    Monomial extent;
    Monomial stride;
    BasisId basis;
  };

  ExtentChain(Unknowns& unknowns, LayoutView a);
  ExtentChain(Unknowns& unknowns, std::vector<Mode> modes);

  // Theorems 4 and 5: whether each leaf alone, and their sum, come out evenly.
  Predicate fits(const std::vector<Leaf>& leaves, Domain domain);
  // Theorem 6: whether tiles of [0, end) lie in A one behind the other.
  Predicate divided_at(const Monomial& end) const;

 private:
  void find_ends();
  std::size_t last() const { return modes_.size() - 1; }
  Predicate trivial_beyond(std::size_t j) const;
  Predicate fits(const Leaf& leaf) const;
  Predicate stays_below(const Leaf& leaf, const Monomial& product) const;
  Predicate carries_nowhere(const std::vector<Leaf>& leaves, bool inside);
  Predicate goes_on(std::size_t k) const;
  void sums_below(const std::vector<Leaf>& leaves, const Monomial& product, std::size_t next, const Polynomial& sum,
                  std::vector<Predicate> conditions, std::vector<Predicate>& ways) const;
  void assume_no_coincidence(const Leaf& leaf, Domain domain);

  Unknowns& of_;
  const Predicates& make_;
  std::vector<Mode> modes_;
  std::vector<Monomial> ends_;  // P_k, where mode k begins
  Monomial whole_;              // the size of A
};

}  // namespace tilewright
