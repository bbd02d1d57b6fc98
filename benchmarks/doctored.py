r"""Measures how often the gate finds regressions that are planted into a wheel of bytewax.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --kind late-busy [--trials 10] \
        [--processes 1] [--results FOLDER] [-- OPTIONS OF compare.sh]

WHEEL is a wheel of bytewax 0.18 or later, such as ``pip download`` fetches. A copy of it contains
benchmarks/load.py, which causes a regression. Each trial is a comparison ``./compare.sh base=WHEEL
new=COPY --gate``, with the options after ``--``. ``--kind all`` tries all regressions in turn.
Trials that the folder of ``--results`` already has are not repeated.

The baseline of ``parked``, which sleeps in a step, is another copy, which sleeps for 0 s.
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
"""The value of ``--kind`` for all regressions."""

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
    """The time that the command took."""
    verdict: Mapping[str, Any]
    """The content of verdict.json."""

    @property
    def outcome(self) -> str:
        """The verdict: pass, fail, inconclusive or not measured."""
        return str(self.verdict["outcome"])

    @property
    def failures(self) -> list[Judgement]:
        """The judgements by which the gate failed."""
        return [judgement for judgement in self.verdict["judgements"] if judgement["fails"]]

    @property
    def reasons(self) -> list[str]:
        """The first two notes that are not a pass: the outcome and a reason."""
        notes = self.verdict["notes"]
        return [note["text"] for note in notes if note["level"] in ("✗", "?", "!")][:2]

    @property
    def rounds(self) -> int:
        """The rounds of the judgement with most rounds."""
        return max((int(it["rounds"]) for it in self.verdict["judgements"]), default=0)


def main() -> None:
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, more_options = sys.argv[1:end], sys.argv[end + 1 :]
    parser = command_line(__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--kind", choices=sorted({*load.REGRESSIONS, ALL}), required=True)
    parser.add_argument("--processes", "-p", type=int, default=1)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--results", type=Path, metavar="FOLDER")
    given = parser.parse_args(arguments)
    with results_folder(given.results) as results:
        for kind in load.REGRESSIONS if given.kind == ALL else (given.kind,):
            name = f"{kind}-{given.processes}"
            copy, base = plant(given.wheel, results / name, kind), given.wheel.absolute()
            if (twin := f"{kind}-twin") in load.TWINS:
                base = plant(given.wheel, results / twin, twin)
            revisions = f"base={base}", f"new={copy}"
            options = (
                "--no-plot",
                "--quiet",
                "-p",
                str(given.processes),
                "--gate",
                *more_options,
            )
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
    """The given folder, or a temporary folder."""
    if given is None:
        with TemporaryDirectory() as name:
            yield Path(name)
    else:
        given.mkdir(parents=True, exist_ok=True)
        yield given.absolute()


def make(folder: Path, command: Sequence[str]) -> Trial:
    """Makes a comparison in a folder, or reads it from there. Exits this program if it fails."""
    made = folder.with_suffix(".made.json")
    if not made.exists():
        # The comparison was not begun, or was interrupted.
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
    facts = json.loads(made.read_text())
    if facts["command"] != command:
        sys.exit(f"{folder} was made by another command: {' '.join(facts['command'])}")
    verdict = json.loads((folder / "verdict.json").read_text())
    return Trial(wall_s=facts["wall_s"], verdict=verdict)


def plant(wheel: Path, folder: Path, kind: str) -> Path:
    """Writes a copy of a wheel with a regression into a folder; returns the path of the copy.

    Equal regressions give equal files, so that the virtualenv of the copy is built only once. Exits
    this program if the folder has another copy, because its trials would be mixed with these.
    """
    written = io.BytesIO()
    begin = BEGIN.format(kind=kind)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(written, "w") as output:
        if SINKS not in source.namelist() or f"class {SINK}(" not in source.read(SINKS).decode():
            sys.exit(f"{wheel.name}: {SINKS} has no {SINK}: name a wheel of 0.18 or later.")
        like = source.getinfo(SINKS)
        # Some releases have no __init__.py: Python imports the package nevertheless.
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
    answer = f"{judgement['criterion']} in {judgement['scenario']}: {judgement['verdict']}"
    if judgement["ratio"] is None:
        return answer
    return f"{answer} ×{judgement['ratio']['value']:.3g} after {judgement['rounds']} rounds"


def line_of(trial: Trial) -> str:
    """The line on the result of a trial."""
    why = map(text, trial.failures) if trial.failures else trial.reasons
    return f"{'; '.join([trial.outcome, *why])}; {trial.rounds} rounds; {trial.wall_s:.0f} s"


def summary(trials: Sequence[Trial]) -> list[str]:
    """Lines on the results of all trials."""
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
