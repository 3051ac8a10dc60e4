// The regrouping that zipped, tiled and flat divides and products share.
#pragma once

#include <array>

#include "algebra.hpp"

namespace tilewright {

// ((t0,r0),(t1,r1),l,...) -> ((t0,t1),(r0,r1,l,...)), following the profile of the tiler.
Layout unzip_tiles(LayoutView divided, const Tiler& tiler);
// (a, b) with the modes of a, of b, or of both put in the place of the tuple. A tuple of one mode stays.
Layout splice(LayoutView pair, std::array<bool, 2> open);

}  // namespace tilewright
