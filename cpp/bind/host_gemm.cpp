// GEMM plans on the CPU: GemmProgram in the submodule _core.host.
#include <algorithm>
#include <memory>

#include "convert.hpp"
#include "host/gemm_check.hpp"
#include "host/gemm_program.hpp"
#include "host/gemm_sums.hpp"
#include "host/plan.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

using host::Access;
using host::Array;
using host::GemmProblem;
using host::GemmProgram;
using host::GemmReport;
using host::GemmTables;
using host::Operand;
using host::Predicate;
using host::Rounding;
using host::Store;
using host::Type;

constexpr const char* kProgram = R"doc(The tables of a GEMM plan, ready to be run on the CPU.

Args:
    tables: a tilewright.kernels.gemm.tables.GemmTables.
Raises: ValueError naming the table and its entry where shapes do not agree or an index leads outside of what it points
    into; TypeError for what is no table.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright import Float32, cute
    >>> from tilewright._core import host
    >>> from tilewright.kernels.gemm.partitions import direct_tables
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 2, 1))
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    >>> tiled_copy = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 1)), cute.make_layout((1, 1)))
    >>> smem = cute.make_layout((4, 2))
    >>> program = host.GemmProgram(direct_tables(tiled_mma, (4, 4, 2), (tiled_copy, tiled_copy), (smem, smem)))
    >>> a, b, c = np.ones((5, 3), np.float32), np.full((6, 3), 2, np.float32), np.zeros((5, 6), np.float32)
    >>> addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data
    >>> program.run(problem_of(5, 6, 3, Float32), Float32, *addresses)
    >>> c.min(), c.max(), program.check(problem_of(5, 6, 3, Float32), Float32, *addresses)
    (np.float32(6.0), np.float32(6.0), {}))doc";

constexpr const char* kRun = R"doc(Compute C by the plan's tables.

    C(m, n, l) = activation(alpha * sum over k of A(m, k, l) B(n, k, l) + beta * C(m, n, l) + bias)

Args:
    problem: a tilewright.kernels.gemm.problem.GemmProblem.
    compute: the type of the epilogue: Float32, Float64 or Int32.
    a_address, b_address, c_address, bias_address: where the tensors' elements 0 lie. The memory that the problem's
        extents and strides span must be there, and C must not overlap the others.
    threads: CPU threads; 0: one for each core, as far as the amount of work is worth it. The result does not depend on
        their number.
Raises: ValueError for a problem that the tables do not fit.
Source: tilewright.)doc";

constexpr const char* kCheck =
    R"doc(Compute C thread by thread with marks on shared memory, and say what is wrong with the tables.

Args:
    move: whether to compute C; without, the addresses only say how the tensors are aligned.
    (the others as in run)
Returns: a dict of findings, each a dict with the `count` and the `first` coordinates: those of
    tilewright.kernels.gemm.report.GemmReport. A plan is sound where the dict is empty.
Raises: ValueError for a problem that the tables do not fit.
Source: tilewright.)doc";

constexpr const char* kFinishSums = R"doc(Compute C from the sums of parts along K, which are added in their order.

    C(m, n, l) = activation(alpha * sum over s of S(m, n, l, s) + beta * C(m, n, l) + bias)

Args:
    problem: a tilewright.kernels.gemm.problem.GemmProblem, of which C and the epilogue count.
    compute: the type of the epilogue: Float32, Float64 or Int32.
    address, strides: where the sums S (M,N,L..) of the first part lie, in elements of problem.acc_type.
    count, step: the parts, and the elements from one to the next.
    c_address, bias_address: where the tensors' elements 0 lie.
Raises: ValueError where strides are not those of C's modes, or an address is null.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright import Float32
    >>> from tilewright._core import host
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> sums, c = np.arange(12, dtype=np.float32).reshape(3, 2, 2), np.zeros((2, 2), np.float32)
    >>> host.finish_sums(problem_of(2, 2, 8, Float32), Float32, sums.ctypes.data, (2, 1), 3, 4, c.ctypes.data)
    >>> c.tolist() == sums.sum(0).tolist()
    True)doc";

// A field of a Python object, with its name for messages.
struct Field {
  py::object object;
  std::string name;

  Field operator[](const char* attribute) const {
    if (!py::hasattr(object, attribute)) throw KindError(concat("expected ", name, " to have a field ", attribute));
    return {object.attr(attribute), name + "." + attribute};
  }
  bool is_none() const { return object.is_none(); }

