// The colours of owners: threads, banks, modes, values.
#pragma once

#include <string>

#include "picture/model.hpp"

namespace tilewright::picture {

// Of texts on the page: on white and on the grounds of dark themes its contrast is more than 4.
inline constexpr const char* kInk = "#777";

// The colour of a thread: eight hues, then the same ones lighter; it repeats after 24.
const std::string& thread_color(int64_t thread);
// What a cell is filled with: the colour of its owner, light grey without one; greyish, or darker grey, if faded.
const std::string& fill(const Owner& owner, bool faded = false);

}  // namespace tilewright::picture
