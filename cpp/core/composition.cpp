// composition(A, B): one leaf s:d of B at a time over the modes of A.
//
// The offsets 0, d, 2d, ... are written in the digits of A. A mode of A with extent e
//   - is skipped where e | d            (the digit is always 0), going on with stride d / e,
//   - takes e / d steps where d | e     (then the digit wraps), going on with stride 1,
//   - holds all the steps where (s-1)*d < e.
// Otherwise the digits do not come out evenly, and no shape:stride describes them. The modes of B are summed, so the
// digits that they reach in one mode of A must also not add up to a carry. Where all this holds the result is proved;
// where it does not, decide.hpp says whether it is A o B, and what is.
#include <algorithm>

#include "algebra.hpp"
#include "composition_steps.hpp"
#include "decide.hpp"
#include "symbolic.hpp"

namespace tilewright {

namespace {

thread_local int unchecked_depth = 0;

}  // namespace

bool checks_enabled() { return unchecked_depth == 0; }
void enter_unchecked() { ++unchecked_depth; }
void leave_unchecked() { unchecked_depth = unchecked_depth > 0 ? unchecked_depth - 1 : 0; }
Unchecked::Unchecked() { enter_unchecked(); }
Unchecked::~Unchecked() { leave_unchecked(); }

bool checks_wanted() { return unchecked_depth == (symbols() == nullptr ? 0 : 1); }
CheckedWhileTracing::CheckedWhileTracing(bool all_known) : depth_(unchecked_depth) {
  if (all_known && checks_wanted()) unchecked_depth = 0;
}
CheckedWhileTracing::~CheckedWhileTracing() { unchecked_depth = depth_; }

LayoutView at_path(LayoutView layout, BasisId basis) {
  if (basis == 0) return layout;
  const BasisPath& path = basis_path(basis);
  for (auto mode = path.rbegin(); mode != path.rend(); ++mode) {
    if (*mode >= layout.rank()) {
      fail(concat("the right layout has a stride of 1", basis_suffix(basis), ", but the left layout has no such mode (",
                  to_string(layout), " has ", counted(layout.rank(), "mode"), ")"));
    }
    layout = layout.mode(*mode);
  }
  return layout;
}

namespace {

// The part of A that the leaves of B with one basis path index, coalesced; digits counts how far each mode is reached.
struct Domain {
  BasisId basis;
  Modes modes;
  SmallVector<int64_t, 8> reached;
};

struct State {
  LayoutView left;
  LayoutView right;
  std::optional<Domain> first;  // the only one unless B has basis strides
  std::vector<Domain> others;
  Cause cause;

