"""@cute.kernel: a function of a GPU's thread, and the launch of one with its arguments."""

from __future__ import annotations

import inspect
import warnings
from math import prod
from typing import Any

from tilewright._core import program
from tilewright._names import did_you_mean
from tilewright._traceback import short, short_trace, warn
from tilewright.lang import debug
from tilewright.lang.arguments import StreamForm
from tilewright.lang.calls.decorated import Decorated, Traced, called, stepped
from tilewright.lang.calls.watch import has_changed
from tilewright.lang.run import run
from tilewright.lang.trace import Trace, as_symbols, captured_stream, current, dimension, event_number, leaves_of

__all__ = ["Kernel", "KernelCall"]


class Kernel(Decorated):
    """A function of a GPU's thread: calling it binds its arguments."""

    @short
    def __call__(self, *args: Any, **kwargs: Any) -> KernelCall:
        trace = current()
        if trace is not None and trace.in_kernel:
            raise RuntimeError(f"{self.name}: a kernel does not call a kernel; decorate what both call with @cute.jit")
        bound = self.bind(args, kwargs)
        bound.apply_defaults()
        return KernelCall(self, bound)

    @short
    def __getitem__(self, sizes: Any) -> Any:
        raise TypeError(f"{self.name}[..]: the sizes follow the arguments: {self.name}(..).launch(grid=.., block=..)")


