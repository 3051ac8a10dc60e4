"""Nothing is fetched but by pip: not when the package is built, and not when it runs. Tools have their versions."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys

import pytest

from compiling import run_python
from places import ROOT
from tilewright.explore import serve

PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
# Modules that open connections, and what of them is here: a server of pages on this machine's own address.
NETWORK = {"aiohttp", "asyncio", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "ssl", "urllib", "xmlrpc"}
SERVERS = {"python/tilewright/explore/serve.py": {"http"}}

# Everything that needs no GPU: layouts, pictures, kernels on the CPU, the commands, the compiler of kernels.
USE = """
import sys

asked = []
def watch(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"}:
        asked.append((event, arguments))
sys.addaudithook(watch)

import numpy as np
from tilewright import Float32, analyze, cute, kernels
from tilewright.__main__ import main
assert "<svg" in cute.show(cute.make_layout((4, 8))).svg()
kernels.gemm(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32))
analyze(cute.make_layout(32, stride=32), Float32, memory="shared")
for command in (["doctor"], ["demo"], ["explain", "composition", "4:2", "2:1"], ["cache", "list"]):
    try:
        main(command)
    except SystemExit:
        pass
assert asked == [], asked
"""


def imported(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def test_no_module_of_the_package_opens_connections():
    found = {}
    paths = sorted((ROOT / "python").rglob("*.py"))
    for path in paths:
        names = NETWORK & set(imported(path))
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    assert found == SERVERS
    assert len(paths) > 300


def test_the_server_listens_on_this_machine_alone():
    server = serve.make_server(0)
    try:
        assert server.server_address[0] == "127.0.0.1"
    finally:
        server.server_close()


def test_nothing_is_asked_of_the_network():
    run_python(USE, TILEWRIGHT_CACHE_DIR="off")


def test_it_works_without_a_network():
    """In a network namespace without any interface that is up."""
    unshare = shutil.which("unshare")
    flags = ["--net", "--map-root-user", "--user"]
    if unshare is None or subprocess.run([unshare, *flags, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs unshare --net")
    done = subprocess.run([unshare, *flags, sys.executable, "-c", USE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_build_fetches_nothing():
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cpp").rglob("CMakeLists.txt"), *(ROOT / "cpp").rglob("*.cmake")]
    for path in files:
        text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
        assert not re.search(r"FetchContent|ExternalProject|DOWNLOAD|https?://|git clone|curl|wget", text, re.I), path


def extra(name):
    (found,) = re.findall(rf"^{name} = \[(.*?)\]$", PROJECT, re.M | re.S)
    return re.findall(r'"([^"]+)"', re.sub(r"#.*", "", found))


@pytest.mark.parametrize("name", ["test", "bench", "docs", "dev"])
def test_tools_have_one_version(name):
    """numpy is the user's own, and the package works with any."""
    tools = extra(name)
    assert tools
    assert [tool for tool in tools if "==" not in tool.partition(";")[0] and tool != "numpy"] == []


def test_what_builds_the_package_is_bounded():
    (requires,) = re.findall(r"^requires = \[(.*?)\]$", PROJECT, re.M)
    names = re.findall(r'"([\w.-]+)', requires)
    assert names == ["scikit-build-core", "pybind11"]
