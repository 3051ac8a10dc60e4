"""Bare CUDA C++ of the algorithms that the examples have in Python: what a user would write by hand for each.

They are compiled by NVRTC through tilewright's runtime, which is told nothing but their text.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

import torch

from tilewright._core import cuda
from tilewright.runtime.compiler import compile_program, kernel

ADD = """
struct alignas(16) Vector { TYPE x[16 / sizeof(TYPE)]; };
extern "C" __global__ void __launch_bounds__(256) add(const TYPE* a, const TYPE* b, TYPE* c, int count) {
  constexpr int N = 16 / sizeof(TYPE);
  const long long i = (blockIdx.x * 256ll + threadIdx.x) * N;
  if (i + N <= count) {
    const Vector x = *reinterpret_cast<const Vector*>(a + i), y = *reinterpret_cast<const Vector*>(b + i);
    Vector z;
    for (int k = 0; k < N; ++k) z.x[k] = plus(x.x[k], y.x[k]);
    *reinterpret_cast<Vector*>(c + i) = z;
  } else {
    for (long long k = i; k < count; ++k) c[k] = plus(a[k], b[k]);
  }
}
"""

# Tiles of 32 x 32 elements through shared memory, padded by one.
TRANSPOSE = """
extern "C" __global__ void __launch_bounds__(256) transpose(const TYPE* src, TYPE* dst, int rows, int columns) {
  __shared__ TYPE tile[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    if (x < columns && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = src[(long long)(y + i) * columns + x];
  }
  __syncthreads();
  const int u = blockIdx.y * 32 + threadIdx.x, v = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    if (u < rows && v + i < columns) dst[(long long)(v + i) * rows + u] = tile[threadIdx.x][threadIdx.y + i];
  }
}
"""

# A block has a row; a thread reads COUNT times 16 bytes of it once and keeps them.
ROWS = """
template <class Op>
__device__ float reduced(float value, float* partial, Op op) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value = op(value, __shfl_xor_sync(~0u, value, mask));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = partial[lane % (THREADS / 32)];
#pragma unroll
  for (int mask = THREADS / 64; mask > 0; mask /= 2) value = op(value, __shfl_xor_sync(~0u, value, mask));
  return value;
}
__device__ float plus(float a, float b) { return a + b; }
__device__ float greater(float a, float b) { return fmaxf(a, b); }

extern "C" __global__ void __launch_bounds__(THREADS) rows(const uint4* src, uint4* dst, int columns) {
  __shared__ float partial[2][THREADS / 32];
  const long long begin = blockIdx.x * (long long)(columns / 8);
  uint4 kept[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; ++k) kept[k] = src[begin + k * THREADS + threadIdx.x];
  const auto each = [&](auto visit) {
#pragma unroll
    for (int k = 0; k < COUNT; ++k) {
      unsigned* words = reinterpret_cast<unsigned*>(&kept[k]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        asm volatile("" : "+r"(words[i]));  // else the compiler keeps the converted numbers from pass to pass
        visit(words[i]);
      }
    }
  };
  const auto low = [](unsigned word) { return __uint_as_float(word << 16); };
  const auto high = [](unsigned word) { return __uint_as_float(word & 0xffff0000u); };
  const auto sum = [&](auto term, float* at) {
    float total = 0;
    each([&](unsigned word) { total += term(low(word)) + term(high(word)); });
    return reduced(total, at, plus);
  };
  float a = 1, b = 0;  // the result is a x + b, or its power of two
#if OP == 0
  float largest = __uint_as_float(0xff800000u);
  each([&](unsigned word) { largest = fmaxf(largest, fmaxf(low(word), high(word))); });
  a = 1.4426950408889634f;
  b = -reduced(largest, partial[0], greater) * a;
  b -= log2f(sum([&](float x) { return exp2f(a * x + b); }, partial[1]));
#elif OP == 1
  a = rsqrtf(sum([](float x) { return x * x; }, partial[0]) / columns + 1e-6f);
#else
  const float mean = sum([](float x) { return x; }, partial[0]) / columns;
  a = rsqrtf(sum([&](float x) { return (x - mean) * (x - mean); }, partial[1]) / columns + 1e-5f);
  b = -mean * a;
#endif
  each([&](unsigned& word) {
    float x = a * low(word) + b, y = a * high(word) + b;
#if OP == 0
    x = exp2f(x);
    y = exp2f(y);
#endif
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
  });
#pragma unroll
  for (int k = 0; k < COUNT; ++k) dst[begin + k * THREADS + threadIdx.x] = kept[k];
}
"""

# Tiles of 128 x 128 x 8 by cp.async three stages ahead, 8 x 8 products a thread. A (M,K), B (N,K), N contiguous in B.
GEMM = """
constexpr int BM = 128, BN = 128, BK = 8, STAGES = 3;
__device__ void copy(float* to, const float* from, bool inside, int bytes) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int read = inside ? bytes : 0;
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(read));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(read));
  }
}
extern "C" __global__ void __launch_bounds__(256, 2) gemm(const float* a, const float* b, float* c, int M, int N,
                                                          int K) {
  __shared__ alignas(16) float sa[STAGES][BK][BM + 4], sb[STAGES][BK][BN];
  const int tid = threadIdx.x, m0 = blockIdx.x * BM, n0 = blockIdx.y * BN;
  const int am = tid / 8, ak = tid % 8, bn = tid % 32 * 4, bk = tid / 32;
  const auto load = [&](int tile, int stage) {
    const int k = tile * BK;
#pragma unroll
    for (int i = 0; i < BM; i += 32) {
      const bool inside = m0 + am + i < M && k + ak < K;
      copy(&sa[stage][ak][am + i], inside ? a + (long long)(m0 + am + i) * K + k + ak : a, inside, 4);
    }
    const bool inside = n0 + bn < N && k + bk < K;
    copy(&sb[stage][bk][bn], inside ? b + (long long)(k + bk) * N + n0 + bn : b, inside, 16);
    asm volatile("cp.async.commit_group;");
  };
  const int tm = tid % 16 * 4, tn = tid / 16 * 4, tiles = (K + BK - 1) / BK;
  float total[8][8] = {};
  for (int s = 0; s < STAGES - 1; ++s) load(s, s);
  for (int tile = 0; tile < tiles; ++tile) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();
    load(tile + STAGES - 1, (tile + STAGES - 1) % STAGES);
    const int stage = tile % STAGES;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float x[8], y[8];
#pragma unroll
      for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(&sa[stage][k][tm + i * 16]);
        *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(&sb[stage][k][tn + i * 16]);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) total[i][j] += x[i] * y[j];
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int m = m0 + tm + i % 4 + i / 4 * 64;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int n = n0 + tn + j % 4 + j / 4 * 64;
      if (m < M && n < N) c[(long long)m * N + n] = total[i][j];
    }
  }
}
"""

# Elements of 2 bytes are added as fp32 and rounded once, as torch does it.
PLUS = {
    torch.float32: "using Element = float;\n__device__ float plus(float a, float b) { return a + b; }",
    torch.bfloat16: """using Element = unsigned short;
