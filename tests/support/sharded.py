"""GEMMs of DTensors over two processes: run as a program, it writes what each case gave as JSON.

    python sharded.py OUT [cuda]

On the CPU they talk by gloo, on two GPUs by NCCL. They meet over a file, so that no port can be taken already.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode

from tilewright import torch as twt

RANKS = 2
R, P, S = Replicate(), Partial(), Shard
GELU = torch.nn.functional.gelu


def matmul(module: Any, a: Any, b: Any) -> Any:
    return module.matmul(a, b)


def linear(module: Any, x: Any, weight: Any, bias: Any) -> Any:
    return (twt if module is twt else torch.nn.functional).linear(x, weight, bias)


def fused(module: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The activation is in the kernel."""
    return (
        twt.linear(x, weight, bias, activation="gelu")
        if module is twt
        else GELU(torch.nn.functional.linear(x, weight, bias))
    )


def addmm(module: Any, c: Any, a: Any, b: Any) -> Any:
    if module is twt:
        return twt.addmm(c, a, b, beta=0.5, alpha=-2)
    return 0.5 * c - 2 * torch.matmul(a, b)


# Function, shapes, placements. A result's placement is what the case shows; where the operands agree nothing is sent.
CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[Any]]] = {
    "all on every rank": (matmul, [(6, 8), (8, 10)], [R, R]),
    "rows": (matmul, [(6, 8), (8, 10)], [S(0), R]),
    "columns": (matmul, [(6, 8), (8, 10)], [R, S(1)]),
    "K": (matmul, [(6, 8), (8, 10)], [S(1), S(0)]),
    "batches": (matmul, [(4, 6, 8), (4, 8, 10)], [S(0), S(0)]),
    "batches of one operand": (matmul, [(4, 6, 8), (8, 10)], [S(0), R]),
    "batches that are broadcast": (matmul, [(4, 6, 8), (1, 8, 10)], [S(0), R]),
    "the second batch mode": (matmul, [(3, 4, 6, 8), (4, 8, 10)], [S(1), S(0)]),
    "rows of batches": (matmul, [(3, 6, 8), (3, 8, 10)], [S(1), R]),
    "rows that do not divide": (matmul, [(7, 8), (8, 10)], [S(0), R]),
    "one row": (matmul, [(1, 8), (8, 10)], [R, R]),
    "a vector": (matmul, [(8,), (8, 10)], [R, S(1)]),
    "rows and columns": (matmul, [(6, 8), (8, 10)], [S(0), S(1)]),
    "linear, columns": (linear, [(3, 6, 8), (10, 8), (10,)], [R, S(0), S(0)]),
    "linear, K": (linear, [(3, 6, 8), (10, 8), (10,)], [S(2), S(1), R]),
    "linear, rows": (linear, [(3, 6, 8), (10, 8), (10,)], [S(1), R, R]),
    "fused, columns": (fused, [(6, 8), (10, 8), (10,)], [R, S(0), S(0)]),
    "fused, K": (fused, [(6, 8), (10, 8), (10,)], [S(1), S(1), R]),
    "linear, K of one operand": (linear, [(6, 8), (10, 8), (10,)], [S(1), R, R]),
    "fused, K of one operand": (fused, [(6, 8), (10, 8), (10,)], [S(1), R, R]),
    "fused, K against rows": (fused, [(2, 8), (10, 8), (10,)], [S(0), S(1), R]),
    "addmm, rows": (addmm, [(6, 10), (6, 8), (8, 10)], [S(0), S(0), R]),
    "addmm, columns of one row": (addmm, [(1, 10), (6, 8), (8, 10)], [S(1), R, S(1)]),
    "addmm, K": (addmm, [(6, 10), (6, 8), (8, 10)], [R, S(1), S(0)]),
}


# Each case compiles kernels, so that GPUs take one of each kind.
ON_GPUS = ("rows", "columns", "K", "batches", "linear, columns", "linear, K", "fused, K", "addmm, K")


