// The operations of a program. A row: C++ name, text, family, whether equal operations are one.
//
// Families (operands -> results; builder.cpp checks them and gives the result's type):
//   constant   -> number                    bits: the pattern
//   special    -> Int32                     ints[0]: the dimension 0..2 where there are three
//   unary      x -> x's type                (vectors element by element, as all arithmetic)
//   binary     x, y of one type -> that type; a scalar beside a vector is repeated
//   shift      x, y of integer types -> x's type
//   compare    x, y of one type -> Boolean of x's lanes
//   select     c, x, y -> x's type          both x and y are computed: no branch
//   fma        x, y, z of one float type
//   cast       x -> type=                   as C converts; floats saturate to integers, NaN becomes 0 (as the hardware
//   does) bitcast    x -> type=                   of equal size vector     see each row pointer    see each row memory
//   see each row; the accesses name the pointers control    see lang.md and builder.hpp
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::program {

enum class Family : uint8_t {
  kConstant,
  kSpecial,
  kUnary,
  kBinary,
  kShift,
  kCompare,
  kSelect,
  kFma,
  kCast,
  kVector,
  kPointer,
  kMemory,
  kWarp,
  kSync,
  kControl,
  kOther,
};

// clang-format off
#define TILEWRIGHT_OPCODES(X)                                                                                          \
  X(kConstant, "constant", kConstant, true)                                                                            \
  /* of a launch; Int32 */                                                                                             \
  X(kThreadIdx, "thread_idx", kSpecial, true)                                                                          \
  X(kBlockIdx, "block_idx", kSpecial, true)                                                                            \
  X(kBlockDim, "block_dim", kSpecial, true)                                                                            \
  X(kGridDim, "grid_dim", kSpecial, true)                                                                              \
  X(kLaneIdx, "lane_idx", kSpecial, true)                                                                              \
  X(kWarpIdx, "warp_idx", kSpecial, true)                                                                              \
  X(kClusterIdx, "cluster_idx", kSpecial, true)                                                                        \
  X(kClusterDim, "cluster_dim", kSpecial, true)                                                                        \
  X(kBlockInClusterIdx, "block_in_cluster_idx", kSpecial, true)                                                        \
  X(kBlockRankInCluster, "block_idx_in_cluster", kSpecial, true)                                                       \
  X(kDynamicSmemSize, "dynamic_smem_size", kSpecial, true)                                                             \
  /* arithmetic; integers wrap around */                                                                               \
  X(kNeg, "neg", kUnary, true)                                                                                         \
  X(kNot, "not", kUnary, true) /* of a Boolean: the other one; of an integer: all bits */                              \
  X(kAbs, "abs", kUnary, true)                                                                                         \
  X(kAdd, "add", kBinary, true) /* add, sub, mul: text kHasToFit, of a layout */                                       \
  X(kSub, "sub", kBinary, true)                                                                                        \
  X(kMul, "mul", kBinary, true)                                                                                        \
  X(kDiv, "div", kBinary, true) /* integers: towards zero */                                                           \
  X(kRem, "rem", kBinary, true) /* the sign of x; floats: C's fmod */                                                  \
  X(kFloorDiv, "floor_div", kBinary, true)                                                                             \
  X(kFloorMod, "floor_mod", kBinary, true) /* the sign of y, as Python's % */                                          \
  X(kPow, "pow", kBinary, true)                                                                                        \
  X(kMin, "min", kBinary, true) /* floats: C's fmin, a number where the other is NaN */                                \
  X(kMax, "max", kBinary, true)                                                                                        \
  X(kAnd, "and", kBinary, true)                                                                                        \
  X(kOr, "or", kBinary, true)                                                                                          \
  X(kXor, "xor", kBinary, true)                                                                                        \
  X(kShl, "shl", kShift, true)                                                                                         \
  X(kShr, "shr", kShift, true) /* of signed ones with the sign */                                                      \
  X(kEq, "eq", kCompare, true)                                                                                         \
  X(kNe, "ne", kCompare, true)                                                                                         \
  X(kLt, "lt", kCompare, true)                                                                                         \
  X(kLe, "le", kCompare, true)                                                                                         \
  X(kGt, "gt", kCompare, true)                                                                                         \
  X(kGe, "ge", kCompare, true)                                                                                         \
  X(kSelect, "select", kSelect, true)                                                                                  \
  X(kFma, "fma", kFma, true)                                                                                           \
  X(kCast, "cast", kCast, true)                                                                                        \
  X(kBitcast, "bitcast", kCast, true)                                                                                  \
  /* floating-point functions; ints[0] = 1: fastmath (the hardware's approximation) */                                 \
  X(kExp, "exp", kUnary, true)                                                                                         \
  X(kExp2, "exp2", kUnary, true)                                                                                       \
  X(kLog, "log", kUnary, true)                                                                                         \
  X(kLog2, "log2", kUnary, true)                                                                                       \
  X(kLog10, "log10", kUnary, true)                                                                                     \
  X(kSqrt, "sqrt", kUnary, true)                                                                                       \
  X(kRsqrt, "rsqrt", kUnary, true)                                                                                     \
  X(kRcp, "rcp", kUnary, true)                                                                                         \
  X(kSin, "sin", kUnary, true)                                                                                         \
  X(kCos, "cos", kUnary, true)                                                                                         \
  X(kTan, "tan", kUnary, true)                                                                                         \
  X(kAsin, "asin", kUnary, true)                                                                                       \
  X(kAcos, "acos", kUnary, true)                                                                                       \
  X(kAtan, "atan", kUnary, true)                                                                                       \
  X(kTanh, "tanh", kUnary, true)                                                                                       \
  X(kErf, "erf", kUnary, true)                                                                                         \
  X(kFloor, "floor", kUnary, true)                                                                                     \
  X(kCeil, "ceil", kUnary, true)                                                                                       \
  X(kAtan2, "atan2", kBinary, true)                                                                                    \
  X(kPopc, "popc", kUnary, true)                                                                                       \
  X(kPrmt, "prmt", kOther, true) /* Uint32 a, b, selector -> Uint32 */                                                 \
  /* vectors */                                                                                                        \
  X(kSplat, "splat", kVector, true)     /* scalar -> type= */                                                          \
  X(kPack, "pack", kVector, true)       /* n scalars of one type -> vector of n */                                     \
  X(kExtract, "extract", kVector, true) /* vector; ints[0]: which; or vector, Int32 index -> scalar */                 \
  X(kInsert, "insert", kVector, true)   /* vector, scalar; ints[0]: which; or vector, scalar, Int32 index */           \
  X(kShuffle, "shuffle", kVector, true) /* vector; ints: of each element of the result which it is */                  \
  X(kReduce, "reduce", kVector, true)   /* vector, init scalar or vector of the groups; text: add, mul, min, max;      \
                                           ints: of each element the group of the result; in order of elements */      \
  /* pointers */                                                                                                       \
  X(kFrame, "frame", kPointer, false)   /* -> rmem pointer type=; ints: elements, the alignment in bytes */            \
  X(kShared, "shared", kPointer, true)  /* -> smem pointer type=; ints: byte offset in the CTA's shared memory, bytes */\
  X(kOffset, "offset", kPointer, true)  /* pointer, Int32 or Int64 in elements -> type= (its alignment) */             \
  X(kRecast, "recast", kPointer, true)  /* pointer -> type=: another scalar, space, alignment or swizzle; ints: there  \
                                           if it may reach beyond the allocation that it comes from */                 \
  X(kMapa, "mapa", kPointer, true)      /* pointer to shared memory, Int32 rank of a CTA in the cluster -> type=: the   \
                                           same place there, generic */                                                \
  X(kAddress, "address", kPointer, true)    /* pointer -> Int64 */                                                     \
  X(kToPointer, "to_pointer", kPointer, true) /* Int64 -> type= */                                                     \
  /* memory: accesses[i] are layouts over pointers; vectors are in their order */                                      \
  X(kLoad, "load", kMemory, false)      /* accesses: from; -> number, a vector where it has more than one element */   \
  X(kStore, "store", kMemory, false)    /* number; accesses: to */                                                     \
  X(kFill, "fill", kMemory, false)      /* scalar; accesses: to */                                                     \
  X(kCopy, "copy", kMemory, false)      /* accesses: from, to, [predicate]; ints: bits of one instruction, the         \
                                           elements of one, cache modifier; text: "" or "cp.async". The predicate has  \
                                           a Boolean for every instruction; where it is false nothing is done, but    \
                                           cp.async writes zeros. cp.async lands when a wait allows it. */             \
  X(kFmaTile, "fma_tile", kMemory, false) /* accesses: d, a, b, c; ints: V, M, N, K. d[v,m,n] = c[v,m,n] + the sum    \
                                            over k, in order, of a[v,m,k] * b[v,n,k], each an fma of d's type */       \
  X(kMma, "mma", kMemory, false)        /* accesses: d, a, b, c in registers; ints: the instruction's M, N, K, how many \
                                           there are along each of them, its least architecture; text: its name in PTX. \
                                           d[v,m,n] = c[v,m,n] + the sums over k of a[v,m,k] by b[v,n,k], a warp's     \
                                           instruction for each m, n and k, those of k in order */                     \
  X(kLdMatrix, "ldmatrix", kMemory, false) /* accesses: from shared memory, to registers; ints: matrices of one        \
                                           instruction, whether they are transposed. Of each instruction the first is  \
                                           a row of 16 bytes, whose address lane 8 j + r gives for row r of matrix j;  \
                                           the second has 4 bytes of each matrix */                                    \
  X(kStMatrix, "stmatrix", kMemory, false) /* accesses: from registers, to shared memory; the same the other way */    \
  X(kWgmma, "wgmma", kMemory, false)    /* Boolean; accesses: d in registers, where a and b begin in shared memory, or a\
                                           in registers; ints and meaning: program/wgmma.hpp; text: its name in PTX */ \
  X(kWgmmaFence, "wgmma_fence", kSync, false)                                                                          \
  X(kWgmmaCommit, "wgmma_commit_group", kSync, false)                                                                  \
  X(kWgmmaWait, "wgmma_wait_group", kSync, false) /* ints[0]: groups that may be under way */                          \
  X(kSetMaxRegister, "setmaxregister", kSync, false) /* ints[0]: registers of a thread; text: inc, dec */              \
  X(kAtomic, "atomic", kMemory, false)  /* value [, compare]; accesses: at (one element); text: add, min, max, and,    \
                                           or, xor, exch, cas; ints: order and scope; -> the old value */              \
  X(kCpAsyncCommit, "cp_async_commit_group", kSync, false)                                                             \
  X(kCpAsyncWait, "cp_async_wait_group", kSync, false) /* ints[0]: groups that may be under way */                     \
  /* between threads */                                                                                                \
  X(kSyncThreads, "sync_threads", kSync, false)                                                                        \
  X(kBarrier, "barrier", kSync, false)        /* id [, threads] (Int32): named barrier, arrive and wait */             \
  X(kBarrierArrive, "barrier_arrive", kSync, false) /* id, threads */                                                  \
  X(kSyncWarp, "sync_warp", kSync, false)     /* [mask] */                                                             \
  X(kFence, "fence", kSync, false)            /* text: acq_rel.cta, .gpu, .sys, proxy.async ... */                     \
  X(kShuffleSync, "shuffle_sync", kWarp, false) /* value, Int32 lane or offset, Int32 mask; text: idx, up, down, bfly; \
                                                   ints[0]: mask_and_clamp */                                          \
  X(kVote, "vote", kWarp, false)              /* Boolean, Int32 mask; text: ballot, any, all, uni */                   \
  X(kMatch, "match", kWarp, false)            /* value, mask; text: any, all */                                        \
  X(kReduxSync, "redux_sync", kWarp, false)   /* value, mask; text: add, min, max, and, or, xor */                     \
  X(kElectOne, "elect_one", kWarp, false)     /* -> Boolean */                                                         \
  X(kUniform, "make_warp_uniform", kWarp, false) /* x -> lane 0's x */                                                 \
  /* mbarriers: accesses[0] is the barrier, 8 bytes of shared memory. A phase is complete when all its arrivals and    \
     bytes have come. */                                                                                               \
  X(kMbarrierInit, "mbarrier_init", kSync, false) /* Int32 arrivals of each phase */                                   \
  X(kMbarrierArrive, "mbarrier_arrive", kSync, false) /* Int32 bytes that are expected [, Int32 rank of the CTA in the \
                                                         cluster]; ints: arrivals, whether bytes are expected */       \
  X(kMbarrierWait, "mbarrier_wait", kSync, false) /* Int32 parity of the phase that is to be complete */               \
  X(kMbarrierTest, "mbarrier_test", kWarp, false) /* Int32 parity [, Boolean condition] -> Boolean, true where the     \
                                                     condition is not; text: try_wait, test_wait */                    \
  X(kCpAsyncArrive, "cp_async_mbarrier_arrive", kSync, false) /* an arrival when this thread's cp.async so far have    \
                                                                 landed; ints[0]: whether the barrier's count has it */ \
  X(kClusterArrive, "cluster_arrive", kSync, false) /* text: release, relaxed */                                       \
  X(kClusterWait, "cluster_wait", kSync, false)                                                                        \
  /* asynchronous copies in bulk, which one thread of the warp asks for */                                             \
  X(kTmaLoad, "tma_load", kSync, false) /* tensor map, or a pointer to one in global memory, Int32 coordinates, [Int32 \
                                           mask of CTAs], [Boolean: whether this thread asks]; accesses: to shared     \
                                           memory, the mbarrier; ints: bytes (0: what the tensor map says), whether    \
                                           there is a mask, whether there is a Boolean */                              \
  X(kTmaStore, "tma_store", kSync, false) /* tensor map or pointer, Int32 coordinates; accesses: from shared memory;   \
                                             ints: bytes; text: "", or add, min, max, and, or, xor of what is there */ \
  X(kTmaPrefetch, "tma_prefetch", kSync, false) /* tensor map */                                                       \
  /* tensor maps in memory, 128 bytes each. The release of a change is the fence proxy.tensormap::generic.release.gpu */ \
  X(kMapCopy, "copy_tensormap", kSync, false) /* tensor map; accesses: to global or shared memory */                   \
  X(kMapReplace, "update_tma_descriptor", kSync, false) /* pointer, then the extents and all strides in elements, the  \
                                                           fastest mode first (Int64); accesses: the tensor map;       \
                                                           ints: modes. One thread of the warp does it */              \
  X(kMapPublish, "cp_fence_tma_desc_release", kSync, false) /* accesses: to global, from shared memory; and a release */ \
  X(kMapAcquire, "fence_tma_desc_acquire", kSync, false) /* accesses: the tensor map, in global memory */              \
  X(kBulkLoad, "bulk_load", kSync, false)   /* accesses: from global, to shared memory, the mbarrier; ints: bytes */   \
  X(kBulkStore, "bulk_store", kSync, false) /* accesses: from shared, to global memory; ints: bytes */                 \
  X(kBulkCommit, "cp_async_bulk_commit_group", kSync, false)                                                           \
  X(kBulkWait, "cp_async_bulk_wait_group", kSync, false) /* ints: groups that may be under way; whether it is enough   \
                                                            that their reads have ended */                             \
  X(kGridDependency, "griddepcontrol", kSync, false) /* text: wait, launch_dependents */                               \
  X(kClock, "clock", kOther, false)           /* -> Int64; text: clock64, globaltimer */                               \
  /* control; see builder.hpp */                                                                                       \
  X(kIf, "if", kControl, false)                                                                                        \
  X(kFor, "for", kControl, false)                                                                                      \
  X(kWhile, "while", kControl, false)                                                                                  \
  X(kAssert, "assert", kOther, false)         /* Boolean; text: message */                                             \
  X(kPrintf, "printf", kOther, false)         /* numbers and pointers; text: the format, `{}` for each */              \
  X(kInlineAsm, "inline_asm", kOther, false)  /* operands; text: the PTX, a newline, the constraints; ints[0]: side    \
                                                 effects; types= of the results */                                     \
  X(kTrap, "trap", kOther, false)                                                                                      \
  X(kTensorMap, "tensor_map", kOther, false)  /* host: pointer, then the extents and all strides but the first one in  \
                                                 elements, the fastest mode first (Int32 or Int64); ints: modes, bytes \
                                                 of the swizzle, the box; text: the element type; -> a tensor map */   \
  /* host: kernel ints[0] with grid xyz, block xyz, cluster xyz, dynamic shared bytes (Int32), then its arguments;     \
     ints: kernel, min_blocks_per_mp, cooperative, use_pdl; text: name of the stream parameter or "" */                \
  X(kLaunch, "launch", kOther, false)
// clang-format on

// The text of a sum or product that has to fit its type: extents and offsets of a layout do not wrap around.
inline constexpr std::string_view kHasToFit = "fits";

enum class Opcode : uint8_t {
#define TILEWRIGHT_OPCODE(name, text, family, pure) name,
  TILEWRIGHT_OPCODES(TILEWRIGHT_OPCODE)
#undef TILEWRIGHT_OPCODE
};

struct OpcodeFacts {
  std::string_view text;
  Family family;
  bool pure;  // no effect and no cause but its operands
};
const OpcodeFacts& facts(Opcode code);
Opcode opcode_of(std::string_view text);

}  // namespace tilewright::program
