// Lines of global memory: what runs of lanes touch as a whole is recorded once for each line.
#include "asked.hpp"
#include "host/execute/lanes/address.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

using program::Space;

// From here on the granules of a line have records of their own.
void Shadow::spread(const Segment& segment, std::size_t number) {
  Line& line = segment.lines[number];
  const std::size_t first = number << (kLineShift - global_shift_);
  const std::size_t last = std::min(first + (std::size_t{1} << (kLineShift - global_shift_)), segment.cells->count);
  const auto spread_one = [&](Record record, Record* to) {
    if (record == 0) return;
    const Event& event = clocks_[record];
    for (std::size_t g = first; g < last; ++g) {
      const uint64_t address = segment.first + (g << global_shift_);
      to[g] = event.bytes == 0 ? record : record_of(event_of(record), event.lane_at(address));
    }
  };
  spread_one(line.write, segment.cells->write.get());
  spread_one(line.read, segment.cells->read.get());
  spread_one(line.other_read, segment.cells->other_read.get());
  line = Line{kSpread, 0, 0};
}

// Whether all is right with elements that lie side by side, from lane to lane, in runs of whole lines. If so, it is
// recorded. If not, element by element is.
bool Shadow::look_at_runs(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                          uint32_t first, uint32_t elements, int64_t vector, Mask mask) {
  if (mask != kAllLanes || access.space != Space::kGlobal || access.parameter < 0 || access.is_half) return false;
  if (is_early(warp)) return false;
  const auto parameter = static_cast<std::size_t>(access.parameter);
  const MemoryRange* range = parameters_[parameter];
  if (range == nullptr || (use == Use::kWrite && !range->is_writable)) return false;
  if (elements > 1 && (!access.is_static || access.swizzle.bits != 0)) return false;
  for (uint32_t e = first + 1; e < first + elements; ++e) {
    if (access.offsets[e] - access.offsets[e - 1] == access.bytes) continue;
    // Elements that are apart are runs of their own.
    return look_at_runs(warp, instruction, access, use, first, e - first, vector, mask) &&
           look_at_runs(warp, instruction, access, use, e, first + elements - e, vector, mask);
  }
  if (clocks_.is_full()) make_room();
  const Segment& segment = *parameter_segments_[parameter];
  const uint64_t lane_bytes = uint64_t{elements} * access.bytes;
  const auto aligned = std::max<uint64_t>(access.bytes, static_cast<uint64_t>(vector));
  uint64_t addresses[kLanes];
  row_addresses(warp, access, first, addresses);
  changes_ += use == Use::kWrite;
  const CtaClocks& clocks = warp.cta->memory->clocks;
  Asked of_write(clocks_, warp, clocks), of_read(clocks_, warp, clocks), of_other(clocks_, warp, clocks);
  for (uint32_t begin = 0, end = 0; begin < kLanes; begin = end) {
    for (end = begin + 1; end < kLanes && addresses[end] - addresses[end - 1] == lane_bytes;) ++end;
    const uint64_t start = addresses[begin], bytes = (end - begin) * lane_bytes;
    const bool is_whole = (start - segment.first) % kLine == 0 && bytes % kLine == 0;
    const bool is_aligned = start % aligned == 0 && lane_bytes % aligned == 0;
    if (!is_whole || !is_aligned || !contains(*range, start, bytes)) return false;
    const Record mine = record_of(clocks_.run(warp, instruction, begin, start, static_cast<uint32_t>(lane_bytes)), 0);
    const Event& event = clocks_[mine];
    Line* line = segment.lines.get() + ((start - segment.first) >> kLineShift);
    for (Line* const last = line + (bytes >> kLineShift); line != last; ++line) {
      if (line->write == kSpread || !of_write.is_in_order(line->write, event)) return false;
      if (use == Use::kWrite) {
        if (!of_read.is_in_order(line->read, event) || !of_other.is_in_order(line->other_read, event)) return false;
        *line = Line{mine, 0, 0};
      } else if (of_read.is_in_order(line->read, event)) {
        line->read = mine;
      } else if (of_other.is_in_order(line->other_read, event) ||
                 of_other.is_of_one_other(line->read, line->other_read)) {
        line->other_read = mine;
      }
    }
  }
  return true;
}

}  // namespace tilewright::execute
