#include "convert.hpp"
#include "picture.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

// A field of a named tuple, and the items of one that is a sequence.
py::handle field(py::handle record, Py_ssize_t i) {
  PyObject* const item = PyTuple_Check(record.ptr()) ? PyTuple_GetItem(record.ptr(), i) : nullptr;
  if (item == nullptr) {
    PyErr_Clear();
    wrong_kind(record, "a part of a picture");
  }
  return item;
}

template <class F>
auto all(py::handle items, F&& f) {
  std::vector<decltype(f(items))> found;
  const py::tuple known(py::reinterpret_borrow<py::object>(items));
  found.reserve(known.size());
  for (const py::handle item : known) found.push_back(f(item));
  return found;
}

int64_t to_number(py::handle x) { return x.cast<int64_t>(); }
Owner to_owner(py::handle x) { return x.is_none() ? Owner() : Owner(to_int64(x)); }
std::pair<std::string, std::string> to_pair(py::handle x) { return {to_text(field(x, 0)), to_text(field(x, 1))}; }
Rule to_rule(py::handle x) { return {to_number(field(x, 0)), to_number(field(x, 1))}; }
Entry to_entry(py::handle x) { return {to_owner(field(x, 0)), to_text(field(x, 1)), field(x, 2).cast<bool>()}; }
Place to_place(py::handle x) { return {to_number(field(x, 0)), to_number(field(x, 1)), to_number(field(x, 2))}; }

Axis to_axis(py::handle axis) {
  return all(axis, [](py::handle level) {
    return all(level, [](py::handle x) { return Label{to_text(field(x, 0)), to_number(field(x, 1))}; });
  });
}

Cell to_cell(py::handle x) {
  return {to_number(field(x, 0)),    to_number(field(x, 1)),   all(field(x, 2), to_text), to_owner(field(x, 3)),
          all(field(x, 4), to_pair), field(x, 5).cast<bool>(), field(x, 6).cast<bool>()};
}

Panel to_panel(py::handle x) {
  Panel panel{to_text(field(x, 0)),
              to_text(field(x, 1)),
              to_number(field(x, 2)),
              to_number(field(x, 3)),
              all(field(x, 4), to_cell),
              to_axis(field(x, 5)),
              to_axis(field(x, 6)),
              all(field(x, 7), to_rule),
              all(field(x, 8), to_rule),
              all(field(x, 9), to_entry),
              std::nullopt};
  if (const py::handle modes = field(x, 10); !modes.is_none()) {
    panel.modes = {all(field(modes, 0), to_pair), all(field(modes, 1), to_pair), all(field(modes, 2), to_pair)};
  }
  return panel;
}

Placed to_placed(py::handle x) {
  return {to_number(field(x, 0)), to_number(field(x, 1)), to_panel(field(x, 2)), field(x, 3).cast<bool>()};
}

// The classes of the parts, made by tilewright.show.
struct Classes {
  py::object cell, label, rule, entry, modes, panel, placed, link, picture;

  Classes() {
    const py::module_ from = py::module_::import("tilewright.show.drawing.picture");
    cell = from.attr("Cell");
    label = from.attr("Label");
    rule = from.attr("Rule");
    entry = from.attr("Entry");
    modes = from.attr("Modes");
    panel = from.attr("Panel");
    placed = from.attr("Placed");
    link = from.attr("Link");
    picture = from.attr("Picture");
  }
};

const Classes& classes() {
  static const Classes* const found = new Classes;  // leaked: it outlives the interpreter otherwise
  return *found;
}

// A named tuple of all its fields: thousands, in a third of the time of a call.
template <class... Fields>
py::object record(const py::object& type, Fields&&... fields) {
  const py::tuple arguments = py::make_tuple(py::make_tuple(std::forward<Fields>(fields)...));
  auto* const made = reinterpret_cast<PyTypeObject*>(type.ptr());
  return py::reinterpret_steal<py::object>(PyTuple_Type.tp_new(made, arguments.ptr(), nullptr));
}

template <class T, class F>
py::tuple tuple_of(const std::vector<T>& items, F&& f) {
  py::tuple found(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) found[i] = f(items[i]);
  return found;
}

py::object from_owner(const Owner& owner) { return owner ? py::object(py::int_(*owner)) : py::none(); }
py::tuple from_pair(const std::pair<std::string, std::string>& pair) {
  return py::make_tuple(from_text(pair.first), from_text(pair.second));
}
py::object from_rule(const Rule& rule) { return record(classes().rule, rule.after, rule.weight); }
py::tuple from_place(const Place& place) { return py::make_tuple(place.panel, place.row, place.column); }

}  // namespace

py::tuple from_axis(const Axis& axis) {
  return tuple_of(axis, [](const Level& level) {
    return tuple_of(level, [](const Label& x) { return record(classes().label, from_text(x.text), x.span); });
  });
}

py::tuple from_rules(const std::vector<Rule>& rules) { return tuple_of(rules, from_rule); }

py::object from_panel(const Panel& x) {
  py::object modes = py::none();
  if (x.modes) {
    modes = record(classes().modes, tuple_of(x.modes->rows, from_pair), tuple_of(x.modes->columns, from_pair),
                   tuple_of(x.modes->rest, from_pair));
  }
  const py::tuple cells = tuple_of(x.cells, [](const Cell& cell) {
    return record(classes().cell, cell.row, cell.column, tuple_of(cell.lines, from_text), from_owner(cell.owner),
                  tuple_of(cell.hover, from_pair), cell.faded, cell.marked);
  });
  const py::tuple legend = tuple_of(x.legend, [](const Entry& entry) {
    return record(classes().entry, from_owner(entry.owner), from_text(entry.text), entry.faded);
  });
  return record(classes().panel, from_text(x.title), from_text(x.subtitle), x.rows, x.columns, cells,
                from_axis(x.row_axis), from_axis(x.column_axis), tuple_of(x.row_rules, from_rule),
                tuple_of(x.column_rules, from_rule), legend, modes);
}

std::string to_text(py::handle text) {
  if (!PyUnicode_Check(text.ptr())) wrong_kind(text, "a text of a picture");
  Py_ssize_t size = 0;
  if (const char* const known = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {known, static_cast<std::size_t>(size)};
  PyErr_Clear();
  PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
  if (bytes == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

py::str from_text(const std::string& text) {
  PyObject* const found = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogatepass");
  if (found == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(found);
}

picture::Link to_link(py::handle x) { return {to_place(field(x, 0)), to_place(field(x, 1)), to_text(field(x, 2))}; }

picture::Picture to_picture(py::handle drawn) {
  return {to_text(drawn.attr("title")), all(drawn.attr("panels"), to_placed), all(drawn.attr("notes"), to_text),
          all(drawn.attr("links"), to_link)};
}

py::object from_picture(const picture::Picture& x) {
  const py::tuple panels = tuple_of(x.panels, [](const Placed& placed) {
    return record(classes().placed, placed.row, placed.column, from_panel(placed.panel), placed.free);
  });
  const py::tuple links = tuple_of(x.links, [](const Link& link) {
    return record(classes().link, from_place(link.start), from_place(link.end), from_text(link.text));
  });
  return classes().picture(from_text(x.title), panels, tuple_of(x.notes, from_text), links);
}

}  // namespace tilewright::bind