  // Whether to go on: the first cause counts, unless CuTe rejects the operands.
  bool doubt(const Cause& condition) {
    if (!cause || condition.rejected) cause = condition;
    return !condition.rejected;
  }
};

// `mode 1`, `mode (1,0)`: what a basis element names.
std::string path_text(BasisId basis) {
  TupleBuilder builder;
  const BasisPath path = basis_path(basis);
  if (path.size() == 1) return concat("mode ", path[0]);
  builder.open();
  for (auto mode = path.rbegin(); mode != path.rend(); ++mode) builder.leaf(static_int(*mode));
  builder.close();
  return concat("mode ", step_text(builder.take().view()));
}

Domain make_domain(LayoutView a, BasisId basis) {
  const LayoutView part = at_path(a, basis);
  Domain domain{basis, coalesced(modes_of(part), LastExtent::kKeep), {}};
  if (domain.modes.empty()) domain.modes.push_back({static_int(1), static_int(0)});
  note_simpler(
      step::kAsFunction, domain.modes, part, [&] { return basis == 0 ? "A" : path_text(basis) + " of A"; }, part);
  for (std::size_t i = 0; i < domain.modes.size(); ++i) domain.reached.push_back(0);
  return domain;
}

Domain& domain_for(BasisId basis, State& state) {
  if (!state.first) return state.first.emplace(make_domain(state.left, basis));
  if (state.first->basis == basis) return *state.first;
  for (Domain& domain : state.others) {
    if (domain.basis == basis) return domain;
  }
  state.others.push_back(make_domain(state.left, basis));
  return state.others.back();
}

// Composes one leaf of B; the result goes to `out`. False where CuTe rejects it.
bool compose_leaf(Domain& domain, const Node& extent, const Node& stride, Modes& out, State& state) {
  const bool recorded = Trace::current() != nullptr;
  const Mode whole{extent, stride};
  if (domain.basis != 0) {
    note(
        step::kAlong, Mode{extent, with_basis(stride, domain.basis)}, stride, [&] { return path_text(domain.basis); },
        domain.modes);
  }
  if (stride.is(0)) {
    note(step::kReadsZero, whole);
    out.push_back(whole);
    return true;
  }
  Node rest = extent;
  Node step = stride;
  const std::size_t last = domain.modes.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    const Mode& mode = domain.modes[i];
    const Node magnitude = abs(step);
    const bool moves = rest.is_symbolic() || rest.value > 1;
    // What is not known yet is not refused: it is CuTe's answer.
    if (moves && !mode.extent.is_symbolic() && !magnitude.is_symbolic()) {
      const int64_t e = mode.extent.value;
      const int64_t d = magnitude.value;
      if (d == 0) return state.doubt({Cause::Kind::kStrideOf0, true, &extent});
      if (e == 0) return state.doubt({Cause::Kind::kExtentOf0, true, &extent});
      const bool even = d % e == 0 || e % d == 0 || (d < e && !rest.is_symbolic() && (rest.value - 1) <= (e - 1) / d);
      if (!even) {
        const bool rejected = step.is_static() && mode.extent.is_static() && d > e;
        if (rejected) note(step::kStrideBroken, Mode{rest, step}, mode, magnitude, mode.extent);
        if (!state.doubt({Cause::Kind::kStride, rejected, &extent, step.value, e})) return false;
      }
      if (!step.is_symbolic() && step.value < 0) {
        note(step::kNegative, Mode{rest, step}, mode);
        state.doubt({Cause::Kind::kNegative, false, &extent, stride.value});
      }
    }
    const Node fits = ceil_div(mode.extent, magnitude);
    const Node next = mul(ceil_div(magnitude, mode.extent), sign(step));
    if (fits.is(1) || rest.is(1)) {
      if (recorded && !rest.is(1)) step::note_skip({rest, step, mode}, {rest, next});
      step = next;
      continue;
    }
    const Node taken = min(fits, rest);
    if (!taken.is_symbolic() && taken.value == 0) return state.doubt({Cause::Kind::kNoSteps, true, &extent});
    if (!rest.is_symbolic() && !taken.is_symbolic() && rest.value % taken.value != 0) {
      if (recorded) step::note_shape_broken({rest, step, mode}, fits, taken);
      const bool rejected = rest.is_static() && taken.is_static();
      const Cause cause{Cause::Kind::kSteps, rejected, &extent, taken.value, mode.extent.value, rest.value};
      if (!state.doubt(cause)) return false;
    }
    out.push_back({taken, mul(step, mode.stride)});
    const Node left = div(rest, taken);
    if (recorded) step::note_piece({rest, step, mode}, fits, out.back(), {left, next});
    if (!taken.is_symbolic() && !magnitude.is_symbolic()) {
      const int64_t reach = checked_mul(taken.value - 1, magnitude.value), before = domain.reached[i];
      domain.reached[i] = checked_add(before, reach);
      if (recorded && domain.reached[i] >= mode.extent.value)
        note(step::kCarries, mode, before, reach, domain.reached[i], mode.extent.value - 1);
    }
    rest = left;
    step = next;
  }
  if (out.empty() || !rest.is(1)) {
    out.push_back({rest, mul(step, domain.modes[last].stride)});
    if (recorded) step::note_last({rest, step, domain.modes[last]}, out.back(), last == 0);
  }
  if (out.size() > 1) note(step::kBecomes, whole, out);
  return true;
}

void check_carries(const Domain& domain, State& state) {
  for (std::size_t i = 0; i + 1 < domain.modes.size(); ++i) {
    if (domain.modes[i].extent.is_symbolic()) continue;
    const int64_t extent = domain.modes[i].extent.value;
    if (domain.reached[i] >= extent) state.doubt({Cause::Kind::kCarries, false, nullptr, domain.reached[i], extent});
  }
}

bool compose_into(LayoutView b, LayoutBuilder& builder, State& state) {
  if (!b.is_leaf()) {
    bool accepted = true;
    builder.open();
    for_each_mode(b, [&](LayoutView mode) { accepted = accepted && compose_into(mode, builder, state); });
    if (accepted) builder.close();
    return accepted;
  }
  Modes result;
  Domain& domain = domain_for(b.stride->basis(), state);
  const bool whole = b.shape.get() == state.right.shape.get();
  Trace* const trace = whole ? nullptr : Trace::current();
  if (trace != nullptr) note(step::kModeOfB, mode_text(state.right.shape, b.shape.get()), b);
  const Trace::Nested nested(trace);
  if (!compose_leaf(domain, *b.shape, without_basis(*b.stride), result, state)) return false;
  builder.flat(result);
  return true;
}

}  // namespace

