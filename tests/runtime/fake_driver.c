// A CUDA driver without a device: it answers as the real one would and writes down what it is asked.
//
// Built by tests/runtime/test_driver.py as libcuda.so.1 and put in front of the loader's path. Two devices; a call
// fails with the code that fake_fail(name, code) set for it, and the call of a number, counted from 1 and from
// fake_fail_call on, with the code that this set; it is named by fake_failed(). fake_quiet(1) ends the writing down,
// for many calls. FAKE_MISSING names a function that cuGetProcAddress does not find; FAKE_PARAMETER is the size of
// every kernel's parameter, 16 bytes unless it is set; FAKE_SLOW the one function, of cuInit and cuGetProcAddress, of
// which a call takes half a second. Launches of kernels that are not named "kernel" are written down with their names.
// Memory of a stream begins behind all that there is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[1 << 16];
static char failing[64];
static int failing_code;
static long contexts[2];  // the address of one is a context
static __thread void* stack[16];
static __thread int depth;
static int attributes[16] = {512, 1024, 64, 0, 40, 0, 0, 0, 48128};  // of the one function

const char* fake_log(void) { return text; }
void fake_clear(void) { text[0] = 0; }
void fake_fail(const char* name, int code) {
  snprintf(failing, sizeof failing, "%s", name);
  failing_code = code;
}

static long calls, failing_call;
static int failing_call_code, quiet;
static const char* failed = "";
static long launches;
long fake_calls(void) { return calls; }
long fake_launches(void) { return launches; }
const char* fake_failed(void) { return failed; }
void fake_quiet(int is_quiet) { quiet = is_quiet; }
void fake_fail_call(long number, int code) {
  calls = 0;
  failed = "";
  failing_call = number;
  failing_call_code = code;
}

// What a call returns.
static int result_of(const char* name) {
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == failing_call) return failed = name, failing_call_code;
  return strcmp(name, failing) == 0 ? failing_code : 0;
}
static int note(const char* name, const char* detail) {
  if (!quiet) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s%s\n", name, *detail ? " " : "", detail);
  }
  return result_of(name);
}

static void take_time(const char* name) {
  const char* slow = getenv("FAKE_SLOW");
  if (slow && strcmp(name, slow) == 0) usleep(500000);
}

