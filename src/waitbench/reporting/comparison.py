"""A Comparison -> the tables of one scenario, what a person would say of it, and plain data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.idle import Price, idle_cost
from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.run import (
    BY_PROC,
    DISTURBED,
    HARMLESS,
    RESTARTED,
    UNANSWERED,
    Outcome,
)
from waitbench.reporting import idle
from waitbench.reporting.console import print_cells, print_prose
from waitbench.reporting.document import Cell, Heading, Table, Value
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_range,
    format_seconds,
)
from waitbench.reporting.shortening import named, short_names
from waitbench.reporting.summary import titles_of
from waitbench.system.installation import called

BRIEF = ("steady", "cpu", "latency")
"""What is judged, and what that costs: the table of a scenario while others are measured."""
WHOLE_RUN = ("real", "user", "system", "cpu")
"""The first table; total CPU stands beside system time, since a fix can move user time there."""
WAITING = ("steady", "polls-per-item", "latency")
"""The second table: what the workers spent while they waited, and what that bought."""
CONSISTS_OF = ("wakeups", "syscalls", "polls", "steady-system")
"""The third table: what waiting consists of."""
SPLIT = {"cpu-startup": "start", "steady": "steady", "cpu-shutdown": "stop"}
"""Where the CPU time of a run went."""

_HEADINGS = {
    "steady": "steady CPU",
    "polls-per-item": "polls/item",
    "latency": "late, p99",
    "wakeups": "wake-ups",
    "syscalls": "system calls",
    "steady-system": "steady system",
}
_TOLD = ("system", "cpu", "real")
_TOO_WIDE = 10
"""An inconclusive interval whose ends are further apart than this factor is not read out."""
_NEXT_TO_NOTHING_S = 5e-5
"""A difference of lateness below this is not worth a word."""


def print_comparison(comparison: Comparison, console: Console, *, is_brief: bool = False) -> None:
    """Prints the tables of one scenario, then its sentences; briefly, what is judged and is odd."""
    comparison = named(comparison, short_names([row.label for row in comparison.rows]))
    # Not the table's own title, which would be folded to the table's width.
    means = " · means" if comparison.rounds > 1 else ""
    console.print(Text(f"{title(comparison)}{means}", style="bold"))
    if is_brief:
        names = known(comparison, BRIEF) or WHOLE_RUN
        called = titles_of(is_waiting=comparison.waits)
        headings = (Heading(called.get(name, name)) for name in names)
        print_cells(replace(table(comparison, names), header=("revision", *headings)), console)
        for sentence in oddities(comparison):
            print_prose(sentence, console)
        console.print()
        return
    print_cells(table(comparison, WHOLE_RUN), console)
    waiting = known(comparison, WAITING)
    if waiting:
        print_cells(table(comparison, waiting, split=True), console)
    # Polls alone are in the table above, by item.
    consists_of = known(comparison, CONSISTS_OF)
    if comparison.waits and len(consists_of) > 1:
        print_cells(table(comparison, consists_of), console)
    for sentence in sentences(comparison):
        print_prose(sentence, console)
    console.print()


def known(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """Those of the metrics that some revision has."""
    return [name for name in names if any(name in row.estimates for row in comparison.rows)]


def title(comparison: Comparison) -> str:
    """Scenario, topology, and how many rounds."""
    rounds = format_count(comparison.rounds + comparison.left_out, "round", "rounds")
    if comparison.left_out:
        rounds = f"{comparison.rounds} of {rounds}"
    return f"{comparison.scenario} · {comparison.topology} · {rounds}"


def table(
    comparison: Comparison, metrics: Sequence[str], title: str = "", *, split: bool = False
) -> Table:
    """A row for each revision, with the mean of each metric and its ratio to the baseline.

    ``split``: with where the CPU time of a run went, too.
    """
    header = [Heading(_HEADINGS.get(name, name)) for name in metrics]
    rows = [[row.label, *(_cell(row, name) for name in metrics)] for row in comparison.rows]
    if split:
        header.append(Heading("/".join(SPLIT.values())))
        for cells, row in zip(rows, comparison.rows, strict=True):
            cells.append(_split(row))
    return Table(title, ("revision", *header), tuple(map(tuple, rows)), least=12)


def _cell(row: Row, name: str) -> Cell:
    if name not in row.estimates:
        return NOTHING
    return Value(row.estimates[name], BY_NAME[name], row.ratios.get(name))


def _split(row: Row) -> str:
    """Where the CPU time of a run went, in per cent."""
    parts = [row.estimates[name].value for name in SPLIT if name in row.estimates]
    if len(parts) < len(SPLIT) or not sum(parts):
        return NOTHING
    return "/".join(f"{max(part, 0) / sum(parts) * 100:.0f}" for part in parts) + " %"


def sentences(comparison: Comparison) -> list[str]:
    """Says of each revision what changed, what it bought, and what to be wary of."""
    said = []
    for row in comparison.rows:
        if row.ratios:
            parts = [
                _phrase(BY_NAME[name], row.ratios[name]) for name in _TOLD if name in row.ratios
            ]
            said.append(f"{row.label} against {comparison.baseline.label}: {', '.join(parts)}.")
        said += [f"{row.label}: {remark}." for remark in _remarks(row, comparison)]
    return [*said, *_about_all(comparison)]


def oddities(comparison: Comparison) -> list[str]:
    """Says what to be wary of, and nothing of what changed."""
    of_rows = [
        f"{row.label}: {remark}."
        for row in comparison.rows
        for remark in _oddities_of(row, comparison)
    ]
    return [*of_rows, *_about_all(comparison)]


def count_disturbed(rounds: int) -> str:
    """How many rounds count although they were disturbed, in words."""
    counted = format_count(rounds, "round counts", "rounds count")
    return f"{counted} although the machine did something else in every attempt"


def count_repeated(runs: int) -> str:
    """How many runs of disturbed rounds were made again, in words."""
    counted = format_count(runs, "run was", "runs were")
    return f"{counted} repeated because the machine did something else meanwhile"


def _about_all(comparison: Comparison) -> Iterator[str]:
    """Rounds that do not count, those that had better not, and what else may differ."""
    if comparison.left_out:
        left_out = format_count(comparison.left_out, "round is", "rounds are")
        yield f"{left_out} left out: not every revision has a measurement there."
    if comparison.disturbed:
        yield f"{count_disturbed(comparison.disturbed)}."
    if comparison.other_packages:
        yield (
            "Other packages differ too, and part of a difference may be theirs: "
            f"{'; '.join(comparison.other_packages)}."
        )
    if comparison.mixed_origins:
        yield (
            "Mixed origins: these revisions were built by different compilers; part of a "
            "difference may be theirs."
        )


def _remarks(row: Row, comparison: Comparison) -> Iterator[str]:
    """What else is to be said of a revision."""
    for explanation, cost in row.excused if row.ratios else ():
        rose, fell = (format_change(row.ratios[one.name]) for one in (explanation, cost))
        yield f"{explanation.title} {rose}, but {cost.title}, {fell}, pays for it: no regression"
    steady = row.ratios.get("steady")
    if comparison.waits and steady is not None and steady.low is not None:
        late = _about_lateness(row, comparison.baseline)
        yield f"{_about_spending(steady)}{f'; {late}' if late else ''}"
    yield from _oddities_of(row, comparison)


def _oddities_of(row: Row, comparison: Comparison) -> Iterator[str]:
    yield from _warnings(row)
    if row.measured and not row.runs:
        rounds = comparison.rounds + comparison.left_out
        yield f"measured in {row.measured} of {rounds} rounds only: no figures"


def _about_spending(steady: Estimate) -> str:
    if steady.verdict is Verdict.INCONCLUSIVE:
        return "CPU while waiting is inconclusive"
    if steady.verdict is Verdict.WITHIN_MARGIN:
        return "workers spend about as much CPU while waiting"
    return f"workers spend {format_change(steady)} CPU while waiting"


def _about_lateness(row: Row, baseline: Row) -> str | None:
    ours, theirs = row.estimates.get("latency"), baseline.estimates.get("latency")
    ratio = row.ratios.get("latency")
    if ours is None or theirs is None or ratio is None:
        return None
    difference_s = ours.value - theirs.value
    if ratio.verdict is Verdict.INCONCLUSIVE:
        both = f"{format_seconds(theirs.value)} and {format_seconds(ours.value)} at p99"
        return f"lateness is inconclusive ({both})"
    if ratio.verdict is Verdict.WITHIN_MARGIN or abs(difference_s) < _NEXT_TO_NOTHING_S:
        return "items arrive no later at p99"
    direction = "later" if difference_s > 0 else "earlier"
    return f"items arrive {format_seconds(abs(difference_s))} {direction} at p99"


def _warnings(row: Row) -> Iterator[str]:
    runs = f"{len(row.runs)} runs"
    if row.unsupported is not None:
        yield f"not supported: {row.unsupported}"
    counts = ", ".join(
        f"{count} × {reason}{_last_words(row.last_failures[reason])}"
        for reason, count in sorted(row.failures.items())
        if reason not in HARMLESS
    )
    if counts:
        yield f"runs without a measurement: {counts}"
    if row.failures.get(DISTURBED, 0):
        yield count_repeated(row.failures[DISTURBED])
    if RESTARTED in row.marks:
        yield (
            f"in {row.marks[RESTARTED]} of {runs} processes of it began while it was to wait: it "
            "restarts what ends, or starts programs"
        )
    if UNANSWERED in row.marks:
        yield (
            f"in {row.marks[UNANSWERED]} of {runs} the poke was not answered: lateness is not "
            "measured there"
        )
    if BY_PROC in row.marks:
        yield (
            f"in {row.marks[BY_PROC]} of {runs} the kernel did not count: the figures were read "
            f"from /proc, which forgets what has ended (see {called('doctor')})"
        )
    if row.identical_to and row.is_set_otherwise:
        yield (f"same build as {row.identical_to}; what differs is a package beside it")
    elif row.identical_to:
        yield f"identical build: every file of its package is that of {row.identical_to}"
    elif row.same_library_as:
        yield (
            f"same compiled library as {row.same_library_as}, but other files of the package differ"
        )


def _last_words(last: Outcome) -> str:
    return f" ({last.message.rstrip('.')})" if last.message else ""


def _phrase(metric: Metric, ratio: Estimate) -> str:
    if ratio.verdict is Verdict.WITHIN_MARGIN:
        return f"{metric.title} unchanged"
    change, interval = format_change(ratio), format_range(ratio)
    if ratio.low is None or ratio.high is None:
        return f"{metric.title} {change} (one round: no interval)"
    if ratio.verdict is Verdict.INCONCLUSIVE and ratio.high / ratio.low > _TOO_WIDE:
        return f"{metric.title} too noisy to compare in {ratio.count} rounds"
    if ratio.verdict is Verdict.INCONCLUSIVE:
        return f"{metric.title} inconclusive (95 %: {interval})"
    return f"{metric.title} {change} (95 %: {interval})"


def plain(comparisons: Sequence[Comparison], price: Price | None = None) -> list[dict[str, Any]]:
    """Everything that is known of each scenario, ready for JSON; money only with a price."""
    return [
        {
            "scenario": comparison.scenario,
            "topology": comparison.topology,
            "mixed_origins": comparison.mixed_origins,
            "baseline": comparison.baseline.label,
            "rounds": comparison.rounds,
            "disturbed_rounds": comparison.disturbed,
            "revisions": [_plain_row(row, comparison, price) for row in comparison.rows],
            "sentences": sentences(comparison),
        }
        for comparison in comparisons
    ]


def plain_ratio(ratio: Estimate) -> dict[str, Any]:
    """A ratio to the baseline; ``is_bound`` where one of the two is next to nothing."""
    said = {"is_bound": ratio.is_bound, "verdict": ratio.verdict.value}
    return {**_plain_estimate(ratio), **said}


def _plain_row(row: Row, comparison: Comparison, price: Price | None) -> dict[str, Any]:
    cost = idle_cost(row, comparison) if comparison.mostly_waits else None
    units = {metric.name: metric.unit for metric in comparison.metrics}
    return {
        "label": row.label,
        "metrics": {
            name: {**_plain_estimate(estimate), "unit": units[name]}
            for name, estimate in row.estimates.items()
        },
        "ratios": {name: plain_ratio(ratio) for name, ratio in row.ratios.items()},
        "idle": None if cost is None else idle.plain(cost, price),
        "failures": dict(row.failures),
        "marks": dict(row.marks),
        "identical_to": row.identical_to,
        "same_library_as": row.same_library_as,
    }


def _plain_estimate(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "count")}
