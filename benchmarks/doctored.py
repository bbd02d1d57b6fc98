r"""How often the gate finds a real rise of what waiting costs: bytewax doctored to spend more.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --kind wakeups --rise 0.10 [--trials 20] \
        [--processes 2] [--results FOLDER] [--unprivileged] [-- OPTIONS OF compare.sh]

WHEEL is a real bytewax wheel, such as one in .bench/wheels/. First both scenarios that mostly wait
are measured with it. Then a copy is made with benchmarks/load.py in it: in these two scenarios each
process does more of one kind, for ``--rise`` of what the original was measured to do; in the others
nothing. The kinds are wake-ups, system calls, and steady CPU spent in system calls or in user code.
What it really rose by is measured in a comparison of both, and printed. Each trial then is one
``./compare.sh base=WHEEL new=COPY --gate --fail-fast`` with what follows ``--``; other criteria
behind ``--`` take the place of these two options. With ``--results``, what is there is not made
again, and all kinds share the measurement of the original.
"""

import io
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks import load
from benchmarks.common import add_results, command_line, results_folder, split
from benchmarks.trials import NEW, Comparer, Trial, gate_options, numbered, text
from waitbench.analysis.rounds import paired_by_round
from waitbench.analysis.statistics import Estimate, geometric_mean, log_ratios
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Record

WAITING = ("partitioned-long-input", "dynamic-long-input")
RISES_OF = {"wakeups": "wakeups", "syscalls": "syscalls", "system": "steady", "user": "steady"}
"""By kind of load, the metric whose rate the rise is a share of."""
SHOWN = ("wakeups", "syscalls", "steady", "steady-user", "steady-system", "cpu")
CHECKED = ("--gate", "--max-rounds", "5", *(part for name in WAITING for part in ("-s", name)))
"""Options of the comparisons that only measure."""

RUN_MODULE = "bytewax/run.py"
LOAD_MODULE = "bytewax/doctored_load.py"
START = "    cli_main(**kwargs)\n"
"""The line that starts the workers."""
DOCTORED = """\
    import sys
    from bytewax import doctored_load
    doctored_load.start({kind!r}, {rates!r}, sys.argv)
"""


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
    parser.add_argument("--kind", choices=list(load.LOADS), required=True)
    parser.add_argument("--rise", type=float, required=True, help="a share, such as 0.25")
    parser.add_argument("--processes", "-p", type=int, default=2)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--unprivileged", action="store_true", help="without counters and samplers")
    add_results(parser)
    options = parser.parse_args(own)
    processes = ("-p", str(options.processes))
    with results_folder(options.results) as results:
        measuring = Comparer(results=results, options=(*processes, *CHECKED))
        wheel = str(options.wheel.absolute())
        original = measuring.make(f"original-{options.processes}", wheel, wheel)
        rates = rates_of(original.records, RISES_OF[options.kind], options.processes)
        if len(rates) < len(WAITING):
            sys.exit(
                f"{RISES_OF[options.kind]}: not measured, so it cannot be raised. Allow it "
                f"(./waitbench doctor), let the machine rest, and name another folder."
            )
        for module, rate in rates.items():
            print(f"{module}: {rate:,.4g} {RISES_OF[options.kind]} a second and process")
        name = f"{options.kind}-{options.rise:g}-{options.processes}"
        added = {module: rate * options.rise for module, rate in rates.items()}
        copy = str(doctor(options.wheel, results / name, options.kind, added))
        check = measuring.make(f"{name}/check", wheel, copy)
        print("\n".join(lines_of(realised([check.records]))), flush=True)
        trying = Comparer(
            results=results / name / ("unprivileged" if options.unprivileged else "trials"),
            options=(*processes, *gate_options(passed_on, "--gate", "--fail-fast")),
            unprivileged=options.unprivileged,
        )
        trials = []
        for number, trial_name in numbered(options.trials):
            trials.append(trying.make(trial_name, wheel, copy))
            print(f"trial {number}: {line_of(trials[-1])}", flush=True)
        if trials:
            print("\n".join(summary(trials)))


def rates_of(records: Sequence[Record], metric: str, processes: int) -> dict[str, float]:
    """What each process did a second in the steady phase, by family; those that were measured."""
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
        if each and record.family is not None:
            rates[record.family] = fmean(each)
    return rates


def doctor(wheel: Path, folder: Path, kind: str, rates: Mapping[str, float]) -> Path:
    """Writes a copy of a wheel, whose workers start a load, into a folder; returns its path.

    Equal loads give equal files, so that the environment of the copy is made only once. Exits if
    the folder has another one: trials with it are not trials with this.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(written, "w") as output:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == RUN_MODULE:
                head, line, tail = content.decode().partition(START)
                if not line:
                    sys.exit(f"{wheel.name}: {RUN_MODULE} does not start workers as expected.")
                added = DOCTORED.format(kind=kind, rates=dict(rates))
                content = (head + added + line + tail).encode()
                module = zipfile.ZipInfo(LOAD_MODULE, member.date_time)
                module.external_attr = member.external_attr
                output.writestr(module, Path(load.__file__).read_bytes())
            output.writestr(member, content)
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
                found += log_ratios(pairs, BY_NAME[name])
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
    found = "missed" if trial.passed else f"found by {'; '.join(map(text, trial.failures))}"
    return f"{found}; {trial.rounds} rounds; {trial.times}"


def summary(trials: Sequence[Trial]) -> list[str]:
    """What all trials came to."""
    found = [trial for trial in trials if not trial.passed]
    by = Counter(name for t in found for name in {failure["criterion"] for failure in t.failures})
    return [
        f"found {len(found)} of {len(trials)}, by "
        + (", ".join(f"{name} ({count})" for name, count in by.most_common()) or "nothing"),
        f"median {median(trial.wall_s for trial in trials):.0f} s, "
        f"of which {median(trial.measuring_s for trial in trials):.0f} s measuring; "
        f"at most {max(trial.wall_s for trial in trials):.0f} s",
        *lines_of(realised(trial.records for trial in trials)),
    ]


if __name__ == "__main__":
    main()
