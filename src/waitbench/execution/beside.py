"""What is beside a worker: its folder, output and services, and commands that ask or wake it."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waitbench.execution.counted_tree import Command, CountedTree
from waitbench.execution.launch_report import Failure
from waitbench.model.placeholders import filled
from waitbench.system.counters import asked
from waitbench.system.ports import free_port

METRICS = "metrics"
"""What the files are called, in the run's folder, that copies of a worker write to."""
OUTPUT = ("stdout", "stderr")
"""What the run's output goes to, in its folder."""


class Beside:
    """Knows what stands in braces, and runs commands in the worker's folder."""

    def __init__(self, run: Path, plain: Mapping[str, Any], tree: CountedTree, copy: int) -> None:
        """Knows what one of several copies of a worker needs, which have folders of their own."""
        self.tree = tree
        self.run = run
        self.plain = plain
        self.folder = run / (f"work-{copy}" if copy else "work")
        self.services: Mapping[str, Any] = plain["running"]
        self.values = {
            "folder": str(self.folder),
            "python": plain["python"],
            "here": str(Path(plain["path"]).parent),
            "revision": plain["revision"],
            "port": str(free_port()),
            "metrics": str(run / f"{METRICS}-{copy}.jsonl"),
            **{name: str(value) for name, value in plain["parameters"].items()},
            **{
                f"{name}.{part}": str(one[part])
                for name, one in self.services.items()
                for part in ("port", "folder")
            },
        }
        self._seen = dict.fromkeys(OUTPUT, 0)

    def forget_output(self) -> None:
        """From now on only what is written later counts as output."""
        self._seen = {name: _size(self.run / name) for name in OUTPUT}

    def command(self, words: Sequence[str]) -> Command:
        """Words with what stands in braces filled in. Raises ``Failure`` without the program."""
        words = filled(words, self.values)
        own = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_")}
        texts = self.plain["environment"]
        given = zip(texts, filled(list(texts.values()), self.values), strict=True)
        # A log that sits in a buffer tells nobody that it is ready.
        own |= {"PYTHONUNBUFFERED": "1", **dict(given)}
        program = shutil.which(words[0], path=own.get("PATH"))
        if program is None and not (self.folder / words[0]).is_file():
            raise Failure(f"there is no program {words[0]!r} on the PATH of the worker")
        return Command(program or words[0], words, own, self.folder)

    def call(self, words: Sequence[str], within_s: float) -> tuple[int | None, str]:
        """The exit code of a command, and what it printed; ``None`` where it took too long."""
        output = self.run / "called"
        code = self.tree.end_beside(self.tree.start_beside(self.command(words), output), within_s)
        return code, output.read_text("utf-8", "replace")

    def count_logged(self, pattern: str) -> int:
        """How often its output matches: two copies that share it may print into one line."""
        found, count = re.compile(pattern, re.MULTILINE), 0
        for name in OUTPUT:
            with (self.run / name).open("rb") as file:
                file.seek(self._seen[name])
                text = "\n".join(file.read().decode("utf-8", "replace").splitlines())
            count += sum(1 for _ in found.finditer(text))
        return count

    def is_silent(self) -> bool:
        """Whether it has printed nothing."""
        return all(_size(self.run / name) == 0 for name in OUTPUT)

    def service_counts(self) -> dict[str, dict[str, float]]:
        """By service what it has used so far, and what its own command says."""
        found: dict[str, dict[str, float]] = {}
        for name, service in self.services.items():
            try:
                found[name] = {"cpu_steady": asked(service["cpu"]) / 1e9}
            except OSError as error:
                raise Failure(f"the service {name} ended during the run") from error
            if not service["counters"]:
                continue
            code, said = self.call(service["counters"], 10.0)
            if code != 0:
                how = "took too long" if code is None else f"ended with exit code {code}"
                raise Failure(f"the command that counts for {name} {how}")
            for key, value in _counts(said):
                found[name][key] = found[name].get(key, 0.0) + value
        return found


def _counts(said: str) -> Iterator[tuple[str, float]]:
    for line in said.splitlines():
        parts = line.split()
        with suppress(ValueError):
            if len(parts) == 2:
                yield parts[0], float(parts[1])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
