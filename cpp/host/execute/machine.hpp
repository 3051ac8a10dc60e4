// The state of an execution: warps of a CTA, and what they wait for.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "host/execute/code/code.hpp"
#include "run.hpp"

namespace tilewright::execute {

struct Cta;
struct CtaMemory;
struct ClusterState;
class Profile;
class Shadow;
class Timeline;

// Frames are interleaved: 4 bytes of a lane lie beside the same 4 bytes of the next one.
inline constexpr uint64_t kFrameRow = 4 * kLanes;

// Generic addresses of shared memory and frames have these bits, which no address of the host has. In half bytes they
// still fit.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kFrameWindow = uint64_t{2} << 60;
inline constexpr uint64_t kWindowMask = uint64_t{3} << 60;
// Those of the shared memory of another CTA of the cluster have its rank, plus 1, here.
inline constexpr uint32_t kRemoteShift = 40;
inline constexpr uint64_t kRemoteMask = uint64_t{0xFF} << kRemoteShift;

// One element of cp.async: each lane's copy is under way until a wait of that lane lets it land.
struct PendingCopy {
  const Instruction* instruction;
  uint64_t number;  // counts the warp's
  Mask left;
  Mask zeros;  // lanes that write zeros
  uint32_t group[kLanes];
  uint64_t from[kLanes];
  uint64_t to[kLanes];
};

// Lanes that arrive at mbarriers of their CTA when what they have copied so far has landed.
struct PendingArrival {
  const Instruction* instruction;
  Mask lanes;
  uint64_t before;  // copies with smaller numbers
  uint32_t barrier[kLanes];
  uint32_t span;  // of a timeline
};

// A wgmma that no wait has let finish: where its matrices in shared memory begin.
struct PendingWgmma {
  const Instruction* instruction;
  uint32_t group;
  uint32_t event;                            // of its reads
  uint64_t registers_d, registers_a;         // where they are in the frame
  std::vector<uint64_t> begins_a, begins_b;  // none of A in registers
};

inline constexpr uint32_t kMapBytes = 128;  // of a tensor map in memory

// Bytes of a copy in bulk that lie side by side in both memories; without a place in global memory zeros.
struct BulkPiece {
  uint64_t shared;
  uint64_t global;
  uint32_t bytes;
};

struct Cta;
struct Warp;

// A copy between global and shared memory that one thread asked for, as long as it is under way.
struct BulkCopy {
  const Instruction* instruction = nullptr;
  const AccessCode* access = nullptr;  // of shared memory
  Warp* warp = nullptr;
  uint32_t lane = 0;
  std::vector<BulkPiece> pieces;
  uint32_t event = 0, added = 0;  // of the shadow: of all, but of a reduction's changes in global memory
  // To shared memory: of which CTAs, and the mbarrier in each that counts the bytes.
  std::vector<Cta*> targets;
  uint32_t barrier = 0;
  int64_t bytes = 0;
  // From shared memory: the thread's group, and whether it has read all.
  uint32_t group = 0;
  bool has_read = false;
  // Of a timeline: when it was asked for, and its span.
  uint64_t step = 0;
  uint32_t span = ~uint32_t{0};
};

enum class State : uint8_t { kReady, kAtBarrier, kAtMbarrier, kAtClusterBarrier, kDone };

// A phase of an mbarrier that lanes of a warp wait for.
struct PhaseWait {
  uint32_t barrier;  // its byte in the CTA's shared memory
  uint32_t parity;
  Mask lanes;
};

struct Warp {
  uint8_t* registers = nullptr;
  uint8_t* frame = nullptr;
  uint8_t* shared = nullptr;
  const Code* code = nullptr;
  Cta* cta = nullptr;
  Shadow* shadow = nullptr;  // where findings are asked for
  uint32_t pc = 0;
  Mask mask = 0;  // active lanes
  State state = State::kReady;
  Mask live = 0;  // the threads that there are
  uint32_t index = 0;
  std::vector<Mask> masks;     // of the regions around
  bool has_undefined = false;  // some registers hold what was never written
  int64_t budget = 0;          // jumps back until other warps have their turn
  bool running = false;
  bool yields = false;  // its turn ends, though it could go on
  uint64_t executed = 0;
  uint64_t clock = 0;    // steps of a timeline
  int32_t barrier = -1;  // that it waits at
  const Instruction* waits = nullptr;
  std::vector<PhaseWait> phases;  // that it waits for
  uint64_t spins = 0;             // tests of mbarriers that failed since anything changed
  uint64_t seen = 0;              // the changes by then
  bool has_arrived = false;       // at the cluster's barrier
  uint64_t generation = 0;        // of that barrier, when it arrived
  std::deque<PendingCopy> pending;
  uint64_t copies = 0;  // of cp.async so far
  std::deque<PendingArrival> arrivals;
  uint32_t asked_registers = 0;  // of a thread, by setmaxregister
  const Instruction* asked_at = nullptr;
  uint64_t in_group = 0;            // instructions of its warpgroup that it has executed
  uint32_t committed[kLanes] = {};  // groups of cp.async
  std::vector<PendingWgmma> multiplying;
  uint32_t committed_wgmma = 0;  // groups
  std::vector<BulkCopy> stores;
  uint32_t bulk_committed[kLanes] = {};  // groups of stores in bulk

