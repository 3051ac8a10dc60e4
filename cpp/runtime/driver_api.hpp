// The part of the CUDA driver's C interface that is used here, declared anew: nothing of CUDA is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime {

using DriverResult = int;  // 0: success
using Device = int;
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
using Context = ContextTag*;
using ModuleHandle = ModuleTag*;
using FunctionHandle = FunctionTag*;
using Stream = StreamTag*;  // nullptr and 1: the legacy default stream, 2: the default stream of the thread
using Event = EventTag*;

struct Uuid {
  unsigned char bytes[16];
};

enum DeviceAttribute : int {
  kClockKhz = 13,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedPerBlockOptin = 97,
};

enum FunctionAttribute : int {
  kMaxThreads = 0,
  kStaticShared = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicShared = 8,
  kNonportableClusterAllowed = 14,
};

enum CaptureMode : int { kCaptureRelaxed = 2 };

enum LaunchAttributeId : int {
  kCooperative = 2,
  kClusterDimension = 4,
  kProgrammaticStreamSerialization = 6,
  kProgrammaticEvent = 7,
  kLaunchCompletionEvent = 12,
};

enum PointerAttribute : int { kMemoryType = 2, kDeviceOrdinal = 9 };
enum MemoryType : unsigned { kDeviceMemory = 2 };

struct LaunchAttribute {
  LaunchAttributeId id;
  alignas(8) union {
    char pad[64];
    int allowed;          // of kProgrammaticStreamSerialization and kCooperative
    unsigned cluster[3];  // of kClusterDimension
    struct {
      Event event;
      int flags;
      int at_block_start;  // kProgrammaticEvent only
    } event;               // of kProgrammaticEvent and kLaunchCompletionEvent
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned dynamic_shared;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// Which part of a tensor the copy engine of Hopper (TMA) moves, and how: a kernel reads it, only the driver writes it.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

using DeviceAddress = unsigned long long;

// X(name, CUDA version whose interface of it is meant, parameters)
#define TILEWRIGHT_DRIVER_FUNCTIONS(X)                                                                               \
  X(cuInit, 2000, (unsigned flags))                                                                                  \
  X(cuDriverGetVersion, 2020, (int* version))                                                                        \
  X(cuGetErrorName, 6000, (DriverResult error, const char** name))                                                   \
  X(cuGetErrorString, 6000, (DriverResult error, const char** text))                                                 \
  X(cuDeviceGetCount, 2000, (int* count))                                                                            \
  X(cuDeviceGet, 2000, (Device * device, int ordinal))                                                               \
  X(cuDeviceGetName, 2000, (char* name, int length, Device device))                                                  \
  X(cuDeviceGetUuid, 11040, (Uuid * uuid, Device device))                                                            \
  X(cuDeviceTotalMem, 3020, (size_t* bytes, Device device))                                                          \
  X(cuDeviceGetAttribute, 2000, (int* value, DeviceAttribute attribute, Device device))                              \
  X(cuDevicePrimaryCtxRetain, 7000, (Context * context, Device device))                                              \
  X(cuCtxGetCurrent, 4000, (Context * context))                                                                      \
  X(cuCtxPushCurrent, 4000, (Context context))                                                                       \
  X(cuCtxPopCurrent, 4000, (Context * context))                                                                      \
  X(cuCtxSynchronize, 2000, ())                                                                                      \
  X(cuThreadExchangeStreamCaptureMode, 10010, (CaptureMode * mode))                                                  \
  X(cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags))                                             \
  X(cuMemFreeHost, 2000, (void* memory))                                                                             \
  X(cuEventCreate, 2000, (Event * event, unsigned flags))                                                            \
  X(cuEventRecord, 2000, (Event event, Stream stream))                                                               \
  X(cuEventDestroy, 4000, (Event event))                                                                             \
  X(cuStreamWaitEvent, 3020, (Stream stream, Event event, unsigned flags))                                           \
  X(cuStreamSynchronize, 2000, (Stream stream))                                                                      \
  X(cuModuleLoadData, 2000, (ModuleHandle * module, const void* image))                                              \
  X(cuModuleGetFunction, 2000, (FunctionHandle * function, ModuleHandle module, const char* name))                   \
  X(cuFuncGetAttribute, 2020, (int* value, FunctionAttribute attribute, FunctionHandle function))                    \
  X(cuFuncSetAttribute, 9000, (FunctionHandle function, FunctionAttribute attribute, int value))                     \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                                               \
    (int* blocks, FunctionHandle function, int block_size, size_t dynamic_shared))                                   \
  X(cuLaunchKernel, 4000,                                                                                            \
    (FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
     unsigned block_z, unsigned dynamic_shared, Stream stream, void** params, void** extra))

// The same for functions that an older driver may lack; nullptr there.
#define TILEWRIGHT_OPTIONAL_DRIVER_FUNCTIONS(X)                                                                      \
  X(cuFuncGetParamInfo, 12040, (FunctionHandle function, size_t index, size_t* offset, size_t* size))                \
  X(cuLaunchKernelEx, 11060, (const LaunchConfig* config, FunctionHandle function, void** params, void** extra))     \
  X(cuMemAllocAsync, 11020, (DeviceAddress * memory, size_t bytes, Stream stream))                                   \
  X(cuMemFreeAsync, 11020, (DeviceAddress memory, Stream stream))                                                    \
  X(cuMemsetD8Async, 3020, (DeviceAddress memory, unsigned char value, size_t count, Stream stream))                 \
  X(cuPointerGetAttribute, 4000, (void* value, PointerAttribute attribute, DeviceAddress address))                   \
  X(cuStreamGetId, 12000, (Stream stream, unsigned long long* id))                                                   \
  X(cuStreamIsCapturing, 10000, (Stream stream, int* status))                                                        \
  X(cuTensorMapEncodeTiled, 12000,                                                                                   \
    (TensorMap * map, int type, uint32_t rank, void* address, const uint64_t* shape, const uint64_t* strides,        \
     const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int l2_promotion, int fill)) \
  X(cuTensorMapReplaceAddress, 12000, (TensorMap * map, void* address))

struct DriverApi {
#define TILEWRIGHT_MEMBER(name, version, parameters) DriverResult(*name) parameters = nullptr;
  TILEWRIGHT_DRIVER_FUNCTIONS(TILEWRIGHT_MEMBER)
  TILEWRIGHT_OPTIONAL_DRIVER_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER
};

}  // namespace tilewright::runtime
