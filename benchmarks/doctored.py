r"""How often the gate finds a real regression of what waiting costs: bytewax doctored to have it.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --kind late-busy [--trials 10] \
        [--processes 1] [--results FOLDER] [-- OPTIONS OF compare.sh]
    .bench/venv/bin/python benchmarks/doctored.py WHEEL --kind wakeups --rise 0.10 [...]

WHEEL is a real bytewax wheel of 0.18 or later, as ``pip download`` fetches one. A copy is made with
benchmarks/load.py in it, and each trial is one ``./compare.sh base=WHEEL new=COPY --gate`` with
what follows ``--``; other criteria behind ``--`` take the place of ``--gate``.

Without ``--rise`` the copy has a regression of the ways in which they really come, everywhere;
``--kind all`` tries each in turn. With ``--rise``, each process of both scenarios that mostly wait
does more of one kind (wake-ups, system calls, or steady CPU spent in system calls or in user code),
for that share of what a comparison of the original with itself finds it to do first; what it really
rose by is measured in a comparison of both. Last it is printed what all trials found the figures of
the scenarios that wait to differ by. With ``--results``, what is there is not made again.
"""

import io
import sys
import zipfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks import load
from benchmarks.common import add_results, command_line, results_folder, split
from benchmarks.trials import NEW, Comparer, Trial, gate_options, numbered, outcomes, text
from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.statistics import Estimate, geometric_mean, log_ratios
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record

ALL = "all"
"""Every regression in turn."""
WAITING = ("partitioned-long-input", "dynamic-long-input")
RISES_OF = {"wakeups": "wakeups", "syscalls": "syscalls", "system": "steady", "user": "steady"}
"""By kind of load, the metric whose rate the rise is a share of."""
SHOWN = (
    "wakeups", "syscalls", "steady", "steady-user", "steady-system", "cpu", "cpu-startup",
    "cpu-shutdown", "startup", "shutdown", "latency-p50", "rss",
)  # fmt: skip
CHECKED = ("--gate", "--rounds", "6", *(part for name in WAITING for part in ("-s", name)))
"""Options of the comparisons that only measure."""

PACKAGE = "bytewax/__init__.py"
SINKS = "bytewax/outputs.py"
LOAD_MODULE = "bytewax/doctored_load.py"
LOAD_PATH = Path(load.__file__)
SINK = "StatelessSinkPartition"
BEGIN = "from bytewax import doctored_load\n\ndoctored_load.begin({kind!r}, {rates!r})\n"
HOOK = f"\nfrom bytewax import doctored_load\n\ndoctored_load.hook({SINK})\n"


@dataclass(frozen=True, kw_only=True)
class Realised:
    """What a metric rose by in a scenario."""

    scenario: str
    metric: str
    ratio: Estimate


