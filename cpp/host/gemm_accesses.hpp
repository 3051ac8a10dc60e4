// What the check says of accesses to global memory: outside, misaligned, left out.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gemm_check.hpp"

namespace tilewright::host {

inline std::vector<int64_t> coordinate(const GemmProblem& problem, int64_t first, int64_t second, int64_t batch) {
  if (problem.batch.empty()) return {first, second};
  return {first, second, batch};
}

// Bytes to whose multiples an access of a GPU is aligned; TMA wants 16 of a tensor's start and of its rows.
inline int64_t alignment_of(const Accesses& accesses, int64_t bytes) {
  if (accesses.kind == Access::tma) return 16;
  const int64_t size = accesses.width * bytes;
  for (int64_t whole = 16; whole > bytes; whole /= 2) {
    if (size % whole == 0) return whole;
  }
  return bytes;
}

// Looks at the accesses of one matrix in global memory.
class Global {
 public:
  Global(const Accesses& accesses, const GemmProblem& problem, const GemmTensor& tensor, std::string name,
         GemmReport& report)
      : accesses_(accesses),
        problem_(problem),
        tensor_(tensor),
        bytes_(bytes_of(tensor.type)),
        alignment_(alignment_of(accesses, bytes_)),
        name_(std::move(name)),
        report_(report) {
    const auto mode = static_cast<std::size_t>(accesses.mode);
    if (accesses.width == 1 || tensor.extents[mode] <= 1 || tensor.strides[mode] == 1) return;
    is_contiguous_ = false;
    for (int64_t i = 0; i < accesses.count(); ++i) {
      if (accesses.is_there(i)) report_["not_contiguous_" + name_].add({accesses.at(i, 0)[0], accesses.at(i, 0)[1]});
    }
  }

  // f(element of the access, coordinate, whether it is done) for an access of the tile at an origin.
  template <class F>
  void access(int64_t i, const std::array<int64_t, 2>& origin, int64_t batch, F&& f) {
    const auto at = [&](int64_t e) {
      const auto c = accesses_.at(i, e);
      return std::array<int64_t, 2>{origin[0] + c[0], origin[1] + c[1]};
    };
    const bool starts_inside = inside(at(0)), is_whole = starts_inside && inside(at(accesses_.width - 1));
    // What is cut is done element by element, but by cp.async, which is told how much of it to read.
    const bool as_one = is_whole || (starts_inside && accesses_.kind == Access::cp_async);
    if (as_one || accesses_.kind == Access::tma) look_at_alignment(at(0), batch, accesses_.kind == Access::tma);
    for (int64_t e = 0; e < accesses_.width; ++e) {
      const auto c = at(e);
      const bool is_done = accesses_.predicate == Predicate::none ||
                           (accesses_.predicate == Predicate::access ? starts_inside : inside(c));
      if (is_done && !inside(c)) report_["outside_" + name_].add(coordinate(problem_, c[0], c[1], batch));
      if (!is_done && inside(c) && name_ != "c") {  // elements of C that are left out are never written
        report_["left_out_" + name_].add(coordinate(problem_, c[0], c[1], batch));
      }
      f(e, c, is_done && inside(c));
    }
  }

  int64_t address(const std::array<int64_t, 2>& c, int64_t batch) const {
    return static_cast<int64_t>(tensor_.address) +
           (problem_.batch_offset(tensor_, batch) + c[0] * tensor_.strides[0] + c[1] * tensor_.strides[1]) * bytes_;
  }

 private:
  bool inside(const std::array<int64_t, 2>& c) const {
    return c[0] >= 0 && c[0] < tensor_.extents[0] && c[1] >= 0 && c[1] < tensor_.extents[1];
  }

  void look_at_alignment(const std::array<int64_t, 2>& c, int64_t batch, bool is_tma) {
    if ((accesses_.width == 1 && !is_tma) || !is_contiguous_) return;
    bool fits = address(is_tma ? std::array<int64_t, 2>{0, 0} : c, batch) % alignment_ == 0;
    for (std::size_t mode = 0; is_tma && mode < 2; ++mode) {
      if (static_cast<int>(mode) != accesses_.mode) fits = fits && tensor_.strides[mode] * bytes_ % alignment_ == 0;
    }
    if (!fits) report_["misaligned_" + name_].add(coordinate(problem_, c[0], c[1], batch));
  }

  const Accesses& accesses_;
  const GemmProblem& problem_;
  const GemmTensor& tensor_;
  int64_t bytes_;
  int64_t alignment_;
  bool is_contiguous_ = true;
  std::string name_;
  GemmReport& report_;
};

}  // namespace tilewright::host
