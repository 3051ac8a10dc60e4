#include "profile.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>
#include <utility>

#include "host/execute/lanes/address.hpp"
#include "host/execute/lanes/handlers.hpp"
#include "program/emit/vectorize.hpp"
#include "program/wgmma.hpp"

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
  if (operation.code == Opcode::kMma) {
    if (!program::is_float(program.type(operation.accesses[0].pointer).scalar)) return 0;
    int64_t products = 1;
    for (std::size_t i = 0; i < 6; ++i) products *= operation.ints[i];
    return 2 * products / kLanes;
  }
  if (operation.code == Opcode::kWgmma) {
    if (!program::is_float(program.type(operation.accesses[0].pointer).scalar)) return 0;
    const program::Wgmma w(operation.ints);
    return 2 * program::Wgmma::kRows * w.n * w.k * w.rows * w.columns * w.depth / program::Wgmma::kThreads;
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

void add(analysis::Counted& to, const analysis::Counted& from) {
  to.wavefronts += from.wavefronts;
  to.ideal += from.ideal;
}

// Addresses in bytes of the lanes' own space.
void lane_addresses(const Warp& warp, const AccessCode& access, uint32_t element, uint64_t* to) {
  row_addresses(warp, access, element, to);
  if (!access.is_half) return;
  for (uint32_t l = 0; l < kLanes; ++l) to[l] >>= 1;
}

}  // namespace

std::string_view text_of(RequestKind kind) {
  static constexpr std::string_view kTexts[] = {"load",     "store",     "atomic",     "cp.async", "ldmatrix",
                                                "stmatrix", "bulk load", "bulk store", "wgmma"};
  return kTexts[static_cast<std::size_t>(kind)];
}

namespace {

// Whether a branch does nothing but choose among values that are there: a selection, not a branch.
bool chooses(const program::Program& program, const Operation& operation) {
  return operation.code == Opcode::kIf &&
         std::all_of(operation.blocks.begin(), operation.blocks.end(), [&](program::BlockId block) {
           const auto& inside = program.blocks[block].operations;
           return std::all_of(inside.begin(), inside.end(),
                              [&](program::OpId id) { return program.operations[id].code == Opcode::kConstant; });
         });
}

}  // namespace

Profile::Profile(const Code& code, std::optional<WarpOfGrid> only)
    : code_(&code), only_(only), facts_(code.instructions.size()) {
  std::vector<bool> seen(code.program->operations.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    if (instruction.run == end_handler()) continue;
    const Operation& operation = code.program->operations[instruction.operation];
    Facts& facts = facts_[i];
    facts.is_branch = instruction.flow == Flow::kBranch && program::facts(operation.code).family == Family::kControl &&
                      !chooses(*code.program, operation);
    facts.is_memory = instruction.flow == Flow::kMemory || instruction.flow == Flow::kAtomic;
    facts.is_first = !seen[instruction.operation];
    seen[instruction.operation] = true;
    if (facts.is_first) facts.flops = flops_of(*code.program, operation);
    // Branches and loops are executed as often as their condition is looked at.
    const bool is_control = program::facts(operation.code).family == Family::kControl;
    if (is_control ? facts.is_branch : facts.is_first) {
      facts.executed = &row(instruction, nullptr, Space::kGeneric, RequestKind::kLoad, 0);
    }
    if (operation.code == Opcode::kCopy) {
      facts.together = static_cast<uint32_t>(program::copied_together(*code.program, operation));
    }
  }
}

Profile::Row& Profile::row(const Instruction& instruction, const AccessCode* access, Space space, RequestKind kind,
                           uint32_t width) {
  const auto [found, is_new] = rows_.try_emplace(Key{instruction.operation, space, kind, width});
  if (is_new) {
    found->second.place = instruction.place;
    found->second.operation = instruction.operation;
    found->second.space = space;
    found->second.kind = kind;
    found->second.width = width;
    if (access != nullptr) {
      found->second.element_bits = access->is_half ? 4 : 8 * access->bytes;
      const auto parameter = static_cast<std::size_t>(access->parameter);
      found->second.name = access->parameter < 0 ? access->name : code_->function->parameters[parameter];
    }
  }
  return found->second;
}

bool Profile::is_counted(const Warp& warp) const {
  return !only_ || (only_->cta == warp.cta->linear && only_->warp == warp.index);
}

