"""An engine some of whose releases spin while they hold state: the floor for Python, doctored."""

import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from waitbench.engines.carried import Carried
from waitbench.engines.python import Python

_SOUND = "return self._held.due_s - time.monotonic()"
_SPINNING = "return 1e-9"
"""A time-out that is over at once, as long as there is anything to be woken for."""


LIBRARY = "held-library==2.0"


class Held(Python):
    """Its releases are on a package index, as those of others are; its revisions are ``held@…``."""

    name = "held"
    own_sources: Path | None = None

    def version_of(self, name: str) -> str | None:
        return Carried.version_of(self, name)


@contextmanager
def index(folder: Path, releases: int, *, spinning_from: int) -> Iterator[tuple[str, list[str]]]:
    """The address of a package index that has so many releases, and their versions.

    It also has ``LIBRARY``, which may be installed beside any of them.
    """
    sound = (Python.own_sources or Path()) / "waitbench_floor" / "__init__.py"
    text = sound.read_text("utf-8")
    assert _SOUND in text
    _write_wheel(folder / "simple", "held_library", "2.0", "")
    versions = []
    for number in range(releases):
        code = text.replace(_SOUND, _SPINNING) if number >= spinning_from else text
        # Wheels are kept by version: what is in one is part of it.
        versions.append(f"1.{number}.{zlib.crc32(code.encode())}")
        _write_wheel(folder / "simple", "waitbench_floor", versions[-1], code)
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple", versions
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        pass


def _write_wheel(simple: Path, module: str, version: str, code: str) -> None:
    name = module.replace("_", "-")
    folder = simple / name
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{module}-{version}.dist-info"
    contents = {
        f"{module}/__init__.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content)