static int cuInit(unsigned flags) { return (void)flags, take_time("cuInit"), note("cuInit", ""); }
static int cuDriverGetVersion(int* version) { return *version = 13000, note("cuDriverGetVersion", ""); }
static int cuGetErrorName(int error, const char** name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : error == 1 ? "CUDA_ERROR_INVALID_VALUE" : NULL;
  return *name ? 0 : 1;
}
static int cuGetErrorString(int error, const char** string) { return (void)error, *string = "an explanation", 0; }
static int cuDeviceGetCount(int* count) { return *count = 2, note("cuDeviceGetCount", ""); }
static int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, result_of("cuDeviceGet"); }
static int cuDeviceGetName(char* name, int length, int device) {
  snprintf(name, length, "fake %d", device);
  return result_of("cuDeviceGetName");
}
static int cuDeviceGetUuid(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = (unsigned char)(16 * device + i);
  return result_of("cuDeviceGetUuid");
}
static int cuDeviceTotalMem(size_t* bytes, int device) {
  return (void)device, *bytes = 1ull << 37, result_of("cuDeviceTotalMem");
}
static int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  const char* major = getenv("FAKE_MAJOR");
  *value = attribute == 75   ? (major != NULL ? atoi(major) : 9)
           : attribute == 76 ? 0
           : attribute == 97 ? 232448
                             : attribute;
  return result_of("cuDeviceGetAttribute");
}
static int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return note("cuDevicePrimaryCtxRetain", "");
}
static int cuCtxGetCurrent(void** context) {
  *context = depth ? stack[depth - 1] : NULL;
  return result_of("cuCtxGetCurrent");
}
static int cuCtxPushCurrent(void* context) {
  const int result = note("push", context == &contexts[0] ? "0" : context == &contexts[1] ? "1" : "another");
  if (result == 0) stack[depth++] = context;
  return result;
}
static int cuCtxPopCurrent(void** context) { return *context = stack[--depth], note("pop", ""); }
static int cuCtxSetCurrent(void* context) {
  depth = 0;
  stack[depth++] = context;
  return note("cuCtxSetCurrent", context == &contexts[0] ? "0" : "1");
}
static int cuCtxGetDevice(int* device) { return *device = depth && stack[depth - 1] == &contexts[1], 0; }
int fake_depth(void) { return depth; }
static int cuCtxSynchronize(void) { return note("cuCtxSynchronize", ""); }
static int cuThreadExchangeStreamCaptureMode(int* mode) {
  static __thread int current;
  const int old = current;
  current = *mode;
  *mode = old;
  return note("capture mode", current == 2 ? "relaxed" : "global");
}
static int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  char detail[64];
  snprintf(detail, sizeof detail, "%zu flags %u", bytes, flags);
  const int result = note("cuMemHostAlloc", detail);
  if (result == 0) *memory = malloc(bytes);
  return result;
}
static int cuMemFreeHost(void* memory) { return free(memory), note("cuMemFreeHost", ""); }
static int cuEventCreate(void** event, unsigned flags) {
  static char events;
  *event = &events;
  return note("cuEventCreate", flags == 2 ? "without timing" : "");
}
static int note_stream(const char* name, void* stream) {
  char detail[64];
  snprintf(detail, sizeof detail, "stream %zu", (size_t)stream);
  return note(name, detail);
}
static int cuEventRecord(void* event, void* stream) { return (void)event, note_stream("cuEventRecord", stream); }
static int cuEventDestroy(void* event) { return (void)event, note("cuEventDestroy", ""); }
static int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return (void)event, (void)flags, note_stream("cuStreamWaitEvent", stream);
}
static int cuStreamSynchronize(void* stream) { return note_stream("cuStreamSynchronize", stream); }
static int cuModuleLoadData(void** module, const void* image) {
  return *module = (void*)image, note("cuModuleLoadData", "");
}
static int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  return *function = strdup(name), note("cuModuleGetFunction", name);
}
static int cuLibraryLoadData(void** library, const void* code, void* a, void** b, unsigned c, void* d, void** e,
                             unsigned f) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  return *library = (void*)code, note("cuLibraryLoadData", memcmp(code, "\177ELF", 4) ? "no cubin" : "");
}
static int cuLibraryUnload(void* library) { return (void)library, note("cuLibraryUnload", ""); }
static int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  (void)library;
  return *kernel = strdup(name), note("cuLibraryGetKernel", name);
}
static int cuKernelSetAttribute(int attribute, int value, void* kernel, int device) {
  char detail[64];
  snprintf(detail, sizeof detail, "%d=%d of device %d", attribute, value, device);
  return (void)kernel, note("cuKernelSetAttribute", detail);
}
static int cuFuncGetAttribute(int* value, int attribute, void* function) {
  return (void)function, *value = attributes[attribute], result_of("cuFuncGetAttribute");
}
static int cuFuncSetAttribute(void* function, int attribute, int value) {
  char detail[64];
  attributes[attribute] = value;
  snprintf(detail, sizeof detail, "%d=%d", attribute, value);
  return (void)function, note("cuFuncSetAttribute", detail);
}
static int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
  const char* given = getenv("FAKE_PARAMETER");
  const char* place = getenv("FAKE_OFFSET");
  *size = given ? (size_t)atol(given) : 16;
  *offset = place ? (size_t)atol(place) : 0;
  const int result = result_of("cuFuncGetParamInfo");
  return (void)function, index == 0 ? result : 1;
}
static int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int block, size_t shared) {
  return (void)function, (void)shared, *blocks = 2048 / block, result_of("cuOccupancy");
}
static const char* of(const char* name) { return strcmp(name, "kernel") ? name : ""; }
// The first two words of the one parameter, or FAKE_PARAMETERS of them, a word each.
static const char* params_text(void** params) {
  static char text[400];
  const char* given = getenv("FAKE_PARAMETERS");
  unsigned long long word;
  int length = 0;
  for (int i = 0; i < (given ? atoi(given) : 2); ++i) {
    memcpy(&word, given ? params[i] : (char*)params[0] + 8 * i, sizeof word);
    length += snprintf(text + length, sizeof text - length, " %llu", word);
  }
  return text;
}
static int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void* stream, void** params, void** extra) {
  (void)extra;
  __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
  char detail[800];
  snprintf(detail, sizeof detail, "%s%s(%u,%u,%u) (%u,%u,%u) %u stream %zu params%s", of(function),
           *of(function) ? " " : "", gx, gy, gz, bx, by, bz, shared, (size_t)stream, params_text(params));
  return note("cuLaunchKernel", detail);
}

