"""ldmatrix, stmatrix and mma.sync as functions of the host, for cpu_lang: from the figures of the PTX manual.

All threads of the block have to take part. Sums are formed in order of k, in fp32.
"""

PTX = r"""
namespace ptx {
static unsigned published[1024][8];
static unsigned lane_of_warp() { return thread_number() % 32; }
static unsigned (*of_warp())[8] { return published + thread_number() / 32 * 32; }
// Row r of matrix j lies where lane 8 j + r says; a part is 4 bytes of a row, or 2 of two rows.
template <class Move>
static void each_part(int matrices, bool transposed, Move move) {
  const unsigned lane = lane_of_warp();
  for (int j = 0; j < matrices; ++j) {
    for (int half = 0; half < 2; ++half) {
      const unsigned row = transposed ? 2 * (lane % 4) + half : lane / 4;
      const unsigned element = transposed ? lane / 4 : 2 * (lane % 4) + half;
      move(j, half, shared_memory + of_warp()[8 * j + row][0] + 2 * element);
    }
  }
}
static void publish(int matrices, unsigned address) {
  misaligned += lane_of_warp() < 8u * matrices && address % 16 != 0;
  published[thread_number()][0] = address;
  __syncthreads();
}
template <bool transposed, class... Word>
static void load_matrices(unsigned address, Word&... word) {
  unsigned* const to[] = {&word...};
  publish(sizeof...(word), address);
  each_part(sizeof...(word), transposed, [&](int j, int half, const char* at) {
    std::memcpy(reinterpret_cast<char*>(to[j]) + 2 * half, at, 2);
  });
  __syncthreads();
}
template <bool transposed, class... Word>
static void store_matrices(unsigned address, Word... word) {
  const unsigned from[] = {word...};
  publish(sizeof...(word), address);
  each_part(sizeof...(word), transposed, [&](int j, int half, char* at) {
    std::memcpy(at, reinterpret_cast<const char*>(from + j) + 2 * half, 2);
  });
  __syncthreads();
}
#define MATRICES(name, transposed)                                                                                    \
  static void ldmatrix_sync_aligned_m8n8_x1##name(unsigned& a, unsigned at) { load_matrices<transposed>(at, a); }     \
  static void ldmatrix_sync_aligned_m8n8_x2##name(unsigned& a, unsigned& b, unsigned at) {                            \
    load_matrices<transposed>(at, a, b);                                                                              \
  }                                                                                                                   \
  static void ldmatrix_sync_aligned_m8n8_x4##name(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned at) {  \
    load_matrices<transposed>(at, a, b, c, d);                                                                        \
  }                                                                                                                   \
  static void stmatrix_sync_aligned_m8n8_x1##name(unsigned at, unsigned a) { store_matrices<transposed>(at, a); }     \
  static void stmatrix_sync_aligned_m8n8_x2##name(unsigned at, unsigned a, unsigned b) {                              \
    store_matrices<transposed>(at, a, b);                                                                             \
  }                                                                                                                   \
  static void stmatrix_sync_aligned_m8n8_x4##name(unsigned at, unsigned a, unsigned b, unsigned c, unsigned d) {      \
    store_matrices<transposed>(at, a, b, c, d);                                                                       \
  }
MATRICES(_shared_b16, false)
MATRICES(_trans_shared_b16, true)

static float of_bf16(unsigned short bits) { return __builtin_bit_cast(float, unsigned(bits) << 16); }
static float of_f16(unsigned short bits) { return __builtin_bit_cast(_Float16, bits); }
template <float (*number)(unsigned short)>
static void multiply(float* (&c)[4], const unsigned (&mine)[6]) {
  std::memcpy(published[thread_number()], mine, sizeof mine);
  __syncthreads();
  const unsigned lane = lane_of_warp();
  const auto element = [](unsigned lane, unsigned word, unsigned half) {
    return number(static_cast<unsigned short>(of_warp()[lane][word] >> 16 * half));
  };
  for (unsigned v = 0; v < 4; ++v) {
    const unsigned row = lane / 4 + 8 * (v / 2), column = 2 * (lane % 4) + v % 2;
    for (unsigned k = 0; k < 16; ++k) {
      const float a = element(row % 8 * 4 + k % 8 / 2, row / 8 + 2 * (k / 8), k % 2);
      const float b = element(column * 4 + k % 8 / 2, 4 + k / 8, k % 2);
      *c[v] += a * b;
    }
  }
  __syncthreads();
}
#define MMA(type)                                                                                                     \
  static void mma_sync_aligned_m16n8k16_row_col_f32_##type##_##type##_f32(                                            \
      float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,    \
      unsigned b1) {                                                                                                  \
    float* c[] = {&c0, &c1, &c2, &c3};                                                                                \
    multiply<of_##type>(c, {a0, a1, a2, a3, b0, b1});                                                                 \
  }
MMA(bf16)
MMA(f16)
}
"""
