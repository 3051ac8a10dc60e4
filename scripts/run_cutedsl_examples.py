"""Run the public CuTeDSL examples of a CUTLASS checkout with tilewright in place of cutlass, and write what ran.

python scripts/run_cutedsl_examples.py FOLDER [--device cpu|cuda] [--tiers T2,T3] [--out docs/compatibility.md]
    [--only TEXT]

FOLDER is the checkout, or its examples/python/CuTeDSL. Programs and notebooks run unchanged, each in a process of its
own in which `import cutlass` finds tilewright. A program is right where it ends without an error, or with the one that
it is there to show: examples check their results themselves. For each of the others the table has the first thing that
is missing or wrong.

--device cpu needs no GPU: torch puts on the CPU what a program puts on a CUDA device (torch_on_cpu.py), large problems
are made small by the programs' own arguments (SMALL), every access is checked, and each kernel that ran is compiled for
sm_90a. Where the checks find something the program runs again without them: the outcome says both.

Examples import what CuTeDSL's package brings along, and more: pip install torch cuda-bindings nanobind cmake pytest
matplotlib apache-tvm-ffi.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
INSIDE = "examples/python/CuTeDSL"
SECONDS = 300  # for one program
NOTES = "kernels.jsonl"  # what the kernels of a program take
# Files that lie among Blackwell's, but need no more than Hopper.
TIER_OF = {
    "cute/blackwell/kernel/rmsnorm/rmsnorm.py": "T3",
    "cute/blackwell/kernel/reduce/reduce.py": "T3",
    "cute/blackwell/tutorial/tutorial_tma/tma_v0.py": "T3",
}
# The highest need of another file is its tier. The first pattern that occurs decides.
TIERS = (
    ("T4", r"tcgen05|tmem|TMEM|sm_?1[02]0|blockscaled|block_scaled|Nvfp4|mxf|cute/blackwell|task_scheduling"),
    (
        "T3",
        r"fmha_helpers|mbarrier|Pipeline(Async|Tma|Order)|make_tiled_tma_atom|cluster_(arrive|wait)|warpgroup|st\.async",
    ),
    ("T2", r"LdMatrix|StMatrix|warp\.Mma|TensorOpGemm|SGemm|from .*tensorop_gemm|flash_attention"),
    ("T1", r"cute\.kernel|@kernel"),
    ("T0", r""),
)
WORDS = {
    "T0": "host only: layouts, tensors, TensorSSA, printing, fake tensors",
    "T1": "SIMT kernels: elementwise, copies, shared memory, shuffles, barriers, inline PTX",
    "T2": "cp.async, ldmatrix, mma.sync: GEMM and attention",
    "T3": "mbarriers, pipelines, clusters, TMA, wgmma",
}
# Other layers of CuTeDSL, which tilewright does not have, or only where an optional package is; the last lines.
OTHER_LAYERS = {"primitives": "cutlass.experimental.primitives", "jax": "cutlass.jax", "tvm-ffi": "tvm_ffi"}
# What an example that shows an error ends with.
SHOWN_ERRORS = {"dsl_tutorials/tvm_ffi/error_reporting.py": r"ValueError: .*shape\[0\] is 5, but .* compiled for 10"}

# Arguments that make a program's problem one for the CPU.
_ONCE = "--warmup_iterations 0 --iterations 1"
SMALL = {
    "cute/ampere/kernel/attention/flash_attention_v2.py": (
        f"--batch_size 1 --seqlen_q 128 --seqlen_k 192 --num_head 2 --head_dim 64 --is_causal {_ONCE}"
    ),
    "cute/ampere/kernel/attention/hstu_attention.py": (
        "--batch_size 1 --seqlen_q 128 --seqlen_kv 128 --num_head 2 --head_dim 64"
    ),
    "cute/ampere/kernel/dense_gemm/sgemm.py": f"--mnk 128,128,32 {_ONCE}",
    "cute/ampere/kernel/dense_gemm/tensorop_gemm.py": f"--mnkl 128,128,64,1 {_ONCE}",
    "cute/ampere/kernel/elementwise/elementwise_add.py": "--M 256 --N 256",
    "cute/ampere/kernel/elementwise/elementwise_apply.py": "--M 256 --N 256",
    "cute/hopper/kernel/cta_norm/cta_norm.py": f"--M 16 --N 1024 {_ONCE}",
    "cute/hopper/kernel/attention/fmha.py": "--q_shape 1,128,2,128 --k_shape 1,128,2,128",
    "cute/hopper/kernel/dense_gemm/dense_gemm.py": "--mnkl 1024,256,128,1",
    "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py": "--mnkl 256,256,128,1",
    "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc.py": "--mnkl 256,256,256,1",
    "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_gelu_persistent.py": "--mnkl 256,256,128,1",
    "cute/hopper/kernel/grouped_gemm/grouped_gemm.py": (
        "--num_groups 2 --problem_sizes_mnkl ((128,128,128,1),(128,256,64,1))"
    ),
    "cute/blackwell/kernel/rmsnorm/rmsnorm.py": f"--M 4 --N 1024 {_ONCE}",
    "cute/blackwell/tutorial/tutorial_tma/tma_v0.py": "--M 64 --N 128 --num_warmup 0 --num_iters 1",
}

# What has to have run before, in the same folder.
FIRST = {
    "dsl_tutorials/export/load_in_python.py": "dsl_tutorials/export/export_to_c.py",
    "dsl_tutorials/tvm_ffi/aot_use_in_torch.py": "dsl_tutorials/tvm_ffi/aot_export.py",
    "dsl_tutorials/tvm_ffi/aot_use_in_jax.py": "dsl_tutorials/tvm_ffi/aot_export.py",
}

# What the process of an example begins with. An import of cutlass finds the module of tilewright that stands for it.
PRELUDE = '''
import importlib, importlib.abc, importlib.util, sys
class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "cutlass":
            return importlib.util.spec_from_loader(name, self)
    def create_module(self, spec):
        return importlib.import_module("tilewright" + spec.name[len("cutlass"):])
    def exec_module(self, module):
        pass
class Keep(Alias):
    """The module keeps the names that it was imported by."""
    def create_module(self, spec):
        self.facts = None
        module = super().create_module(spec)
        self.facts = {key: getattr(module, key, None) for key in ("__name__", "__spec__", "__loader__", "__package__")}
        return module
    def exec_module(self, module):
        for key, value in (self.facts or {}).items():
            setattr(module, key, value)
sys.meta_path.insert(0, Keep())
'''


class Example(NamedTuple):
    """A program or notebook: its path below the folder, its text as one program, its tier."""

    name: str
    text: str
    tier: str
    layer: str | None


class Outcome(NamedTuple):
    """How an example ended."""

    example: Example
    is_right: bool
    words: str
    errors: str = ""
    compiled: str = ""


def program_of(path: Path) -> str:
    """The Python text of a program, or of the code cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    cells = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell) if isinstance(cell, list) else cell for cell in cells]
    return "\n\n".join(re.sub(r"(?m)^[%!].*$", "", source) for source in sources)


