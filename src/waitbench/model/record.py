"""Records: all runs of one scenario in one comparison, and what holds for the whole comparison."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waitbench.model.environment import Facts
from waitbench.model.metrics import METRICS, WINDOW, FileName, Metric
from waitbench.model.revision import Origin
from waitbench.model.run import (
    DISTURBED,
    ENDED,
    HARMLESS,
    NOT_BUILT,
    NOT_SUPPORTED,
    TIMED_OUT,
    UNABLE,
    Measurement,
    Outcome,
    Result,
)
from waitbench.model.scan import ScanPoint
from waitbench.model.scenario import LAUNCHER
from waitbench.model.share import Share


class Series(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A scenario as it was measured."""

    scenario: str
    topology: str
    """Such as ``single`` or ``2 processes × 1 worker (cluster)``."""
    parameters: str
    """Of the scenario: a JSON object, its keys sorted."""

    @classmethod
    def of(cls, scenario: str, topology: str, parameters: Mapping[str, object]) -> "Series":
        """The series of such runs."""
        return cls(scenario, topology, json.dumps(dict(parameters), sort_keys=True))

    @property
    def as_mapping(self) -> Mapping[str, Any]:
        """The parameters by name."""
        found: dict[str, Any] = json.loads(self.parameters)
        return found


class Announced(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """A change point that was announced."""

    series: Series
    metric: str
    after: str
    """The first revision that costs otherwise."""
    rose: bool


GIVE_UP_AFTER = 2
"""Failed runs of one revision in one scenario, without a good one before, until it is given up.

A run that hung is not tried again at all: its time limit is generous, and waiting for it is what
costs the user most.
"""
GIVE_UP_LATER_AFTER = 5
"""Failed rounds in a row after a good one: it may be chance that makes it fail."""

FAILS_ALONE = 3
"""Rounds in which one revision failed and no other did, after which its failures are its own."""

_OVER = {
    NOT_BUILT: "was not built",
    NOT_SUPPORTED: "is not supported",
    TIMED_OUT: "hung",
    ENDED: "ended",
}


class RevisionRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"facts": "environment"}):
    """One revision of a comparison, as result files keep it."""

    label: str
    text: str
    """As the user wrote it."""
    origin: str
    engine: str
    commit: str | None = None
    commit_date: str | None = None
    facts: Facts | None = None
    """``None`` where no environment could be made."""


class ScenarioFacts(msgspec.Struct, kw_only=True, rename={"own_topology": "topology"}):
    """What holds for all runs of a scenario, as result files have it."""

    scenario: FileName
    parameters: Mapping[str, object]
    waits: bool = False
    """Whether the scenario's input makes the workers wait."""
    works: bool = False
    """Whether the scenario has heavy work to do, whose CPU dwarfs that of any waiting."""
    large_changes_only: bool = False
    """Whether the gate asks it for large rises only; see ``Scenario.large_changes_only``."""
    own_topology: str | None = None
    """How its processes are started, where that is not the comparison's topology."""
    scan: ScanPoint | None = None
    """Its place on a curve, if it is one of a scan."""
    machine: Mapping[str, object] | None = None
    """What it was measured on, where that is not the comparison's machine."""
    metrics: tuple[Metric, ...] = METRICS
    """Everything that its runs may hold."""

    @property
    def facts(self) -> "ScenarioFacts":
        """These alone, without any runs."""
        names = ScenarioFacts.__struct_fields__
        return ScenarioFacts(**{name: getattr(self, name) for name in names})


