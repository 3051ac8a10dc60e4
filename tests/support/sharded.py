"""GEMMs of DTensors over two processes: run as a program, it writes what each case gave as JSON.

    python sharded.py OUT [cuda]

On the CPU they talk by gloo, on two GPUs by NCCL. They meet over a file, so that no port can be taken already. Each
says what it is at. Where only one fails at a case, the other may wait for it: then both end with a message.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.utils._python_dispatch import TorchDispatchMode

from tilewright import torch as twt

RANKS = 2
WAIT = timedelta(seconds=90)  # for the other rank: compiling kernels takes it seconds
START = time.monotonic()
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
    "addmm, K and sums": (addmm, [(6, 10), (6, 8), (8, 10)], [P, S(1), S(0)]),
    "sums": (matmul, [(6, 8), (8, 10)], [P, S(1)]),
    "columns that do not divide": (linear, [(6, 8), (7, 8), (7,)], [R, S(0), S(0)]),
    "K that does not divide": (matmul, [(6, 7), (7, 10)], [S(1), S(0)]),
}


# Each case compiles kernels, so that GPUs take one of each kind.
ON_GPUS = ("rows", "columns", "K", "batches", "linear, columns", "linear, K", "fused, K", "addmm, K")


class Operations(TorchDispatchMode):
    """The operations of tilewright that are called, of DTensors and of parts."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "tilewright":
            self.names.append(func._schema.name.partition("::")[2])
        return func(*args, **(kwargs or {}))


def placed(x: Any, mesh: Any, place: Any) -> Any:
    """A DTensor of a whole one; each rank has as much of sums."""
    return DTensor.from_local(x / RANKS, mesh, [place]) if place == P else distribute_tensor(x, mesh, [place])


def gradients_of(result: Any, parts: list[Any]) -> tuple[Any, ...]:
    full = result.full_tensor()
    weights = torch.linspace(-1, 1, full.numel(), device=full.device).view_as(full)
    return torch.autograd.grad((full * weights).sum(), parts)


def outcome(module: Any, case: str, mesh: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    """The result and the gradients, whole; placements of both, what the forward pass sent, what later ones called."""
    function, shapes, placements = CASES[case]
    torch.manual_seed(0)
    whole = [torch.randn(shape).to(mesh.device_type) for shape in shapes]
    parts = [placed(x, mesh, place).requires_grad_() for x, place in zip(whole, placements, strict=True)]
    with CommDebugMode() as sent, torch.no_grad():
        first = function(module, *parts)
    result = function(module, *parts)
    torch.testing.assert_close(first.full_tensor(), result.full_tensor())
    gradients = gradients_of(result, parts)
    with CommDebugMode() as sent_again, torch.no_grad(), Operations() as operations:
        again = function(module, *parts)
    assert (again.placements, again.stride(), again.dtype) == (first.placements, first.stride(), first.dtype)
    torch.testing.assert_close(again.full_tensor(), first.full_tensor())
    assert sent_again.get_comm_counts() == sent.get_comm_counts()
    for i, part in enumerate(parts):  # each once as the only one that has a gradient
        alone = [x if x is part else x.detach() for x in parts]
        (gradient,) = gradients_of(function(module, *alone), [part])
        assert gradient.placements == gradients[i].placements
        torch.testing.assert_close(gradient.full_tensor(), gradients[i].full_tensor())
    seen = {
        "placements": [str(x) for x in first.placements],
        "gradients": [[str(x) for x in gradient.placements] for gradient in gradients],
        "sent": {str(name).rpartition(".")[2]: count for name, count in sent.get_comm_counts().items()},
        "operations": operations.names,
    }
    return result.full_tensor().detach(), [x.full_tensor() for x in gradients], seen


def compare(case: str, mesh: Any) -> dict[str, Any]:
    """What tilewright gave, where that is what torch gives on one process, and what torch's own rules give."""
    function, shapes, _ = CASES[case]
    full, gradients, seen = outcome(twt, case, mesh)
    _, _, of_torch = outcome(torch, case, mesh)
    torch.manual_seed(0)
    plain = [torch.randn(shape).to(mesh.device_type).requires_grad_() for shape in shapes]
    expected = function(torch, *plain)
    weights = torch.linspace(-1, 1, full.numel(), device=full.device).view_as(full)
    torch.testing.assert_close(full, expected.detach())
    for one, other in zip(gradients, torch.autograd.grad((expected * weights).sum(), plain), strict=True):
        torch.testing.assert_close(one, other)
    return seen | {"torch": of_torch["placements"], "torch sent": of_torch["sent"]}


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


def dispatched(mesh: Any) -> dict[str, Any]:
    """What torch's dispatch gives where the shorter way is shut, as for a torch without the names that it needs."""
    from tilewright.torch import sharded

    usual, sharded.HAS_PARTS = sharded.HAS_PARTS, False
    try:
        return outcome(twt, "linear, columns", mesh)[2]
    finally:
        sharded.HAS_PARTS = usual


def transformed(mesh: Any) -> dict[str, Any]:
    """torch.func, which takes no gradients of the shorter way; a second derivative, which goes through it twice."""
    torch.manual_seed(0)
    whole = [torch.randint(-2, 3, shape).float() for shape in ((6, 8), (10, 8))]  # so that nothing is rounded
    x, weight = (distribute_tensor(y, mesh, [place]) for y, place in zip(whole, (R, S(0)), strict=True))
    weight.requires_grad_()

    factor = torch.func.grad(lambda y: (twt.linear(x, weight).sum() * y).sum())(distribute_tensor(torch.ones(1), mesh))
    torch.testing.assert_close(factor.full_tensor()[0], (x.full_tensor() @ weight.full_tensor().mT).sum())
    x.requires_grad_()
    loss = (twt.linear(x, weight) ** 2).sum().full_tensor()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum().full_tensor(), weight)
    y, w = x.full_tensor().detach().requires_grad_(), weight.full_tensor().detach().requires_grad_()
    (expected,) = torch.autograd.grad(((y @ w.mT) ** 2).sum(), y, create_graph=True)
    (expected,) = torch.autograd.grad((expected**2).sum(), w)
    torch.testing.assert_close(second.full_tensor(), expected)
    return {}


