"""Placeholders of worker files, such as ``{port}``: fields or properties of ``Site``.

Launchers import this: standard library only.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from waitbench.model.worker import WorkerTable

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_-]*(?:\.[a-z]+)?)\}")
"""``{port}`` or ``{redis.port}``; other braces stay as they are."""


class Site(NamedTuple):
    """The values of placeholders for one copy of a worker, or for a service."""

    here: str = ""
    """The folder of the worker file."""
    python: str = ""
    """The path of the interpreter."""
    prefix: str = ""
    """The folder into which the revision was built."""
    revision: str = ""
    """A release, commit, variant or program."""
    folder: str = ""
    """The working folder."""
    port: int = 0
    metrics: str = ""
    """The file that a copy writes its metrics to."""

    def values(self) -> dict[str, str]:
        return {name: str(getattr(self, name)) for name in PLACEHOLDERS}


PLACEHOLDERS: dict[str, Callable[["WorkerTable"], object]] = {
    "port": lambda _table: True,
    "folder": lambda _table: True,
    "here": lambda _table: True,
    "python": lambda table: table.package or table.variants or table.build,
    "prefix": lambda table: table.build,
    "revision": lambda table: table.package is None,
    "metrics": lambda table: table.metrics,
}
"""The placeholders by name, each with a test of whether a worker file can use it."""
NOT_IN_SERVICES = {"revision", "metrics"}
IN_BUILD = {"here", "python", "prefix", "revision", "source"}
"""The placeholders of ``build.command``; only ``source`` is not a field of ``Site``."""
