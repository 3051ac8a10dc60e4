// A host function's launches: what its kernels are launched with, for the arguments of one call.
//
// Numbers are computed as kernels compute them. Pointers are followed from the argument they come from, so that the
// same launches serve other addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"

namespace tilewright::program {

struct Evaluated {
  uint64_t bits = 0;  // of a pointer: the bytes behind its argument's address, or the address where there is none
  int base = -1;      // of a pointer: the parameter of the host function that it comes from
  const Operation* unfit = nullptr;  // the sum or product of a layout that did not fit, on which it depends
};

// What TMA is told of a tensor; the fastest mode comes first.
struct MapOfTensor {
  Evaluated address;
  std::string element;           // as the driver's encoder names it
  int64_t bits = 8;              // of it
  std::vector<int64_t> shape;    // in elements
  std::vector<int64_t> strides;  // in bytes, of all modes but the first
  std::vector<int64_t> box;      // in elements
  int64_t swizzle = 0;           // bytes that it spans, 0 for none
};

// Limits of TMA, and what is said where a tensor is beyond them: the same on every device.
constexpr int64_t kMapAlignment = 16;  // of addresses and strides, in bytes
constexpr int64_t kMostMapExtent = int64_t{1} << 32, kMapStrideLimit = int64_t{1} << 40;
std::string beyond_map_extent(std::size_t mode, const std::string& extent);
std::string beyond_map_stride(std::size_t mode, const std::string& bytes);

struct Launched {
  std::size_t kernel = 0;  // an index into Program::functions
  int64_t grid[3], block[3], cluster[3];
  int64_t shared_bytes = 0;          // asked for; what the kernel's allocations need is in its Function
  std::vector<Evaluated> arguments;  // of a tensor map its index
  std::vector<MapOfTensor> maps;
  uint32_t place = 0;
  std::vector<int64_t> ints;  // of the operation: kernel, min_blocks_per_mp, cooperative, use_pdl
};

// A printf of the host function.
struct HostPrint {
  std::size_t launches = 0;  // before it
  std::string text;
  std::vector<Scalar> scalars;
  std::vector<uint64_t> values;
};

struct HostRun {
  std::vector<Launched> launches;
  std::vector<HostPrint> prints;
  std::vector<Evaluated> results;
};

// Whether a host function does what only a thread does: it touches memory, say, or computes with vectors. One that
// launches nothing is run as a thread then.
bool is_thread(const Program& program, std::size_t index);

// Runs function `index` with the patterns of its parameters. Raises ProgramError for what a host function cannot do
// here (it reads memory, say), and for a failed assertion or a division by zero, with its line.
HostRun evaluate(const Program& program, std::size_t index, const std::vector<uint64_t>& parameters);

}  // namespace tilewright::program