Composed attempt(LayoutView a, LayoutView b) {
  State state{a, b, {}, {}, {}};
  LayoutBuilder builder;
  if (!compose_into(b, builder, state)) return {.cause = state.cause};
  if (state.first) check_carries(*state.first, state);
  for (const Domain& domain : state.others) check_carries(domain, state);
  if (!state.others.empty()) coshape(b);  // raises where a coordinate would mix integers and tuples
  return {builder.take(), state.cause};
}

Composed compose(LayoutView a, LayoutView b) {
  Composed composed = attempt(a, b);
  if (composed.rejected()) fail(composed.cause.text(b.shape));
  return composed;
}

Layout composition(LayoutView a, LayoutView b) {
  return checks_enabled() ? decided(a, b, Where::kEverywhere) : compose(a, b).layout;
}

Layout composition(LayoutView a, const Tiler& tiler) {
  switch (tiler.kind()) {
    case Tiler::Kind::kNone:
      return Layout(a);
    case Tiler::Kind::kExtent:
      return composition(a, Layout::leaf(tiler.extent(), static_int(1)));
    case Tiler::Kind::kLayout:
      return composition(a, tiler.layout());
    case Tiler::Kind::kModes:
      break;
  }
  const auto& modes = tiler.modes();
  if (static_cast<int64_t>(modes.size()) > a.rank()) {
    fail(concat("the tiler ", tiler.text(), " has ", modes.size(), " modes, the layout ", to_string(a), " only ",
                a.rank()));
  }
  LayoutBuilder builder;
  builder.open();
  for (int64_t i = 0; i < static_cast<int64_t>(modes.size()); ++i) {
    const Tiler& part = modes[static_cast<std::size_t>(i)];
    builder.copy(on_mode(i, [&] { return composition(a.mode(i), part); }, step::kModeWith, a.mode(i), "o", part));
  }
  builder.close();
  return builder.take();
}

void not_compared(const std::string& cause, int64_t scanned, int64_t count) {
  fail(concat(cause, "; the first ", scanned, " of ", count,
              " coordinates agree with the law, the rest were not compared: use unchecked() to take CuTe's answer"));
}

Layout with_shape(LayoutView layout, TupleView shape) { return composition(layout, make_layout(shape)); }

Layout Tiler::as_layout() const {
  if (kind_ == Kind::kLayout) return *layout_;
  if (kind_ == Kind::kExtent) return make_layout(IntTuple(extent_));
  fail(concat("the tiler ", text(),
              " must be one layout or extent here: make_layout(shape) gives the layout of a shape"));
}

std::string Tiler::text() const {
  switch (kind_) {
    case Kind::kNone:
      return "_";
    case Kind::kExtent:
      return to_string(TupleView(&extent_));
    case Kind::kLayout:
      return to_string(*layout_);
    case Kind::kModes:
      break;
  }
  std::string text = "(";
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    if (i != 0) text += ',';
    text += modes_[i].text();
  }
  text += ')';
  return text;
}

}  // namespace tilewright
