// What a page shows of a value: its facts, and the part of its offsets that fits on a picture.
#pragma once

#include <cstdint>

#include "json.hpp"
#include "value.hpp"

namespace tilewright::page {

// The texts of the parts: {"inner","offset","outer"} of a composed layout, an array of a list; otherwise null.
void write_parts(Json& json, const Value& value);

// Mode 0 goes down, the other modes to the right; of a layout with one mode that goes to the right. At most
// rows x columns offsets are written.
void write_description(Json& json, const Value& value, int64_t rows, int64_t columns);

}  // namespace tilewright::page