def layer_of(name: str, text: str) -> str | None:
    """The other layer of CuTeDSL that a program needs."""
    if name.startswith("experimental/") or "cutlass.experimental" in text:
        return "primitives"
    if "import jax" in text or "cutlass.jax" in text:
        return "jax"
    return "tvm-ffi" if "import tvm_ffi" in text else None


def examples_in(folder: Path) -> list[Example]:
    """All examples of a folder up to tier T3."""
    found = []
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.ipynb")]):
        name = path.relative_to(folder).as_posix()
        text = program_of(path)
        if "cutlass" not in text or path.name == "__init__.py":
            continue
        tier = TIER_OF.get(name) or next(tier for tier, pattern in TIERS if re.search(pattern, f"{name}\n{text}"))
        if tier != "T4":
            found.append(Example(name, text, tier, layer_of(name, text)))
    return found


def run(example: Example, folder: Path, device: str) -> Outcome:
    """Run one example in a process of its own; on the CPU once more without checks where these find something."""
    outcome = run_once(example, folder, device)
    found = re.search(r"KernelError: \S+: \d+ defects?\s+(.+)", outcome.errors)
    if device != "cpu" or found is None:
        return outcome
    again = run_once(example, folder, "unchecked")
    return again._replace(words=f"{again.words}; the checks find: {words_of(found[1].split(';')[0])}")


