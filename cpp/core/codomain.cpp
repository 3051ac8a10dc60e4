#include "codomain.hpp"

#include <algorithm>

namespace tilewright {

std::vector<BasisId> bases_of(LayoutView layout) {
  std::vector<BasisId> bases;
  for_each_leaf(layout, [&](const Node&, const Node& stride) {
    if (!stride.is(0) && std::find(bases.begin(), bases.end(), stride.basis()) == bases.end())
      bases.push_back(stride.basis());
  });
  if (bases.empty()) bases.push_back(0);
  return bases;
}

FlatFunction along(LayoutView layout, BasisId basis) {
  Modes modes = modes_of(layout);
  for (Mode& mode : modes) {
    if (mode.stride.basis() != basis) mode.stride = static_int(0);
  }
  return FlatFunction(modes);
}

}  // namespace tilewright
