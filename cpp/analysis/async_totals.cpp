#include "async_totals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "rules.hpp"

namespace tilewright::analysis {

namespace {

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

// Of the lane that meets the most others, pass by pass.
Met met(const AsyncLanes& lanes, int width) {
  const int of_pass = rules::lanes_of_pass(width);
  const auto pass = static_cast<uint32_t>((uint64_t{1} << of_pass) - 1);
  Met sum;
  for (int lane = 0; lane < kWarp; lane += of_pass) {
    const Met most = met(lanes, pass << lane, width);
    sum.on_both += most.on_both;
    sum.alone += most.alone;
  }
  return sum;
}

// What goes from a piece of 32 bytes of the source to one of the destination at one distance, by where they begin,
// which may be before 0; a bit of `halves` for each half of the one that goes to a half of the other.
struct Move {
  int64_t from = 0;
  int64_t to = 0;
  int64_t shift = 0;
  uint32_t halves = 0;

  auto place() const { return std::tuple(from, to, shift); }
  // Nsight Compute counts those of one class together, but each piece of the source once.
  auto of_class() const { return std::tuple(from & -kLine, to & -kLine, halves, (from ^ to) & kSector); }
};

class Moves {
 public:
  Moves(const Lanes& source, const Lanes& destination) {
    rules::for_each_lane(source.active, [&](int lane) {
      const int64_t from = source.at[static_cast<std::size_t>(lane)];
      const int64_t to = destination.at[static_cast<std::size_t>(lane)];
      const int half = 2 * ((from & kAroundL1) != 0) + ((to & kAroundL1) != 0);
      moves_[count_++] = {from & -kSector, to & -kSector, (from - to) & (kSector - 1), 1U << half};
    });
    std::sort(begin(), end(), [](const Move& a, const Move& b) { return a.place() < b.place(); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (kept > 0 && moves_[kept - 1].place() == moves_[i].place()) {
        moves_[kept - 1].halves |= moves_[i].halves;
      } else {
        moves_[kept++] = moves_[i];
      }
    }
    count_ = kept;
  }

  int64_t count() const { return static_cast<int64_t>(count_); }

  // Different pairs of a line of the source and a piece of the destination.
  int64_t asked() {
    const auto pair = [](const Move& move) { return std::tuple(move.from & -kLine, move.to); };
    std::sort(begin(), end(), [&](const Move& a, const Move& b) { return pair(a) < pair(b); });
    int64_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) sum += i == 0 || pair(moves_[i]) != pair(moves_[i - 1]);
    return sum;
  }

  // The sum over the classes of the most moves of one piece of the source.
  int64_t counted() {
    std::sort(begin(), end(), [](const Move& a, const Move& b) {
      return std::tuple(a.of_class(), a.from) < std::tuple(b.of_class(), b.from);
    });
    int64_t sum = 0, most = 0, run = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool same_class = i > 0 && moves_[i].of_class() == moves_[i - 1].of_class();
      if (!same_class) sum += std::exchange(most, 0);
      run = same_class && moves_[i].from == moves_[i - 1].from ? run + 1 : 1;
      most = std::max(most, run);
    }
    return sum + most;
  }

 private:
  Move* begin() { return moves_.data(); }
  Move* end() { return moves_.data() + count_; }

  std::array<Move, kWarp> moves_;
  std::size_t count_ = 0;
};

Counted ideal_of(int64_t lanes, int64_t wavefronts) {
  return {wavefronts, rules::ideal_wavefronts(static_cast<int>(lanes), kAroundL1, static_cast<int>(wavefronts))};
}

}  // namespace

AsyncRequest evaluate(const AsyncLanes& lanes, int width, bool is_around_l1) {
  const Lanes& source = lanes.source;
  const Lanes& destination = lanes.destination;
  AsyncRequest found{evaluate(side_of(Memory::global, width), source.at.data(), source.active),
                     evaluate(side_of(Memory::shared, width), destination.at.data(), destination.active),
                     {}};
  found.asked = found.source.sectors;
  if (is_around_l1) {
    Moves moves(source, destination);
    found.source.sectors = moves.count();
    found.source.ideal_sectors =
        rules::ideal_sectors(static_cast<int>(found.source.lanes), width, static_cast<int>(found.source.sectors));
    found.counted = ideal_of(found.source.lanes, moves.counted());
    found.asked = moves.asked();
    if (destination.active != source.active) {  // some write zeros
      const Counted more = ideal_of(found.destination.lanes, met(lanes, width).on_both);
      found.counted.wavefronts += more.wavefronts;
      found.counted.ideal += more.ideal;
    }
    return found;
  }
  const Met most = met(lanes, width);
  found.destination.wavefronts = most.on_both;
  found.destination.alone = most.alone;
  found.destination.ideal_wavefronts =
      rules::ideal_wavefronts(static_cast<int>(found.destination.lanes), width, most.on_both);
  found.counted = {found.destination.wavefronts, found.destination.ideal_wavefronts};
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

AsyncTotals AsyncTally::totals() const {
  AsyncTotals both;
  std::array<Rank, 2> first;
  kinds_.for_each([&](const AsyncLanes& kind, int64_t place, int64_t times, const Rank& rank) {
    const AsyncLanes lanes{moved(kind.source, place), kind.destination, kind.useful};
    const AsyncRequest found = evaluate(lanes, width_, width_ == kAroundL1);
    both.counted.wavefronts += times * found.counted.wavefronts;
    both.counted.ideal += times * found.counted.ideal;
    both.asked += times * found.asked;
    for (const std::size_t side : {0, 1}) {
      const Request& request = side == 0 ? found.source : found.destination;
      const Lanes& own = side == 0 ? lanes.source : lanes.destination;
      if (own.active == 0) continue;
      std::optional<Totals>& of_side = side == 0 ? both.source : both.destination;
      if (!of_side) of_side.emplace();
      Totals& totals = *of_side;
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