def refused(mesh: Any) -> dict[str, Any]:
    """What is wrong is refused of operands that are known, too."""
    x, weight = (distribute_tensor(torch.ones(shape), mesh, [R]) for shape in ((6, 8), (10, 8)))
    a, b = (distribute_tensor(torch.ones(shape), mesh, [R]).requires_grad_() for shape in ((2, 3, 4), (2, 4, 5)))
    twt.linear(x, weight)
    start = torch.ones_like(twt.matmul(a, b))
    torch.autograd.grad(twt.matmul(a, b), (a, b), start)  # of which one is a product of start and b^T
    calls: dict[str, Callable[[], Any]] = {
        "a list": lambda: twt.linear(x, weight, activation=["gelu"]),
        "no name": lambda: twt.linear(x, weight, activation="gelus"),
        "batches": lambda: twt.linear(start, b.detach()),
    }
    messages = {}
    for name, call in calls.items():
        try:
            messages[name] = f"gave {call()}"
        except ValueError as error:
            messages[name] = str(error)
    return messages


def attempt(rank: int, store: dist.Store, name: str, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What it gave, or its error; ends this rank where the other is still at it, and so may wait for this one."""
    print(f"rank {rank}, {time.monotonic() - START:.0f} s: {name}", flush=True)
    try:
        seen = call()
    except Exception:
        seen = {"error": traceback.format_exc()}
    store.set(f"{name}, {rank}", "done")
    try:
        store.wait([f"{name}, {1 - rank}"], WAIT)
    except Exception:
        told = seen.get("error", "here it was right")
        raise RuntimeError(f"{name}: rank {1 - rank} was not done within {WAIT} after rank {rank}: {told}") from None
    return seen


def work(rank: int, file: str, out: str, kind: str) -> None:
    torch.set_num_threads(1)
    if kind == "cuda":
        torch.cuda.set_device(rank)
    print(f"rank {rank}, {time.monotonic() - START:.0f} s: meets the other", flush=True)
    store = dist.FileStore(file, RANKS)
    over = "nccl" if kind == "cuda" else "gloo"
    dist.init_process_group(over, store=dist.PrefixStore("group", store), rank=rank, world_size=RANKS, timeout=WAIT)
    mesh = init_device_mesh(kind, (RANKS,))
    steps: dict[str, Callable[[], dict[str, Any]]] = {}
    steps["compiled"] = lambda: compiled(mesh)  # first, so that it finds no rules registered
    steps |= {case: lambda case=case: compare(case, mesh) for case in (ON_GPUS if kind == "cuda" else CASES)}
    steps["two meshes"] = lambda: two_meshes(kind)
    if kind == "cpu":
        steps |= {"dispatched": lambda: dispatched(mesh), "transformed": lambda: transformed(mesh)}
        steps["refused"] = lambda: refused(mesh)
    seen = {name: attempt(rank, store, name, call) for name, call in steps.items()}
    Path(f"{out}.{rank}").write_text(json.dumps(seen))
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the network of the machine is
    with tempfile.TemporaryDirectory() as folder:
        kind = "".join(sys.argv[2:]) or "cpu"
        torch.multiprocessing.spawn(work, (f"{folder}/store", sys.argv[1], kind), nprocs=RANKS)
