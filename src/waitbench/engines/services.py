"""The services of a worker file, as a run starts and asks them."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.model.placeholders import filled
from waitbench.model.scenario import Parameters
from waitbench.model.worker import ServiceFile, WorkerFile
from waitbench.system.ports import is_listened_to
from waitbench.system.variables import of_workload


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server that a run needs, started before it and stopped after it."""

    name: str
    file: ServiceFile
    values: dict[str, str]
    """What stands in braces; all services of a run share it."""

    def command(self, port: int, folder: Path) -> Sequence[str]:
        """Its command line, given its port and its folder, which those after it may be told."""
        self.values.update({f"{self.name}.port": str(port), f"{self.name}.folder": str(folder)})
        return self._words(self.file.command, port, folder)

    def counting(self, port: int, folder: Path) -> Sequence[str]:
        """The command line that prints what it has counted, if there is one."""
        return self._words(self.file.counters, port, folder)

    def asking(self, port: int) -> Sequence[str]:
        """The command line that exits with 0 when it is up; none where its port tells."""
        return filled(self.file.ready.command, {"port": str(port), "here": self.values["here"]})

    def is_up(self, port: int) -> bool:
        """Whether it is up, by its port."""
        words = self.asking(port)
        if not words:
            return is_listened_to(port)
        try:
            asked = subprocess.run(
                words,
                capture_output=True,
                timeout=self.file.ready.within,
                check=False,
                # As the service itself: without a proxy, among others.
                env=of_workload(),
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return asked.returncode == 0

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


def services_of(worker: WorkerFile, parameters: Parameters, python: Path) -> Sequence[Service]:
    """The services of a run, in the order in which they start."""
    values = {name: str(parameters[name]) for name in worker.parameters}
    values.update(python=str(python), here=str(worker.path.parent))
    return [Service(name=name, file=one, values=values) for name, one in worker.services.items()]