def main() -> None:
    own, passed_on = split(sys.argv[1:])
    parser = command_line(__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    kinds = sorted({*load.RISES, *load.REGRESSIONS, ALL})
    parser.add_argument("--kind", choices=kinds, required=True)
    parser.add_argument("--rise", type=float, help="a share, such as 0.25")
    parser.add_argument("--processes", "-p", type=int, default=1)
    parser.add_argument("--trials", type=int, default=10)
    add_results(parser)
    options = parser.parse_args(own)
    if options.kind not in (load.RISES if options.rise is not None else (*load.REGRESSIONS, ALL)):
        parser.error(f"--kind {options.kind}: {', '.join(load.RISES)} are for --rise, others not")
    with results_folder(options.results) as results:
        for kind in load.REGRESSIONS if options.kind == ALL else (options.kind,):
            name = f"{kind}-{options.processes}"
            if options.rise is None:
                copy = doctor(options.wheel, results / name, kind)
            else:
                name = f"{kind}-{options.rise:g}-{options.processes}"
                copy = _with_rise(options, results, name)
            trying = Comparer(
                results=results / name / "trials",
                options=("-p", str(options.processes), *gate_options(passed_on, "--gate")),
            )
            print(f"{name}:", flush=True)
            trials = []
            for number, trial in numbered(options.trials):
                trials.append(trying.make(trial, str(options.wheel.absolute()), str(copy)))
                print(f"trial {number}: {line_of(trials[-1])}", flush=True)
            if trials:
                print("\n".join(summary(trials)), flush=True)


def _with_rise(options: Namespace, results: Path, name: str) -> Path:
    """A copy that does more of one kind, for a share of what the original does."""
    wheel, processes, metric = options.wheel, options.processes, RISES_OF[options.kind]
    measuring = Comparer(results=results, options=("-p", str(processes), *CHECKED))
    original = str(wheel.absolute())
    rates = rates_of(
        measuring.make(f"original-{processes}", original, original).records, metric, processes
    )
    if len(rates) < len(WAITING):
        sys.exit(
            f"{metric}: not measured, so it cannot be raised. Allow it (./waitbench doctor), let "
            "the machine rest, and name another folder."
        )
    for module, rate in rates.items():
        print(f"{module}: {rate:,.4g} {metric} a second and process")
    added = {module: rate * options.rise for module, rate in rates.items()}
    copy = doctor(wheel, results / name, options.kind, added)
    check = measuring.make(f"{name}/check", original, str(copy))
    print("\n".join(lines_of(realised([check.records]))), flush=True)
    return copy


def rates_of(records: Sequence[Record], metric: str, processes: int) -> dict[str, float]:
    """What each process did a second in the steady phase, by dataflow; those that were measured."""
    key, steady, share = (BY_NAME[name].key for name in (metric, "steady", "share"))
    rates: dict[str, float] = {}
    for record in records:
        # The share is that of all workers together, and so are the others: the quotient of CPU
        # time and share is how long each of them was in its steady phase.
        each = [
            run.metrics[key] / (run.metrics[steady] / run.metrics[share]) / processes
            for run in record.measurements
            if key in run.metrics
        ]
        if each:
            rates[record.scenario.partition("-")[0]] = fmean(each)
    return rates


def doctor(wheel: Path, folder: Path, kind: str, rates: Mapping[str, float] | None = None) -> Path:
    """Writes a copy of a wheel, whose processes begin a load, into a folder; returns its path.

    With rates it is a rise, else a regression. Equal loads give equal files, so that the
    environment of the copy is made only once. Exits if the folder has another one: trials with it
    are not trials with this.
    """
    written = io.BytesIO()
    begin = BEGIN.format(kind=kind, rates=rates and dict(rates))
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
                hook = HOOK.encode() if member.filename == SINKS else b""
                output.writestr(member, content + hook)
    copy = folder / wheel.name
    if copy.exists() and copy.read_bytes() != written.getvalue():
        sys.exit(f"{copy} has another load: name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(written.getvalue())
    return copy


def realised(comparisons: Iterable[Sequence[Record]]) -> list[Realised]:
    """What each metric of the waiting scenarios rose by, over all rounds of some comparisons."""
    logs: dict[tuple[str, str], list[float]] = {}
    for records in comparisons:
        for record in records:
            for name in SHOWN if record.scenario in WAITING else ():
                pairs = [*paired_by_round(record, NEW, BY_NAME[name]).values()]
                found = logs.setdefault((record.scenario, name), [])
                found += log_ratios(pairs, BY_NAME[name].floor)
    return [
        Realised(scenario=scenario, metric=metric, ratio=geometric_mean(found))
        for (scenario, metric), found in logs.items()
        if found
    ]


def lines_of(rises: Sequence[Realised]) -> list[str]:
    """A line for each metric and scenario."""
    lines = []
    for rise in rises:
        low, high = ((bound or rise.ratio.value) - 1 for bound in (rise.ratio.low, rise.ratio.high))
        lines.append(
            f"{rise.scenario}: {rise.metric} {rise.ratio.value - 1:+.1%} "
            f"(95 % CI {low:+.1%} to {high:+.1%}, {rise.ratio.count} pairs)"
        )
    return lines


def line_of(trial: Trial) -> str:
    """What one trial came to."""
    why = map(text, trial.failures) if trial.failures else trial.reasons
    return f"{'; '.join([trial.outcome, *why])}; {trial.rounds} rounds; {trial.wall_s:.0f} s"


def summary(trials: Sequence[Trial]) -> list[str]:
    """What all trials came to."""
    found = [trial for trial in trials if trial.failures]
    by = Counter(name for t in found for name in {failure["criterion"] for failure in t.failures})
    return [
        f"found {len(found)} of {len(trials)}, by "
        + (", ".join(f"{name} ({count})" for name, count in by.most_common()) or "nothing"),
        outcomes(trials),
        f"median {median(trial.wall_s for trial in trials):.0f} s, "
        f"at most {max(trial.wall_s for trial in trials):.0f} s",
        *lines_of(realised(trial.records for trial in trials)),
    ]


if __name__ == "__main__":
    main()
