"""Records: all runs of one scenario in one comparison, and the header of the comparison."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from waitbench.model.metrics import WINDOW, Metric
from waitbench.model.revision import Origin, Revision
from waitbench.model.run import (
    DISTURBED,
    ENDED,
    HARMLESS,
    NOT_BUILT,
    NOT_SUPPORTED,
    TIMED_OUT,
    UNABLE,
    FailedRun,
    Measurement,
    Result,
)
from waitbench.model.scenario import LAUNCHER, Scenario, Topology


class Series(msgspec.Struct, frozen=True, order=True, array_like=True):
    """A scenario with the topology and parameters that it was measured with."""

    scenario: str
    topology: str
    parameters: str

    @classmethod
    def of(cls, scenario: str, topology: str, parameters: Mapping[str, object]) -> "Series":
        return cls(scenario, topology, json.dumps(dict(parameters), sort_keys=True))

    @property
    def as_mapping(self) -> Mapping[str, object]:
        return msgspec.json.decode(self.parameters, type=dict[str, object])


GIVE_UP_AFTER = 2
"""Failures without any success. A run that hung is given up at once: its time limit is long."""
GIVE_UP_LATER_AFTER = 5
"""Failed rounds in a row after a success, which suggests that the failures are random."""

FAILS_ALONE = 3
"""Rounds in which only one revision failed, after which that revision is unreliable."""

_OVER = {
    NOT_BUILT: "was not built",
    NOT_SUPPORTED: "is not supported",
    TIMED_OUT: "hung",
    ENDED: "ended",
}


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a comparison. A round is never split: it has whole scenarios."""

    scenarios: tuple[str, ...]
    of: tuple[str, ...]
    """All scenarios, in the comparison's order."""
    index: int = 1
    number: int = 1


class ComparisonHeader(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="comparison"
):
    """The header of a comparison, ``comparison.json``. That of a record lists no scenarios."""

    revisions: tuple[Revision, ...]
    """In the order given: the baseline first."""
    topology: Topology
    mixed_origins: bool
    hyperfine_version: str
    machine: Mapping[str, object]
    started_at: str
    argv: tuple[str, ...]
    waitbench: str | None = None
    settings: Mapping[str, object] = {}
    scenarios: tuple[Scenario, ...] = ()
    """All scenarios, including those measured elsewhere."""
    share: Shard | None = None
    """``None`` where all scenarios are measured here."""
    finished: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(revision.label for revision in self.revisions)

    @property
    def engine(self) -> str:
        return self.revisions[0].engine if self.revisions else ""

    @property
    def other_packages(self) -> tuple[str, ...]:
        """Packages besides the engine whose versions differ, such as ``json 3.0.1, 3.0.2``."""
        installed = [revision.build for revision in self.revisions if revision.build]
        versions: dict[str, list[str]] = {}
        for facts in installed:
            for name, _, version in (text.partition("==") for text in facts.requirements):
                versions.setdefault(name, []).append(version)
        # The compared package itself has the versions of the revisions.
        compared = [facts.package_version for facts in installed]
        return tuple(
            f"{name} {', '.join(dict.fromkeys(different))}"
            for name, different in sorted(versions.items())
            if len(set(different)) > 1 and different != compared
        )

    def in_common(self, others: Sequence[Revision]) -> dict[str, object]:
        """Facts that all parts of a comparison share, by their names for people.

        The facts of a revision without an environment come from ``others``.
        """
        facts = {it.label: it.build for it in (*others, *self.revisions) if it.build}
        return {
            "topologies": self.topology,
            "revisions": self.labels,
            "scenarios": [it.name for it in self.scenarios],
            **{
                f"parameters of {it.name}": (dict(it.parameters), it.topology)
                for it in self.scenarios
            },
            **{
                f"builds of {label}": (facts[label].package_sha256, facts[label].python)
                for label in self.labels
                if label in facts
            },
        }


