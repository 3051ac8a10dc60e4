// Running kernels of a program on the CPU: `_core.program.run_kernel`.
#include <pybind11/stl.h>

#include <array>
#include <limits>
#include <mutex>

#include "convert.hpp"
#include "host/execute/profile/profile.hpp"
#include "host/execute/profile/timeline.hpp"
#include "module.hpp"
#include "program.hpp"
#include "program/evaluate.hpp"

namespace tilewright::bind {

using execute::Code;
using execute::Finding;
using execute::Launch;
using execute::MemoryRange;
using execute::ProfileRow;
using program::Program;
using program::ProgramError;

namespace {

constexpr int64_t kMostOfCluster = 16;
constexpr int64_t kMostSharedBytes = 227 * 1024;  // of the GPUs that have the most

// Each kernel is translated once, as long as its program lives.
std::shared_ptr<const Code> code_of(const std::shared_ptr<Program>& program, std::size_t kernel) {
  struct Entry {
    std::weak_ptr<Program> program;
    std::shared_ptr<const Code> code;
  };
  static std::mutex mutex;
  static std::map<std::pair<const Program*, std::size_t>, Entry> known;
  const std::lock_guard<std::mutex> lock(mutex);
  Entry& entry = known[{program.get(), kernel}];
  if (entry.code == nullptr || entry.program.expired()) {
    std::erase_if(known, [](const auto& each) { return each.second.code != nullptr && each.second.program.expired(); });
    std::shared_ptr<const Code> code = execute::translate(*program, kernel);
    known[{program.get(), kernel}] = Entry{program, code};
    return code;
  }
  return entry.code;
}

// `most`: what a GPU takes.
void set_extents(int64_t (&to)[3], const std::vector<int64_t>& from, const char* name,
                 const std::array<int64_t, 3>& most) {
  if (from.size() > 3) throw ProgramError(concat(name, " has at most 3 extents, not ", from.size()));
  for (std::size_t i = 0; i < 3; ++i) to[i] = i < from.size() ? from[i] : 1;
  for (const int64_t extent : to) {
    if (extent < 1)
      throw ProgramError(concat(name, " (", to[0], ",", to[1], ",", to[2], "): expected extents above 0"));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (to[i] <= most[i]) continue;
    throw ProgramError(concat(name, " (", to[0], ",", to[1], ",", to[2], "): expected at most (", most[0], ",", most[1],
                              ",", most[2], ")"));
  }
}

py::object thread_tuple(const execute::Thread& thread) {
  if (!thread.is_there) return py::none();
  const auto three = [](const int64_t (&of)[3]) { return py::make_tuple(of[0], of[1], of[2]); };
  return py::make_tuple(three(thread.block), three(thread.thread));
}

// A finding with the places of its program.
struct BoundFinding {
  Finding finding;
  program::Place place;
  program::Place other;
};

py::object place_tuple(const program::Place& place) {
  if (place.line == 0 && place.file.empty()) return py::none();
  return py::make_tuple(place.file, place.line, place.function);
}

std::string text_of_thread(const execute::Thread& thread) {
  const auto three = [](const int64_t (&of)[3]) { return concat("(", of[0], ",", of[1], ",", of[2], ")"); };
  return concat("block ", three(thread.block), " thread ", three(thread.thread));
}

std::string to_string(const BoundFinding& bound) {
  const Finding& f = bound.finding;
  std::string text = concat(bound.place.file, ":", bound.place.line, ": ", execute::text_of(f.kind), ": ", f.message);
  if (!f.tensor.empty()) text += concat("; ", f.tensor);
  if (!f.coordinate.empty()) {
    text += "[";
    for (std::size_t i = 0; i < f.coordinate.size(); ++i) text += concat(i == 0 ? "" : ",", f.coordinate[i]);
    text += "]";
  }
  if (f.thread.is_there) text += concat("; ", text_of_thread(f.thread));
  if (f.other.is_there) text += concat(" and ", text_of_thread(f.other));
  if (bound.other.line != 0) text += concat("; the other side is ", bound.other.file, ":", bound.other.line);
  if (f.count > 1) text += concat("; ", f.count, " times");
  return text;
}

// With the cells of a notebook by their names.
py::object shown(const std::string& text) {
  return py::module_::import("tilewright._cells").attr("with_cell_names")(text);
}

void bind_finding(py::module_& m) {
  py::class_<BoundFinding>(m, "Finding", "What the execution of a kernel found to be wrong.")
      .def_property_readonly("kind",
                             [](const BoundFinding& f) { return std::string(execute::text_of(f.finding.kind)); })
      .def_property_readonly("message", [](const BoundFinding& f) { return f.finding.message; })
      .def_property_readonly(
          "place", [](const BoundFinding& f) { return place_tuple(f.place); }, "(file, line, function), or None.")
      .def_property_readonly("line", [](const BoundFinding& f) { return f.place.line; })
      .def_property_readonly(
          "other_place", [](const BoundFinding& f) { return place_tuple(f.other); },
          "Where the other side is, or None.")
      .def_property_readonly(
          "thread", [](const BoundFinding& f) { return thread_tuple(f.finding.thread); },
          "(block, thread) of the first one, or None.")
      .def_property_readonly(
          "other_thread", [](const BoundFinding& f) { return thread_tuple(f.finding.other); },
          "(block, thread) of the other side, or None.")
      .def_property_readonly("space", [](const BoundFinding& f) { return f.finding.space; })
      .def_property_readonly("address",
                             [](const BoundFinding& f) -> std::optional<uint64_t> {
                               if (!f.finding.has_address) return std::nullopt;
                               return f.finding.address;
                             })
      .def_property_readonly("tensor", [](const BoundFinding& f) { return f.finding.tensor; })
      .def_property_readonly(
          "coordinate", [](const BoundFinding& f) { return py::tuple(py::cast(f.finding.coordinate)); },
          "In the tensor's flat modes; () where there is none.")
      .def_property_readonly("count", [](const BoundFinding& f) { return f.finding.count; })
      .def("__repr__", [](const BoundFinding& f) { return shown(to_string(f)); });
}

Launch launch_of(const std::shared_ptr<Program>& program, std::size_t kernel, const std::vector<int64_t>& grid,
                 const std::vector<int64_t>& block, const std::vector<int64_t>& cluster, int64_t shared_bytes,
                 const std::vector<uint64_t>& arguments) {
  Launch launch;
  launch.code = code_of(program, kernel);
  set_extents(launch.grid, grid, "grid", {std::numeric_limits<int32_t>::max(), 65535, 65535});
  set_extents(launch.block, block, "block", {1024, 1024, 64});
  set_extents(launch.cluster, cluster, "cluster", {16, 16, 16});
  const auto three = [](const int64_t (&of)[3]) { return concat("(", of[0], ",", of[1], ",", of[2], ")"); };
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > kMostOfCluster) {
    throw ProgramError(concat("cluster ", three(launch.cluster), ": at most ", kMostOfCluster, " blocks are one"));
  }
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] % launch.cluster[i] == 0) continue;
    throw ProgramError(concat("grid ", three(launch.grid), " consists of no whole clusters ", three(launch.cluster),
                              "; round extent ", i, " up to a multiple of ", launch.cluster[i]));
  }
  const int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > 1024) throw ProgramError(concat("a block has at most 1024 threads, not ", threads));
  if (arguments.size() != launch.code->parameters.size()) {
    throw ProgramError(
        concat("the kernel takes ", launch.code->parameters.size(), " arguments, not ", arguments.size()));
  }
  launch.shared_bytes = std::max(shared_bytes, launch.code->function->shared_bytes);
  if (launch.shared_bytes > kMostSharedBytes) {
    throw ProgramError(
        concat("a block has at most ", kMostSharedBytes, " bytes of shared memory, not ", launch.shared_bytes));
  }
  launch.arguments = arguments;
  return launch;
}

