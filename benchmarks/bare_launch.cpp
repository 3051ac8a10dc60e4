// What a launch and a device-to-device copy cost when C++ asks for them: no Python and no framework in between.
//
// A shared library for ctypes. The few types of the driver are declared here, so that building needs no CUDA. All
// calls go to the context that is current in the calling thread.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace {

using Result = int;  // CUresult and cudaError_t: 0 is success in both
using Launch = Result (*)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                          void* stream, void** params, void** extra);
using GetNodes = Result (*)(void* graph, void** nodes, std::size_t* count);
using GetType = Result (*)(void* node, int* type);
using GetParams = Result (*)(void* node, struct KernelNode* params);
using DriverCopy = Result (*)(std::uint64_t dst, std::uint64_t src, std::size_t bytes, void* stream);
using RuntimeCopy = Result (*)(void* dst, const void* src, std::size_t bytes, int kind, void* stream);

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void** params;
  void** extra;
  void* kernel;
  void* context;
};

constexpr int kKernelNode = 0;      // CU_GRAPH_NODE_TYPE_KERNEL
constexpr int kDeviceToDevice = 3;  // cudaMemcpyDeviceToDevice

Launch launch;
GetNodes get_nodes;
GetType get_type;
GetParams get_params;
DriverCopy driver_copy;
RuntimeCopy runtime_copy;
std::string error;

bool fail(const std::string& what) {
  error = what;
  return false;
}

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  return into != nullptr || fail(std::string(name) + " was not found");
}

// Seconds of one call of `call`, on average over `count` of them; -1 if one failed.
template <class Call>
double seconds(const char* name, long count, Call call) {
  const auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < count; ++i) {
    if (const Result result = call(i); result != 0) {
      fail(std::string(name) + " failed: error " + std::to_string(result));
      return -1;
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(count);
}

}  // namespace

extern "C" {

const char* bare_error() { return error.c_str(); }

// `runtime` is the path of a loaded libcudart; without it (or if it cannot be opened) copies go to the driver.
bool bare_open(const char* runtime) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return fail(dlerror());
  if (void* library = *runtime == '\0' ? nullptr : dlopen(runtime, RTLD_NOW | RTLD_NOLOAD); library != nullptr) {
    if (!find(library, "cudaMemcpyAsync", runtime_copy)) return false;
  }
  return find(driver, "cuLaunchKernel", launch) && find(driver, "cuGraphGetNodes", get_nodes) &&
         find(driver, "cuGraphNodeGetType", get_type) && find(driver, "cuGraphKernelNodeGetParams_v2", get_params) &&
         find(driver, "cuMemcpyDtoDAsync_v2", driver_copy);
}

const char* bare_memcpy_name() { return runtime_copy != nullptr ? "cudaMemcpyAsync" : "cuMemcpyDtoDAsync"; }

// The launch that a graph of one kernel stands for: function, grid and parameters. They live as long as the graph.
const KernelNode* bare_node(void* graph) {
  void* nodes[8];
  std::size_t count = 8;
  void* kernel = nullptr;
  Result result = get_nodes(graph, nodes, &count);
  for (std::size_t i = 0; result == 0 && i < count && i < 8; ++i) {
    int type = -1;
    result = get_type(nodes[i], &type);
    if (type != kKernelNode) continue;
    if (kernel != nullptr) {
      fail("the graph has more than one kernel");
      return nullptr;
    }
    kernel = nodes[i];
  }
  if (result == 0 && kernel == nullptr) {
    fail("the graph has no kernel");
    return nullptr;
  }
  KernelNode& found = *new KernelNode();  // one a benchmark: never freed
  if (result == 0) result = get_params(kernel, &found);
  if (result == 0) return &found;
  fail("reading the graph's kernel failed: error " + std::to_string(result));
  return nullptr;
}

// Host seconds of one of `count` such launches.
double bare_launch(const KernelNode* node, void* stream, long count) {
  void* function = node->function != nullptr ? node->function : node->kernel;
  const unsigned *g = node->grid, *b = node->block;
  return seconds("cuLaunchKernel", count, [&](long) {
    return launch(function, g[0], g[1], g[2], b[0], b[1], b[2], node->shared, stream, node->params, node->extra);
  });
}

// Host seconds of one of `count` copies, copy i from src[i % sets] to dst[i % sets].
double bare_memcpy(const std::uint64_t* dst, const std::uint64_t* src, long sets, std::size_t bytes, void* stream,
                   long count) {
  return seconds(bare_memcpy_name(), count, [&](long i) {
    const std::uint64_t to = dst[i % sets], from = src[i % sets];
    if (runtime_copy == nullptr) return driver_copy(to, from, bytes, stream);
    return runtime_copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, kDeviceToDevice,
                        stream);
  });
}

}  // extern "C"
