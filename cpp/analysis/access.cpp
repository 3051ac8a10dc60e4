#include "access.hpp"

#include <bit>

#include "rules.hpp"

namespace tilewright::analysis {

namespace {

uint32_t rows_of(const Access& access) {
  return static_cast<uint32_t>((uint64_t{1} << kMatrixRows * access.matrices) - 1);
}

}  // namespace

int first_fault(const Access& access, const int64_t* addresses, uint32_t active) {
  const int64_t below = (access.of_matrices() ? kMatrixRow : access.width) - 1;
  for (uint32_t left = access.of_matrices() ? rows_of(access) : active; left; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (addresses[lane] & below) return lane;
  }
  return -1;
}

int64_t wavefronts(const Access& access, const int64_t* addresses, uint32_t active) {
  if (access.of_matrices()) return rules::wavefronts_of_matrices(addresses, access.matrices);
  return rules::wavefronts_of_lanes(access, addresses, active);
}

Request evaluate(const Access& access, const int64_t* addresses, uint32_t active) {
  Request request;
  if (access.of_matrices()) {
    request.lanes = kWarp;
    request.wavefronts = wavefronts(access, addresses, active);
    request.ideal_wavefronts = access.matrices;
    request.useful_bytes = kMatrixRow * rules::pieces(addresses, rows_of(access), std::countr_zero(16u));
    return request;
  }
  const int lanes = std::popcount(active);
  request.lanes = lanes;
  request.useful_bytes =
      access.width * rules::pieces(addresses, active, std::countr_zero(static_cast<unsigned>(access.width)));
  if (access.memory == Memory::global) {
    request.sectors = rules::sectors(addresses, active);
    request.ideal_sectors = rules::ideal_sectors(lanes, access.width, static_cast<int>(request.sectors));
    request.lines = rules::lines(addresses, active);
  } else {
    request.wavefronts = wavefronts(access, addresses, active);
    request.ideal_wavefronts = rules::ideal_wavefronts(lanes, access.width, request.wavefronts);
  }
  return request;
}

}  // namespace tilewright::analysis