def run_once(example: Example, folder: Path, device: str) -> Outcome:
    """Run one example in a process of its own."""
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    with tempfile.TemporaryDirectory() as scratch:
        path = folder / example.name
        if path.suffix == ".ipynb":
            path = Path(scratch) / (path.stem + ".py")
            path.write_text(example.text, encoding="utf-8")
        paths = [folder / FIRST[example.name], path] if example.name in FIRST else [path]
        arguments = [] if device == "cuda" else SMALL.get(example.name, "").split()
        try:
            for one in paths:
                done = started(one, arguments, folder, Path(scratch), environment, device)
                if done.returncode != 0 and one != path:
                    return Outcome(example, False, f"{one.name} before it: {reason_of(done.stderr)}", done.stderr)
        except subprocess.TimeoutExpired:
            return Outcome(example, False, f"took more than {SECONDS} s")
        notes = Path(scratch) / NOTES
        compiled = compiled_words(notes.read_text(encoding="utf-8")) if notes.exists() else ""
    shown = SHOWN_ERRORS.get(example.name)
    if done.returncode == 0 if shown is None else re.search(shown, done.stderr):
        return Outcome(example, True, "right" if shown is None else "right: it shows an error", "", compiled)
    return Outcome(example, False, reason_of(done.stderr) or f"ended with {done.returncode}", done.stderr, compiled)


def compiled_words(notes: str) -> str:
    """What the kernels of a program take, compiled for sm_90a: the most registers, and spills."""
    facts = [json.loads(line) for line in notes.splitlines()]
    errors = [fact["error"].splitlines()[0] for fact in facts if "error" in fact]
    if errors or not facts:
        return words_of("; ".join(errors))
    spills = sum(fact["spills"] for fact in facts)
    return f"{max(fact['registers'] for fact in facts)} registers" + (f", {spills} bytes spilled" if spills else "")


def started(
    path: Path, arguments: list[str], folder: Path, scratch: Path, environment: dict[str, str], device: str
) -> subprocess.CompletedProcess[str]:
    """Run a program; its text is the file's own, so that lines in errors are its lines."""
    start = scratch / "start.py"
    on_cpu = ""
    if device != "cuda":
        on_cpu = (
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})\nimport torch_on_cpu\nsys.path.pop(0)\n"
            f"torch_on_cpu.stand_in(check={device == 'cpu'})\n"
            f"torch_on_cpu.note_kernels({str(scratch / NOTES)!r})\n"
        )
    start.write_text(
        f"{PRELUDE}\nimport runpy\n{on_cpu}sys.argv = {[str(path), *arguments]!r}\n"
        f"sys.path[:0] = [{str(path.parent)!r}, {str(folder)!r}]\n"
        f"runpy.run_path({str(path)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    return subprocess.run(
        [sys.executable, str(start)], cwd=scratch, env=environment, capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip


def reason_of(stderr: str) -> str:
    """The error that a program ended with, on one line, without the folders of this machine."""
    lines = [line for line in stderr.strip().splitlines() if line and not line.startswith((" ", "\t"))]
    if not lines:
        return ""
    return words_of(next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)), lines[-1]))


