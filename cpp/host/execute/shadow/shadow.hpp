// What is known about memory while a kernel runs with checks: who wrote and read it, and what was never written.
#pragma once

#include <memory>
#include <optional>

#include "clocks.hpp"
#include "host/execute/machine.hpp"

namespace tilewright::execute {

enum class Use : uint8_t { kRead, kWrite, kAtomic, kAsyncWrite };

// Of each granule of some memory: the last write, and two reads since then, of different warps where there are some.
struct Cells {
  explicit Cells(std::size_t count);
  void clear();

  struct Free {
    void operator()(Record* records) const;
  };
  using Records = std::unique_ptr<Record[], Free>;
  std::size_t count;
  Records write, read, other_read;
};

// Of one CTA. Masks of frames and registers have a bit for each lane.
struct CtaMemory {
  CtaClocks clocks;
  std::unique_ptr<Cells> shared;
  struct OfWarp {
    std::vector<Mask> written;     // of each granule of the frame
    std::vector<uint32_t> origin;  // the place where what is not written was read, for what was stored again
    std::vector<Mask> undefined;   // of each 32 bytes of registers, which are never part of two elements
    std::vector<uint32_t> undefined_at;
  };
  std::vector<OfWarp> warps;
};

class Shadow {
 public:
  explicit Shadow(const Launch& launch);
  // A CTA begins: nothing of its shared memory and of its frames is written.
  void begin(Cta& cta);

  // The lanes whose access to the elements of a row is right; findings about the others. What a read finds not written
  // comes in `undefined`; a write says by it what it does not define.
  Mask look(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
            const uint64_t* addresses, Mask mask, Mask& undefined);
  // The same where all lanes have one address in their frames: all lanes or none.
  bool look_at_fragment(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                        uint64_t address, Mask mask, Mask& undefined);
  // Whether accesses of so many bytes, from an element on, are aligned.
  void look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint32_t element,
                      int64_t bytes, Mask mask);
  void look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access, Mask mask);
  void land(const Warp& warp, const Instruction& copy, const AccessCode& access, const uint64_t* addresses, Mask mask);
  void forget(Warp& warp, const Allocation& allocation, Mask mask);

  void sync_lanes(Warp& warp, Mask among);
  void arrive(Warp& warp, int barrier);
  void leave(Warp& warp, int barrier);
  void reset(Cta& cta, int barrier);
  void fence(Warp& warp, const std::string& text);
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
  };
  struct Place {  // of one access of one lane
    Cells* cells = nullptr;
    std::size_t first = 0, last = 0;  // granules
    const MemoryRange* range = nullptr;
  };

  std::optional<Place> shared_place(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                                    uint64_t address, uint32_t bytes, uint32_t lane);
  std::optional<Place> global_place(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                                    uint64_t address, uint32_t bytes, uint32_t lane);
  bool frame_place(Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                   uint32_t bytes, uint32_t lane, Mask& undefined);
  Mask touch_quickly(const Warp& warp, const AccessCode& access, Use use, const uint64_t* addresses, Mask mask,
                     uint32_t event, Mask& undefined);
  const Segment& segment_of(uint64_t address) const;
  bool is_aligned(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                  int64_t bytes, uint32_t lane);
  void touch(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
             const Place& place, uint32_t lane, uint32_t event, Mask& undefined);
  void find_race(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use, uint64_t address,
                 const Place& place, uint32_t lane, Record record, bool record_writes);
  void tell(Finding& finding, const Warp& warp, const AccessCode& access, uint64_t address, const MemoryRange* range);
  const MemoryRange* range_of(const AccessCode& access, uint64_t address) const;
  void make_room();

  const Launch& launch_;
  Clocks clocks_;
  std::vector<std::shared_ptr<CtaMemory>> ctas_;  // of all that are under way
  std::vector<Segment> segments_;
  std::vector<const MemoryRange*> parameters_;          // the memory of each of the kernel's parameters
  uint32_t shared_shift_, global_shift_, frame_shift_;  // granules are 2^shift bytes
};

}  // namespace tilewright::execute