struct config {
  unsigned grid[3], block[3], shared;
  void* stream;
  const struct {
    int id, padding, value[16];
  }* attributes;
  unsigned count;
};
static int cuLaunchKernelEx(const struct config* c, void* function, void** params, void** extra) {
  (void)extra;
  __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
  char detail[800];
  int length = snprintf(detail, sizeof detail, "%s%s(%u,%u,%u) (%u,%u,%u) %u stream %zu params%s", of(function),
                        *of(function) ? " " : "", c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
                        c->block[2], c->shared, (size_t)c->stream, params_text(params));
  for (unsigned i = 0; i < c->count; ++i) {
    const int* value = c->attributes[i].value;
    length += snprintf(detail + length, sizeof detail - length, " attribute %d=%d", c->attributes[i].id, value[0]);
    if (c->attributes[i].id == 4) {
      length += snprintf(detail + length, sizeof detail - length, ",%d,%d", value[1], value[2]);
    }
    if (c->attributes[i].id == 7 ||
        c->attributes[i].id == 12) {  // an event, 8 bytes, its flags, whether at block start
      length += snprintf(detail + length, sizeof detail - length, ",%d,%d,%d", value[1], value[2], value[3]);
    }
  }
  snprintf(detail + length, sizeof detail - length, " of %u", c->count);
  return note("cuLaunchKernelEx", detail);
}
static unsigned long long allocated;
long fake_allocated(void) { return (long)allocated; }
static int cuMemAllocAsync(unsigned long long* memory, size_t bytes, void* stream) {
  char detail[64];
  snprintf(detail, sizeof detail, "%zu stream %zu", bytes, (size_t)stream);
  const int result = note("cuMemAllocAsync", detail);
  if (result == 0) *memory = 0xA000 + (allocated++ << 32);
  return result;
}
static int cuMemFreeAsync(unsigned long long memory, void* stream) {
  char detail[64];
  --allocated;
  snprintf(detail, sizeof detail, "%#llx stream %zu", memory, (size_t)stream);
  return note("cuMemFreeAsync", detail);
}
static int cuMemsetD8Async(unsigned long long memory, unsigned char value, size_t count, void* stream) {
  char detail[96];
  snprintf(detail, sizeof detail, "%#llx to %d, %zu stream %zu", memory, value, count, (size_t)stream);
  return note("cuMemsetD8Async", detail);
}
// Stream 9 is being captured, and 8 has no number.
// Addresses from 0xD0000 on are memory of device 1, those below are the CPU's, 0xBAD nobody knows.
static int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  if (address == 0xBAD || result_of("cuPointerGetAttribute") != 0) return 1;
  if (attribute != 2 && attribute != 9) return 1;
  *(int*)value = attribute == 2 ? (address >= 0xD0000 ? 2 : 1) : 1;
  return 0;
}
static int cuStreamIsCapturing(void* stream, int* status) {
  return *status = (size_t)stream == 9, result_of("cuStreamIsCapturing");
}
static int cuStreamGetId(void* stream, unsigned long long* id) {
  const int result = result_of("cuStreamGetId");
  return *id = 100 + (size_t)stream, (size_t)stream == 8 ? 1 : result;
}
// Every byte of the map is 0xEE, but the first word is the address, and the second one the number of the type.
static int cuTensorMapEncodeTiled(unsigned long long* map, int type, unsigned rank, void* address,
                                  const unsigned long long* shape, const unsigned long long* strides,
                                  const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                                  int promotion, int fill) {
  char detail[400];
  int used =
      snprintf(detail, sizeof detail, "type %d at %zu%s", type, (size_t)address, (size_t)map % 64 ? " MISALIGNED" : "");
  for (unsigned i = 0; i < rank; ++i) {
    used += snprintf(detail + used, sizeof detail - used, "; %llu box %u step %u", shape[i], box[i], steps[i]);
    if (i > 0) used += snprintf(detail + used, sizeof detail - used, " stride %llu", strides[i - 1]);
  }
  snprintf(detail + used, sizeof detail - used, "; interleave %d swizzle %d l2 %d fill %d", interleave, swizzle,
           promotion, fill);
  memset(map, 0xEE, 128);
  map[0] = (size_t)address;
  map[1] = (unsigned)type;
  return note("cuTensorMapEncodeTiled", detail);
}
static int cuTensorMapReplaceAddress(unsigned long long* map, void* address) {
  char detail[64];
  snprintf(detail, sizeof detail, "%llu to %zu%s", map[0], (size_t)address, (size_t)map % 64 ? " MISALIGNED" : "");
  map[0] = (size_t)address;
  return note("cuTensorMapReplaceAddress", detail);
}

