"""Tensor maps on a GPU: what a kernel copies through them, also after their addresses were replaced; and what else of
the driver GEMMs need: launches that overlap, clusters, memory in the order of a stream."""

from __future__ import annotations

import struct
import threading
from itertools import pairwise

import pytest

from tilewright import _core
from tilewright.runtime.compiler import compile_program

cuda = _core.cuda

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not (cuda.driver_path() and cuda.device_count()) or cuda.device(0)["compute_capability"] < (9, 0),
        reason="no CUDA device with a copy engine for tensors",
    ),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

SOURCE = """
#include "tilewright/tma.cuh"
using namespace tilewright;

// A box of a tensor, to shared memory and from there to dst.
struct Box { TensorMap map; unsigned char* dst; int x, y, bytes; };
extern "C" __global__ void box(const __grid_constant__ Box p) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_init_fence();
    barrier_expect(&barrier, p.bytes);
    tma_load<false>(tile, p.map, BoxAt<2>{{p.x, p.y}}, &barrier, 0);
  }
  __syncthreads();
  barrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < p.bytes; i += blockDim.x) p.dst[i] = tile[i];
}

// Adds 1, after what came before it on the stream has ended.
struct Count { int* value; };
extern "C" __global__ void count(const __grid_constant__ Count p) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  *p.value += 1;
  asm volatile("griddepcontrol.launch_dependents;");
}

// *to = *from + 1, or 1.
struct Next { const int* from; int* to; };
extern "C" __global__ void next(const __grid_constant__ Next p) { *p.to = (p.from ? *p.from : 0) + 1; }

extern "C" __global__ void __cluster_dims__(16, 1, 1) sixteen(const __grid_constant__ Count p) {
  atomicAdd(p.value, 1);
}
"""
SHAPE, BOX = (100, 72), (16, 64)  # rows, columns


@pytest.fixture(scope="module")
def module():
    from tilewright.runtime.device import arch_of

    return cuda.load(0, compile_program("tensor_map_test", [], arch_of(0), source=SOURCE).cubin)


def tensor():
    return torch.randint(0, 2**15, SHAPE, dtype=torch.int16, device="cuda")


def expected(source, row, column, swizzle):
    """The box that begins there, with zeros outside the tensor; 16 bytes of a row change places as the swizzle says."""
    wide = torch.zeros(row + BOX[0] + 100, column + BOX[1] + 100, dtype=torch.int16, device="cuda")
    wide[: SHAPE[0], : SHAPE[1]] = source
    box = wide[row : row + BOX[0], column : column + BOX[1]]
    if not swizzle:
        return box.contiguous()
    rows = torch.arange(BOX[0], device="cuda")[:, None]
    chunks = torch.arange(8, device="cuda")[None, :] ^ rows % 8
    return box.reshape(BOX[0], 8, 8).gather(1, chunks[:, :, None].expand(-1, -1, 8)).reshape(BOX)


def launch_of(module, source, dst, row=0, column=0, swizzle=128):
    strides = (source.stride(0) * 2,)
    tensor_map = cuda.encode_tensor_map(source.data_ptr(), 16, SHAPE[::-1], strides, BOX[::-1], swizzle=swizzle)
    size = 2 * BOX[0] * BOX[1]
    params = struct.pack("<128sQiii", tensor_map, dst.data_ptr(), column, row, size).ljust(192, b"\0")
    kernel = cuda.Kernel(module.function("box"), (1, 1, 1), (64, 1, 1), size, params, [(1, 128, 0)], maps=[(0, 0, 0)])
    return cuda.Prepared([kernel], result=1)


@pytest.mark.parametrize("swizzle", [0, 128])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (16, 8), (96, 0), (90, 64), (0, 72)])
def test_a_box(module, swizzle, row, column):
    source, dst = tensor(), torch.empty(BOX, dtype=torch.int16, device="cuda")
    launch_of(module, source, dst, row, column, swizzle).launch([source.data_ptr(), dst.data_ptr()], 0)
    torch.cuda.synchronize()
    assert torch.equal(dst, expected(source, row, column, swizzle))


def test_replaced_addresses(module):
    """By a launcher, a bound launch and from a thread that has used nothing of CUDA before."""
    pairs = [(tensor(), torch.empty(BOX, dtype=torch.int16, device="cuda")) for _ in range(4)]
    launcher = cuda.Launcher(lambda src, dst: ("slow", launch_of(module, src, dst)))
    launcher(*pairs[0])
    for source, dst in pairs:
        assert launcher(source, dst) is dst
        assert torch.equal(dst, expected(source, 0, 0, 128))
        dst.zero_()
    prepared = launch_of(module, *pairs[0])
    for bound, (source, dst) in [(prepared.bind(*pair), pair) for pair in pairs]:
        bound()
        assert torch.equal(dst, expected(source, 0, 0, 128))
        dst.zero_()
    torch.cuda.synchronize()

    def elsewhere():
        for source, dst in pairs:
            launch_of(module, source, dst).launch([source.data_ptr(), dst.data_ptr()], 0)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert all(torch.equal(dst, expected(source, 0, 0, 128)) for source, dst in pairs)


def test_launches_that_overlap_wait_for_each_other(module):
    value = torch.zeros(1, dtype=torch.int32, device="cuda")
    count = module.function("count")
    one = cuda.Prepared([cuda.Kernel(count, (1, 1, 1), (1, 1, 1), 0, bytes(8), [(0, 0, 0)], programmatic=True)])
    bound = one.bind(value)
    for _ in range(100):
        bound()
    assert value.item() == 100
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            bound()
    graph.replay()
    assert value.item() == 110


def test_clusters_of_16(module):
    function = module.function("sixteen")
    function.set_nonportable_cluster()
    value = torch.zeros(1, dtype=torch.int32, device="cuda")
    function.launch((32, 1, 1), (1, 1, 1), 0, 0, struct.pack("<Q", value.data_ptr()))
    torch.cuda.synchronize()
    assert value.item() == 32


def test_memory_in_the_order_of_a_stream(module):
    """Used by what is enqueued before it is freed; also in a graph, which allocates it anew each time."""
    function = module.function("next")
    side = torch.cuda.Stream()
    result = torch.zeros(1, dtype=torch.int32, device="cuda")

    def use():
        memory = cuda.allocate_async(0, 4096, side.cuda_stream)
        places = [0, memory.address, memory.address + 64, result.data_ptr()]
        for pair in pairwise(places):
            function.launch((1, 1, 1), (1, 1, 1), 0, side.cuda_stream, struct.pack("<2Q", *pair))
        memory.free()

    torch.cuda.synchronize()
    use()
    side.synchronize()
    assert result.item() == 3
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        use()
    for _ in range(3):
        result.zero_()
        graph.replay()
        assert result.item() == 3
