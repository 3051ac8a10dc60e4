#include "cause.hpp"

namespace tilewright {

namespace {

// Where a leaf of B stands; B itself counts as its mode 0.
std::string mode_of(TupleView right, const Node* leaf) {
  const std::string text = mode_text(right, leaf);
  return text.empty() ? "mode 0" : text;
}

}  // namespace

std::string Cause::text(TupleView right) const {
  const auto mode = [&] { return mode_of(right, leaf); };
  const auto condition = [&]() -> std::string {
    switch (kind) {
      case Kind::kNone:
        break;
      case Kind::kStride:
        return concat("stride ", first, " of ", mode(), " does not divide shape ", second,
                      " of the left layout (needs ", first, " | ", second, " or ", second, " | ", first, ")");
      case Kind::kSteps:
        return concat("the ", first, " steps that fit into shape ", second,
                      " of the left layout do not divide the extent ", third, " of ", mode(), " of the right");
      case Kind::kNegative:
        return concat("the negative stride ", first, " of ", mode(), " leaves the left layout");
      case Kind::kCarries:
        return concat("the modes of the right layout reach ", first, " together in shape ", second,
                      " of the left layout and carry into the next mode (needs at most ", second - 1, ")");
      case Kind::kStrideOf0:
        return concat("the dynamic stride of ", mode(), " of the right layout is 0: CuTe divides by it");
      case Kind::kExtentOf0:
        return "an extent of the left layout is 0: CuTe divides by it";
      case Kind::kNoSteps:
        return concat("the extent of ", mode(), " of the right layout is 0: CuTe divides by it");
    }
    return "";
  };
  const bool known = rejected && (kind == Kind::kStride || kind == Kind::kSteps);
  return known ? condition() + "; CuTe rejects it too" : condition();
}

}  // namespace tilewright
