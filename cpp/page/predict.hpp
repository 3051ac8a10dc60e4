// What the accesses of a layout cost, one warp after the other: the request `predict` of page.cpp.
//
//     layout=TEXT    threads, or (threads, values), to offsets in elements
//     bits=N         of an element
//     width=N        bytes of a lane's access; 0: the widest legal one
//     memory=NAME    global or shared
//     op=NAME        load, store, cp.async, ldmatrix or stmatrix
//     base=N         byte address of offset 0
#pragma once

#include <string_view>
#include <vector>

#include "json.hpp"

namespace tilewright::page {

// Lines after the first are fields.
void write_prediction(Json& json, const std::vector<std::string_view>& lines);

}  // namespace tilewright::page
