"""Services of a worker file: their command lines, with placeholders filled in."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import convert

from waitbench.model import worker as worker_tables
from waitbench.model.errors import HarnessError
from waitbench.model.launch import Condition, ServiceConfig
from waitbench.model.placeholders import filled
from waitbench.model.scenario import Parameters
from waitbench.model.worker import ServiceFile, WorkerFile


@dataclass(frozen=True, kw_only=True)
class Service:
    """A server that a run needs, started before it and stopped after it."""

    name: str
    file: ServiceFile
    values: dict[str, str]
    """Values of placeholders, shared by all services of a run."""

    def config(self, port: int, folder: Path) -> ServiceConfig:
        """Makes the launcher's configuration; later services may name its port and folder."""
        self.values.update({f"{self.name}.port": str(port), f"{self.name}.folder": str(folder)})
        ready = condition_of(self.file.ready)
        return ServiceConfig(
            command=self._words(self.file.command, port, folder),
            ready=replace(ready, command=self._words(ready.command, port, folder)),
            stop=self.file.stop.removeprefix("SIG"),
            port=port,
            folder=str(folder),
            log=f"{folder}.log",
            counters=self._words(self.file.counters, port, folder),
        )

    def require(self) -> None:
        """Raises ``HarnessError`` with the remedy if its program is missing."""
        program, install = self.file.command[0], self.file.install
        if not program.startswith("{") and shutil.which(program) is None:
            remedy = f" This would install it: {install}" if install else ""
            raise HarnessError(
                f"The service {self.name} needs the program {program}, which is not here.{remedy}"
            )

    def _words(self, words: Sequence[str], port: int, folder: Path) -> Sequence[str]:
        return filled(words, {**self.values, "port": str(port), "folder": str(folder)})


def condition_of(table: worker_tables.Condition) -> Condition:
    return convert(table, Condition, from_attributes=True)


def values_of(worker: WorkerFile, parameters: Parameters, python: Path) -> dict[str, str]:
    """Returns the values of placeholders that all texts of a worker file may have."""
    values = {name: str(parameters[name]) for name in worker.parameters}
    return {"python": str(python), "here": str(worker.path.parent), **values}


def services_of(worker: WorkerFile, parameters: Parameters, python: Path) -> Sequence[Service]:
    values = values_of(worker, parameters, python)
    return [Service(name=name, file=file, values=values) for name, file in worker.services.items()]