std::vector<execute::TensorMap> maps_of(const std::vector<std::pair<uint64_t, program::MapOfTensor>>& maps) {
  constexpr uint64_t kAligned = 16;
  std::vector<execute::TensorMap> made;
  for (const auto& [address, map] : maps) {
    if (address % kAligned != 0) {
      throw ProgramError(concat("a tensor at address ", address, " is copied by TMA, which needs a multiple of ",
                                kAligned, " bytes; align it"));
    }
    made.push_back({address, map.bits / 8, map.shape, map.strides, map.box, map.swizzle});
  }
  return made;
}

// Control-C ends a launch, too.
execute::Outcome outcome_of(Launch& launch) {
  launch.is_interrupted = [] {
    const py::gil_scoped_acquire acquired;
    return PyErr_CheckSignals() != 0;
  };
  execute::Outcome outcome;
  {
    const py::gil_scoped_release released;
    outcome = execute::run(launch);
  }
  if (outcome.is_interrupted) throw py::error_already_set();
  return outcome;
}

py::object run_kernel(const std::shared_ptr<Program>& program, std::size_t kernel, const std::vector<int64_t>& grid,
                      const std::vector<int64_t>& block, const std::vector<int64_t>& cluster, int64_t shared_bytes,
                      const std::vector<uint64_t>& arguments, const std::vector<MemoryRange>& memory, bool check,
                      uint64_t seed, int threads, int64_t limit, uint32_t events,
                      const std::vector<std::pair<uint64_t, program::MapOfTensor>>& maps, uint64_t resident,
                      const std::vector<std::tuple<uint64_t, uint64_t, bool>>& before, const py::object& touched) {
  Launch launch = launch_of(program, kernel, grid, block, cluster, shared_bytes, arguments);
  launch.resident = resident;
  launch.memory = memory;
  launch.maps = maps_of(maps);
  launch.check = check;
  launch.seed = seed;
  launch.threads = threads;
  launch.limit = limit;
  launch.events = events;
  launch.tells_touched = !touched.is_none();
  for (const auto& [first, last, is_written] : before) launch.before.push_back({first, last, is_written});
  const execute::Outcome outcome = outcome_of(launch);
  py::list findings;
  for (const Finding& finding : outcome.findings) {
    findings.append(BoundFinding{finding, program->places[finding.place], program->places[finding.other_place]});
  }
  for (const execute::Touched& each : outcome.touched) {
    touched.attr("append")(py::make_tuple(each.first, each.last, each.is_written));
  }
  return py::make_tuple(findings, outcome.output);
}