class Context(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="comparison"):
    """What holds for a whole comparison: the content of ``comparison.json``.

    A record knows it without the other scenarios.
    """

    revisions: tuple[RevisionRecord, ...]
    """In the order given: the baseline first."""
    topology: str
    mixed_origins: bool
    hyperfine_version: str
    machine: Mapping[str, object]
    """See ``system.machine.describe``."""
    started_at: str
    """ISO 8601, UTC."""
    argv: tuple[str, ...]
    waitbench: str | None = None
    """The version of this package that made the comparison."""
    settings: Mapping[str, Any] = {}
    """What else was asked for."""
    scenarios: tuple[ScenarioFacts, ...] = ()
    """All of the comparison, in its order."""
    share: Share | None = None
    """Which of them are measured here, where others are measured elsewhere."""
    finished: bool = False
    """Whether nothing more is to be measured."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(revision.label for revision in self.revisions)

    @property
    def engine(self) -> str:
        """The engine whose revisions these are."""
        return self.revisions[0].engine if self.revisions else ""

    @property
    def other_packages(self) -> tuple[str, ...]:
        """Packages besides the engine whose versions differ, with these: ``json 3.0.1, 3.0.2``."""
        installed = [one.facts for one in self.revisions if one.facts]
        versions: dict[str, list[str]] = {}
        for facts in installed:
            for name, _, version in (text.partition("==") for text in facts.requirements):
                versions.setdefault(name, []).append(version)
        # What is compared is what has each revision's version.
        own = [facts.package_version for facts in installed]
        return tuple(
            f"{name} {', '.join(dict.fromkeys(of))}"
            for name, of in sorted(versions.items())
            if len(set(of)) > 1 and of != own
        )

    def in_common(self, others: Sequence[RevisionRecord]) -> dict[str, Any]:
        """What its parts have in common, whenever and wherever measured, by what it is called.

        A revision that could not be set up here is taken for what ``others`` have.
        """
        facts = {one.label: one.facts for one in (*others, *self.revisions) if one.facts}
        return {
            "topologies": self.topology,
            "revisions": self.labels,
            "scenarios": [one.scenario for one in self.scenarios],
            **{
                f"parameters of {one.scenario}": (dict(one.parameters), one.own_topology)
                for one in self.scenarios
            },
            **{
                f"builds of {label}": (facts[label].package_sha256, facts[label].python)
                for label in self.labels
                if label in facts
            },
        }

    @property
    def here(self) -> Share:
        """Which scenarios are measured here."""
        names = tuple(one.scenario for one in self.scenarios)
        return self.share or Share(scenarios=names, of=names)


class Record(ScenarioFacts, kw_only=True):
    """All runs of one scenario so far. Grows while a comparison runs."""

    context: Context
    measurements: list[Measurement] = []
    outcomes: list[Outcome] = []
    outcomes_before: int = 0
    """How many of the outcomes are those of a session before this one, which it resumes."""

    @property
    def topology(self) -> str:
        """How its processes were started."""
        return self.own_topology or self.context.topology

    @property
    def by_launcher(self) -> bool:
        """Whether the engine's own launcher started them."""
        return self.topology.startswith(LAUNCHER)

    @property
    def series(self) -> Series:
        """What its runs are of."""
        return Series.of(self.scenario, self.topology, self.parameters)

    @property
    def results(self) -> list[Result]:
        """What came of each run: first the measurements."""
        return [*self.measurements, *self.outcomes]

    @property
    def measured_on(self) -> Mapping[str, object]:
        """The machine of its runs; see ``system.machine.describe``."""
        return self.context.machine if self.machine is None else self.machine

    @property
    def mostly_waits(self) -> bool:
        """Whether what its workers use in the window is what waiting costs."""
        return self.waits and not self.works

    def add(self, result: Result) -> None:
        if isinstance(result, Measurement):
            self.measurements.append(result)
        else:
            self.outcomes.append(result)

    def of(self, label: str) -> list[Measurement]:
        """The measurements of one revision, in order of rounds."""
        return sorted((m for m in self.measurements if m.label == label), key=lambda m: m.round)

    def loaded(self, label: str) -> Mapping[str, str]:
        """Digests of what the program that is a revision had loaded, by path, if that is known."""
        return next((run.loaded for run in self.measurements if run.label == label), {})

    def identical_to(self, label: str) -> str | None:
        """The first revision with the same code, if that is known and another one.

        Of a package that is all of its files. A program is what it loads, and does what it is
        called by: one script, or one file under two names, may run two programs.
        """
        known: dict[object, str] = {}
        for revision in self.context.revisions:
            facts = revision.facts
            identity: object = facts and facts.package_sha256
            if facts and revision.origin == Origin.PROGRAM.value:
                loaded = frozenset(self.loaded(revision.label).values())
                identity = loaded and (facts.program.rpartition("/")[2], loaded)
            first = known.setdefault(identity, revision.label) if identity else revision.label
            if revision.label == label:
                return None if first == label else first
        return None

    def window_s(self, run: Measurement) -> float | None:
        """How long the window of a run was; ``None`` where nobody knows."""
        if WINDOW in run.metrics:
            return run.metrics[WINDOW]
        idle_s, cores = (run.metrics.get(key) for key in ("time_cpu_idle", "cpu_share_idle"))
        if idle_s and cores:
            return idle_s / cores
        # A run that used no CPU does not tell. Its services may have worked all the same.
        planned_s = self.parameters.get("window")
        return planned_s if isinstance(planned_s, int | float) and planned_s > 0 else None

    def why_given_up(self, label: str) -> str | None:
        """Why no run of a revision is worth to be tried any more; ``None`` while one is.

        What failed in an earlier session is tried again in this one.
        """
        last = max((run.round for run in self.of(label)), default=-1)
        own = [o for o in self.outcomes[self.outcomes_before :] if o.label == label]
        for outcome in own:
            if outcome.reason in _OVER:
                return f"{label} {_OVER[outcome.reason]}: {outcome.message}"
        failed = [o for o in own if o.reason not in HARMLESS and o.round > last]
        if len(failed) < (GIVE_UP_AFTER if last < 0 else GIVE_UP_LATER_AFTER):
            return None
        return f"{label} failed {len(failed)} times in a row: {failed[-1].message}"

    @property
    def rounds(self) -> frozenset[int]:
        """The rounds in which anything was measured."""
        return frozenset(run.round for run in self.measurements)

    def is_whole(self, number: int) -> bool:
        """Whether every revision was measured in a round, but for those that never can be.

        Half a round is what a failure or an interruption leaves. Its other half would be of another
        day.
        """
        found = {run.label for run in self.measurements if run.round == number}
        found |= {o.label for o in self.outcomes if o.reason in (NOT_BUILT, *UNABLE)}
        return found.issuperset(self.context.labels)

    @property
    def unable(self) -> frozenset[str]:
        """The revisions that never gave a measurement, and need not."""
        measured = {run.label for run in self.measurements}
        return frozenset(o.label for o in self.outcomes if o.reason in UNABLE) - measured

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes that make a comparison fail: of runs that were not made again since."""
        measured = {(run.label, run.round) for run in self.measurements}
        return [
            one
            for one in self.outcomes
            if one.reason not in HARMLESS and (one.label, one.round) not in measured
        ]

    @property
    def unreliable(self) -> frozenset[str]:
        """The revisions that failed, and no other one did, in ``FAILS_ALONE`` rounds or more.

        That they succeed when such rounds are made again, by chance, does not take this back.
        """
        failed: dict[int, set[str]] = {}
        for one in self.outcomes:
            if one.reason not in HARMLESS:
                failed.setdefault(one.round, set()).add(one.label)
        alone = Counter(next(iter(labels)) for labels in failed.values() if len(labels) == 1)
        return frozenset(label for label, count in alone.items() if count >= FAILS_ALONE)

    @property
    def awaits_repeats(self) -> frozenset[int]:
        """The rounds in which a run failed in an earlier session, until it is tried in this one."""
        tried = {(one.label, one.round) for one in self.outcomes[self.outcomes_before :]}
        given_up = {one for one in self.context.labels if self.why_given_up(one) is not None}
        before = self.outcomes[: self.outcomes_before]
        return frozenset(
            one.round
            for one in self.failures
            if one in before and (one.label, one.round) not in tried and one.label not in given_up
        )

    @property
    def disturbed_rounds(self) -> frozenset[int]:
        """The rounds that count although the machine did something else in every attempt."""
        return frozenset(run.round for run in self.measurements if DISTURBED in run.marks)
