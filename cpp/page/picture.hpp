// The pictures of cute.show for a page: the request `picture` of page.cpp. It is a JSON object on one line,
//
//     {"subject": "layout", "layout": "(4,8):(8,1)", "color": "mode", "at": "(1,2)"}
//
// and the answer {"svg": TEXT}, or {"error": {"kind": ..., "text": ..., "field": NAME}}, where `field` is the one that
// is to be mended; it is left out where all of them together are wrong. Fields that are null are as if left out.
//
// Of every subject:
//     subject   what is drawn
//     bits      of an element, adds banks and addresses to what pointing at a cell shows; base: the address of offset 0
//     at        a coordinate to mark, or to follow, such as "5" or "(1,(0,2))"; of thread-value layouts (thread, value)
//     most      rows and columns of a panel, 2 to 512; 64 if left out
//
// subject "layout": of a layout, a swizzled layout or a swizzle
//     layout    its text
//     color     "value" (the offset), "bank" (needs bits), "mode", or the number of a mode, "1" or "(1,0)"; swizzled
//               layouts are coloured by bank if it is left out
//     only      of a swizzled layout: "before" or "after"
// subject "tv": of a thread-value layout
//     layout    its text, two modes, thread and value
//     tile      a shape, or the layout of the tile in memory, which adds the offset to what pointing at a cell shows
// subject "composition": of A o B, one coordinate of B followed
//     a, b      their texts: A a layout, a swizzled layout or a swizzle, B a layout
#pragma once

#include <string>
#include <string_view>

namespace tilewright::page {

std::string picture_answer(std::string_view request);

}  // namespace tilewright::page