  int64_t integer() const {
    if (!PyIndex_Check(object.ptr()) || PyBool_Check(object.ptr())) {
      throw KindError(concat("expected ", name, " to be an integer, but got ", notation(object)));
    }
    return to_int64(object);
  }
  double number() const {
    const double value = PyFloat_AsDouble(object.ptr());
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      throw KindError(concat("expected ", name, " to be a number, but got ", notation(object)));
    }
    return value;
  }
  bool flag() const {
    if (!PyBool_Check(object.ptr())) throw KindError(concat("expected ", name, " to be True or False"));
    return object.ptr() == Py_True;
  }
  std::vector<int64_t> integers() const {
    if (!is_sequence(object)) throw KindError(concat("expected ", name, " to be a tuple of integers"));
    std::vector<int64_t> values;
    for (const py::handle item : items_of(object)) values.push_back(to_int64(item));
    return values;
  }
  std::array<int64_t, 3> triple() const {
    const std::vector<int64_t> values = integers();
    if (values.size() != 3) throw ValueError(concat(name, " must have 3 entries, but has ", values.size()));
    return {values[0], values[1], values[2]};
  }
  // One of some words.
  template <class T>
  T word(std::initializer_list<std::pair<const char*, T>> words) const {
    std::string known;
    for (const auto& [text, value] : words) {
      if (py::isinstance<py::str>(object) && object.cast<std::string>() == text) return value;
      known += concat(known.empty() ? "" : ", ", "\"", text, "\"");
    }
    throw ValueError(concat(name, " = ", py::repr(object).cast<std::string>(), " must be one of ", known));
  }
};

Array to_array(const Field& field) {
  Py_buffer view{};
  if (PyObject_GetBuffer(field.object.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    throw KindError(concat("expected ", field.name,
                           " to be a C-contiguous array of int32; numpy.ascontiguousarray "
                           "makes one"));
  }
  const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&view, &PyBuffer_Release);
  const std::string format = view.format == nullptr ? "B" : view.format;
  if (view.itemsize != 4 || (format != "i" && format != "l" && format != "=i" && format != "<i")) {
    throw KindError(concat("expected ", field.name, " to be an array of int32, but its elements have the format ",
                           format, "; .astype(numpy.int32) converts them"));
  }
  Array array;
  array.shape.assign(view.shape, view.shape + view.ndim);
  array.values.resize(static_cast<std::size_t>(view.len / 4));
  if (view.len > 0) std::memcpy(array.values.data(), view.buf, static_cast<std::size_t>(view.len));
  return array;
}

std::optional<Array> to_optional_array(const Field& field) {
  if (field.is_none()) return std::nullopt;
  return to_array(field);
}

host::Accesses to_accesses(const Field& table) {
  host::Accesses accesses;
  accesses.coord = to_array(table["coord"]);
  accesses.mode = static_cast<int>(std::clamp<int64_t>(table["mode"].integer(), -1, 2));
  accesses.kind = table["kind"].word<Access>({{"cp.async", Access::cp_async},
                                              {"registers", Access::registers},
                                              {"tma", Access::tma},
                                              {"direct", Access::direct},
                                              {"shared", Access::shared}});
  accesses.predicate = table["predicate"].word<Predicate>(
      {{"element", Predicate::element}, {"access", Predicate::access}, {"none", Predicate::none}});
  return accesses;
}

Operand to_operand(const Field& table) {
  Operand operand;
  const Field load = table["load"];
  operand.load = to_accesses(load);
  operand.smem = to_array(load["smem"]);
  operand.fill = load["fill"].flag();
  operand.stage_elements = table["stage_elements"].integer();
  operand.fragment = to_optional_array(table["fragment"]);
  operand.matrix = to_optional_array(table["matrix"]);
  return operand;
}

Store to_store(const Field& table) {
  Store store;
  store.accesses = to_accesses(table);
  if (store.accesses.kind == Access::cp_async || store.accesses.kind == Access::registers) {
    throw ValueError("tables.store.kind must be \"direct\", \"shared\" or \"tma\"");
  }
  store.value = to_optional_array(table["value"]);
  store.smem_write = to_optional_array(table["smem_write"]);
  store.smem_read = to_optional_array(table["smem_read"]);
  store.smem_added = to_optional_array(table["smem_added"]);
  store.image_elements = table["image_elements"].integer();
  store.round_write = to_optional_array(table["round_write"]);
  store.round_read = to_optional_array(table["round_read"]);
  return store;
}

