"""Comparisons -> a card for each candidate: what a page answers before anything is looked for.

Which is better, by how much, how sure that is, what it costs in lateness, what failed.
"""

from collections.abc import Iterator, Mapping, Sequence

from waitbench.analysis.history import Trend
from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME, Metric
from waitbench.model.run import HARMLESS
from waitbench.reporting.answer import MARKS, headlines_of
from waitbench.reporting.document import Card, CardLine, Change, Headline
from waitbench.reporting.formats import format_change, format_count, format_range
from waitbench.reporting.summary import TITLES, verdict

BETTER, WORSE, MIXED, SAME, INCONCLUSIVE, FAILED, NOTHING = (
    "better", "worse", "mixed", "the same", "inconclusive", "failed", "not measured",
)  # fmt: skip
"""How a candidate stands against the baseline."""

_PRICES = ("latency", "real")
"""What it may cost; the first that is known."""
_LOUDEST = (Verdict.SLOWER, Verdict.INCONCLUSIVE, Verdict.FASTER, Verdict.WITHIN_MARGIN)
_WORDS = {
    "latency": ("later", "earlier", "no later"),
    "real": ("longer", "shorter", "as long"),
}
_ORDER = "▲▼?=✗–"
"""Of headlines, by their marks."""
_STEPS = 3
"""So many of a history's steps are on its card, the newest."""

Found = tuple[Comparison, Row]


def of_comparisons(comparisons: Sequence[Comparison]) -> tuple[Card, ...]:
    """A card for each candidate, in order."""
    labels = dict.fromkeys(row.label for one in comparisons for row in one.rows[1:])
    return tuple(
        _card(label, [(of, row) for of in comparisons for row in of.rows if row.label == label])
        for label in labels
    )


def of_trends(trends: Sequence[Trend], metric: Metric, titles: Sequence[str]) -> tuple[Card, ...]:
    """A card for each series: the newest revision against the anchor, and the last steps."""
    return tuple(
        _card_of_trend(one, metric, title) for one, title in zip(trends, titles, strict=True)
    )


def failures(comparisons: Sequence[Comparison], label: str) -> tuple[str, ...]:
    """What failed of one revision, each with its last words."""
    return tuple(
        f"{format_count(count, 'run', 'runs')} of {of.scenario}: {reason}"
        f"{_words(row.last_failures[reason].message)}"
        for of in comparisons
        for row in of.rows
        if row.label == label
        for reason, count in sorted(row.failures.items())
        if reason not in HARMLESS
    )


def short(of: Comparison, row: Row) -> str:
    """What a candidate comes to in a scenario, in three words."""
    return _line(of.scenario, of, row).text


def _words(message: str) -> str:
    return f": {message.rstrip('.')}" if message else ""


def _card(label: str, found: Sequence[Found]) -> Card:
    comparisons = [of for of, _ in found]
    failed = failures(comparisons, label)
    names, several = _short_names([of.scenario for of in comparisons]), len(found) > 1
    return Card(
        title=label,
        level=_level([row.judged for _, row in found], bool(failed)),
        # What the level says comes first.
        headlines=tuple(sorted(headlines_of(found, ""), key=lambda one: _ORDER.index(one.mark))),
        price=_price(found, names),
        lines=tuple(_line(names[of.scenario], of, row) for of, row in found) if several else (),
        failures=failed,
        cautions=tuple(_cautions(found)),
    )


def _level(ratios: Sequence[Estimate | None], has_failures: bool) -> str:
    verdicts = {ratio.verdict for ratio in ratios if ratio is not None}
    if not verdicts:
        return FAILED if has_failures else NOTHING
    if {Verdict.SLOWER, Verdict.FASTER} <= verdicts:
        return MIXED
    known = {
        Verdict.SLOWER: WORSE,
        Verdict.FASTER: BETTER,
        Verdict.INCONCLUSIVE: INCONCLUSIVE,
        Verdict.WITHIN_MARGIN: SAME,
    }
    return next(word for one, word in known.items() if one in verdicts)


def _short_names(scenarios: Sequence[str]) -> dict[str, str]:
    """Scenarios without the family that all of them are of."""
    families = {name.partition("-")[0] for name in scenarios}
    shared = f"{families.pop()}-" if len(families) == 1 else ""
    short = {name: name.removeprefix(shared) for name in scenarios}
    return short if all(short.values()) else {name: name for name in scenarios}


def _line(name: str, of: Comparison, row: Row) -> CardLine:
    if row.judged is None:
        return CardLine(name=name, text=verdict(of, row) or "no ratio")
    return _line_of(name, row.judged)


def _line_of(name: str, ratio: Estimate) -> CardLine:
    return CardLine(
        name=name,
        text=f"{MARKS[ratio.verdict]} {format_change(ratio)}",
        interval=format_range(ratio),
        ratio=ratio,
    )


def _price(found: Sequence[Found], names: Mapping[str, str]) -> str:
    """What it costs in lateness, where that is known, else in real time: the worst scenario."""
    for name in _PRICES:
        having = [
            (of, row) for of, row in found if name in row.ratios and (of.waits or name != "latency")
        ]
        if having:
            of, row = min(having, key=lambda one: _loudness(one[1].ratios[name]))
            values = Change(of.baseline.estimates[name], row.estimates[name], BY_NAME[name])
            later, earlier, alike = _WORDS[name]
            word = {
                Verdict.SLOWER: later,
                Verdict.FASTER: earlier,
                Verdict.WITHIN_MARGIN: alike,
            }.get(row.ratios[name].verdict, "inconclusive")
            where = f" ({names[of.scenario]}, the worst)" if len(having) > 1 else ""
            return f"{TITLES[name]} {values.text}: {word}{where}"
    return ""


def _loudness(ratio: Estimate) -> tuple[int, float]:
    """What is certainly worse comes first; then what may be; the worst of each."""
    return _LOUDEST.index(ratio.verdict), -ratio.value


def _cautions(found: Sequence[Found]) -> Iterator[str]:
    disturbed = [of for of, row in found if row.judged is not None and of.is_disturbed]
    if disturbed:
        scenarios = format_count(len(disturbed), "scenario", "scenarios")
        yield f"In most rounds of {scenarios} other programs used the machine."


def _card_of_trend(found: Trend, metric: Metric, title: str) -> Card:
    newest = found.newest
    ratio, name = newest.ratio, newest.entry.name
    sessions = format_count(ratio.count, "session", "sessions")
    interval = format_range(ratio)
    if name == found.anchor:
        text, aside = f"{name} is the newest, and the anchor", ""
    else:
        text = f"{format_change(ratio)} {TITLES[metric.name]} in {name} than in {found.anchor}"
        aside = ", ".join(filter(None, (f"95 %: {interval}" if interval else "", sessions)))
    steps = sorted(
        found.change_points,
        key=lambda step: [place.entry.name for place in found.places].index(step.after),
    )
    return Card(
        title=title,
        level=_level([ratio], has_failures=False) if name != found.anchor else SAME,
        headlines=(Headline(text=text, style="", mark=MARKS[ratio.verdict], aside=aside),),
        lines=tuple(
            _line_of(f"{step.after}{' (provisional)' if step.is_provisional else ''}", step.ratio)
            for step in reversed(steps[-_STEPS:])
        ),
        lines_title="" if steps else "no change point is claimed",
    )
