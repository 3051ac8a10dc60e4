"""The plans that are compared with Nsight Compute: every copy and GEMM of the benchmarks, and steps of docs/gemm.md."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

import gemm_cases
import tiled_copy
from tilewright import kernels
from tilewright.kernels import visualize_tv

LABELS = {tiled_copy.contiguous: "contiguous", tiled_copy.transposes: "transpose"}  # else the case's own
THREADS = (12, 32, 33, 41, 64)  # of the kernel of docs/active_lanes.md


class Made(NamedTuple):
    """A plan with its tensors in the device's memory, which hold anything, and what launches it."""

    plan: Any
    tensors: tuple[Any, ...]
    call: Callable[[], object]


class PlanCase(NamedTuple):
    """A plan by name."""

    name: str
    make: Callable[..., Made]  # by the device, cuda if it is left out


def copies() -> Iterator[PlanCase]:
    options = argparse.Namespace(quick=False, dry=False)
    for family in (tiled_copy.contiguous, tiled_copy.transposes, tiled_copy.permutes, tiled_copy.slices):
        for case in family(options):
            dtype = tiled_copy.DTYPES[case.dtype]

            def make(
                device: str = "cuda",
                case: tiled_copy.Case = case,
                dtype: torch.dtype = dtype,
            ) -> Made:
                src = torch.empty(case.shape, dtype=dtype, device=device)
                like = case.view(src)
                dst = torch.empty(like.shape, dtype=dtype, device=device)
                plan = kernels.tiled_copy.plan(like, dst)
                return Made(plan, (like, dst), lambda: kernels.tiled_copy(like, dst))

            label = LABELS.get(family, case.name)
            yield PlanCase(f"copy, {label}, {'x'.join(map(str, case.shape))} {case.dtype}", make)


def gemms() -> Iterator[PlanCase]:
    for section in gemm_cases.SECTIONS:
        for case in gemm_cases.cases(section, quick=False, dry=False):

            def make(device: str = "cuda", case: gemm_cases.Case = case) -> Made:
                import gemm

                def side(rows: int, columns: int, dtype: torch.dtype, transposed: bool) -> torch.Tensor:
                    shape = (columns, rows) if transposed else (rows, columns)
                    x = torch.empty((*((case.batch,) if case.batch else ()), *shape), dtype=dtype, device=device)
                    x = x.mT if transposed else x
                    return x.permute(1, 2, 0) if case.batch else x

                a = side(case.m, case.k, case.type.ab, case.orders[0] == "m")
                b = side(case.n, case.k, case.type.ab, case.orders[1] == "n")
                c = side(case.m, case.n, case.type.c, False)
                told = gemm.keywords(case, {"bias": torch.empty(case.n, dtype=case.type.c, device=device)})
                plan = kernels.gemm.plan(a, b, c, **told)
                return Made(plan, (a, b, c, told.get("bias")), lambda: kernels.gemm(a, b, c, **told))

            yield PlanCase(f"gemm, {case.name}", make)


def steps() -> Iterator[PlanCase]:
    """Those of docs/gemm.md, some of which conflict on purpose."""
    from gemm_ladder_steps import LADDERS, Ladder, Step

    for ladder in LADDERS:
        for step in ladder.steps:

            def make(device: str = "cuda", ladder: Ladder = ladder, step: Step = step) -> Made:
                a, b, c = ladder.operands(device, empty=True)
                plan = step.make(a, b)
                return Made(plan, (a, b, c, None), lambda: kernels.gemm(a, b, c, plan=plan))

            yield PlanCase(f"step, {ladder.title}, {'x'.join(map(str, ladder.extents))}: {step.name}", make)