def words_of(message: str) -> str:
    """A message as a cell of a table, without the folders of this machine."""
    return re.sub(r" ?\(?/[^\s)]*/([^\s/)]*)\)?", r" \1", message)[:160].strip().replace("|", "\\|")


HOW = {
    "cuda": "on a GPU.",
    "cpu": """on the CPU with every access checked: torch put there what the programs put on a CUDA device, and added
        products of 16-bit matrices in the order of k (`scripts/torch_on_cpu.py`); the programs' own arguments made
        large problems small. Where the checks find something, the outcome is the one without them, and says what they
        find. The last column has what the kernels that ran take, compiled for sm_90a by NVRTC. What asks the driver
        itself, for graphs, events or cooperative launches, needs a GPU. `dense_gemm_fp8_2xacc.py` spills since one of
        its warpgroups keeps two sums of 128 registers for each thread, of the 232 that it asks for.""",
}


def table(outcomes: list[Outcome], device: str, version: str) -> str:
    """A part of the page: counts by tier, then a line for each example."""
    told = f"""`scripts/run_cutedsl_examples.py` ran them on {date.today()} with tilewright {version} {HOW[device]}
        Their text is unchanged. An example is right where it ends without an error, or with the one that it shows; most
        check their results themselves."""
    tiers = ", ".join(sorted({outcome.example.tier for outcome in outcomes}))
    lines = [f"{HEADS[device]} {tiers}", "", *textwrap.wrap(" ".join(told.split()), 115), ""]
    lines += ["| tier | needs | right | of |", "| --- | --- | ---: | ---: |"]
    for tier in WORDS:
        own = [o for o in outcomes if o.example.tier == tier and o.example.layer is None]
        if own:
            lines.append(f"| {tier} | {WORDS[tier]} | {sum(o.is_right for o in own)} | {len(own)} |")
    lines += ["", "| file | tier | outcome | sm_90a |", "| --- | --- | --- | --- |"]
    for outcome in sorted(outcomes, key=lambda o: (o.example.layer is not None, o.example.tier, o.example.name)):
        layer = outcome.example.layer
        words = outcome.words if layer is None else f"needs {OTHER_LAYERS[layer]}: {outcome.words}"
        lines.append(f"| `{outcome.example.name}` | {outcome.example.tier} | {words} | {outcome.compiled} |")
    return "\n".join(lines) + "\n"


HEADS = {"cuda": "## On a GPU:", "cpu": "## On the CPU:"}
TITLE = "# Compatibility with CuTeDSL's public examples\n"


def joined(page: str, part: str) -> str:
    """The page with a part in the place of the one of the same device, or at its end. What stands above them stays."""
    top, *parts = re.split(r"(?m)^(?=## )", page or TITLE)
    parts = [text for text in parts if text.partition(":")[0] != part.partition(":")[0]]
    return "\n".join([top.strip() + "\n", *(text.strip() + "\n" for text in sorted([*parts, part]))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/compatibility.md")
    parser.add_argument("--only", default="", help="run only the examples whose path contains this")
    parser.add_argument("--tiers", default="T0,T1", help="which tiers to run, such as T0,T1,T2")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = options.folder / INSIDE if (options.folder / INSIDE).is_dir() else options.folder
    wanted = [e for e in examples_in(folder.resolve()) if options.only in e.name and e.tier in options.tiers.split(",")]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda example: run(example, folder.resolve(), options.device), wanted))
    import tilewright

    page = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    part = table(outcomes, options.device, tilewright.__version__)
    options.out.write_text(joined(page, part), encoding="utf-8")
    for outcome in outcomes:
        print(
            f"{outcome.example.tier} {'ok  ' if outcome.is_right else 'FAIL'} {outcome.example.name}: {outcome.words}"
        )
    print(f"{sum(o.is_right for o in outcomes)} of {len(outcomes)} are right; see {options.out}")


if __name__ == "__main__":
    main()
