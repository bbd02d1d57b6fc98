"""``run``: one comparison, from a request to what was measured in a folder of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

from waitbench.analysis import at_once, rule
from waitbench.execution import plan
from waitbench.execution import why as looking
from waitbench.execution.bench import Bench
from waitbench.execution.session import ROUNDS_AT_ONCE, Session
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import MEMORY
from waitbench.model.scenario import Scenario
from waitbench.model.share import WHOLE
from waitbench.model.why import Why
from waitbench.pipeline.concluding import Output, say_so_far
from waitbench.pipeline.gating import NO_GATE, Gate
from waitbench.pipeline.measuring import (
    GateGuide,
    RunRecorder,
    counts_calls,
    side_by_side,
    wakes_up,
)
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import begin, kept_in
from waitbench.reporting import why as reasons
from waitbench.reporting.progress import RunProgress
from waitbench.store import comparisons, folders, why
from waitbench.store.comparisons import Contents
from waitbench.system import endings, tasks

_Prepared = TypeVar("_Prepared")


@contextmanager
def run(request: Request, output: Output, gate: Gate = NO_GATE) -> Iterator[Contents]:
    """Measures what is asked for, in a folder that is ours alone as long as the block lasts.

    ``conclude`` says what it means. Raises ``HarnessError``.
    """
    if request.why and not tasks.is_possible():
        raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")
    valid, gate = resolve(request, gate, output)
    with in_folder(valid, lambda: prepare(valid, output)) as (prepared, folder):
        yield _measure(prepared, folder, gate, output)


def resolve(request: Request, gate: Gate, output: Output) -> tuple[ValidRequest, Gate]:
    """What is compared, and the gate as far as it can be asked here. Raises ``UsageError``."""
    if any(criterion.limit is None for criterion in gate.criteria) and len(request.revisions) < 2:
        raise UsageError(
            "The gate (--gate, --fail-on) compares candidates with a baseline: name at least two "
            "revisions."
        )
    if not gate.is_on and (gate.inconclusive_passes or gate.acceptances):
        raise UsageError(
            "--inconclusive and --accepted are for the gate: add --gate, or --fail-on METRIC:PCT%."
        )
    valid = validate(request, output.log)
    return valid, gate.supported_by(valid.instruments, valid.scenarios)


@contextmanager
def in_folder(
    valid: ValidRequest,
    make: Callable[[], _Prepared],
    resumable: Callable[[Path], object] = comparisons.resume,
) -> Iterator[tuple[_Prepared, Path]]:
    """What is prepared, and the folder of the results, ours alone as long as the block lasts.

    A folder that the user named is ours before anything is built for it; a new one is made when
    there is something to put into it. See ``store.folders.claimed`` of ``resumable``.
    """
    asked = valid.typed
    command, resumed = next(iter(asked.argv), ""), resumable if asked.resume else None
    claim = folders.claimed(asked.results, valid.labels, store=asked.store, resumable=resumed)
    with ExitStack() as stack:
        folder = stack.enter_context(claim) if asked.results or asked.resume else None
        if folder is not None and asked.resume:
            stack.enter_context(endings.noted(kept_in(folder, command)))
        prepared = make()
        folder = folder or stack.enter_context(claim)
        stack.enter_context(endings.noted(kept_in(folder, command)))
        yield prepared, folder


def _measure(prepared: Prepared, folder: Path, gate: Gate, output: Output) -> Contents:
    request, asked = prepared.request, prepared.request.typed
    settings = {
        **request.as_settings(),
        "rounds": None if gate.is_on else asked.rounds,
        "gate": gate if gate.is_on else None,
    }
    contents = begin(prepared, folder, settings, output.progress.print)
    measurer = prepared.measurer(counts_calls=counts_calls(gate), wakes_up=wakes_up(gate))
    bar = RunRecorder(contents, output)
    records = {one.scenario: one for one in contents.records}
    alone = [
        one
        for one in request.here
        if not one.is_command
        or (one.started_as(request.topology).processes == 1 and asked.shard == WHOLE)
    ]
    # CPU and counts vary too much for one round to tell; copies share pages for certain.
    of_memory = [criterion for criterion in gate.criteria if criterion.metric == MEMORY]
    differing = partial(at_once.differing, criteria=of_memory)
    with bar.session(measurer, side_by_side(alone, records, gate.criteria), differing) as session:
        try:
            _carry_out(session, prepared, gate, bar)
            for scenario in request.here if asked.why else ():
                _explain(scenario, measurer.bench, folder, bar)
        except endings.Ended:
            say_so_far(contents, output)
            raise
    return contents


def _carry_out(session: Session, prepared: Prepared, gate: Gate, bar: RunProgress) -> None:
    """Makes the runs that the records lack."""
    request, labels, records = prepared.request, prepared.labels, session.records
    if not labels:
        return
    if gate.is_on:
        elsewhere = prepared.new_records(request.elsewhere).values()
        guide, groups = GateGuide(gate, records, elsewhere), gate.groups(request.here)
        bar.expect(gate.budget_s, _fewest_s(session, groups, labels))
        session.carry_out_until(guide, groups, labels, gate.most_rounds, gate.budget_s)
        return
    done = {
        (record.scenario, run.label, run.round)
        for record in records.values()
        for run in record.measurements
    }
    runs = plan.schedule(request.here, labels, request.typed.rounds, done, session.seed)
    session.carry_out(runs)


def _fewest_s(
    session: Session, groups: Sequence[Sequence[Scenario]], labels: Sequence[str]
) -> float:
    """The expected time after the first round before which the gate has no certain answer."""
    fewest = rule.fewest_rounds(max(map(len, groups), default=1)) - 1
    lacking = ((it, fewest - len(session.records[it.name].rounds)) for it in chain(*groups))
    return sum(
        # Some concurrent rounds together take as long as one run.
        it.expected_s * (rounds / ROUNDS_AT_ONCE if it.name in session.side_by_side else runs)
        for it, rounds in lacking
        for runs in [rounds * len(labels)]
        if rounds > 0
    )


def _explain(scenario: Scenario, bench: Bench, folder: Path, progress: RunProgress) -> None:
    """Writes who wakes up in one more run of each revision, of which no figure is taken."""
    found: list[Why] = []
    for label in bench.environments:
        if bench.what_is_missing(scenario, label) is not None:
            continue
        progress.about(f"{label}: one more run of {scenario.name}, to see who wakes up")
        try:
            found.append(looking.record(scenario, label, bench))
        except HarnessError as error:
            progress.say(f"{label}: not looked at: {str(error).splitlines()[0]}")
    if found:
        why.write(folder, scenario.name, found)
    for one in found:
        why.write_folded(folder, scenario.name, one.label, reasons.folded(one))
