// The codomain of a layout entry by entry: integers, or with basis strides one entry for each basis element.
#pragma once

#include <vector>

#include "modes.hpp"

namespace tilewright {

// The bases of the strides that are not 0, in order of appearance; the plain integers where there is none.
std::vector<BasisId> bases_of(LayoutView layout);
// The part of a layout along one basis, as integers: its other strides become 0.
FlatFunction along(LayoutView layout, BasisId basis);

// Builds a layout in the profile of a codomain: part(basis) is its mode at the entry of that basis element.
template <class F>
void by_entry(TupleView codomain, BasisPath& outermost_first, LayoutBuilder& builder, F&& part) {
  if (codomain.is_leaf()) {
    builder.copy(part(basis_id(reversed(outermost_first))));
    return;
  }
  builder.open();
  uint32_t i = 0;
  for_each_mode(codomain, [&](TupleView entry) {
    outermost_first.push_back(i++);
    by_entry(entry, outermost_first, builder, part);
    outermost_first.pop_back();
  });
  builder.close();
}

// The same in the profile of the layout's own codomain, a leaf for integers.
template <class F>
Layout by_entry_of(LayoutView layout, F&& part) {
  if (!has_basis(layout.stride)) return part(BasisId{0});
  LayoutBuilder builder;
  BasisPath path;
  by_entry(coshape(layout), path, builder, part);
  return builder.take();
}

}  // namespace tilewright
