r"""How often the gate finds a real regression of what waiting costs: bytewax doctored to have it.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --kind late-busy [--trials 10] \
        [--processes 1] [--results FOLDER] [-- OPTIONS OF compare.sh]

WHEEL is a real bytewax wheel of 0.18 or later, as ``pip download`` fetches one. A copy is made with
benchmarks/load.py in it, which has a regression of the ways in which they really come. Each trial
is one ``./compare.sh base=WHEEL new=COPY --gate`` with what follows ``--``. ``--kind all`` tries
each regression in turn. With ``--results``, what is there is not made again.

``parked`` sleeps in a step: its baseline is another copy, whose step sleeps for 0 s.
"""

import io
import json
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import load
from benchmarks.common import command_line
from waitbench.system.paths import ROOT

ALL = "all"
"""Every regression in turn."""

PACKAGE = "bytewax/__init__.py"
SINKS = "bytewax/outputs.py"
OPERATORS = "bytewax/operators/__init__.py"
LOAD_MODULE = "bytewax/doctored_load.py"
LOAD_PATH = Path(load.__file__)
SINK = "StatelessSinkPartition"
BEGIN = "from bytewax import doctored_load\n\ndoctored_load.begin({kind!r})\n"
HOOKS = {
    SINKS: f"\nfrom bytewax import doctored_load\n\ndoctored_load.hook({SINK})\n",
    OPERATORS: "\nfrom bytewax import doctored_load\n\nmap = doctored_load.hook_map(map)\n",
}

Judgement = Mapping[str, Any]
"""One of the ``judgements`` of a verdict.json: docs/verdict.md."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One comparison that the gate has judged."""

    wall_s: float
    """Of the whole command."""
    verdict: Mapping[str, Any]
    """What verdict.json holds."""

    @property
    def outcome(self) -> str:
        """What the gate said: pass, fail, inconclusive or not measured."""
        return str(self.verdict["outcome"])

    @property
    def failures(self) -> list[Judgement]:
        """The judgements that made it fail."""
        return [judgement for judgement in self.verdict["judgements"] if judgement["fails"]]

    @property
    def reasons(self) -> list[str]:
        """What keeps it from a pass: how it ended, and the first of the reasons."""
        notes = self.verdict["notes"]
        return [note["text"] for note in notes if note["level"] in ("✗", "?", "!")][:2]

    @property
    def rounds(self) -> int:
        """The most that any judgement rests on."""
        return max((int(one["rounds"]) for one in self.verdict["judgements"]), default=0)


def main() -> None:
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    own, passed_on = sys.argv[1:end], sys.argv[end + 1 :]
    parser = command_line(__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--kind", choices=sorted({*load.REGRESSIONS, ALL}), required=True)
    parser.add_argument("--processes", "-p", type=int, default=1)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--results", type=Path, metavar="FOLDER")
    given = parser.parse_args(own)
    with results_folder(given.results) as results:
        for kind in load.REGRESSIONS if given.kind == ALL else (given.kind,):
            name = f"{kind}-{given.processes}"
            copy, base = doctor(given.wheel, results / name, kind), given.wheel.absolute()
            if (twin := f"{kind}-twin") in load.TWINS:
                base = doctor(given.wheel, results / twin, twin)
            revisions = f"base={base}", f"new={copy}"
            options = ("--no-plot", "--quiet", "-p", str(given.processes), "--gate", *passed_on)
            print(f"{name}:", flush=True)
            trials = []
            for number in range(1, given.trials + 1):
                folder = results / name / "trials" / f"trial-{number:03d}"
                trials.append(make(folder, ["./compare.sh", *revisions, *options]))
                print(f"trial {number}: {line_of(trials[-1])}", flush=True)
            if trials:
                print("\n".join(summary(trials)), flush=True)


@contextmanager
def results_folder(given: Path | None) -> Iterator[Path]:
    """The folder that was given, or one that is gone in the end."""
    if given is None:
        with TemporaryDirectory() as name:
            yield Path(name)
    else:
        given.mkdir(parents=True, exist_ok=True)
        yield given.absolute()


def make(folder: Path, command: Sequence[str]) -> Trial:
    """Makes a comparison in a folder, or reads the one that is there. Exits where it fails."""
    made = folder.with_suffix(".made.json")
    if not made.exists():
        # Never begun, or interrupted half-way.
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        before = time.monotonic()
        done = subprocess.run(
            [*command, "--results", str(folder)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        wall_s = time.monotonic() - before
        if done.returncode not in (0, 1, 3) or not (folder / "verdict.json").exists():
            sys.exit(f"{done.stdout}{done.stderr}{folder}: exit code {done.returncode}")
        made.write_text(json.dumps({"wall_s": wall_s, "command": command}))
    kept = json.loads(made.read_text())
    if kept["command"] != command:
        sys.exit(f"{folder} was made by another command: {' '.join(kept['command'])}")
    verdict = json.loads((folder / "verdict.json").read_text())
    return Trial(wall_s=kept["wall_s"], verdict=verdict)


def doctor(wheel: Path, folder: Path, kind: str) -> Path:
    """Writes a copy of a wheel, whose processes begin a load, into a folder; returns its path.

    Equal loads give equal files, so that the environment of the copy is made only once. Exits if
    the folder has another one: trials with it are not trials with this.
    """
    written = io.BytesIO()
    begin = BEGIN.format(kind=kind)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(written, "w") as output:
        if SINKS not in source.namelist() or f"class {SINK}(" not in source.read(SINKS).decode():
            sys.exit(f"{wheel.name}: {SINKS} has no {SINK}: name a wheel of 0.18 or later.")
        like = source.getinfo(SINKS)
        # Some releases have no such module: Python finds the package all the same.
        package = source.read(PACKAGE).decode() if PACKAGE in source.namelist() else ""
        for name, text in ((PACKAGE, begin + package), (LOAD_MODULE, LOAD_PATH.read_text())):
            added = zipfile.ZipInfo(name, like.date_time)
            added.external_attr = like.external_attr
            output.writestr(added, text)
        for member in source.infolist():
            if member.filename != PACKAGE:
                content = source.read(member)
                output.writestr(member, content + HOOKS.get(member.filename, "").encode())
    copy = folder / wheel.name
    if copy.exists() and copy.read_bytes() != written.getvalue():
        sys.exit(f"{copy} has another load: name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(written.getvalue())
    return copy


def text(judgement: Judgement) -> str:
    """A judgement in a few words."""
    said = f"{judgement['criterion']} in {judgement['scenario']}: {judgement['verdict']}"
    if judgement["ratio"] is None:
        return said
    return f"{said} ×{judgement['ratio']['value']:.3g} after {judgement['rounds']} rounds"


def line_of(trial: Trial) -> str:
    """What one trial came to."""
    why = map(text, trial.failures) if trial.failures else trial.reasons
    return f"{'; '.join([trial.outcome, *why])}; {trial.rounds} rounds; {trial.wall_s:.0f} s"


def summary(trials: Sequence[Trial]) -> list[str]:
    """What all trials came to."""
    counts = Counter(trial.outcome for trial in trials)
    found = [trial for trial in trials if trial.failures]
    by = Counter(name for t in found for name in {failure["criterion"] for failure in t.failures})
    return [
        f"found {len(found)} of {len(trials)}, by "
        + (", ".join(f"{name} ({count})" for name, count in by.most_common()) or "nothing"),
        ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()),
        f"median {median(trial.wall_s for trial in trials):.0f} s, "
        f"at most {max(trial.wall_s for trial in trials):.0f} s",
    ]


if __name__ == "__main__":
    main()
