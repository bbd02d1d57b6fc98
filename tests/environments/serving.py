"""A package index of one's own, served from a folder."""

import http.server
import threading

import pytest


class Serving(http.server.SimpleHTTPRequestHandler):
    refuses_with = 0

    def do_GET(self) -> None:
        self.send_error(self.refuses_with) if self.refuses_with else super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


def served(handler: object, monkeypatch: pytest.MonkeyPatch) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    return server
