// A picture in SVG: deterministic text, no script, no other assets, and no ground: it reads on light and dark pages.
//
// Texts outside of cells have a mid-tone, since an image cannot know whether the page around it is dark. All that is
// used of SVG is what browsers, resvg, librsvg, Inkscape and CairoSVG draw alike, and what show/formats/pdf.py knows:
// each text of a row of cells has a place of its own where there is room for it, a thin line is not scaled, and letters
// are a whole number of pixels wide.
//
// Up to 900 cells each is a rectangle that shows all it knows when it is pointed at. Of more, the rectangles of one
// colour are one path, and each row says what its cells show, the values alone, with coordinates as short as they have
// to be, so that 64 x 64 cells take at most 200 kB. Where there is no room even for that it says where the cells are. A
// script beside the picture finds what is pointed at by its place.
#pragma once

#include "picture/drawing/measure.hpp"

namespace tilewright::picture {

std::string svg(const Picture& picture);
// The same for a page that has the style already, and a script that knows what pointing at a cell shows. Each element
// below the outermost one has a line of its own. `sheet` is the picture's (fit.hpp).
std::string page_svg(const Picture& picture, const Sheet& sheet);
std::string_view style();

}  // namespace tilewright::picture
