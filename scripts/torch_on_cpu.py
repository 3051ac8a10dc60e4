"""A stand-in for a CUDA device, by which programs written for one run on the CPU, every access of theirs checked.

`stand_in()` makes torch put on the CPU what a program puts on "cuda": a tensor that moves there is copied, so that both
are apart as they would be. Streams and events are nothing, since all is done when a call returns. torch.bmm and
torch.einsum add products of 16-bit numbers in the order of k. Nothing else of torch changes, and CUDA graphs and the
driver's own functions are not there.

`note_kernels(path)` compiles each kernel that runs for sm_90a and appends a line of JSON for it to a file.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["note_kernels", "stand_in"]

ARCHITECTURE = "sm_90a"
MULTIPROCESSORS = 4  # so that persistent kernels have more than one tile for each of their CTAs


def _on_cpu(value: Any) -> Any:
    """The CPU where a CUDA device is said."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.split(":")[0] == "cuda" else value


def _in_order(equation: str, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A product of 16-bit matrices, added in float32 in the order of k, as the kernels' products are on the CPU.

    Programs compare it bit for bit with theirs: another order would differ by a rounding here and there.
    """
    of_a, of_b = (part.strip() for part in equation.partition("->")[0].split(","))
    (k,) = set(of_a) & set(of_b) - set(equation.partition("->")[2])
    places = of_a.index(k), of_b.index(k)
    total: Any = 0
    for i in range(a.shape[places[0]]):
        total += torch.einsum(equation, *(x.narrow(at, i, 1).float() for x, at in zip((a, b), places, strict=True)))
    return total.to(a.dtype)  # type: ignore[no-any-return]


_LASTING = ExitStack()  # until the process ends
_ADDRESSED: list[torch.Tensor] = []  # tensors whose address a program asked for, by which kernels may reach them


class _Moved(TorchFunctionMode):
    """Functions of torch with the CPU for each CUDA device among their arguments."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.cuda:
            return args[0].clone(memory_format=torch.preserve_format)
        if function is torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if function is torch.Tensor.data_ptr:
            _ADDRESSED.append(args[0])
        given = [_on_cpu(value) for value in args]
        named = {name: _on_cpu(value) for name, value in (kwargs or {}).items()}
        moves = function is torch.Tensor.to and ([*args[1:]] != given[1:] or named != (kwargs or {}))
        if function in (torch.bmm, torch.einsum):
            equation, *operands = ("lmk,lkn->lmn", *given) if function is torch.bmm else given
            if len(operands) == 2 and all(x.dtype in (torch.float16, torch.bfloat16) for x in operands):
                return _in_order(equation, *operands)
        result = function(*given, **named)
        return result.clone(memory_format=torch.preserve_format) if moves and result is args[0] else result


class Stream:
    """A stream on which all work is done."""

    cuda_stream = 0

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: object) -> None:
        pass


class _Event:
    """A moment on the host's clock."""

    cuda_event = 0

    def __init__(self, *args: object, **kwargs: object) -> None:
        self._at = 0.0

    def record(self, stream: object = None) -> None:
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: _Event) -> float:
        return (end._at - self._at) * 1e3


class _Properties:
    name = "the CPU"
    major, minor = 9, 0
    multi_processor_count = MULTIPROCESSORS
    total_memory = 1 << 33


def stand_in(check: bool = True) -> None:
    """From here on, torch has a CUDA device, which is the CPU, and kernels run there, checked."""
    from tilewright import cute

    cuda: Any = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.current_device = lambda: 0
    cuda.init = cuda.empty_cache = lambda: None
    cuda.set_device = cuda.synchronize = lambda device=None: None
    cuda.current_stream = cuda.default_stream = lambda device=None: Stream()
    cuda.stream = lambda stream: Stream()
    cuda.Stream = Stream
    cuda.Event = _Event
    cuda.get_device_capability = lambda device=None: (9, 0)
    cuda.get_device_name = lambda device=None: _Properties.name
    cuda.get_device_properties = lambda device=None: _Properties
    cuda.manual_seed = cuda.manual_seed_all = lambda seed: None
    for lasting in (_Moved(), cute.on_cpu(check=check, memory=_ADDRESSED)):
        _LASTING.enter_context(lasting)


def note_kernels(file_name: str) -> None:
    """Compile the kernels of each program that is called, and write what they take to a file of JSON lines."""
    from tilewright.lang.gpu import kernels_of
    from tilewright.lang.run import WATCHERS

    seen: list[Any] = []

    def watch(traced: Any, leaves: Any, device: Any) -> None:
        if any(traced is one for one in seen):
            return
        seen.append(traced)
        with Path(file_name).open("a", encoding="utf-8") as file:
            for kernel in kernels_of(traced, ARCHITECTURE).values():
                fact: dict[str, Any] = {"kernel": kernel.name}
                try:
                    fact |= {"registers": kernel.registers, "spills": kernel.spills, "shared": kernel.shared_bytes}
                except Exception as error:  # the program itself goes on; the report says what was refused
                    fact["error"] = f"{type(error).__name__}: {error}"
                file.write(json.dumps(fact) + "\n")
                file.flush()

    WATCHERS.append(watch)
