"""Measures what plans are chosen by on a GPU, and writes the file of this device beside those of the others.

python benchmarks/fit_device.py [--dry] [--seconds S] [--name NAME] [--out FOLDER]

It is kernels.gemm.calibrate for the package: the numbers begin from those of the device's generation, and the file is
NAME.py in python/tilewright/kernels/devices, NAME that of the device, by which it is found, or the beginning of it that
is given. What is not measured, and a model that chooses no better plans, is left out of the file. `--dry` needs no GPU:
plans take what the H200's models expect. benchmarks/fit_compare.py measures what the file chooses beside what the
H200's numbers choose.
"""

from __future__ import annotations

import argparse
import functools
import sys
from pathlib import Path

from tilewright.devices import H200
from tilewright.kernels import devices
from tilewright.kernels.devices import own_names
from tilewright.kernels.gemm.calibrate import calibrate
from tilewright.kernels.gemm.calibrate.clock import DeviceClock
from tilewright.kernels.gemm.calibrate.models import expected
from tilewright.kernels.gemm.calibrate.text import text_of

FOLDER = Path(devices.__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="plans take what the H200's models expect: needs no GPU")
    parser.add_argument("--seconds", type=float, default=600, help="about how long it may take")
    parser.add_argument("--name", help="the file's name: for all devices whose names begin so")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the file")
    options = parser.parse_args()
    if options.dry:
        facts, when = H200._replace(name="NVIDIA dry run"), "no day, by no device"
    else:
        (facts, _), when = calibrate.facts_and_number("fit_device", 0), calibrate.when()
    names = own_names(facts.name)
    if options.name not in (None, *names):
        parser.error(f"{facts.name} would not find a file named {options.name}; it is to be one of {', '.join(names)}")
    base = facts._replace(name="")  # no file is found by it but that of the generation
    if options.dry:
        timed = [(sample, expected(sample, base)) for step in calibrate.steps(base) for sample in step]
        fits = calibrate.fits(timed, base, float("inf"))
    else:
        fits = calibrate.measured(base, functools.partial(DeviceClock, 0), options.seconds)
    head = (
        f'"""{facts.name}: what benchmarks/fit_device.py measured on one. What is not here is the H200\'s."""\n\n'
        f'DEVICE = "{facts.name}"\nMEASURED = "{when}"'
    )
    path = options.out / f"{options.name or names[0]}.py"
    path.write_text(text_of(fits, base, head, when))
    print(f"{path} has the numbers of {facts.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
