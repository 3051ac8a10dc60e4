#include "profile.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "host/execute/lanes/address.hpp"
#include "host/execute/lanes/handlers.hpp"

namespace tilewright::execute {

using program::Family;
using program::Opcode;
using program::Operation;
using program::Space;

namespace {

constexpr int64_t kPeriod = 128;  // bytes of a line, and of all banks: a request that much further costs the same

// Floating-point operations of one lane: an fma is two.
int64_t flops_of(const program::Program& program, const Operation& operation) {
  const auto of_type = [&](program::ValueId id, int64_t each) {
    const program::Type& type = program.type(id);
    return type.is_number() && program::is_float(type.scalar) ? each * type.lanes : 0;
  };
  if (operation.code == Opcode::kFmaTile) {
    if (!program::is_float(program.type(operation.accesses[0].pointer).scalar)) return 0;
    return 2 * operation.ints[0] * operation.ints[1] * operation.ints[2] * operation.ints[3];
  }
  if (operation.code == Opcode::kReduce) return of_type(operation.operands[0], 1);
  switch (program::facts(operation.code).family) {
    case Family::kUnary:
    case Family::kBinary:
      return of_type(operation.results[0], 1);
    case Family::kFma:
      return of_type(operation.results[0], 2);
    default:
      return 0;
  }
}

Space space_of(const AccessCode& access, uint64_t address) {
  if (access.space != Space::kGeneric) return access.space;
  const uint64_t window = address & kWindowMask;
  return window == kSharedWindow ? Space::kShared : window == kFrameWindow ? Space::kRegister : Space::kGlobal;
}

void add(analysis::Request& to, const analysis::Request& from) {
  to.lanes += from.lanes;
  to.sectors += from.sectors;
  to.ideal_sectors += from.ideal_sectors;
  to.lines += from.lines;
  to.wavefronts += from.wavefronts;
  to.ideal_wavefronts += from.ideal_wavefronts;
  to.useful_bytes += from.useful_bytes;
}

}  // namespace

Profile::Profile(const Code& code) : code_(&code), facts_(code.instructions.size()) {
  std::vector<bool> seen(code.program->operations.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    if (instruction.run == end_handler()) continue;
    const Operation& operation = code.program->operations[instruction.operation];
    Facts& facts = facts_[i];
    facts.is_branch = instruction.flow == Flow::kBranch && program::facts(operation.code).family == Family::kControl;
    facts.is_memory = instruction.flow == Flow::kMemory || instruction.flow == Flow::kAtomic;
    facts.is_first = !seen[instruction.operation];
    seen[instruction.operation] = true;
    if (facts.is_first) facts.flops = flops_of(*code.program, operation);
    // Branches and loops are executed as often as their condition is looked at.
    const bool is_control = program::facts(operation.code).family == Family::kControl;
    if (is_control ? facts.is_branch : facts.is_first) facts.executed = &row(instruction, Space::kGeneric, false, 0);
  }
}

Profile::Counted& Profile::row(const Instruction& instruction, Space space, bool is_store, uint32_t width) {
  const auto [found, is_new] = rows_.try_emplace(Key{instruction.operation, space, is_store, width});
  if (is_new) {
    found->second.place = instruction.place;
    found->second.operation = instruction.operation;
    found->second.space = space;
    found->second.is_store = is_store;
    found->second.width = width;
  }
  return found->second;
}

void Profile::before(Warp& warp, const Instruction& instruction) {
  const Facts& facts = facts_[static_cast<std::size_t>(&instruction - code_->instructions.data())];
  if (facts.executed != nullptr) {
    const int lanes = std::popcount(warp.mask);
    ++facts.executed->executed;
    facts.executed->lanes += lanes;
    facts.executed->flops += facts.flops * lanes;
  }
  if (facts.is_memory) count_memory(warp, instruction);
}

void Profile::after(const Warp& warp, const Instruction& instruction, Mask mask) {
  const Facts& facts = facts_[static_cast<std::size_t>(&instruction - code_->instructions.data())];
  if (!facts.is_branch) return;
  const bool is_if = instruction.run == if_handler();
  const Mask staying = warp.mask & mask;
  const bool all_left = !is_if && warp.pc == instruction.target;
  if (!all_left && staying != 0 && staying != mask) ++facts.executed->divergent;
}

void Profile::count_memory(Warp& warp, const Instruction& instruction) {
  const MemoryCode& memory = code_->memory[instruction.side];
  switch (code_->program->operations[instruction.operation].code) {
    case Opcode::kCopy: {
      const bool is_async = memory.text == "cp.async";
      const auto elements = static_cast<uint32_t>(memory.ints[1]);
      const auto width = static_cast<uint32_t>(memory.ints[0] / 8);
      for (uint32_t first = 0; first < memory.accesses[0].count; first += elements) {
        const Mask mask = copied_lanes(warp, instruction, first / elements);
        // Where the predicate of an asynchronous copy is false, zeros are written.
        const Mask written = is_async ? warp.mask : mask;
        if (mask != 0) count_access(warp, instruction, memory.accesses[0], analysis::Op::load, first, width, mask);
        if (written == 0) continue;
        count_access(warp, instruction, memory.accesses[1], is_async ? analysis::Op::cp_async : analysis::Op::store,
                     first, width, written);
      }
      return;
    }
    case Opcode::kFmaTile:
      for (std::size_t x = 0; x < 4; ++x) {
        const AccessCode& access = memory.accesses[x];
        if (access.space == Space::kRegister) continue;
        const analysis::Op op = x == 0 ? analysis::Op::store : analysis::Op::load;
        for (uint32_t e = 0; e < access.count; ++e) {
          count_access(warp, instruction, access, op, e, access.bytes, warp.mask);
        }
      }
      return;
    default: {
      const AccessCode& access = memory.accesses[0];
      if (access.space == Space::kRegister) return;
      const bool is_load = code_->program->operations[instruction.operation].code == Opcode::kLoad;
      for (uint32_t e = 0; e < access.count; ++e) {
        if (e / access.vector_step % access.vector != 0) continue;  // moved with one before
        count_access(warp, instruction, access, is_load ? analysis::Op::load : analysis::Op::store, e,
                     access.vector * access.bytes, warp.mask);
      }
      return;
    }
  }
}

void Profile::count_access(const Warp& warp, const Instruction& instruction, const AccessCode& access, analysis::Op op,
                           uint32_t element, uint32_t width, Mask mask) {
  if (access.space == Space::kRegister) return;
  uint64_t addresses[kLanes];
  row_addresses(warp, access, element, addresses);
  if (access.is_half) {
    for (uint64_t& address : addresses) address >>= 1;
  }
  const auto lanes_in = [&](Space space) {
    Mask lanes = 0;
    for (uint32_t l = 0; l < kLanes; ++l) lanes |= Mask{space_of(access, addresses[l]) == space} << l;
    return lanes & mask;
  };
  for (const Space space : {Space::kGlobal, Space::kShared}) {
    const Mask lanes = access.space == Space::kGeneric ? lanes_in(space) : access.space == space ? mask : 0;
    if (lanes == 0) continue;
    int64_t places[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) places[l] = static_cast<int64_t>(addresses[l] & ~kWindowMask);
    analysis::Access kind;
    kind.memory = space == Space::kGlobal ? analysis::Memory::global : analysis::Memory::shared;
    kind.op = op;
    kind.width = static_cast<int>(std::min(width, 16u));
    const bool is_store = op != analysis::Op::load;
    Facts& facts = facts_[static_cast<std::size_t>(&instruction - code_->instructions.data())];
    Counted*& newest = facts.requests[is_store ? 1 : 0];
    if (newest == nullptr || newest->space != space || newest->width != width) {
      newest = &row(instruction, space, is_store, width);
    }
    // Wider than an instruction is: as many as it takes.
    for (uint32_t done = 0; done < width; done += 16) {
      count_request(warp, *newest, kind, places, lanes);
      for (int64_t& place : places) place += 16;
    }
  }
}

analysis::Request Profile::request_of(Counted& row, const analysis::Access& kind, const int64_t* addresses, Mask mask) {
  if (mask != kAllLanes) return analysis::evaluate(kind, addresses, mask);
  Known& known = row.known[static_cast<uint64_t>(addresses[0] / kind.width) % std::size(row.known)];
  const int64_t further = addresses[0] - known.places[0];
  int64_t differ = further & (kPeriod - 1);
  for (uint32_t l = 1; l < kLanes; ++l) differ |= addresses[l] - known.places[l] - further;
  if (known.request.lanes == 0 || known.op != kind.op || differ != 0) {
    known.op = kind.op;
    std::copy_n(addresses, kLanes, known.places);
    known.request = analysis::evaluate(kind, addresses, mask);
  }
  return known.request;
}

void Profile::count_request(const Warp& warp, Counted& row, const analysis::Access& kind, const int64_t* addresses,
                            Mask mask) {
  ++row.executed;
  const int lanes = std::popcount(mask);
  row.lanes += lanes;
  row.bytes += int64_t{lanes} * kind.width;
  int64_t all = 0;
  for (uint32_t l = 0; l < kLanes; ++l) all |= addresses[l] & -int64_t{mask >> l & 1};
  if ((all & (kind.width - 1)) != 0) return;  // a fault costs nothing that is told here
  const analysis::Request request = request_of(row, kind, addresses, mask);
  add(row.total, request);
  const int64_t cost = kind.memory == analysis::Memory::global ? request.sectors : request.wavefronts;
  const uint64_t cta = warp.cta->linear;
  if (cost < row.worst ||
      (cost == row.worst && std::pair(row.worst_cta, row.worst_warp) <= std::pair(cta, warp.index))) {
    return;
  }
  row.worst = cost;
  row.worst_cta = cta;
  row.worst_warp = warp.index;
  row.worst_mask = mask;
  std::copy_n(addresses, kLanes, row.worst_addresses.begin());
}

void Profile::merge(const Profile& other) {
  for (const auto& [key, from] : other.rows_) {
    const auto [found, is_new] = rows_.try_emplace(key, from);
    if (is_new) continue;
    ProfileRow& to = found->second;
    to.executed += from.executed;
    to.lanes += from.lanes;
    add(to.total, from.total);
    to.bytes += from.bytes;
    to.flops += from.flops;
    to.divergent += from.divergent;
    const auto rank = [](const ProfileRow& row) { return std::tuple(-row.worst, row.worst_cta, row.worst_warp); };
    if (rank(from) < rank(to)) {
      to.worst = from.worst;
      to.worst_cta = from.worst_cta;
      to.worst_warp = from.worst_warp;
      to.worst_mask = from.worst_mask;
      to.worst_addresses = from.worst_addresses;
    }
  }
}

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> all;
  for (const auto& [key, row] : rows_) {
    if (row.executed != 0) all.push_back(row);
  }
  const program::Program& program = *code_->program;
  std::stable_sort(all.begin(), all.end(), [&](const ProfileRow& a, const ProfileRow& b) {
    return program.places[a.place] < program.places[b.place];
  });
  return all;
}

}  // namespace tilewright::execute
