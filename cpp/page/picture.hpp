// The pictures of cute.show for a page: the request `picture` of page.cpp. It is a JSON object on one line,
//
//     {"subject": "layout", "layout": "(4,8):(8,1)", "color": "mode", "at": "(1,2)"}
//
// and the answer {"svg": TEXT, "width", "height", "title", "links", "panels": [..]}: of each panel where its cells are,
// and its cells, each with what it says and the index for which it may be picked. Or {"error": {"kind": ..., "text":
// ..., "field": NAME}}, where `field` is the one that is to be mended; it is left out where all of them together are
// wrong. What pointing at a cell of the last picture shows is another request, `hover PANEL CELL`.
//
// Of every subject:
//     subject   what is drawn
//     window    its width and height, "(800,600)", to which the picture is fitted; without it the answer is {"svg":
//     TEXT},
//               the file that cute.show writes
//     check     whatever it is: the answer is {} where there is a picture
//     bits      of an element, adds banks and addresses to what pointing at a cell shows; base: the address of offset 0
//     at        a coordinate to mark, or to follow, such as "5" or "(1,(0,2))"; of thread-value layouts (thread, value)
//     most      rows and columns of a panel, 2 to 512; 64 if left out
//     focus     of tv, copy and mma: a thread whose elements stand out
//
// subject "layout": of a layout, a swizzled layout or a swizzle
//     layout    its text
//     color     "value" (the offset), "bank" (needs bits), "sector", "line", "mode", or the number of a mode, "1" or
//               "(1,0)"; swizzled layouts are coloured by bank if it is left out
//     only      of a swizzled layout: "before" or "after"
// subject "tv": of a thread-value layout
//     layout    its text, two modes, thread and value
//     tile      a shape, or the layout of the tile in memory, which adds the offset to what pointing at a cell shows
// subject "operation": of its operands and its result; where there is none, of the operands
//     operation its name
//     a, b, c   its operands
// subject "copy": of a tiled copy
//     layout    (thread, value) to the tile; tile: its shape; title
//     source, destination   of an instruction whose sides differ, (thread, value) to its elements
// subject "mma": of a tiled multiplication
//     A, B, C   (thread, value) to the elements of an instruction; left out: read from shared memory
//     shape, threads   of the instruction; bits: of an element of A; atoms: their layout; tile: (M,N,K); title
// subject "request": of the worst request of a layout
//     layout    (lane, value) to offset; memory, op, width: as of `predict`
// subject "banks": of a layout before and after a swizzle
//     layout    in shared memory; swizzle; op, width: as of `predict`
#pragma once

#include <string>
#include <string_view>

namespace tilewright::page {

std::string picture_answer(std::string_view request);
// What pointing at a cell of the last picture for a window shows: [[NAME, TEXT], ..].
std::string hover_answer(int64_t panel, int64_t cell);

}  // namespace tilewright::page
