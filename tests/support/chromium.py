"""A page in headless Chromium, driven through the DevTools protocol over two pipes: nothing but Chromium is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",  # the tests may run as root, and open only their own pages
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--proxy-server=127.0.0.1:9",  # a page that asks the network gets nothing, and the test an error
    "--proxy-bypass-list=127.0.0.1",
]
TIME_LIMIT = 20  # seconds for one answer


def find() -> str | None:
    """The program, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """One page. `errors` are the exceptions, console errors and failed requests that it had."""

    def __init__(self, folder: Path) -> None:
        program = find()
        assert program is not None
        command_in, self._commands = os.pipe()
        self._answers, answer_out = os.pipe()
        # The protocol is spoken at the file descriptors 3 and 4.
        start = f'exec "$@" 3<&{command_in} 4>&{answer_out}'
        with open(folder / "chromium.log", "wb") as log:
            self._process = subprocess.Popen(
                ["/bin/bash", "-c", start, "chromium", program, *FLAGS, f"--user-data-dir={folder / 'profile'}"],
                pass_fds=(command_in, answer_out),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(command_in)
        os.close(answer_out)
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self._loaded = 0
        self.errors: list[str] = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url: str, *, dark: bool = False, width: int = 1100, height: int = 900) -> None:
        """Load a page, and wait until it is."""
        self.errors.clear()
        self(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._loaded = 0
        self("Page.navigate", url=url)
        while not self._loaded:
            self._next()

    def run(self, script: str) -> Any:
        """The value of an expression, of a promise its outcome."""
        found = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description", found))
        return found["result"].get("value")

    def wait(self, condition: str, *, errors: bool = True) -> None:
        """Until an expression is true; an error of a page that is not ours may be none of the test's."""
        begin = time.monotonic()
        while not self.run(f"Boolean({condition})"):
            assert not (errors and self.errors), self.errors
            assert time.monotonic() - begin < TIME_LIMIT, condition
            time.sleep(0.01)

    def screenshot(self) -> bytes:
        """What is seen of the page, as PNG."""
        return base64.b64decode(self("Page.captureScreenshot")["data"])

    def press(self, key: str) -> None:
        code = {"ArrowDown": 40, "ArrowRight": 39, "Tab": 9}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def close(self) -> None:
        self._session = None
        with contextlib.suppress(OSError, RuntimeError, AssertionError):
            self("Browser.close")
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], TIME_LIMIT)
            assert ready, "Chromium does not answer"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "Chromium has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        self._look_at(answer.get("method", ""), answer.get("params", {}))
        return answer

    def _look_at(self, event: str, details: dict[str, Any]) -> None:
        match event:
            case "Page.loadEventFired":
                self._loaded += 1
            case "Runtime.exceptionThrown":
                thrown = details["exceptionDetails"]
                self.errors.append(thrown.get("exception", {}).get("description", thrown["text"]))
            case "Log.entryAdded" if details["entry"]["level"] == "error":
                self.errors.append(details["entry"]["text"])
            case "Network.loadingFailed":
                self.errors.append(f"a request failed: {details['errorText']}")


def luminance(color: str) -> float:
    """Of `rgb(r, g, b)`, as WCAG defines it."""
    channels = [int(x) / 255 for x in re.findall(r"\d+", color)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(text: str, ground: str) -> float:
    """Of two colours: 4.5 is what WCAG AA asks of a text."""
    low, high = sorted((luminance(text), luminance(ground)))
    return (high + 0.05) / (low + 0.05)
