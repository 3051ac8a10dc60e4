// What is known about memory while a kernel runs with checks: who wrote and read it, and what was never written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#include "clocks.hpp"
#include "host/execute/machine.hpp"

namespace tilewright::execute {

// Copies in bulk and operands of wgmma belong to the asynchronous proxy.
enum class Use : uint8_t { kRead, kWrite, kAtomic, kAsyncRead, kAsyncWrite, kProxyRead, kProxyWrite, kProxyAtomic };
inline bool is_read(Use use) { return use == Use::kRead || use == Use::kAsyncRead || use == Use::kProxyRead; }
inline bool is_of_proxy(Use use) { return use >= Use::kProxyRead; }
inline bool is_atomic(Use use) { return use == Use::kAtomic || use == Use::kProxyAtomic; }

// Zeros, of which only those that are touched take memory.
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Zeros = std::unique_ptr<T[], Free>;
template <class T>
Zeros<T> zeros(std::size_t count) {
  auto* all = static_cast<T*>(std::calloc(std::max<std::size_t>(1, count), sizeof(T)));
  if (all == nullptr) throw std::bad_alloc();
  return Zeros<T>(all);
}

// Of each granule of some memory: the last write, and two reads since then, of different warps where there are some.
// Where the last write is an atomic, another one with which it is in no order may be in the place of the second read.
struct Cells {
  explicit Cells(std::size_t granules)
      : count(granules), write(zeros<Record>(count)), read(zeros<Record>(count)), other_read(zeros<Record>(count)) {}
  void clear();

  std::size_t count;
  Zeros<Record> write, read, other_read;
};

// Of the shared memory of a CTA: reads of the CTA's warps beside those two, the last one of each.
struct MoreReads {
  explicit MoreReads(std::size_t granules) : count(granules), warps(zeros<uint32_t>(count)) {}
  void clear() {
    if (has_any) std::fill_n(warps.get(), count, 0);
    has_any = false;
  }

  void add(std::size_t granule, uint32_t warp, Record record) {
    if (warp >= of_warp.size()) of_warp.resize(warp + 1);
    if (of_warp[warp] == nullptr) of_warp[warp] = zeros<Record>(count);
    of_warp[warp][granule] = record;
    warps[granule] |= uint32_t{1} << warp;
    has_any = true;
  }
  // f(record), by which the record may change.
  template <class F>
  void each(std::size_t granule, F&& f) const {
    for (uint32_t left = warps[granule]; left != 0; left &= left - 1) {
      f(of_warp[static_cast<std::size_t>(std::countr_zero(left))][granule]);
    }
  }

  std::size_t count;
  bool has_any = false;
  Zeros<uint32_t> warps;  // of each granule, a bit for each warp
  std::vector<Zeros<Record>> of_warp;
};

// The same of a whole line of global memory, by the numbers of runs, as long as runs are all that touched it.
struct Line {
  Record write, read, other_read;
};
inline constexpr uint32_t kLineShift = 6;
inline constexpr uint64_t kLine = uint64_t{1} << kLineShift;  // bytes
inline constexpr Record kSpread = ~Record{0};                 // instead of a write: the granules' records say it

// Of one CTA. Masks of frames and registers have a bit for each lane.
struct CtaMemory {
  CtaClocks clocks;
  std::unique_ptr<Cells> shared;
  std::unique_ptr<MoreReads> more;
  struct OfWarp {
    std::vector<Mask> written;     // of each granule of the frame
    std::vector<uint32_t> origin;  // the place where what is not written was read, for what was stored again
    std::vector<Mask> undefined;   // of each 32 bytes of registers, which are never part of two elements
    std::vector<uint32_t> undefined_at;
    // Of each granule of the frame, where the kernel has wgmma: the place of the one that owns it, and where other code
    // has touched it since the last fence.
    std::vector<uint32_t> owner, touched;
    bool has_fenced = false;
  };
  std::vector<OfWarp> warps;
  // What is told by mbarriers, and by the barrier of the cluster that this CTA is the first of.
  struct Phases {
    Told arriving, complete;
    Record init = 0;
    uint64_t before = 0;  // as often the cluster had met at its barrier by then
  };
  std::map<uint32_t, Phases> mbarriers;
  Phases cluster;
  std::map<uint32_t, uint16_t> agents;  // of each mbarrier who brings its bytes, as a warp behind those of the CTA
  struct Visit {                        // of another CTA, or of a copy: what of it this CTA has to know before it ends
    Record record;
    const Instruction* instruction;
    const Warp* warp;
  };
  std::vector<Visit> visits;
};

inline bool contains(const MemoryRange& range, uint64_t address, uint64_t bytes) {
  return address - range.address <= range.bytes && range.bytes - (address - range.address) >= bytes;
}

class Shadow {
 public:
  explicit Shadow(const Launch& launch);
  // A CTA begins: nothing of its shared memory and of its frames is written.
  void begin(Cta& cta);

