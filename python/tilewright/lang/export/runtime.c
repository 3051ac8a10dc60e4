/* What exported functions share: the CUDA driver, found when a module is loaded, launches, errors. Every object has its
   own copy, so that any number of them link into one program. Generated text follows; see c_source.py. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TW __attribute__((unused)) static

typedef struct CUstream_st* CUstream;

/* ---- errors: the driver's numbers, and what they mean here ---- */

enum { TW_INVALID_VALUE = 1, TW_INVALID_CONTEXT = 201, TW_NOT_FOUND = 500 };

static _Thread_local char tw_message[1024];

TW int tw_fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(tw_message, sizeof tw_message, format, arguments);
  va_end(arguments);
  return code;
}

/* ---- numbers, as kernels compute them; y is not 0 ---- */

TW float tw_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
TW double tw_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
TW double tw_abs(double x) { return __builtin_fabs(x); }
TW int64_t tw_div(int64_t x, int64_t y) { return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
TW int64_t tw_rem(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }
TW int64_t tw_floor_div(int64_t x, int64_t y) {
  const int64_t rest = tw_rem(x, y);
  return tw_div(x, y) - (rest != 0 && (rest < 0) != (y < 0));
}
TW int64_t tw_floor_mod(int64_t x, int64_t y) {
  const int64_t rest = tw_rem(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
TW uint64_t tw_unsigned_div(uint64_t x, uint64_t y) { return x / y; }
TW uint64_t tw_unsigned_rem(uint64_t x, uint64_t y) { return x % y; }

/* ---- what a function was compiled for ---- */

TW int tw_aligned(const char* name, const void* address, uint64_t bytes) {
  if ((uintptr_t)address % bytes == 0) return 0;
  return tw_fail(TW_INVALID_VALUE,
                 "%s: the address %p is no multiple of %llu bytes, for which the function was compiled", name, address,
                 (unsigned long long)bytes);
}
TW int tw_divides(const char* name, int64_t value, int64_t divisor) {
  if (value % divisor == 0) return 0;
  return tw_fail(TW_INVALID_VALUE, "%s is %lld, but the function was compiled for multiples of %lld", name,
                 (long long)value, (long long)divisor);
}
TW int tw_fits(const char* name, int64_t value) {
  if (value == (int32_t)value) return 0;
  return tw_fail(TW_INVALID_VALUE, "%s is %lld, which has more than the 32 bits that the function was compiled for",
                 name, (long long)value);
}

/* ---- the driver ---- */

typedef struct {
  int id;
  union {
    char pad[64];
    int allowed;
    unsigned cluster[3];
    uint64_t aligned;
  } value;
} tw_attribute;

typedef struct {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  tw_attribute* attributes;
  unsigned count;
} tw_config;

/* What TMA copies: the driver makes it, and its bits are its own affair. */
typedef struct {
  uint64_t words[16];
} __attribute__((aligned(64))) tw_tensor_map;

static struct {
  int (*init)(unsigned);
  int (*error_string)(int, const char**);
  int (*current)(void**);
  int (*set_current)(void*);
  int (*device)(int*);
  int (*retain)(void**, int);
  int (*load)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned);
  int (*unload)(void*);
  int (*kernel)(void**, void*, const char*);
  int (*set_kernel)(int, int, void*, int);
  int (*launch)(const tw_config*, void*, void**, void**);
  int (*encode)(tw_tensor_map*, int, unsigned, void*, const uint64_t*, const uint64_t*, const unsigned*,
                const unsigned*, int, int, int, int);
} tw_driver;

TW int tw_check(int code, const char* call) {
  const char* text = "an unknown error";
  if (code == 0) return 0;
  if (tw_driver.error_string != 0) tw_driver.error_string(code, &text);
  return tw_fail(code, "%s: %s (error %d of the CUDA driver)", call, text, code);
}

/* Threads that do this at once write the same. */
TW int tw_open(void) {
  static int is_open;
  static const struct {
    const char* name;
    void* place;
  } functions[] = {
      {"cuGetErrorString", &tw_driver.error_string}, {"cuInit", &tw_driver.init},
      {"cuCtxGetCurrent", &tw_driver.current},       {"cuCtxSetCurrent", &tw_driver.set_current},
      {"cuCtxGetDevice", &tw_driver.device},         {"cuDevicePrimaryCtxRetain", &tw_driver.retain},
      {"cuLibraryLoadData", &tw_driver.load},        {"cuLibraryUnload", &tw_driver.unload},
      {"cuLibraryGetKernel", &tw_driver.kernel},     {"cuKernelSetAttribute", &tw_driver.set_kernel},
      {"cuLaunchKernelEx", &tw_driver.launch},       {"cuTensorMapEncodeTiled", &tw_driver.encode},
  };
  typedef int (*find_function)(const char*, void**, int, uint64_t, int*);
  void *library, *address;
  find_function find;
  int error, status;
  size_t i;
  if (__atomic_load_n(&is_open, __ATOMIC_ACQUIRE)) return 0;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == 0) return tw_fail(TW_NOT_FOUND, "there is no CUDA driver: %s", dlerror());
  address = dlsym(library, "cuGetProcAddress_v2");
  if (address == 0) return tw_fail(TW_NOT_FOUND, "the CUDA driver is older than 12.0; install a newer one");
  memcpy(&find, &address, sizeof find);
  for (i = 0; i < sizeof functions / sizeof *functions; ++i) {
    address = 0;
    if (find(functions[i].name, &address, 12000, 0, &status) != 0 || address == 0) {
      return tw_fail(TW_NOT_FOUND, "the CUDA driver has no %s; install one of CUDA 12.0 or newer", functions[i].name);
    }
    memcpy(functions[i].place, &address, sizeof address);
  }
  error = tw_check(tw_driver.init(0), "cuInit");
  if (error == 0) __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
  return error;
}

/* The thread's context, by default the one of the first device that CUDA's runtime uses. */
TW int tw_enter(void) {
  void* context = 0;
  int error = tw_check(tw_driver.current(&context), "cuCtxGetCurrent");
  if (error != 0 || context != 0) return error;
  error = tw_check(tw_driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
  return error != 0 ? error : tw_check(tw_driver.set_current(context), "cuCtxSetCurrent");
}

/* ---- kernels, by their number in the program; a host function has no name ---- */

typedef struct {
  const char* name;
  int64_t shared; /* bytes that it allocates */
  const unsigned char* code;
} tw_kernel;

TW void tw_unload(void** libraries, void** kernels, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    if (libraries[i] != 0) tw_driver.unload(libraries[i]);
    libraries[i] = kernels[i] = 0;
  }
}

TW int tw_load(const tw_kernel* table, void** libraries, void** kernels, int count) {
  int i, error = tw_open();
  memset(libraries, 0, (size_t)count * sizeof *libraries);
  memset(kernels, 0, (size_t)count * sizeof *kernels);
  if (error == 0) error = tw_enter();
  for (i = 0; error == 0 && i < count; ++i) {
    if (table[i].name == 0) continue;
    error = tw_check(tw_driver.load(&libraries[i], table[i].code, 0, 0, 0, 0, 0, 0), "cuLibraryLoadData");
    if (error != 0) libraries[i] = 0; /* whatever the driver left there */
    if (error == 0) error = tw_check(tw_driver.kernel(&kernels[i], libraries[i], table[i].name), "cuLibraryGetKernel");
  }
  if (error != 0 && tw_driver.unload != 0) tw_unload(libraries, kernels, count);
  return error;
}

/* sizes: the grid, the block and the cluster along x, y and z, and the dynamic shared memory asked for. */
TW int tw_launch(const tw_kernel* kernel, void* handle, const int64_t* sizes, int cooperative, int programmatic,
                 CUstream stream, void** arguments) {
  static const int64_t most[] = {0x7FFFFFFF, 65535, 65535, 1024, 1024, 64, 16, 16, 16};
  static const char* const words[] = {"grid", "block", "cluster"};
  const int64_t shared = sizes[9] > kernel->shared ? sizes[9] : kernel->shared;
  tw_attribute attributes[3];
  tw_config config;
  int i, device, error = 0;
  if (handle == 0) return tw_fail(TW_INVALID_VALUE, "the module is not loaded");
  for (i = 0; i < 9; ++i) {
    if (sizes[i] >= 1 && sizes[i] <= most[i]) continue;
    return tw_fail(TW_INVALID_VALUE, "launch of %s: %s has %lld along %c; it must be from 1 to %lld", kernel->name,
                   words[i / 3], (long long)sizes[i], "xyz"[i % 3], (long long)most[i]);
  }
  error = tw_enter();
  if (error == 0 && (shared > 48 * 1024 || sizes[6] * sizes[7] * sizes[8] > 8)) {
    error = tw_check(tw_driver.device(&device), "cuCtxGetDevice");
    if (error == 0 && shared > 48 * 1024) /* the most dynamic shared memory */
      error = tw_check(tw_driver.set_kernel(8, (int)shared, handle, device), "cuKernelSetAttribute");
    if (error == 0 && sizes[6] * sizes[7] * sizes[8] > 8) /* clusters of a size that is not portable */
      error = tw_check(tw_driver.set_kernel(14, 1, handle, device), "cuKernelSetAttribute");
  }
  if (error != 0) return error;
  memset(&config, 0, sizeof config);
  memset(attributes, 0, sizeof attributes);
  for (i = 0; i < 3; ++i) {
    config.grid[i] = (unsigned)sizes[i];
    config.block[i] = (unsigned)sizes[3 + i];
  }
  config.shared = (unsigned)shared;
  config.stream = stream;
  config.attributes = attributes;
  if (programmatic) {
    attributes[config.count].id = 6;
    attributes[config.count++].value.allowed = 1;
  }
  if (cooperative) {
    attributes[config.count].id = 2;
    attributes[config.count++].value.allowed = 1;
  }
  if (sizes[6] * sizes[7] * sizes[8] != 1) {
    attributes[config.count].id = 4;
    for (i = 0; i < 3; ++i) attributes[config.count].value.cluster[i] = (unsigned)sizes[6 + i];
    ++config.count;
  }
  error = tw_driver.launch(&config, handle, arguments, 0);
  return error == 0 ? 0 : tw_check(error, kernel->name);
}

/* ---- tensor maps ---- */

/* In the order of CUtensorMapDataType. */
enum {
  TW_uint8,
  TW_uint16,
  TW_uint32,
  TW_int32,
  TW_uint64,
  TW_int64,
  TW_float16,
  TW_float32,
  TW_float64,
  TW_bfloat16,
  TW_float32_ftz,
  TW_tfloat32,
  TW_tfloat32_ftz
};

/* The stride of one element is never taken. */
TW int64_t tw_map_stride(int64_t extent, int64_t bytes) {
  return extent != 1 ? bytes : bytes < 0 ? 0 : (bytes + 15) / 16 * 16;
}

/* Strides are in bytes, without the first one; swizzle is of 0, 32, 64 or 128 bytes. */
TW int tw_encode(tw_tensor_map* map, int type, unsigned modes, uint64_t address, const uint64_t* shape,
                 const uint64_t* strides, const unsigned* box, int swizzle) {
  static const unsigned steps[] = {1, 1, 1, 1, 1};
  const int pattern = swizzle / 32 - swizzle / 128; /* in the order of CUtensorMapSwizzle */
  const int zeros = 0, not_interleaved = 0, fetch_128_bytes = 2;
  int error;
  if (tw_driver.encode == 0) return tw_fail(TW_INVALID_VALUE, "the module is not loaded");
  if (address % 16 != 0) {
    return tw_fail(TW_INVALID_VALUE, "the address %p is no multiple of 16 bytes, as TMA needs it", (void*)address);
  }
  error = tw_enter();
  if (error != 0) return error;
  error = tw_driver.encode(map, type, modes, (void*)address, shape, strides, box, steps, not_interleaved, pattern,
                           fetch_128_bytes, zeros);
  return tw_check(error, "cuTensorMapEncodeTiled");
}
