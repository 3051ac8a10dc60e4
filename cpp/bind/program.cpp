// Programs: the submodule _core.program. Python traces a function and adds its operations here.
#include "program.hpp"

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/stl.h>

#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "convert.hpp"
#include "core/composed.hpp"
#include "module.hpp"
#include "program/evaluate.hpp"
#include "program/fold.hpp"
#include "program/store.hpp"
#include "program/symbols.hpp"
#include "without_gil.hpp"

namespace tilewright::bind {

using program::Access;
using program::AccessMode;
using program::BlockId;
using program::Builder;
using program::ByteSwizzle;
using program::kNoValue;
using program::Program;
using program::ProgramError;
using program::Scalar;
using program::Type;
using program::ValueId;

struct Tracing {
  Builder builder;
  program::BuilderSymbols symbols{builder};
};

namespace {

struct BlockHandle {
  BlockId id;
};

thread_local std::shared_ptr<Tracing> current_tracing;

// ---- places: the innermost frame of Python code that is the user's ----

struct Code {
  bool is_users;
  std::string file, function;
};

// By code object; the table keeps them alive, so that none is taken for another.
const Code& code_of(PyCodeObject* code) {
  static auto* const known = new std::unordered_map<PyCodeObject*, Code>;
  static py::gil_safe_call_once_and_store<std::string> package;  // what it runs may let another thread come here
  const std::string& own = package
                               .call_once_and_store_result([] {
                                 const py::object file = py::module_::import("tilewright").attr("__file__");
                                 return py::module_::import("os.path").attr("dirname")(file).cast<std::string>() + "/";
                               })
                               .get_stored();
  static GilMutex mutex;
  {
    const std::lock_guard lock(mutex);
    const auto found = known->find(code);
    if (found != known->end()) return found->second;
  }
  Py_INCREF(code);
  const auto text = [&](const char* name) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(code)).attr(name).cast<std::string>();
  };
  const std::string file = text("co_filename");
  // The examples are installed with the package, but are programs as a user's are.
  Code made{!file.starts_with(own) || file.starts_with(own + "examples/"), file, text("co_name")};
  const std::lock_guard lock(mutex);
  return known->emplace(code, std::move(made)).first->second;
}

void locate(Builder& builder) {
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const at = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    const Code& facts = code_of(reinterpret_cast<PyCodeObject*>(code.ptr()));
    if (facts.is_users) return builder.place(facts.file, PyFrame_GetLineNumber(at), facts.function);
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(at)));
  }
}

Tracing& traced() {
  if (!current_tracing) throw ProgramError("no function is being traced");
  return *current_tracing;
}

py::object wrap(ValueId id) { return py::cast(Symbol{current_tracing, id}); }

py::object wrap_all(const std::vector<ValueId>& ids) {
  py::tuple symbols(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) symbols[i] = wrap(ids[i]);
  return symbols;
}