void Profile::before(Warp& warp, const Instruction& instruction) {
  if (!is_counted(warp)) return;
  const Facts& facts = facts_[static_cast<std::size_t>(&instruction - code_->instructions.data())];
  if (facts.executed != nullptr) {
    const int lanes = std::popcount(warp.mask);
    ++facts.executed->executed;
    facts.executed->lanes += lanes;
    facts.executed->flops += facts.flops * lanes;
  }
  if (facts.is_memory) count_memory(warp, instruction, facts.together);
}

void Profile::after(const Warp& warp, const Instruction& instruction, Mask mask) {
  const Facts& facts = facts_[static_cast<std::size_t>(&instruction - code_->instructions.data())];
  if (!facts.is_branch || !is_counted(warp)) return;
  const bool is_if = instruction.run == if_handler();
  const Mask staying = warp.mask & mask;
  const bool all_left = !is_if && warp.pc == instruction.target;
  if (!all_left && staying != 0 && staying != mask) ++facts.executed->divergent;
}

void Profile::count_memory(Warp& warp, const Instruction& instruction, uint32_t together) {
  const MemoryCode& memory = code_->memory[instruction.side];
  const Opcode code = code_->program->operations[instruction.operation].code;
  const AccessCode& first = memory.accesses[0];
  switch (code) {
    case Opcode::kCopy: {
      const auto elements = static_cast<uint32_t>(memory.ints[1]);
      for (uint32_t begin = 0; begin < first.count; begin += elements) {
        const Mask mask = copied_lanes(warp, instruction, begin / elements);
        if (memory.text == "cp.async") {
          count_async(warp, instruction, begin, mask);
          continue;
        }
        for (uint32_t e = begin; e < begin + elements; e += together) {
          for (std::size_t side : {0, 1}) {
            const AccessCode& access = memory.accesses[side];
            count_access(warp, instruction, access, side == 0 ? RequestKind::kLoad : RequestKind::kStore, e,
                         together * access.bytes, mask);
          }
        }
      }
      return;
    }
    case Opcode::kFmaTile:
      for (std::size_t x = 0; x < 4; ++x) {
        const AccessCode& access = memory.accesses[x];
        for (uint32_t e = 0; e < access.count; ++e) {
          count_access(warp, instruction, access, x == 0 ? RequestKind::kStore : RequestKind::kLoad, e, access.bytes,
                       warp.mask);
        }
      }
      return;
    case Opcode::kMma:
      return;
    case Opcode::kWgmma:
      return count_wgmma(warp, instruction);
    case Opcode::kLdMatrix:
      return count_matrices(warp, instruction, first, RequestKind::kLdMatrix);
    case Opcode::kStMatrix:
      return count_matrices(warp, instruction, memory.accesses[1], RequestKind::kStMatrix);
    default: {
      const RequestKind kind = code == Opcode::kLoad               ? RequestKind::kLoad
                               : instruction.flow == Flow::kAtomic ? RequestKind::kAtomic
                                                                   : RequestKind::kStore;
      for (uint32_t e = 0; e < first.count; ++e) {
        if (e / first.vector_step % first.vector != 0) continue;  // moved with one before
        count_access(warp, instruction, first, kind, e, first.vector * first.bytes, warp.mask);
      }
      return;
    }
  }
}

void Profile::count_bulk(const Warp& warp, const Instruction& instruction, const std::vector<BulkPiece>& pieces,
                         bool is_load) {
  if (!is_counted(warp)) return;
  std::vector<uint64_t> sectors;
  int64_t useful = 0;
  for (const BulkPiece& piece : pieces) {
    if (piece.global == 0) continue;
    useful += piece.bytes;
    for (uint64_t s = piece.global / analysis::kSector; s <= (piece.global + piece.bytes - 1) / analysis::kSector; ++s)
      sectors.push_back(s);
  }
  std::sort(sectors.begin(), sectors.end());
  sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
  auto width = static_cast<uint32_t>(code_->memory[instruction.side].ints[0]);
  if (width == 0) {  // the tensor map says it
    for (const BulkPiece& piece : pieces) width += piece.bytes;
  }
  ProfileRow& to = row(instruction, &code_->memory[instruction.side].accesses[0], Space::kGlobal,
                       is_load ? RequestKind::kBulkLoad : RequestKind::kBulkStore, width);
  ++to.executed;
  ++to.lanes;
  to.bytes += useful;
  to.total.lanes += 1;
  to.total.sectors += static_cast<int64_t>(sectors.size());
  to.total.ideal_sectors += (useful + analysis::kSector - 1) / analysis::kSector;
  to.total.useful_bytes += useful;
}

