// Searches for swizzles and paddings: what tilewright.analysis.suggest_swizzle and the like call.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "analysis/advice.hpp"
#include "analysis/images.hpp"
#include "analysis/search.hpp"
#include "analysis_access.hpp"
#include "convert.hpp"

namespace tilewright::bind {

namespace {

using analysis::Access;
using analysis::kWarp;

constexpr const char* kWavefrontsUnder = R"doc(The wavefronts of accesses to shared memory under each of many swizzles.

Args:
    swizzles: (count, 3): B, M, S of each; they act on element offsets.
    offsets: element offsets before the swizzle (requests, lanes), and `active` lanes as in requests.
    element_bits: 8 times 1, 2, 4, 8 or 16, or less; base: byte address of offset 0.
Returns: wavefronts of all requests (count); -1 where the swizzle would take neighbours that a lane accesses together
    apart. That no address faults without a swizzle is for the caller to know.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> column = 32 * np.arange(32)[None]  # of a tile of 32 x 32 elements
    >>> kind = dict(op="load", width=4, element_bits=32)
    >>> analysis.wavefronts_under(np.array([[0, 0, 5], [2, 0, 5], [5, 0, 5]]), column, **kind).tolist()
    [32, 8, 1])doc";

constexpr const char* kWavefrontsIn =
    R"doc(The wavefronts of an access to shared memory under each of many layouts of a tile.

Args:
    images: (layouts, elements): the offset of each element of the tile under each layout.
    elements: (threads, values): which elements each thread accesses, as many at a time as `width` bytes are.
    (the others as in wavefronts_under)
Returns: wavefronts of all requests (layouts); -1 where a thread's values are no neighbours, or a lane would fault.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> row, column = np.ogrid[:32, :32]
    >>> images = np.stack([(32 * row + column).ravel(), (33 * row + column).ravel()])  # and with a padding
    >>> column = 32 * np.arange(32)[:, None]
    >>> analysis.wavefronts_in(images, column, op="load", width=4, element_bits=32).tolist()
    [32, 1])doc";

constexpr const char* kAllSwizzles = R"doc(B, M and S of every swizzle that stays inside of a tile of so many elements.

The simplest first: the fewest bits, then the smallest shift, then the greatest base.
Source: tilewright.

Examples:
    >>> from tilewright._core import analysis
    >>> len(analysis.all_swizzles(8192)), analysis.all_swizzles(8)[:3].tolist()
    (407, [[0, 4, 3], [1, 1, 1], [1, 1, -1]]))doc";

constexpr const char* kBestSwizzle = R"doc(The simplest swizzle of those with the fewest wavefronts, and their number.

Args: as those of wavefronts_under.
Returns: (swizzle, wavefronts); None where there is no offset, or a negative one.
Source: tilewright.

Examples:
    >>> import numpy as np
    >>> from tilewright._core import analysis
    >>> column = 32 * np.arange(32)[None]  # of a tile of 32 x 32 elements
    >>> analysis.best_swizzle(column, op="load", width=4, element_bits=32)
    (S<5,0,5>, 1))doc";

constexpr const char* kAdvice = R"doc(What to change about an access, as a sentence; empty where nothing has to be.

Args:
    width, widest: bytes of an access, and of the widest legal one.
    requests, lanes, sectors, ideal_sectors, wavefronts, ideal_wavefronts: totals over all requests.
    ways, addresses: of the worst request, the addresses those of its active lanes; base: byte address of offset 0.
    sectors_lower: the sectors where all addresses are so many bytes lower; best_swizzle: as the function of that name.
Source: tilewright.

Examples:
    >>> from tilewright._core import analysis
    >>> cost = dict(shared=False, of_matrices=False, width=4, widest=4, requests=8, sectors=8, ideal_sectors=8)
    >>> cost |= dict(wavefronts=0, ideal_wavefronts=0, ways=1, base=0, addresses=[0, 4])
    >>> search = dict(sectors_lower=lambda bytes: 8, best_swizzle=lambda: None)
    >>> analysis.advice(lanes=256, **cost, **search)
    ''
    >>> [analysis.advice(lanes=n, **cost, **search).split()[0] for n in (133, 164, 64)]
    ['16.63', '20.5', '8'])doc";

