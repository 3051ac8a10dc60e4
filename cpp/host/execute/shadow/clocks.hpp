// What happened before what, in a launch: every access is an event of a warp, and barriers order events.
//
// Events are numbered as they happen. A warp knows, of each warp of its CTA, the number below which that one's events
// happened before; of its own, the number below which all lanes are in order with each other. Of other CTAs it knows
// what an atomic with fences told it. Fences and atomics are a lane's own: what it tells others is what it did itself
// and what it knows, and what it hears the other lanes know behind a sync_warp or a barrier.
#pragma once

#include <array>
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
  bool is_of_proxy = false;  // the asynchronous one
  bool is_wgmma = false;
  uint16_t issuer = 0;  // of what a copy brought: the warp that asked for it, of CTA `first`
  uint64_t first = 0;
  bool is_landing = false;  // of what a copy brought
  bool is_store = false;    // it wrote and read nothing
  bool has_looked = false;  // an atomic, whose old value is used

  uint32_t lane_at(uint64_t address) const { return lane + static_cast<uint32_t>((address - first) / bytes); }
};

// The numbers below which events are known to have happened before.
struct Bounds {
  std::map<uint64_t, std::vector<uint32_t>> warps;  // for each CTA and warp, whatever its lanes did
  std::map<std::pair<uint64_t, uint32_t>, std::array<uint32_t, kLanes>> lanes;  // for CTA and warp, of each lane alone

  bool empty() const { return warps.empty() && lanes.empty(); }
  bool has(const Event& event, Record record) const;
};
void join(Bounds& to, const Bounds& from);

// What fences made visible to the asynchronous proxy: of shared memory, and of global.
struct Proxied {
  Bounds shared, global;

  bool has(const Event& event, Record record, bool is_shared) const {
    return (is_shared ? shared : global).has(event, record);
  }
};
void join(Proxied& to, const Proxied& from);

// What a barrier tells those who wait for it.
struct Told {
  Bounds known;
  Bounds would_be_known;
  Proxied proxied;
  Bounds mapped;  // what a fence released for the proxy of tensor maps
  Bounds inits;   // what a fence of mbarriers' initialisation made known to the cluster
};
void join(Told& to, const Told& from);

struct LaneClock {
  Bounds known;           // beside what the whole warp knows
  Bounds fenced;          // what was known when the last fence for all CTAs was passed
  Bounds fenced_inside;   // the last fence at all
  Bounds heard;           // by atomics, and known once a fence for all CTAs is passed
  Bounds heard_inside;    // once any is
  Bounds would_be_known;  // if there were fences everywhere
};

struct WarpClock {
  std::vector<uint32_t> known;  // of the CTA's warps
  uint32_t all = 0;             // the least of known
  struct Partial {
    uint32_t event;
    Mask lanes;
  };
  std::vector<Partial> partial;  // since all lanes were in order
  Bounds others;                 // of other CTAs, and of single lanes of this one
  Bounds would_be_known;         // if there were fences everywhere
  Proxied proxied;               // as Told has them
  Bounds mapped, inits;
  std::map<uint64_t, Bounds> acquired;  // of tensor maps by their addresses: what was released when they were acquired
  std::map<uint32_t, LaneClock> lanes;  // that passed fences, or heard something by atomics
};

// Of one CTA.
struct CtaClocks {
  std::vector<WarpClock> warps;
  struct Joined {
    std::vector<uint32_t> known;
    Bounds others, would_be_known, mapped, inits;
    Proxied proxied;
    std::vector<Record> arrivals;  // one of each warp
  };
  Joined barriers[kBarriers];
  std::vector<Record> last_uses[kBarriers];  // the arrivals of the last use that is complete
  std::vector<uint32_t> landings;            // of each agent that brings bytes the last event
};

class Clocks {
 public:
  explicit Clocks(uint32_t most);

  // The number of what the warp does now; the same one for all rows of an instruction.
  uint32_t event(const Warp& warp, const Instruction& instruction, bool is_atomic);
  // A number of its own for a part of what the warp does now.
  uint32_t another(const Warp& warp, const Instruction& instruction, bool is_atomic);
  // The number of a run, which is an event of its own.
  uint32_t run(const Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t first, uint32_t bytes);
  // The number of what an asynchronous copy did: by `warp` of a CTA, or by an agent of it.
  uint32_t landing(CtaClocks* cta, uint64_t linear, uint16_t warp, const Warp& issuer, uint32_t place,
                   bool is_of_proxy);
  uint32_t count() const { return static_cast<uint32_t>(events_.size()); }
  bool is_full() const { return events_.size() >= most_; }
  // Forgets all events; what is recorded as 1 is in order with everything.
  void clear();
  const Event& operator[](Record record) const { return events_[event_of(record)]; }
  void note_store(uint32_t event) { events_[event].is_store = true; }
  void note_atomic(uint32_t event) { events_[event].is_atomic = true; }
  void note_looked(uint32_t event) { events_[event].has_looked = true; }
  void set_wgmma(uint32_t event) { events_[event].is_wgmma = true; }

  void begin(CtaClocks& cta, std::size_t warps) const;
  bool is_ordered(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const;
  // Whether the event was before whatever any lane of the warp does now.
  bool is_before(const CtaClocks& cta, const Warp& warp, uint32_t number) const;
  // Whether a fence is all that lacks.
  bool lacks_a_fence(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const;
  // Whether a lane knows of anything that another CTA did.
  static bool knows_of(const CtaClocks& cta, const Warp& warp, uint32_t lane, uint64_t other);
  // Whether a thread of the CTA heard of it by an atomic.
  bool is_heard(const CtaClocks& cta, Record record) const;

  void sync_lanes(CtaClocks& cta, const Warp& warp, Mask among);
  void arrive(CtaClocks& cta, const Warp& warp, int barrier, Record mine);
  void leave(CtaClocks& cta, const Warp& warp, int barrier) const;
  static void reset(CtaClocks& cta, int barrier);
  // A fence of the active lanes for all CTAs, or for the warp's own.
  void fence(CtaClocks& cta, const Warp& warp, bool for_all);
  // A fence of the active lanes between the generic proxy and the asynchronous one, or of mbarriers they initialised.
  void fence_proxy(CtaClocks& cta, const Warp& warp, bool of_shared, bool of_global) const;
  void fence_inits(CtaClocks& cta, const Warp& warp) const;
  void fence_maps(CtaClocks& cta, const Warp& warp) const;
  // Tells what the lanes of a mask know and did; they hear what was told.
  void tell(const CtaClocks& cta, const Warp& warp, Mask lanes, Told& to);
  void hear(CtaClocks& cta, const Warp& warp, Mask lanes, const Told& from);
  // An atomic of a lane at `variable`, with the meaning of an acquire or a release of its own, for all CTAs or its own.
  void synchronize(CtaClocks& cta, const Warp& warp, uint32_t lane, uint64_t variable, bool acquires, bool releases,
                   bool for_all);

 private:
  // What a lane knows, and what it did itself.
  Bounds bounds_of(const CtaClocks& cta, const Warp& warp, uint32_t lane) const;
  // What the warp knows, and what all its lanes did.
  Bounds bounds_of(const CtaClocks& cta, const Warp& warp) const;
  // What the lanes of a mask know and did.
  Bounds bounds_of_lanes(const CtaClocks& cta, const Warp& warp, Mask lanes) const;
  // All lanes of the warp are in order from here on, and know what any of them knew.
  void join_lanes(CtaClocks& cta, const Warp& warp) const;

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