// A row of a profile with what its program says.
struct BoundRow {
  ProfileRow row;
  program::Place place;
  std::string operation;
};

py::object profile_kernel(const std::shared_ptr<Program>& program, std::size_t kernel, const std::vector<int64_t>& grid,
                          const std::vector<int64_t>& block, const std::vector<int64_t>& cluster, int64_t shared_bytes,
                          const std::vector<uint64_t>& arguments, int threads,
                          const std::optional<std::pair<uint64_t, uint32_t>>& warp,
                          const std::vector<std::pair<uint64_t, program::MapOfTensor>>& maps) {
  Launch launch = launch_of(program, kernel, grid, block, cluster, shared_bytes, arguments);
  launch.profile = true;
  launch.maps = maps_of(maps);
  if (warp) launch.profiled = execute::WarpOfGrid{warp->first, warp->second};
  launch.threads = threads;
  py::list rows;
  for (const ProfileRow& row : outcome_of(launch).profile) {
    const program::Operation& operation = program->operations[row.operation];
    rows.append(BoundRow{row, program->places[row.place], std::string(program::facts(operation.code).text)});
  }
  return rows;
}

py::object timeline_kernel(const std::shared_ptr<Program>& program, std::size_t kernel,
                           const std::vector<int64_t>& grid, const std::vector<int64_t>& block,
                           const std::vector<int64_t>& cluster, int64_t shared_bytes,
                           const std::vector<uint64_t>& arguments, uint64_t cta,
                           const std::vector<std::pair<uint64_t, program::MapOfTensor>>& maps) {
  Launch launch = launch_of(program, kernel, grid, block, cluster, shared_bytes, arguments);
  launch.maps = maps_of(maps);
  launch.timed = cta;
  py::list spans;
  for (const execute::Span& span : outcome_of(launch).timeline) {
    spans.append(py::make_tuple(span.warp, std::string(execute::text_of(span.kind)), span.begin, span.end,
                                program->places[span.place].line, span.barrier));
  }
  return spans;
}