def outcome(module: Any, case: str, mesh: Any) -> tuple[Any, list[Any], Any, dict[str, int]]:
    """The result and the gradients, whole; the result's placement; what the forward pass sent."""
    function, shapes, placements = CASES[case]
    torch.manual_seed(0)
    whole = [torch.randn(shape).to(mesh.device_type) for shape in shapes]
    parts = [distribute_tensor(x, mesh, [place]).requires_grad_() for x, place in zip(whole, placements, strict=True)]
    with CommDebugMode() as sent, torch.no_grad():
        without = function(module, *parts)
    result = function(module, *parts)
    torch.testing.assert_close(without.full_tensor(), result.full_tensor())
    counts = {str(name).rpartition(".")[2]: count for name, count in sent.get_comm_counts().items()}
    full = result.full_tensor()
    weights = torch.linspace(-1, 1, full.numel(), device=full.device).view_as(full)
    gradients = torch.autograd.grad((full * weights).sum(), parts)
    return full.detach(), [x.full_tensor() for x in gradients], without.placements, counts


def compare(case: str, mesh: Any) -> dict[str, Any]:
    """What tilewright gave, where that is what torch gives on one process, and what torch's own rules give."""
    function, shapes, _ = CASES[case]
    full, gradients, placements, sent = outcome(twt, case, mesh)
    _, _, torchs_placements, torch_sent = outcome(torch, case, mesh)
    torch.manual_seed(0)
    plain = [torch.randn(shape).to(mesh.device_type).requires_grad_() for shape in shapes]
    expected = function(torch, *plain)
    weights = torch.linspace(-1, 1, full.numel(), device=full.device).view_as(full)
    torch.testing.assert_close(full, expected.detach())
    for one, other in zip(gradients, torch.autograd.grad((expected * weights).sum(), plain), strict=True):
        torch.testing.assert_close(one, other)
    return {
        "placements": [str(x) for x in placements], "sent": sent,
        "torch": [str(x) for x in torchs_placements], "torch sent": torch_sent,
    }  # fmt: skip


def compiled(mesh: Any) -> dict[str, Any]:
    """A layer of DTensors in one graph of torch.compile, forward and back."""

    def layer(x: Any, up: Any, down: Any) -> Any:
        return twt.linear(torch.relu(twt.linear(x, up)), down)

    torch.manual_seed(0)
    whole = [torch.randn(shape).to(mesh.device_type) for shape in ((6, 8), (12, 8), (8, 12))]
    parts = [distribute_tensor(x, mesh, [p]).requires_grad_() for x, p in zip(whole, (R, S(0), S(1)), strict=True)]
    found = torch.compile(layer, backend="aot_eager", fullgraph=True)(*parts)
    expected = layer(*parts)
    torch.testing.assert_close(found.full_tensor(), expected.full_tensor())
    one, other = (torch.autograd.grad(x.full_tensor().sum(), parts) for x in (found, expected))
    for x, y in zip(one, other, strict=True):
        torch.testing.assert_close(x.full_tensor(), y.full_tensor())
    return {"placements": [str(x) for x in found.placements]}


def two_meshes(kind: str) -> dict[str, Any]:
    """Rules are of one dimension of the mesh; torch combines them for two."""
    mesh = init_device_mesh(kind, (RANKS, 1))
    x, y = torch.randn(6, 8, device=kind), torch.randn(8, 10, device=kind)
    for z in (x, y):
        dist.broadcast(z, 0)
    a, b = (distribute_tensor(z, mesh, place) for z, place in ((x, [S(0), R]), (y, [R, S(1)])))
    result = twt.matmul(a, b)
    assert isinstance(result, DTensor)
    torch.testing.assert_close(result.full_tensor(), x @ y)
    return {"placements": [str(x) for x in result.placements]}


def attempt(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return call()
    except Exception:
        return {"error": traceback.format_exc()}


def work(rank: int, store: str, out: str, kind: str) -> None:
    torch.set_num_threads(1)
    if kind == "cuda":
        torch.cuda.set_device(rank)
    over = "nccl" if kind == "cuda" else "gloo"
    dist.init_process_group(over, init_method=f"file://{store}", rank=rank, world_size=RANKS)
    mesh = init_device_mesh(kind, (RANKS,))
    seen = {"compiled": attempt(lambda: compiled(mesh))}  # first, so that it finds no rules registered
    cases = ON_GPUS if kind == "cuda" else CASES
    seen |= {case: attempt(lambda case=case: compare(case, mesh)) for case in cases}
    seen["two meshes"] = attempt(lambda: two_meshes(kind))
    Path(f"{out}.{rank}").write_text(json.dumps(seen))
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the network of the machine is
    with tempfile.TemporaryDirectory() as folder:
        kind = "".join(sys.argv[2:]) or "cpu"
        torch.multiprocessing.spawn(work, (f"{folder}/store", sys.argv[1], kind), nprocs=RANKS)
