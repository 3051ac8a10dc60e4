#include "totals.hpp"

#include <algorithm>
#include <bit>

#include "rules.hpp"

namespace tilewright::analysis {

Lanes moved(const Lanes& lanes, int64_t by) {
  Lanes found{{}, lanes.active};
  int64_t least = 0;
  rules::for_each_lane(lanes.active, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    found.at[i] = lanes.at[i] + by;
    least = std::min(least, found.at[i]);
  });
  rules::for_each_lane(lanes.active, [&](int lane) { found.at[static_cast<std::size_t>(lane)] -= least & -kLine; });
  return found;
}

void Totals::add(const Request& request, int64_t times) {
  requests += times;
  sum.lanes += times * request.lanes;
  sum.sectors += times * request.sectors;
  sum.ideal_sectors += times * request.ideal_sectors;
  sum.lines += times * request.lines;
  sum.wavefronts += times * request.wavefronts;
  sum.ideal_wavefronts += times * request.ideal_wavefronts;
  sum.useful_bytes += times * request.useful_bytes;
}

void Totals::compare(const Request& request, const Lanes& lanes_of, const Rank& rank) {
  const int64_t wavefronts = request.alone ? request.alone : request.wavefronts;  // by which it is an n-way conflict
  const int64_t beyond = request.sectors - request.ideal_sectors + wavefronts - request.ideal_wavefronts;
  if (beyond < most_ || (beyond == most_ && !(rank < rank_))) return;
  most_ = beyond;
  rank_ = rank;
  worst = request;
  lanes = lanes_of;
}

void Tally::request(const int64_t* addresses, uint32_t active) {
  if (active == 0) return;
  const int64_t begin = addresses[std::countr_zero(active)];
  Lanes lanes{{}, active};
  rules::for_each_lane(active, [&](int lane) { lanes.at[static_cast<std::size_t>(lane)] = addresses[lane] - begin; });
  const uint64_t key = weighed(0, [&](std::size_t lane) { return lanes.at[lane]; }) +
                       weighed(1, [&](std::size_t lane) { return active >> lane & 1; });
  kinds_.add(lanes, key, begin);
  if (first_ || pending_) return;
  pending_ = lanes;
  rules::for_each_lane(active, [&](int lane) { pending_->at[static_cast<std::size_t>(lane)] += begin; });
}

void Tally::repeat(const Starts& starts, int which, int64_t shift) {
  kinds_.repeat(starts, static_cast<std::size_t>(which), shift);
  if (pending_ && !starts.empty())
    first_ = moved(*pending_, starts.front().at[static_cast<std::size_t>(which)] - shift);
  pending_.reset();
}

std::optional<Totals> Tally::totals() const {
  if (!first_) return std::nullopt;
  Totals totals;
  const auto look = [&](const Lanes& lanes) {
    const int lane = first_fault(access_, lanes.at.data(), lanes.active);
    if (lane >= 0 && !totals.fault) totals.fault = {lane, lanes.at[static_cast<std::size_t>(lane)]};
    return lane < 0;
  };
  if (!look(*first_)) return totals;
  totals.first = evaluate(access_, first_->at.data(), first_->active);
  kinds_.for_each([&](const Lanes& kind, int64_t place, int64_t times, const Rank& rank) {
    const Lanes lanes = moved(kind, place);
    if (!look(lanes)) return;
    const Request request = evaluate(access_, lanes.at.data(), lanes.active);
    totals.add(request, times);
    totals.compare(request, lanes, rank);
  });
  return totals;
}

}  // namespace tilewright::analysis
