"""Where a producer or a consumer is in a pipeline's stages."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tilewright._boundary import shown
from tilewright.cute.vectors.choose import where
from tilewright.lang.carry import register_attributes
from tilewright.numeric import Int32

__all__ = ["PipelineState", "PipelineUserType", "make_pipeline_state", "require_stages"]


class PipelineUserType(Enum):
    """Who goes through a pipeline's stages."""

    Producer = "producer"
    Consumer = "consumer"


def require_stages(what: str, stages: Any) -> int:
    """A number of stages; ValueError for less than one, or for one that is known at run time only."""
    if isinstance(stages, bool) or not isinstance(stages, int) or stages < 1:
        raise ValueError(f"{what} is {shown(stages)}; expected at least 1, known while tracing")
    return stages


class PipelineState:
    """A stage (index), the parity of the phase to wait for there (phase), and how many stages were passed (count).

    It changes in place, and goes round loops: index(i) = i mod stages, and phase flips where index becomes 0.

    >>> state = make_pipeline_state(PipelineUserType.Consumer, 2)
    >>> for _ in range(5):
    ...     print(int(state.index), int(state.phase), int(state.count))
    ...     state.advance()
    0 0 0
    1 0 1
    0 1 2
    1 1 3
    0 0 4
    """

    def __init__(self, stages: int, count: Any, index: Any, phase: Any) -> None:
        self._stages = require_stages("PipelineState: stages", stages)
        self._count, self._index, self._phase = (Int32(x) for x in (count, index, phase))

    def __str__(self) -> str:
        return f"PipelineState of {self._stages} stages"

    @property
    def stages(self) -> int:
        """The stages of the pipeline."""
        return self._stages

    @property
    def index(self) -> Any:
        """The stage."""
        return self._index

    @property
    def phase(self) -> Any:
        """The parity to wait for at the stage's barrier."""
        return self._phase

    @property
    def count(self) -> Any:
        """How often the state has advanced since it was made, or since reset_count."""
        return self._count

    def clone(self) -> PipelineState:
        """A state of its own that is where this one is."""
        return PipelineState(self._stages, self._count, self._index, self._phase)

    def reset_count(self) -> None:
        """Count from 0 again."""
        self._count = Int32(0)

    def advance(self, *, loc: object = None, ip: object = None) -> None:
        """Go to the next stage."""
        following = self._index + 1
        is_last = following == self._stages
        self._index = where(is_last, Int32(0), following)
        self._phase = where(is_last, self._phase ^ 1, self._phase)
        self._count = self._count + 1

    def reverse(self, *, loc: object = None, ip: object = None) -> None:
        """Go back to the stage before."""
        is_first = self._index == 0
        self._index = where(is_first, Int32(self._stages - 1), self._index - 1)
        self._phase = where(is_first, self._phase ^ 1, self._phase)
        self._count = self._count - 1


register_attributes(PipelineState, "_count", "_index", "_phase")


def make_pipeline_state(type: PipelineUserType, stages: int, *, loc: object = None, ip: object = None) -> PipelineState:
    """The state of one who begins. A producer's first round needs no wait: all stages are empty.

    >>> [int(make_pipeline_state(x, 3).phase) for x in (PipelineUserType.Producer, PipelineUserType.Consumer)]
    [1, 0]
    """
    if not isinstance(type, PipelineUserType):
        raise TypeError(f"make_pipeline_state: expected a PipelineUserType, but got {shown(type)}")
    return PipelineState(stages, 0, 0, int(type is PipelineUserType.Producer))
