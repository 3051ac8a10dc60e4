"""Configurations of gemm_sm90 with problems: what its cost model counts with, but for the numbers of a device.

A choice weighs hundreds of configurations, so each field is an array with an element for each of them, or one number
that all share.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.sm90.conditions import MAX_STRIDE, run_columns, store_of
from tilewright.kernels.gemm.sm90.plan import beside_stages
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN
from tilewright.kernels.gemm.sm90.stores import BY_BOXES, STORES, box_columns
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["Cases", "Config", "Sm90Configs", "cases_of", "few_steps", "stacked", "store_for"]

SECTOR = 32  # bytes of the L2 that are asked for at a time
COLUMNS, LINES = (STORES.index(x) for x in ("columns", "lines"))


class Config(NamedTuple):
    """A configuration of the kernel: what a plan adds to its problem."""

    bM: int
    bN: int
    consumers: int = 2
    ping_pong: bool = False
    cluster: tuple[int, int] = (1, 1)
    split_k: int = 1
    resident: int = 1  # CTAs of a multiprocessor
    stages: int = 8  # at most
    buffers: int = 2  # boxes of C of a consumer
    stream_k_ctas: int = 0  # CTAs whose clusters share tiles along K; 0: none do


class Sm90Configs(Section):
    """The configurations, and what plans of few steps along K have: SM90_CONFIGS in a device's file says more."""

    SECTION: ClassVar[str] = "SM90_CONFIGS"
    configs: tuple[Config, ...]
    few_steps: int
    few_group: int
    many_group: int
    many_rows: int
    group_rows: int
    broken_stages: int
    held_steps: int
    shared_full: float
    shared_steps: int
    shared_sums: int
    most_shared_sums: int
    shared_parts: int
    shared_gain: float


