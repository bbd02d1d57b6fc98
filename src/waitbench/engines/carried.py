"""What engines have in common whose workloads a module of ours carries."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from waitbench.engines.base import Builder, Engine, ReadSource, Start, Traits, released_version
from waitbench.model.environment import Environment, Interpreter, Toolchain
from waitbench.model.scenario import Scenario, Topology

_RELEASE = re.compile(r"v?\d[\w.]*")
_CARRIER, _SOURCES = "carrier", "sources"
"""Folders beside an engine's module: what carries the workloads, and a package of ours."""


class PureBuilder:
    """Builds source trees that nothing is compiled of."""

    def toolchain(self, _sources: Sequence[ReadSource], _wanted: str | None = None) -> Toolchain:
        return Toolchain(compiler="none", flags="")

    def variables(self, _directory: Path, _toolchain: Toolchain) -> Mapping[str, str]:
        return {}

    def before(self, source: Path, directory: Path) -> None:
        """Nothing is kept from one build to the next."""

    def after(self, source: Path, directory: Path, toolchain: Toolchain, log: Path) -> None:
        """Nothing is compiled."""

    def hint(self, _log: Path) -> str:
        return ""


class Carried(Engine):
    """An engine of which only releases are known, in one process with one worker.

    It is started by its module ``carrier``, which is given what to run, the number of workers, and
    all settings as ``NAME=VALUE``.
    """

    most_workers: int | None = 1
    builder: Builder = PureBuilder()
    capabilities: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        beside = Path(sys.modules[cls.__module__].__file__ or "").resolve().parent
        for attribute, name in (("carrier", _CARRIER), ("own_sources", _SOURCES)):
            if (beside / name).is_dir():
                setattr(cls, attribute, beside / name)

    def version_of(self, name: str) -> str | None:
        return released_version(name, _RELEASE)

    def tag_of(self, version: str) -> str:
        return version

    def supports(self, _python: Interpreter, _read: ReadSource) -> bool:
        return True

    def traits(self, _package: Path) -> Traits:
        return Traits(capabilities=self.capabilities)

    def start(self, environment: Environment, scenario: Scenario, topology: Topology) -> Start:
        chosen = environment.settings
        settings = (f"{n}={chosen.get(n, knob.default)}" for n, knob in self.settings.items())
        arguments = ("-m", _CARRIER, scenario.import_string, str(topology.workers), *settings)
        return Start(arguments=(str(environment.python), *arguments), processes=1)
