// Why CuTe's conditions do not prove CuTe's answer to a composition. Only numbers: most compositions that have such a
// cause have an answer all the same, so it becomes a text where an error shows it.
#pragma once

#include <cstdint>
#include <string>

#include "int_tuple.hpp"

namespace tilewright {

struct Cause {
  enum class Kind {
    kNone,
    kStride,     // stride `first` of a leaf of B and shape `second` of A: neither divides the other
    kSteps,      // `first` steps fit into shape `second` of A and do not divide what is left of the leaf, `third`
    kNegative,   // stride `first` of a leaf of B
    kCarries,    // the modes of B reach `first` together in shape `second` of A
    kStrideOf0,  // a dynamic stride of B
    kExtentOf0,  // of A
    kNoSteps,    // an extent of 0 of B
  };

  Kind kind = Kind::kNone;
  bool rejected = false;       // by CuTe too, so that there is no answer of CuTe
  const Node* leaf = nullptr;  // the extent of the leaf of B
  int64_t first = 0;
  int64_t second = 0;
  int64_t third = 0;

  explicit operator bool() const { return kind != Kind::kNone; }
  // `right` is the shape of B.
  std::string text(TupleView right) const;
};

}  // namespace tilewright
