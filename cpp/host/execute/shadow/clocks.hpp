// What happened before what, in a launch: every access is an event of a warp, and barriers order events.
//
// Events are numbered as they happen. A warp knows, of each warp of its CTA, the number below which that one's events
// happened before; of its own, the number below which all lanes are in order with each other. Of other CTAs it knows
// what an atomic with fences told it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/execute/machine.hpp"

namespace tilewright::execute {

// Takes part in a record: an event and a lane in 31 bits; 0 is none.
using Record = uint32_t;
inline constexpr Record kUnderWay = Record{1} << 31;        // a copy that has not landed
inline constexpr uint32_t kMostEvents = uint32_t{1} << 26;  // of which a record has room for the number
inline constexpr Record record_of(uint32_t event, uint32_t lane) { return event << 5 | lane; }
inline uint32_t event_of(Record record) { return (record & ~kUnderWay) >> 5; }
inline uint32_t lane_of(Record record) { return record & 31; }

// An event of a run is one of lanes side by side: from `lane` on, each touches `bytes` bytes, the first one at `first`.
struct Event {
  uint64_t cta;
  uint32_t place;
  uint16_t warp;
  bool is_atomic;
  uint8_t lane = 0;
  uint32_t bytes = 0;
  uint64_t first = 0;

  uint32_t lane_at(uint64_t address) const { return lane + static_cast<uint32_t>((address - first) / bytes); }
};

// For each CTA and warp the number below which events are known to have happened before.
using Bounds = std::map<uint64_t, std::vector<uint32_t>>;
void join(Bounds& to, const Bounds& from);

struct WarpClock {
  std::vector<uint32_t> known;  // of the CTA's warps
  uint32_t all = 0;             // the least of known
  struct Partial {
    uint32_t event;
    Mask lanes;
  };
  std::vector<Partial> partial;  // since all lanes were in order
  Bounds others;                 // of other CTAs
  Bounds fenced;                 // what was known when the last fence for all CTAs was passed
  Bounds fenced_inside;          // the last fence at all
  Bounds heard;                  // by atomics, and known once a fence for all CTAs is passed
  Bounds heard_inside;           // once any is
  Bounds would_be_known;         // if there were fences everywhere
};

// Of one CTA.
struct CtaClocks {
  std::vector<WarpClock> warps;
  struct Joined {
    std::vector<uint32_t> known;
    Bounds others, would_be_known;
  };
  Joined barriers[kBarriers];
};

class Clocks {
 public:
  explicit Clocks(uint32_t most);

  // The number of what the warp does now; the same one for all rows of an instruction.
  uint32_t event(const Warp& warp, const Instruction& instruction, bool is_atomic);
  // The number of a run, which is an event of its own.
  uint32_t run(const Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t first, uint32_t bytes);
  uint32_t count() const { return static_cast<uint32_t>(events_.size()); }
  bool is_full() const { return events_.size() >= most_; }
  // Forgets all events; what is recorded as 1 is in order with everything.
  void clear();
  const Event& operator[](Record record) const { return events_[event_of(record)]; }

  void begin(CtaClocks& cta, std::size_t warps) const;
  bool is_ordered(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const;
  // Whether the event was before whatever any lane of the warp does now.
  bool is_before(const CtaClocks& cta, const Warp& warp, uint32_t number) const;
  // Whether a fence is all that lacks.
  bool lacks_a_fence(const CtaClocks& cta, const Warp& warp, Record record) const;

  void sync_lanes(CtaClocks& cta, const Warp& warp, Mask among);
  void arrive(CtaClocks& cta, const Warp& warp, int barrier);
  void leave(CtaClocks& cta, const Warp& warp, int barrier) const;
  static void reset(CtaClocks& cta, int barrier);
  // A fence for all CTAs, or for the warp's own.
  void fence(CtaClocks& cta, const Warp& warp, bool for_all);
  // An atomic at `variable`, with the meaning of an acquire or a release of its own.
  void synchronize(CtaClocks& cta, const Warp& warp, uint64_t variable, bool acquires, bool releases);

 private:
  Bounds bounds_of(const CtaClocks& cta, const Warp& warp) const;
  static void learn(CtaClocks& cta, const Warp& warp, const Bounds& bounds);

  struct Variable {
    Bounds released, passed;
    std::map<uint64_t, Bounds> released_inside;  // for the CTA that did so
  };
  std::size_t most_;
  std::vector<Event> events_;
  std::map<uint64_t, Variable> variables_;
  const Instruction* last_ = nullptr;  // whose event the newest one is
  const Warp* last_warp_ = nullptr;
};

}  // namespace tilewright::execute
