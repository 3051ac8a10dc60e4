#include "cluster.hpp"

#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "host/execute/async/bulk.hpp"

namespace tilewright::execute {

namespace {

// Another one who waits is named in a finding; more would be a list.
constexpr std::size_t kNamed = 4;

// Whether it waits for a phase with bytes that nobody brings, or that nobody expects: why, and not what follows of it.
bool lacks_bytes(const Warp& warp) {
  return !warp.phases.empty() && warp.cta->mbarriers.at(warp.phases.front().barrier).bytes != 0;
}

std::string counted_of(int64_t count, int64_t of, const char* what) { return concat(count, " of ", counted(of, what)); }

}  // namespace

Cluster::Cluster(const Launch& launch, Shadow* shadow, Profile* profile, Timeline* timeline, FindingTable& findings,
                 std::vector<Printed>& printed)
    : launch_(launch) {
  const int64_t count = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  for (int64_t rank = 0; rank < count; ++rank) {
    blocks_.push_back(std::make_unique<Block>(launch, shadow, profile, timeline, findings, printed));
    Cta& cta = blocks_.back()->cta();
    cta.cluster = &state_;
    cta.rank = static_cast<uint32_t>(rank);
    state_.ctas.push_back(&cta);
  }
}

void Cluster::begin(uint64_t linear) {
  state_.generation = state_.changes = 0;
  state_.arriving = state_.complete = 0;
  state_.loads.clear();
  int64_t first[3], rest = static_cast<int64_t>(linear);
  for (int d = 0; d < 3; ++d) {
    const int64_t clusters = launch_.grid[d] / launch_.cluster[d];
    first[d] = rest % clusters * launch_.cluster[d];
    rest /= clusters;
  }
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
    int64_t at[3], left = static_cast<int64_t>(rank);
    for (int d = 0; d < 3; ++d) {
      at[d] = first[d] + left % launch_.cluster[d];
      left /= launch_.cluster[d];
    }
    blocks_[rank]->begin(static_cast<uint64_t>(at[0] + launch_.grid[0] * (at[1] + launch_.grid[1] * at[2])));
  }
}

bool Cluster::advance_each(const std::function<bool()>& is_stopped) {
  bool has_turned = false;
  const std::size_t count = blocks_.size();
  Cta& leader = *state_.ctas[0];
  const std::size_t first = count == 1 || leader.random == 0 ? 0 : leader.next_random() % count;
  for (std::size_t i = 0; i < count; ++i) {
    Block& block = *blocks_[(first + i) % count];
    if (!block.is_over() && block.advance(is_stopped) == Block::Progress::kTurn) has_turned = true;
    // What stops one of them stops all: the others would wait for it.
    if (!block.cta().is_stopped) continue;
    for (Cta* cta : state_.ctas) cta->is_stopped = cta->has_ended = true;
    return false;
  }
  return has_turned;
}

bool Cluster::advance(const std::function<bool()>& is_stopped) {
  for (;;) {
    const bool has_turned = advance_each(is_stopped);
    const auto is_over = [](const auto& block) { return block->is_over(); };
    if (std::all_of(blocks_.begin(), blocks_.end(), is_over)) return true;
    const auto can_go_on = [](const auto& block) { return !block->is_over() && block->can_go_on(); };
    if (std::any_of(blocks_.begin(), blocks_.end(), can_go_on)) {
      if (has_turned) return false;
      continue;
    }
    if (!land_one(state_) && !find_deadlock()) return true;
  }
}

const Warp* Cluster::looping() const {
  for (const auto& block : blocks_) {
    const Warp* warp = block->is_over() ? nullptr : block->looping();
    if (warp != nullptr) return warp;
  }
  return nullptr;
}

bool Cluster::is_stuck() {
  const auto is_stuck = [](const auto& block) { return block->is_over() || block->is_stuck(); };
  return std::all_of(blocks_.begin(), blocks_.end(), is_stuck) && !land_one(state_);
}

bool Cluster::find_deadlock() {
  if (report_waiting()) return false;
  for (const auto& block : blocks_) {
    if (block->is_over()) continue;
    if (block->find_deadlock()) return true;
    if (block->cta().is_stopped) break;
  }
  for (Cta* cta : state_.ctas) cta->is_stopped = cta->has_ended = true;
  return false;
}

// What a warp waits for, and what lacks.
std::string Cluster::text_of(const Warp& warp) const {
  const Cta& cta = *warp.cta;
  if (warp.state == State::kAtBarrier) {
    const Barrier& barrier = cta.barriers[warp.barrier];
    return concat("barrier ", warp.barrier, ", to which ", barrier.arrived, " of ",
                  counted(static_cast<int64_t>(barrier.expected), "thread"), " have come");
  }
  if (warp.state == State::kAtClusterBarrier) {
    std::size_t arrived = 0, all = 0;
    for (const Cta* each : state_.ctas) {
      for (const Warp& other : each->warps) {
        const bool has_arrived = other.has_arrived && other.generation == state_.generation;
        all += other.state != State::kDone;
        arrived += has_arrived && other.state != State::kDone;
      }
    }
    return concat("the cluster's barrier, at which ", arrived, " of ", counted(static_cast<int64_t>(all), "warp"),
                  " have arrived");
  }
  const PhaseWait& wait = warp.phases.front();
  const Mbarrier& barrier = cta.mbarriers.at(wait.barrier);
  const int64_t come = int64_t{barrier.count} - barrier.pending;
  std::string text =
      concat("phase ", barrier.phase, " (parity ", wait.parity, ") of the mbarrier at byte ", wait.barrier,
             " of shared memory", barrier.name.empty() ? "" : concat(" (", barrier.name, ")"), ", for which ",
             counted_of(come, barrier.count, "arrival"), " and ",
             counted_of(barrier.expected - barrier.bytes, barrier.expected, "byte"), " have come");
  if (barrier.expected_at != 0 && barrier.bytes != 0) {
    const program::Place& place = cta.code->program->places[barrier.expected_at];
    text += concat(", which line ", place.line, " expects");
  }
  return text;
}

bool Cluster::report_waiting() {
  const Warp* first = nullptr;
  std::vector<const Warp*> others;
  for (const Cta* cta : state_.ctas) {
    for (const Warp& warp : cta->warps) {
      if (warp.state == State::kDone || (warp.state == State::kReady && warp.phases.empty())) continue;
      others.push_back(&warp);
      if (warp.state == State::kAtBarrier) continue;
      if (first == nullptr || (!lacks_bytes(*first) && lacks_bytes(warp))) first = &warp;
    }
  }
  if (first == nullptr) return false;
  first->cta->report(*first, *first->waits, FindingKind::kDeadlock, std::countr_zero(first->live), [&] {
    std::string text = concat("the thread waits for ever for ", text_of(*first));
    std::vector<uint32_t> told{first->waits->place};
    for (const Warp* other : others) {
      if (std::find(told.begin(), told.end(), other->waits->place) != told.end() || told.size() > kNamed) continue;
      told.push_back(other->waits->place);
      const program::Place& place = other->cta->code->program->places[other->waits->place];
      text += concat("; warp ", other->index,
                     state_.ctas.size() > 1 ? concat(" of the cluster's CTA ", other->cta->rank) : "",
                     " waits in line ", place.line, " for ", text_of(*other));
    }
    return text;
  });
  for (Cta* cta : state_.ctas) cta->is_stopped = cta->has_ended = true;
  return true;
}

}  // namespace tilewright::execute