  template <class T>
  T* at(Slot slot) const {
    return reinterpret_cast<T*>(registers + slot);
  }
};

struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // threads; 0: none has come yet
  uint32_t place = 0;
  std::vector<uint32_t> waiting;  // warps
  uint64_t step = 0;              // of the last arrival, on a timeline
};

// In shared memory: a phase is complete when no arrivals and no bytes lack.
struct Mbarrier {
  uint32_t count = 0;    // arrivals of a phase
  uint32_t pending = 0;  // those that lack
  int64_t bytes = 0;     // expected, and not brought yet; of either sign while arrivals lack
  int64_t expected = 0;  // in this phase
  uint64_t phase = 0;
  uint32_t place = 0;        // where it was initialised
  uint32_t expected_at = 0;  // the last place where bytes were expected in this phase
  std::string name;
  // Of a timeline: the step of the last arrival in this phase, and in the one that is complete; the copies of both.
  uint64_t arriving = 0, complete = 0;
  std::vector<uint32_t> landing, landed;

  bool is_complete(uint32_t parity) const { return (phase & 1) != parity; }
};

// What the CTAs of a cluster share.
struct ClusterState {
  std::vector<BulkCopy> loads;          // that are under way
  std::vector<Cta*> ctas;               // by their rank
  uint64_t generation = 0;              // of the barrier of all their threads
  uint64_t changes = 0;                 // of mbarriers, so far
  uint64_t arriving = 0, complete = 0;  // of a timeline: the steps of the last arrivals at the barrier of all
};

// What four warps execute together: the instructions since the one that all have come to.
struct Warpgroup {
  struct Step {
    const Instruction* instruction;
    uint32_t warp;  // that came first
  };
  std::deque<Step> steps;
  uint64_t first = 0;  // the number of the first of them
};
inline constexpr uint32_t kWarpsOfGroup = 4;

inline constexpr int kBarriers = 16;
inline constexpr uint32_t kRowsAtOnce =
    16;  // elements of one instruction of a copy that are read before any is written

struct Printed {
  uint64_t cta;
  uint32_t thread;
  std::string text;
};

struct Cta {
  const Launch* launch = nullptr;
  const Code* code = nullptr;
  uint64_t linear = 0;
  int64_t index[3] = {0, 0, 0};
  std::vector<Warp> warps;
  std::vector<uint8_t> storage;  // registers, frames and shared memory
  uint8_t* shared = nullptr;
  Barrier barriers[kBarriers];
  std::map<uint32_t, Mbarrier> mbarriers;  // by their byte in shared memory
  std::vector<Warpgroup> warpgroups;
  ClusterState* cluster = nullptr;
  uint32_t rank = 0;  // in the cluster
  uint32_t threads = 0;
  bool is_stopped = false;  // by a trap
  bool has_ended = false;
  bool has_waited = false;  // a thread of it, for the launch before
  uint64_t random = 0;
  uint64_t clock = 0;
  FindingTable* findings = nullptr;
  Shadow* shadow = nullptr;
  Profile* profile = nullptr;
  Timeline* timeline = nullptr;
  std::shared_ptr<CtaMemory> memory;  // the shadow's
  std::vector<Printed>* printed = nullptr;

  uint64_t next_random();
  Thread thread_of(const Warp& warp, int lane) const { return thread_of(linear, warp.index, lane); }
  Thread thread_of(uint64_t cta, uint32_t warp, int lane) const;
  // Counts what is found about a lane of a warp at an instruction. The finding if it is the first of its kind there, or
  // reaches farther than those before, for the caller to complete, else null.
  Finding* count(const Warp& warp, const Instruction& instruction, FindingKind kind, int lane, uint32_t other_place = 0,
                 int reach = 0);
  // The same with a message, or a function that gives it.
  template <class Message>
  Finding* report(const Warp& warp, const Instruction& instruction, FindingKind kind, int lane, Message&& message) {
    Finding* finding = count(warp, instruction, kind, lane);
    if (finding == nullptr) return nullptr;
    if constexpr (std::is_invocable_v<Message>) {
      finding->message = message();
    } else {
      finding->message = message;
    }
    return finding;
  }
};

// The CTA in whose shared memory a generic address is: the warp's own, or null where the cluster has none.
inline Cta* cta_of(const Warp& warp, uint64_t address) {
  const uint64_t rank = (address & kRemoteMask) >> kRemoteShift;
  if (rank == 0) return warp.cta;
  return rank <= warp.cta->cluster->ctas.size() ? warp.cta->cluster->ctas[rank - 1] : nullptr;
}

// Lets those go on who wait at a barrier that will never be complete.
void release_barrier(Cta& cta, int id);
// Completes the barrier of a cluster where all warps that have not ended have arrived.
void complete_cluster_barrier(ClusterState& cluster);

}  // namespace tilewright::execute