std::vector<Swizzle> to_swizzles(const Integers& triples) {
  if (triples.ndim() != 2 || triples.shape(1) != 3) throw ValueError("swizzles must have the modes (count, 3)");
  std::vector<Swizzle> swizzles;
  for (py::ssize_t i = 0; i < triples.shape(0); ++i) {
    swizzles.emplace_back(triples.at(i, 0), triples.at(i, 1), triples.at(i, 2));
  }
  return swizzles;
}

// What analysis::Offsets points into.
struct Kept {
  std::vector<uint32_t> masks;
  std::vector<int64_t> offsets;
};

Kept kept_of(const Integers& offsets, const std::optional<Bools>& active, const Access& access, int64_t element_bits) {
  if (element_bits < 1 || element_bits > 128) {
    throw ValueError(concat("element_bits = ", element_bits, " must be 1 to 128"));
  }
  Kept kept{masks_of(access, offsets, active), {}};
  const auto lanes = static_cast<std::size_t>(offsets.shape(1));
  kept.offsets.resize(kept.masks.size() * kWarp);
  for (std::size_t i = 0; i < kept.masks.size(); ++i) {
    std::copy_n(offsets.data() + i * lanes, lanes, kept.offsets.begin() + static_cast<std::ptrdiff_t>(i * kWarp));
  }
  return kept;
}

analysis::Offsets offsets_of(const Kept& kept, const Access& access, int64_t element_bits, int64_t base) {
  return {access,
          kept.offsets.data(),
          kept.masks.data(),
          static_cast<int64_t>(kept.masks.size()),
          static_cast<int>(element_bits),
          base};
}

py::array_t<int64_t> wavefronts_under(const Integers& swizzles, const Integers& offsets,
                                      const std::optional<Bools>& active, const Access& access, int64_t element_bits,
                                      int64_t base) {
  const Kept kept = kept_of(offsets, active, access, element_bits);
  const std::vector<Swizzle> each = to_swizzles(swizzles);
  std::vector<int64_t> found;
  {
    const py::gil_scoped_release release;
    found = analysis::wavefronts_under(each, offsets_of(kept, access, element_bits, base));
  }
  return py::array_t<int64_t>(static_cast<py::ssize_t>(found.size()), found.data());
}

py::array_t<int64_t> wavefronts_in(const Integers& images, const Integers& elements, const Access& access,
                                   int64_t element_bits, int64_t base) {
  if (images.ndim() != 2 || elements.ndim() != 2) {
    throw ValueError("images must have the modes (layouts, elements), and elements (threads, values)");
  }
  const int64_t width = 8 * access.width;
  if (element_bits < 1 || width % element_bits != 0) {
    throw ValueError(concat(access.width, " bytes are no whole number of elements of ", element_bits, " bits"));
  }
  if (access.of_matrices() && elements.shape(0) % (analysis::kMatrixRows * access.matrices) != 0) {
    throw ValueError(concat(elements.shape(0), " threads do not have ", access.matrices, " matrices of 8 rows each"));
  }
  const int64_t values = width / element_bits;
  const int64_t* data = elements.data();
  const bool inside =
      std::all_of(data, data + elements.size(), [&](int64_t at) { return at >= 0 && at < images.shape(1); });
  if (!inside || elements.shape(1) % values != 0) {
    throw ValueError(concat("elements must be ", values, " at a time, and below ", images.shape(1)));
  }
  const analysis::TileAccess tile{access,
                                  data,
                                  static_cast<std::size_t>(elements.shape(0)),
                                  static_cast<std::size_t>(elements.shape(1)),
                                  static_cast<std::size_t>(values),
                                  element_bits,
                                  base};
  py::array_t<int64_t> found(images.shape(0));
  int64_t* to = found.mutable_data();
  const py::gil_scoped_release release;
  for (py::ssize_t i = 0; i < images.shape(0); ++i) {
    to[i] = analysis::wavefronts_in(images.data() + i * images.shape(1), tile);
  }
  return found;
}

py::array_t<int64_t> all_swizzles(int64_t elements) {
  const std::vector<Swizzle> swizzles = analysis::all_swizzles(elements);
  py::array_t<int64_t> found({swizzles.size(), std::size_t{3}});
  int64_t* data = found.mutable_data();
  for (const Swizzle& swizzle : swizzles) {
    for (const int64_t field : {swizzle.bits(), swizzle.base(), swizzle.shift()}) *data++ = field;
  }
  return found;
}

