#include "run.hpp"

#include <cstring>

#include "host/execute/lanes/warps.hpp"

namespace tilewright::execute {

using ptx::Operation;
using Op = ptx::Code;

namespace {

class Lanes {
 public:
  Lanes(Warp& warp, const Instruction& instruction, std::vector<uint64_t>& file)
      : warp_(warp), instruction_(instruction), file_(file) {}

  uint64_t* row(ptx::Register which) { return &file_[which * kLanes]; }

  void run(const Operation& o) {
    Mask mask = kAllLanes;
    if (o.guard != ptx::kNoRegister) {
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((row(o.guard)[l] != 0) == o.guard_is_not) mask &= ~(Mask{1} << l);
      }
    }
    switch (o.code) {
      case Op::kNothing:
        return;
      case Op::kVote:
      case Op::kShuffle:
      case Op::kRedux:
      case Op::kElect:
        return together(o, mask & warp_.mask);
      case Op::kActiveMask:
        return each_lane(mask, [&](uint32_t l) { put(o, 0, l, warp_.mask & mask); });
      case Op::kLane:
        return each_lane(mask, [&](uint32_t l) { put(o, 0, l, l); });
      case Op::kLaneMask:
        return each_lane(mask, [&](uint32_t l) { put(o, 0, l, lane_mask(o.how, l)); });
      case Op::kPack:
      case Op::kUnpack:
        return each_lane(mask, [&](uint32_t l) { parts(o, l); });
      default:
        return each_lane(mask, [&](uint32_t l) { alone(o, l); });
    }
  }

 private:
  void put(const Operation& o, std::size_t which, uint32_t lane, uint64_t value) {
    if (which < o.results.size() && o.results[which] != ptx::kNoRegister) row(o.results[which])[lane] = value;
  }

  void alone(const Operation& o, uint32_t lane) {
    values_.clear();
    for (const ptx::Register each : o.operands) values_.push_back(row(each)[lane]);
    put(o, 0, lane, ptx::compute(o, values_));
    if (o.code != Op::kCompare || o.results.size() < 2) return;
    Operation other = o;  // p|q: the second one has the comparison turned round
    other.with.clear();
    const uint64_t is_not = ptx::compute(other, values_) ^ 1, with = o.with.empty() ? 0 : values_[2];
    put(o, 1, lane, o.with == "and" ? is_not & with : o.with == "or" ? is_not | with : is_not ^ with);
  }

  void parts(const Operation& o, uint32_t lane) {
    const bool packs = o.code == Op::kPack;
    const auto count = static_cast<uint32_t>(packs ? o.operands.size() : o.results.size());
    const uint32_t bits = ptx::bits_of(o.scalar) / count;
    uint64_t whole = packs ? 0 : row(o.operands[0])[lane];
    for (uint32_t i = 0; i < count; ++i) {
      if (packs) whole |= ptx::low(row(o.operands[i])[lane], bits) << (i * bits);
      if (!packs) put(o, i, lane, ptx::low(whole >> (i * bits), bits));
    }
    if (packs) put(o, 0, lane, whole);
  }

  static uint64_t lane_mask(const std::string& how, uint32_t lane) {
    const Mask own = Mask{1} << lane, below = own - 1;
    if (how == "eq") return own;
    if (how == "lt") return below;
    if (how == "le") return below | own;
    return how == "gt" ? ~(below | own) : ~below;
  }

  // The last operand names the lanes that take part, which each lane may say for itself.
  void together(const Operation& o, Mask active) {
    int32_t masks[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) masks[l] = static_cast<int32_t>(row(o.operands.back())[l]);
    look_at_mask(warp_, instruction_, active, masks);
    uint64_t values[kLanes];
    std::memcpy(values, row(o.operands[0]), sizeof values);
    each_lane(active, [&](uint32_t l) {
      const Mask among = active & (static_cast<Mask>(masks[l]) | Mask{1} << l);
      switch (o.code) {
        case Op::kVote:
          return put(o, 0, l, voted(o, values, among));
        case Op::kShuffle: {
          const auto from = shuffle_source(o.how, l, static_cast<uint32_t>(row(o.operands[1])[l]),
                                           static_cast<uint32_t>(row(o.operands[2])[l]));
          if (from) look_at_source(warp_, instruction_, active, l, *from);
          put(o, 1, l, from.has_value());
          return put(o, 0, l, values[from.value_or(l)]);
        }
        case Op::kRedux:
          return put(o, 0, l, reduced(o, values, among));
        default: {  // elect.sync d|p
          const auto first = static_cast<uint32_t>(std::countr_zero(among));
          put(o, 0, l, first);
          return put(o, 1, l, first == l);
        }
      }
    });
  }

  static uint64_t voted(const Operation& o, const uint64_t* values, Mask among) {
    Mask yes = 0;
    each_lane(among, [&](uint32_t l) { yes |= Mask{values[l] != 0} << l; });
    if (o.how == "ballot") return yes;
    if (o.how == "any") return yes != 0;
    return yes == among || (o.how == "uni" && yes == 0);
  }

  static uint64_t reduced(const Operation& o, const uint64_t* values, Mask among) {
    uint8_t sum[8], next[8];
    bool has_begun = false;
    each_lane(among, [&](uint32_t l) {
      std::memcpy(has_begun ? next : sum, &values[l], sizeof sum);
      if (has_begun) combine(o.scalar, o.how, sum, next, sum);
      has_begun = true;
    });
    uint32_t made;
    std::memcpy(&made, sum, sizeof made);
    return made;
  }

  Warp& warp_;
  const Instruction& instruction_;
  std::vector<uint64_t>& file_;
  std::vector<uint64_t> values_;
};

void run(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const ptx::Assembly& assembly = *info.assembly;
  thread_local std::vector<uint64_t> file;
  file.assign(assembly.registers * kLanes, 0);
  Lanes lanes(warp, i, file);
  for (const auto& [which, pattern] : assembly.constants) {
    for (uint32_t l = 0; l < kLanes; ++l) lanes.row(which)[l] = pattern;
  }
  std::size_t slot = 0;
  for (const ptx::Register which : assembly.inputs) {
    const uint32_t bytes = bytes_of(info.types[slot]);
    const uint8_t* from = warp.at<uint8_t>(info.slots[slot++]);
    for (uint32_t l = 0; l < kLanes; ++l) std::memcpy(&lanes.row(which)[l], from + l * bytes, bytes);
  }
  for (const Operation& each : assembly.operations) lanes.run(each);
  for (const ptx::Register which : assembly.outputs) {
    const bool is_boolean = info.types[slot].scalar == program::Scalar::kBoolean;
    const uint32_t bytes = bytes_of(info.types[slot]);
    uint8_t* to = warp.at<uint8_t>(info.slots[slot++]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t value = is_boolean ? uint64_t{lanes.row(which)[l] != 0} : lanes.row(which)[l];
      std::memcpy(to + l * bytes, &value, bytes);
    }
  }
}

}  // namespace

Handler assembly_handler() { return &run; }

}  // namespace tilewright::execute
