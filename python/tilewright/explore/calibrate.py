"""`python -m tilewright calibrate`: a device measured, and its numbers kept; or no longer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tilewright import kernels
from tilewright._program import program
from tilewright.explore.command import Parser, stoppable
from tilewright.kernels.common import calibration
from tilewright.kernels.gemm.calibrate.calibrate import facts_and_number
from tilewright.runtime.errors import NvrtcError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["calibrate_command"]

STATES = {True: "has the package's numbers again", False: "was not calibrated"}
BELOW = """\
Measured are the memory's bandwidth, the rates of gemm_simt's tiles and the cost models of gemm_simt and, on devices of
sm_90, of gemm_sm90. Plans are chosen by these numbers from then on, in all processes of this user, on all devices of
that name. Nothing else should run on the device meanwhile. Where it takes too long, less is measured; what was compiled
is kept, so that another call gets further. The file lies in $TILEWRIGHT_DEVICES_DIR ("off": none), else in
$XDG_DATA_HOME/tilewright/devices, else in ~/.local/share/tilewright/devices. `doctor` says which numbers a device has.
"""


def calibrate_command(arguments: Sequence[str]) -> int:
    """Run `calibrate ARGUMENTS`; the exit status.

    It is 0; 1 if the device cannot be measured, or its numbers not be kept; 2 if the arguments are not understood; 130
    if it was stopped.
    """
    try:
        return stoppable("calibrate", lambda: _calibrate(arguments), "the numbers are those that were there before")
    except (OSError, RuntimeError, ValueError, NvrtcError) as error:
        print(f"{program()} calibrate: {str(error).removeprefix('kernels.gemm.calibrate: ')}", file=sys.stderr)
        return 1


def _calibrate(arguments: Sequence[str]) -> int:
    parser = Parser("calibrate", "Measure what plans of GEMMs are chosen by on the GPU that is here.", BELOW)
    parser.add_argument("--device", type=int, default=0, metavar="N", help="the device's number; default: 0")
    parser.add_argument("--seconds", type=float, default=110, metavar="S", help="about how long; default: 110")
    parser.add_argument("--remove", action="store_true", help="take the package's numbers again")
    given = parser.parse_args(arguments)
    if not given.remove:
        print(kernels.gemm.calibrate(given.device, seconds=given.seconds))
        return 0
    facts, _ = facts_and_number("kernels.gemm.calibrate", given.device)
    was_there = calibration.remove(facts.name)
    print(f"{facts.name} {STATES[was_there]}")
    return 0
