// A along a line: f(i) = A(step * i) for 0 <= i < extent, what one leaf of B makes of A. docs/theory.md has the proofs.
//
// With an end, only the i with 0 <= step * i < end count: what f is elsewhere does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codomain.hpp"
#include "floors.hpp"

namespace tilewright {

// A layout by values, one function for each entry of its codomain; all have the same extents.
struct Outer {
  std::vector<BasisId> entries;
  std::vector<FlatFunction> parts;

  explicit Outer(LayoutView a);
};

// Adds `sign` times the floors of A(step * i), where no |step * i| exceeds `reach`. `step` is positive.
void add_floors(Floors& floors, const FlatFunction& a, int64_t step, int64_t reach, int sign);

class Line {
 public:
  Line(const Outer& outer, int64_t extent, int64_t step, std::optional<int64_t> end = std::nullopt);
  Line with_extent(int64_t extent) const { return Line(*outer_, extent, step_, end_); }

  int64_t extent() const { return extent_; }
  // The i that count are those below.
  int64_t counted() const { return counted_; }
  int64_t step() const { return step_; }
  const Outer& outer() const { return *outer_; }
  // The entry k of f(i).
  int64_t operator()(std::size_t k, int64_t i) const { return outer_->parts[k](checked_mul(step_, i)); }

  // The smallest i that counts with f(i) != R(i), where R has the extent of f.
  std::optional<int64_t> first_difference(LayoutView r) const;

  // The coarsest layout that f is, or why it is none: layouts with the values of f up to `stop` have the partial
  // products `marks`, ascending from 1, and f(stop) is no next one of them.
  struct Form {
    std::vector<int64_t> marks;
    std::optional<int64_t> stop;
    std::optional<int64_t> mixed;  // a mark whose stride would have several entries

    bool exists() const { return !stop && !mixed; }
  };
  Form form() const;
  // The modes of the form. It exists.
  Modes modes(const Form& form) const;

 private:
  int64_t magnitude() const { return step_ < 0 ? -step_ : step_; }
  int64_t reach() const { return magnitude() * (counted_ - 1); }

  const Outer* outer_;
  int64_t extent_;
  int64_t step_;
  std::optional<int64_t> end_;
  int64_t counted_;
};

}  // namespace tilewright
