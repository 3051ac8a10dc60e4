// Pictures as Python has them, named tuples of tilewright.show, to those of cpp/picture and back.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "picture/model.hpp"

namespace tilewright::bind {

// A text; surrogates, which UTF-8 has no place for, are three bytes.
std::string to_text(pybind11::handle text);
pybind11::str from_text(const std::string& text);

picture::Picture to_picture(pybind11::handle drawn);  // any object with title, panels, notes and links
picture::Link to_link(pybind11::handle link);
pybind11::object from_panel(const picture::Panel& panel);
pybind11::object from_picture(const picture::Picture& picture);

// Axes and rules as named tuples.
pybind11::tuple from_axis(const picture::Axis& axis);
pybind11::tuple from_rules(const std::vector<picture::Rule>& rules);

void bind_picture_grids(pybind11::module_& m);       // axes, grids, memory
void bind_picture_subjects(pybind11::module_& m);    // what is drawn of layouts and swizzles
void bind_picture_tv(pybind11::module_& m);          // of thread-value layouts
void bind_picture_operations(pybind11::module_& m);  // and of operations

}  // namespace tilewright::bind