class Cases(NamedTuple):
    """Of problems: extents, bytes of an element of A and of C, whether A and B lie along K, what their rows break of
    the L2, how C lies. Of configurations: their fields, the stages that fit, of B those that stay
    (`held`), how C is stored. `shares`: what clusters share along K.
    """

    m: Any
    n: Any
    k: Any
    batches: Any
    size: Any
    a_along_k: Any
    b_along_k: Any
    broken_a: Any
    broken_b: Any
    out: Any
    pitch: Any  # bytes from a row of C to the next, or from a column where it lies along M
    along_m: Any
    bM: Any
    bN: Any
    consumers: Any
    ping_pong: Any
    cM: Any
    cN: Any
    split_k: Any
    resident: Any
    stages: Any
    held: Any
    store: Any  # index in STORES
    run: Any  # columns that are stored by lines at a time
    boxes: Any  # of C, that a consumer fills one after the other; 0 where it stores from registers
    stream_k_ctas: Any

    @property
    def steps(self) -> Any:
        """Along K, of a CTA."""
        whole = -(-self.k * self.size // SPAN)
        return -(-whole // self.split_k)

    @property
    def rounded(self) -> tuple[Any, Any]:
        """The tiles along M and N, those of clusters that lie outside of C included."""
        along_m = -(-self.m // (self.bM * self.cM)) * self.cM
        return along_m, -(-self.n // (self.bN * self.cN)) * self.cN


def few_steps(problem: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether K has so few steps that to write C is what takes time."""
    return problem.k * int(problem.a_type.bits) <= Sm90Configs.of(facts).few_steps * SPAN * 8


def broken(strides: tuple[int, ...], problem: GemmProblem, alignment: int) -> int:
    """What rows of an operand at an address of this alignment break: 2 the L2's sectors, 1 its lines alone, 0 neither.

    >>> from tilewright import BFloat16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> problem = problem_of(512, 512, 512, BFloat16)
    >>> [broken((pitch, 1), problem, at) for pitch, at in ((512, 128), (528, 128), (520, 128), (512, 16))]
    [0, 1, 2, 2]
    """
    pitch = (strides[0] if strides[1] == 1 else strides[1]) * problem.a_type.bits // 8
    begin = math.gcd(pitch, alignment)
    return 0 if begin % SPAN == 0 else 1 if begin % SECTOR == 0 else 2


def store_for(config: Config, problem: GemmProblem, alignment: int) -> str:
    """How a plan of a configuration stores C, at an address of this alignment."""
    sharing = 1 if config.ping_pong else config.consumers
    paired = problem.a_type is TFloat32 and problem.a_strides[1] != 1
    return store_of(problem, config.bM, config.bN, config.split_k, sharing, alignment, paired)


def cases_of(
    configs: Sequence[Config], problem: GemmProblem, facts: DeviceFacts, alignments: tuple[int, int, int] = (SPAN,) * 3
) -> Cases:
    """The configurations with a problem whose A, B and C begin at multiples of so many bytes.

    >>> from tilewright import BFloat16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> tall = cases_of((Config(128, 64), Config(128, 256)), problem_of(100000, 48, 128, BFloat16), H200)
    >>> [x.tolist() for x in (tall.stages, tall.held)], [STORES[i] for i in tall.store]
    ([[3, 3], [2, 2]], ['boxes', 'boxes'])
    """
    p, size = problem, problem.a_type.bits // 8
    table = _table(tuple(configs))
    along_m = p.c_strides[0] == 1 and p.c_strides[1] != 1
    broken_a, broken_b = broken(p.a_strides, p, alignments[0]), broken(p.b_strides, p, alignments[1])
    steps = -(-p.k * size // SPAN)
    store = table.stores(p, alignments[2])
    count = np.where(store == LINES, 2, np.where(stored_by(store, BY_BOXES), table.buffers, 0))
    whole = SPAN * 8 // p.c_type.bits  # columns of a box along N
    across = table.columns if p.c_type.bits == 16 else whole  # the same along M
    box = SPAN * np.where(store == COLUMNS, across * p.c_type.bits // 16, ATOM_ROWS)
    beside = beside_stages(p, table.bN, table.consumers, table.buffers, count * box)
    free = ((facts.shared_bytes + 1024) // table.resident // 1024 - 1) * 1024 - beside
    most = table.most
    if few_steps(p, facts):
        most = np.minimum(most, Sm90Configs.of(facts).few_steps - 1)
    if broken_a and broken_b:
        narrow = (table.bM + table.bN == 192) & ((table.bM == 64) | (table.bN == 64))
        most = np.where(narrow, np.minimum(most, Sm90Configs.of(facts).broken_stages), most)
    stages = np.minimum(free // ((table.bM + table.bN) * SPAN + 16), most)
    # B stays where a CTA has several tiles, one wide, and the stages of A do not get fewer for it.
    tiles = -(-p.m // table.bM)
    alone = (table.cM * table.cN * table.split_k == 1) & (table.stream_k_ctas == 0) & (p.n <= table.bN)
    several = tiles >= 2 * facts.multiprocessors * table.resident
    left = (free - 8 - steps * table.bN * SPAN) // (table.bM * SPAN + 16)
    few = steps <= Sm90Configs.of(facts).held_steps and not p.batch
    holds = few & alone & several & (left >= np.minimum(stages, 3))
    return Cases(
        m=p.m, n=p.n, k=p.k, batches=p.batches, size=size, a_along_k=p.a_strides[1] == 1,
        b_along_k=p.b_strides[1] == 1, broken_a=broken_a, broken_b=broken_b,
        out=p.c_type.bits // 8, pitch=p.c_strides[1 if along_m else 0] * (p.c_type.bits // 8), along_m=along_m,
        bM=table.bM, bN=table.bN, consumers=table.consumers, ping_pong=table.ping_pong, cM=table.cM, cN=table.cN,
        split_k=table.split_k, resident=table.resident, stages=np.where(holds, np.minimum(left, most), stages),
        held=np.where(holds, steps, 0), store=store, run=table.run,
        boxes=np.where(count > 0, -(-table.finished // np.where(store == COLUMNS, across, whole)), 0),
        stream_k_ctas=table.stream_k_ctas,
    )  # fmt: skip


def stacked(cases: Sequence[Cases]) -> Cases:
    """All of them, as one."""
    wide = [np.broadcast_arrays(*one) for one in cases]
    return Cases(*(np.concatenate([np.atleast_1d(one[i]) for one in wide]) for i in range(len(Cases._fields))))


class _Table:
    """The fields of configurations as arrays; `most`: stages. `run`: columns that lines store at a time; `columns`: of
    a box of C of 16 bits along M; `finished`: columns of 64 rows that a consumer finishes."""

    def __init__(self, configs: tuple[Config, ...]) -> None:
        rows = np.array([(x.bM, x.bN, x.consumers, x.ping_pong, *x.cluster, *x[5:]) for x in configs], np.int64)
        self.bM, self.bN, self.consumers, self.ping_pong, self.cM, self.cN, *others = rows.T
        self.split_k, self.resident, self.most, self.buffers, self.stream_k_ctas = others
        shapes = [(x.bM, x.bN, x.split_k, 1 if x.ping_pong else x.consumers) for x in configs]
        self.run = np.array([run_columns(*shape) for shape in shapes])
        self.finished = self.bM * self.bN // np.array([64 * sharing for *_, sharing in shapes]) // self.split_k
        self.columns = np.array([box_columns(16, *shape, "columns") for shape in shapes])
        self.configs = configs
        self._stores: dict[tuple[Any, ...], Any] = {}

    def stores(self, problem: GemmProblem, alignment: int) -> Any:
        """How each stores C, as an index in STORES."""
        kind = _kind_of_c(problem, alignment)
        if kind not in self._stores:
            found = [STORES.index(store_for(config, problem, alignment)) for config in self.configs]
            self._stores[kind] = np.array(found)
        return self._stores[kind]


_table = functools.lru_cache(_Table)


def stored_by(store: Any, names: Sequence[str]) -> Any:
    """Which of these indices in STORES are those of names."""
    return functools.reduce(np.logical_or, (store == STORES.index(x) for x in names))


def _kind_of_c(problem: GemmProblem, alignment: int) -> tuple[Any, ...]:
    """What ways to store C depend on: problems with the same have the same."""
    p, size = problem, problem.c_type.bits // 8
    modes = zip((p.m, p.n, *p.batch), p.c_strides, strict=True)
    lies = tuple(
        (extent > 1, d == 1, d > 0, d < MAX_STRIDE // size, math.gcd(d * size, 16), extent * size % 16)
        for extent, d in modes
    )
    paired = p.a_type is TFloat32 and p.a_strides[1] != 1
    return p.c_type, p.epilogue.beta != 0, lies, math.gcd(alignment, 16), paired
