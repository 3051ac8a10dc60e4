// complement(L, M): sort the modes of L by stride; the gap below each mode, and the room above the last up to M, are
// the result.
//
//     strides d0 < d1 < ...      gap_k = d_k / (s_{k-1} * d_{k-1})      R = (gap_0, gap_1, ..., rest) : (1, s_0*d_0,
//     s_1*d_1, ...)
//
// With basis strides each entry of the codomain has its own modes, its own entry of M, and its own mode of R.
#include <algorithm>

#include "algebra.hpp"
#include "codomain.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// The least stride first, and of equals the first.
void sort_by_stride(Modes& modes) {
  for (std::size_t i = 1; i < modes.size(); ++i) {
    const Mode mode = modes[i];
    std::size_t place = i;
    for (; place > 0 && modes[place - 1].stride.value > mode.stride.value; --place) modes[place] = modes[place - 1];
    modes[place] = mode;
  }
}

void verify_gap(const Node& gap, const Mode& mode, const Node& reached, LayoutView layout) {
  // With dynamic extents CuTe does not see it.
  const bool rejected = gap.is(0);
  if (gap.is_symbolic() || gap.value > 0 || !(rejected || checks_enabled())) return;
  const std::string cause = concat("the modes of ", to_string(layout), " overlap or interleave: the mode ",
                                   mode.extent.value, ":", mode.stride.value, " starts below offset ", reached.value,
                                   " that the modes with smaller strides fill (needs stride >= ", reached.value, ")");
  if (rejected) fail(cause + "; CuTe rejects it too");
  throw LayoutError(cause + "; CuTe's answer has an extent of 0, so it lacks even R(0) = 0",
                    CounterExample(0, "_", "0"));
}

void require_complement(const Modes& modes) {
  bool known = true;
  for (const Mode& mode : modes) {
    known = known && mode.stride.is_static();
    if (mode.stride.is_symbolic()) continue;
    if (mode.stride.value < 0)
      fail(concat("the stride ", mode.stride.value, " is negative: a complement needs non-negative strides"));
    if (mode.stride.value == 0) fail("a dynamic stride is 0: CuTe divides by it");
  }
  if (modes.size() > 1 && !known) {
    fail(concat("dynamic strides are supported for one mode only, but ", to_string(from_modes(modes)), " has ",
                modes.size(), " modes with a dynamic stride among them; CuTe rejects it too"));
  }
}

// Where a mode ends, as a derivation writes it: `8*1 = 8`.
[[gnu::cold]] std::string end_of(const Mode* mode) {
  if (mode == nullptr) return "1";
  const Node end = mul(mode->stride, mode->extent);
  return concat(step_text(&mode->extent), "*", step_text(&mode->stride), " = ", step_text(&end));
}

[[gnu::cold]] void note_gap(const Mode* below, const Mode& mode, const Mode& gap) {
  const auto end = [&] { return end_of(below); };
  if (gap.extent.value == 0) note(step::kOverlaps, mode, end);
  const bool even = mode.stride.value % gap.stride.value == 0;
  note(even ? step::kGap : step::kGapRounded, end, mode.stride, gap.stride, gap.extent, gap);
}

// The gaps below the modes, which come by stride, and in `reached` where the room above the last one begins.
Modes gaps_between(const Modes& modes, LayoutView layout, Node& reached) {
  Modes gaps;
  reached = static_int(1);
  const Mode* below = nullptr;
  for (const Mode& mode : modes) {
    const Node gap = div(mode.stride, reached);
    if (Trace::current() != nullptr) note_gap(below, mode, {gap, reached});
    verify_gap(gap, mode, reached, layout);
    gaps.push_back({gap, reached});
    reached = mul(mode.stride, mode.extent);
    below = &mode;
  }
  if (!reached.is_symbolic() && reached.value == 0) fail("an extent of the layout is 0: it has no complement");
  return gaps;
}

// A tuple is divided mode by mode, and where a mode does not divide, places are lost.
void verify_reach(const Layout& result, int64_t reached, int64_t places, TupleView cotarget) {
  const int64_t end = product(cotarget).value;
  const int64_t covered = checked_mul(reached, places);
  if (covered >= end) return;
  const int64_t first = size(result).value;
  throw LayoutError(concat("the cotarget ", to_string(cotarget), " is divided mode by mode, which leaves ", places,
                           " places for the ", reached, " offsets that the layout fills: CuTe gives ",
                           to_string(result), ", which ends at ", covered, " of ", end, ": R(", first, ") = ", covered,
                           " is missing; give the cotarget as one number"),
                    CounterExample(first, "_", std::to_string(covered)));
}

Layout everything(TupleView cotarget) {
  Layout all = make_layout(coalesce_shape(cotarget));
  note(step::kOnlyZero, cotarget, all);
  return all;
}

