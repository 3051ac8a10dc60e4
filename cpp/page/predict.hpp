// What the accesses of a layout cost, one warp after the other: the request `predict` of page.cpp.
//
//     layout=TEXT    threads, or (threads, values), to offsets in elements
//     tv=TEXT        with tile=, source= and destination=: of a tiled copy by an instruction whose sides differ what it
//                    reads of the tile, which `layout` has in memory; the fields as in picture.hpp
//     bits=N         of an element
//     width=N        bytes of a lane's access; 0: the widest legal one
//     memory=NAME    global or shared
//     op=NAME        load, store, cp.async, ldmatrix or stmatrix
//     base=N         byte address of offset 0
#pragma once

#include <string_view>
#include <vector>

#include "json.hpp"
#include "picture/subjects/requests.hpp"

namespace tilewright::page {

struct Asked {
  std::string_view layout;
  std::string_view memory = "global";
  std::string_view op = "load";
  int64_t bits = 32;
  int64_t width = 0;
  int64_t base = 0;
  std::string_view tv = {}, tile = {}, source = {}, destination = {};
};
// The worst request of a layout, as it is drawn; `when` it is made, such as "before", stands in front of its name.
picture::Lanes worst_request(const Asked& asked, std::string_view when = "");

// Lines after the first are fields.
void write_prediction(Json& json, const std::vector<std::string_view>& lines);

}  // namespace tilewright::page
