// What the page draws: the subjects of the request `picture` (picture.hpp).
#pragma once

#include "picture/subjects/tv.hpp"
#include "request.hpp"

namespace tilewright::page {

picture::Picture drawn(Request& request);

// subject "copy" and subject "mma" (threads.cpp)
picture::Picture copy_drawn(Request& request);
picture::Picture mma_drawn(Request& request);
// Who reads what of a tile, of those who write it: each element of an instruction has a place on both sides.
picture::Owners readers_of(const picture::Owners& writers, const Layout& source, const Layout& destination);

}  // namespace tilewright::page
