"""Traced programs on a device that only writes launches down: torch's CPU tensors pose as its tensors."""

from __future__ import annotations

import pytest

from tilewright import _core
from tilewright.lang import gpu, run
from tilewright.lang.calls.compiled import Compiled
from tilewright.lang.calls.jit import Jit
from tilewright.lang.compile import CompiledKernel


class Device:
    """`last` are the launches of the last call, as Recorder.last has them; `slow` counts calls that ran Python."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recorders: dict[str, _core.cuda.Recorder] = {}
        self.slow = 0
        monkeypatch.setattr(run, "_CUDA", 1)
        monkeypatch.setattr(gpu, "arch_of", lambda device: "sm_90a")
        monkeypatch.setattr(CompiledKernel, "function", lambda kernel, device: self._recorder(kernel.name))
        monkeypatch.setattr(CompiledKernel, "launch", lambda *args, **named: self._launch(*args, **named))
        for kind in (Jit, Compiled):
            monkeypatch.setattr(kind, "_slow", self._counted(kind._slow))

    def _recorder(self, name):
        return self.recorders.setdefault(name, _core.cuda.Recorder(name))

    def _launch(self, kernel, device, grid, block, params, *, stream, shared, cluster, cooperative, programmatic):
        recorded = _core.cuda.Kernel(self._recorder(kernel.name), grid, block, shared, params)
        _core.cuda.Prepared([recorded]).launch([], stream)

    def _counted(self, slow):
        def call(launcher, *args, **kwargs):
            self.slow += 1
            return slow(launcher, *args, **kwargs)

        return call

    @property
    def counts(self) -> tuple[int, int]:
        """Calls that ran Python, and launches."""
        return self.slow, sum(one.count for one in self.recorders.values())

    @property
    def last(self):
        """The last launch of the one kernel: grid, block, shared, stream, params."""
        (recorder,) = self.recorders.values()
        return recorder.last
