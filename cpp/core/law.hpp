// Whether two functions of a 1-D coordinate agree, for the laws of swizzled layouts.
//
// Both are chains: a layout, then swizzles, offsets, and layouts that take the result as their coordinate. Few
// coordinates are compared by value. Where there are more, the bits decide: an extent s = 2^a*m is a digits of radix 2
// and one of radix m, and once the odd digits and the bits that carry are fixed, every link of a chain is linear:
//
//   exclusive:  base + (constant ^ column_j ^ ...)    for the bits j of the coordinate that are set
//   additive:   base + constant + column_j + ...
//
// Additive functions agree once they agree on no bit and on every single bit, and so do exclusive ones. A function of
// both kinds has disjoint columns; one that is exclusive only differs from every additive one on some pair of bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "composed.hpp"
#include "modes.hpp"

namespace tilewright {

class Chain {
 public:
  explicit Chain(const Modes& modes) : modes_(modes), first_(modes) {}
  // The coordinate itself, digit by digit as the layout takes it.
  static Chain coordinate(LayoutView layout);

  Chain& plus(int64_t offset);
  Chain& then(const Swizzle& swizzle);
  Chain& then(LayoutView layout);
  // The links of an AnyLayout behind its outer layout.
  Chain& inside(const AnyLayout& layout);

  int64_t operator()(int64_t coordinate) const;

  // What the chain is once the other digits are fixed.
  struct Linear {
    bool additive = true;
    int64_t base = 0;
    int64_t constant = 0;
    std::vector<int64_t> columns;

    int64_t at(const std::vector<std::size_t>& bits) const;
  };
  struct Digit {
    int64_t position;
    int64_t radix;
    int64_t stride;
  };
  // The digits of the coordinate: those of radix 2, and the odd ones.
  struct Digits {
    std::vector<Digit> bits;
    std::vector<Digit> odd;
  };
  Digits digits() const;
  // `start` is what the fixed digits add up to. Nothing where a link carries; `carrying` collects the bits that do.
  std::optional<Linear> linear(const Digits& digits, int64_t start, std::vector<std::size_t>& carrying) const;

 private:
  Modes modes_;
  FlatFunction first_;
  std::vector<std::variant<int64_t, Swizzle, FlatFunction>> links_;
};

// A composed layout, or a plain one, as a chain.
Chain chain_of(const AnyLayout& layout);

const Layout& outer_of(const AnyLayout& layout);
std::string text_of(const AnyLayout& layout);

struct Verdict {
  enum class Kind { kHolds, kFails, kOpen };
  Kind kind;
  int64_t coordinate;  // kFails: the smallest where they differ; kOpen: how many were compared
};
Verdict compare(const Chain& got, const Chain& expected, int64_t count);

// Throws where CuTe's answer has lost elements of what it stands for.
void require_size(const AnyLayout& answer, int64_t count, const char* whole);
// Throws where `got` is not `expected`, the right side of the law: text(example) is the error then. Throws too where
// that stays open.
void require_equal(const Chain& got, const Chain& expected, int64_t count, const char* law,
                   const std::function<std::string(const CounterExample&)>& text);

}  // namespace tilewright
