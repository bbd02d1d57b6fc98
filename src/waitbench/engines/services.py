"""The services of a worker file, as a run starts and asks them."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from waitbench.model.errors import HarnessError
from waitbench.model.placeholders import filled
from waitbench.model.scenario import Parameters
from waitbench.model.worker import ServiceFile, WorkerFile


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server that a run needs, started before it and stopped after it."""

    name: str
    file: ServiceFile
    values: dict[str, str]
    """What stands in braces; all services of a run share it."""

    def launched(self, port: int, folder: Path) -> dict[str, object]:
        """What its launcher is told, given its port and its folder: execution/service_launch.py.

        Those after it may name both.
        """
        self.values.update({f"{self.name}.port": str(port), f"{self.name}.folder": str(folder)})
        asking = self._words(self.file.ready.command, port, folder)
        return {
            "command": self._words(self.file.command, port, folder),
            "ready": {**to_builtins(self.file.ready), "command": asking},
            "stop": self.file.stop.removeprefix("SIG"),
            "port": port,
        }

    def counting(self, port: int, folder: Path) -> Sequence[str]:
        """The command line that prints what it has counted, if there is one."""
        return self._words(self.file.counters, port, folder)

    def require(self) -> None:
        """Raises ``HarnessError`` where its program is missing, with what would install it."""
        program, install = self.file.command[0], self.file.install
        if not program.startswith("{") and shutil.which(program) is None:
            remedy = f" This would install it: {install}" if install else ""
            raise HarnessError(
                f"The service {self.name} needs the program {program}, which is not here.{remedy}"
            )

    def _words(self, words: Sequence[str], port: int, folder: Path) -> Sequence[str]:
        return filled(words, {**self.values, "port": str(port), "folder": str(folder)})


def values_of(worker: WorkerFile, parameters: Parameters, python: Path) -> dict[str, str]:
    """What stands in braces wherever it stands in a worker file."""
    values = {name: str(parameters[name]) for name in worker.parameters}
    return {"python": str(python), "here": str(worker.path.parent), **values}


def services_of(worker: WorkerFile, parameters: Parameters, python: Path) -> Sequence[Service]:
    """The services of a run, in the order in which they start."""
    values = values_of(worker, parameters, python)
    return [Service(name=name, file=file, values=values) for name, file in worker.services.items()]