Layout complement_of(Modes modes, TupleView cotarget, LayoutView layout, Reach reach) {
  // Nothing but repetition: the whole cotarget is left over.
  if (modes.empty() || (modes.size() == 1 && modes[0].stride.is(0))) return everything(cotarget);
  require_complement(modes);
  sort_by_stride(modes);
  note(step::kByStride, modes);
  Node reached;
  Modes result = gaps_between(modes, layout, reached);
  const IntTuple left_over = ceil_div(cotarget, IntTuple(reached));
  const IntTuple rest = coalesce_shape(left_over);
  const IntTuple strides = compact(rest, IntTuple(reached), Major::kLeft);
  for_each_leaf(LayoutView{rest, strides},
                [&](const Node& extent, const Node& stride) { result.push_back({extent, stride}); });
  note(step::kBeyond, [&] { return end_of(&modes.back()); }, cotarget, reached, left_over, LayoutView{rest, strides});
  Layout complement = from_modes(coalesced(result, LastExtent::kDrop));
  note(step::kTogetherCoalesced, result, complement);
  if (!cotarget.is_leaf() && reach == Reach::kCotarget && checks_enabled())
    verify_reach(complement, reached.value, product(rest).value, cotarget);
  return complement;
}

// Whether a basis element lies at an entry of the codomain or inside of it.
bool lies_in(const BasisPath& path, const BasisPath& entry) {
  return path.size() >= entry.size() && std::equal(entry.begin(), entry.end(), path.rbegin());
}

Layout lifted(const Layout& part, BasisId basis) {
  return Layout::unchecked(IntTuple(part.shape()), map_leaves(part.stride(), [&](const Node& stride) {
                             return stride.is(0) ? stride : with_basis(stride, basis);
                           }));
}

// The complement of a layout with basis strides, each entry of its codomain within that of the cotarget.
class Complement {
 public:
  Complement(LayoutView layout, const Modes& modes, Reach reach) : layout_(layout), modes_(modes), reach_(reach) {}

  Layout within(TupleView cotarget) {
    append(cotarget);
    return builder_.take();
  }

 private:
  void append(TupleView cotarget) {
    int64_t entries = 0;  // how many the basis elements inside of this entry need
    for_each_leaf(layout_.stride, [&](const Node& stride) {
      if (!stride.has_basis()) return;
      const BasisPath& path = basis_path(stride.basis());
      if (!lies_in(path, path_) || path.size() == path_.size()) return;
      entries = std::max<int64_t>(entries, path[path.size() - 1 - path_.size()] + 1);
    });
    if (entries == 0) {
      const BasisId basis = basis_id(reversed(path_));
      Modes own;
      for (const Mode& mode : modes_) {
        if (mode.stride.basis() == basis) own.push_back({mode.extent, without_basis(mode.stride)});
      }
      const Layout part = below([&] { return complement_of(own, cotarget, layout_, reach_); }, step::kEntryIn,
                                [&] { return basis_suffix(basis); }, own, cotarget);
      builder_.copy(lifted(part, basis));
      return;
    }
    if (entries > cotarget.rank()) {
      fail(concat("the cotarget ", to_string(cotarget), " has ", counted(cotarget.rank(), "mode"),
                  ", but the basis strides need ", entries, ": its profile is that of the coshape ",
                  to_string(coshape(layout_))));
    }
    builder_.open();
    for (int64_t i = 0; i < cotarget.rank(); ++i) {
      path_.push_back(static_cast<uint32_t>(i));
      in_mode(i, [&] { append(cotarget.mode(i)); });
      path_.pop_back();
    }
    builder_.close();
  }

  LayoutView layout_;
  Modes modes_;
  Reach reach_;
  BasisPath path_;
  LayoutBuilder builder_;
};

}  // namespace

Layout complement(LayoutView layout, TupleView cotarget, Reach reach) {
  for_each_leaf(cotarget, [&](const Node& leaf) {
    if ((!leaf.is_symbolic() && leaf.value <= 0) || leaf.has_basis())
      fail(concat("the entries of the cotarget ", to_string(cotarget), " must be positive integers"));
  });
  if (has_basis(layout.stride)) coshape(layout);  // raises where the offsets mix integers and coordinates
  const Modes modes = filtered(layout);
  note_simpler(step::kFiltered, modes, layout);
  if (!has_basis(layout.stride)) return complement_of(modes, cotarget, layout, reach);
  return Complement(layout, modes, reach).within(cotarget);
}

Layout complement(LayoutView layout, TupleView cotarget) { return complement(layout, cotarget, Reach::kCotarget); }

Layout complement(LayoutView layout) {
  const IntTuple cotarget = coshape(layout);
  note(cotarget.is_leaf() ? step::kCosize : step::kCoshape, cotarget);
  return complement(layout, cotarget);
}

}  // namespace tilewright