py::object best_swizzle(const Integers& offsets, const std::optional<Bools>& active, const Access& access,
                        int64_t element_bits, int64_t base) {
  const Kept kept = kept_of(offsets, active, access, element_bits);
  std::optional<analysis::BestSwizzle> best;
  {
    const py::gil_scoped_release release;
    best = analysis::best_swizzle(offsets_of(kept, access, element_bits, base));
  }
  if (!best) return py::none();
  return py::make_tuple(best->swizzle, best->wavefronts);
}

}  // namespace

void bind_search(py::module_& m) {
  m.def(
      "wavefronts_under",
      [](const Integers& swizzles, const Integers& offsets, const std::optional<Bools>& active, const std::string& op,
         int64_t width, int64_t matrices, int64_t element_bits, int64_t base) {
        return guarded("suggest_swizzle", {}, [&] {
          const Access access = to_access("shared", op, width, matrices);
          return wavefronts_under(swizzles, offsets, active, access, element_bits, base);
        });
      },
      py::arg("swizzles"), py::arg("offsets"), py::arg("active") = py::none(), py::kw_only(), py::arg("op"),
      py::arg("width"), py::arg("matrices") = 0, py::arg("element_bits"), py::arg("base") = 0, kWavefrontsUnder);
  m.def(
      "wavefronts_in",
      [](const Integers& images, const Integers& elements, const std::string& op, int64_t width, int64_t matrices,
         int64_t element_bits, int64_t base) {
        return guarded("suggest_padding", {}, [&] {
          return wavefronts_in(images, elements, to_access("shared", op, width, matrices), element_bits, base);
        });
      },
      py::arg("images"), py::arg("elements"), py::kw_only(), py::arg("op"), py::arg("width"), py::arg("matrices") = 0,
      py::arg("element_bits"), py::arg("base") = 0, kWavefrontsIn);
  m.def(
      "all_swizzles",
      [](int64_t elements) { return guarded("suggest_swizzle", {}, [&] { return all_swizzles(elements); }); },
      py::arg("elements"), kAllSwizzles);
  m.def(
      "best_swizzle",
      [](const Integers& offsets, const std::optional<Bools>& active, const std::string& op, int64_t width,
         int64_t matrices, int64_t element_bits, int64_t base) {
        return guarded("analyze", {}, [&] {
          return best_swizzle(offsets, active, to_access("shared", op, width, matrices), element_bits, base);
        });
      },
      py::arg("offsets"), py::arg("active") = py::none(), py::kw_only(), py::arg("op"), py::arg("width"),
      py::arg("matrices") = 0, py::arg("element_bits"), py::arg("base") = 0, kBestSwizzle);
  m.def(
      "advice",
      [](bool shared, bool of_matrices, int64_t width, int64_t widest, int64_t requests, int64_t lanes, int64_t sectors,
         int64_t ideal_sectors, int64_t wavefronts, int64_t ideal_wavefronts, int64_t ways, int64_t base,
         std::vector<int64_t> addresses, std::function<int64_t(int64_t)> sectors_lower,
         std::function<std::optional<std::pair<Swizzle, int64_t>>()> best_swizzle) {
        const auto best = [&]() -> std::optional<analysis::BestSwizzle> {
          const auto found = best_swizzle();
          if (!found) return std::nullopt;
          return analysis::BestSwizzle{found->first, found->second};
        };
        return analysis::advice({shared, of_matrices, width, widest, requests, lanes, sectors, ideal_sectors,
                                 wavefronts, ideal_wavefronts, ways, base, std::move(addresses),
                                 std::move(sectors_lower), best});
      },
      py::kw_only(), py::arg("shared"), py::arg("of_matrices"), py::arg("width"), py::arg("widest"),
      py::arg("requests"), py::arg("lanes"), py::arg("sectors"), py::arg("ideal_sectors"), py::arg("wavefronts"),
      py::arg("ideal_wavefronts"), py::arg("ways"), py::arg("base"), py::arg("addresses"), py::arg("sectors_lower"),
      py::arg("best_swizzle"), kAdvice);
}

}  // namespace tilewright::bind
