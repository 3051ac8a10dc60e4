// Predictions about memory accesses: the submodule _core.analysis. tilewright.analysis is what users see of it.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "analysis/access.hpp"
#include "analysis/rank.hpp"
#include "analysis/swizzle_mode.hpp"
#include "analysis_access.hpp"
#include "convert.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

using analysis::Memory;
using analysis::Op;

Memory to_memory(const std::string& name) {
  if (name == "global") return Memory::global;
  if (name == "shared") return Memory::shared;
  throw ValueError(concat("memory = \"", name, "\" must be \"global\" or \"shared\""));
}

Op to_op(const std::string& name) {
  static constexpr std::array<const char*, 5> kNames{"load", "store", "cp.async", "ldmatrix", "stmatrix"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Op>(i);
  }
  throw ValueError(
      concat("op = \"", name, "\" must be \"load\", \"store\", \"cp.async\", \"ldmatrix\" or \"stmatrix\""));
}

// The lanes of a request.
int64_t lanes_of(const analysis::Access& access, const Integers& addresses) {
  if (addresses.ndim() != 2) throw ValueError("addresses must have the modes (requests, lanes)");
  const int64_t lanes = addresses.shape(1);
  if (lanes > analysis::kWarp) throw ValueError(concat("a warp has 32 lanes, but there are ", lanes, " addresses"));
  const int64_t rows = analysis::kMatrixRows * access.matrices;
  if (access.of_matrices() && lanes != rows) {
    throw ValueError(concat("the ", rows, " rows of the matrices need an address each, but there are ", lanes));
  }
  return lanes;
}

}  // namespace

analysis::Access to_access(const std::string& memory, const std::string& op, int64_t width, int64_t matrices) {
  const analysis::Access access{to_memory(memory), to_op(op), static_cast<int>(width), static_cast<int>(matrices)};
  if (width < 1 || width > 16 || !std::has_single_bit(static_cast<uint64_t>(width))) {
    throw ValueError(concat("width = ", width, " bytes must be 1, 2, 4, 8 or 16"));
  }
  if (access.of_matrices()) {
    if (access.memory != Memory::shared) throw ValueError(concat(op, " accesses shared memory, not ", memory));
    if (width != analysis::kMatrixRow) {
      throw ValueError(concat("width = ", width, " bytes must be 16: the rows of ", op));
    }
    if (matrices != 1 && matrices != 2 && matrices != 4) {
      throw ValueError(concat("matrices = ", matrices, " must be 1, 2 or 4"));
    }
  } else if (matrices != 0) {
    throw ValueError(concat("matrices = ", matrices, " must be left out: ", op, " moves no matrices"));
  }
  if (access.op == Op::cp_async && width < 4) {
    throw ValueError(concat("width = ", width, " bytes must be 4, 8 or 16 of cp.async"));
  }
  return access;
}

std::vector<uint32_t> masks_of(const analysis::Access& access, const Integers& addresses,
                               const std::optional<Bools>& active) {
  const auto count = static_cast<std::size_t>(addresses.shape(0));
  const auto lanes = static_cast<std::size_t>(lanes_of(access, addresses));
  std::vector<uint32_t> masks(count, static_cast<uint32_t>((uint64_t{1} << lanes) - 1));
  if (!active) return masks;
  if (active->ndim() != 2 || active->shape(0) != addresses.shape(0) || active->shape(1) != addresses.shape(1)) {
    throw ValueError("active must have the shape of addresses");
  }
  const bool* flag = active->data();
  for (uint32_t& mask : masks) {
    mask = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) mask |= uint32_t{*flag++} << lane;
  }
  return masks;
}

namespace {

using analysis::Access;
using analysis::kWarp;
using analysis::Request;

constexpr const char* kRequests = R"doc(Count what accesses cost, one of a warp for each row of addresses.

Args:
    addresses: byte addresses (requests, lanes); of ldmatrix and stmatrix those of the rows, 8 for each matrix.
    active: which lanes take part, of the same shape; None: all.
    memory: "global" or "shared"; op: "load", "store", "cp.async", "ldmatrix" or "stmatrix"; width: bytes of a lane.
Returns: (counts, fault): counts (7, requests): lanes, sectors, ideal_sectors, lines, wavefronts, ideal_wavefronts,
    useful_bytes; fault: the index of the first address that is no multiple of the width, or -1. Where there is one,
    the counts say nothing.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> counts, fault = analysis.requests(4 * np.arange(32)[None], memory="global", op="load", width=4)
    >>> counts[:, 0].tolist(), fault
    ([32, 4, 4, 1, 0, 0, 128], -1))doc";

constexpr const char* kByRank = R"doc(The counts of accesses whose addresses are linear over F2, by ranks of matrices.

Args:
    columns: (requests, bits): the byte address of each bit of a lane, or of a row of matrices, aligned to the width.
    (the others as in requests)
Returns: counts as those of requests.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> counts = analysis.requests_by_rank(np.array([[128, 256, 512, 1024, 2048]]), memory="shared", op="load", width=4)
    >>> int(counts[4, 0])
    32)doc";

constexpr const char* kColumns = R"doc(The offset of each bit of a coordinate, of a layout that is linear over F2.

Raises: LayoutError where it is not: an extent is no power of two, or adding offsets carries.
Source: tilewright.

