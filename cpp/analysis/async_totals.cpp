#include "async_totals.hpp"

#include <algorithm>
#include <bit>

#include "rules.hpp"

namespace tilewright::analysis {

namespace {

constexpr int kAround = 16;  // bytes of an access that goes around L1

Access side_of(Memory memory, int width) { return {memory, Op::cp_async, width, 0}; }

struct Met {
  int on_both = 0;  // the most lanes of a pass that one meets: those in its group of banks on either side, and itself
  int alone = 0;    // the most lanes in one group
};

Met met(const AsyncLanes& lanes, uint32_t pass, int width) {
  std::array<uint32_t, kLine> sources{};
  std::array<uint32_t, kLine> destinations{};
  const auto group = [width](const Lanes& of, int lane) {
    return static_cast<std::size_t>((of.at[static_cast<std::size_t>(lane)] & (kLine - 1)) / width);
  };
  const Lanes& source = lanes.source;
  const Lanes& destination = lanes.destination;
  rules::for_each_lane(source.active & pass, [&](int lane) { sources[group(source, lane)] |= 1U << lane; });
  rules::for_each_lane(destination.active & pass,
                       [&](int lane) { destinations[group(destination, lane)] |= 1U << lane; });
  Met most;
  rules::for_each_lane((source.active | destination.active) & pass, [&](int lane) {
    const uint32_t same = source.active >> lane & 1 ? sources[group(source, lane)] : 0;
    const uint32_t written = destination.active >> lane & 1 ? destinations[group(destination, lane)] : 0;
    most.on_both = std::max(most.on_both, std::popcount(same | written));
    most.alone = std::max({most.alone, std::popcount(same), std::popcount(written)});
  });
  return most;
}

// The pieces of 32 bytes of the source that go to pieces of the destination, each at another distance.
int64_t sectors_around(const Lanes& source, const Lanes& destination) {
  std::array<std::array<int64_t, 3>, kWarp> pieces;
  std::size_t count = 0;
  rules::for_each_lane(source.active, [&](int lane) {
    const int64_t from = source.at[static_cast<std::size_t>(lane)];
    const int64_t to = destination.at[static_cast<std::size_t>(lane)];
    pieces[count++] = {from & -kSector, to & -kSector, (from - to) & (kSector - 1)};
  });
  const auto end = pieces.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(pieces.begin(), end);
  return std::unique(pieces.begin(), end) - pieces.begin();
}

}  // namespace

AsyncRequest evaluate(const AsyncLanes& lanes, int width) {
  const Lanes& source = lanes.source;
  const Lanes& destination = lanes.destination;
  AsyncRequest found{evaluate(side_of(Memory::global, width), source.at.data(), source.active),
                     evaluate(side_of(Memory::shared, width), destination.at.data(), destination.active)};
  if (width == kAround) {
    found.source.sectors = sectors_around(source, destination);
    found.source.ideal_sectors =
        rules::ideal_sectors(static_cast<int>(found.source.lanes), width, static_cast<int>(found.source.sectors));
    return found;
  }
  const int of_pass = rules::lanes_of_pass(width);
  const auto pass = static_cast<uint32_t>((uint64_t{1} << of_pass) - 1);
  found.destination.wavefronts = 0;
  for (int lane = 0; lane < kWarp; lane += of_pass) {
    const Met most = met(lanes, pass << lane, width);
    found.destination.wavefronts += most.on_both;
    found.destination.alone += most.alone;
  }
  found.destination.ideal_wavefronts =
      rules::ideal_wavefronts(static_cast<int>(found.destination.lanes), width, found.destination.wavefronts);
  return found;
}

void AsyncTally::request(const int64_t* source, const int64_t* destination, uint32_t reads, uint32_t writes,
                         const int64_t* useful) {
  if (writes == 0) return;
  const int64_t begin = source[reads ? std::countr_zero(reads) : 0];
  const int64_t line = destination[std::countr_zero(writes)] & -kLine;
  AsyncLanes lanes{{{}, reads}, {{}, writes}, 0};
  std::array<int64_t, kWarp> bytes{};
  rules::for_each_lane(reads, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    lanes.source.at[i] = source[i] - begin;
    bytes[i] = useful ? useful[i] : width_;
    lanes.useful += bytes[i];
  });
  rules::for_each_lane(writes, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    lanes.destination.at[i] = destination[i] - line;
  });
  const uint64_t key = weighed(0, [&](std::size_t lane) { return lanes.source.at[lane]; }) +
                       weighed(1, [&](std::size_t lane) { return lanes.destination.at[lane]; }) +
                       weighed(2, [&](std::size_t lane) { return reads >> lane & 1; }) +
                       weighed(3, [&](std::size_t lane) { return writes >> lane & 1; }) +
                       weighed(4, [&](std::size_t lane) { return bytes[lane]; });
  kinds_.add(lanes, key, begin);
  if (first_ || pending_) return;
  pending_ = AsyncLanes{{{}, reads}, {{}, writes}, 0};
  std::copy_n(source, kWarp, pending_->source.at.begin());
  std::copy_n(destination, kWarp, pending_->destination.at.begin());
}

void AsyncTally::repeat(const Starts& starts) {
  kinds_.repeat(starts, 0, 0);
  if (pending_ && !starts.empty()) first_ = pending_;
  pending_.reset();
}

std::array<std::optional<Totals>, 2> AsyncTally::totals() const {
  std::array<std::optional<Totals>, 2> both;
  std::array<Rank, 2> first;
  kinds_.for_each([&](const AsyncLanes& kind, int64_t place, int64_t times, const Rank& rank) {
    const AsyncLanes lanes{moved(kind.source, place), kind.destination, kind.useful};
    const AsyncRequest found = evaluate(lanes, width_);
    for (const std::size_t side : {0, 1}) {
      const Request& request = side == 0 ? found.source : found.destination;
      const Lanes& own = side == 0 ? lanes.source : lanes.destination;
      if (own.active == 0) continue;
      if (!both[side]) both[side].emplace();
      Totals& totals = *both[side];
      const Access access = side_of(side == 0 ? Memory::global : Memory::shared, width_);
      if (const int lane = first_fault(access, own.at.data(), own.active); lane >= 0) {
        totals.fault = {lane, own.at[static_cast<std::size_t>(lane)]};
      }
      if (totals.requests == 0 || rank < first[side]) {
        first[side] = rank;
        totals.first = request;
      }
      Request counted = request;
      if (side == 0) counted.useful_bytes = kind.useful;
      totals.add(counted, times);
      totals.compare(request, own, rank);
    }
  });
  return both;
}

}  // namespace tilewright::analysis
