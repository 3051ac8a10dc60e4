// Working on the leaves of a layout as a flat list: what the operations share.
#pragma once

#include <cstdint>
#include <string>

#include "cause.hpp"
#include "layout.hpp"

namespace tilewright {

// Whether coalescing keeps a last mode of static extent 1 (as extent 2) because its stride carries the layout past its
// size.
enum class LastExtent { kDrop, kKeep };
// `recorded`: each merge is a step of a derivation.
Modes coalesced(const Modes& modes, LastExtent last, bool recorded = false);
// The modes of filter(layout).
Modes filtered(LayoutView layout);

// A flat layout by values, for checking laws: f(i) with the last mode not wrapped.
struct FlatFunction {
  SmallVector<int64_t, 8> extents;
  SmallVector<int64_t, 8> strides;

  explicit FlatFunction(const Modes& modes) {
    for (std::size_t i = 0; i < modes.size(); ++i) {
      if (known(modes[i].extent) == 1 && i + 1 < modes.size()) continue;
      extents.push_back(modes[i].extent.value);
      strides.push_back(known(modes[i].stride));
    }
    if (extents.empty()) extents.push_back(1), strides.push_back(0);
  }
  int64_t size() const {
    int64_t product = 1;
    for (const int64_t extent : extents) product = checked_mul(product, extent);
    return product;
  }
  int64_t operator()(int64_t index) const {
    int64_t offset = 0;
    const std::size_t last = extents.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      if (extents[i] <= 0) require_quotient(index, extents[i]);
      offset = checked_add(offset, checked_mul(index % extents[i], strides[i]));
      index /= extents[i];
    }
    return checked_add(offset, checked_mul(index, strides[last]));
  }

 private:
  // Negative extents come with answers of CuTe's that are not checked.
  static void require_quotient(int64_t index, int64_t extent) {
    if (extent == 0) fail("the layout has an extent of 0 and maps no coordinate");
    if (extent == -1) checked_mul(index, extent);
  }
};

// CuTe's answer to a composition before its law is checked.
struct Composed {
  Layout layout = Layout::leaf(static_int(1), static_int(0));
  Cause cause;  // the first condition of its exactness that does not hold

  bool proved() const { return !cause; }
  bool rejected() const { return cause.rejected; }  // there is no layout
};
Composed attempt(LayoutView a, LayoutView b);
// The same; an error where CuTe rejects the operands.
Composed compose(LayoutView a, LayoutView b);

// The layout that the modes of B along a basis element read: a mode of A, or A itself.
LayoutView at_path(LayoutView layout, BasisId basis);

// How many coordinates a law is checked on, at most, where no proof is at hand.
inline constexpr int64_t kScanLimit = int64_t{1} << 22;
// Raises where the rest was not compared.
[[noreturn]] void not_compared(const std::string& cause, int64_t scanned, int64_t count);

}  // namespace tilewright
