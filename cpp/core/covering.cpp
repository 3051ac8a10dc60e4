#include "covering.hpp"

#include <algorithm>
#include <vector>

#include "bounded_sum.hpp"

namespace tilewright {

namespace {

int64_t quotient_up(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// What R has to be, if it exists: copies start at the first offset that is in none, and R is a layout.
Modes forced(const Modes& modes, int64_t end) {
  Modes starts;
  int64_t filled = 1;  // A and R make up [0, filled)
  int64_t step = 1;    // the offsets of A below `filled` are a run of this step, moved about
  for (const Mode& mode : modes) {
    const int64_t stride = mode.stride.value;
    if (filled >= end) break;
    if (stride > filled) {
      const int64_t places = quotient_up(std::min(stride, end), filled);
      starts.push_back({static_int(places), static_int(filled)});
      filled = checked_mul(places, filled);
      if (filled != stride) break;  // the end, or a last copy that reaches beyond the stride
      step = stride;
    }
    if (stride % step == 0) filled = checked_add(filled, checked_mul(mode.extent.value - 1, stride));
  }
  if (filled < end) starts.push_back({static_int(quotient_up(end, filled)), static_int(filled)});
  return starts;
}

// Two offsets of R and two of A with r + a = s + b and r < s.
struct Meeting {
  int64_t first;
  int64_t second;
  int64_t offset;
};

// The last mode of R in which the two differ is k.
std::optional<Meeting> meeting_at(const Modes& modes, const Modes& starts, std::size_t k) {
  std::vector<Multiple> terms;
  std::vector<int64_t> middle, strides;
  int64_t target = checked_mul(starts[k].stride.value, -1);
  const auto differ = [&](const Mode& mode) {
    const int64_t most = mode.extent.value - 1;
    terms.push_back({mode.stride.value, checked_mul(2, most)});
    middle.push_back(most), strides.push_back(mode.stride.value);
    target = checked_add(target, checked_mul(most, mode.stride.value));
  };
  for (std::size_t j = 0; j < k; ++j) differ(starts[j]);
  for (const Mode& mode : modes) differ(mode);
  terms.push_back({starts[k].stride.value, starts[k].extent.value - 2});
  const auto digits = bounded_sum(terms, target);
  if (!digits) return std::nullopt;
  Meeting found{0, checked_mul(digits->back() + 1, starts[k].stride.value), 0};
  int64_t in_first = 0;
  for (std::size_t j = 0; j < middle.size(); ++j) {
    const int64_t difference = (*digits)[j] - middle[j];
    if (j < k) {
      (difference < 0 ? found.first : found.second) += (difference < 0 ? -difference : difference) * strides[j];
    } else if (difference < 0) {
      in_first += -difference * strides[j];
    }
  }
  found.offset = checked_add(found.first, in_first);
  if (found.first > found.second) std::swap(found.first, found.second);
  return found;
}

std::optional<Meeting> meeting(const Modes& modes, const Modes& starts) {
  for (std::size_t k = 0; k < starts.size(); ++k) {
    if (starts[k].extent.value < 2) continue;
    if (const auto found = meeting_at(modes, starts, k)) return found;
  }
  return std::nullopt;
}

}  // namespace

Modes covering(const Modes& modes, int64_t end, const std::string& cause) {
  const Modes starts = forced(modes, end);
  if (const auto at = meeting(modes, starts)) {
    fail(concat(cause, "; no layout is the complement: below ", end, " copies would have to start at ", at->first,
                " and ", at->second, ", and both have the offset ", at->offset, "; ",
                to_string(from_modes(spread_out(modes))), " has one"));
  }
  return coalesced(starts, LastExtent::kDrop);
}

Modes spread_out(const Modes& modes) {
  Modes result;
  int64_t filled = 1;
  for (const Mode& mode : modes) {
    const int64_t stride = checked_mul(quotient_up(mode.stride.value, filled), filled);
    result.push_back({mode.extent, static_int(stride)});
    filled = checked_mul(mode.extent.value, stride);
  }
  return result;
}

}  // namespace tilewright
