#include "block.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>

#include "core/error.hpp"
#include "host/execute/async/bulk.hpp"
#include "host/execute/lanes/handlers.hpp"
#include "host/execute/profile/profile.hpp"
#include "host/execute/profile/timeline.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

using program::Opcode;

namespace {

constexpr int64_t kTurn = int64_t{1} << 14;  // jumps back of a warp before others have their turn
constexpr int kTurnsOfCta = 4;               // turns that a warp takes to the end before other CTAs have theirs
constexpr std::size_t kStates = 64;          // of a warp that are compared
constexpr uint64_t kSpins = 10000;  // failed tests of mbarriers in which nothing changed, after which nothing will
constexpr std::size_t kPadding = 64;

template <class T>
void fill(const Warp& warp, Slot slot, T value) {
  std::fill_n(warp.at<T>(slot), kLanes, value);
}

void fill(const Warp& warp, Slot slot, uint32_t bytes, uint64_t bits) {
  switch (bytes) {
    case 1:
      return fill(warp, slot, static_cast<uint8_t>(bits));
    case 2:
      return fill(warp, slot, static_cast<uint16_t>(bits));
    case 4:
      return fill(warp, slot, static_cast<uint32_t>(bits));
    default:
      return fill(warp, slot, bits);
  }
}

std::size_t rounded_up(std::size_t bytes) { return (bytes + kPadding - 1) / kPadding * kPadding; }

}  // namespace