__device__ Element plus(Element a, Element b) {
  unsigned short word;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(word) : "f"(__uint_as_float(a << 16) + __uint_as_float(b << 16)));
  return word;
}""",
}
OPS = ("softmax", "rms_norm", "layer_norm")


@functools.cache
def load(name: str, source: str, arch: str, parameters: tuple[int, ...]) -> cuda.Function | None:
    """A kernel with parameters of so many bytes each; None where there is no GPU: then it is compiled and no more."""
    program = compile_program(name, [name], arch, source=source)
    offsets = [8 * i for i in range(len(parameters))]
    return kernel(program, name, 0, offsets) if torch.cuda.is_available() else None


class Kernel:
    """A kernel of a source text: launched with tensors and integers, on torch's current stream."""

    def __init__(self, name: str, source: str, arch: str, pointers: int, integers: int) -> None:
        self.form = f"<{pointers}Q{'i4x' * (integers - 1)}{'i' * (integers > 0)}"
        self.function = load(name, source, arch, (8,) * pointers + (4,) * integers)

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], *arguments: torch.Tensor | int) -> None:
        words = [x.data_ptr() if isinstance(x, torch.Tensor) else x for x in arguments]
        stream = torch.cuda.current_stream().cuda_stream
        three = [(*x, 1, 1)[:3] for x in (grid, block)]
        self.function.launch(*three, 0, stream, struct.pack(self.form, *words))


def add(dtype: torch.dtype, arch: str) -> Callable[..., None]:
    made = Kernel("add", PLUS[dtype] + ADD.replace("TYPE", "Element"), arch, 3, 1)
    elements = 256 * 16 // dtype.itemsize
    return lambda a, b, c: made((-(-c.numel() // elements),), (256,), a, b, c, c.numel())


def transpose(dtype: torch.dtype, arch: str) -> Callable[..., None]:
    element = {2: "unsigned short", 4: "float"}[dtype.itemsize]
    made = Kernel("transpose", TRANSPOSE.replace("TYPE", element), arch, 2, 2)

    def call(src: torch.Tensor, dst: torch.Tensor) -> None:
        rows, columns = src.shape
        made((-(-columns // 32), -(-rows // 32)), (32, 8), src, dst, rows, columns)

    return call


def rows(name: str, columns: int, arch: str) -> Callable[..., None]:
    """Of bf16. As many threads as leave each 4 accesses or more, where there are enough."""
    vectors = columns // 8
    threads = next(t for t in (1024, 512, 256, 128, 64) if vectors % t == 0 and (vectors // t >= 4 or t == 64))
    head = f"#define OP {OPS.index(name)}\n#define THREADS {threads}\n#define COUNT {vectors // threads}\n"
    made = Kernel("rows", head + ROWS, arch, 2, 1)
    return lambda src, dst: made((src.shape[0],), (threads,), src, dst, columns)


def gemm(arch: str) -> Callable[..., None]:
    """Of fp32, A with K contiguous and B with N."""
    made = Kernel("gemm", GEMM, arch, 3, 3)

    def call(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        (m, k), n = a.shape, b.shape[0]
        made((-(-m // 128), -(-n // 128)), (256,), a, b, c, m, n, k)

    return call
