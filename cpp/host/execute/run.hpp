// Runs a kernel on the CPU: a launch, and what it finds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/execute/code/code.hpp"

namespace tilewright::execute {

// Memory that belongs to an argument. Shape and strides are those of its layout, flat and in elements; they may be
// empty.
struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::string name;
  uint64_t origin = 0;  // the address of coordinate 0
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;
  uint32_t bits = 8;  // of an element
  bool is_writable = true;
};

// What TMA knows of a tensor; the fastest mode comes first.
struct TensorMap {
  uint64_t address = 0;
  int64_t bytes = 1;             // of an element
  std::vector<int64_t> shape;    // in elements
  std::vector<int64_t> strides;  // in bytes, of all modes but the first
  std::vector<int64_t> box;      // in elements
  int64_t swizzle = 0;           // bytes that it spans, 0 for none
};

// Global memory that a launch read or wrote.
struct Touched {
  uint64_t first, last;  // bytes
  bool is_written;
};

struct WarpOfGrid {
  uint64_t cta;
  uint32_t warp;  // of the CTA
};

struct Launch {
  std::shared_ptr<const Code> code;
  int64_t grid[3] = {1, 1, 1};
  int64_t block[3] = {1, 1, 1};
  int64_t cluster[3] = {1, 1, 1};
  int64_t shared_bytes = 0;  // all of it
  std::vector<uint64_t> arguments;
  std::vector<MemoryRange> memory;
  std::vector<TensorMap> maps;  // arguments that are tensor maps are indices into these
  // By the launch before, which need not have ended before griddepcontrol.wait; sorted.
  std::vector<Touched> before;
  bool check = false;
  bool tells_touched = false;          // with check: an Outcome has what was touched
  bool profile = false;                // without check
  std::optional<WarpOfGrid> profiled;  // none: all warps
  std::optional<uint64_t> timed;       // the CTA whose timeline is wanted, and no costs
  uint64_t seed = 0;
  uint64_t resident = 0;                // clusters under way at once, with check; 0: many
  int threads = 0;                      // 0: as the CPU likes
  int64_t limit = 0;                    // jumps back of a CTA's warps; 0: without limit
  uint32_t events = uint32_t{1} << 23;  // accesses of warps that the checks tell apart; at least 2
  // Asked now and then, by the thread that runs the launch: whether to give up.
  std::function<bool()> is_interrupted;
};

// In the order in which they are shown.
enum class FindingKind : uint8_t {
  kRace,
  kMissingFence,
  kNotWritten,
  kNotLanded,
  kOutOfBounds,
  kReadOnly,
  kMisaligned,
  kBarrier,
  kDeadlock,
  kEarlyExit,
  kLane,
  kDivision,
  kOverflow,
  kAssert,
  kTrap,
  kNoEnd,
};
std::string_view text_of(FindingKind kind);

struct Thread {
  int64_t block[3] = {0, 0, 0};
  int64_t thread[3] = {0, 0, 0};
  bool is_there = false;
};

struct Finding {
  FindingKind kind;
  std::string message;
  uint32_t place = 0;        // an index into Program::places
  uint32_t other_place = 0;  // of the other side of a race; 0: there is none
  Thread thread;
  Thread other;
  std::string space;  // gmem, smem, rmem or nothing
  bool has_address = false;
  uint64_t address = 0;
  std::string tensor;
  std::vector<int64_t> coordinate;
  uint64_t count = 1;
  uint64_t cta = 0;  // by which of several equal ones the first is told
  // How far apart the two sides of a race are: in a warp, a CTA, or several. The farthest are told, since what orders
  // them is more than what orders the others.
  int reach = 0;
};

// Findings of one worker: of each kind and pair of places the first of those that reach farthest, and how many there
// were.
class FindingTable {
 public:
  // The finding of that key, counted; one whose count is 1 is new, and the caller says the rest.
  Finding& add(FindingKind kind, uint32_t place, uint32_t other_place, uint64_t cta);
  void merge(const FindingTable& other);
  std::vector<Finding> sorted(const program::Program& program) const;

 private:
  struct Key {
    FindingKind kind;
    uint32_t place;
    uint32_t other;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, Finding> findings_;
};

struct ProfileRow;  // profile/profile.hpp
struct Span;        // profile/timeline.hpp

struct Outcome {
  std::vector<Finding> findings;
  std::vector<ProfileRow> profile;
  std::vector<Span> timeline;
  std::string output;  // of printf
  std::vector<Touched> touched;
  bool is_interrupted = false;

  Outcome();
  Outcome(Outcome&&) noexcept;
  Outcome& operator=(Outcome&&) noexcept;
  ~Outcome();
};

Outcome run(const Launch& launch);

}  // namespace tilewright::execute