void bind_profile(py::module_& m) {
  const auto number = [](auto&& get) { return [get](const BoundRow& b) { return get(b.row); }; };
  py::class_<BoundRow>(m, "ProfileRow", "What one operation, or its requests to one memory, cost in a launch.")
      .def_property_readonly("place", [](const BoundRow& b) { return place_tuple(b.place); })
      .def_property_readonly("line", [](const BoundRow& b) { return b.place.line; })
      .def_property_readonly("operation", [](const BoundRow& b) { return b.operation; })
      .def_property_readonly(
          "space",
          [](const BoundRow& b) {
            return b.row.width == 0 ? std::string() : std::string(program::text_of(b.row.space));
          },
          "gmem or smem of a row about requests, else empty.")
      .def_property_readonly(
          "kind",
          [](const BoundRow& b) {
            return b.row.width == 0 ? std::string() : std::string(execute::text_of(b.row.kind));
          },
          "load, store, atomic, cp.async, ldmatrix or stmatrix of a row about requests, else empty.")
      .def_property_readonly("element_bits", number([](const ProfileRow& r) { return r.element_bits; }))
      .def_property_readonly(
          "name", [](const BoundRow& b) { return b.row.name; }, "Of the parameter or allocation, where it has one.")
      .def_property_readonly("width", number([](const ProfileRow& r) { return r.width; }),
                             "Bytes of a lane in one request; 0 in a row about the operation as such.")
      .def_property_readonly("executed", number([](const ProfileRow& r) { return r.executed; }),
                             "By warps; of requests their number.")
      .def_property_readonly("active_lanes", number([](const ProfileRow& r) { return r.lanes; }), "Of all, summed.")
      .def_property_readonly("sectors", number([](const ProfileRow& r) { return r.total.sectors; }))
      .def_property_readonly("ideal_sectors", number([](const ProfileRow& r) { return r.total.ideal_sectors; }))
      .def_property_readonly("lines", number([](const ProfileRow& r) { return r.total.lines; }))
      .def_property_readonly("wavefronts", number([](const ProfileRow& r) { return r.total.wavefronts; }))
      .def_property_readonly("ideal_wavefronts", number([](const ProfileRow& r) { return r.total.ideal_wavefronts; }))
      .def_property_readonly("counted_wavefronts", number([](const ProfileRow& r) { return r.counted.wavefronts; }),
                             "What Nsight Compute says of the instruction: of cp.async around L1 other wavefronts.")
      .def_property_readonly("ideal_counted_wavefronts", number([](const ProfileRow& r) { return r.counted.ideal; }))
      .def_property_readonly("bytes", number([](const ProfileRow& r) { return r.bytes; }))
      .def_property_readonly("useful_bytes", number([](const ProfileRow& r) { return r.total.useful_bytes; }))
      .def_property_readonly("flops", number([](const ProfileRow& r) { return r.flops; }))
      .def_property_readonly("divergent", number([](const ProfileRow& r) { return r.divergent; }),
                             "Of branches: those that lanes of one warp took differently.")
      .def_property_readonly(
          "worst",
          [](const BoundRow& b) -> py::object {
            if (b.row.worst < 0) return py::none();
            const std::vector<int64_t> addresses(b.row.worst_addresses.begin(), b.row.worst_addresses.end());
            return py::make_tuple(b.row.worst, b.row.worst_cta, b.row.worst_warp, b.row.worst_mask, addresses);
          },
          "(sectors or wavefronts, CTA, warp, mask, addresses of its lanes) of the request that costs most, or None.");
}

}  // namespace

