"""What a GEMM of the benchmarks must come to: in float64, and for fp64 a few elements in more bits than that."""

from __future__ import annotations

import numpy as np
import torch

from gemm_cases import Case

FEW = 64  # rows and columns of which fp64 is computed in more bits; fewer where K is long
PRODUCTS = 3e7  # of all of them: the CPU takes a fraction of a second
WRONG = 1e-13  # of all of C: no order of fp64's sums makes such an error


class Expected:
    """The result of a case; a residual is 1 everywhere."""

    def __init__(self, case: Case, a: torch.Tensor, b: torch.Tensor, extra: dict[str, torch.Tensor]) -> None:
        self.all = _in_float64(case, a, b, extra)
        self.few: np.ndarray | None = None
        if case.type.name == "fp64" and not (case.batch or case.epilogue):
            few = min(FEW, max(int((PRODUCTS / case.k) ** 0.5), 4))
            self.rows, self.columns = torch.randperm(case.m)[:few], torch.randperm(case.n)[:few]
            x, y = (
                side[which].cpu().numpy().astype(np.longdouble) for side, which in ((a, self.rows), (b, self.columns))
            )
            self.few = x @ y.T

    def error(self, c: torch.Tensor) -> float:
        """The relative Frobenius error of a result; of fp64 that of a few elements, where all are near."""
        whole = float((c.to(torch.float64) - self.all).norm() / self.all.norm())
        if self.few is None or not whole <= WRONG:
            return whole
        found = c[self.rows][:, self.columns].cpu().numpy().astype(np.longdouble)
        return float(np.linalg.norm((found - self.few).ravel()) / np.linalg.norm(self.few.ravel()))


def _in_float64(case: Case, a: torch.Tensor, b: torch.Tensor, extra: dict[str, torch.Tensor]) -> torch.Tensor:
    batch = a.dim() == 3
    a, b = ((x.permute(2, 0, 1) if batch else x).to(torch.float64) for x in (a, b))
    result = a @ b.mT
    if case.epilogue == "residual":
        result += 1
    if case.epilogue.startswith("bias"):
        result += extra["bias"].to(torch.float64)
    if case.epilogue == "bias relu":
        result = result.relu()
    if case.epilogue == "bias gelu_tanh":
        result = torch.nn.functional.gelu(result, approximate="tanh")
    return result.permute(1, 2, 0) if batch else result