// The pattern of a Python number as a scalar; numbers of types that NumPy lacks come as patterns (constant_bits).
uint64_t pattern(Scalar scalar, py::handle value) {
  if (program::is_integer(scalar)) {
    if (scalar == Scalar::kBoolean) return PyObject_IsTrue(value.ptr()) == 1;
    const py::int_ number(py::reinterpret_borrow<py::object>(value));
    const uint64_t bits = PyLong_AsUnsignedLongLongMask(number.ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
    return program::bits_of_value(scalar, static_cast<int64_t>(bits));
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) throw py::error_already_set();
  if (scalar == Scalar::kFloat64) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
  }
  if (scalar == Scalar::kFloat32) {
    const auto narrow = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  throw ProgramError(concat("a constant of ", program::facts(scalar).name, " is given by its bits"));
}

ValueId operand(Tracing& tracing, py::handle object, const Type* like) {
  if (is_symbol(object)) return static_cast<ValueId>(id_of_symbol(object));
  if (like == nullptr || !like->is_number()) {
    throw ProgramError("an operation on Python numbers alone is Python's: one operand has to be of the program");
  }
  return tracing.builder.constant(like->scalar, pattern(like->scalar, object));
}

void set_stride(AccessMode& mode, const Node& stride) {
  if (stride.has_basis()) throw ProgramError("memory is accessed by integers, but the layout gives coordinates");
  if (stride.is_symbolic()) {
    mode.dynamic = static_cast<ValueId>(stride.value);
    mode.divisor = divisibility(stride);
  } else {
    mode.stride = stride.value;
  }
}

void set_modes(Access& access, LayoutView layout) {
  const Node* stride = layout.stride.get();
  for (const Node *shape = layout.shape.get(), *end = shape + layout.shape.span(); shape != end; ++shape, ++stride) {
    if (shape->is_tuple()) continue;
    if (shape->is_dynamic()) throw ProgramError("memory is accessed by static shapes; slice the tensor first");
    if (shape->value == 1) continue;
    AccessMode mode;
    mode.extent = shape->value;
    set_stride(mode, *stride);
    // Neighbouring modes that go on where the one before ends are one.
    if (!access.modes.empty()) {
      AccessMode& last = access.modes.back();
      if (last.dynamic == kNoValue && mode.dynamic == kNoValue && mode.stride == last.extent * last.stride) {
        last.extent *= mode.extent;
        continue;
      }
    }
    access.modes.push_back(mode);
  }
}

// (pointer, layout), or a pointer alone for its one element.
Access access_of(py::handle object) {
  Access access;
  if (is_symbol(object)) {
    access.pointer = static_cast<ValueId>(id_of_symbol(object));
    return access;
  }
  const auto pair = py::cast<std::pair<py::object, py::object>>(object);
  access.pointer = static_cast<ValueId>(id_of_symbol(pair.first));
  if (is_composed(pair.second)) {
    const ComposedLayout& layout = as_composed(pair.second);
    const Swizzle* swizzle = layout.swizzle();
    if (swizzle == nullptr) throw ProgramError("memory is accessed by layouts and swizzles of them only");
    access.swizzle = ByteSwizzle{static_cast<int8_t>(swizzle->bits()), static_cast<int8_t>(swizzle->base()),
                                 static_cast<int8_t>(swizzle->shift())};
    const Node& offset = layout.offset().leaf();
    if (offset.is_symbolic()) {
      access.dynamic = static_cast<ValueId>(offset.value);
      access.divisor = divisibility(offset);
    } else {
      access.offset = offset.value;
    }
    set_modes(access, layout.outer());
  } else {
    set_modes(access, as_layout(pair.second));
  }
  return access;
}

std::vector<ValueId> ids_of(py::handle symbols) {
  std::vector<ValueId> ids;
  for (const py::handle symbol : symbols) ids.push_back(static_cast<ValueId>(id_of_symbol(symbol)));
  return ids;
}

py::object add(Tracing& tracing, const std::string& code, py::handle operands, py::handle types, py::handle blocks,
               py::handle accesses, const std::vector<int64_t>& ints, const std::string& text) {
  program::Request request{program::opcode_of(code), {}, {}, {}, {}, ints, text};
  if (py::isinstance<Type>(types)) {
    request.types.push_back(types.cast<Type>());
  } else if (!types.is_none()) {
    request.types = types.cast<std::vector<Type>>();
  }
  const Type* like = nullptr;
  for (const py::handle object : operands) {
    if (is_symbol(object)) {
      const Type& type = tracing.builder.program().type(static_cast<ValueId>(id_of_symbol(object)));
      if (like == nullptr || type.scalar != Scalar::kBoolean || request.code != program::Opcode::kSelect) like = &type;
    }
  }
  for (const py::handle object : operands) request.operands.push_back(operand(tracing, object, like));
  for (const py::handle block : blocks) request.blocks.push_back(block.cast<BlockHandle>().id);
  for (const py::handle access : accesses) request.accesses.push_back(access_of(access));
  const std::vector<ValueId> results = tracing.builder.add(std::move(request));
  if (results.empty()) return py::none();
  return results.size() == 1 && blocks.equal(py::tuple()) ? wrap(results[0]) : wrap_all(results);
}

const Type& type_of(const Symbol& symbol) {
  const Program& program = symbol.tracing->builder.program();
  if (symbol.id >= program.values.size()) {  // the program was taken out of its builder
    throw ProgramError(
        "a value of a kernel is used outside of the function that was traced; store it in a tensor to get it out");
  }
  return program.type(symbol.id);
}

py::object swizzle_of(const Type& type) {
  if (type.swizzle.bits == 0) return py::none();
  return py::make_tuple(int{type.swizzle.bits}, int{type.swizzle.base}, int{type.swizzle.shift});
}

program::Space space_of(const std::string& name) {
  for (const program::Space space :
       {program::Space::kGeneric, program::Space::kGlobal, program::Space::kShared, program::Space::kRegister}) {
    if (program::text_of(space) == name) return space;
  }
  throw ProgramError(concat("there is no memory space ", name));
}

void bind_type(py::module_& m) {
  py::class_<Type>(m, "Type", "The type of a value: a number, a vector of numbers, a pointer, or a tensor map.")
      .def_property_readonly("kind",
                             [](const Type& t) {
                               return t.is_pointer() ? "pointer" : t.is_tensor_map() ? "tensor_map" : "number";
                             })
      .def_property_readonly("scalar", [](const Type& t) { return std::string(program::facts(t.scalar).name); })
      .def_property_readonly("lanes", [](const Type& t) { return t.lanes; })
      .def_property_readonly("space", [](const Type& t) { return std::string(program::text_of(t.space)); })
      .def_property_readonly("align", [](const Type& t) { return t.align; })
      .def_property_readonly("swizzle", swizzle_of)
      .def("__eq__", [](const Type& a, const py::object& b) { return py::isinstance<Type>(b) && a == b.cast<Type>(); })
      .def("__hash__", [](const Type& t) { return py::hash(py::str(program::to_string(t))); })
      .def("__repr__", [](const Type& t) { return program::to_string(t); });
  m.def(
      "number",
      [](const std::string& scalar, uint32_t lanes) { return program::number(program::scalar_of(scalar), lanes); },
      py::arg("scalar"), py::arg("lanes") = 1, "The type of a number, or of a vector of `lanes` numbers.");
  m.def("tensor_map", &program::tensor_map, "The type of a tensor map: which boxes of a tensor TMA copies.");
  m.def(
      "pointer",
      [](const std::string& scalar, const std::string& space, uint32_t align,
         std::optional<std::tuple<int, int, int>> swizzle) {
        ByteSwizzle bytes;
        if (swizzle) {
          const auto [bits, base, shift] = *swizzle;
          bytes = {static_cast<int8_t>(bits), static_cast<int8_t>(base), static_cast<int8_t>(shift)};
        }
        return program::pointer(program::scalar_of(scalar), space_of(space), align, bytes);
      },
      py::arg("scalar"), py::arg("space"), py::arg("align"), py::arg("swizzle") = py::none(),
      "The type of a pointer; align and the swizzle count bytes.");
}

void bind_symbol(py::module_& m) {
  py::class_<Symbol>(m, "Symbol", "A value of the program that is being traced.")
      .def_property_readonly("id", [](const Symbol& s) { return s.id; })
      .def_property_readonly("type", type_of)
      .def_property_readonly("scalar",
                             [](const Symbol& s) { return std::string(program::facts(type_of(s).scalar).name); })
      .def_property_readonly("lanes", [](const Symbol& s) { return type_of(s).lanes; })
      .def_property_readonly("is_visible", [](const Symbol& s) { return s.tracing->builder.visible(s.id); })
      .def_property_readonly(
          "constant", [](const Symbol& s) { return s.tracing->builder.constant_integer(s.id); },
          "The integer that the value is known to be, or None.")
      .def("__eq__",
           [](const Symbol& a, const py::object& b) {
             return is_symbol(b) && b.cast<const Symbol&>().tracing == a.tracing && b.cast<const Symbol&>().id == a.id;
           })
      .def("__hash__", [](const Symbol& s) { return s.id; })
      .def("__repr__", [](const Symbol& s) { return concat("%", s.id, ": ", program::to_string(type_of(s))); });
  py::class_<BlockHandle>(m, "Block", "A closed block, for an operation of control.");
}

using TracingClass = py::class_<Tracing, std::shared_ptr<Tracing>>;

void bind_builder(py::module_& m) {
  TracingClass builder(m, "Builder", "Collects the operations of one trace.");
  builder.def(py::init([] {
    auto tracing = std::make_shared<Tracing>();
    tracing->builder.locate = locate;
    return tracing;
  }));
  builder.def("__enter__", [](const std::shared_ptr<Tracing>& self) {
    if (current_tracing) throw ProgramError("a function is traced already in this thread");
    current_tracing = self;
    program::set_current(&self->builder);
    set_symbols(&self->symbols);
    enter_unchecked();
    return self;
  });
  builder.def("__exit__", [](const std::shared_ptr<Tracing>&, const py::args&) {
    leave_unchecked();
    set_symbols(nullptr);
    program::set_current(nullptr);
    current_tracing.reset();
  });
  builder.def(
      "place",
      [](Tracing& self, const std::string& file, int line, const std::string& function) {
        self.builder.locate = nullptr;
        self.builder.place(file, line, function);
      },
      py::arg("file"), py::arg("line"), py::arg("function"),
      "The place of the operations that follow, in place of where Python is.");
  builder.def(
      "op",
      [](Tracing& self, const std::string& code, const py::object& operands, const py::object& type,
         const py::object& blocks, const py::object& accesses, const std::vector<int64_t>& ints,
         const std::string& text) { return add(self, code, operands, type, blocks, accesses, ints, text); },
      py::arg("code"), py::arg("operands") = py::tuple(), py::kw_only(), py::arg("type") = py::none(),
      py::arg("blocks") = py::tuple(), py::arg("accesses") = py::tuple(), py::arg("ints") = std::vector<int64_t>(),
      py::arg("text") = "",
      "Add an operation: its result, a tuple of results where it has blocks or several, None where it has none.");
  builder.def(
      "constant",
      [](Tracing& self, const std::string& scalar, const py::object& value) {
        const Scalar of = program::scalar_of(scalar);
        return wrap(self.builder.constant(of, pattern(of, value)));
      },
      py::arg("scalar"), py::arg("value"), "A constant; integers wrap.");
  builder.def(
      "constant_bits",
      [](Tracing& self, const std::string& scalar, uint64_t bits) {
        return wrap(self.builder.constant(program::scalar_of(scalar), bits));
      },
      py::arg("scalar"), py::arg("bits"), "A constant by its pattern.");
  builder.def(
      "begin_block",
      [](Tracing& self, const std::vector<Type>& types) { return wrap_all(self.builder.begin_block(types)); },
      py::arg("types"), "Open a block; its parameters.");
  builder.def(
      "end_block",
      [](Tracing& self, const py::object& yields) { return BlockHandle{self.builder.end_block(ids_of(yields))}; },
      py::arg("yields"), "Close the innermost block.");
  builder.def(
      "set_yields",
      [](Tracing& self, const BlockHandle& block, const py::object& yields) {
        self.builder.set_yields(block.id, ids_of(yields));
      },
      py::arg("block"), py::arg("yields"), "Other yields for a closed block that no operation has taken yet.");
  builder.def(
      "inline_block", [](Tracing& self) { self.builder.inline_block(); },
      "Close the innermost block, which has no parameters, as a part of the one around it.");
  builder.def_property_readonly(
      "can_speculate", [](const Tracing& self) { return self.builder.can_speculate(); },
      "Whether the innermost block may run where it was not asked to: no effects, and nothing that can fail.");
  builder.def_property_readonly("depth", [](const Tracing& self) { return self.builder.depth(); });
  builder.def(
      "abandon", [](Tracing& self, std::size_t depth) { self.builder.abandon(depth); }, py::arg("depth"),
      "Close blocks until so many are open, after an error.");
  builder.def(
      "begin_function",
      [](Tracing& self, const std::string& name, bool is_kernel, const std::vector<Type>& types,
         const std::vector<std::string>& names) {
        return wrap_all(self.builder.begin_function(name, is_kernel, types, names));
      },
      py::arg("name"), py::arg("is_kernel"), py::arg("types"), py::arg("names"), "Open a function; its parameters.");
  builder.def(
      "end_function",
      [](Tracing& self, const py::object& results) { return self.builder.end_function(ids_of(results)); },
      py::arg("results") = py::tuple(), "Close the function; its index.");
  builder.def(
      "set_function",
      [](Tracing& self, int64_t shared_bytes, const std::vector<int64_t>& threads, const std::vector<int64_t>& cluster,
         int64_t min_blocks) {
        program::Function& function = self.builder.function();
        function.shared_bytes = shared_bytes;
        std::copy_n(threads.begin(), std::min<std::size_t>(3, threads.size()), function.threads);
        std::copy_n(cluster.begin(), std::min<std::size_t>(3, cluster.size()), function.cluster);
        function.min_blocks = min_blocks;
      },
      py::kw_only(), py::arg("shared_bytes") = 0, py::arg("threads") = std::vector<int64_t>(),
      py::arg("cluster") = std::vector<int64_t>(), py::arg("min_blocks") = 0, "Facts of the function that is open.");
  builder.def(
      "name", [](Tracing& self, const Symbol& symbol, const std::string& name) { self.builder.name(symbol.id, name); },
      py::arg("symbol"), py::arg("name"), "The user's name of a value; the first one stays.");
  builder.def(
      "finish", [](Tracing& self) { return std::make_shared<Program>(self.builder.finish()); },
      "The program; the builder is empty afterwards.");
}

// ---- whole programs ----

py::tuple to_tuple(const std::vector<program::Evaluated>& values) {
  py::tuple pairs(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) pairs[i] = py::make_tuple(values[i].bits, values[i].base);
  return pairs;
}

void bind_whole(py::module_& m) {
  py::class_<program::Function>(m, "Function", "A kernel or host function of a program.")
      .def_readonly("name", &program::Function::name)
      .def_readonly("is_kernel", &program::Function::is_kernel)
      .def_readonly("parameters", &program::Function::parameters, "The user's names of the flattened arguments.")
      .def_readonly("shared_bytes", &program::Function::shared_bytes)
      .def_readonly("min_blocks", &program::Function::min_blocks)
      .def_property_readonly(
          "threads",
          [](const program::Function& f) { return py::make_tuple(f.threads[0], f.threads[1], f.threads[2]); })
      .def_property_readonly("cluster", [](const program::Function& f) {
        return py::make_tuple(f.cluster[0], f.cluster[1], f.cluster[2]);
      });
  py::class_<program::MapOfTensor>(m, "MapOfTensor", "What TMA is told of a tensor; the fastest mode comes first.")
      .def_property_readonly(
          "address", [](const program::MapOfTensor& map) { return std::make_pair(map.address.bits, map.address.base); },
          "(bytes, i) behind parameter i of the host function.")
      .def_readonly("element", &program::MapOfTensor::element)
      .def_readonly("shape", &program::MapOfTensor::shape)
      .def_readonly("strides", &program::MapOfTensor::strides, "In bytes, of all modes but the first.")
      .def_readonly("box", &program::MapOfTensor::box)
      .def_readonly("swizzle", &program::MapOfTensor::swizzle, "Bytes that it spans, 0 for none.");
  py::class_<program::Launched>(m, "Launched", "What a host function launches a kernel with.")
      .def_readonly("kernel", &program::Launched::kernel)
      .def_property_readonly("grid", [](const program::Launched& l) { return std::to_array(l.grid); })
      .def_property_readonly("block", [](const program::Launched& l) { return std::to_array(l.block); })
      .def_property_readonly("cluster", [](const program::Launched& l) { return std::to_array(l.cluster); })
      .def_readonly("shared_bytes", &program::Launched::shared_bytes)
      .def_readonly("ints", &program::Launched::ints)
      .def_property_readonly(
          "arguments", [](const program::Launched& l) { return to_tuple(l.arguments); },
          "(bits, -1) of a number, (bytes, i) of a pointer that lies so far behind parameter i of the host function, "
          "(i, -1) of tensor map i.")
      .def_readonly("maps", &program::Launched::maps, "Tensor maps.");
  py::class_<program::HostPrint>(m, "HostPrint", "What a host function prints.")
      .def_readonly("launches", &program::HostPrint::launches, "How many kernels are launched before it.")
      .def_readonly("text", &program::HostPrint::text, "The format.")
      .def_property_readonly(
          "scalars",
          [](const program::HostPrint& print) {
            std::vector<std::string> names;
            for (const Scalar scalar : print.scalars) names.emplace_back(program::facts(scalar).name);
            return names;
          },
          "The types of its values.")
      .def_readonly("values", &program::HostPrint::values, "The patterns of its values.");
  py::class_<Program, std::shared_ptr<Program>>(m, "Program", "A traced program.")
      .def("__str__", [](const Program& p) { return program::to_string(p); })
      .def_property_readonly("functions", [](const Program& p) { return p.functions; })
      .def(
          "to_bytes", [](const Program& p) { return py::bytes(program::to_bytes(p)); },
          "The program for a file; see from_bytes.")
      .def_static(
          "from_bytes",
          [](const py::bytes& bytes) { return std::make_shared<Program>(program::from_bytes(std::string(bytes))); },
          py::arg("bytes"), "The program that to_bytes gave; ProgramError where the bytes are none.")
      .def(
          "parameter_types",
          [](const Program& p, std::size_t index) {
            std::vector<Type> types;
            for (const ValueId id : p.blocks[p.functions.at(index).body].parameters) types.push_back(p.type(id));
            return types;
          },
          py::arg("function"), "The types of a function's parameters.")
      .def(
          "evaluate",
          [](const Program& p, std::size_t index, const std::vector<uint64_t>& parameters) {
            program::HostRun run = program::evaluate(p, index, parameters);
            return std::make_tuple(std::move(run.launches), std::move(run.prints), to_tuple(run.results));
          },
          py::arg("function"), py::arg("parameters"),
          "(launches, prints, results) of a host function for the patterns of its parameters.")
      .def(
          "is_thread", [](const Program& p, std::size_t index) { return program::is_thread(p, index); },
          py::arg("function"),
          "Whether a host function launches nothing and does what only a thread does, such as touching memory.");
}

}  // namespace