def last_tiles() -> Iterator[PlanCase]:
    """Small ones, much of which is tiles over an end: there some lanes of a cp.async write zeros.

    Of long ones parts of K are at the end of K.
    """
    for dtype, m, n, k, orders in (
        ("fp64", 200, 136, 192, "kk"),
        ("fp64", 80, 160, 11438, "kk"),
        ("fp64", 72, 56, 7662, "kn"),
        ("tf32", 200, 136, 128, "mn"),
        ("tf32", 72, 100, 40, "mn"),
        ("fp32", 300, 260, 44, "mn"),
        ("fp32", 132, 140, 300, "mk"),
    ):

        def make(
            device: str = "cuda", dtype: str = dtype, m: int = m, n: int = n, k: int = k, orders: str = orders
        ) -> Made:
            of = torch.float64 if dtype == "fp64" else torch.float32
            a = torch.empty((m, k) if orders[0] == "k" else (k, m), dtype=of, device=device)
            b = torch.empty((n, k) if orders[1] == "k" else (k, n), dtype=of, device=device)
            a, b = (a if orders[0] == "k" else a.mT), (b if orders[1] == "k" else b.mT)
            c = torch.empty((m, n), dtype=of, device=device)
            plan = kernels.gemm.plan(a, b, c, allow_tf32=dtype == "tf32")
            return Made(plan, (a, b, c, None), lambda: kernels.gemm(a, b, c, allow_tf32=dtype == "tf32"))

        yield PlanCase(f"last tiles, {m}x{n}x{k} {dtype} A:{orders[0]} B:{orders[1]}", make)


def lanes() -> Iterator[PlanCase]:
    """visualize_tv by as many threads: no branch, so that only the last warp has lanes that do nothing."""
    from tilewright import cute

    for threads in THREADS:

        def make(device: str = "cuda", threads: int = threads) -> Made:
            tensor = torch.empty(3 * threads, dtype=torch.float32, device=device)
            layout = cute.make_layout((threads, 3), stride=(1, threads))
            return Made(None, (tensor,), lambda: visualize_tv(tensor, layout))

        yield PlanCase(f"visualize_tv by {threads} threads", make)


def operands() -> Iterator[PlanCase]:
    """B that stays in shared memory, boxes that a cluster shares in parts along K, and 16-bit C along M by boxes."""
    for m, n, k, b, c, tile, cluster in (
        (40_000, 24, 128, "n", "n", (128, 64), (1, 1)),
        (70_000, 16, 24, "k", "n", (192, 16), (1, 1)),
        (1000, 40, 464, "n", "n", (64, 64), (4, 1)),
        (520, 200, 328, "n", "n", (128, 192), (2, 1)),
        (520, 304, 200, "k", "m", (128, 152), (1, 2)),
        (1536, 1536, 1536, "k", "m", (128, 144), (2, 1)),
    ):

        def make(
            device: str = "cuda", m: int = m, n: int = n, k: int = k, b: str = b, c: str = c,
            tile: tuple[int, int] = tile, cluster: tuple[int, int] = cluster,
        ) -> Made:  # fmt: skip
            from tilewright import BFloat16
            from tilewright.devices import H200
            from tilewright.kernels.gemm.problem import problem_of
            from tilewright.kernels.gemm.sm90.choose import Config, plan_of

            def side(rows: int, columns: int, order: str, inner: str) -> torch.Tensor:
                shape = (rows, columns) if order == inner else (columns, rows)
                x = torch.empty(shape, dtype=torch.bfloat16, device=device)
                return x if order == inner else x.mT

            config = Config(*tile, {64: 1, 192: 3}.get(tile[0], 2), cluster=cluster)
            plan = plan_of(config, problem_of(m, n, k, BFloat16, b=b, c=c), (True, b == "k"), (256, 256, 256), H200)
            assert plan is not None
            tensors = side(m, k, "k", "k"), side(n, k, b, "k"), side(m, n, c, "n")
            return Made(plan, (*tensors, None), lambda: kernels.gemm(*tensors, plan=plan))

        yield PlanCase(f"operands, {m}x{n}x{k} bf16 B:{b} C:{c} {tile[0]}x{tile[1]} {cluster}", make)


DIRECT_TEXT = re.compile(
    r"^direct copy .*\n  tile       \((?P<tile>[\d,]+)\), .* threads(?P<predicated>, predicated)?\n"
    r"  load       (?P<bits>\d+) bits.*?: (?P<tv>\(.*)\n"
)
SM90_TEXT = re.compile(
    r"sm90 gemm of .*?(?P<swapped>, swapped)?\n  tile +\((?P<bM>\d+),(?P<bN>\d+),\d+\), \(\d+,\d+\) tiles"
    r"(?:, clusters of \((?P<cM>\d+),(?P<cN>\d+)\))?(?:, K split among (?P<split>\d+) CTAs)?, (?P<ctas>\d+) CTAs.*?"
    r", (?P<consumers>\d+) consumers, (?P<way>[\w-]+):.*?TMA, (?P<stages>\d+) stages.*?\n  store +(?P<store>\w+)",
    re.DOTALL,
)


