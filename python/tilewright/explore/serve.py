"""The page over HTTP, for this machine alone: one address, one document, no files."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tilewright.explore.page import page

__all__ = ["make_server"]

LOOPBACK = "127.0.0.1"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page's own policy stands in it
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server(ThreadingHTTPServer):
    """Serves the page as it was when the server was made."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        self.document = page().encode()
        super().__init__((LOOPBACK, port), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of / under the server's own names, and nothing else."""

    server: Server
    server_version, sys_version = "tilewright", ""
    timeout = 10  # seconds for a request to arrive

    def do_GET(self) -> None:
        self._answer(with_document=True)

    def do_HEAD(self) -> None:
        self._answer(with_document=False)

    def _answer(self, with_document: bool) -> None:
        # A foreign name that was made to point here (DNS rebinding) gets nothing.
        names = {f"{host}:{self.server.server_port}" for host in (LOOPBACK, "localhost")}
        if self.headers.get_all("Host") is None or set(self.headers.get_all("Host", [])) - names:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "this server answers to 127.0.0.1 and localhost only")
        elif self.path.partition("?")[0] != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self.send_response(HTTPStatus.OK)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(self.server.document)))
            self.end_headers()
            if with_document:
                self.wfile.write(self.server.document)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is the user's."""


def make_server(port: int) -> Server:
    """A server of the page on 127.0.0.1; port 0 takes a free one. OSError where the port is taken."""
    return Server(port)
