"""A Trend -> what people and their tools read: a table with sentences, CSV, JSON, exports."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from waitbench.analysis.history import ChangePoint, Place, Trend
from waitbench.analysis.results import Note
from waitbench.analysis.statistics import Estimate
from waitbench.model.metrics import Metric
from waitbench.model.record import Series
from waitbench.reporting import forest
from waitbench.reporting.document import Heading, Table, Word
from waitbench.reporting.formats import format_change, format_range
from waitbench.reporting.summary import MARKS

_COLUMNS = (
    "scenario", "topology", "parameters", "machine", "metric", "anchor", "revision", "commit",
    "date", "ratio", "low", "high", "sessions", "change",
)  # fmt: skip


def table(trend: Trend, title: str, metric: Metric, newest: int = 0) -> Table:
    """The revisions of the series with this title in order of history, a note for each step.

    With ``newest``, only so many, besides the anchor and those at a step.
    """
    steps = {step.after: step for step in trend.change_points}
    shown = newest_of(trend, newest)
    left_out = len(trend.places) - len(shown)
    apart = ", ".join(entry.name for entry in trend.apart)
    return Table(
        title=f"{title}: {metric.title}, relative to {trend.anchor}",
        header=(
            "revision",
            "date",
            Heading("change", is_left=False),
            Heading("95 %", is_left=False),
            "sessions",
            Heading("change point"),
            Heading("ratio", axis=forest.trend_axis(trend)),
        ),
        rows=tuple(
            (
                Word(text=row.label, sort=number),
                (place.entry.date or "")[:10],
                Word(text=f"{row.mark} {row.change}", sort=place.ratio.value),
                row.interval,
                row.sessions,
                _mark(steps.get(row.label)),
                row.dot or "",
            )
            for number, place in enumerate(shown)
            for row in [forest.of_place(place, trend.anchor, title, metric)]
        ),
        notes=(
            *(sentence(step, metric) for step in trend.change_points),
            *(
                [f"{left_out} older revisions are left out: --format csv has all."]
                if left_out
                else []
            ),
            *([f"No session measured beside {trend.anchor}: {apart}."] if apart else []),
        ),
    )


def newest_of(trend: Trend, newest: int) -> list[Place]:
    """So many revisions, besides the anchor and those at a step; all where ``newest`` is 0."""
    at_steps = {name for step in trend.change_points for name in (step.before, step.after)}
    late = len(trend.places) - newest if newest else 0
    return [
        place
        for number, place in enumerate(trend.places)
        if number >= late or place.entry.name in {trend.anchor, *at_steps}
    ]


def titles(series: Iterable[Series]) -> dict[Series, str]:
    """What to call each of some series; no two have the same title.

    That is scenario and topology, and the parameters in which others of these differ.
    """
    by_place: dict[tuple[str, str], list[Series]] = {}
    for one in dict.fromkeys(series):
        by_place.setdefault((one.scenario, one.topology), []).append(one)
    return {
        one: ", ".join((scenario, topology, *_apart(one, alike)))
        for (scenario, topology), alike in by_place.items()
        for one in alike
    }


def _apart(one: Series, alike: Iterable[Series]) -> list[str]:
    """The parameters in which a series is not as the others are."""
    own, others = one.as_mapping, [other.as_mapping for other in alike]
    missing = object()
    return [
        f"{name} {json.dumps(own[name])}" if name in own else f"no {name}"
        for name in sorted({name for other in others for name in other})
        if any(other.get(name, missing) != own.get(name, missing) for other in others)
    ]


def titled(trends: Sequence[Trend]) -> dict[str, Trend]:
    """Trends by what to call them: a title that no other of these has."""
    called = titles(trend.series for trend in trends)
    machines = Counter(trend.series for trend in trends)
    return {
        called[trend.series]
        + (f", on {trend.machine}" if machines[trend.series] > 1 else ""): trend
        for trend in trends
    }


def as_csv(trends: Sequence[Trend], metric: Metric) -> str:
    """A row for each revision of each trend."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for trend in trends:
        steps = {step.after: step.ratio.value for step in trend.change_points}
        series = {**_plain_series(trend), "metric": metric.name}
        for place in trend.places:
            row = {**series, **_plain_place(place), "change": steps.get(place.entry.name, "")}
            row |= {"parameters": trend.series.parameters}
            writer.writerow(
                {name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()}
            )
    return text.getvalue()


