// Which thread gets which values: thread t reads tensor(TV(t, v)) for every value v.
//
// TV comes composed with the tensor's layout, as a map from (thread, value) to an offset. `visualize_tv` writes down
// what each thread saw; `print_tv` prints it, thread after thread.
#pragma once

#include "tilewright/layout.cuh"

namespace tilewright {

// An element whose address is a multiple of kAlignment, which may be less than its size.
template <int kBytes, int kAlignment>
struct alignas(kAlignment) Bytes {
  unsigned char at[kBytes];
};

// An element of less than a byte, which may begin at any bit; the lowest bits of a byte come first.
template <int kBits>
struct Packed {};

// What a tensor's elements are read as. `first_bit`: where the first one begins in its byte.
template <class T>
struct Reader {
  using Result = T;
  __device__ static T read(const void* tensor, int64 offset, int) { return static_cast<const T*>(tensor)[offset]; }
};

template <int kBits>
struct Reader<Packed<kBits>> {
  using Result = unsigned char;
  __device__ static Result read(const void* tensor, int64 offset, int first_bit) {
    const int64 bit = offset * kBits + first_bit;
    const auto* byte = static_cast<const unsigned char*>(tensor) + (bit >> 3);
    const int shift = static_cast<int>(bit & 7);
    unsigned word = byte[0];
    if (shift + kBits > 8) word |= byte[1] << 8;
    return static_cast<Result>(word >> shift & ((1u << kBits) - 1));
  }
};

struct VisualizeTvParams {
  const void* tensor;
  void* seen;      // what thread t read as its value v, at t + v * threads
  int64* offsets;  // and where, in elements
  int threads;
  int values;
  int first_bit;
};

template <class Element, class ThreadValue>
__global__ void __launch_bounds__(1024) visualize_tv(const __grid_constant__ VisualizeTvParams params) {
  using Read = Reader<Element>;
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (t >= params.threads) return;
#pragma unroll 1
  for (int v = 0; v < params.values; ++v) {
    const int64 offset = ThreadValue{}(Coord<2>{t, v});
    const int64 at = t + static_cast<int64>(v) * params.threads;
    static_cast<typename Read::Result*>(params.seen)[at] = Read::read(params.tensor, offset, params.first_bit);
    params.offsets[at] = offset;
  }
}

// How the bits of an element are a number.
enum class Number { kSigned, kUnsigned, kBoolean, kFloat64, kFloat32, kTFloat32, kBFloat16, kFloat16, kTable };

template <class T>
__device__ unsigned long long to_bits(const T& element) {
  if constexpr (sizeof(T) == 1) {
    return __builtin_bit_cast(unsigned char, element);
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bit_cast(unsigned short, element);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(unsigned int, element);
  } else {
    return __builtin_bit_cast(unsigned long long, element);
  }
}

template <Number kNumber>
__device__ double to_double(unsigned long long bits, const double* table) {
  const auto word = static_cast<unsigned>(bits);
  if constexpr (kNumber == Number::kFloat64) {
    return __longlong_as_double(static_cast<long long>(bits));
  } else if constexpr (kNumber == Number::kFloat32) {
    return __uint_as_float(word);
  } else if constexpr (kNumber == Number::kTFloat32) {
    return __uint_as_float(word & ~0x1fffu);  // 10 bits of mantissa
  } else if constexpr (kNumber == Number::kBFloat16) {
    return __uint_as_float(word << 16);
  } else if constexpr (kNumber == Number::kFloat16) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(word)));
    return value;
  } else {
    return table[word];
  }
}

// As the host prints it.
template <Number kNumber, int kBits>
__device__ void print_number(unsigned long long bits, const double* table) {
  if constexpr (kNumber == Number::kSigned) {
    printf("%lld", static_cast<long long>(bits << (64 - kBits)) >> (64 - kBits));
  } else if constexpr (kNumber == Number::kUnsigned) {
    printf("%llu", bits);
  } else if constexpr (kNumber == Number::kBoolean) {
    printf("%d", bits != 0);
  } else {
    const double value = to_double<kNumber>(bits, table);
    if (value != value) {
      printf("nan");  // without a sign
    } else {
      printf("%f", value);
    }
  }
}

struct PrintTvParams {
  const void* tensor;
  const double* table;  // the number of each bit pattern, for Number::kTable
  const char* text;     // what a thread's tensor is, behind its pointer; or all of it, see kWithPointer
  int text_step;        // from one thread's text to the next one's; 0: all threads share one
  int first_thread;
  int threads;
  int values;
  int shown;  // values that are printed
  int first_bit;
};

// One CTA; its threads take turns, so that their lines do not mix. kWithPointer: a thread prints the address of its
// first element itself.
template <class Element, class ThreadValue, Number kNumber, int kBits, bool kWithPointer>
__global__ void __launch_bounds__(128) print_tv(const __grid_constant__ PrintTvParams params) {
  using Read = Reader<Element>;
  const int t = params.first_thread + static_cast<int>(threadIdx.x);
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (threadIdx.x == turn && t < params.threads) {
      const char* text = params.text + static_cast<int64>(t) * params.text_step;
      printf("TIDX: %d\n", t);
      if constexpr (kWithPointer) {
        const int64 first = ThreadValue{}(Coord<2>{t, 0}) * kBits + params.first_bit;
        printf("DATA: raw_ptr(0x%016llx: %s = \n", reinterpret_cast<unsigned long long>(params.tensor) + (first >> 3),
               text);
      } else {
        printf("DATA: %s = \n", text);
      }
      for (int v = 0; v < params.shown; ++v) {
        if (v == 0) {
          printf("  ( ");
        } else {
          printf(", ");
        }
        const int64 offset = ThreadValue{}(Coord<2>{t, v});
        print_number<kNumber, kBits>(to_bits(Read::read(params.tensor, offset, params.first_bit)), params.table);
      }
      if (params.shown < params.values) printf(", [...]");
      printf(" )\n");
    }
    __syncthreads();
  }
}

}  // namespace tilewright