  // The lanes whose access to the elements of a row is right; findings about the others. What a read finds not written
  // comes in `undefined`; a write says by it what it does not define. `written`: what it writes, lane after lane.
  Mask look(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
            const uint64_t* addresses, Mask mask, Mask& undefined, const void* written = nullptr);
  // The same where all lanes have one address in their frames: all lanes or none.
  bool look_at_fragment(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                        uint64_t address, Mask mask, Mask& undefined);
  // Whether all is right with `elements` elements from one on, in vectors of so many bytes, seen as a whole.
  bool look_at_runs(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint32_t first,
                    uint32_t elements, int64_t vector, Mask mask);
  // The same of a fragment, which is read, or written with what is defined.
  static bool is_written(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t elements, Mask mask);
  static bool write(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t elements, Mask mask);
  // The bytes of the vectors that the GPU takes: as long as the pointer's type promises, where the elements are side by
  // side.
  static int64_t vector_of(const AccessCode& access);
  // Whether accesses of so many bytes, from an element on, are aligned.
  void look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint32_t element,
                      int64_t bytes, Mask mask);
  // A copy lands for some lanes; those of `zeros` have read nothing.
  void land(const Warp& warp, const PendingCopy& copy, Mask mask);
  // The same where an mbarrier tells of it.
  void land_for_barrier(const Warp& warp, const PendingCopy& copy, Mask mask, uint32_t barrier);
  void forget(Warp& warp, const Allocation& allocation, Mask mask);
  // Writes, and atomics that changed something: who loops until something changes waits for ever where nothing does.
  uint64_t changes() const { return changes_; }
  void note_change() { ++changes_; }
  // What of global memory was read or written, from address to address.
  std::vector<Touched> touched() const;

  // ---- wgmma (wgmma.cpp) ----

  // A wgmma reads pieces of 16 bytes of shared memory from now on until it has finished: the pieces never written. The
  // one place that says how the tensor cores' reads are ordered.
  std::vector<bool> look_at_operand(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                                    const std::vector<uint64_t>& pieces);
  // The number of what the warp does now.
  uint32_t event(const Warp& warp, const Instruction& instruction) { return clocks_.event(warp, instruction, false); }
  // It owns a fragment from now on. Of each element the lanes that have never written it, where it is read; the
  // fragment is written then where `undefined` says no other.
  void own(const Warp& warp, const Instruction& instruction, const AccessCode& access, std::vector<Mask>& undefined);
  static void define(const Warp& warp, const AccessCode& access, const std::vector<Mask>& undefined);
  // It has finished: pieces that it read may be written, and registers touched: place 0.
  void finish(const Warp& warp, const PendingWgmma& done, const std::vector<uint64_t>& pieces);
  static void set_owner(const Warp& warp, const AccessCode& access, uint64_t begin, uint32_t place);
  // Registers that were touched before may be used by a wgmma.
  static void fence_registers(const Warp& warp);

  void sync_lanes(Warp& warp, Mask among);
  void arrive(Warp& warp, const Instruction& instruction, int barrier);
  void leave(Warp& warp, int barrier);
  void reset(Cta& cta, int barrier);
  void fence(Warp& warp, const std::string& text);
  // An mbarrier of a CTA, which a lane initialises (a write) or uses (an atomic): whether it can.
  bool look_at_mbarrier(const Warp& warp, const Instruction& instruction, const AccessCode& access, const Cta& of,
                        uint64_t address, uint32_t lane, Use use);
  // ---- copies in bulk (proxies.cpp) ----

  // What a copy does to the shared memory of a CTA, or to global memory: whether it can. Its mbarrier has to be known
  // to the asynchronous proxy.
  bool look_at_bulk(BulkCopy& copy, const Cta* of, const AccessCode& barrier);
  // A lane reads bytes of its CTA's shared memory by the asynchronous proxy, at once.
  bool read_by_proxy(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                     uint32_t bytes, uint32_t lane);
  // It has come to shared memory, which its mbarrier tells.
  void land_load(const BulkCopy& copy, Cta& to);
  // What was stored has been read, or written, where a thread waited.
  void land_store(const BulkCopy& copy, const Instruction& wait, bool is_read);
  // A thread touches a tensor map in its shared memory or in global memory: whether it can.
  bool touch_map(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                 uint32_t lane);
  // A copy reads it, which has to have been released and acquired since it was changed.
  bool look_at_map(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                   uint32_t lane);
  void acquire_map(Warp& warp, uint64_t address);
  void note_visit(const Warp& warp, const Instruction& instruction, Cta& to, uint32_t lane);
  // A CTA comes to its end: what was done to its shared memory has to be known to it.
  void look_at_visits(Cta& cta);
  static void find_early_exit(const Warp& warp, const Instruction& instruction, const Cta& gone, uint32_t lane);

  void tell(Warp& warp, Mask lanes, Told& to);
  void hear(Warp& warp, Mask lanes, const Told& from);
  // The fences of mbarriers' initialisation that the warp has passed, without anything else.
  static void tell_inits(const Warp& warp, Told& to);
  void synchronize(Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask,
                   const std::vector<int64_t>& order);

