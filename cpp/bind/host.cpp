// Copy plans on the CPU: the submodule _core.host.
#include "convert.hpp"
#include "core/basis.hpp"
#include "host/cache.hpp"
#include "host/check.hpp"
#include "host/run.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

using host::Coord;
using host::CopyPlan;
using host::kMaxRank;
using host::Tables;

constexpr const char* kRunCopy = R"doc(Copy on the CPU, thread by thread through the layouts of a plan.

    direct:  dst[o + tv(t, v)] = src[o + tv(t, v)]
    staged:  image[smem(load_tv(t, v))] = src[o + load_tv(t, v)],  then  dst[o + store_tv(t, v)] = image[smem(...)]

for every tile origin o, thread t and value v; elements outside of the extents are left out. Nothing is written where
the plan writes nothing: check_copy says whether a plan is complete.

Args:
    src_address, dst_address: where coordinate 0 of the problem lies. The memory that the extents and strides span must
        be there, and the two must not overlap.
    element_bytes: 1, 2, 4, 8 or 16.
    extents, src_strides, dst_strides: the problem, 1 to 8 modes, strides in elements; tile: a CTA's part of each mode.
    load_tv, store_tv: static layouts (threads, values) -> tile coordinate, with basis strides.
    load_vector, store_vector: values of one access, neighbours along src_mode and dst_mode.
    smem: tile coordinate -> offset in shared memory, a static Layout or a swizzle of one; None: direct.
    dst_shift: elements of an aligned store, by which rows of the destination that are not aligned are shifted; 0: none.
    threads: CPU threads; 0: one for each core, as far as the amount of data is worth it.
Raises: LayoutError for a layout that does not fit, ValueError for another field; both name it.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import host
    >>> a, b = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((4, 3), np.int32)
    >>> tv = cute.parse("((2,4),2):((1@0,1@1),2@0)")
    >>> plan = dict(element_bytes=4, extents=(4, 3), src_strides=(1, 4), dst_strides=(3, 1), tile=(4, 4),
    ...             load_tv=tv, store_tv=tv, load_vector=1, store_vector=1, smem=cute.parse("(4,4):(1,5)"),
    ...             src_mode=0, dst_mode=1, dst_shift=0)
    >>> host.run_copy(a.ctypes.data, b.ctypes.data, **plan)
    >>> (b == a.T).all()
    np.True_)doc";

constexpr const char* kCheckCopy = R"doc(Run a copy plan with a mark on every element and say what is wrong with it.

Takes what run_copy takes, and plans that run_copy refuses: layouts that reach out of the tile or of shared memory,
accesses whose elements are no neighbours. Nothing outside of the problem is touched.

Args:
    move: whether to copy, too; without, the addresses only say how the tensors are aligned.
    (the others as in run_copy; the problem has at most 2^32 elements)
Returns: a dict of findings, each a dict with the `count` and the `first` coordinates. A plan is sound where all counts
    are 0.
    never_written, written_twice: elements of the destination
    wrong: writes of an element that the source has at another coordinate
    read_before_write, shared_written_twice, outside_shared: accesses to shared memory, of phase 2, phase 1 and both
    misaligned_load, misaligned_store: accesses, whole inside of the problem, at no multiple of their bytes
    outside_tile, not_contiguous: values and accesses of threads, by the coordinate in the tile
Raises: LayoutError or ValueError for a plan that says nothing, such as layouts of another rank.
Source: tilewright.

Examples:
    >>> from tilewright._core import host
    >>> tv = cute.parse("(3,2):(1@0,4@0)")  # of every 4 elements, threads take 3
    >>> plan = dict(element_bytes=4, extents=(10,), src_strides=(1,), dst_strides=(1,), tile=(8,), load_tv=tv,
    ...             store_tv=tv, load_vector=1, store_vector=1, smem=None, src_mode=0, dst_mode=0, dst_shift=0)
    >>> {kind: found for kind, found in host.check_copy(0, 0, move=False, **plan).items() if found["count"]}
    {'never_written': {'count': 2, 'first': [(3,), (7,)]}})doc";

uint64_t to_address(IntArg value, const char* field) {
  const int64_t address = to_int64(value.handle);
  if (address < 0) throw ValueError(concat(field, " = ", address, " must not be negative"));
  return static_cast<uint64_t>(address);
}

Coord to_coord(const Arg& value, std::size_t rank, const char* field) {
  if (!is_sequence(value.handle)) wrong_kind(value.handle, concat(field, " to be a tuple of integers").c_str());
  const py::tuple items = items_of(value.handle);
  if (items.size() != rank) {
    throw ValueError(
        concat(field, " = ", notation(value.handle), " has ", items.size(), " entries, but extents has ", rank));
  }
  Coord coord{};
  for (std::size_t m = 0; m < rank; ++m) coord[m] = to_int64(items[m]);
  return coord;
}

std::size_t rank_of(const Arg& extents) {
  if (!is_sequence(extents.handle)) wrong_kind(extents.handle, "extents to be a tuple of integers");
  const std::size_t rank = items_of(extents.handle).size();
  if (rank < 1 || rank > kMaxRank) throw ValueError(concat("extents has ", rank, " modes; a problem has 1 to 8"));
  return rank;
}

Layout to_tv(const Arg& value, const char* field) {
  if (!is_layout(value.handle)) wrong_kind(value.handle, concat(field, " to be a Layout").c_str());
  return as_layout(value.handle);
}