void Profile::count_async(const Warp& warp, const Instruction& instruction, uint32_t first, Mask reads) {
  const MemoryCode& memory = code_->memory[instruction.side];
  const auto width = static_cast<uint32_t>(memory.ints[0] / 8);
  const bool is_around_l1 = memory.ints.size() > 2 && memory.ints[2] == 1 && width == analysis::kAroundL1;
  // Where the predicate is false, zeros are written.
  analysis::AsyncLanes lanes{{{}, reads}, {{}, warp.mask}, 0};
  analysis::Lanes* const sides[] = {&lanes.source, &lanes.destination};
  ProfileRow* rows[2];
  bool faults = false;
  for (std::size_t side : {0, 1}) {
    uint64_t addresses[kLanes];
    lane_addresses(warp, memory.accesses[side], first, addresses);
    for (uint32_t l = 0; l < kLanes; ++l) sides[side]->at[l] = static_cast<int64_t>(addresses[l] & ~kWindowMask);
    const Space space = side == 0 ? Space::kGlobal : Space::kShared;
    rows[side] = &row(instruction, &memory.accesses[side], space, RequestKind::kAsync, width);
    const analysis::Access access = {side == 0 ? analysis::Memory::global : analysis::Memory::shared,
                                     analysis::Op::cp_async, static_cast<int>(width), 0};
    faults = faults || analysis::first_fault(access, sides[side]->at.data(), sides[side]->active) >= 0;
  }
  const analysis::AsyncRequest found =
      faults ? analysis::AsyncRequest{} : analysis::evaluate(lanes, static_cast<int>(width), is_around_l1);
  if (reads != 0) count(warp, *rows[0], found.source, {}, lanes.source.at.data(), reads);
  count(warp, *rows[1], found.destination, found.counted, lanes.destination.at.data(), warp.mask);
}

// Each warp makes a request for each instruction and operand; the first one of its warpgroup says what they read.
void Profile::count_wgmma(const Warp& warp, const Instruction& instruction) {
  const MemoryCode& memory = code_->memory[instruction.side];
  const program::Wgmma w(memory.ints);
  const int64_t instructions = w.rows * w.columns * w.depth;
  const auto operand = [&](std::size_t which, const program::Wgmma::Form& form, int64_t rows) {
    if (form.span != kPeriod) return;
    const AccessCode& access = memory.accesses[which];
    const int64_t bytes = rows * w.k * access.bytes;
    ProfileRow& to = row(instruction, &access, Space::kShared, RequestKind::kWgmma, static_cast<uint32_t>(bytes));
    to.executed += instructions;
    if (warp.index % kWarpsOfGroup != 0) return;
    const int64_t wavefronts = instructions * bytes / kPeriod;
    to.bytes += instructions * bytes;
    to.total.useful_bytes += instructions * bytes;
    to.total.wavefronts += wavefronts;
    to.total.ideal_wavefronts += wavefronts;
    to.counted.wavefronts += wavefronts;
    to.counted.ideal += wavefronts;
  };
  if (!w.is_a_in_registers) operand(1, w.a, program::Wgmma::kRows);
  operand(2, w.b, w.n);
}

// The first eight lanes name the rows of the first matrix, and so on; what the others name is not looked at.
void Profile::count_matrices(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                             RequestKind kind) {
  const auto matrices = static_cast<int>(code_->memory[instruction.side].ints[0]);
  const Mask rows = kAllLanes >> (kLanes - static_cast<uint32_t>(matrices) * analysis::kMatrixRows);
  const analysis::Op op = kind == RequestKind::kLdMatrix ? analysis::Op::ldmatrix : analysis::Op::stmatrix;
  const analysis::Access request = {analysis::Memory::shared, op, analysis::kMatrixRow, matrices};
  for (uint32_t e = 0; e < access.count; e += analysis::kMatrixRow / access.bytes) {
    uint64_t addresses[kLanes];
    int64_t places[kLanes];
    lane_addresses(warp, access, e, addresses);
    for (uint32_t l = 0; l < kLanes; ++l) places[l] = static_cast<int64_t>(addresses[l] & ~kWindowMask);
    count_request(warp, row(instruction, &access, Space::kShared, kind, analysis::kMatrixRow), request, places,
                  rows & warp.mask);
  }
}

