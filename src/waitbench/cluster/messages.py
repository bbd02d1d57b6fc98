"""What a unit tells while it is carried out: one line of JSON for each event, written and read."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import msgspec

from waitbench.model.record import Context, Record
from waitbench.model.run import Measurement, PlannedRun, Result
from waitbench.model.scenario import Scenario
from waitbench.store import comparisons
from waitbench.store.formats import (
    plain_comparison,
    plain_run,
    plain_scenario,
    read_comparison,
    read_run,
    read_scenario,
)
from waitbench.store.plain import Plain, parse

ABOUT, BEGUN, EXTEND, BEGIN, END, SKIP, KEEP = (
    "about", "begun", "extend", "begin", "end", "skip", "keep"
)  # fmt: skip


@dataclass(frozen=True)
class Teller:
    """Writes the lines. Nobody may be listening."""

    output: TextIO

    def tell(self, event: str, **content: object) -> None:
        with suppress(BrokenPipeError):  # the end of stdin says so, too
            print(json.dumps({"event": event, **content}), file=self.output, flush=True)

    def about(self, what: str) -> None:
        """Says what is being done, in words."""
        self.tell(ABOUT, text=what)

    def begun(
        self, context: Context, settings: Mapping[str, object], records: Sequence[Record]
    ) -> None:
        """Everything is prepared: what is known of the comparison, and of its scenarios."""
        comparison = plain_comparison(context, settings, "comparison")
        self.tell(BEGUN, comparison=comparison, scenarios=list(map(plain_scenario, records)))


class Lines(io.TextIOBase):
    """What is printed here is told, line by line."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._begun = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in filter(None, map(str.rstrip, lines)):
            self._teller.about(line)
        return len(text)


@dataclass(frozen=True)
class RemoteRunRecorder:
    """Observes a session: results go into the folder, and all that happens is told."""

    folder: Path
    teller: Teller
    add_extras: Callable[[Record], object]

    def extend(self, runs: Sequence[PlannedRun], at_most_s: float | None = None) -> None:
        is_open = at_most_s is not None
        self.teller.tell(EXTEND, runs=list(map(_plain_planned, runs)), more_may_follow=is_open)

    def repeat(self, runs: Sequence[PlannedRun], foreign_cores: float) -> None:
        self.extend(runs)
        self.teller.about(f"others use {foreign_cores:.1f} cores, so a round is repeated")

    def begin(self, planned: PlannedRun) -> None:
        self.teller.tell(BEGIN, run=_plain_planned(planned))

    def end(self, planned: PlannedRun, result: Result) -> None:
        # Its samples, which may be many, are told when it is kept.
        brief = replace(result, samples=()) if isinstance(result, Measurement) else result
        plain = plain_run(brief, planned.scenario.metrics)
        self.teller.tell(END, run=_plain_planned(planned), result=plain)

    def skip(self, planned: PlannedRun) -> None:
        self.teller.tell(SKIP, run=_plain_planned(planned))

    def keep(self, record: Record, result: Result) -> None:
        comparisons.append(self.folder, record, result)
        plain = plain_run(result, record.metrics)
        self.teller.tell(KEEP, scenario=record.scenario, result=plain)

    def complete(self, record: Record) -> None:
        self.add_extras(record)


def read_line(line: str) -> tuple[str, Plain]:
    """The event of a line, and all that it says; what nobody meant to tell is said as it is."""
    try:
        plain = parse(line)
        return msgspec.convert(plain["event"], str), plain
    except (ValueError, KeyError):
        return ABOUT, {"text": line}


def read_begun(plain: Plain) -> tuple[Context, Mapping[str, Any], list[Record]]:
    """What ``Teller.begun`` told: a context, settings, and records without runs."""
    context, settings = read_comparison(plain["comparison"])
    records = [read_scenario(one, context) for one in plain["scenarios"]]
    return context, settings, records


def read_planned(plain: Plain, scenarios: Mapping[str, Scenario]) -> PlannedRun:
    """A planned run of one of the scenarios."""
    return PlannedRun(**{**plain, "scenario": scenarios[plain["scenario"]]})


def read_result(plain: Plain) -> Result:
    """A run's result."""
    return read_run(plain["result"])


def _plain_planned(planned: PlannedRun) -> dict[str, object]:
    return {
        "scenario": planned.scenario.name,
        "label": planned.label,
        "round": planned.round,
        "position": planned.position,
        "instrumented": planned.instrumented,
    }
