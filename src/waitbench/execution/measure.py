"""One planned run -> a Measurement, or an Outcome that says why there is none."""

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from waitbench.execution.accounting import marks_of, metrics_of
from waitbench.execution.batch import Place
from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.hyperfine import Hyperfine, parse_export
from waitbench.execution.launch_report import FAILURE, HAS_ENDED, METRICS, REPORT, REPORTS
from waitbench.model.errors import HarnessError
from waitbench.model.metrics import FOREIGN_CPU, Quantity
from waitbench.model.run import (
    ENDED,
    FAILED,
    LOST_ITEMS,
    NOT_SUPPORTED,
    TIMED_OUT,
    Measurement,
    Outcome,
    PlannedRun,
    Result,
)
from waitbench.system import endings, locks
from waitbench.system.processes import MOST_OUTPUT, tail
from waitbench.system.watch import Reading, observed


class _NoMeasurement(Exception):
    """Why a run does not count."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


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

    def measure_together(
        self, planned: Sequence[PlannedRun], essential: str | None = None
    ) -> list[Result]:
        """Begins several at once, in this order; what each used is not of others to its siblings.

        If a run of the revision ``essential`` fails, no other is begun or waits any more. What a
        run without a measurement used is not known.
        """

        def measure(sibling: _Sibling) -> Result:
            try:
                result = self.measure(sibling.planned, sibling)
                if isinstance(result, Outcome) and result.label == essential:
                    sibling.place.give_up()
                return result
            finally:
                sibling.leave()

        with locks.own_folder(self.bench.cache.folder("runs")) as folder:
            all_of_them = threading.Barrier(len(planned))
            siblings = [
                _Sibling(run, Place(str(folder), number, len(planned)), all_of_them)
                for number, run in enumerate(planned)
            ]
            results = endings.side_by_side(measure, siblings)
        used_s = sum(one.used_s for one in siblings)
        pairs = zip(results, siblings, strict=True)
        return [_without_siblings(result, used_s - one.used_s) for result, one in pairs]

    def measure(self, planned: PlannedRun, sibling: "_Sibling | None" = None) -> Result:
        """Runs it once, by itself or at once with others.

        Whatever a workload does is an outcome, never an exception.
        """
        started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        outcome = partial(
            Outcome,
            label=planned.label,
            round=planned.round,
            position=planned.position,
            started_at=started_at,
        )
        missing = self.bench.what_is_missing(planned.scenario, planned.label)
        if missing is not None:
            return outcome(reason=NOT_SUPPORTED, message=missing)
        try:
            place = sibling.place if sibling else None
            with self.bench.prepare(planned.scenario, planned.label, place) as ready:
                try:
                    return self._observe(planned, ready, started_at, sibling)
                except _NoMeasurement as why:
                    printed = (
                        tail(ready.folder / "stdout", 10),
                        tail(ready.folder / "stderr", 20),
                        ready.services.last_words(),
                    )
                    log = "\n".join(printed).strip()
                    # Whoever waited for a service that is gone is not to blame.
                    if ended := ready.services.ended():
                        return outcome(reason=FAILED, message=ended, log=log)
                    return outcome(reason=why.reason, message=str(why), log=log)
        except HarnessError as error:  # a service that does not start, or that has ended
            return outcome(reason=FAILED, message=error.reason, log=str(error))

    def _observe(
        self, planned: PlannedRun, ready: ReadyRun, started_at: str, sibling: "_Sibling | None"
    ) -> Measurement:
        """Runs it, and gathers what everyone saw of it.

        Raises ``_NoMeasurement``; and ``HarnessError`` where a service has ended.
        """
        scenario = planned.scenario
        if sibling:
            sibling.meet()
        services_s = ready.services.cpu_s()
        before = Reading.now()
        used_s = time.process_time()
        real_s = self._time(ready)
        if sibling:
            sibling.meet()
        after = Reading.now()
        used_s = time.process_time() - used_s
        services_s = ready.services.cpu_s() - services_s
        try:
            launched = json.loads((ready.folder / REPORT).read_bytes())
            reports = [
                json.loads(path.read_bytes())
                for path in sorted((ready.folder / REPORTS).glob("*.json"))
            ]
            _require_complete(reports, scenario.expected_items(self.bench.topology))
            # What is no number would be on no side of what is allowed.
            metrics = msgspec.convert(metrics_of(real_s, launched, reports), dict[str, Quantity])
            marks = marks_of(launched)
        # Reports are written by code under test.
        except (
            OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError,
            RecursionError,
        ) as error:  # fmt: skip
            what = f"{type(error).__name__}: {error}"[:200]
            raise _NoMeasurement(FAILED, f"a process's report cannot be read ({what})") from error
        run_s = metrics["time_cpu"] + metrics["time_cpu_launcher"] + services_s
        metrics |= observed(before, after, run_s + used_s)
        if sibling:
            sibling.used_s = run_s
        metrics |= launched.get("totals", {})
        copies = scenario.started_as(self.bench.topology).processes
        files = [ready.folder / f"{METRICS}-{number}.jsonl" for number in range(copies)]
        try:
            metrics |= scenario.written_metrics(files)
        except ValueError as error:
            raise _NoMeasurement(FAILED, str(error)) from error
        known = {metric.key for metric in scenario.metrics}
        return Measurement(
            label=planned.label,
            round=planned.round,
            position=planned.position,
            started_at=started_at,
            metrics={key: value for key, value in metrics.items() if key in known},
            marks=marks,
            samples=tuple(launched.get("samples", ())),
            unanswered=launched.get("unanswered", ""),
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
class _Sibling:
    """A run that takes place at once with others."""

    planned: PlannedRun
    place: Place
    all_of_them: threading.Barrier
    used_s: float = 0.0
    """CPU of all that it started, of its launcher and its services, if it was measured."""
    _meetings_left: int = 2

    def meet(self) -> None:
        """Waits for the others: all begin when the services of all are up, and end together.

        So no start or end of a service falls into a run, and each has used all that it uses when it
        is seen what others did.
        """
        self._meetings_left -= 1
        self.all_of_them.wait()

    def leave(self) -> None:
        """Has nobody wait for it any more."""
        self.place.leave()
        while self._meetings_left:
            self.meet()


def _without_siblings(result: Result, siblings_s: float) -> Result:
    """The result of a run whose siblings used so much CPU."""
    if not isinstance(result, Measurement) or FOREIGN_CPU not in result.metrics:
        return result
    foreign_s = max(0.0, result.metrics[FOREIGN_CPU] - siblings_s)
    return structs.replace(result, metrics={**result.metrics, FOREIGN_CPU: foreign_s})


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
                LOST_ITEMS, f"{expected} items came out, but not the {expected} that were due"
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