Examples:
    >>> from tilewright._core import analysis
    >>> analysis.columns(cute.parse("(4,8):(8,1)")).tolist()
    [8, 16, 1, 2, 4])doc";

constexpr const char* kSwizzled = R"doc(Where the hardware's swizzle puts bytes of shared memory.

Args:
    addresses: byte addresses of any shape; mode: 0, 32, 64 or 128 bytes.
Source: PTX ISA, "Swizzling Modes".

Examples:
    >>> from tilewright._core import analysis
    >>> analysis.swizzled([0, 128, 256], 128).tolist()
    [0, 144, 288])doc";

class Counts {
 public:
  explicit Counts(std::size_t count) : count_(count), array_({std::size_t{7}, count}), data_(array_.mutable_data()) {}
  void set(std::size_t i, const Request& request) {
    const std::array<int64_t, 7> fields{request.lanes,       request.sectors,    request.ideal_sectors,
                                        request.lines,       request.wavefronts, request.ideal_wavefronts,
                                        request.useful_bytes};
    for (std::size_t k = 0; k < fields.size(); ++k) data_[k * count_ + i] = fields[k];
  }
  py::array_t<int64_t> take() { return std::move(array_); }

 private:
  std::size_t count_;
  py::array_t<int64_t> array_;
  int64_t* data_;
};

py::tuple requests(const Access& access, const Integers& addresses, const std::optional<Bools>& active) {
  const std::vector<uint32_t> masks = masks_of(access, addresses, active);
  const auto lanes = static_cast<std::size_t>(addresses.shape(1));
  Counts counts(masks.size());
  const int64_t* row = addresses.data();
  int64_t fault = -1;
  {
    const py::gil_scoped_release release;
    for (std::size_t i = 0; i < masks.size() && fault < 0; ++i, row += lanes) {
      const int lane = analysis::first_fault(access, row, masks[i]);
      if (lane >= 0) {
        fault = static_cast<int64_t>(i * lanes) + lane;
      } else {
        counts.set(i, analysis::evaluate(access, row, masks[i]));
      }
    }
  }
  return py::make_tuple(counts.take(), fault);
}

py::array_t<int64_t> requests_by_rank(const Access& access, const Integers& columns) {
  if (columns.ndim() != 2) throw ValueError("columns must have the modes (requests, bits)");
  const int64_t bits = columns.shape(1);
  const int needed = access.of_matrices() ? 3 + std::countr_zero(static_cast<unsigned>(access.matrices)) : 5;
  if (bits > needed || (access.of_matrices() && bits != needed)) {
    throw ValueError(concat("columns has ", counted(bits, "bit"), ", but a request has ", needed));
  }
  Counts counts(static_cast<std::size_t>(columns.shape(0)));
  for (py::ssize_t i = 0; i < columns.shape(0); ++i) {
    const int64_t* row = columns.data() + i * bits;
    counts.set(static_cast<std::size_t>(i), analysis::by_rank(access, row, static_cast<int>(bits)));
  }
  return counts.take();
}

py::array_t<int64_t> swizzled(const Integers& addresses, int64_t mode) {
  if (!analysis::is_swizzle_mode(mode)) throw ValueError(concat("mode = ", mode, " must be 0, 32, 64 or 128 bytes"));
  const Swizzle swizzle = analysis::swizzle_of_mode(mode);
  py::array_t<int64_t> found(std::vector<py::ssize_t>(addresses.shape(), addresses.shape() + addresses.ndim()));
  std::transform(addresses.data(), addresses.data() + addresses.size(), found.mutable_data(), swizzle);
  return found;
}

}  // namespace

void bind_analysis(py::module_& core) {
  py::module_ m = core.def_submodule("analysis", "Sectors and wavefronts of memory accesses.");
  m.def(
      "requests",
      [](const Integers& addresses, const std::optional<Bools>& active, const std::string& memory,
         const std::string& op, int64_t width, int64_t matrices) {
        return guarded("warp_access", {},
                       [&] { return requests(to_access(memory, op, width, matrices), addresses, active); });
      },
      py::arg("addresses"), py::arg("active") = py::none(), py::kw_only(), py::arg("memory"), py::arg("op"),
      py::arg("width"), py::arg("matrices") = 0, kRequests);
  m.def(
      "requests_by_rank",
      [](const Integers& columns, const std::string& memory, const std::string& op, int64_t width, int64_t matrices) {
        return guarded("by_rank", {},
                       [&] { return requests_by_rank(to_access(memory, op, width, matrices), columns); });
      },
      py::arg("columns"), py::kw_only(), py::arg("memory"), py::arg("op"), py::arg("width"), py::arg("matrices") = 0,
      kByRank);
  m.def(
      "columns",
      [](Arg layout) {
        return guarded("columns", {layout.handle}, [&] {
          const std::vector<int64_t> found = analysis::columns_of(as_any_layout(layout.handle));
          return py::array_t<int64_t>(static_cast<py::ssize_t>(found.size()), found.data());
        });
      },
      py::arg("layout"), kColumns);
  m.def(
      "swizzled",
      [](const Integers& addresses, int64_t mode) {
        return guarded("swizzled", {}, [&] { return swizzled(addresses, mode); });
      },
      py::arg("addresses"), py::arg("mode"), kSwizzled);
  bind_search(m);
  bind_totals(m);
}

}  // namespace tilewright::bind
