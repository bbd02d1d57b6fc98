"""Formats trends as tables, sentences and JSON."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from waitbench.analysis.results import MetricResult
from waitbench.features.history.sessions import HistoryRevision
from waitbench.features.history.trends import ChangePoint, Trend
from waitbench.reporting import forest
from waitbench.reporting.document import Table
from waitbench.reporting.drawing import MARKS
from waitbench.reporting.forest import Columns
from waitbench.reporting.formats import NOTHING, format_change, format_count, format_range

_COLUMNS: Columns = (*forest.COLUMNS, ("sessions", lambda result: str(result.rounds)))
_PROVISIONAL = "? is provisional: only one session says so."


def table(trend: Trend, title: str, newest: int = 0) -> Table:
    """A row for each of the ``newest`` revisions (0: all), the anchor, and at change points."""
    points = {point.after: text_of(point) for point in trend.change_points}
    always = {trend.anchor}.union(*((it.before, it.after) for it in trend.change_points))
    first = len(trend.ratios) - newest if newest else 0
    shown = [it for number, it in enumerate(trend.ratios) if number >= first or it.name in always]
    dates = {revision.name: (revision.date or "")[:10] for revision in shown}
    left_out = len(trend.ratios) - len(shown)
    notes = {
        _PROVISIONAL: any(point.is_provisional for point in trend.change_points),
        f"{format_count(left_out, 'older revision is', 'older revisions are')} left out: "
        "--json has all.": left_out,
    }
    return forest.tabulate(
        f"{title}: {trend.metric.title}, relative to {trend.anchor}",
        [_result(revision, trend, title) for revision in shown],
        (*_COLUMNS, ("change point", lambda result: points.get(result.revision, ""))),
        names=(
            ("revision", attrgetter("revision")),
            ("date", lambda result: dates[result.revision]),
        ),
        notes=tuple(note for note, holds in notes.items() if holds),
    )


def _result(revision: HistoryRevision, trend: Trend, title: str) -> MetricResult:
    ratio, is_anchor = trend.ratios[revision], revision.name == trend.anchor
    return MetricResult(
        scenario=title,
        scenarios=(title,),
        revision=revision.name,
        metric=trend.metric,
        ratio=None if is_anchor else ratio,
        rounds=ratio.count,
        verdict=ratio.verdict,
        why_not="the anchor" if is_anchor else "",
    )


def title_of(trend: Trend, others: Sequence[Trend]) -> str:
    """The scenario and topology, with the parameters and machine that differ from ``others``."""
    place, parameters = _place(trend), _parameters(trend)
    alike = [_parameters(other) for other in others if _place(other) == place]
    names = sorted({name for it in alike for name in it})
    differing = [name for name in names if len({str(it.get(name)) for it in alike}) > 1]
    return ", ".join((*place, *(f"{name} {parameters.get(name, NOTHING)}" for name in differing)))


def _place(trend: Trend) -> tuple[str, str]:
    return trend.series.scenario, trend.series.topology


def _parameters(trend: Trend) -> dict[str, Any]:
    return {**trend.series.decoded_parameters, "on": trend.machine}


def as_json(trends: Sequence[Trend]) -> list[dict[str, Any]]:
    """A row for each revision of each trend. ``step`` is the change of the cost at the revision."""
    return [
        {
            "scenario": trend.series.scenario,
            "topology": trend.series.topology,
            "parameters": trend.series.decoded_parameters,
            "machine": trend.machine,
            "metric": trend.metric.name,
            "anchor": trend.anchor,
            "revision": revision.name,
            "version": revision.version,
            "commit": revision.commit,
            "date": revision.date,
            "ratio": msgspec.to_builtins(ratio),
            "step": point and msgspec.to_builtins(point.ratio),
            "provisional": point and point.is_provisional,
        }
        for trend in trends
        for points in [{point.after: point for point in trend.change_points}]
        for revision, ratio in trend.ratios.items()
        for point in [points.get(revision.name)]
    ]


def text_of(point: ChangePoint) -> str:
    mark, change = MARKS[point.ratio.verdict], format_change(point.ratio.value)
    return f"{mark} {change} ({format_range(point.ratio)}){'?' * point.is_provisional}"
