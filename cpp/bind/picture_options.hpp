// The options of cute.show, as the compiled pictures take them.
#pragma once

#include "convert.hpp"
#include "picture/subjects/layouts.hpp"

namespace tilewright::bind {

// f(), whose OptionError becomes a ValueError of show.
template <class F>
auto show(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const picture::OptionError& error) {
    throw py::value_error(concat("show: ", error.what()));
  } catch (const LayoutError& error) {
    PyErr_SetString(registry().error.ptr(), error.what());
    throw py::error_already_set();
  }
}

int64_t to_most(py::handle most);
// (bits, base, assumed, kind), or none.
std::optional<picture::Memory> to_memory(py::handle memory);
picture::Color to_color(py::handle color);
picture::Style to_style(py::handle color, py::handle memory, py::handle mark, py::handle most);

}  // namespace tilewright::bind