uint64_t mixed(uint64_t x) {  // SplitMix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

Block::Block(const Launch& launch, Shadow* shadow, Profile* profile, Timeline* timeline, FindingTable& findings,
             std::vector<Printed>& printed) {
  const Code& code = *launch.code;
  cta_.launch = &launch;
  cta_.code = &code;
  cta_.shadow = shadow;
  cta_.profile = profile;
  cta_.timeline = timeline;
  cta_.findings = &findings;
  cta_.printed = &printed;
  cta_.threads = static_cast<uint32_t>(launch.block[0] * launch.block[1] * launch.block[2]);
  const std::size_t warps = (cta_.threads + kLanes - 1) / kLanes;
  const std::size_t registers = rounded_up(code.register_bytes);
  const std::size_t frame = rounded_up(std::size_t{code.frame_bytes} * kLanes);
  const std::size_t shared = rounded_up(static_cast<std::size_t>(launch.shared_bytes) + kPadding);
  cta_.storage.resize(warps * (registers + frame) + shared + kPadding);
  const auto start = reinterpret_cast<uintptr_t>(cta_.storage.data());
  uint8_t* next = cta_.storage.data() + (kPadding - start % kPadding) % kPadding;
  cta_.warps.resize(warps);
  for (std::size_t w = 0; w < warps; ++w, next += registers + frame) {
    Warp& warp = cta_.warps[w];
    warp.registers = next;
    warp.frame = next + registers;
    warp.code = &code;
    warp.cta = &cta_;
    warp.shadow = shadow;
    warp.index = static_cast<uint32_t>(w);
    const std::size_t threads = std::min<std::size_t>(kLanes, cta_.threads - w * kLanes);
    warp.live = threads == kLanes ? kAllLanes : (Mask{1} << threads) - 1;
  }
  cta_.shared = next;
  for (Warp& warp : cta_.warps) {
    warp.shared = cta_.shared;
    set_fixed(warp);
  }
}

void Block::begin(uint64_t linear) {
  const Launch& launch = *cta_.launch;
  cta_.linear = linear;
  cta_.index[0] = static_cast<int64_t>(linear) % launch.grid[0];
  cta_.index[1] = static_cast<int64_t>(linear) / launch.grid[0] % launch.grid[1];
  cta_.index[2] = static_cast<int64_t>(linear) / launch.grid[0] / launch.grid[1];
  cta_.is_stopped = cta_.has_ended = false;
  cta_.mbarriers.clear();
  cta_.warpgroups.assign((cta_.warps.size() + kWarpsOfGroup - 1) / kWarpsOfGroup, Warpgroup{});
  cta_.random = launch.seed == 0 ? 0 : mixed(launch.seed ^ mixed(linear)) | 1;
  cta_.clock = 0;
  for (Barrier& barrier : cta_.barriers) barrier = Barrier{};
  for (Warp& warp : cta_.warps) {
    warp.pc = 0;
    warp.clock = 0;
    warp.mask = warp.live;
    warp.state = State::kReady;
    warp.masks.clear();
    warp.pending.clear();
    warp.arrivals.clear();
    warp.copies = warp.in_group = 0;
    warp.asked_registers = 0;
    warp.asked_at = nullptr;
    warp.multiplying.clear();
    warp.committed_wgmma = 0;
    warp.phases.clear();
    warp.has_arrived = false;
    warp.spins = warp.seen = warp.generation = 0;
    std::fill_n(warp.committed, kLanes, 0);
    warp.stores.clear();
    std::fill_n(warp.bulk_committed, kLanes, 0);
    for (const Special& special : cta_.code->specials) set_of_block(warp, special);
  }
  if (cta_.shadow != nullptr) cta_.shadow->begin(cta_);
  turns_ = 0;
  last_ = ~std::size_t{0};
  loops_.assign(cta_.warps.size(), Loop{});
}

const Warp* Block::looping() const {
  const auto loops =
      std::find_if(cta_.warps.begin(), cta_.warps.end(), [](const Warp& warp) { return warp.state == State::kReady; });
  return loops == cta_.warps.end() ? nullptr : &*loops;
}

uint64_t Block::changes() const { return cta_.shadow->changes() + cta_.cluster->changes; }

void Block::note_turn(const Warp& warp) {
  Loop& loop = loops_[warp.index];
  const uint64_t now = changes();
  if (loop.changes != now || loop.states.size() == kStates) loop = {now, {}, false};
  const auto text = [](const void* first, std::size_t bytes) {
    return std::hash<std::string_view>{}({static_cast<const char*>(first), bytes});
  };
  uint64_t state = mixed(uint64_t{warp.pc} << 32 | warp.mask);
  state = mixed(state ^ text(warp.masks.data(), warp.masks.size() * sizeof(Mask)));
  state = mixed(state ^ text(warp.registers, cta_.code->register_bytes));
  state = mixed(state ^ text(warp.frame, std::size_t{cta_.code->frame_bytes} * kLanes));
  loop.is_stuck = std::find(loop.states.begin(), loop.states.end(), state) != loop.states.end();
  if (!loop.is_stuck) loop.states.push_back(state);
}

bool Block::is_stuck() const {
  return std::all_of(cta_.warps.begin(), cta_.warps.end(), [this](const Warp& warp) {
    const Loop& loop = loops_[warp.index];
    // Who tests an mbarrier is told for what it waits.
    if (warp.state != State::kReady || warp.spins != 0) return warp.state != State::kReady || warp.spins >= kSpins;
    return loop.is_stuck && loop.changes == changes();
  });
}

Block::Progress Block::end() {
  if (!cta_.is_stopped && !cta_.has_ended) {
    finish_bulk_copies(cta_);
    if (cta_.shadow != nullptr) find_unfinished_warpgroups(cta_);
    if (cta_.shadow != nullptr) look_at_registers(cta_);
  }
  cta_.has_ended = true;
  return Progress::kOver;
}

Block::Progress Block::advance(const std::function<bool()>& is_stopped) {
  for (;;) {
    if (cta_.is_stopped) return end();
    Warp* warp = next_ready();
    if (warp == nullptr) {
      const bool all_done = std::all_of(cta_.warps.begin(), cta_.warps.end(),
                                        [](const Warp& each) { return each.state == State::kDone; });
      return all_done ? end() : Progress::kWaits;
    }
    warp->budget = kTurn;
    const uint64_t changes = cta_.shadow == nullptr ? 0 : cta_.shadow->changes();
    resume(*warp);
    if (cta_.is_stopped) return end();
    if (warp->state == State::kDone) {
      if (cta_.timeline != nullptr) cta_.timeline->end(*warp);
      complete_cluster_barrier(*cta_.cluster);
    }
    if (warp->yields) {
      warp->yields = false;
      return Progress::kTurn;
    }
    if (warp->state == State::kReady) {
      if (cta_.shadow != nullptr && cta_.launch->limit == 0) note_turn(*warp);
      if (++turns_ % (kTurnsOfCta * cta_.warps.size()) == 0) return within_limit(*warp) ? Progress::kTurn : end();
      // A loop in which nothing changes waits for another CTA.
      if (cta_.shadow != nullptr && cta_.shadow->changes() == changes) return Progress::kTurn;
      if (is_stopped()) return Progress::kTurn;
    }
  }
}

bool Block::can_go_on() const {
  return std::any_of(cta_.warps.begin(), cta_.warps.end(),
                     [](const Warp& warp) { return warp.state == State::kReady && warp.spins < kSpins; });
}

void Block::set_fixed(const Warp& warp) const {
  const Launch& launch = *cta_.launch;
  const Code& code = *cta_.code;
  for (const Constant& constant : code.constants) fill(warp, constant.slot, constant.bytes, constant.bits);
  for (std::size_t i = 0; i < code.parameters.size(); ++i) {
    const Code::Parameter& parameter = code.parameters[i];
    if (parameter.slot == kNoSlot) continue;
    const program::ValueId id = code.program->blocks[code.function->body].parameters[i];
    uint64_t bits = launch.arguments[i] << (parameter.is_half ? 1 : 0);
    if (code.program->type(id).is_tensor_map()) bits = reinterpret_cast<uintptr_t>(&launch.maps.at(bits));
    fill(warp, parameter.slot, parameter.bytes, bits);
  }
  for (const Special& special : code.specials) {
    const int d = special.dimension;
    switch (special.code) {
      case Opcode::kThreadIdx:
        for (uint32_t l = 0; l < kLanes; ++l) {
          const int64_t thread = warp.index * kLanes + l, x = launch.block[0], y = launch.block[1];
          warp.at<int32_t>(special.slot)[l] = static_cast<int32_t>(d == 0   ? thread % x
                                                                   : d == 1 ? thread / x % y
                                                                            : thread / x / y);
        }
        break;
      case Opcode::kLaneIdx:
        for (uint32_t l = 0; l < kLanes; ++l) warp.at<int32_t>(special.slot)[l] = static_cast<int32_t>(l);
        break;
      case Opcode::kWarpIdx:
        fill(warp, special.slot, static_cast<int32_t>(warp.index));
        break;
      case Opcode::kBlockDim:
        fill(warp, special.slot, static_cast<int32_t>(launch.block[d]));
        break;
      case Opcode::kGridDim:
        fill(warp, special.slot, static_cast<int32_t>(launch.grid[d]));
        break;
      case Opcode::kClusterDim:
        fill(warp, special.slot, static_cast<int32_t>(launch.cluster[d]));
        break;
      case Opcode::kDynamicSmemSize:
        fill(warp, special.slot, static_cast<int32_t>(launch.shared_bytes));
        break;
      default:
        break;
    }
  }
}

void Block::set_of_block(const Warp& warp, const Special& special) const {
  const Launch& launch = *cta_.launch;
  const int d = special.dimension;
  const auto inside = [&](int m) { return cta_.index[m] % launch.cluster[m]; };
  switch (special.code) {
    case Opcode::kBlockIdx:
      return fill(warp, special.slot, static_cast<int32_t>(cta_.index[d]));
    case Opcode::kClusterIdx:
      return fill(warp, special.slot, static_cast<int32_t>(cta_.index[d] / launch.cluster[d]));
    case Opcode::kBlockInClusterIdx:
      return fill(warp, special.slot, static_cast<int32_t>(inside(d)));
    case Opcode::kBlockRankInCluster:
      return fill(warp, special.slot,
                  static_cast<int32_t>(inside(0) + launch.cluster[0] * (inside(1) + launch.cluster[1] * inside(2))));
    default:
      return;
  }
}

Warp* Block::next_ready() {
  const std::size_t count = cta_.warps.size();
  const std::size_t first = cta_.random == 0 ? last_ + 1 : cta_.next_random();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (first + i) % count;
    if (cta_.warps[index].state != State::kReady) continue;
    last_ = index;
    return &cta_.warps[index];
  }
  return nullptr;
}

