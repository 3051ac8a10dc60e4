// Branches and loops, by masks.
#include <bit>
#include <limits>

#include "core/error.hpp"
#include "handlers.hpp"
#include "host/execute/machine.hpp"

namespace tilewright::execute {

namespace {

Mask true_lanes(const Warp& warp, Slot slot) {
  const uint8_t* values = warp.at<uint8_t>(slot);
  Mask lanes = 0;
  for (uint32_t l = 0; l < kLanes; ++l) lanes |= Mask{values[l] != 0} << l;
  return lanes;
}

// On the stack: the mask of the whole, and what is left for the other branch.
void begin_if(Warp& warp, const Instruction& i) {
  const Mask taken = warp.mask & true_lanes(warp, i.a);
  warp.masks.push_back(warp.mask);
  warp.masks.push_back(warp.mask & ~taken);
  warp.mask = taken;
  if (taken == 0) warp.pc = i.target;
}

void begin_else(Warp& warp, const Instruction& i) {
  warp.mask = warp.masks.back();
  warp.masks.pop_back();
  if (warp.mask == 0) warp.pc = i.target;
}

void end_region(Warp& warp, const Instruction&) {
  warp.mask = warp.masks.back();
  warp.masks.pop_back();
}

void enter(Warp& warp, const Instruction&) { warp.masks.push_back(warp.mask); }

void leave(Warp& warp, const Instruction& i) {
  end_region(warp, i);
  warp.pc = i.target;
}

template <class T>
void test_for(Warp& warp, const Instruction& i) {
  const T *index = warp.at<T>(i.a), *stop = warp.at<T>(i.b), *step = warp.at<T>(i.c);
  Mask lanes = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const bool up = step[l] > 0 && index[l] < stop[l];
    const bool down = step[l] < 0 && index[l] > stop[l];
    lanes |= Mask{up || down} << l;
  }
  warp.mask &= lanes;
  if (warp.mask == 0) leave(warp, i);
}

// The next index. One beyond the type ends the loop, as it is beyond every bound; a GPU wraps around.
template <class T>
void advance_for(Warp& warp, const Instruction& i) {
  const T *index = warp.at<T>(i.a), *step = warp.at<T>(i.b);
  T* next = warp.at<T>(i.to);
  Mask beyond = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    T sum;
    const bool is_beyond = __builtin_add_overflow(index[l], step[l], &sum);
    beyond |= Mask{is_beyond} << l;
    next[l] = !is_beyond ? sum : step[l] > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
  if (warp.shadow == nullptr) return;
  for (beyond &= warp.mask; beyond != 0; beyond &= beyond - 1) {
    warp.cta->report(warp, i, FindingKind::kOverflow, std::countr_zero(beyond),
                     concat("the index of the loop goes beyond ", sizeof(T) * 8,
                            " bits, where a GPU wraps around: make a bound of the range an Int64"));
  }
}

void test_while(Warp& warp, const Instruction& i) {
  warp.mask &= true_lanes(warp, i.a);
  if (warp.mask == 0) leave(warp, i);
}

void jump_back(Warp& warp, const Instruction& i) {
  warp.pc = i.target;
  if (--warp.budget <= 0) warp.running = false;
}

void end(Warp& warp, const Instruction&) {
  warp.state = State::kDone;
  warp.running = false;
}

void stop(Warp& warp) {
  warp.cta->is_stopped = true;
  warp.running = false;
}

void check_assertion(Warp& warp, const Instruction& i) {
  const Mask failed = warp.mask & ~true_lanes(warp, i.a);
  if (failed == 0) return;
  const std::string& text = warp.code->operands[i.side].text;
  for (Mask left = failed; left != 0; left &= left - 1) {
    warp.cta->report(warp, i, FindingKind::kAssert, std::countr_zero(left),
                     text.empty() ? "an assertion fails" : "an assertion fails: " + text);
  }
  stop(warp);
}

void trap(Warp& warp, const Instruction& i) {
  for (Mask left = warp.mask; left != 0; left &= left - 1) {
    warp.cta->report(warp, i, FindingKind::kTrap, std::countr_zero(left), "the kernel stops itself");
  }
  stop(warp);
}

void clock(Warp& warp, const Instruction& i) {
  const uint64_t now = ++warp.cta->clock;
  for (uint32_t l = 0; l < kLanes; ++l) warp.at<uint64_t>(i.to)[l] = now;
}

}  // namespace

Handler if_handler() { return &begin_if; }
Handler else_handler() { return &begin_else; }
Handler end_if_handler() { return &end_region; }
Handler enter_handler() { return &enter; }
Handler for_test_handler(Kind kind) {
  switch (kind) {
    case Kind::kI8:
      return &test_for<int8_t>;
    case Kind::kI16:
      return &test_for<int16_t>;
    case Kind::kI32:
      return &test_for<int32_t>;
    case Kind::kI64:
      return &test_for<int64_t>;
    case Kind::kU8:
      return &test_for<uint8_t>;
    case Kind::kU16:
      return &test_for<uint16_t>;
    case Kind::kU32:
      return &test_for<uint32_t>;
    case Kind::kU64:
      return &test_for<uint64_t>;
    default:
      return nullptr;
  }
}
Handler for_advance_handler(Kind kind) {
  switch (kind) {
    case Kind::kI8:
      return &advance_for<int8_t>;
    case Kind::kI16:
      return &advance_for<int16_t>;
    case Kind::kI32:
      return &advance_for<int32_t>;
    case Kind::kI64:
      return &advance_for<int64_t>;
    case Kind::kU8:
      return &advance_for<uint8_t>;
    case Kind::kU16:
      return &advance_for<uint16_t>;
    case Kind::kU32:
      return &advance_for<uint32_t>;
    case Kind::kU64:
      return &advance_for<uint64_t>;
    default:
      return nullptr;
  }
}
Handler while_test_handler() { return &test_while; }
Handler jump_handler() { return &jump_back; }
Handler end_handler() { return &end; }
Handler assert_handler() { return &check_assertion; }
Handler trap_handler() { return &trap; }
Handler clock_handler() { return &clock; }

}  // namespace tilewright::execute