class KernelCall:
    """A kernel with its arguments; `launch` runs it."""

    def __init__(self, kernel: Kernel, bound: inspect.BoundArguments) -> None:
        self._kernel, self._bound = kernel, bound
        self._is_used = False

    def __del__(self) -> None:
        if not getattr(self, "_is_used", True):
            name = self._kernel.name
            warnings.warn(
                f"{name}(..) binds the kernel's arguments and runs nothing: write {name}(..).launch(grid=.., block=..)",
                RuntimeWarning,
                stacklevel=2,
            )

    @short_trace
    def launch(
        self,
        *sizes_by_place: Any,
        grid: Any = (1, 1, 1),
        block: Any = (1, 1, 1),
        cluster: Any = None,
        smem: int | None = None,
        stream: Any = None,
        min_blocks_per_mp: int = 0,
        cooperative: bool = False,
        use_pdl: bool = False,
        launch_completion_event: Any = None,
        launch_completion_event_flags: int = 0,
        programmatic_event: Any = None,
        programmatic_event_flags: int = 0,
        programmatic_event_trigger_at_block_start: int = 0,
        **unknown: Any,
    ) -> None:
        """Run the kernel for every thread of every block.

        grid counts blocks, block threads and cluster blocks, each in up to three dimensions. smem is the dynamic
        shared memory in bytes: by default what the kernel allocates. Inside of a @cute.jit function this is part of its
        program; at the prompt the kernel runs now, where its tensors lie. On a GPU launch_completion_event is recorded
        when all blocks have begun, programmatic_event when all have called griddepcontrol_launch_dependents (or have
        begun, with .._trigger_at_block_start); both are CUDA events without timing, parameters of the function. With
        use_pdl it may begin before the kernel before it has ended, on devices from sm_90 on; others launch it in turn.
        What it touches of that kernel's memory it has to wait for, by griddepcontrol_wait; the CPU finds where it does
        not.
        """
        self._is_used = True
        if sizes_by_place:
            raise TypeError("launch: the sizes are keywords: .launch(grid=(1, 1, 1), block=(32, 1, 1))")
        for name in unknown:
            known = [
                x.name for x in inspect.signature(KernelCall.launch).parameters.values() if x.kind is x.KEYWORD_ONLY
            ]
            meant = did_you_mean(name, known) or "."
            raise TypeError(f"launch: there is no option {name}{meant} There are {', '.join(known)}")
        sizes = tuple(_three(name, x) for name, x in (("grid", grid), ("block", block), ("cluster", cluster or 1)))
        trace = current()
        if trace is None and debug.is_stepping():
            self._step(sizes)
            return
        if isinstance(smem, int) and smem < 0:
            raise ValueError(f"launch: smem={smem} bytes of shared memory; expected at least 0")
        if all(isinstance(x, int) for x in sizes[1]) and prod(sizes[1]) > 1024:
            raise ValueError(f"launch: block={block} has {prod(sizes[1])} threads; at most 1024 are allowed")
        facts: tuple[int, ...] = (int(min_blocks_per_mp), int(bool(cooperative)), int(bool(use_pdl)))
        if trace is not None:
            trace.stream = trace.stream or captured_stream(stream)
            completion = event_number(trace, launch_completion_event, "launch_completion_event")
            programmatic = event_number(trace, programmatic_event, "programmatic_event")
            if completion or programmatic:
                facts += (completion, int(launch_completion_event_flags), programmatic, int(programmatic_event_flags))
                facts += (int(programmatic_event_trigger_at_block_start),)
            self._add(trace, sizes, smem, facts)
            return
        if launch_completion_event is not None or programmatic_event is not None:
            raise ValueError("launch: an event is a parameter of the @cute.jit function that launches; here is none")
        kernel, bound = self._kernel, self._bound
        forms, values = kernel.forms_and_values(bound)
        names = list(forms)
        fixed = (sizes, smem, facts)
        if kernel.watched and has_changed(kernel.watched):
            kernel.forget()
        key = (fixed, *[form.key() for form in forms.values()])
        traced = kernel._programs.get(key)
        if traced is None:
            with Trace(kernel) as made:

                def body(values: list[Any]) -> None:
                    again = inspect.BoundArguments(bound.signature, dict(zip(names, values, strict=True)))
                    KernelCall(kernel, again)._add(made, sizes, smem, facts)

                host, returned = made.function(f"launch_{kernel.name}", False, forms.values(), body)
                kernel._watch(made, forms)
                traced = Traced(made.builder.finish(), host, forms, returned, tuple(names))
            kernel._programs[key] = traced
        leaves = leaves_of([(form, values[name]) for name, form in forms.items()])
        if stream is not None:
            StreamForm("stream").read(stream, leaves)
        run(traced, leaves)

    @short
    def debug(self, *, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), **options: Any) -> None:
        """Run the kernel as it is written, with a Python thread for each thread of a block; see `Jit.debug`."""
        self._is_used = True
        self._step((_three("grid", grid), _three("block", block)))

    def _step(self, sizes: tuple[Any, ...]) -> None:
        kernel = self._kernel
        bound = stepped(kernel.signature, self._bound, kernel.name, in_kernel=True)
        grid, block = (tuple(int(x) for x in three) for three in sizes[:2])
        if prod(block) > 1024:
            raise ValueError(f"launch: block={block} has {prod(block)} threads; at most 1024 are allowed")
        with debug.stepping():
            debug.run_blocks(lambda: kernel.function(*bound.args, **bound.kwargs), grid, block)  # type: ignore[arg-type]

    def _add(self, trace: Trace, sizes: tuple[Any, ...], smem: Any, facts: tuple[int, ...]) -> None:
        """Trace the kernel and add its launch to the host function."""
        self._is_used = True
        self._kernel._note_use()
        kernel, bound = self._kernel, self._bound
        forms = kernel.forms(bound, in_kernel=True)
        names = list(forms)
        leaves = leaves_of((form, bound.arguments[name]) for name, form in forms.items())
        types = [type_ for form in forms.values() for _, type_ in form.parameters()]
        block = [x if isinstance(x, int) else 0 for x in sizes[1]]

        allocated = 0

        def body(values: list[Any]) -> Any:
            nonlocal allocated
            returned = called(kernel.body, kernel.signature, names, values)
            allocated = trace.shared.bytes
            return returned

        index, _ = trace.function(kernel.name, True, forms.values(), body, threads=block, min_blocks=facts[0])
        if isinstance(smem, int) and smem < allocated:
            warn(f"launch: smem={smem} bytes of shared memory, but {kernel.name} allocates {allocated}, which it gets")
        operands = [dimension(trace, x, name) for name, three in zip(_SIZES, sizes, strict=True) for x in three]
        operands.append(dimension(trace, 0 if smem is None else smem, "smem"))
        trace.op("launch", operands + as_symbols(trace, leaves, types), ints=[index, *facts])


_SIZES = ("grid", "block", "cluster")


def _three(name: str, extents: Any) -> tuple[Any, Any, Any]:
    """Three extents; static ones are Python integers."""
    sizes = list(extents) if isinstance(extents, (tuple, list)) else [extents]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"launch: {name}={extents}: expected up to three integers of at least 1")
    for i, x in enumerate(sizes):
        is_number = not getattr(x, "is_float", False)
        if is_number and isinstance(getattr(x, "_value", None), program.Symbol):
            continue
        try:
            sizes[i] = int(x.__index__())
        except (AttributeError, TypeError):
            raise TypeError(
                f"launch: {name}={extents!r}: expected up to three integers; `//` and cute.ceil_div give them"
            ) from None
        if sizes[i] < 1:
            raise ValueError(f"launch: {name}={extents}: expected up to three integers of at least 1")
    x, y, z = sizes + [1] * (3 - len(sizes))
    return x, y, z