GemmTables to_tables(py::handle object) {
  const Field table{py::reinterpret_borrow<py::object>(object), "tables"};
  GemmTables tables;
  tables.tile = table["tile"].triple();
  tables.a = to_operand(table["a"]);
  tables.b = to_operand(table["b"]);
  const Field mma = table["mma"], pipeline = table["pipeline"];
  tables.mma.shape = mma["shape_mnk"].triple();
  tables.mma.thread = to_array(mma["thread"]);
  tables.mma.c = to_array(mma["c"]);
  tables.mma.c_coord = to_array(mma["c_coord"]);
  tables.mma.a = to_optional_array(mma["a"]);
  tables.mma.b = to_optional_array(mma["b"]);
  tables.store = to_store(table["store"]);
  tables.pipeline = {pipeline["stages"].integer(), pipeline["ahead"].integer(), pipeline["landed"].integer(),
                     pipeline["first_read"].integer(), pipeline["last_read"].integer()};
  tables.work = to_optional_array(table["work"]);
  tables.promote = table["promote"].integer();
  tables.residue_first = table["residue"].word<bool>({{"last", false}, {"first", true}});
  const Field rounding = table["rounding"];
  if (!rounding.is_none()) {
    tables.rounding = rounding.word<Rounding>({{"tf32", Rounding::tf32}, {"tf32_rna", Rounding::tf32_rna}});
  }
  return tables;
}

Type to_type(const Field& field) {
  const Field name = field["__name__"];
  return name.word<Type>({{"Float16", Type::f16},
                          {"BFloat16", Type::bf16},
                          {"Float32", Type::f32},
                          {"TFloat32", Type::f32},
                          {"Float64", Type::f64},
                          {"Float8E4M3FN", Type::e4m3},
                          {"Float8E5M2", Type::e5m2},
                          {"Int8", Type::i8},
                          {"Uint8", Type::u8},
                          {"Int32", Type::i32}});
}

host::GemmTensor to_tensor(const Field& problem, const char* type, const char* strides, IntArg address) {
  host::GemmTensor tensor;
  tensor.address = static_cast<uint64_t>(to_int64(address.handle));
  tensor.type = to_type(problem[type]);
  const std::vector<int64_t> all = problem[strides].integers();
  if (all.size() < 2) throw ValueError(concat("problem.", strides, " must have at least 2 entries"));
  tensor.strides = {all[0], all[1]};
  tensor.batch_strides.assign(all.begin() + 2, all.end());
  return tensor;
}

struct Addresses {
  IntArg a, b, c, bias;
};

Field field_of(const Arg& problem) { return {py::reinterpret_borrow<py::object>(problem.handle), "problem"}; }

GemmProblem to_problem(const Arg& object, const Arg& compute, const Addresses& addresses) {
  const Field field = field_of(object);
  GemmProblem problem;
  problem.a = to_tensor(field, "a_type", "a_strides", addresses.a);
  problem.b = to_tensor(field, "b_type", "b_strides", addresses.b);
  problem.c = to_tensor(field, "c_type", "c_strides", addresses.c);
  problem.acc = to_type(field["acc_type"]);
  problem.compute = to_type({py::reinterpret_borrow<py::object>(compute.handle), "compute"});
  problem.m = field["m"].integer();
  problem.n = field["n"].integer();
  problem.k = field["k"].integer();
  problem.batch = field["batch"].integers();
  const Field epilogue = field["epilogue"], bias = epilogue["bias"], activation = epilogue["activation"];
  problem.epilogue.alpha = epilogue["alpha"].number();
  problem.epilogue.beta = epilogue["beta"].number();
  if (!bias.is_none()) {
    problem.epilogue.bias_mode = bias.word<int>({{"m", 0}, {"n", 1}});
    problem.epilogue.bias_type = to_type(epilogue["bias_type"]);
    problem.epilogue.bias_stride = epilogue["bias_stride"].integer();
    problem.epilogue.bias_address = static_cast<uint64_t>(to_int64(addresses.bias.handle));
  }
  if (!activation.is_none()) {
    using host::Activation;
    problem.epilogue.activation = activation.word<Activation>({{"relu", Activation::relu},
                                                               {"gelu", Activation::gelu},
                                                               {"gelu_tanh", Activation::gelu_tanh},
                                                               {"silu", Activation::silu}});
  }
  host::check_problem(problem);
  return problem;
}

// The problem that tables are run for.
GemmProblem to_problem(const GemmTables& tables, const Arg& object, const Arg& compute, const Addresses& addresses) {
  const bool is_tf32 = field_of(object)["a_type"]["__name__"].object.cast<std::string>() == "TFloat32";
  if (is_tf32 != (tables.rounding != Rounding::none)) {
    throw ValueError(
        "tables.rounding must say how TFloat32 is made where problem.a_type is TFloat32, and be None else");
  }
  return to_problem(object, compute, addresses);
}

void require_memory(const GemmProblem& problem) {
  if (problem.empty()) return;
  const auto require = [](uint64_t address, const char* name) {
    if (address == 0) throw ValueError(concat(name, " must not be null"));
  };
  if (problem.k > 0) {
    require(problem.a.address, "a_address");
    require(problem.b.address, "b_address");
  }
  require(problem.c.address, "c_address");
  if (problem.epilogue.bias_mode >= 0) require(problem.epilogue.bias_address, "bias_address");
}