bool is_symbol(py::handle object) {
  return Py_TYPE(object.ptr()) == reinterpret_cast<PyTypeObject*>(py::type::of<Symbol>().ptr());
}

int64_t id_of_symbol(py::handle object) {
  if (!is_symbol(object)) throw ProgramError("expected a value of the program");
  const auto& symbol = object.cast<const Symbol&>();
  if (symbol.tracing != current_tracing) {
    throw ProgramError("a value of a traced function is used outside of it; store it in a tensor to get it out");
  }
  return symbol.id;
}

py::object symbol_object(int64_t id) { return wrap(static_cast<ValueId>(id)); }

py::object all_less(const std::vector<std::pair<Node, Node>>& pairs) {
  Tracing& tracing = traced();
  std::optional<ValueId> all;
  for (const auto& [a, b] : pairs) {
    const Scalar scalar = a.is_wide() || b.is_wide() ? Scalar::kInt64 : Scalar::kInt32;
    const ValueId x = tracing.symbols.value_of(a, scalar), y = tracing.symbols.value_of(b, scalar);
    const ValueId less = tracing.builder.add_one({program::Opcode::kLt, {x, y}, {}, {}, {}, {}, {}});
    all = all ? tracing.builder.add_one({program::Opcode::kAnd, {*all, less}, {}, {}, {}, {}, {}}) : less;
  }
  return py::module_::import("tilewright.numeric").attr("Boolean").attr("_of")(wrap(*all));
}

void bind_program(py::module_& module) {
  py::module_ m = module.def_submodule("program", "Programs that tracing gives: types, values, operations.");
  py::register_exception<ProgramError>(m, "ProgramError", PyExc_RuntimeError);
  bind_type(m);
  bind_whole(m);  // what others give
  bind_symbol(m);
  bind_builder(m);
  bind_program_text(m);
  m.def(
      "current", [] { return current_tracing ? py::cast(current_tracing) : py::none(); },
      "The builder of this thread's trace, or None.");
}

}  // namespace tilewright::bind
