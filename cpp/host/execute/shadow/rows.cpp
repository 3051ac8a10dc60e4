// Rows: one element of each lane, as long as nothing is wrong with it.
#include <algorithm>
#include <bit>

#include "asked.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

using program::Space;

namespace {

// The granules that the lanes of a row touch. A lane that is not active repeats what the first active one does.
struct Row {
  uint32_t granule[kLanes];
  uint32_t lane[kLanes];
  Record mine;  // of lane 0
  Mask mask;
  uint32_t warp;
  MoreReads* more;  // of shared memory
  Record safe;      // below are records of this CTA, and in order with what the warp does
  Record least;     // 1 where what is read has to be written before
};

// The lanes whose read is right; it is recorded.
Mask read_row(const Row& row, const Cells& cells, Asked& of_write, Asked& of_read, Asked& of_other) {
  Record *const write = cells.write.get(), *const read = cells.read.get(), *const other = cells.other_read.get();
  bool is_open = false;
  Record newest = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t g = row.granule[l];
    // Of 0, where it has to be written, 1 is taken, so that it is above all.
    is_open |= write[g] - row.least >= row.safe - row.least;
    newest = std::max(newest, read[g]);
  }
  if (!is_open && newest < row.safe) {
    Record differ = 0;
    for (uint32_t l = 0; l < kLanes; ++l) read[row.granule[l]] = row.mine | row.lane[l];
    for (uint32_t l = 0; l < kLanes; ++l) differ |= read[row.granule[l]] ^ (row.mine | row.lane[l]);
    for (uint32_t l = 0; differ != 0 && l < kLanes; ++l) {
      const uint32_t g = row.granule[l];
      if (read[g] != (row.mine | row.lane[l]) && other[g] < row.safe) other[g] = row.mine | row.lane[l];
    }
    return row.mask;
  }
  if (!is_open) {
    // What two other warps have just read is as well known as it can be.
    const Record first = read[row.granule[0]], second = other[row.granule[0]];
    Record differ = 0;
    for (uint32_t l = 0; l < kLanes; ++l) differ |= (read[row.granule[l]] ^ first) | (other[row.granule[l]] ^ second);
    if (differ < kLanes && of_read.is_of_another(first) && of_other.is_of_another(second) &&
        !of_other.is_of_one_other(first, second)) {
      for (uint32_t l = 0; row.more != nullptr && l < kLanes; ++l) {
        row.more->add(row.granule[l], row.warp, row.mine | row.lane[l]);
      }
      return row.mask;
    }
  }
  Mask done = 0;
  for (Mask left = row.mask; left != 0; left &= left - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    const uint32_t g = row.granule[l];
    const Record mine = row.mine | l;
    if (is_open) {
      if (write[g] < row.least || !(write[g] < row.safe || of_write.is_in_order(write[g], l))) continue;
      if (write[g] >= row.safe && event_of(write[g]) == event_of(other[g])) continue;  // two lanes wrote the same
    }
    done |= Mask{1} << l;
    if ((other[g] ^ mine) < kLanes) continue;  // another lane of this row has said it
    if (read[g] < row.safe || of_read.is_in_order(read[g], l)) {
      read[g] = mine;
    } else if (other[g] < row.safe || of_other.is_in_order(other[g], l) ||
               of_other.is_of_one_other(read[g], other[g])) {
      other[g] = mine;
    } else if (row.more != nullptr) {
      row.more->add(g, row.warp, mine);
    }
  }
  return done;
}

// The same of a write. Of lanes that write one granule only one is right, and none if one of them is wrong with what
// was there before, which the record of another would hide.
Mask write_row(const Row& row, const Cells& cells, Asked& of_write, Asked& of_read, Asked& of_other) {
  Record *const write = cells.write.get(), *const read = cells.read.get(), *const other = cells.other_read.get();
  Record newest = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t g = row.granule[l];
    newest = std::max({newest, write[g], read[g], other[g]});
  }
  Mask done = row.mask;
  const bool has_more = row.more != nullptr && row.more->has_any;
  if (newest >= row.safe || has_more) {
    for (Mask left = row.mask; left != 0; left &= left - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(left));
      const uint32_t g = row.granule[l];
      bool is_right = (write[g] < row.safe || of_write.is_in_order(write[g], l)) &&
                      (read[g] < row.safe || of_read.is_in_order(read[g], l)) &&
                      (other[g] < row.safe || of_other.is_in_order(other[g], l));
      if (has_more) {
        row.more->each(
            g, [&](Record record) { is_right = is_right && (record < row.safe || of_other.is_in_order(record, l)); });
      }
      if (!is_right) done &= ~(Mask{1} << l);
    }
    for (Mask bad = row.mask & ~done; bad != 0; bad &= bad - 1) {
      const uint32_t g = row.granule[std::countr_zero(bad)];
      for (uint32_t l = 0; l < kLanes; ++l) done &= ~(Mask{row.granule[l] == g} << l);
    }
  }
  const auto each = [&](auto&& f) {
    if (done == kAllLanes) {
      for (uint32_t l = 0; l < kLanes; ++l) f(l, row.granule[l]);
      return;
    }
    for (Mask left = done; left != 0; left &= left - 1) {
      const auto l = static_cast<uint32_t>(std::countr_zero(left));
      f(l, row.granule[l]);
    }
  };
  each([&](uint32_t l, uint32_t g) {
    write[g] = row.mine | l;
    read[g] = other[g] = 0;
    if (has_more) row.more->warps[g] = 0;
  });
  Mask wrong = 0;
  each([&](uint32_t l, uint32_t g) { wrong |= Mask{write[g] != (row.mine | l)} << l; });
  return done & ~wrong;
}

}  // namespace

