"""Results -> the tables of the first screen: a row for each scenario.

With two revisions, both figures of each cost stand side by side. With more, each cost has a table
of its own with a column for each revision.
"""

from collections.abc import Iterator, Sequence

from waitbench.analysis.statistics import OF_DATAFLOWS, UNABLE, MetricResult
from waitbench.model.verdicts import Verdict
from waitbench.reporting import forest
from waitbench.reporting.document import Column, Heading, Table, Word
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import NOT_KNOWN, NOTHING, format_columns, format_range
from waitbench.reporting.summary import MARK_STYLES

_WAITING = ("idle", "wakeups", "latency")
"""What waiting costs, beside the figures of the whole run."""
_LONGEST_LABEL = 9
_FIGURES_WIDTH = 56
"""Characters that figures have beside names, in 80."""
_HEADINGS = {"real": "real", "user": "user", "system": "system", "wakeups": "wake-ups"}
"""Short titles."""
_CERTAIN = (Verdict.FASTER, Verdict.SLOWER)


def tables(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """The four figures of each dataflow, then the cost of waiting in those that wait."""
    shown = [it for it in results if not it.is_point]
    headlines = {it.metric.name for it in shown if it.headline}
    if not headlines.issubset(OF_DATAFLOWS):
        yield from _of_workers(labels, shown)
    elif len(labels) > 2:
        for name in ("cpu", "real"):
            yield from _by_revision(labels, [it for it in shown if it.metric.name == name])
    elif headlines:
        yield _by_side(labels, [it for it in shown if it.headline], OF_DATAFLOWS, judged="cpu")
        waiting = [it for it in shown if it.waits and it.metric.name in _WAITING]
        if any(it.metric.name == "idle" for it in waiting):
            yield _by_side(labels, waiting, _WAITING)


def _of_workers(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """A row for each cost of few revisions; a table for each cost of many."""
    main = [it for it in results if it.headline]
    if len(labels) > 2:
        for name in dict.fromkeys(it.metric.name for it in main):
            yield from _by_revision(labels, [it for it in main if it.metric.name == name])
        return
    columns = (*forest.sides(labels), *(forest.COLUMNS if labels[1:] else ()))
    scenarios = [it.scenario for it in main]
    groups = scenarios if len(set(scenarios)) > 1 else ()
    yield forest.tabulate("", main, columns, names=(("cost", forest.cost_of),), groups=groups)


def _by_side(
    labels: Sequence[str], results: Sequence[MetricResult], order: Sequence[str], judged: str = ""
) -> Table:
    """Both sides of each cost, and the interval of what is judged.

    Beside what is judged, all costs are in seconds: they add up to it.
    """
    scenarios = [*dict.fromkeys(it.scenario for it in results)]
    cells = {(it.scenario, it.metric.name): it for it in results}
    metrics = {it.metric.name: it.metric for it in results}
    columns: list[Column] = [(Heading("scenario"), _names(scenarios))]
    sides = ("old", "new") if labels[1:] else ("",)
    values = {
        name: [[_value(cells.get((at, name)), side) for at in scenarios] for side in sides]
        for name in order
        if name in metrics
    }
    for name, of_metric in values.items():
        like = [[1.0]] if judged else of_metric
        unit, texts = format_columns(of_metric, metrics[name].unit, like)
        title = _HEADINGS.get(name, metrics[name].title)
        group = title if judged or not unit else f"{title}, {unit}"
        for side, column in zip(sides, texts, strict=True):
            results_of = [cells.get((at, name)) if side == "new" else None for at in scenarios]
            words = [_cell(*it, has_mark=not judged) for it in zip(column, results_of, strict=True)]
            columns.append((Heading(side, is_left=False, group=group), words))
    if judged and labels[1:]:
        columns.append((Heading("95 %"), [_interval(cells.get((at, judged))) for at in scenarios]))
    return Table("", columns)


def _value(result: MetricResult | None, side: str) -> float | None:
    estimate = result and (result.before if side == "old" else result.after)
    return estimate.value if estimate else None


def _cell(text: str, result: MetricResult | None, *, has_mark: bool) -> Word:
    """A figure; that of a candidate has the colour, and the mark, of a certain change."""
    mark = forest.mark_of(result) if result and result.verdict in _CERTAIN else ""
    return Word(text=f"{text}{mark or ' '}" if has_mark else text, style=MARK_STYLES.get(mark, ""))


def _interval(result: MetricResult | None) -> Word:
    """The mark and the interval of a change, or why there is none."""
    if result is None:
        return Word(text=NOTHING)
    mark = forest.mark_of(result)
    if result.ratio is None:
        text = result.why_not if result.why_not in UNABLE.values() else ""
    else:
        text = "" if result.ratio.is_bound else format_range(result.ratio, whole=True)
        if text.startswith(("≤", "≥")):
            # The mark says the direction.
            text = " ".join(text.split()[:2]) if result.verdict in _CERTAIN else NOT_KNOWN
    return Word(text=f"{mark} {text}".rstrip(), style=MARK_STYLES.get(mark, ""))


def _by_revision(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """One cost: a column for the baseline and each candidate, in as many tables as that takes."""
    names = [shorten(label, _LONGEST_LABEL) for label in labels]
    number = max(1, _FIGURES_WIDTH // (max(map(len, names)) + 2) - 1)
    for start in range(1, len(labels), number):
        shown = slice(start, start + number)
        yield _columns([labels[0], *labels[shown]], [names[0], *names[shown]], results)


def _columns(labels: Sequence[str], names: Sequence[str], results: Sequence[MetricResult]) -> Table:
    scenarios = [*dict.fromkeys(it.scenario for it in results)]
    cells = {(it.scenario, it.revision): it for it in results}
    befores = {it.scenario: it.before.value for it in results if it.before}
    values = [
        [befores.get(at) for at in scenarios],
        *([_value(cells.get((at, label)), "new") for at in scenarios] for label in labels[1:]),
    ]
    metric = results[0].metric
    unit, texts = format_columns(values, metric.unit, values)
    heading = f"{metric.title}, {unit}" if unit else metric.title
    columns: list[Column] = [(Heading(heading), _names(scenarios))]
    for label, name, column in zip(labels, names, texts, strict=True):
        marked = [cells.get((at, label)) for at in scenarios]
        words = [_cell(*it, has_mark=True) for it in zip(column, marked, strict=True)]
        columns.append((Heading(name, is_left=False), words))
    return Table("", columns)


def _names(scenarios: Sequence[str]) -> list[Word]:
    """Scenarios; below one that a name continues, a console shows the rest of it only."""
    names, stem = [], ""
    for name in scenarios:
        is_continued = bool(stem) and name.startswith(f"{stem}-")
        stem = stem if is_continued else name
        names.append(Word(text=name, short=f" {name.removeprefix(stem)}" if is_continued else ""))
    return names
