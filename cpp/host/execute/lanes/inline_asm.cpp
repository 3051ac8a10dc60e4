#include "inline_asm.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "host/execute/machine.hpp"

namespace tilewright::execute {

namespace {

const Operands& info_of(const Warp& warp, const Instruction& i) { return warp.code->operands[i.side]; }

// Of 32 bits each: the result is the last slot, the operands are those before it.
template <class T, class F>
void each_lane(Warp& warp, const Instruction& i, F&& f) {
  const Operands& info = info_of(warp, i);
  T* to = warp.at<T>(info.slots.back());
  const auto operand = [&](std::size_t x) { return x + 1 < info.slots.size() ? warp.at<T>(info.slots[x]) : to; };
  const T *a = operand(0), *b = operand(1), *c = operand(2);
  for (uint32_t l = 0; l < kLanes; ++l) to[l] = f(a[l], b[l], c[l], l);
}

template <auto kFunction>
void reals(Warp& warp, const Instruction& i) {
  each_lane<float>(warp, i, [](float a, float b, float c, uint32_t) { return kFunction(a, b, c); });
}
template <auto kFunction>
void words(Warp& warp, const Instruction& i) {
  each_lane<uint32_t>(warp, i, [](uint32_t a, uint32_t b, uint32_t c, uint32_t) { return kFunction(a, b, c); });
}

void lane_index(Warp& warp, const Instruction& i) {
  each_lane<uint32_t>(warp, i, [](uint32_t, uint32_t, uint32_t, uint32_t l) { return l; });
}

struct Known {
  const char* mnemonic;
  std::size_t operands;
  Handler handler;
};

constexpr Known kKnown[] = {
    {"add.f32", 2, &reals<[](float a, float b, float) { return a + b; }>},
    {"add.rn.f32", 2, &reals<[](float a, float b, float) { return a + b; }>},
    {"sub.f32", 2, &reals<[](float a, float b, float) { return a - b; }>},
    {"mul.f32", 2, &reals<[](float a, float b, float) { return a * b; }>},
    {"mul.rn.f32", 2, &reals<[](float a, float b, float) { return a * b; }>},
    {"fma.rn.f32", 3, &reals<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"ex2.approx.f32", 1, &reals<[](float a, float, float) { return std::exp2(a); }>},
    {"ex2.approx.ftz.f32", 1, &reals<[](float a, float, float) { return std::exp2(a); }>},
    {"lg2.approx.f32", 1, &reals<[](float a, float, float) { return std::log2(a); }>},
    {"lg2.approx.ftz.f32", 1, &reals<[](float a, float, float) { return std::log2(a); }>},
    {"rcp.approx.f32", 1, &reals<[](float a, float, float) { return 1.0f / a; }>},
    {"rcp.approx.ftz.f32", 1, &reals<[](float a, float, float) { return 1.0f / a; }>},
    {"rsqrt.approx.f32", 1, &reals<[](float a, float, float) { return 1.0f / std::sqrt(a); }>},
    {"rsqrt.approx.ftz.f32", 1, &reals<[](float a, float, float) { return 1.0f / std::sqrt(a); }>},
    {"sqrt.approx.f32", 1, &reals<[](float a, float, float) { return std::sqrt(a); }>},
    {"tanh.approx.f32", 1, &reals<[](float a, float, float) { return std::tanh(a); }>},
    {"add.s32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a + b; }>},
    {"add.u32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a + b; }>},
    {"sub.s32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a - b; }>},
    {"mul.lo.s32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a * b; }>},
    {"mul.lo.u32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a * b; }>},
    {"mad.lo.s32", 3, &words<[](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }>},
    {"and.b32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a & b; }>},
    {"or.b32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a | b; }>},
    {"xor.b32", 2, &words<[](uint32_t a, uint32_t b, uint32_t) { return a ^ b; }>},
    {"not.b32", 1, &words<[](uint32_t a, uint32_t, uint32_t) { return ~a; }>},
    {"mov.b32", 1, &words<[](uint32_t a, uint32_t, uint32_t) { return a; }>},
    {"popc.b32", 1, &words<[](uint32_t a, uint32_t, uint32_t) { return static_cast<uint32_t>(std::popcount(a)); }>},
    {"clz.b32", 1, &words<[](uint32_t a, uint32_t, uint32_t) { return static_cast<uint32_t>(std::countl_zero(a)); }>},
};

}  // namespace

Handler inline_asm_handler(const std::string& text, std::size_t operands) {
  std::string ptx = text.substr(0, text.find('\n'));
  const auto begin = ptx.find_first_not_of(" \t{");
  if (begin == std::string::npos) return nullptr;
  ptx = ptx.substr(begin);
  // One instruction, its operands in the order $0, $1, ...
  const auto end = ptx.find(';');
  if (end != std::string::npos && ptx.find_first_not_of(" \t;}", end) != std::string::npos) return nullptr;
  const std::string mnemonic = ptx.substr(0, ptx.find_first_of(" \t"));
  if (ptx.find("%laneid") != std::string::npos) {
    return mnemonic == "mov.u32" && operands == 0 ? &lane_index : nullptr;
  }
  if (ptx.find('%') != std::string::npos) return nullptr;
  std::size_t next = 0;
  for (std::size_t at = ptx.find('$'); at != std::string::npos; at = ptx.find('$', at + 1)) {
    if (ptx.compare(at + 1, std::to_string(next).size(), std::to_string(next)) != 0) return nullptr;
    ++next;
  }
  for (const Known& known : kKnown) {
    const bool is_it = mnemonic == known.mnemonic && operands == known.operands && next == operands + 1;
    if (is_it) return known.handler;
  }
  return nullptr;
}

}  // namespace tilewright::execute
