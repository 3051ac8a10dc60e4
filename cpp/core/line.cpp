#include "line.hpp"

#include <algorithm>

namespace tilewright {

Outer::Outer(LayoutView a) : entries(bases_of(a)) {
  for (const BasisId entry : entries) parts.push_back(along(a, entry));
}

void add_floors(Floors& floors, const FlatFunction& a, int64_t step, int64_t reach, int sign) {
  int64_t position = 1;
  for (std::size_t k = 1; k < a.extents.size(); ++k) {
    const Wide next = Wide{position} * a.extents[k - 1];
    if (next > reach) return;
    position = static_cast<int64_t>(next);
    const Wide jump = a.strides[k] - wide_mul(a.extents[k - 1], a.strides[k - 1]);
    if (jump != 0) floors.push_back({step % position, position, sign * jump});
  }
}

Line::Line(const Outer& outer, int64_t extent, int64_t step, std::optional<int64_t> end)
    : outer_(&outer), extent_(extent), step_(step), end_(end), counted_(extent) {
  const int64_t most = std::max<int64_t>(extent - 1, 1);
  checked_mul(step, most);
  checked_mul(step, -most);
  if (!end || step == 0) return;
  counted_ = step < 0 ? 1 : std::min(extent, static_cast<int64_t>(ceil_div(Wide{*end}, Wide{step})));
}

std::optional<int64_t> Line::first_difference(LayoutView r) const {
  if (counted_ == 1) return std::nullopt;
  std::optional<int64_t> first;
  for (std::size_t k = 0; k < outer_->parts.size(); ++k) {
    const FlatFunction other = along(r, outer_->entries[k]);
    if ((*this)(k, 1) != other(1)) return 1;
    Floors floors;
    if (step_ != 0) add_floors(floors, outer_->parts[k], magnitude(), reach(), step_ < 0 ? -1 : 1);
    add_floors(floors, other, 1, counted_ - 1, -1);
    if (const auto at = first_nonzero(floors, first.value_or(counted_))) first = at;
  }
  return first;
}

Line::Form Line::form() const {
  Form form;
  form.marks.push_back(1);
  std::vector<Floors> floors(outer_->parts.size());
  for (std::size_t k = 0; k < floors.size() && step_ != 0; ++k)
    add_floors(floors[k], outer_->parts[k], magnitude(), reach(), step_ < 0 ? -1 : 1);
  while (true) {
    const int64_t mark = form.marks.back();
    const auto moved = [&](const FlatFunction& part) { return part(step_ * mark) != 0; };
    if (mark < counted_ && std::count_if(outer_->parts.begin(), outer_->parts.end(), moved) > 1) {
      form.mixed = mark;
      return form;
    }
    std::optional<int64_t> first;
    for (const Floors& sum : floors) {
      if (const auto at = first_nonzero(sum, first.value_or(counted_))) first = at;
    }
    if (!first) return form;
    if (*first % mark != 0 || extent_ % *first != 0) {
      form.stop = first;
      return form;
    }
    for (std::size_t k = 0; k < floors.size(); ++k) {
      const Wide jump = (*this)(k, *first) - wide_mul(*first / mark, (*this)(k, mark));
      floors[k].push_back({1, *first, -jump});
    }
    form.marks.push_back(*first);
  }
}

Modes Line::modes(const Form& form) const {
  Modes modes;
  for (std::size_t l = 0; l < form.marks.size(); ++l) {
    const int64_t mark = form.marks[l];
    const int64_t next = l + 1 < form.marks.size() ? form.marks[l + 1] : extent_;
    Node stride = static_int(0);
    for (std::size_t k = 0; k < outer_->parts.size(); ++k) {
      if (const int64_t value = (*this)(k, mark)) stride = with_basis(static_int(value), outer_->entries[k]);
    }
    modes.push_back({static_int(next / mark), stride});
  }
  return modes;
}

}  // namespace tilewright