  // ---- values that depend on what was never written (definedness.cpp) ----

  // Before an instruction, where a warp has such values: what its result depends on.
  static void flow(Warp& warp, const Instruction& instruction);
  // Notes that an element in a register is not defined for some lanes.
  static void set_undefined(Warp& warp, Slot slot, uint32_t bytes, uint32_t element, Mask mask, uint32_t origin);
  static Mask undefined(const Warp& warp, Slot slot, uint32_t bytes, uint32_t element);
  static uint32_t origin(const Warp& warp, Slot slot, uint32_t bytes, uint32_t element);
  // Finds that a value which was never written has an effect.
  static void find_undefined(const Warp& warp, const Instruction& instruction, Mask mask, uint32_t origin,
                             const char* effect);

 private:
  struct Segment {  // of the arguments' memory; those that overlap are one
    uint64_t first, last;
    std::unique_ptr<Cells> cells;
    Zeros<Line> lines;
    std::size_t count_lines() const { return (last - first + kLine - 1) >> kLineShift; }
  };
  struct Place {  // of one access of one lane
    Cells* cells = nullptr;
    std::size_t first = 0, last = 0;  // granules
    const MemoryRange* range = nullptr;
    const Segment* segment = nullptr;
    MoreReads* more = nullptr;  // of shared memory
  };

  std::pair<uint64_t, uint64_t> shared_bounds(const Warp& warp, const AccessCode& access) const;
  std::optional<Place> shared_place(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                                    const Cta& of, uint64_t address, uint32_t bytes, uint32_t lane);
  std::optional<Place> global_place(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                                    uint64_t address, uint32_t bytes, uint32_t lane);
  // Whether nothing of the CTA has waited for the launch before.
  bool is_early(const Warp& warp) const { return !launch_.before.empty() && !warp.cta->has_waited; }
  bool find_early(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                  uint32_t bytes, uint32_t lane, const MemoryRange* range);
  bool frame_place(Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                   uint32_t bytes, uint32_t lane, Mask& undefined);
  Mask touch_row(const Warp& warp, const AccessCode& access, Use use, const uint64_t* addresses, Mask mask,
                 uint32_t event, Mask undefined);
  void spread(const Segment& segment, std::size_t line);
  const Segment& segment_of(uint64_t address) const;
  bool is_aligned(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                  int64_t bytes, uint32_t lane);
  // A look at what other instructions did; the record, with a look at what other lanes of this one did; or both.
  enum class Step { kAll, kLook, kRecord };
  void touch(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
             const Place& place, uint32_t lane, uint32_t event, Mask& undefined, Step step = Step::kAll,
             Record same = 0);
  static Record same_write(const AccessCode& access, const uint64_t* addresses, const Place& place, uint32_t lane,
                           uint32_t event, const void* written);
  void land_as(const Warp& warp, const PendingCopy& copy, Mask mask, uint32_t event);
  // Other code touches registers: whether no wgmma owns them.
  static bool touch_registers(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t elements);
  static void touch_register(const Warp& warp, const Instruction& instruction, Use use, uint64_t granule,
                             uint32_t lane);
  void find_race(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                 const Place& place, uint32_t lane, Record record, bool record_writes);
  void find_missing_proxy_fence(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                                uint64_t address, const Place& place, uint32_t lane, Record record);
  bool touch_bytes(const Warp& warp, const Instruction& instruction, const AccessCode& access, const Cta* of, Use use,
                   uint64_t address, uint32_t bytes, uint32_t lane, uint32_t event);
  // The CTA of the cluster whose shared memory a lane touches, which has to be there until it knows of that.
  const Cta* remote(const Warp& warp, const Instruction& instruction, uint64_t address, uint32_t lane);
  static uint16_t bringer_of(const Cta& cta, uint32_t barrier);
  static void tell_of_landing(CtaMemory::Phases& told, uint64_t cta, uint16_t agent, uint32_t event);
  template <class F>
  void each_cell(const BulkCopy& copy, CtaMemory* of, F&& f);
  static Thread thread_of(const Cta& cta, const Event& event, Record record);
  void tell(Finding& finding, const Warp& warp, const AccessCode& access, uint64_t address, const MemoryRange* range);
  const MemoryRange* range_of(const AccessCode& access, uint64_t address) const;
  void make_room();

  const Launch& launch_;
  Clocks clocks_;
  std::vector<std::shared_ptr<CtaMemory>> ctas_;  // of all that are under way
  std::vector<Segment> segments_;
  std::vector<const MemoryRange*> parameters_;  // the memory of each of the kernel's parameters
  std::vector<const Segment*> parameter_segments_;
  uint32_t shared_shift_, global_shift_, frame_shift_;  // granules are 2^shift bytes
  uint64_t changes_ = 0;
};

}  // namespace tilewright::execute
