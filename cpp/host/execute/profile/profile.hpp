// What a launch costs, operation by operation: requests to memory by the rules of analysis, lanes, branches, FLOPs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/async_totals.hpp"
#include "host/execute/machine.hpp"

namespace tilewright::execute {

// What a request does; of an asynchronous copy each of its two sides is one.
enum class RequestKind : uint8_t {
  kLoad,
  kStore,
  kAtomic,
  kAsync,
  kLdMatrix,
  kStMatrix,
  kBulkLoad,
  kBulkStore,
  kWgmma
};

std::string_view text_of(RequestKind kind);

// One kind of request of one operation, or (width 0) its execution as such.
struct ProfileRow {
  uint32_t place = 0;      // an index into Program::places
  uint32_t operation = 0;  // an index into Program::operations
  program::Space space = program::Space::kGeneric;
  RequestKind kind = RequestKind::kLoad;
  uint32_t width = 0;         // bytes of a lane
  int64_t executed = 0;       // by warps; of memory the requests
  int64_t lanes = 0;          // active ones, summed
  uint32_t element_bits = 0;  // of what the pointer points to
  std::string name;           // of the pointer, where there is one
  analysis::Request total;    // of all requests
  analysis::Counted counted;  // of shared memory: what Nsight Compute says of the instruction
  int64_t bytes = 0;          // that lanes asked for
  int64_t flops = 0;
  int64_t divergent = 0;  // of branches: those that lanes of one warp took differently
  // The request that cost most, and the first of those.
  int64_t worst = -1;
  uint64_t worst_cta = 0;
  uint32_t worst_warp = 0;
  Mask worst_mask = 0;
  std::array<int64_t, kLanes> worst_addresses{};
};

class Profile {
 public:
  // `only`: the warp that is counted; none: all.
  Profile(const Code& code, std::optional<WarpOfGrid> only);
  // Around the execution of an instruction.
  void before(Warp& warp, const Instruction& instruction);
  void after(const Warp& warp, const Instruction& instruction, Mask mask);
  // A copy in bulk: a request of one thread, by the sectors of global memory that it touches.
  void count_bulk(const Warp& warp, const Instruction& instruction, const std::vector<BulkPiece>& pieces, bool is_load);
  void merge(const Profile& other);
  std::vector<ProfileRow> rows() const;

 private:
  struct Key {
    uint32_t operation;
    program::Space space;
    RequestKind kind;
    uint32_t width;
    auto operator<=>(const Key&) const = default;
  };
  // What a request costs says what one costs that lies the same way some lines further.
  struct Known {
    analysis::Op op = analysis::Op::load;
    int64_t places[kLanes] = {};
    analysis::Request request;  // of no lanes: none is known
  };
  struct Row : ProfileRow {
    Known known[8];  // by where the first lane's element is
  };
  struct Facts {            // of an instruction
    bool is_first = false;  // of its operation
    bool is_memory = false;
    bool is_branch = false;
    int64_t flops = 0;      // of a lane
    uint32_t together = 1;  // elements that one instruction of a copy moves
    ProfileRow* executed = nullptr;
  };

  Row& row(const Instruction& instruction, const AccessCode* access, program::Space space, RequestKind kind,
           uint32_t width);
  void count_memory(Warp& warp, const Instruction& instruction, uint32_t together);
  void count_async(const Warp& warp, const Instruction& instruction, uint32_t first, Mask reads);
  // What a warpgroup's instructions read of shared memory, where that is known: in swizzles of 128 bytes.
  void count_wgmma(const Warp& warp, const Instruction& instruction);
  void count_matrices(const Warp& warp, const Instruction& instruction, const AccessCode& access, RequestKind kind);
  void count_access(const Warp& warp, const Instruction& instruction, const AccessCode& access, RequestKind kind,
                    uint32_t element, uint32_t width, Mask mask);
  static analysis::Request request_of(Row& row, const analysis::Access& access, const int64_t* addresses, Mask mask);
  static void count_request(const Warp& warp, Row& row, const analysis::Access& access, const int64_t* addresses,
                            Mask mask);
  static void count(const Warp& warp, ProfileRow& row, const analysis::Request& request,
                    const analysis::Counted& counted, const int64_t* addresses, Mask mask);

  bool is_counted(const Warp& warp) const;

  const Code* code_;
  std::optional<WarpOfGrid> only_;
  std::vector<Facts> facts_;
  std::map<Key, Row> rows_;
};

}  // namespace tilewright::execute
