"""The Python side of the runtime: find NVRTC, compile kernels, keep what was compiled, tell of what is launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of

if TYPE_CHECKING:
    from tilewright.runtime.hook import Launch, LaunchHook, on_launch

__all__ = ["Launch", "LaunchHook", "on_launch"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, dict.fromkeys(__all__, f"{__name__}.hook"))
