// Answers about the event that was asked about last: neighbours in memory mostly have one.
#pragma once

#include "clocks.hpp"

namespace tilewright::execute {

class Asked {
 public:
  Asked(const Clocks& clocks, const Warp& warp, const CtaClocks& cta) : clocks_(clocks), warp_(warp), cta_(cta) {}

  // Whether what was recorded is no atomic, and happened before what the lane does now.
  bool is_in_order(Record record, uint32_t lane) {
    if (record == 0) return true;
    if ((record & kUnderWay) != 0) return false;
    const Event& event = ask(record);
    if (event.is_atomic) return false;  // there may be others
    return is_before_ || (is_own_ && lane_of(record) == lane);
  }
  // The same of a whole run, whose lanes each touch what they do in the run `mine`.
  bool is_in_order(Record record, const Event& mine) {
    if (record == 0) return true;
    const Event& event = ask(record);
    return is_before_ || (is_own_ && event.first == mine.first && event.bytes == mine.bytes && event.lane == mine.lane);
  }
  // Whether another warp did what was recorded, in no order with this one.
  bool is_of_another(Record record) {
    if (record == 0 || (record & kUnderWay) != 0) return false;
    ask(record);
    return !is_before_ && !is_own_;
  }
  // Whether one other warp did both, or one other CTA: then this one tells more, as to be in order with that CTA is not
  // to be so with this one.
  bool is_of_one_other(Record record, Record second) const {
    const Event &a = clocks_[record], &b = clocks_[second];
    if (a.cta != b.cta) return false;
    return a.cta != warp_.cta->linear || (a.warp == b.warp && a.warp != warp_.index);
  }

 private:
  const Event& ask(Record record) {
    const uint32_t number = event_of(record);
    const Event& event = clocks_[record];
    if (number != number_) {
      number_ = number;
      is_before_ = clocks_.is_before(cta_, warp_, number);
      is_own_ = event.warp == warp_.index && event.cta == warp_.cta->linear;
    }
    return event;
  }

  const Clocks& clocks_;
  const Warp& warp_;
  const CtaClocks& cta_;
  uint32_t number_ = ~0u;
  bool is_before_ = false, is_own_ = false;
};

}  // namespace tilewright::execute
