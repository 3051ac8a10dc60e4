// Totals over a launch: what tilewright.analysis adds up, in the submodule _core.analysis.
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <variant>

#include "analysis/async_totals.hpp"
#include "analysis/copy_requests.hpp"
#include "analysis/tiles.hpp"
#include "analysis/totals.hpp"
#include "analysis_access.hpp"
#include "convert.hpp"

namespace tilewright::bind {

namespace {

using analysis::AsyncTally;
using analysis::Coordinate;
using analysis::CopyLaunch;
using analysis::kWarp;
using analysis::Request;
using analysis::Starts;
using analysis::Tally;
using analysis::Totals;

using Given = py::typing::Dict<py::int_, py::int_>;

constexpr const char* kTally = R"doc(Adds up the requests of one instruction over a launch.

Args: as those of requests.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> tally = analysis.Tally("global", "load", 4)
    >>> tally.add(4 * np.arange(32)[None], np.ones((1, 32), bool), {0: 3, 64: 1})
    >>> tally.totals()[0]  # 3 requests of one line, and 1 of two lines
    (4, 128, 16, 16, 5, 0, 0, 512))doc";

constexpr const char* kAdd = R"doc(Count requests.

Args:
    addresses: what the lanes of each request address (requests, 32); what is not in them, such as the tile's own place,
        is a multiple of 128 bytes. active: which lanes take part, of the same shape.
    starts: how many tiles begin at each byte of a line.)doc";

constexpr const char* kTotals = R"doc(What was added up: None where no request was made.

Returns: (sums, first, worst, addresses, lanes): sums: requests, lanes, sectors, ideal_sectors, lines, wavefronts,
    ideal_wavefronts, useful_bytes; first and worst: of the first request, and of the one that is farthest from its
    ideal, without the number of requests, but with what one side's conflicts take alone; the active lanes of that one
    and their addresses. Or (lane, address) of a lane that would fault.)doc";

constexpr const char* kFirst = "What the active lanes of the first request address.";

constexpr const char* kAsyncTally = R"doc(Adds up the requests of one cp.async over a launch.

Args: width: bytes of a lane.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> tally = analysis.AsyncTally(16)
    >>> row, everyone = 16 * np.arange(32)[None], np.ones((1, 32), bool)
    >>> tally.add(row, row, everyone, everyone, {0: 1, 16: 1})
    >>> source, destination, counted, asked = tally.totals()
    >>> source[0][2], counted, asked  # 16 sectors, and 32 that lie otherwise in shared memory
    (48, (16, 8), 36))doc";

constexpr const char* kAsyncTotals =
    R"doc(Of source and destination what totals of a Tally says, None of a side without requests; and what Nsight Compute
calls wavefronts, how many of them there would be at best, and the sectors that L1 asks for.)doc";

constexpr const char* kAddAsync =
    R"doc(Count requests, whose lanes read `source` and write `destination` (requests, 32).

Args:
    reads, writes: which lanes do; those that write without reading write zeros.
    starts: how many tiles begin at each byte of a line, in the source; shared memory begins at a multiple of 128.
    useful: the bytes that each lane reads, if not all of the width.)doc";

constexpr const char* kGroups = R"doc(The tiles of a tensor, grouped by how they are cut and where they begin.

Args:
    modes: of each its tiles, their extent, the tensor's extent, the bytes from tile to tile, how many coordinates
        accesses lie before a tile and behind it, and how many of the first and last tiles are groups of their own.
    base: the address of the first element; times: how often each tile is accessed.
Returns: for each group (low, high, starts, tiles): where the tensor begins and ends in them, how many begin at each
    byte of a line, and the first tile along each mode.

Examples:
    >>> from tilewright._core import analysis
    >>> modes = [(5, 64, 300, 64, 0, 0, 0), (3, 1, 3, 4, 0, 0, 0)]
    >>> [(high, starts) for _, high, starts, _ in analysis.groups(modes, 0, 1)]
    [((64, 1), {0: 2, 4: 2, 8: 2, 64: 2, 68: 2, 72: 2}), ((44, 1), {0: 1, 4: 1, 8: 1})])doc";

constexpr const char* kCopyLaunch = R"doc(A launch of a copy plan, which counts its requests in tallies.