void Block::resume(Warp& warp) {
  const Instruction* const code = warp.code->instructions.data();
  warp.running = true;
  if (warp.shadow != nullptr) {
    while (warp.running) {
      const Instruction& i = code[warp.pc++];
      if (warp.has_undefined) Shadow::flow(warp, i);
      i.checked(warp, i);
    }
  } else if (Timeline* const timeline = warp.cta->timeline; timeline != nullptr) {
    while (warp.running) {
      const Instruction& i = code[warp.pc++];
      ++warp.clock;
      i.run(warp, i);
      timeline->after(warp, i);
    }
  } else if (Profile* const profile = warp.cta->profile; profile != nullptr) {
    while (warp.running) {
      const Instruction& i = code[warp.pc++];
      const Mask mask = warp.mask;
      profile->before(warp, i);
      i.run(warp, i);
      profile->after(warp, i, mask);
    }
  } else {
    while (warp.running) {
      const Instruction& i = code[warp.pc++];
      i.run(warp, i);
    }
  }
}

bool Block::find_deadlock() {
  bool waits = false, all_done = true;
  for (const Warp& warp : cta_.warps) all_done = all_done && warp.state == State::kDone;
  if (all_done) return false;
  for (int id = 0; id < kBarriers && !waits; ++id) {
    Barrier& barrier = cta_.barriers[id];
    if (barrier.waiting.empty()) continue;
    waits = true;
    const Warp& warp = cta_.warps[barrier.waiting[0]];
    std::size_t gone = 0;
    const Warp* absent = nullptr;
    for (const Warp& other : cta_.warps) {
      if (other.state == State::kDone) {
        ++gone;
        if (absent == nullptr) absent = &other;
      }
    }
    const bool ended = gone + barrier.waiting.size() == cta_.warps.size();
    Finding* finding = cta_.report(
        warp, *warp.waits, ended ? FindingKind::kBarrier : FindingKind::kDeadlock, std::countr_zero(warp.live), [&] {
          std::string text =
              concat("barrier ", id, " is reached by ", barrier.arrived, " of ", barrier.expected, " threads");
          if (ended) return text + ": the others have come to the kernel's end";
          for (const Warp& other : cta_.warps) {
            if (other.state != State::kAtBarrier || other.barrier == id) continue;
            const program::Place& place = cta_.code->program->places[other.waits->place];
            text += concat("; warp ", other.index, " waits at barrier ", other.barrier, " of line ", place.line);
          }
          return text;
        });
    if (finding != nullptr && absent != nullptr) finding->other = cta_.thread_of(*absent, 0);
    release_barrier(cta_, id);
    cta_.is_stopped = !ended;  // the hardware would hang; it lets those go on who wait for threads that are no more
  }
  return waits && !cta_.is_stopped;
}

