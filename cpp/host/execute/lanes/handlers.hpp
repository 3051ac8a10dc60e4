// Which handler executes what; each family has a source file of its own.
#pragma once

#include <cmath>

#include "host/execute/code/code.hpp"

namespace tilewright::execute {

struct Cta;

// What arithmetic computes with. Smaller types are widened before and narrowed after.
enum class Kind : uint8_t { kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kF32, kF64 };

// arithmetic.cpp; null: there is none
Handler unary_handler(program::Opcode code, Kind kind);
Handler binary_handler(program::Opcode code, Kind kind);
Handler compare_handler(program::Opcode code, Kind kind);
Handler fma_handler(Kind kind);
Handler fma_rounded_to_odd_handler();  // of doubles that hold small floats
Handler select_handler(uint32_t bytes);
Handler wrap_handler(program::Scalar scalar);  // a Boolean or Int4 after arithmetic in 8 bits
Handler clamp_shift_handler(Kind kind);
Handler division_check_handler(Kind kind);
// Of sums, differences and products that have to fit.
Handler fit_check_handler(program::Opcode code, Kind kind);

// convert.cpp
Handler cast_handler(Kind from, Kind to);
Handler cast_to_boolean_handler(Kind from);
Handler cast_to_odd_handler(Kind from);                      // to a double that rounds on as the integer does
Handler widen_handler(program::Scalar from);                 // to f32
Handler narrow_handler(program::Scalar to, bool from_wide);  // from f32, or from f64
Handler float_bits_handler(program::Opcode code, program::Scalar scalar);  // neg and abs, of small floats

// vectors.cpp
Handler splat_handler(uint32_t bytes);
Handler copy_lanes_handler(bool masked, uint32_t bytes);  // all elements of a slot
Handler pack_handler(uint32_t bytes);
Handler extract_handler(uint32_t bytes, bool dynamic);
Handler insert_handler(uint32_t bytes, bool dynamic);
Handler shuffle_elements_handler(uint32_t bytes);
Handler bitcast_handler();
Handler prmt_handler();

// memory.cpp
Handler load_handler(bool checked);
Handler store_handler(bool checked);
Handler copy_handler(bool checked);
Handler async_copy_handler(bool checked);
// The lanes for which an instruction of a copy is executed.
Mask copied_lanes(const Warp& warp, const Instruction& instruction, uint32_t which);
Handler commit_handler();
Handler wait_handler();
// What some lanes copied before number `before` lands, and the mbarrier at a byte of shared memory tells of it.
void land_for_barrier(Warp& warp, Mask lanes, uint64_t before, uint32_t barrier);
Handler offset_handler(bool is_wide);
Handler frame_handler();

// multiply.cpp
Handler fma_tile_handler(const MemoryCode& memory, bool checked);

// matrices.cpp
Handler mma_handler(const MemoryCode& memory, bool checked);
Handler ldmatrix_handler(const MemoryCode& memory, bool checked);
Handler stmatrix_handler(const MemoryCode& memory, bool checked);

// wgmma.cpp
Handler wgmma_handler(const MemoryCode& memory, bool checked);
Handler wgmma_fence_handler();
Handler wgmma_commit_handler();
Handler wgmma_wait_handler();

// warpgroups.cpp
Handler set_max_register_handler();
// The warp comes to an instruction of its warpgroup: whether the others of it do.
void look_at_warpgroup(Warp& warp, const Instruction& i);
// All warps have come to their end: those that left some out are found.
void find_unfinished_warpgroups(Cta& cta);
void look_at_registers(Cta& cta);

// warps.cpp
Handler shuffle_sync_handler();
Handler vote_handler();
Handler match_handler();
Handler redux_handler();
Handler elect_handler();
Handler uniform_handler();
Handler sync_warp_handler();
Handler atomic_handler();

// sync.cpp
Handler sync_threads_handler();
Handler barrier_handler(bool waits);
Handler fence_handler();
Handler grid_wait_handler();
Handler nothing_handler();

// async/mbarriers.cpp
Handler mbarrier_init_handler();
Handler mbarrier_arrive_handler();
Handler mbarrier_wait_handler();
Handler async_arrive_handler();
Handler mbarrier_test_handler();
Handler cluster_arrive_handler(bool releases);
Handler cluster_wait_handler();

// async/bulk.cpp
Handler tma_load_handler();
Handler tma_store_handler();
Handler bulk_load_handler();
Handler bulk_store_handler();
Handler bulk_commit_handler();
Handler bulk_wait_handler(bool is_read);

// async/maps.cpp
Handler tensor_map_handler(program::Opcode code);

// control.cpp
Handler if_handler();
Handler else_handler();
Handler end_if_handler();
Handler for_test_handler(Kind kind);
Handler for_advance_handler(Kind kind);
Handler enter_handler();
Handler while_test_handler();
Handler jump_handler();
Handler end_handler();
Handler assert_handler();
Handler trap_handler();
Handler clock_handler();

// print.cpp
Handler print_handler();

}  // namespace tilewright::execute