Args: the fields of analysis::CopyLaunch in cpp/analysis/copy_requests.hpp; tilewright.kernels.copy.accesses gives them.)doc";

constexpr const char* kDealt = R"doc(Count the requests of a part of the copy.

Args: threads, values: the coordinates in the tile of the threads, and of the values, which are added to them (count,
    rank); shared: of shared memory the strides, the offset, and B, M, S of a swizzle or None.)doc";

void require_lanes(const Integers& addresses) {
  if (addresses.ndim() != 2 || addresses.shape(1) != kWarp) {
    throw ValueError("addresses must have the modes (requests, 32)");
  }
}

template <class Array>
void require_same(const char* name, const Integers& addresses, const Array& other) {
  if (other.ndim() != 2 || other.shape(0) != addresses.shape(0) || other.shape(1) != addresses.shape(1)) {
    throw ValueError(concat(name, " must have the shape of addresses"));
  }
}

uint32_t mask_of(const bool* flags) {
  uint32_t mask = 0;
  for (int lane = 0; lane < kWarp; ++lane) mask |= uint32_t{flags[lane]} << lane;
  return mask;
}

// Of starts that no tile has there is none.
Starts to_starts(const Given& given) {
  Starts starts;
  for (const auto& [at, times] : given) {
    if (const auto count = times.cast<int64_t>()) starts.push_back({{at.cast<int64_t>(), 0}, count});
  }
  return starts;
}

void add(Tally& tally, const Integers& addresses, const Bools& active, const Given& given) {
  require_lanes(addresses);
  require_same("active", addresses, active);
  for (py::ssize_t i = 0; i < addresses.shape(0); ++i) {
    tally.request(addresses.data() + i * kWarp, mask_of(active.data() + i * kWarp));
  }
  tally.repeat(to_starts(given));
}

void add_async(AsyncTally& tally, const Integers& source, const Integers& destination, const Bools& reads,
               const Bools& writes, const Given& given, const std::optional<Integers>& useful) {
  require_lanes(source);
  require_same("destination", source, destination);
  require_same("reads", source, reads);
  require_same("writes", source, writes);
  if (useful) require_same("useful", source, *useful);
  for (py::ssize_t i = 0; i < source.shape(0); ++i) {
    const py::ssize_t at = i * kWarp;
    tally.request(source.data() + at, destination.data() + at, mask_of(reads.data() + at), mask_of(writes.data() + at),
                  useful ? useful->data() + at : nullptr);
  }
  tally.repeat(to_starts(given));
}

py::tuple counts(const Request& x) {
  return py::make_tuple(x.lanes, x.sectors, x.ideal_sectors, x.lines, x.wavefronts, x.ideal_wavefronts, x.useful_bytes,
                        x.alone);
}

py::tuple addresses_of(const analysis::Lanes& lanes) {
  py::list found;
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    if (lanes.active >> lane & 1) found.append(lanes.at[lane]);
  }
  return py::tuple(found);
}

py::object to_python(const std::optional<Totals>& totals) {
  if (!totals) return py::none();
  if (totals->fault) return py::make_tuple(totals->fault->lane, totals->fault->address);
  const Request& x = totals->sum;
  py::list lanes;
  for (int lane = 0; lane < kWarp; ++lane) {
    if (totals->lanes.active >> lane & 1) lanes.append(lane);
  }
  return py::make_tuple(py::make_tuple(totals->requests, x.lanes, x.sectors, x.ideal_sectors, x.lines, x.wavefronts,
                                       x.ideal_wavefronts, x.useful_bytes),
                        counts(totals->first), counts(totals->worst), addresses_of(totals->lanes), py::tuple(lanes));
}

py::tuple to_tuple(const std::vector<int64_t>& numbers) { return py::tuple(py::cast(numbers)); }

py::typing::List<py::tuple> groups(const std::vector<std::array<int64_t, 7>>& given, int64_t base, int64_t times) {
  std::vector<analysis::Mode> modes;
  for (const auto& [tiles, tile, extent, step, back, ahead, alone] : given) {
    if (tile < 1) throw ValueError(concat("a tile of ", tile, " coordinates must have at least 1"));
    modes.push_back({tiles, tile, extent, {step, 0}, back, ahead, alone});
  }
  py::typing::List<py::tuple> found;
  for (const analysis::Group& group : analysis::groups(modes, {base, 0}, times)) {
    py::dict starts;
    for (const analysis::Start& start : group.starts) starts[py::int_(start.at[0])] = start.times;
    found.append(py::make_tuple(to_tuple(group.low), to_tuple(group.high), starts, to_tuple(group.tiles)));
  }
  return found;
}

