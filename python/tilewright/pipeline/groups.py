"""Who arrives at a pipeline's barriers, and how the barriers are made."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright._core import size
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.lang import arch
from tilewright.lang.functions import and_
from tilewright.lang.library.generate import if_generate

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Agent",
    "CooperativeGroup",
    "in_one_lane",
    "init_barriers",
    "pipeline_init_arrive",
    "pipeline_init_wait",
    "require_group",
    "require_storage",
]

BITS = 64  # of an mbarrier


class Agent(Enum):
    """What a cooperative group is made of."""

    Thread = "thread"
    ThreadBlock = "thread block"
    ThreadBlockCluster = "thread block cluster"


class CooperativeGroup:
    """Agents that arrive at a barrier together: `size` arrivals complete a phase.

    ValueError for less than one of them, or a number that is no integer.

    >>> CooperativeGroup(Agent.Thread, 128).size
    128
    """

    def __init__(self, agent: Agent, size: int = 1, alignment: int | None = None) -> None:
        if not isinstance(agent, Agent):
            raise TypeError(f"CooperativeGroup: expected an Agent, such as Agent.Thread, but got {shown(agent)}")
        if agent is not Agent.Thread:
            raise ValueError(f"CooperativeGroup: only threads arrive at barriers: expected Agent.Thread, not {agent}")
        if not isinstance(size, (int, float)) or size < 1 or int(size) != size:
            raise ValueError(
                f"CooperativeGroup: size is {shown(size)}; expected how many threads arrive, at least 1, known while "
                "tracing"
            )
        self.agent, self.size = agent, int(size)

    def __repr__(self) -> str:
        return f"CooperativeGroup({self.agent}, {self.size})"


def require_group(what: str, group: Any) -> CooperativeGroup:
    """A cooperative group; TypeError for anything else."""
    if not isinstance(group, CooperativeGroup):
        raise TypeError(f"{what}: expected a CooperativeGroup, but got {shown(group)}")
    return group


def require_storage(what: str, storage: Any, barriers: int) -> Pointer:
    """The pointer to so many mbarriers; TypeError for anything else."""
    if (
        not isinstance(storage, Pointer)
        or storage.memspace is not AddressSpace.smem
        or storage.dtype is None
        or storage.dtype.bits != BITS
    ):
        raise TypeError(
            f"{what}: barrier_storage is {shown(storage)}; expected a pointer to {barriers} Int64 of shared memory, "
            f"such as storage.field.data_ptr() of a MemRange[Int64, {barriers}]"
        )
    return storage


def in_one_lane(body: Callable[[], None]) -> None:
    """Run a body in one lane of each warp that is here."""
    if_generate(arch.elect_one().condition(), body)


def init_barriers(storage: Any, counts: list[int]) -> None:
    """Make mbarriers that lie one behind the other, for so many arrivals each, in the block's first thread."""

    def body() -> None:
        for i, count in enumerate(counts):
            arch.mbarrier_init(storage + i, count)

    if_generate(and_(arch.warp_idx() == 0, arch.lane_idx() == 0), body)


def pipeline_init_arrive(
    cluster_shape_mn: Any = None, is_relaxed: bool = False, *, loc: object = None, ip: object = None
) -> None:
    """After pipelines were made with defer_sync: show their barriers, and arrive at the cluster's barrier if it has
    several blocks. pipeline_init_wait follows, before anyone uses them.
    """
    arch.mbarrier_init_fence()
    if _blocks(cluster_shape_mn) > 1:
        (arch.cluster_arrive_relaxed if is_relaxed else arch.cluster_arrive)()


def pipeline_init_wait(cluster_shape_mn: Any = None, *, loc: object = None, ip: object = None) -> None:
    """Wait until all threads of the block, or of the cluster, may use the barriers that were made."""
    if _blocks(cluster_shape_mn) > 1:
        arch.cluster_wait()
    else:
        arch.sync_threads()


def _blocks(cluster: Any) -> int:
    """The blocks of a cluster, which a shape or a layout says."""
    return 1 if cluster is None else int(size(cluster))