int cuGetProcAddress_v2(const char* name, void** address, int version, unsigned long long flags, int* status) {
  static const struct {
    const char* name;
    void* address;
  } table[] = {
#define F(name) {#name, (void*)name}
      F(cuInit),
      F(cuDriverGetVersion),
      F(cuGetErrorName),
      F(cuGetErrorString),
      F(cuDeviceGetCount),
      F(cuDeviceGet),
      F(cuDeviceGetName),
      F(cuDeviceGetUuid),
      F(cuDeviceTotalMem),
      F(cuDeviceGetAttribute),
      F(cuDevicePrimaryCtxRetain),
      F(cuCtxGetCurrent),
      F(cuCtxPushCurrent),
      F(cuCtxPopCurrent),
      F(cuCtxSetCurrent),
      F(cuCtxGetDevice),
      F(cuCtxSynchronize),
      F(cuThreadExchangeStreamCaptureMode),
      F(cuMemHostAlloc),
      F(cuMemFreeHost),
      F(cuEventCreate),
      F(cuEventRecord),
      F(cuEventDestroy),
      F(cuStreamWaitEvent),
      F(cuStreamSynchronize),
      F(cuModuleLoadData),
      F(cuModuleGetFunction),
      F(cuLibraryLoadData),
      F(cuLibraryUnload),
      F(cuLibraryGetKernel),
      F(cuKernelSetAttribute),
      F(cuFuncGetAttribute),
      F(cuFuncSetAttribute),
      F(cuFuncGetParamInfo),
      F(cuOccupancyMaxActiveBlocksPerMultiprocessor),
      F(cuLaunchKernel),
      F(cuLaunchKernelEx),
      F(cuMemAllocAsync),
      F(cuMemFreeAsync),
      F(cuMemsetD8Async),
      F(cuPointerGetAttribute),
      F(cuStreamGetId),
      F(cuStreamIsCapturing),
      F(cuTensorMapEncodeTiled),
      F(cuTensorMapReplaceAddress),
  };
  (void)version, (void)flags;
  if (strcmp(name, "cuInit") == 0) take_time("cuGetProcAddress");
  const char* missing = getenv("FAKE_MISSING");
  *address = NULL;
  *status = 1;
  if (missing && strcmp(name, missing) == 0) return 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (strcmp(name, table[i].name) == 0) *address = table[i].address, *status = 0;
  }
  return 0;
}
