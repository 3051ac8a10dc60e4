// One access of 1 to 16 bytes: elements that lie next to each other, moved by one instruction.
//
// The instructions are spelled out: from an assignment of 16 bytes that were put together element by element, the
// compiler makes several narrower ones.
#pragma once

namespace tilewright {

template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using type = unsigned char;
};
template <>
struct Word<2> {
  using type = unsigned short;
};
template <>
struct Word<4> {
  using type = unsigned int;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

// An element of a tensor as a copy sees it: kBytes bytes that mean nothing.
template <int kBytes>
using Element = typename Word<kBytes>::type;

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T at[kCount];
};

// What is copied is not used again: it may leave the caches first (.cs).
template <class T, int kCount>
__device__ Vector<T, kCount> load_global(const T* from) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  return __builtin_bit_cast(Vector<T, kCount>, __ldcs(reinterpret_cast<const Access*>(from)));
}

template <class T, int kCount>
__device__ void store_global(T* to, const Vector<T, kCount>& vector) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  const auto word = __builtin_bit_cast(Access, vector);
  if constexpr (sizeof(Access) == 16) {
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(word.x),
                 "r"(word.y), "r"(word.z), "r"(word.w)
                 : "memory");
  } else if constexpr (sizeof(Access) == 8) {
    asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    *reinterpret_cast<Access*>(to) = word;
  }
}

// The elements of an access whose bit is set: all of them at once, or one by one.
template <class T, int kCount>
__device__ void store_inside(T* to, const Vector<T, kCount>& vector, unsigned inside) {
  if (inside == (1u << kCount) - 1) {
    store_global(to, vector);
  } else if constexpr (kCount > 1) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (inside >> j & 1) to[j] = vector.at[j];
    }
  }
}

// The same for what is used again.
template <class T, int kCount>
__device__ Vector<T, kCount> load_cached(const T* from) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  return __builtin_bit_cast(Vector<T, kCount>, *reinterpret_cast<const Access*>(from));
}

template <class T, int kCount>
__device__ Vector<T, kCount> load_shared(const T* from) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  return __builtin_bit_cast(Vector<T, kCount>, *reinterpret_cast<const Access*>(from));
}

template <class T, int kCount>
__device__ void store_shared(T* to, const Vector<T, kCount>& vector) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  const auto word = __builtin_bit_cast(Access, vector);
  if constexpr (sizeof(Access) == 16) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
                 : "memory");
  } else if constexpr (sizeof(Access) == 8) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    *reinterpret_cast<Access*>(to) = word;
  }
}

// Bytes from any address, 4, 8 or 16: the two aligned accesses that hold them, to be shifted into each other. The
// neighbouring thread has one of the two as well, so that the memory is read once.
template <int kBytes>
struct UnalignedWords {
  using Access = typename Word<kBytes>::type;
  struct Both {
    Access a, b;
  };
  static constexpr int kWords = kBytes / 4;
  Both both;
  unsigned gap;

  __device__ void load(const void* from) {
    const auto address = reinterpret_cast<unsigned long long>(from);
    gap = address & (kBytes - 1);
    const auto* aligned = reinterpret_cast<const Access*>(address - gap);
    both.a = __ldca(aligned);
    both.b = __ldca(aligned + (gap != 0));
  }

  template <class T, int kCount>
  __device__ Vector<T, kCount> joined() const {
    auto word = __builtin_bit_cast(Vector<unsigned, 2 * kWords>, both);
    if constexpr (kWords == 4) {
#pragma unroll
      for (int i = 0; i < 6; ++i) word.at[i] = gap & 8 ? word.at[i + 2] : word.at[i];
    }
    if constexpr (kWords >= 2) {
#pragma unroll
      for (int i = 0; i <= kWords; ++i) word.at[i] = gap & 4 ? word.at[i + 1] : word.at[i];
    }
    Vector<unsigned, kWords> result;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      result.at[i] = __funnelshift_r(word.at[i], word.at[i + 1], gap * 8);  // by gap * 8 modulo 32
    }
    return __builtin_bit_cast(Vector<T, kCount>, result);
  }
};

template <>
struct UnalignedWords<0> {};

// Whether that stays within memory that is known to exist.
template <int kBytes>
__device__ bool surrounded(const void* from, const void* begin, const void* end) {
  const auto address = reinterpret_cast<unsigned long long>(from);
  const auto first = address & ~(kBytes - 1ull);
  const auto last = first + (first == address ? kBytes : 2 * kBytes);
  return first >= reinterpret_cast<unsigned long long>(begin) && last <= reinterpret_cast<unsigned long long>(end);
}

}  // namespace tilewright
