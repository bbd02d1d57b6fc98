"""The engine of worker files."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from waitbench.engines.base import Engine, Service
from waitbench.engines.worker.file import PHASE, needs_python
from waitbench.engines.worker.scenarios import WINDOW
from waitbench.model import launch
from waitbench.model.conditions import Elapsed, Words
from waitbench.model.launch import Site, filled
from waitbench.model.revision import Environment
from waitbench.model.scenario import RATE, Parameters, Scenario, Topology
from waitbench.model.worker import Build, Phase, WorkerFile
from waitbench.system.variables import of_run


class WorkerFileEngine(Engine):
    """The engine of a worker file; revisions are releases of a package, variants or programs."""

    takes_archives = True
    most_workers: int | None = 1
    topologies = ("single", "cluster")
    """Copies share the services; each has its own folder and port."""

    def __init__(self, worker: WorkerFile) -> None:
        self.worker = worker
        self.name = worker.name
        self.package = worker.package or ""
        self.extras = worker.extras
        self.module = worker.module
        self.repository = worker.repository
        self.requirements = worker.extra_requirements
        self.variants = worker.variants
        self.build = _located_build(worker)
        if self.build is not None and self.build.takes_source:
            self.release = re.compile("(?!)")  # matches no name: a tag names a commit
        self.pythons = worker.python
        self.is_program = not (worker.package or worker.variants or worker.build)
        self.has_environment = not self.is_program and needs_python(worker)
        self.install = worker.install
        self.smoke_test = f"import {self.module}" if self.module else ""

    def services(self, environment: Environment, scenario: Scenario) -> Sequence[Service]:
        return services_of(self.worker, scenario.parameters, environment.python)

    def program(
        self, environment: Environment, scenario: Scenario, topology: Topology
    ) -> launch.WorkerConfig:
        python, revision = environment.python, environment.build.program
        return worker_config(self.worker, scenario.parameters, python, revision, topology.processes)

    def variables(self, environment: Environment) -> Mapping[str, str]:
        folder = environment.python.parent
        if not folder.is_dir():
            return {}
        # Programs of the environment come first.
        path = f"{folder}:{of_run().get('PATH', '')}"
        venv = {"VIRTUAL_ENV": str(folder.parent)} if self.has_environment else {}
        return {"PATH": path, **venv}


def _located_build(worker: WorkerFile) -> Build | None:
    """The build of a worker, with ``{here}`` filled in."""
    if worker.build is None:
        return None
    here = {"here": str(worker.path.parent)}
    build = worker.build
    command, versions = (Words(filled(words, here)) for words in (build.command, build.versions))
    return replace(build, command=command, versions=versions)


def worker_config(
    worker: WorkerFile, parameters: Parameters, python: Path, revision: str = "", copies: int = 1
) -> launch.WorkerConfig:
    """Makes the launcher's configuration of a scenario; ``revision`` fills in ``{revision}``."""
    return launch.WorkerConfig(
        command=worker.command,
        environment=worker.environment,
        ready=worker.ready,
        settled=worker.settled,
        stop=worker.stop,
        stop_within_s=worker.stop_within_s,
        poke=worker.poke.command if worker.poke else (),
        done=worker.poke.done if worker.poke else None,
        rate=float(parameters.get(RATE, 0.0)),
        values=_values_of(worker, parameters),
        site=_site(worker, python, revision),
        files=[str(worker.path.parent / name) for name in worker.files],
        actions=[_action(worker, phase) for phase in worker.phases_until(parameters.get(PHASE))],
        goes_to_background=worker.background,
        has_stdin=worker.stdin is not None,
        window_s=None if worker.ends_by_itself else float(parameters.get(WINDOW, 0.0)),
        copies=copies,
    )


def services_of(worker: WorkerFile, parameters: Parameters, python: Path) -> Sequence[Service]:
    """Returns the services of a worker file, in the order of their start."""
    site, values = _site(worker, python), _values_of(worker, parameters)
    return [
        Service(name=name, table=table, site=site, values=values)
        for name, table in worker.services.items()
    ]


def _site(worker: WorkerFile, python: Path, revision: str = "") -> Site:
    return Site(
        here=str(worker.path.parent),
        python=str(python),
        prefix=str(python.parent.parent),
        revision=revision,
    )


def _values_of(worker: WorkerFile, parameters: Parameters) -> dict[str, str]:
    return {name: str(parameters[name]) for name in worker.parameters}


def _action(worker: WorkerFile, phase: Phase) -> launch.Action:
    return launch.Action(
        phase=phase.name,
        kind=phase.action,
        service=phase.stop or phase.start or "",
        command=phase.run,
        message=phase.reset or "",
        settled=worker.settled if phase.seconds is None else Elapsed(phase.seconds),
        may_end=phase.may_end,
        must_end=phase.must_end,
    )
