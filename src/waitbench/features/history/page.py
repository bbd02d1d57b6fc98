"""The history of costs on the page of several comparisons."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from waitbench.analysis.results import Note
from waitbench.features.history import view
from waitbench.features.history.sessions import sessions_of
from waitbench.features.history.trends import Trend, commonest, trends
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.reporting import forest
from waitbench.reporting.document import Report, Section, grouped
from waitbench.store.comparisons import Contents

_COSTS = ("idle", "cpu", "system", "real")
_NEWEST = 50
"""Revisions of a table, besides the anchor and those at change points."""

Titled = Sequence[tuple[Metric, str, Trend]]


def extend(page: Report, several: Sequence[Contents]) -> Report:
    """Adds the trends of the engine with most sessions, and their change points."""
    by_metric = trends_of(several)
    titled = [
        (BY_NAME[name], title, trend)
        for name, of_metric in by_metric.items()
        for title, trend in view.titled(of_metric).items()
    ]
    if not titled:
        return page
    latest = [view.of_entry([*it.ratios][-1], it, title, metric) for metric, title, it in titled]
    labels = dict.fromkeys(it.revision for it in latest)
    title = f"{' or '.join(labels)}, the newest, relative to {titled[0][2].anchor}"
    newest = forest.tabulate(title, latest, view.COLUMNS, axis=forest.axis_of(latest))
    sections = [
        Section(
            title=f"{title}: {metric.title}", tables=[view.table(trend, title, metric, _NEWEST)]
        )
        for metric, title, trend in titled
    ]
    return replace(
        page,
        notes=(*_steps(titled), *page.notes),
        tables=(newest, *page.tables),
        sections=(*sections, *page.sections),
    )


def trends_of(several: Sequence[Contents]) -> Mapping[str, Sequence[Trend]]:
    """The trends of the costs on a page, by the metric's name."""
    metrics = [BY_NAME[name] for name in _COSTS]
    sessions = [it for contents in several for it in sessions_of(contents, metrics)]
    engines = Counter(session.engine for session in sessions)
    engine = max(engines, key=engines.__getitem__, default="")
    sessions = [session for session in sessions if session.engine == engine]
    anchor = commonest(sessions)
    return {name: trends([it for it in sessions if it.metric == name], anchor) for name in _COSTS}


def _steps(titled: Titled) -> list[Note]:
    """The change points of the first metric, a note for each revision and direction."""
    first = titled[0][0]
    known = [
        (title, step)
        for metric, title, trend in titled
        if metric == first
        for step in trend.change_points
    ]
    steps = grouped(known, lambda it: (it[1].after, it[1].is_rise))
    return [view.change_points(alike, first) for alike in steps.values()]