void Profile::count_access(const Warp& warp, const Instruction& instruction, const AccessCode& access, RequestKind kind,
                           uint32_t element, uint32_t width, Mask mask) {
  if (access.space == Space::kRegister || mask == 0) return;
  uint64_t addresses[kLanes];
  lane_addresses(warp, access, element, addresses);
  const auto lanes_in = [&](Space space) {
    Mask lanes = 0;
    for (uint32_t l = 0; l < kLanes; ++l) lanes |= Mask{space_of(access, addresses[l]) == space} << l;
    return lanes & mask;
  };
  int64_t places[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const bool is_remote = access.space != Space::kGlobal && space_of(access, addresses[l]) == Space::kShared;
    places[l] = static_cast<int64_t>(addresses[l] & ~(kWindowMask | (is_remote ? kRemoteMask : 0)));
  }
  for (const Space space : {Space::kGlobal, Space::kShared}) {
    const Mask lanes = access.space == Space::kGeneric ? lanes_in(space) : access.space == space ? mask : 0;
    if (lanes == 0) continue;
    analysis::Access request;
    request.memory = space == Space::kGlobal ? analysis::Memory::global : analysis::Memory::shared;
    request.op = kind == RequestKind::kLoad ? analysis::Op::load : analysis::Op::store;
    request.width = static_cast<int>(width);
    if (access.is_half && kind == RequestKind::kStore) {  // the other half of the byte stays
      analysis::Access before = request;
      before.op = analysis::Op::load;
      count_request(warp, row(instruction, &access, space, RequestKind::kLoad, width), before, places, lanes);
    }
    // Each CTA's shared memory is asked by itself.
    for (Mask left = lanes; left != 0;) {
      const uint64_t whose = addresses[std::countr_zero(left)] & kRemoteMask;
      Mask among = left;
      for (uint32_t l = 0; space == Space::kShared && l < kLanes; ++l) {
        if ((addresses[l] & kRemoteMask) != whose) among &= ~(Mask{1} << l);
      }
      Row& to = row(instruction, &access, space, kind, width);
      count_request(warp, to, request, places, among);
      if (left != lanes) --to.executed;  // it is one instruction
      left &= ~among;
    }
  }
}

analysis::Request Profile::request_of(Row& row, const analysis::Access& access, const int64_t* addresses, Mask mask) {
  const auto evaluated = [&] {
    const bool faults = analysis::first_fault(access, addresses, mask) >= 0;
    return faults ? analysis::Request{} : analysis::evaluate(access, addresses, mask);
  };
  if (mask != kAllLanes) return evaluated();
  Known& known = row.known[static_cast<uint64_t>(addresses[0] / access.width) % std::size(row.known)];
  const int64_t further = addresses[0] - known.places[0];
  int64_t differ = further & (kPeriod - 1);
  for (uint32_t l = 1; l < kLanes; ++l) differ |= addresses[l] - known.places[l] - further;
  if (known.request.lanes == 0 || known.op != access.op || differ != 0) {
    known.op = access.op;
    std::copy_n(addresses, kLanes, known.places);
    known.request = evaluated();
  }
  return known.request;
}

void Profile::count_request(const Warp& warp, Row& row, const analysis::Access& access, const int64_t* addresses,
                            Mask mask) {
  const analysis::Request request = request_of(row, access, addresses, mask);
  count(warp, row, request, {request.wavefronts, request.ideal_wavefronts}, addresses, mask);
}

// A request without lanes is one that faults, which costs nothing that is told here.
void Profile::count(const Warp& warp, ProfileRow& row, const analysis::Request& request,
                    const analysis::Counted& counted, const int64_t* addresses, Mask mask) {
  ++row.executed;
  const int lanes = std::popcount(mask);
  row.lanes += lanes;
  row.bytes += int64_t{lanes} * row.width;
  if (request.lanes == 0) return;
  add(row.total, request);
  add(row.counted, counted);
  const int64_t cost = row.space == Space::kGlobal ? request.sectors : request.wavefronts;
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
    add(to.counted, from.counted);
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
