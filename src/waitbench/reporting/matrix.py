"""Results -> the tables of the first screen: a row for each scenario.

With two revisions, both figures of each cost stand side by side. With more, each cost has a table
of its own with a column for each revision.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from waitbench.analysis.results import MetricResult
from waitbench.analysis.statistics import OF_DATAFLOWS, UNABLE
from waitbench.model.verdicts import Verdict
from waitbench.reporting import forest
from waitbench.reporting.document import Column, Heading, Table, TextCell
from waitbench.reporting.drawing import MARK_STYLES, shorten
from waitbench.reporting.formats import NOT_KNOWN, NOTHING, format_columns, format_range

_WAITING = ("idle", "wakeups", "latency")
_LONGEST_LABEL = 9
_FIGURES_WIDTH = 56
"""Characters that figures have beside names, in 80."""
_HEADINGS = {"real": "real", "user": "user", "system": "system", "wakeups": "wake-ups"}
_CERTAIN = (Verdict.FASTER, Verdict.SLOWER)


def tables(labels: Sequence[str], results: Sequence[MetricResult]) -> Iterator[Table]:
    """The four figures of dataflows, then the cost of waiting; or the main costs of workers."""
    shown = [it for it in results if not it.is_point]
    main = [it for it in shown if it.headline]
    names = dict.fromkeys(it.metric.name for it in main)
    are_workers = not names.keys() <= set(OF_DATAFLOWS)
    if len(labels) > 2:
        metrics = names if are_workers else ("cpu", "real")
        yield from _by_revision(labels, main if are_workers else shown, metrics)
    elif are_workers:
        scenarios = [it.scenario for it in main]
        groups = scenarios if len(set(scenarios)) > 1 else ()
        cost, columns = (("cost", forest.cost_of),), forest.columns_of(labels)
        yield forest.tabulate("", main, columns, names=cost, groups=groups)
    elif main:
        headings = dict(zip(labels, ("old", "new") if labels[1:] else ("",), strict=True))
        yield _table(headings, main, OF_DATAFLOWS, judged="cpu")
        waiting = [it for it in shown if it.waits and it.metric.name in _WAITING]
        if any(it.metric.name == "idle" for it in waiting):
            yield _table(headings, waiting, _WAITING)


def _by_revision(
    labels: Sequence[str], results: Sequence[MetricResult], metrics: Iterable[str]
) -> Iterator[Table]:
    """For each metric, as many tables as its candidates need, each with the baseline first."""
    headings = [(label, shorten(label, _LONGEST_LABEL)) for label in labels]
    number = max(1, _FIGURES_WIDTH // (max(len(name) for _, name in headings) + 2) - 1)
    for metric in metrics:
        of_metric = [it for it in results if it.metric.name == metric]
        for start in range(1, len(labels), number):
            shown = dict([headings[0], *headings[start : start + number]])
            yield _table(shown, of_metric, [metric], has_groups=False)


def _table(
    headings: Mapping[str, str],
    results: Sequence[MetricResult],
    metrics: Sequence[str],
    *,
    judged: str = "",
    has_groups: bool = True,
) -> Table:
    """Each metric of these revisions, and the interval of the judged one."""
    scenarios = [*dict.fromkeys(it.scenario for it in results)]
    known = {(it.scenario, it.metric.name, it.revision): it for it in results}
    befores = {(it.scenario, it.metric.name): it.before for it in results if it.before}
    by_name = {it.metric.name: it.metric for it in results}
    first, columns = "scenario", list[Column]()
    for metric in (by_name[name] for name in metrics if name in by_name):
        cells = [[known.get((it, metric.name, label)) for it in scenarios] for label in headings]
        means = [[it.after if it else None for it in column] for column in cells]
        if len(headings) > 1:
            means[0] = [befores.get((it, metric.name)) for it in scenarios]
        values = [[mean.value if mean else None for mean in column] for column in means]
        # Costs that add up to the judged one are all in seconds.
        unit, texts = format_columns(values, metric.unit, [[1.0]] if judged else values)
        title, in_unit = _HEADINGS.get(metric.name, metric.title), f", {unit}" if unit else ""
        group = title if judged else f"{title}{in_unit}"
        if not has_groups:
            first, group = f"{metric.title}{in_unit}", ""
        for text, column, of_label in zip(headings.values(), texts, cells, strict=True):
            heading = Heading(text, is_left=False, group=group)
            columns.append((heading, _figures(column, of_label, has_marks=not judged)))
    if judged and len(headings) > 1:
        candidate = [*headings][-1]
        intervals = [_interval(known.get((it, judged, candidate))) for it in scenarios]
        columns.append((Heading("95 %"), intervals))
    return Table("", [(Heading(first), _names(scenarios)), *columns])


def _figures(
    texts: Sequence[str], results: Sequence[MetricResult | None], *, has_marks: bool
) -> list[TextCell]:
    """Figures with the colour, and the mark, of a certain change."""
    cells = []
    for text, result in zip(texts, results, strict=True):
        mark = forest.mark_of(result) if result and result.verdict in _CERTAIN else ""
        shown = f"{text}{mark or ' '}" if has_marks else text
        cells.append(TextCell(text=shown, style=MARK_STYLES.get(mark, "")))
    return cells


def _interval(result: MetricResult | None) -> TextCell:
    """The mark and the interval of a change, or why there is none."""
    if result is None:
        return TextCell(text=NOTHING)
    mark = forest.mark_of(result)
    if result.ratio is None:
        text = result.why_not if result.why_not in UNABLE.values() else ""
    else:
        text = "" if result.ratio.is_bound else format_range(result.ratio, whole=True)
        if text.startswith(("≤", "≥")):
            # The mark says the direction.
            text = " ".join(text.split()[:2]) if result.verdict in _CERTAIN else NOT_KNOWN
    return TextCell(text=f"{mark} {text}".rstrip(), style=MARK_STYLES.get(mark, ""))


def _names(scenarios: Sequence[str]) -> list[TextCell]:
    """Scenarios; on a console, one that begins as the one above has only the rest of its name."""
    cells, stem = [], ""
    for name in scenarios:
        is_continued = bool(stem) and name.startswith(f"{stem}-")
        stem = stem if is_continued else name
        rest = f" {name.removeprefix(stem)}" if is_continued else ""
        cells.append(TextCell(text=name, short=rest))
    return cells
