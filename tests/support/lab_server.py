"""JupyterLab's server on this machine, for notebooks of a folder, in its light or its dark theme."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TIME_LIMIT = 40  # seconds to start; and to stop, for a server ends its kernels first


def choose_theme(folder: Path, *, dark: bool) -> None:
    """The theme of the pages that are opened from now on."""
    chosen = {
        "themes": {"theme": f"JupyterLab {'Dark' if dark else 'Light'}"},
        "notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    for name, values in chosen.items():
        (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(values), encoding="utf-8")


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a server that shows the notebooks of a folder, which nobody has trusted."""
    choose_theme(folder, dark=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "IdentityProvider.token": "",
        "LabApp.extension_manager": "readonly",
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    with open(folder / "server.log", "wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | own)
    address = f"http://127.0.0.1:{port}"
    try:
        begin = time.monotonic()
        while not _answers(f"{address}/api"):
            said = (folder / "server.log").read_text(encoding="utf-8")
            assert process.poll() is None, said
            assert time.monotonic() - begin < TIME_LIMIT, said
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:  # what is tested has been seen by then: a slow machine is no failure
            process.kill()
            process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=5):
            return True
    except urllib.error.URLError:
        return False