bool Block::within_limit(const Warp& warp) {
  const int64_t limit = cta_.launch->limit;
  if (limit == 0 || static_cast<int64_t>(turns_) * kTurn < limit) return true;
  cta_.report(warp, cta_.code->instructions[warp.pc], FindingKind::kNoEnd, std::countr_zero(warp.live),
              concat("a loop has not come to its end after ", limit, " iterations"));
  return false;
}

uint64_t Cta::next_random() { return mixed(random += 2); }

Thread Cta::thread_of(uint64_t cta, uint32_t warp, int lane) const {
  const auto split = [](int64_t linear, const int64_t (&extents)[3], int64_t (&to)[3]) {
    to[0] = linear % extents[0];
    to[1] = linear / extents[0] % extents[1];
    to[2] = linear / extents[0] / extents[1];
  };
  Thread thread;
  thread.is_there = true;
  split(static_cast<int64_t>(cta), launch->grid, thread.block);
  split(int64_t{warp} * kLanes + lane, launch->block, thread.thread);
  return thread;
}

Finding* Cta::count(const Warp& warp, const Instruction& instruction, FindingKind kind, int lane, uint32_t other_place,
                    int reach) {
  Finding& finding = findings->add(kind, instruction.place, other_place, linear);
  if (finding.count != 1 && reach <= finding.reach) return nullptr;
  finding.place = instruction.place;
  finding.other_place = other_place;
  finding.cta = linear;
  finding.reach = reach;
  finding.thread = thread_of(warp, lane);
  finding.coordinate.clear();
  return &finding;
}

}  // namespace tilewright::execute