class ScenarioResults(msgspec.Struct, kw_only=True):
    """All runs of one scenario; grows while a comparison runs."""

    spec: Scenario
    context: ComparisonHeader
    measurements: list[Measurement] = []
    outcomes: list[FailedRun] = []
    outcomes_before: int = 0
    """The number of outcomes from earlier, resumed sessions."""

    @property
    def scenario(self) -> str:
        return self.spec.name

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.spec.metrics

    @property
    def topology(self) -> Topology:
        return self.spec.topology or self.context.topology

    @property
    def by_launcher(self) -> bool:
        return self.topology.kind == LAUNCHER

    @property
    def series(self) -> Series:
        return Series.of(self.scenario, str(self.topology), self.spec.parameters)

    @property
    def results(self) -> list[Result]:
        return [*self.measurements, *self.outcomes]

    @property
    def measured_on(self) -> Mapping[str, object]:
        return self.context.machine if self.spec.machine is None else self.spec.machine

    @property
    def mostly_waits(self) -> bool:
        """Whether the CPU of the window is the cost of waiting."""
        return self.spec.waits and not self.spec.works

    def add(self, result: Result) -> None:
        if isinstance(result, Measurement):
            self.measurements.append(result)
        else:
            self.outcomes.append(result)

    def of(self, label: str) -> list[Measurement]:
        return sorted((m for m in self.measurements if m.label == label), key=lambda m: m.round)

    def loaded(self, label: str) -> Mapping[str, str]:
        """Digests of the files that a program had loaded, by path, if known."""
        return next((run.loaded for run in self.measurements if run.label == label), {})

    def identical_to(self, label: str) -> str | None:
        """The first other revision that is known to have the same code.

        The code of a package is all of its files. That of a program is all that it loads, and its
        name: one script, or one file under two names, may run two programs.
        """
        known: dict[object, str] = {}
        for revision in self.context.revisions:
            facts = revision.build
            identity: object = facts and facts.package_sha256
            if facts and revision.origin is Origin.PROGRAM:
                loaded = frozenset(self.loaded(revision.label).values())
                identity = loaded and (facts.program.rpartition("/")[2], loaded)
            first = known.setdefault(identity, revision.label) if identity else revision.label
            if revision.label == label:
                return None if first == label else first
        return None

    def window_s(self, run: Measurement) -> float | None:
        if WINDOW in run.metrics:
            return run.metrics[WINDOW]
        idle_s, cores = (run.metrics.get(key) for key in ("time_cpu_idle", "cpu_share_idle"))
        if idle_s and cores:
            return idle_s / cores
        # A run that used no CPU has no ratio of both; its services may have used some.
        planned_s = self.spec.parameters.get("window")
        return planned_s if isinstance(planned_s, int | float) and planned_s > 0 else None

    def why_given_up(self, label: str) -> str | None:
        """Why a revision gets no more runs; failures of earlier sessions do not count."""
        last = max((run.round for run in self.of(label)), default=-1)
        outcomes = [o for o in self.outcomes[self.outcomes_before :] if o.label == label]
        for outcome in outcomes:
            if outcome.reason in _OVER:
                return f"{label} {_OVER[outcome.reason]}: {outcome.message}"
        failed = [o for o in outcomes if o.reason not in HARMLESS and o.round > last]
        if len(failed) < (GIVE_UP_AFTER if last < 0 else GIVE_UP_LATER_AFTER):
            return None
        return f"{label} failed {len(failed)} times in a row: {failed[-1].message}"

    @property
    def rounds(self) -> frozenset[int]:
        return frozenset(run.round for run in self.measurements)

    def is_whole(self, number: int) -> bool:
        """Whether a round has every revision, except for those that can never be measured."""
        done = {run.label for run in self.measurements if run.round == number}
        done |= {o.label for o in self.outcomes if o.reason in (NOT_BUILT, *UNABLE)}
        return done.issuperset(self.context.labels)

    @property
    def unable(self) -> frozenset[str]:
        """The revisions without measurements that need none."""
        measured = {run.label for run in self.measurements}
        return frozenset(o.label for o in self.outcomes if o.reason in UNABLE) - measured

    @property
    def failures(self) -> list[FailedRun]:
        """The outcomes that make a comparison fail: those whose run was not repeated since."""
        measured = {(run.label, run.round) for run in self.measurements}
        return [
            o
            for o in self.outcomes
            if o.reason not in HARMLESS and (o.label, o.round) not in measured
        ]

    @property
    def unreliable(self) -> frozenset[str]:
        """The revisions that failed alone in many rounds, even if those succeed when repeated."""
        failed: dict[int, set[str]] = {}
        for outcome in self.outcomes:
            if outcome.reason not in HARMLESS:
                failed.setdefault(outcome.round, set()).add(outcome.label)
        alone = Counter(next(iter(labels)) for labels in failed.values() if len(labels) == 1)
        return frozenset(label for label, count in alone.items() if count >= FAILS_ALONE)

    @property
    def awaits_repeats(self) -> frozenset[int]:
        """The rounds with a failure of an earlier session that was not repeated in this one."""
        tried = {(o.label, o.round) for o in self.outcomes[self.outcomes_before :]}
        given_up = {label for label in self.context.labels if self.why_given_up(label) is not None}
        before = self.outcomes[: self.outcomes_before]
        return frozenset(
            o.round
            for o in self.failures
            if o in before and (o.label, o.round) not in tried and o.label not in given_up
        )

    @property
    def disturbed_rounds(self) -> frozenset[int]:
        """The rounds that count although other programs disturbed every attempt."""
        return frozenset(run.round for run in self.measurements if DISTURBED in run.marks)
