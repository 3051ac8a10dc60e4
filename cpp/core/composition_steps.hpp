// The steps of composition at one mode of the left layout, where somebody records them.
#pragma once

#include "steps.hpp"

namespace tilewright::step {

// Where composition is: what is left of a mode of the right layout, at a mode of the left one.
struct At {
  Node extent;
  Node stride;
  Mode mode;

  Mode rest() const { return {extent, stride}; }
};

// `take 2:24 (stride 3*8)`
inline std::string taken_text(const Mode& piece, const Node& step, const Node& stride) {
  const Layout taken = Layout::leaf(piece.extent, piece.stride);
  return concat("take ", step_text(taken.view()), " (stride ", step_text(&step), "*", step_text(&stride), ")");
}

// `q = 6/3 = 2`: so many steps fit into the mode.
inline std::string quotient_text(At at, const Node& fits) {
  const Node magnitude = abs(at.stride);
  const std::string division = concat(step_text(&at.mode.extent), "/", step_text(&magnitude));
  const bool even = at.mode.extent.value % magnitude.value == 0;
  return concat("q = ", even ? division : concat("ceil(", division, ")"), " = ", step_text(&fits));
}

[[gnu::cold, gnu::noinline]] inline void note_skip(At at, Mode onward) {
  const Node magnitude = abs(at.stride);
  if (magnitude.value % at.mode.extent.value == 0) {
    note(kSkips, at.rest(), at.mode, at.mode.extent, magnitude, onward);
  } else {
    note(kOneStep, at.rest(), at.mode, onward);
  }
}

[[gnu::cold, gnu::noinline]] inline void note_shape_broken(At at, Node fits, Node taken) {
  note(kShapeBroken, at.rest(), at.mode, [&] { return quotient_text(at, fits); }, taken, at.extent);
}

// A piece of the mode of the right layout stays in the mode of the left one, `onward` goes on.
[[gnu::cold, gnu::noinline]] inline void note_piece(At at, Node fits, Mode piece, Mode onward) {
  const Node magnitude = abs(at.stride);
  const std::string take = taken_text(piece, at.stride, at.mode.stride);
  const Layout rest = Layout::leaf(onward.extent, onward.stride);
  const std::string both = concat(take, ", go on with ", step_text(rest.view()));
  const int64_t past = at.mode.extent.value % magnitude.value;
  if (onward.extent.is(1)) {
    note(kTakesAll, at.rest(), at.mode, quotient_text(at, fits), at.extent, take);
  } else if (past == 0) {
    note(kTakesEven, at.rest(), at.mode, magnitude, at.mode.extent, quotient_text(at, fits), both);
  } else if (at.extent.value <= fits.value) {
    note(kTakes, at.rest(), at.mode, quotient_text(at, fits), both);
  } else {
    const int64_t end = checked_mul(magnitude.value, fits.value);
    note(kUneven, at.rest(), at.mode, magnitude, at.mode.extent, fits, end, end % at.mode.extent.value);
    note(kGoesOn, both);
  }
}

// The last mode takes what is left; a single one takes all.
[[gnu::cold, gnu::noinline]] inline void note_last(At at, Mode piece, bool single) {
  if (single) {
    note(kSingleMode, at.rest(), at.mode, at.stride, at.mode.stride, piece);
  } else {
    note(kTakesLast, at.rest(), at.mode, [&] { return taken_text(piece, at.stride, at.mode.stride); });
  }
}

}  // namespace tilewright::step