std::optional<AnyLayout> to_smem(const Arg& value) {
  if (value.handle.is_none()) return std::nullopt;
  if (is_layout(value.handle)) return as_layout(value.handle);
  if (is_composed(value.handle)) return as_composed(value.handle);
  wrong_kind(value.handle, "smem to be a Layout, a ComposedLayout or None");
}

host::TableCache& cache() {
  static host::TableCache* const instance = new host::TableCache;  // leaked: no order of destruction to think of
  return *instance;
}

// The tables of a plan; they are looked up under the GIL, and made without it.
std::shared_ptr<const Tables> tables_of(const CopyPlan& plan) {
  host::TableCache::Key key = host::TableCache::key_of(plan);
  std::shared_ptr<const Tables> tables = cache().find(key);
  if (tables) return tables;
  {
    const py::gil_scoped_release release;
    tables = std::make_shared<const Tables>(plan);
  }
  cache().insert(std::move(key), tables);
  return tables;
}

void require_memory(const CopyPlan& plan) {
  for (std::size_t m = 0; m < plan.rank; ++m) {
    if (plan.extents[m] == 0) return;
  }
  if (plan.src_address == 0) throw ValueError("src_address must not be null");
  if (plan.dst_address == 0) throw ValueError("dst_address must not be null");
}

py::dict to_dict(const host::Report& report, std::size_t rank) {
  py::dict result;
  const auto add = [&](const char* name, const host::Finding& finding) {
    py::list first;
    for (const Coord& coord : finding.first) {
      py::tuple entry(rank);
      for (std::size_t m = 0; m < rank; ++m) entry[m] = coord[m];
      first.append(std::move(entry));
    }
    py::dict found;
    found["count"] = finding.count;
    found["first"] = std::move(first);
    result[name] = std::move(found);
  };
  add("never_written", report.never_written);
  add("written_twice", report.written_twice);
  add("wrong", report.wrong);
  add("read_before_write", report.read_before_write);
  add("shared_written_twice", report.shared_written_twice);
  add("outside_shared", report.outside_shared);
  add("outside_tile", report.outside_tile);
  add("not_contiguous", report.not_contiguous);
  add("misaligned_load", report.misaligned_load);
  add("misaligned_store", report.misaligned_store);
  return result;
}

// Defines a function of a plan and one thing more: f(plan, extra).
template <class Extra, class F>
void define(py::module_& m, const char* name, const py::arg_v& extra, const char* doc, F f) {
  m.def(
      name,
      [name, f](IntArg src_address, IntArg dst_address, IntArg element_bytes, Arg extents, Arg src_strides,
                Arg dst_strides, Arg tile, Arg load_tv, Arg store_tv, IntArg load_vector, IntArg store_vector, Arg smem,
                IntArg src_mode, IntArg dst_mode, IntArg dst_shift, Extra extra) {
        return guarded(name, {load_tv.handle, store_tv.handle, smem.handle}, [&] {
          const std::size_t rank = rank_of(extents);
          const CopyPlan plan{to_address(src_address, "src_address"),
                              to_address(dst_address, "dst_address"),
                              to_int64(element_bytes.handle),
                              rank,
                              to_coord(extents, rank, "extents"),
                              to_coord(src_strides, rank, "src_strides"),
                              to_coord(dst_strides, rank, "dst_strides"),
                              to_coord(tile, rank, "tile"),
                              to_tv(load_tv, "load_tv"),
                              to_tv(store_tv, "store_tv"),
                              to_int64(load_vector.handle),
                              to_int64(store_vector.handle),
                              to_smem(smem),
                              to_int64(src_mode.handle),
                              to_int64(dst_mode.handle),
                              to_int64(dst_shift.handle)};
          try {
            return f(plan, extra);
          } catch (const host::PlanError& error) {
            throw ValueError(error.what());
          }
        });
      },
      py::arg("src_address"), py::arg("dst_address"), py::kw_only(), py::arg("element_bytes"), py::arg("extents"),
      py::arg("src_strides"), py::arg("dst_strides"), py::arg("tile"), py::arg("load_tv"), py::arg("store_tv"),
      py::arg("load_vector"), py::arg("store_vector"), py::arg("smem"), py::arg("src_mode"), py::arg("dst_mode"),
      py::arg("dst_shift"), extra, doc);
}

void run_copy(const CopyPlan& plan, IntArg threads) {
  const int64_t workers = to_int64(threads.handle);
  if (workers < 0) throw ValueError(concat("threads = ", workers, " must not be negative"));
  require_memory(plan);
  const std::shared_ptr<const Tables> tables = tables_of(plan);
  const py::gil_scoped_release release;
  host::run(*tables, plan.src_address, plan.dst_address, workers);
}

py::dict check_copy(const CopyPlan& plan, bool move) {
  if (move) require_memory(plan);
  host::Report report;
  {
    const py::gil_scoped_release release;
    report = host::check(plan, move);
  }
  return to_dict(report, plan.rank);
}

}  // namespace

void bind_host(py::module_& core) {
  py::module_ m = core.def_submodule("host", "Copy and GEMM plans on the CPU, thread by thread.");
  define<IntArg>(m, "run_copy", py::arg("threads") = 0, kRunCopy, run_copy);
  define<bool>(m, "check_copy", py::arg("move") = true, kCheckCopy, check_copy);
  bind_host_gemm(m);
}

}  // namespace tilewright::bind
