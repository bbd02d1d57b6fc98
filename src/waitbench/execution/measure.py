"""One planned run -> a Measurement, or an Outcome that says why there is none."""

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from waitbench.execution.accounting import incomplete_in, marks_of, metrics_of
from waitbench.execution.batch import Place
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.hyperfine import Hyperfine, parse_export
from waitbench.execution.identity import why_foreign
from waitbench.execution.launch_report import FAILURE, HAS_ENDED, METRICS, REPORT, REPORTS
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import STOP, WINDOW, Quantity
from waitbench.model.run import (
    ENDED,
    FAILED,
    LOST_ITEMS,
    NOT_SUPPORTED,
    TIMED_OUT,
    WARM_UP,
    Lack,
    Measurement,
    Outcome,
    PlannedRun,
    Result,
)
from waitbench.system import endings, files, locks
from waitbench.system.processes import MOST_OUTPUT, tail
from waitbench.system.watch import Reading, observed


class _NoMeasurement(Exception):
    """Why a run does not count."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Interrupted(endings.Ended):
    """The end of the harness amid runs at once, with what came of those that were over."""

    def __init__(self, results: Sequence[Result]) -> None:
        super().__init__()
        self.results = results


_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = re.compile(
    r"^(?:The above exception was the direct cause of|During handling of the above).*\n",
    re.MULTILINE,
)
_EXCEPTION = re.compile(r"^ .*\n(\S.*)$", re.MULTILINE)
"""The line behind a traceback names it."""
_MOST_LINES, _MOST_WORDS = 200, 200
"""Of the end of its output, and characters of each of its exceptions."""


@dataclass(frozen=True)
class Measurer:
    """Measures planned runs, one at a time or side by side."""

    hyperfine: Hyperfine
    bench: Bench

    def measure(self, planned: PlannedRun) -> Result:
        """Runs it once. Whatever a workload does is an outcome, never an exception."""
        (result,) = self.measure_together([planned], math.inf)
        return result

    def measure_together(self, planned: Sequence[PlannedRun], ends_alone_s: float) -> list[Result]:
        """Makes several runs at once, which begin in this order when the services of all are up.

        What each uses is not of others to its siblings, if it is measured: else nobody knows it.
        Raises ``Interrupted``; of whose results nobody knows what others used.
        """
        with ExitStack() as stack:
            runs = [_Run(one) for one in planned]
            if planned[1:] and planned[0].scenario.is_command:
                folder = stack.enter_context(locks.own_folder(self.bench.cache.folder("runs")))
                for number, run in enumerate(runs):
                    run.place = Place(str(folder), number, len(runs), ends_alone_s)
                    run.place.enter()
            endings.side_by_side(partial(self._prepare, stack), runs)
            before, used_s = Reading.now(), time.process_time()
            try:
                endings.side_by_side(self._carry_out, runs)
            except endings.Ended as ended:
                raise Interrupted(self._results(runs)) from ended
            after, used_s = Reading.now(), time.process_time() - used_s
            results = self._results(runs)
        assert len(results) == len(runs), "each is measured, or has failed"
        others = observed(before, after, used_s + sum(run.used_s for run in runs))
        return [
            structs.replace(one, metrics={**one.metrics, **others})
            if isinstance(one, Measurement)
            else one
            for one in results
        ]

    def _prepare(self, stack: ExitStack, run: "_Run") -> None:
        scenario, label = run.planned.scenario, run.planned.label
        missing = self.bench.what_is_missing(scenario, label)
        if missing is not None:
            run.fail(NOT_SUPPORTED, missing)
            return
        with run.guarded():
            # Once is enough, but the warm-up is not recorded.
            tells = run.planned.round <= WARM_UP + 1
            run.ready = stack.enter_context(
                self.bench.prepare(scenario, label, run.place, tells=tells)
            )

    def _carry_out(self, run: "_Run") -> None:
        try:
            if run.ready:
                with run.guarded():
                    services_s = run.ready.services.cpu_s()
                    run.real_s = self._time(run.ready)
                    run.used_s = run.ready.services.cpu_s() - services_s
        finally:
            run.place.leave()

    def _results(self, runs: Sequence["_Run"]) -> list[Result]:
        """What came of runs, but for those that the end of the harness has interrupted."""
        found: list[Result] = []
        for run in runs:
            if run.ready and run.real_s and not run.failure:
                with run.guarded():
                    found.append(self._read(run, run.ready))
            if run.failure:
                found.append(run.failure)
        return found

    def _read(self, run: "_Run", ready: ReadyRun) -> Measurement:
        """Gathers what everyone saw of a run. Raises ``_NoMeasurement``."""
        planned, scenario = run.planned, run.planned.scenario
        try:
            launched = json.loads((ready.folder / REPORT).read_bytes())
            # Where none is awaited, whatever lies there is a worker's own invention.
            probes = (ready.folder / REPORTS).glob("*.json") if scenario.is_observed else ()
            reports = [json.loads(path.read_bytes()) for path in sorted(probes)]
            _require_complete(reports, scenario.expected_items(self.bench.topology))
            # What is no number would be on no side of what is allowed.
            metrics = msgspec.convert(
                metrics_of(run.real_s, launched, reports), dict[str, Quantity]
            )
            marks = marks_of(launched)
            incomplete = msgspec.convert(incomplete_in(launched), dict[str, Lack])
        # Reports are written by code under test.
        except (
            OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError,
            RecursionError,
        ) as error:  # fmt: skip
            what = f"{type(error).__name__}: {error}"[:200]
            raise _NoMeasurement(FAILED, f"a process's report cannot be read ({what})") from error
        run.used_s += metrics["time_cpu"] + metrics["time_cpu_launcher"]
        metrics |= launched.get("totals", {})
        copies = scenario.started_as(self.bench.topology).processes
        written = [ready.folder / f"{METRICS}-{number}.jsonl" for number in range(copies)]
        try:
            metrics |= scenario.written_metrics(written)
        except ValueError as error:
            # A worker that was killed may have written nothing.
            if STOP.key not in incomplete:
                raise _NoMeasurement(FAILED, str(error)) from error
            own = (one.key for one in scenario.metrics if one.is_own)
            incomplete |= dict.fromkeys(own, Lack(why=str(error)))
        environment, loaded = self.bench.environments[planned.label], launched.get("loaded", ())
        if ready.modules and (why := why_foreign(loaded, ready.modules, environment, ready.told)):
            raise _NoMeasurement(FAILED, why)
        known = {WINDOW, *(metric.key for metric in scenario.metrics)}
        return Measurement(
            label=planned.label,
            round=planned.round,
            position=planned.position,
            started_at=run.started_at,
            metrics={key: value for key, value in metrics.items() if key in known},
            marks=marks,
            incomplete=incomplete,
            left=str(launched.get("left", "")),
            loaded={} if ready.modules else {path: files.sha256(Path(path)) for path in loaded},
        )

    def _time(self, ready: ReadyRun) -> float:
        """Has hyperfine run it once; the seconds that took. Raises ``_NoMeasurement``."""
        export, stderr_file = ready.folder / "export.json", ready.folder / "stderr"
        with (ready.folder / "stdout").open("wb") as stdout, stderr_file.open("wb") as stderr:
            command = self.hyperfine.arguments(ready.command, export)
            finished = ready.carry_out(command, stdout=stdout, stderr=stderr)
        if finished.wrote_too_much:
            limit = f"{MOST_OUTPUT // 2**20} MiB"
            raise _NoMeasurement(
                FAILED, f"it wrote more than {limit} to its output; killed with all its processes"
            )
        if finished.timed_out:
            limit = f"{ready.time_limit_s:g} s"
            raise _NoMeasurement(
                TIMED_OUT, f"still running after {limit}; killed with all its processes"
            )
        if finished.returncode != 0 or not export.exists():
            raise _NoMeasurement(FAILED, f"hyperfine ended with exit code {finished.returncode}")
        real_s, exit_code = parse_export(export.read_text("utf-8", "replace"))
        for name, reason in ((FAILURE, FAILED), (HAS_ENDED, ENDED)):
            if (why := ready.folder / name).exists():
                last_words = _last_words(stderr_file) or _last_words(ready.folder / "stdout")
                raise _NoMeasurement(reason, why.read_text("utf-8", "replace") + last_words)
        if exit_code != 0:
            raise _NoMeasurement(
                FAILED,
                f"the dataflow ended with exit code {exit_code}{_last_words(stderr_file)}",
            )
        left = finished.leftovers
        if left:
            processes = "1 process" if left == 1 else f"{left} processes"
            raise _NoMeasurement(FAILED, f"{processes} still ran after the launcher's end; killed")
        return real_s


@dataclass
class _Run:
    """A run that is being made."""

    planned: PlannedRun
    place: Place = field(default_factory=Place)
    started_at: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    )
    ready: ReadyRun | None = None
    real_s: float = 0.0
    used_s: float = 0.0
    """CPU of all that it started, of its launcher and of its services, if it is measured."""
    failure: Outcome | None = None

    def fail(self, reason: str, message: str, log: str = "") -> None:
        if endings.was_ended():
            return  # it was killed with all others
        self.failure = Outcome(
            label=self.planned.label,
            round=self.planned.round,
            position=self.planned.position,
            started_at=self.started_at,
            reason=reason,
            message=message,
            log=log,
        )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Whatever goes wrong in the block is the outcome of the run."""
        try:
            yield
        except _NoMeasurement as why:
            assert self.ready is not None, "it has been run"
            printed = (
                tail(self.ready.folder / "stdout", 10),
                tail(self.ready.folder / "stderr", 20),
                self.ready.services.last_words(),
            )
            log = "\n".join(printed).strip()
            # Whoever waited for a service that is gone is not to blame.
            if ended := self.ready.services.ended():
                self.fail(FAILED, ended, log)
            else:
                self.fail(why.reason, str(why), log)
        except HarnessError as error:  # a service that does not start, or that has ended
            self.fail(FAILED, error.reason, str(error))


