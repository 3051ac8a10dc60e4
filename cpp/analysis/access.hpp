// One memory instruction of one warp: what it costs, from the byte address of each lane.
//
//     global   sectors      aligned 32-byte pieces of memory that are touched; lines: pieces of 128 bytes
//     shared   wavefronts   cycles of the data stage: it gives one 4-byte word of each of the 32 banks at a time
//
// The lanes of an access of w bytes to shared memory are served in passes of at most 128 bytes:
//
//     w      1  2  4    8      16       ldmatrix, stmatrix
//     lanes  32 32 32   16 16  8 8 8 8  8 rows for each matrix
//
// and a pass takes as many wavefronts as there are different words in its fullest bank. A word that many lanes want is
// given to all of them at once. For example, 32 lanes that are 8 bytes apart read 4 bytes each: lanes 0 and 16 want the
// words 0 and 32, both of bank 0, so 2 wavefronts. Each rule is one function in rules.hpp, with its source.
#pragma once

#include <cstdint>

namespace tilewright::analysis {

inline constexpr int kWarp = 32;       // lanes
inline constexpr int kBanks = 32;      // of shared memory
inline constexpr int kWord = 4;        // bytes of a bank
inline constexpr int kSector = 32;     // bytes
inline constexpr int kLine = 128;      // bytes, of a tag of the cache
inline constexpr int kMatrixRow = 16;  // bytes of a row of ldmatrix and stmatrix
inline constexpr int kMatrixRows = 8;

enum class Memory { global, shared };
enum class Op { load, store, cp_async, ldmatrix, stmatrix };

// The kind of an access. `width`: bytes of a lane, 1, 2, 4, 8 or 16; `matrices`: 1, 2 or 4 for ldmatrix and stmatrix.
struct Access {
  Memory memory = Memory::global;
  Op op = Op::load;
  int width = 4;
  int matrices = 0;

  bool of_matrices() const { return op == Op::ldmatrix || op == Op::stmatrix; }
};

// What an access of one warp costs.
struct Request {
  int64_t lanes = 0;
  int64_t sectors = 0;
  int64_t ideal_sectors = 0;
  int64_t lines = 0;
  int64_t wavefronts = 0;
  int64_t ideal_wavefronts = 0;
  int64_t useful_bytes = 0;
  int64_t alone = 0;  // of a cp.async through L1: the wavefronts that the conflicts of its worse side take alone
};

// The first active lane whose address is no multiple of the width, and so faults; -1: none.
int first_fault(const Access& access, const int64_t* addresses, uint32_t active);

// `addresses`: those of the lanes, read where `active` has a bit; of matrices those of their rows, in order. No lane
// faults.
Request evaluate(const Access& access, const int64_t* addresses, uint32_t active);

// The wavefronts alone, of an access to shared memory.
int64_t wavefronts(const Access& access, const int64_t* addresses, uint32_t active);

}  // namespace tilewright::analysis