def as_plain(trends: Sequence[Trend], metric: Metric) -> dict[str, Any]:
    """Everything that a program may want to know."""
    return {
        "metric": metric.name,
        "trends": [
            {
                **_plain_series(trend),
                "scatter": trend.scatter,
                "revisions": [_plain_place(place) for place in trend.places],
                "change_points": [_plain_step(step) for step in trend.change_points],
                "apart": [entry.name for entry in trend.apart],
            }
            for trend in trends
        ],
    }


def _plain_series(trend: Trend) -> dict[str, Any]:
    return {
        "scenario": trend.series.scenario,
        "topology": trend.series.topology,
        "parameters": trend.series.as_mapping,
        "machine": trend.machine,
        "anchor": trend.anchor,
    }


def for_action_benchmark(trends: Sequence[Trend], metric: Metric) -> list[dict[str, Any]]:
    """The newest revision, as github-action-benchmark takes it: ``customSmallerIsBetter``."""
    return [
        {
            "name": f"{title}: {metric.name}",
            "unit": f"ratio to {trend.anchor}",
            "value": place.ratio.value,
            "range": _interval(place.ratio),
            "extra": f"{place.entry.name}, {place.ratio.count} sessions",
        }
        for title, trend in titled(trends).items()
        for place in (trend.newest,)
    ]


def for_bencher(trends: Sequence[Trend], metric: Metric) -> dict[str, Any]:
    """The newest revision, in the metric format of Bencher."""
    return {
        title: {
            f"{metric.name}-ratio": {
                "value": place.ratio.value,
                "lower_value": place.ratio.low,
                "upper_value": place.ratio.high,
            }
        }
        for title, trend in titled(trends).items()
        for place in (trend.newest,)
    }


def change_point(step: ChangePoint, metric: Metric, where: str = "") -> Note:
    """What a step is, and how certain; ``where`` it is, if that is not said above."""
    provisional = "provisional: only one session says so" if step.is_provisional else ""
    aside = ", ".join(filter(None, (where, format_range(step.ratio), provisional)))
    text = f"{format_change(step.ratio)} {metric.title} from {step.after} on ({aside})"
    level = MARKS[step.ratio.verdict]
    return Note(kind="change", level=level, text=text, revision=step.after, count=1)


def change_points(steps: Sequence[tuple[str, ChangePoint]], metric: Metric) -> Note:
    """The steps of several series at one revision, in one direction, each with its title."""
    if len(steps) == 1:
        ((title, step),) = steps
        return change_point(step, metric, title)
    first, values = steps[0][1], [step.ratio.value for _, step in steps]
    provisional = sum(step.is_provisional for _, step in steps)
    ends = " to ".join(dict.fromkeys(map(format_change, (min(values), max(values)))))
    unsure = f", {provisional} of them provisional" if provisional else ""
    text = f"{ends} {metric.title} from {first.after} on (in {len(steps)} histories{unsure})"
    level = MARKS[first.ratio.verdict]
    return Note(kind="change", level=level, text=text, revision=first.after, count=len(steps))


def sentence(step: ChangePoint, metric: Metric) -> str:
    """The same in one line."""
    said = change_point(step, metric)
    return f"{said.level} {said.text}."


def _mark(step: ChangePoint | None) -> str:
    if step is None:
        return ""
    provisional = "?" if step.is_provisional else ""
    return f"{MARKS[step.ratio.verdict]} {format_change(step.ratio)}{provisional}"


def _interval(ratio: Estimate) -> str:
    return f"{ratio.low:.3f}–{ratio.high:.3f}"


def _plain_place(place: Place) -> dict[str, Any]:
    return {
        "revision": place.entry.name,
        "version": place.entry.version,
        "commit": place.entry.commit,
        "date": place.entry.date,
        **_plain_ratio(place.ratio),
        "sessions": place.ratio.count,
    }


def _plain_step(step: ChangePoint) -> dict[str, Any]:
    return {
        "before": step.before,
        "after": step.after,
        **_plain_ratio(step.ratio),
        "provisional": step.is_provisional,
    }


def _plain_ratio(ratio: Estimate) -> dict[str, float | None]:
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