void bind_execute(py::module_& module) {
  py::module_ m = module.attr("program");
  bind_finding(m);
  bind_profile(m);
  py::class_<MemoryRange>(m, "MemoryRange", "Memory that belongs to an argument of a kernel.")
      .def(py::init([](uint64_t address, uint64_t bytes, const std::string& name, std::optional<uint64_t> origin,
                       const std::vector<int64_t>& shape, const std::vector<int64_t>& stride, uint32_t bits,
                       bool writable) {
             return MemoryRange{address, bytes, name, origin.value_or(address), shape, stride, bits, writable};
           }),
           py::arg("address"), py::arg("bytes"), py::arg("name"), py::kw_only(), py::arg("origin") = py::none(),
           py::arg("shape") = std::vector<int64_t>(), py::arg("stride") = std::vector<int64_t>(), py::arg("bits") = 8,
           py::arg("writable") = true,
           "`bytes` from `address` on; the tensor's flat shape and strides count elements of `bits` from `origin` on. "
           "A name that is a parameter's of the kernel, or the beginning of one, bounds what is reached from it.");
  m.def("run_kernel", &run_kernel, py::arg("program"), py::arg("kernel"), py::arg("grid"), py::arg("block"),
        py::kw_only(), py::arg("cluster") = std::vector<int64_t>(), py::arg("shared_bytes") = 0,
        py::arg("arguments") = std::vector<uint64_t>(), py::arg("memory") = std::vector<MemoryRange>(),
        py::arg("check") = true, py::arg("seed") = 0, py::arg("threads") = 0, py::arg("limit") = 0,
        py::arg("events") = Launch{}.events, py::arg("maps") = std::vector<std::pair<uint64_t, program::MapOfTensor>>(),
        py::arg("resident") = 0, py::arg("before") = std::vector<std::tuple<uint64_t, uint64_t, bool>>(),
        py::arg("touched") = py::none(),
        "Run a kernel on the CPU: (findings, what printf wrote). `arguments`: a pattern of 64 bits for each parameter; "
        "`limit`: iterations after which a loop is said to have no end, 0 for none; `events`: accesses of warps that "
        "the checks tell apart at a time; `maps`: each tensor map that is an argument, with the tensor's address; "
        "`resident`: clusters, or CTAs without clusters, that checks let run at once, 0 for many; `before`: (first "
        "byte, the byte behind the last, whether it was written) of what the launch before touched, which may not have "
        "ended; `touched`: a list to which the same of this launch is added.");
  m.def("profile_kernel", &profile_kernel, py::arg("program"), py::arg("kernel"), py::arg("grid"), py::arg("block"),
        py::kw_only(), py::arg("cluster") = std::vector<int64_t>(), py::arg("shared_bytes") = 0,
        py::arg("arguments") = std::vector<uint64_t>(), py::arg("threads") = 0, py::arg("warp") = py::none(),
        py::arg("maps") = std::vector<std::pair<uint64_t, program::MapOfTensor>>(),
        "Run a kernel on the CPU and count what it costs: rows of operations and requests, sorted by line. `warp`: "
        "(block, warp in it) that alone is counted.");
  m.def("timeline_kernel", &timeline_kernel, py::arg("program"), py::arg("kernel"), py::arg("grid"), py::arg("block"),
        py::kw_only(), py::arg("cluster") = std::vector<int64_t>(), py::arg("shared_bytes") = 0,
        py::arg("arguments") = std::vector<uint64_t>(), py::arg("cta") = 0,
        py::arg("maps") = std::vector<std::pair<uint64_t, program::MapOfTensor>>(),
        "Run a kernel on the CPU and note what the warps of one block do when: (warp, what, first step, the step after "
        "the last, line, barrier or -1). A warp executes one instruction of the executor a step.");
}

}  // namespace tilewright::bind