std::vector<Coordinate> to_coordinates(const Integers& points, std::size_t rank) {
  if (points.ndim() != 2 || points.shape(1) != static_cast<py::ssize_t>(rank)) {
    throw ValueError(concat("coordinates must have the modes (count, ", rank, ")"));
  }
  std::vector<Coordinate> found;
  const int64_t* data = points.data();
  for (py::ssize_t i = 0; i < points.shape(0); ++i, data += rank) found.emplace_back(data, data + rank);
  return found;
}

analysis::Dealt to_dealt(const CopyLaunch& launch, const Integers& threads, const Integers& values) {
  return {to_coordinates(threads, launch.tile.size()), to_coordinates(values, launch.tile.size())};
}

using Shared = std::tuple<Coordinate, int64_t, std::optional<std::array<int64_t, 3>>>;

analysis::SharedTile to_shared(const CopyLaunch& launch, const Shared& given) {
  const auto& [stride, offset, bms] = given;
  if (stride.size() != launch.tile.size()) throw ValueError("shared memory must have a stride for each mode");
  analysis::SharedTile shared{stride, offset, std::nullopt};
  if (bms) shared.swizzle.emplace((*bms)[0], (*bms)[1], (*bms)[2]);
  return shared;
}

void require_fields(const CopyLaunch& launch) {
  const std::size_t rank = launch.tile.size();
  for (const Coordinate* x : {&launch.tiles, &launch.extents, &launch.strides[0], &launch.strides[1]}) {
    if (x->size() != rank) throw ValueError(concat("tile has ", rank, " modes, but another field ", x->size()));
  }
  for (const std::size_t mode : launch.vector_mode) {
    if (mode >= rank) throw ValueError(concat("vector_mode = ", mode, " is no mode of ", rank));
  }
  for (const int64_t x : {launch.element, launch.load_vector, launch.store_vector, launch.smem_store, launch.smem_load,
                          *std::min_element(launch.tile.begin(), launch.tile.end())}) {
    if (x < 1) throw ValueError(concat(x, " must be at least 1"));
  }
}

void bind_copies(py::module_& m) {
  py::class_<CopyLaunch>(m, "CopyLaunch", kCopyLaunch)
      .def(py::init([](Coordinate tiles, Coordinate tile, Coordinate extents, std::array<Coordinate, 2> strides,
                       std::array<int64_t, 2> base, std::array<int64_t, 2> memory,
                       std::array<std::size_t, 2> vector_mode, int64_t element, int64_t load_vector,
                       int64_t store_vector, int64_t smem_store, int64_t smem_load, int64_t src_step, int64_t dst_shift,
                       int64_t joined, bool checked, bool single, bool guarded_each) {
             return guarded("CopyLaunch", {}, [&] {
               CopyLaunch launch{std::move(tiles),
                                 std::move(tile),
                                 std::move(extents),
                                 std::move(strides),
                                 base,
                                 memory,
                                 vector_mode,
                                 element,
                                 load_vector,
                                 store_vector,
                                 smem_store,
                                 smem_load,
                                 src_step,
                                 dst_shift,
                                 joined,
                                 checked,
                                 single,
                                 guarded_each};
               require_fields(launch);
               return launch;
             });
           }),
           py::kw_only(), py::arg("tiles"), py::arg("tile"), py::arg("extents"), py::arg("strides"), py::arg("base"),
           py::arg("memory"), py::arg("vector_mode"), py::arg("element"), py::arg("load_vector"),
           py::arg("store_vector"), py::arg("smem_store"), py::arg("smem_load"), py::arg("src_step"),
           py::arg("dst_shift"), py::arg("joined"), py::arg("checked"), py::arg("single"), py::arg("guarded"))
      .def(
          "direct",
          [](const CopyLaunch& self, const Integers& threads, const Integers& values, Tally& load, Tally& store,
             Tally& load_edges, Tally& store_edges) {
            guarded("CopyLaunch.direct", {}, [&] {
              analysis::direct_requests(self, to_dealt(self, threads, values), {load, store, load_edges, store_edges});
            });
          },
          py::arg("threads"), py::arg("values"), py::kw_only(), py::arg("load"), py::arg("store"),
          py::arg("load_edges"), py::arg("store_edges"), kDealt)
      .def(
          "staged_loads",
          [](const CopyLaunch& self, const Integers& threads, const Integers& values, const Shared& shared,
             const std::variant<Tally*, AsyncTally*>& load, Tally& put, Tally& load_edges, Tally& put_edges) {
            guarded("CopyLaunch.staged_loads", {}, [&] {
              analysis::staged_loads(self, to_dealt(self, threads, values), to_shared(self, shared),
                                     {load, put, load_edges, put_edges});
            });
          },
          py::arg("threads"), py::arg("values"), py::arg("shared"), py::kw_only(), py::arg("load"), py::arg("put"),
          py::arg("load_edges"), py::arg("put_edges"), kDealt)
      .def(
          "staged_stores",
          [](const CopyLaunch& self, const Integers& threads, const Integers& values, const Shared& shared, Tally& take,
             Tally& store, Tally& store_edges) {
            guarded("CopyLaunch.staged_stores", {}, [&] {
              analysis::staged_stores(self, to_dealt(self, threads, values), to_shared(self, shared),
                                      {take, store, store_edges});
            });
          },
          py::arg("threads"), py::arg("values"), py::arg("shared"), py::kw_only(), py::arg("take"), py::arg("store"),
          py::arg("store_edges"), kDealt);
}

}  // namespace

