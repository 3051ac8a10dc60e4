"""Say what this machine lacks to build tilewright, with the Debian and Ubuntu packages that bring it."""

import importlib.util
import os
import shutil
import sys
import sysconfig

version = "{}.{}".format(*sys.version_info[:2])
if sys.version_info < (3, 10):  # noqa: UP036 (this file runs before anything has looked at the version)
    sys.exit(f"tilewright needs Python 3.10 or newer, {sys.executable} is {version}. Try: make PYTHON=python3.12 ...")

missing = {}
if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
    missing[f"python{version}-venv"] = "the modules venv and ensurepip"
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    missing[f"python{version}-dev"] = "Python.h"
if not os.environ.get("CXX") and not any(map(shutil.which, ("c++", "g++", "clang++"))):
    missing["g++"] = "a C++20 compiler"
if missing:
    sys.exit(
        "This machine lacks "
        + ", ".join(missing.values())
        + ". On Debian or Ubuntu:\n\n    sudo apt install "
        + " ".join(missing)
        + "\n"
    )