PROMOTED = re.compile(r"sums are added to totals every (?:(?P<steps>\d+) steps|step) along K")


def remade(chosen: Any, text: str) -> Any:
    """The plan that has this text, for the problem of one that is chosen today; None if there is none."""
    return _direct_copy(chosen, text) or _by_sm90(chosen, text) or _promoted(chosen, text)


def _direct_copy(chosen: Any, text: str) -> Any:
    """A direct copy with this text; none with steps, which were read otherwise at ends then."""
    from tilewright import cute
    from tilewright.kernels.copy.plan import CopyPlan

    found = DIRECT_TEXT.search(text)
    if found is None or not isinstance(chosen, CopyPlan) or chosen.kernel != "direct" or chosen.src_step > 1:
        return None
    tv = cute.parse(found["tv"])
    vector = int(found["bits"]) // (8 * chosen.problem.element_bytes)
    plan = chosen.replace(
        tile=tuple(map(int, found["tile"].split(","))),
        load_tv=tv,
        store_tv=tv,
        load_vector=vector,
        store_vector=vector,
        predicated=found["predicated"] is not None,
    )
    return plan if str(plan) == text else None


def _promoted(chosen: Any, text: str) -> Any:
    """One that is chosen from, with its sums promoted as often as the text says, and as many stages as leaves room."""
    found = PROMOTED.search(text)
    promote = int(found["steps"] or 1) if found else 0
    for plan in (chosen, *(x.plan for x in chosen.why())) if hasattr(chosen, "why") else (chosen,):
        for one in _staged(plan):
            try:
                changed = one.replace(promote=promote)
            except (TypeError, ValueError):  # a plan of several kernels, or one that cannot promote
                continue
            if str(changed) == text:
                return changed
    return None


def _staged(plan: Any) -> Iterator[Any]:
    from tilewright.kernels.gemm.simt.build import GemmSimt, restaged

    yield plan
    if isinstance(plan, GemmSimt):
        yield from (restaged(plan, stages) for stages in range(2, 7) if stages != plan.stages)


def _by_sm90(chosen: Any, text: str) -> Any:
    """A plan of gemm_sm90 with this text."""
    from tilewright.devices import H200
    from tilewright.kernels.gemm.sm90.choose import Config, plan_of
    from tilewright.kernels.gemm.sm90.plan import GemmSm90
    from tilewright.kernels.gemm.sm90.shared_operand import majors_of, smem_layout

    found = SM90_TEXT.match(text)
    if found is None or not isinstance(chosen, GemmSm90):
        return None
    cluster, split = (int(found["cM"] or 1), int(found["cN"] or 1)), int(found["split"] or 1)
    bM, bN, ctas, stages = (int(found[name]) for name in ("bM", "bN", "ctas", "stages"))
    resident, is_swapped = -(-ctas // H200.multiprocessors), found["swapped"] is not None
    config = Config(
        bM, bN, int(found["consumers"]), found["way"] == "ping-pong", cluster, split, resident if split == 1 else 1,
        stages,
    )  # fmt: skip
    problem = chosen.problem if chosen.swapped == is_swapped else chosen.problem.swapped()
    majors = majors_of(chosen.tiled_mma.op)
    plan = plan_of(config, problem, majors if chosen.swapped == is_swapped else majors[::-1], (256,) * 3, H200)
    if plan is None:
        return None
    a, b = (
        smem_layout(problem.a_type, rows, plan.tiler_mnk[2], stages, major)
        for rows, major in zip((bM, bN), majors_of(plan.tiled_mma.op), strict=True)
    )
    plan = plan.replace(stages=stages, smem_a=a, smem_b=b, store=found["store"], swapped=is_swapped, held_b=0)
    return plan if str(plan) == text else None


def plan_cases() -> list[PlanCase]:
    """All of them, each name once."""
    families = (lanes(), copies(), gemms(), last_tiles(), operands(), steps())
    return list({case.name: case for family in families for case in family}.values())
