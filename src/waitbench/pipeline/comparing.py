"""``run``: one comparison, from a request to a folder of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from waitbench.model.errors import UsageError
from waitbench.pipeline import preparation
from waitbench.pipeline.gating import NO_GATE, Gate
from waitbench.pipeline.measuring import measure
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import kept_in
from waitbench.reporting.output import Output
from waitbench.store import comparisons, folders
from waitbench.store.comparisons import Contents
from waitbench.system import endings, tasks

MeasureInto = Callable[[Path], Contents]


def _prepare_here(request: ValidRequest, gate: Gate, output: Output) -> MeasureInto:
    prepared, rule = preparation.prepare(request, output), gate if gate.is_on else None
    return partial(measure, prepared, output=output, rule=rule)


@contextmanager
def run(
    request: Request,
    output: Output,
    gate: Gate = NO_GATE,
    *,
    prepare: Callable[[ValidRequest, Gate, Output], MeasureInto] = _prepare_here,
    resumable: Callable[[Path], object] = comparisons.resume,
) -> Iterator[Contents]:
    """Measures a request into a folder that is locked for the block; ``conclude`` reports on it.

    ``prepare`` makes environments, and returns a function that measures. A folder that the user
    named is locked before that; a new one is made afterwards, so that a failure leaves none. Raises
    ``HarnessError``.
    """
    valid, gate = _resolve(request, gate, output)
    claim = folders.claimed(
        request.results,
        valid.labels,
        store=request.store,
        resumable=resumable if request.resume else None,
    )
    resume_hint = partial(kept_in, command=next(iter(request.argv), ""))
    with ExitStack() as stack:
        folder = stack.enter_context(claim) if request.results or request.resume else None
        if folder is not None and request.resume:
            stack.enter_context(endings.noted(resume_hint(folder)))
        measure_into = prepare(valid, gate, output)
        folder = folder or stack.enter_context(claim)
        stack.enter_context(endings.noted(resume_hint(folder)))
        yield measure_into(folder)


def _resolve(request: Request, gate: Gate, output: Output) -> tuple[ValidRequest, Gate]:
    """Resolves a request, and a gate to what it can ask here. Raises ``UsageError``."""
    if request.why and not tasks.is_possible():
        raise UsageError("--why needs /proc/<pid>/schedstat, which this system does not have.")
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