void bind_totals(py::module_& m) {
  py::class_<Tally>(m, "Tally", kTally)
      .def(py::init([](const std::string& memory, const std::string& op, int64_t width, int64_t matrices) {
             return guarded("Tally", {}, [&] { return Tally(to_access(memory, op, width, matrices)); });
           }),
           py::arg("memory"), py::arg("op"), py::arg("width"), py::arg("matrices") = 0)
      .def(
          "add",
          [](Tally& self, const Integers& addresses, const Bools& active, const Given& starts) {
            guarded("Tally.add", {}, [&] { add(self, addresses, active, starts); });
          },
          py::arg("addresses"), py::arg("active"), py::arg("starts"), kAdd)
      .def_property_readonly(
          "first", [](const Tally& self) { return self.first() ? addresses_of(*self.first()) : py::tuple(); }, kFirst)
      .def("totals", [](const Tally& self) { return to_python(self.totals()); }, kTotals);
  py::class_<AsyncTally>(m, "AsyncTally", kAsyncTally)
      .def(py::init([](int64_t width) {
             return guarded("AsyncTally", {},
                            [&] { return AsyncTally(to_access("global", "cp.async", width, 0).width); });
           }),
           py::arg("width"))
      .def(
          "add",
          [](AsyncTally& self, const Integers& source, const Integers& destination, const Bools& reads,
             const Bools& writes, const Given& starts, const std::optional<Integers>& useful) {
            guarded("AsyncTally.add", {}, [&] { add_async(self, source, destination, reads, writes, starts, useful); });
          },
          py::arg("source"), py::arg("destination"), py::arg("reads"), py::arg("writes"), py::arg("starts"),
          py::arg("useful") = py::none(), kAddAsync)
      .def_property_readonly(
          "first",
          [](const AsyncTally& self) {
            if (!self.first()) return py::make_tuple(py::tuple(), py::tuple());
            return py::make_tuple(addresses_of(self.first()->source), addresses_of(self.first()->destination));
          },
          "What the active lanes of the first request address on both sides.")
      .def(
          "totals",
          [](const AsyncTally& self) {
            const auto both = self.totals();
            return py::make_tuple(to_python(both.source), to_python(both.destination),
                                  py::make_tuple(both.counted.wavefronts, both.counted.ideal), both.asked);
          },
          kAsyncTotals);
  m.def(
      "groups",
      [](const std::vector<std::array<int64_t, 7>>& modes, int64_t base, int64_t times) {
        return guarded("groups", {}, [&] { return groups(modes, base, times); });
      },
      py::arg("modes"), py::arg("base"), py::arg("times"), kGroups);
  bind_copies(m);
}

}  // namespace tilewright::bind