def _require_complete(reports: Sequence[Mapping[str, Any]], expected: int | None) -> None:
    """Every item that went in must have come out. Raises ``_NoMeasurement``."""
    items_in = sum(report["items_in"] for report in reports)
    items_out = sum(report["items_out"] for report in reports)
    if expected is None:
        if items_in != items_out:
            raise _NoMeasurement(LOST_ITEMS, f"{items_in} items went in, {items_out} came out")
        return
    if not reports or items_in != expected or items_out != expected:
        raise _NoMeasurement(
            LOST_ITEMS, f"{expected} items expected, {items_in} went in, {items_out} came out"
        )
    # Items are numbered from 0, so their sum is known; it catches one lost and another doubled.
    due = expected * (expected - 1) // 2
    for key in ("ident_sum_in", "ident_sum_out"):
        if sum(report[key] for report in reports) != due:
            raise _NoMeasurement(
                LOST_ITEMS, f"{expected} items came out, but not the {expected} that were expected"
            )


def _last_words(output: Path) -> str:
    """What happened: the last line, and the exceptions that it came from, the nearest first.

    The whole is in the log.
    """
    lines = tail(output, _MOST_LINES).splitlines(keepends=True)
    text = "".join(
        line for line in lines if line.strip() and "Ignoring non-zero exit code" not in line
    )
    parts = _CHAINED.split(text)[::-1]
    words = parts[0].splitlines()[-1:]
    for part, cause in pairwise(parts):
        exceptions = _EXCEPTION.findall(cause)
        # A second traceback in a part is the end of one chain and the beginning of another.
        if not exceptions or part.count(_TRACEBACK) != 1:
            break
        words.append(exceptions[-1])
    return f": {'; from '.join(one.strip()[:_MOST_WORDS] for one in words)}" if words else ""
