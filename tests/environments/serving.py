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


class ServingJson(Serving):
    """Its pages are JSON, which has the times of files."""

    def guess_type(self, path: object) -> str:
        is_page = str(path).endswith("index.html")
        return "application/vnd.pypi.simple.v1+json" if is_page else "application/zip"


def served(handler: object, monkeypatch: pytest.MonkeyPatch) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    return server
