"""The kernels of `visualize_tv`, whose result is what is drawn: kernels/visualize_tv.cuh."""

from __future__ import annotations

from tilewright.kernels.kernel import Kernel

HERE = "tilewright.kernels.visualize"

VISUALIZE_TV = Kernel(
    "visualize_tv",
    plan=f"{HERE}.tv:ThreadValues",
    source='#include "visualize_tv.cuh"\nusing namespace tilewright;\n',
    draw="tilewright.show.subjects.tv:values_picture",
)