// What is right with most rows: all lanes are aligned and in bounds, and in order with whoever touched the same. The
// lanes for which nothing is left to do.
Mask Shadow::touch_row(const Warp& warp, const AccessCode& access, Use use, const uint64_t* addresses, Mask mask,
                       uint32_t event, Mask undefined) {
  const bool is_shared = access.space == Space::kShared;
  if ((!is_shared && access.space != Space::kGlobal) || access.is_half || undefined != 0 ||
      (use != Use::kRead && use != Use::kWrite)) {
    return 0;
  }
  const CtaClocks& clocks = warp.cta->memory->clocks;
  const WarpClock& clock = clocks.warps[warp.index];
  if (!clock.partial.empty()) return 0;
  const uint32_t shift = is_shared ? shared_shift_ : global_shift_;
  uint64_t first = 0, size = static_cast<uint64_t>(launch_.shared_bytes);
  const Cells* cells = warp.cta->memory->shared.get();
  const Segment* segment = nullptr;
  uint32_t offset = 0;
  if (!is_shared) {
    if (is_early(warp)) return 0;
    const auto parameter = static_cast<std::size_t>(access.parameter);
    const MemoryRange* range = access.parameter >= 0 ? parameters_[parameter] : nullptr;
    if (range == nullptr || (use == Use::kWrite && !range->is_writable)) return 0;
    segment = parameter_segments_[parameter];
    if (range->address % access.bytes != 0 || segment->cells->count > ~uint32_t{0}) return 0;
    first = range->address;
    size = range->bytes;
    cells = segment->cells.get();
    offset = static_cast<uint32_t>((first - segment->first) >> shift);
  }
  const auto [least, end] = is_shared ? shared_bounds(warp, access) : std::pair<uint64_t, uint64_t>{0, size};
  if (end - least < access.bytes) return 0;

  Row row;
  row.mine = record_of(event, 0);
  row.mask = mask;
  row.warp = warp.index;
  row.more = is_shared ? warp.cta->memory->more.get() : nullptr;
  row.safe = is_shared && warp.cta->cluster->ctas.size() == 1 ? record_of(clock.all, 0) : 1;
  row.least = is_shared && use == Use::kRead ? 1 : 0;
  const uint64_t last = end - access.bytes;
  uint64_t beyond = 0, between = 0;
  const auto put = [&](uint32_t l, uint32_t lane) {
    const uint64_t at = addresses[lane] - first;
    beyond |= (at - least) | (last - at);
    between |= at;
    row.granule[l] = offset + static_cast<uint32_t>(at >> shift);
    row.lane[l] = lane;
  };
  if (mask == kAllLanes) {
    for (uint32_t l = 0; l < kLanes; ++l) put(l, l);
  } else {
    const auto some = static_cast<uint32_t>(std::countr_zero(mask));
    for (uint32_t l = 0; l < kLanes; ++l) put(l, (mask >> l & 1) != 0 ? l : some);
  }
  if (beyond >> 63 != 0 || (between & (access.bytes - 1)) != 0) return 0;
  if (segment != nullptr) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const std::size_t line = row.granule[l] >> (kLineShift - shift);
      if (segment->lines[line].write != kSpread) spread(*segment, line);
    }
  }
  Asked of_write(clocks_, warp, clocks), of_read(clocks_, warp, clocks), of_other(clocks_, warp, clocks);
  Mask done = mask;
  for (uint32_t j = 0; j < access.bytes >> shift; ++j) {
    done &= use == Use::kRead ? read_row(row, *cells, of_write, of_read, of_other)
                              : write_row(row, *cells, of_write, of_read, of_other);
    for (uint32_t& granule : row.granule) ++granule;
  }
  return done;
}

}  // namespace tilewright::execute
