"""Grouped products, the program of examples/grouped_gemm.py, beside torch._grouped_mm, in one run.

python benchmarks/grouped.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

Groups x rows of each x N x K in bf16, equal ones and ragged ones with as many rows in all. `--dry` runs small ones on
the CPU: it tries the script, not the speed.
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import torch

import gpu
import tilewright as cutlass
from gpu import Contestant
from tilewright import cute

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "grouped_gemm.py"))
CASES = (
    (4, 8192, 4096, 7168),
    (8, 4096, 768, 2048),
    (16, 2048, 768, 2048),
    (32, 512, 4096, 4096),
    (64, 128, 2048, 7168),
)
DRY = ((2, 64, 264, 128), (3, 100, 256, 64))
RIVAL = "torch._grouped_mm"
HOW = """\
TFLOP/s: median (10th to 90th percentile). A sample is about 2.5 ms of launches between two events; contestants
in turn, every second round the other way round. Random normal data; each result is compared with float64: its error
is the norm of the difference over the norm. Ratios say how many times faster ours is."""


def ends_of(groups: int, rows: int, is_ragged: bool, device: str) -> torch.Tensor:
    """The ends of groups with as many rows in all; ragged ones end anywhere."""
    if not is_ragged:
        return torch.arange(rows, groups * rows + 1, rows, dtype=torch.int32, device=device)
    cuts = torch.randint(0, groups * rows + 1, (groups - 1,)).sort().values
    return torch.cat([cuts, torch.tensor([groups * rows])]).to(device, torch.int32)


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    device = "cpu" if options.dry else "cuda"
    torch.manual_seed(0)
    ratios: list[dict[str, float]] = []
    with gpu.Report("grouped", options) as report:
        report.add("# Grouped products, bf16", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | TFLOP/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for groups, rows, n, k in DRY if options.dry else CASES:
            for is_ragged in (False, True):
                name = f"{groups}x{rows}x{n}x{k}{' ragged' if is_ragged else ''}"
                if not options.pattern.search(name):
                    continue
                flops = 2 * groups * rows * n * k
                moved = 2 * groups * (rows * (n + k) + n * k)
                sets = gpu.sets_past_cache(moved, options)
                ends = ends_of(groups, rows, is_ragged, device)
                tensors = [
                    [torch.randn(*shape, device=device).bfloat16() for shape in ((groups * rows, k), (groups, n, k))]
                    + [torch.empty(groups * rows, n, device=device, dtype=torch.bfloat16)]
                    for _ in range(sets)
                ]
                cluster = PROGRAM["choose_cluster"](groups * rows, groups, n)
                share = cluster[0] * cluster[1]
                ctas = 4 if options.dry else cutlass.utils.HardwareInfo().get_max_active_clusters(share) * share
                begin = time.perf_counter()
                each = [[*map(PROGRAM["argument"], x), cute.runtime.from_dlpack(ends)] for x in tensors]
                compiled = cute.compile(PROGRAM["grouped_gemm"], *each[0], ctas, cluster)
                took = f"{time.perf_counter() - begin:.2f} s"
                took = "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {took}"

                def ours(i: int) -> torch.Tensor:
                    compiled(*each[i])  # noqa: B023 - called before the next case
                    return tensors[i][2]  # noqa: B023

                def theirs(i: int) -> torch.Tensor:
                    a, b, _ = tensors[i]  # noqa: B023
                    return torch._grouped_mm(a, b.mT, offs=ends)  # type: ignore[no-any-return] # noqa: B023

                calls = {"tilewright": ours, RIVAL: theirs}
                expected = PROGRAM["reference"](*tensors[0][:2], ends)
                errors = {
                    who: float((call(0).double() - expected).norm() / expected.norm()) for who, call in calls.items()
                }
                del expected
                field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
                times = gpu.race(field, sets, moved, options, guess=flops / 5e14)
                ratios.append(gpu.add_case(report, name, times, flops * 1e-12, errors, took))
        gpu.add_means(report, ratios)


if __name__ == "__main__":
    main()
