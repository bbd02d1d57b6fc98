"""A Trend -> what people and their tools read: a table with sentences, JSON."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from waitbench.analysis.history import ChangePoint, Trend
from waitbench.analysis.results import Note
from waitbench.analysis.sessions import Entry
from waitbench.analysis.statistics import MetricResult
from waitbench.model.metrics import Metric
from waitbench.reporting import forest
from waitbench.reporting.document import Table
from waitbench.reporting.drawing import Axis
from waitbench.reporting.forest import Columns
from waitbench.reporting.formats import NOTHING, format_change, format_range
from waitbench.reporting.summary import MARKS

COLUMNS: Columns = (*forest.COLUMNS, ("sessions", lambda one: str(one.rounds)))
_FAR_OUT = 0.1
"""The share of a history's revisions that may lie beyond its axis."""
_PROVISIONAL = "? is provisional: only one session says so."


def table(trend: Trend, title: str, metric: Metric, newest: int = 0) -> Table:
    """The revisions of the series with this title in order of history, with its change points.

    With ``newest``, only so many, besides the anchor and those at a step.
    """
    steps = {step.after: _text(step) for step in trend.change_points}
    shown = _newest_of(trend, newest)
    dates = {entry.name: (entry.date or "")[:10] for entry in shown}
    left_out = len(trend.ratios) - len(shown)
    notes = {
        _PROVISIONAL: any(step.is_provisional for step in trend.change_points),
        f"{left_out} older revisions are left out: --json has all.": left_out,
    }
    made = forest.tabulate(
        f"{title}: {metric.title}, relative to {trend.anchor}",
        [of_entry(entry, trend, title, metric) for entry in shown],
        (*COLUMNS, ("change point", lambda one: steps.get(one.revision, ""))),
        # The few that are far out do not flatten the others.
        axis=Axis.over(trend.ratios.values(), _FAR_OUT),
        names=(("revision", forest.label_of), ("date", lambda one: dates[one.revision])),
    )
    return replace(made, notes=tuple(note for note, holds in notes.items() if holds))


def of_entry(entry: Entry, trend: Trend, title: str, metric: Metric) -> MetricResult:
    """One revision of a history, relative to the anchor."""
    ratio, is_anchor = trend.ratios[entry], entry.name == trend.anchor
    return MetricResult(
        scenario=title,
        scenarios=(title,),
        revision=entry.name,
        metric=metric,
        ratio=None if is_anchor else ratio,
        rounds=ratio.count,
        verdict=ratio.verdict,
        why_not="the anchor" if is_anchor else "",
    )


def _newest_of(trend: Trend, newest: int) -> list[Entry]:
    """So many revisions, besides the anchor and those at a step; all where ``newest`` is 0."""
    at_steps = {name for step in trend.change_points for name in (step.before, step.after)}
    late = len(trend.ratios) - newest if newest else 0
    return [
        entry
        for number, entry in enumerate(trend.ratios)
        if number >= late or entry.name in {trend.anchor, *at_steps}
    ]


def titled(trends: Sequence[Trend]) -> dict[str, Trend]:
    """Trends by what to call them: a title that no other of these has.

    That is scenario and topology, and the parameters and machines in which others of these differ.
    """
    found = {}
    for trend in trends:
        place = (trend.series.scenario, trend.series.topology)
        alike = [
            {**one.series.as_mapping, "on": one.machine}
            for one in trends
            if (one.series.scenario, one.series.topology) == place
        ]
        own = {**trend.series.as_mapping, "on": trend.machine}
        names = sorted({name for one in alike for name in one})
        telling = [name for name in names if len({str(one.get(name)) for one in alike}) > 1]
        title = ", ".join((*place, *(f"{name} {own.get(name, NOTHING)}" for name in telling)))
        found[title] = trend
    return found


def plain(trends: Sequence[Trend], metric: Metric) -> list[dict[str, Any]]:
    """A row for each revision of each trend, for JSON; ``step`` is a change point there."""
    return [
        {
            "scenario": trend.series.scenario,
            "topology": trend.series.topology,
            "parameters": trend.series.as_mapping,
            "machine": trend.machine,
            "metric": metric.name,
            "anchor": trend.anchor,
            "revision": entry.name,
            "version": entry.version,
            "commit": entry.commit,
            "date": entry.date,
            "ratio": msgspec.to_builtins(ratio),
            "step": step and msgspec.to_builtins(step.ratio),
            "provisional": step and step.is_provisional,
        }
        for trend in trends
        for steps in [{step.after: step for step in trend.change_points}]
        for entry, ratio in trend.ratios.items()
        for step in [steps.get(entry.name)]
    ]


def change_points(steps: Sequence[tuple[str, ChangePoint]], metric: Metric) -> Note:
    """The steps of several series at one revision, in one direction, each with its title."""
    (title, first), *more = steps
    ratios = sorted(step.ratio.value for _, step in steps)
    change = " to ".join(dict.fromkeys(map(format_change, (ratios[0], ratios[-1]))))
    provisional = "provisional" if first.is_provisional else ""
    where = ", ".join(filter(None, (title, format_range(first.ratio), provisional)))
    if more:
        where = f"in {len(steps)} histories"
    return Note(
        kind="change",
        level=MARKS[first.ratio.verdict],
        text=f"{change} {metric.title} from {first.after} on ({where})",
        revision=first.after,
        count=len(steps),
    )


def _text(step: ChangePoint) -> str:
    ratio = f"{MARKS[step.ratio.verdict]} {format_change(step.ratio)} ({format_range(step.ratio)})"
    return f"{ratio}{'?' * step.is_provisional}"
