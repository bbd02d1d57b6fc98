"""Comparisons: a header, and all runs of each scenario."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from waitbench.model.metrics import Metric
from waitbench.model.revision import Origin, Revision
from waitbench.model.run import (
    CONCURRENT,
    DISTURBED,
    ENDED,
    HARMLESS,
    INTERFERED,
    NOT_BUILT,
    NOT_SUPPORTED,
    TIMED_OUT,
    UNABLE,
    WARM_UP,
    FailedRun,
    Measurement,
    Result,
)
from waitbench.model.scenario import Scenario, Topology


class Series(msgspec.Struct, frozen=True, order=True, array_like=True):
    """The identity of a scenario across comparisons: its name, topology, and parameters in JSON."""

    scenario: str
    topology: str
    parameters: str

    @classmethod
    def of(cls, scenario: Scenario, comparison: Topology) -> "Series":
        parameters = json.dumps(dict(scenario.parameters), sort_keys=True)
        return cls(scenario.name, str(scenario.topology_in(comparison)), parameters)

    @property
    def decoded_parameters(self) -> Mapping[str, object]:
        return msgspec.json.decode(self.parameters, type=dict[str, object])


GIVE_UP_AFTER = 2
"""The number of failed runs after which a revision without measurements gets no more runs."""
GIVE_UP_LATER_AFTER = 5
"""The same for a revision with measurements, in a row: its failures may be random."""
FAILS_ALONE = 3
"""A revision is unreliable if it was the only one to fail in so many rounds."""
_NOT_READY = re.compile(r".*\bnot ready within [^ ]+ s")

_FINAL = {
    NOT_BUILT: "was not built",
    NOT_SUPPORTED: "is not supported",
    TIMED_OUT: "hung",
    ENDED: "ended",
}
"""Reasons of failed runs after which a revision gets no more runs, each as the end of a message."""


class Shard(msgspec.Struct, frozen=True, kw_only=True, rename={"count": "number"}):
    """The scenarios of a comparison that a machine measures, so that no round is split."""

    scenarios: tuple[str, ...]
    of: tuple[str, ...]
    """All scenarios of the comparison, in its order."""
    index: int = 1
    """The number of this shard, from 1."""
    count: int = 1
    """The number of shards."""


class ComparisonHeader(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="comparison",
    rename={"shard": "share"},
):  # fmt: skip
    """The content of ``comparison.json``: all that holds for each run of a comparison."""

    revisions: tuple[Revision, ...]
    """In the order given: the baseline first."""
    topology: Topology
    mixed_origins: bool
    """Whether the revisions may come from different compilers."""
    hyperfine_version: str
    machine: Mapping[str, object]
    started_at: str
    argv: tuple[str, ...]
    waitbench: str | None = None
    settings: Mapping[str, object] = {}
    scenarios: tuple[Scenario, ...] = ()
    """All scenarios, including those that other machines measure."""
    shard: Shard | None = None
    """The scenarios that this machine measures; ``None`` for all."""
    finished: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(revision.label for revision in self.revisions)

    @property
    def engine(self) -> str:
        return self.revisions[0].engine if self.revisions else ""

    @property
    def other_packages(self) -> tuple[str, ...]:
        """Dependencies whose versions differ between revisions, such as ``json 3.0.1, 3.0.2``."""
        builds = [revision.build for revision in self.revisions if revision.build]
        versions: dict[str, list[str]] = {}
        for build in builds:
            for name, _, version in (text.partition("==") for text in build.requirements):
                versions.setdefault(name, []).append(version)
        # The package of the revisions is meant to differ.
        compared = [build.package_version for build in builds]
        return tuple(
            f"{name} {', '.join(dict.fromkeys(different))}"
            for name, different in sorted(versions.items())
            if len(set(different)) > 1 and different != compared
        )

    def in_common(self, others: Sequence[Revision]) -> dict[str, object]:
        """The facts that must be the same in all shards, by the names that messages use.

        The build of a revision that was not built here is taken from ``others``.
        """
        builds = {
            revision.label: revision.build
            for revision in (*others, *self.revisions)
            if revision.build
        }
        return {
            "topologies": self.topology,
            "revisions": self.labels,
            "scenarios": [scenario.name for scenario in self.scenarios],
            **{
                f"parameters of {scenario.name}": (dict(scenario.parameters), scenario.topology)
                for scenario in self.scenarios
            },
            **{
                f"builds of {label}": (builds[label].package_sha256, builds[label].python)
                for label in self.labels
                if label in builds
            },
        }


class ScenarioResults(msgspec.Struct, kw_only=True):
    """All runs of one scenario; grows while a comparison runs."""

    spec: Scenario
    context: ComparisonHeader
    measurements: list[Measurement] = []
    failed_runs: list[FailedRun] = []
    failed_before: int = 0
    """The number of failed runs of earlier sessions, if the comparison was resumed."""
    warm_ups: list[Measurement] = []
    """The latest warm-up of each revision, which is concurrent with none of the same revision."""

    @property
    def scenario(self) -> str:
        return self.spec.name

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.spec.metrics

    @property
    def topology(self) -> Topology:
        return self.spec.topology_in(self.context.topology)

    @property
    def series(self) -> Series:
        return Series.of(self.spec, self.context.topology)

    @property
    def results(self) -> list[Result]:
        return [*self.measurements, *self.failed_runs]

    @property
    def measured_on(self) -> Mapping[str, object]:
        return self.context.machine if self.spec.machine is None else self.spec.machine

    def add(self, result: Result) -> None:
        if isinstance(result, FailedRun):
            self.failed_runs.append(result)
        elif result.round == WARM_UP:
            self.warm_ups = [it for it in self.warm_ups if it.label != result.label] + [result]
        else:
            self.measurements.append(result)

    def of(self, label: str) -> list[Measurement]:
        return sorted((m for m in self.measurements if m.label == label), key=lambda m: m.round)

    def loaded(self, label: str) -> Mapping[str, str]:
        """Digests of the files that a program loaded, by path; empty if unknown."""
        return next((run.loaded for run in self.measurements if run.label == label), {})

    def identical_to(self, label: str) -> str | None:
        """The first revision before ``label`` that is known to have the same code.

        Packages are the same if all of their files are; programs if all files that they load are,
        and their name, because some programs act by the name they are called by.
        """
        known: dict[object, str] = {}
        for revision in self.context.revisions:
            build = revision.build
            identity: object = build and build.package_sha256
            if build and revision.origin is Origin.PROGRAM:
                loaded = frozenset(self.loaded(revision.label).values())
                identity = loaded and (build.program.rpartition("/")[2], loaded)
            first = known.setdefault(identity, revision.label) if identity else revision.label
            if revision.label == label:
                return None if first == label else first
        return None

    def why_given_up(self, label: str) -> str | None:
        """Why a revision gets no more runs; ``None`` if it does. Earlier sessions do not count."""
        last = max((run.round for run in self.of(label)), default=-1)
        runs = [it for it in self.failed_runs[self.failed_before :] if it.label == label]
        for run in runs:
            if run.reason in _FINAL:
                return f"{label} {_FINAL[run.reason]}: {run.message}"
        failed = [run for run in runs if run.reason not in HARMLESS and run.round > last]
        if len(failed) < (GIVE_UP_AFTER if last < 0 else GIVE_UP_LATER_AFTER):
            return None
        return f"{label} failed {len(failed)} times in a row: {failed[-1].message}"

    @property
    def rounds(self) -> frozenset[int]:
        return frozenset(run.round for run in self.measurements)

    @property
    def concurrent_runs(self) -> list[Measurement]:
        return [run for run in self.measurements if CONCURRENT in run.marks]

    @property
    def interleaved_rounds(self) -> frozenset[int]:
        """The rounds whose runs took place one at a time."""
        return self.rounds - {run.round for run in self.concurrent_runs}

    @property
    def single_runs(self) -> list[Measurement]:
        """The runs of interleaved rounds; before there are any, the warm-ups."""
        interleaved = self.interleaved_rounds
        return [run for run in self.measurements if run.round in interleaved] or self.warm_ups

    @property
    def of_warm_ups(self) -> "ScenarioResults":
        return msgspec.structs.replace(self, measurements=self.warm_ups)

    def is_whole(self, number: int) -> bool:
        """Whether a round has a measurement of every revision that can be measured."""
        done = {run.label for run in self.measurements if run.round == number}
        done |= {it.label for it in self.failed_runs if it.reason in (NOT_BUILT, *UNABLE)}
        return done.issuperset(self.context.labels)

    @property
    def unable(self) -> frozenset[str]:
        """The revisions without measurements that cannot run this scenario."""
        measured = {run.label for run in self.measurements}
        return frozenset(it.label for it in self.failed_runs if it.reason in UNABLE) - measured

    @property
    def failures(self) -> list[FailedRun]:
        """The failed runs that make a comparison fail: no later attempt of theirs succeeded."""
        measured = {(run.label, run.round) for run in self.measurements}
        return [
            it
            for it in self.failed_runs
            if it.reason not in HARMLESS and (it.label, it.round) not in measured
        ]

    @property
    def unreliable(self) -> frozenset[str]:
        """The revisions that alone failed in several rounds, even if repeats succeeded."""
        failed: dict[int, set[str]] = {}
        for run in self.failed_runs:
            if run.reason not in HARMLESS:
                failed.setdefault(run.round, set()).add(run.label)
        alone = Counter(next(iter(labels)) for labels in failed.values() if len(labels) == 1)
        return frozenset(label for label, count in alone.items() if count >= FAILS_ALONE)

    @property
    def awaits_repeats(self) -> frozenset[int]:
        """The rounds with a failure of an earlier session that this session is yet to repeat."""
        tried = {(it.label, it.round) for it in self.failed_runs[self.failed_before :]}
        given_up = {label for label in self.context.labels if self.why_given_up(label) is not None}
        before = self.failed_runs[: self.failed_before]
        return frozenset(
            it.round
            for it in self.failures
            if it in before and (it.label, it.round) not in tried and it.label not in given_up
        )

    @property
    def disturbed_rounds(self) -> frozenset[int]:
        """The rounds that count although other programs disturbed all of their attempts."""
        return frozenset(run.round for run in self.measurements if DISTURBED in run.marks)


def why_given_up(
    records: Collection[ScenarioResults], record: ScenarioResults, label: str
) -> str | None:
    """Why a revision gets no more runs of a scenario; ``None`` if it does.

    It gets none of any scenario if it was never ready, and failed alike in two of them.
    """
    waited = {
        (it.scenario, match[0])
        for it in records
        for outcome in it.failed_runs[it.failed_before :]
        if outcome.label == label and outcome.reason != INTERFERED
        if (match := _NOT_READY.match(outcome.message))
    }
    alike = Counter(reason for _, reason in waited).most_common(1)
    has_run = any(run.label == label for it in records for run in (*it.warm_ups, *it.of(label)))
    if alike and alike[0][1] > 1 and not has_run:
        return f"{label} failed in {alike[0][1]} scenarios: {alike[0][0]}"
    return record.why_given_up(label)