py::dict to_dict(const GemmReport& report) {
  py::dict result;
  for (const auto& [name, finding] : report) {
    py::list first;
    for (const std::vector<int64_t>& coord : finding.first) {
      py::tuple entry(coord.size());
      for (std::size_t i = 0; i < coord.size(); ++i) entry[i] = coord[i];
      first.append(std::move(entry));
    }
    py::dict found;
    found["count"] = finding.count;
    found["first"] = std::move(first);
    result[name.c_str()] = std::move(found);
  }
  return result;
}

// f() with PlanError as ValueError.
template <class F>
auto planned(const char* operation, F&& f) {
  return guarded(operation, {}, [&] {
    try {
      return f();
    } catch (const host::PlanError& error) {
      throw ValueError(error.what());
    }
  });
}

std::shared_ptr<GemmProgram> make(Arg object) {
  return planned("GemmProgram", [&] {
    GemmTables tables = to_tables(object.handle);
    const py::gil_scoped_release release;
    return std::make_shared<GemmProgram>(std::move(tables));
  });
}

void run(const GemmProgram& program, Arg object, Arg compute, IntArg a, IntArg b, IntArg c, IntArg bias,
         IntArg threads) {
  planned("GemmProgram.run", [&] {
    const GemmProblem problem = to_problem(program.tables(), object, compute, {a, b, c, bias});
    require_memory(problem);
    const int64_t workers = to_int64(threads.handle);
    if (workers < 0) throw ValueError(concat("threads = ", workers, " must not be negative"));
    const py::gil_scoped_release release;
    host::run(program, problem, workers);
  });
}

py::dict check(const GemmProgram& program, Arg object, Arg compute, IntArg a, IntArg b, IntArg c, IntArg bias,
               bool move) {
  return planned("GemmProgram.check", [&] {
    const GemmProblem problem = to_problem(program.tables(), object, compute, {a, b, c, bias});
    if (move) require_memory(problem);
    GemmReport report;
    {
      const py::gil_scoped_release release;
      report = host::check(program.tables(), problem, move);
    }
    return to_dict(report);
  });
}

void finish_sums(Arg object, Arg compute, IntArg address, Arg strides, IntArg count, IntArg step, IntArg c,
                 IntArg bias) {
  planned("finish_sums", [&] {
    const GemmProblem problem = to_problem(object, compute, {c, c, c, bias});  // A and B are not read
    host::PartSums sums;
    const std::vector<int64_t> all = Field{py::reinterpret_borrow<py::object>(strides.handle), "strides"}.integers();
    if (all.size() != 2 + problem.batch.size()) {
      throw ValueError(concat("strides has ", all.size(), " entries, but must have ", 2 + problem.batch.size(),
                              ", one for each mode of C"));
    }
    sums.address = static_cast<uint64_t>(to_int64(address.handle));
    sums.strides = {all[0], all[1]};
    sums.batch_strides.assign(all.begin() + 2, all.end());
    sums.count = to_int64(count.handle);
    sums.step = to_int64(step.handle);
    if (sums.count < 0) throw ValueError(concat("count = ", sums.count, " must not be negative"));
    if (!problem.empty() && (sums.address == 0 || problem.c.address == 0)) {
      throw ValueError("address and c_address must not be null");
    }
    if (problem.epilogue.bias_mode >= 0 && problem.epilogue.bias_address == 0) {
      throw ValueError("bias_address must not be null");
    }
    const py::gil_scoped_release release;
    host::finish_sums(problem, sums);
  });
}

}  // namespace

void bind_host_gemm(py::module_& m) {
  m.def("finish_sums", &finish_sums, py::arg("problem"), py::arg("compute"), py::arg("address"), py::arg("strides"),
        py::arg("count"), py::arg("step"), py::arg("c_address"), py::arg("bias_address") = 0, kFinishSums);
  py::class_<GemmProgram, std::shared_ptr<GemmProgram>>(m, "GemmProgram", kProgram)
      .def(py::init(&make), py::arg("tables"))
      .def("run", &run, py::arg("problem"), py::arg("compute"), py::arg("a_address"), py::arg("b_address"),
           py::arg("c_address"), py::arg("bias_address") = 0, py::kw_only(), py::arg("threads") = 0, kRun)
      .def("check", &check, py::arg("problem"), py::arg("compute"), py::arg("a_address"), py::arg("b_address"),
           py::arg("c_address"), py::arg("bias_address") = 0, py::kw_only(), py::arg("move") = true, kCheck);
}

}  // namespace tilewright::bind
