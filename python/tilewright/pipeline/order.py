"""Groups of threads that pass a place one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute.vectors.choose import where
from tilewright.lang import arch
from tilewright.lang.carry import register_attributes
from tilewright.numeric import Int32
from tilewright.pipeline.groups import (
    CooperativeGroup,
    init_barriers,
    pipeline_init_arrive,
    pipeline_init_wait,
    require_group,
    require_storage,
)
from tilewright.pipeline.state import PipelineState, require_stages

if TYPE_CHECKING:
    from tilewright.cute.tensors.pointer import Pointer

__all__ = ["PipelineOrder"]


class PipelineOrder:
    """Lets the groups 0, 1, .. length - 1 pass in turn: wait(), what is ordered, arrive().

    Group g waits until group g - 1 has arrived, and in its first round group 0 for nobody. There are depth places that
    each group comes to in turn, such as a main loop and an epilogue; at each, groups pass one after the other.
    producer_group.size threads of a group arrive. barrier_storage points to depth length Int64 of shared memory.
    group_id may be known at run time only. Source: CuTeDSL `cutlass.pipeline.PipelineOrder`.
    """

    def __init__(self, storage: Any, depth: int, length: int, group_id: Any, state: PipelineState) -> None:
        self._storage, self._depth, self._length, self._group_id = storage, depth, length, group_id
        self._count, self._index, self._phase = state.count, state.index, state.phase

    def __str__(self) -> str:
        return f"PipelineOrder of {self._length} groups"

    @classmethod
    def create(
        cls, barrier_storage: Pointer, depth: int, length: int, group_id: Any, producer_group: CooperativeGroup,
        defer_sync: bool = False, *, loc: object = None, ip: object = None,
    ) -> PipelineOrder:  # fmt: skip
        """Make the barriers of an order; all threads of the block call it, each with the number of its group."""
        name = "PipelineOrder.create"
        require_stages(f"{name}: depth", depth)
        require_stages(f"{name}: length", length)
        require_group(f"{name}: producer_group", producer_group)
        if isinstance(group_id, int) and not 0 <= group_id < length:
            raise ValueError(f"{name}: group_id is {group_id}; the groups are 0 to {length - 1}")
        storage = require_storage(name, barrier_storage, depth * length)
        init_barriers(storage, [producer_group.size] * (depth * length))
        if not defer_sync:
            pipeline_init_arrive()
            pipeline_init_wait()
        group = Int32(group_id)
        # The first group finds the phase before the first as complete.
        state = PipelineState(depth, 0, 0, where(group == 0, Int32(1), Int32(0)))
        return cls(storage, depth, length, group, state)

    def _state(self) -> PipelineState:
        return PipelineState(self._depth, self._count, self._index, self._phase)

    def wait(self, *, loc: object = None, ip: object = None) -> None:
        """Wait until it is this group's turn."""
        arch.mbarrier_wait(self._storage + (self._index * self._length + self._group_id), self._phase)

    def arrive(self, *, loc: object = None, ip: object = None) -> None:
        """Let the next group pass."""
        following = where(self._group_id + 1 == self._length, Int32(0), self._group_id + 1)
        arch.mbarrier_arrive(self._storage + (self._index * self._length + following))
        state = self._state()
        state.advance()
        self._count, self._index, self._phase = state.count, state.index, state.phase


register_attributes(PipelineOrder, "_count", "_index", "_phase")
