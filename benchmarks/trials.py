"""Comparisons that a benchmark has ``./compare.sh`` make: each made once, kept, and read again."""

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waitbench.model.record import Record
from waitbench.store import comparisons
from waitbench.system.places import ROOT

BASE, NEW = "base", "new"
"""The labels of the two revisions of a trial."""

Judgement = Mapping[str, Any]
"""One of the ``judgements`` of a verdict.json: docs/verdict.md."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One comparison that the gate has judged."""

    wall_s: float
    """Of the whole command."""
    verdict: Mapping[str, Any]
    """What verdict.json holds."""
    records: Sequence[Record]

    @property
    def outcome(self) -> str:
        """What the gate said: pass, fail, inconclusive or not measured."""
        return str(self.verdict["outcome"])

    @property
    def failures(self) -> list[Judgement]:
        """The judgements that made it fail."""
        return [judgement for judgement in self.verdict["judgements"] if judgement["fails"]]

    @property
    def open(self) -> list[Judgement]:
        """The judgements that were given up."""
        return [one for one in self.verdict["judgements"] if one["verdict"] == "inconclusive"]

    @property
    def reasons(self) -> list[str]:
        """What keeps it from a pass."""
        return [note["text"] for note in self.verdict["notes"] if note["level"] in ("✗", "?", "!")]

    @property
    def settled(self) -> float:
        """The share of judgements that were not given up."""
        return 1 - len(self.open) / max(1, len(self.verdict["judgements"]))

    @property
    def rounds(self) -> int:
        """The most that any judgement rests on."""
        return max((int(one["rounds"]) for one in self.verdict["judgements"]), default=0)


@dataclass(frozen=True, kw_only=True)
class Comparer:
    """Has comparisons made, one after the other, all with the same options."""

    results: Path
    options: tuple[str, ...]
    program: tuple[str, ...] = ("./compare.sh",)

    def make(self, name: str, base: str, new: str, *options: str) -> Trial:
        """Makes the comparison ``name``, or reads the one that is there. Exits where it fails."""
        folder, made = self.results / name, self.results / f"{name}.made.json"
        command = [*self.program, f"{BASE}={base}", f"{NEW}={new}", "--no-plot", "--quiet"]
        command += [*self.options, *options]
        if not made.exists():
            # Never begun, or interrupted half-way.
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            before = time.monotonic()
            done = subprocess.run(
                [*command, "--results", str(folder)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            wall_s = time.monotonic() - before
            if done.returncode not in (0, 1, 3) or not (folder / "verdict.json").exists():
                sys.exit(f"{done.stdout}{done.stderr}{name}: exit code {done.returncode}")
            made.write_text(json.dumps({"wall_s": wall_s, "command": command}))
        kept = json.loads(made.read_text())
        if kept["command"] != command:
            sys.exit(f"{folder} was made by another command: {' '.join(kept['command'])}")
        return read(folder, kept["wall_s"])


def read(folder: Path, wall_s: float) -> Trial:
    """The trial whose results are in a folder."""
    records = comparisons.read(folder).records
    return Trial(
        wall_s=wall_s,
        verdict=json.loads((folder / "verdict.json").read_text()),
        records=records,
    )


def gate_options(passed_on: Sequence[str], *default: str) -> tuple[str, ...]:
    """Options of compare.sh: those passed on, behind ``default`` unless they turn the gate on."""
    on = any(option.startswith(("--gate", "--fail-on")) for option in passed_on)
    return (*(() if on else default), *passed_on)


def text(judgement: Judgement) -> str:
    """A judgement in a few words."""
    said = f"{judgement['criterion']} in {judgement['scenario']}: {judgement['verdict']}"
    if judgement["ratio"] is None:
        return said
    return f"{said} ×{judgement['ratio']['value']:.3g} after {judgement['rounds']} rounds"


def outcomes(trials: Sequence[Trial]) -> str:
    """How many trials came to what, the most frequent first."""
    counts = Counter(trial.outcome for trial in trials)
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())


def numbered(count: int) -> Iterator[tuple[int, str]]:
    """Numbers of trials from 1, and the name of each."""
    return ((number, f"trial-{number:03d}") for number in range(1, count + 1))
