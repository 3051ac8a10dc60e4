#include "names.hpp"

namespace tilewright::program {

namespace {

// Words of C++, names of CUDA, of C's mathematics and of the device library that texts use.
constexpr std::string_view kReserved =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const "
    "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long main "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t "
    "while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize printf clock64 unix linux NULL isnan isinf "
    "signbit isfinite assert "
    "expf exp exp2f exp2 logf log log2f log2 log10f log10 sqrtf sqrt rsqrtf rsqrt sinf sin cosf cos tanf tan asinf "
    "asin acosf acos atanf atan tanhf tanh erff erf floorf floor ceilf ceil atan2f atan2 powf pow fmodf fmod fminf "
    "fmin fmaxf fmax fmaf fma fabsf fabs "
    "tilewright min max abs int8 int16 int64 uint8 uint16 uint32 uint64 Vec Half BFloat16 TFloat32 Float8E4M3 "
    "Float8E5M2 Float8E8M0 Float4E2M1 Int4 SubBytes vec put part swizzled swizzle to_float convert to_integer wrap4 "
    "multiply_add floor_div floor_mod divide remainder power shift_left shift_right magnitude shared_address "
    "global_address elect_one gather scatter is_nonzero to_bytes packed unpacked shared_pointer dynamic_smem_size "
    "to_odd_float atomic_add atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch atomic_cas fast_exp2 "
    "fast_sqrt fast_rsqrt fast_rcp fast_tanh alignment_of AtomicWord atomic_change atomic_combine kIsNarrow "
    "ToInteger ToNarrow Unsigned UnsignedOf converted joined negated permuted_bytes floored_quotient floored_remainder "
    "word "
    "sum_to_odd reduce_sync HalfByte hold moved matrix_descriptor TensorMap Barrier barrier_init barrier_wait "
    "barrier_arrive barrier_arrive_at barrier_arrive_by_copies tensor_map_copy tensor_map_publish tensor_map_acquire "
    "GlobalTensorMap SharedTensorMap changed_map "
    "barrier_expect barrier_expect_at barrier_expect_only barrier_expect_only_at barrier_try_wait barrier_test_wait ";

bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> found;
    for (std::size_t at = 0; at < kReserved.size();) {
      const std::size_t end = kReserved.find(' ', at);
      found.insert(kReserved.substr(at, end - at));
      at = end + 1;
    }
    return found;
  }();
  return words.count(name) != 0;
}

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string valid(std::string_view wanted) {
  std::string name;
  // Two underscores in a row belong to the compiler.
  for (const char c : wanted) {
    if (is_plain(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
  return name;
}

}  // namespace

std::string Names::unique(std::string_view wanted) {
  const std::string name = valid(wanted);
  std::string result = is_reserved(name) ? name + "_1" : name;
  for (int i = 2; !taken_.insert(result).second; ++i) result = name + "_" + std::to_string(i);
  return result;
}

}  // namespace tilewright::program
