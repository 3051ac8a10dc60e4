// What is drawn of layouts and swizzles.
#include "picture.hpp"
#include "picture/subjects/swizzles.hpp"
#include "picture_options.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

constexpr const char* kLayout = R"doc(The picture of a layout.

Args:
    color, most: options of show. memory: the fields of a Memory, or None. mark: (index, text) of the coordinate that is
        marked, or None.
    content: gives the text of an index's cell in place of the offset.
    heading: title, subtitle and notes, in place of the layout's own.
Raises: ValueError for an option that it does not have.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.layout(cute.parse("(2,4):(4,1)"), "value", None, None, 64)
    >>> drawn.title, drawn.panels[0].panel.subtitle
    ('(2,4):(4,1)', '2 x 4 elements, offsets 0 to 7, each once'))doc";

py::object layout(const LayoutArg& of, const Arg& color, const Arg& memory, const Arg& mark, const Arg& most,
                  const Arg& content, const Arg& heading) {
  Style style = to_style(color.handle, memory.handle, mark.handle, most.handle);
  const AnyLayout drawn = as_any_layout(of.handle);
  if (!content.handle.is_none()) {
    style.content = [&](int64_t index) { return to_text(content.handle(index)); };
  }
  if (heading.handle.is_none()) return show([&] { return from_picture(layout_picture(drawn, style)); });
  const py::tuple parts(py::reinterpret_borrow<py::object>(heading.handle));
  std::vector<std::string> notes;
  for (const py::handle note : parts[1]) notes.push_back(to_text(note));
  return show([&] {
    const Values values(drawn);
    const std::string subtitle = layout_subtitle(values, text_of(drawn), style.color);
    return from_picture(layout_picture(values, to_text(parts[0]), subtitle, style, notes));
  });
}

constexpr const char* kSwizzle = R"doc(The picture of a swizzle on the smallest block that it permutes.

Args: memory: the fields of a Memory; an assumed one gives way to that of elements of which 2^m make 16 bytes. at: an
    offset to mark, or None.
Raises: ValueError for an offset outside of the block.

Examples:
    >>> from tilewright._core import picture
    >>> picture.swizzle(cute.make_swizzle(1, 0, 1), (32, 0, True, ""), None, 64).title
    'S<1,0,1>')doc";

constexpr const char* kSwizzled = R"doc(The picture of a swizzled layout before and after the swizzle.

Args: as of layout; only: "before", "after" or None for both.
Raises: ValueError for an option that it does not have.

Examples:
    >>> from tilewright._core import picture
    >>> drawn = picture.swizzled(cute.parse("S<1,1,1> o 0 o (4,4):(4,1)"), "bank", (32, 0, True, ""), None, 64, None)
    >>> [placed.panel.title for placed in drawn.panels]
    ['before: (4,4):(4,1)', 'after: S<1,1,1> o 0 o (4,4):(4,1)'])doc";

constexpr const char* kFacts = R"doc(How many elements a layout has, and how its offsets lie.

Examples:
    >>> from tilewright._core import picture
    >>> [picture.facts(cute.parse(text)) for text in ("(4,8):(8,1)", "(4,8):(0,1)")]
    ['4 x 8 elements, offsets 0 to 31, each once', '4 x 8 elements, offsets 0 to 7, some more than once'])doc";

Only to_only(py::handle only) {
  if (only.is_none()) return Only::kBoth;
  const std::string text = to_text(py::repr(only));
  if (text == "'before'") return Only::kBefore;
  if (text == "'after'") return Only::kAfter;
  throw OptionError(concat("only is 'before' or 'after', or None for both, but got ", text));
}

}  // namespace

int64_t to_most(py::handle most) {
  if (!PyLong_Check(most.ptr())) {
    throw picture::OptionError(concat("most must be a whole number of rows and columns, at least 2 and at most ",
                                      picture::kLargest, ", not ", std::string(py::repr(most))));
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(most.ptr(), &overflow);
  return overflow != 0 ? 0 : value;
}

std::optional<Memory> to_memory(py::handle memory) {
  if (memory.is_none()) return {};
  const py::tuple fields(py::reinterpret_borrow<py::object>(memory));
  Memory found{to_int64(fields[0]), to_int64(fields[1]), fields[2].cast<bool>(), to_text(fields[3])};
  if (found.assumed) found.kind = "f32";
  return found;
}

Color to_color(py::handle color) {
  const std::string text = to_text(py::repr(color));
  const auto number = [&](py::handle x) {
    if (PyLong_Check(x.ptr())) return to_int64(x);
    throw OptionError(concat("color is 'value', 'mode', 'bank' or the number of a mode, but got ", text));
  };
  if (text == "'value'") return {};
  if (text == "'bank'") return {Color::kBank, {}, text};
  if (text == "'mode'") return {Color::kMode, {0}, text};
  Color found{Color::kMode, {}, text};
  if (PyTuple_Check(color.ptr()) && PyTuple_Size(color.ptr()) > 0) {
    for (const py::handle i : color) found.path.push_back(number(i));
  } else {
    found.path.push_back(number(color));
  }
  return found;
}

Style to_style(py::handle color, py::handle memory, py::handle mark, py::handle most) {
  return show([&] {
    Style style{to_color(color), to_memory(memory), {}, to_most(most), {}};
    if (!mark.is_none()) {
      const py::tuple parts(py::reinterpret_borrow<py::object>(mark));
      style.mark = Mark{to_int64(parts[0]), to_text(parts[1])};
    }
    return style;
  });
}

void bind_picture_subjects(py::module_& m) {
  m.def("layout", layout, py::arg("layout"), py::arg("color"), py::arg("memory"), py::arg("mark"), py::arg("most"),
        py::arg("content") = py::none(), py::arg("heading") = py::none(), kLayout);
  m.def(
      "swizzle",
      [](const Swizzle& swizzle, const Arg& memory, const Arg& at, const Arg& most) {
        return show([&] {
          const auto offset = at.handle.is_none() ? std::optional<int64_t>() : to_int64(at.handle);
          return from_picture(swizzle_picture(swizzle, to_memory(memory.handle), offset, to_most(most.handle)));
        });
      },
      py::arg("swizzle"), py::arg("memory"), py::arg("at"), py::arg("most"), kSwizzle);
  m.def(
      "swizzled",
      [](const ComposedLayout& layout, const Arg& color, const Arg& memory, const Arg& mark, const Arg& most,
         const Arg& only) {
        return show([&] {
          const Only views = to_only(only.handle);
          Style style = to_style(color.handle, memory.handle, mark.handle, most.handle);
          return from_picture(swizzled_picture(layout, std::move(style), views));
        });
      },
      py::arg("layout"), py::arg("color"), py::arg("memory"), py::arg("mark"), py::arg("most"), py::arg("only"),
      kSwizzled);
  m.def(
      "facts",
      [](const LayoutArg& layout) { return show([&] { return facts_of(Values(as_any_layout(layout.handle))); }); },
      py::arg("layout"), kFacts);
}

}  // namespace tilewright::bind
