"""Comparisons -> the answer: what a comparison comes to, in a few lines.

A headline for each candidate, a row for each scenario, what to be wary of, and what to do now.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME
from waitbench.reporting.cautions import ENOUGH_ROUNDS, warnings
from waitbench.reporting.console import STYLES
from waitbench.reporting.document import (
    Answer,
    Cell,
    Change,
    Command,
    Heading,
    Headline,
    Table,
    Word,
)
from waitbench.reporting.formats import NOTHING, format_change, format_count, format_range
from waitbench.reporting.shortening import named, short_names
from waitbench.reporting.summary import (
    DISTURBED_MARK,
    DISTURBED_NOTE,
    TITLES,
    TOTAL_MARK,
    TOTAL_NOTE,
    candidates,
    is_disturbed,
    titles_of,
    verdict,
)
from waitbench.system.installation import called

MARKS = {
    Verdict.FASTER: "▼",
    Verdict.SLOWER: "▲",
    Verdict.WITHIN_MARGIN: "=",
    Verdict.INCONCLUSIVE: "?",
}
"""What tells verdicts apart to who cannot tell the colours apart."""
_NEXT_TO_NOTHING_S = 5e-5
"""A difference of lateness below this is not worth a row."""
_BESIDES = ("system", "latency", "cpu", "real")
"""What else may be worth a row, beneath what is judged."""
_WORDS = {Verdict.FASTER: "less", Verdict.SLOWER: "more"}
_WORDS_OF_LATENESS = {Verdict.FASTER: "earlier", Verdict.SLOWER: "later"}
_SEVERAL = 3
"""From so many candidates on, of which the same is inconclusive, it is said once."""
_NAMED = 2
"""So many candidates are named in the title."""
WHY_PURPOSE = "which thread wakes up, and in which line of code"
_MORE_ROUNDS = 2
"""By how much more rounds are proposed where those that were made did not tell enough."""
_NOT_AGAIN = ("--results", "--rounds", "--shard")
"""Options with a value that the next command does not have, or has another one of."""

Found = tuple[Comparison, Row]


def answer(comparisons: Sequence[Comparison]) -> Answer:
    """What they come to."""
    names = short_names([row.label for row in comparisons[0].rows])
    shown = [named(one, names) for one in comparisons]
    found = candidates(shown)
    labels = list(dict.fromkeys(row.label for _, row in found))
    headlines = {
        label: list(
            headlines_of(
                [one for one in found if one[1].label == label], f"{label}: " if labels[1:] else ""
            )
        )
        for label in labels
    }
    return Answer(
        title=_title(shown, labels),
        basis=_basis(shown),
        headlines=tuple(_together(headlines)),
        table=_table(found) if found else _alone(shown),
        remarks=(*names.remarks, *_notes(found)),
        warnings=tuple(warnings(shown)),
    )


def _together(headlines: Mapping[str, Sequence[Headline]]) -> Iterator[Headline]:
    """The headlines of all candidates; what is inconclusive of several in the same words, once."""
    alike: dict[Headline, list[str]] = {}
    for label, own in headlines.items():
        for one in own:
            nobody = replace(one, text=one.text.removeprefix(f"{label}: "))
            alike.setdefault(nobody, []).append(label)
    for label, own in headlines.items():
        for one in own:
            nobody = replace(one, text=one.text.removeprefix(f"{label}: "))
            who = alike[nobody]
            if len(who) < _SEVERAL or one.mark != MARKS[Verdict.INCONCLUSIVE]:
                yield one
            elif who[0] == label:
                number = "all" if len(who) == len(headlines) else f"{len(who)} of"
                yield replace(one, text=f"{number} {len(headlines)} revisions: {nobody.text}")


def next_step(comparisons: Sequence[Comparison], argv: Sequence[str]) -> Command | None:
    """What is best done now with a comparison that was typed so; ``None`` where nobody knows."""
    ratios = [row.judged for _, row in candidates(comparisons) if row.judged is not None]
    if not ratios or list(argv[:1]) != ["compare"]:
        return None
    verdicts = {ratio.verdict for ratio in ratios}
    rounds = max(one.rounds for one in comparisons)
    if Verdict.INCONCLUSIVE in verdicts:
        more = max(ENOUGH_ROUNDS, rounds * _MORE_ROUNDS)
        return Command(again(argv, "--rounds", str(more)), "more rounds tell smaller changes apart")
    if any(one.is_disturbed for one in comparisons):
        text = again(argv, "--rounds", str(rounds))
        return Command(text, "the same, when the machine is idle")
    if Verdict.SLOWER in verdicts and "--why" not in argv:
        return Command(again(argv, "--why"), WHY_PURPOSE)
    if Verdict.SLOWER in verdicts or "--gate" in argv:
        return None
    return Command(again(argv, "--gate"), "exit code 1 as soon as it costs more, for CI")


def again(argv: Sequence[str], *more: str) -> str:
    """A command as it was typed, into a folder of its own, with more options."""
    left_out = {*_NOT_AGAIN, "--resume", *(word for word in more if word.startswith("--"))}
    words = []
    is_value = False
    for word in argv[1:]:
        is_left_out = is_value or word.partition("=")[0] in left_out
        is_value = not is_value and word in _NOT_AGAIN
        if not is_left_out:
            words.append(word)
    return f"{called(argv[0])} {shlex.join((*words, *more))}"


def _title(comparisons: Sequence[Comparison], labels: Sequence[str]) -> str:
    baseline = comparisons[0].baseline.label
    if not labels:
        return baseline
    who = " and ".join(labels) if len(labels) <= _NAMED else f"{len(labels)} revisions"
    where = f" in {comparisons[0].scenario}" if len(comparisons) == 1 and labels[1:] else ""
    return f"{who} against {baseline}{where}"


def _basis(comparisons: Sequence[Comparison]) -> str:
    """How many processes and rounds it rests on."""
    topologies = {one.record.topology for one in comparisons}
    processes = topologies.pop() if len(topologies) == 1 else ""
    processes = "1 process" if processes == "single" else processes.removeprefix("cluster, ")
    counts = sorted({one.rounds for one in comparisons if one.rounds})
    rounds = format_count(counts[-1], "round", "rounds") if counts else "no rounds"
    if len(counts) > 1:
        rounds = f"{counts[0]}–{rounds}"
    return ", ".join(filter(None, (processes, rounds)))


def _judged_title(found: Iterable[Found]) -> str:
    """What is judged is called as precisely as holds for all."""
    judged = {(of.record.waits, _judged_by(of, row)) for of, row in found}
    if all(name == "cpu" for _, name in judged):
        return TITLES["cpu"]
    return titles_of(is_waiting=all(waits for waits, _ in judged))["steady"]


def _judged_by(comparison: Comparison, row: Row) -> str:
    """The metric of the verdict; where there is none, what it would have been of."""
    known = {**comparison.baseline.estimates, **row.estimates}
    return row.judged_by if row.judged or "steady" not in known else "steady"


def headlines_of(found: Sequence[Found], who: str) -> Iterator[Headline]:
    """What is known of one candidate, a line for each verdict: what is worse comes first."""
    waiting = [(of, row) for of, row in found if of.record.waits]
    others = [(of, row) for of, row in found if not of.record.waits]
    if waiting and others:
        # What waits is what this is about; the same word would not fit both.
        yield from _headlines_of(waiting, who, " that wait")
        yield from _headlines_of(others, who, " that do not wait")
    else:
        yield from _headlines_of(found, who, "")
    yield from _later(waiting, who)


def _later(waiting: Sequence[Found], who: str) -> Iterator[Headline]:
    """What waiting more cheaply costs: how much later items certainly are, and where most."""
    later = [
        (row.ratios["latency"], of, row)
        for of, row in waiting
        if "latency" in row.ratios
        and row.ratios["latency"].verdict is Verdict.SLOWER
        and _difference(of, row, "latency") >= _NEXT_TO_NOTHING_S
    ]
    if later:
        ratio, of, row = max(later, key=lambda one: one[0].value)
        values = Change(
            of.baseline.estimates["latency"], row.estimates["latency"], BY_NAME["latency"]
        )
        yield Headline(
            text=f"{who}{TITLES['latency']} {'up to ' if later[1:] else ''}{format_change(ratio)}",
            style=f"bold {STYLES[Verdict.SLOWER]}",
            mark=MARKS[Verdict.SLOWER],
            aside=f"in {of.scenario}: {values.text}",
        )


def _difference(of: Comparison, row: Row, name: str) -> float:
    return row.estimates[name].value - of.baseline.estimates[name].value


def _headlines_of(found: Sequence[Found], who: str, kind: str) -> Iterator[Headline]:
    what, total = _judged_title(found), len(found)
    judged = [(of, row.judged) for of, row in found if row.judged is not None]
    for wanted in (Verdict.SLOWER, Verdict.FASTER, Verdict.INCONCLUSIVE, Verdict.WITHIN_MARGIN):
        group = [(of, ratio) for of, ratio in judged if ratio.verdict is wanted]
        if not group:
            continue
        text, how_sure = _phrase(wanted, [ratio for _, ratio in group], what)
        yield Headline(
            text=f"{who}{text}",
            style=f"bold {STYLES[wanted]}",
            mark=MARKS[wanted],
            aside=_aside(how_sure, who, [of for of, _ in group], total, kind),
        )
    lacking: dict[str, list[Comparison]] = {}
    for of, row in found:
        if row.judged is None:
            lacking.setdefault(verdict(of, row) or "no ratio", []).append(of)
    for name, places in lacking.items():
        is_harmless = name == "not supported"
        yield Headline(
            text=f"{who}{name}",
            style="dim" if is_harmless else "bold red",
            mark="–" if is_harmless else "✗",
            aside=_places(places, total, kind),
        )


def _aside(
    how_sure: str, who: str, comparisons: Sequence[Comparison], total: int, kind: str
) -> str:
    """How sure the one figure is; of several, where; of several candidates the table says it."""
    if total > 1 or kind:
        return _places(comparisons, total, kind)
    return "" if who else how_sure


def _phrase(wanted: Verdict, ratios: Sequence[Estimate], what: str) -> tuple[str, str]:
    """What the ratios of one verdict say together, and how sure a single one is."""
    values = [ratio.value for ratio in ratios]
    span = Estimate(min(values), min(values), max(values), len(values))
    change = format_range(span) if len(ratios) > 1 else format_change(ratios[0])
    interval = format_range(ratios[0])
    if not interval:
        return f"{change} {what}", "one round: no interval"
    how_sure = f"95 %: {interval}"
    if wanted is Verdict.WITHIN_MARGIN:
        return f"about the same {what}", how_sure
    return (
        f"inconclusive: {what}" if wanted is Verdict.INCONCLUSIVE else f"{change} {what}",
        how_sure,
    )


def _places(comparisons: Sequence[Comparison], total: int, kind: str) -> str:
    if len(comparisons) == 1:
        return f"in {comparisons[0].scenario}"
    number = f"all {total}" if len(comparisons) == total else f"{len(comparisons)} of {total}"
    return f"in {number} scenarios{kind}"


def _table(found: Sequence[Found]) -> Table:
    """A row for each candidate in each scenario, and beneath it what else says something."""
    several = len({row.label for _, row in found}) > 1
    mixed = len({row.judged_by for _, row in found if row.judged is not None}) > 1
    rows: list[tuple[Cell, ...]] = []
    groups: list[str] = []
    for of, row in found:
        mark = TOTAL_MARK if mixed and row.judged_by == "cpu" else ""
        own = [(row.label if several else of.scenario, *_cells(of, row, mark))]
        own += _besides(of, row, in_detail=len(found) == 1)
        rows += own
        groups += [of.scenario] * len(own)
    return Table(
        title="",
        header=(
            Heading("revision" if several else "scenario"),
            Heading(_judged_title(found)),
            Heading("95 % interval"),
            Heading("verdict"),
        ),
        rows=tuple(rows),
        least=14,
        groups=tuple(groups) if several and len(set(groups)) > 1 else (),
        group_heading="scenario",
    )


def _cells(comparison: Comparison, row: Row, mark: str) -> tuple[Cell, ...]:
    """The judged values before and after, how sure their change is, and what that says."""
    said = verdict(comparison, row)
    if is_disturbed(comparison, row):
        said += DISTURBED_MARK
    name = _judged_by(comparison, row)
    before, after = comparison.baseline.estimates.get(name), row.estimates.get(name)
    has_none = before is None and after is None
    values = NOTHING if has_none else Change(before, after, BY_NAME[name])
    if row.judged is None:
        return values, NOTHING, Word(text=said, style="dim" if "support" in said else "red")
    return values, _interval(row.judged, mark), Word(text=said, style=STYLES[row.judged.verdict])


def _interval(ratio: Estimate, mark: str = "") -> Word:
    text = format_range(ratio) or f"{format_change(ratio)} (one round)"
    return Word(text=f"{text}{mark}", style=STYLES[ratio.verdict], sort=ratio.value)


def _besides(comparison: Comparison, row: Row, *, in_detail: bool) -> list[tuple[Cell, ...]]:
    """What else was judged, where it says something that the verdict does not."""
    baseline = comparison.baseline
    rows: list[tuple[Cell, ...]] = []
    for name in _BESIDES:
        ratio = row.ratios.get(name)
        if ratio is None or not _is_worth_it(name, ratio, row, in_detail=in_detail):
            continue
        # Nothing is late where nothing is due, and where something is, it says how long it takes.
        if comparison.record.waits is (name == "real") and name in ("latency", "real"):
            continue
        before, after = baseline.estimates[name], row.estimates[name]
        if name == "latency" and abs(_difference(comparison, row, name)) < _NEXT_TO_NOTHING_S:
            continue
        words = _WORDS_OF_LATENESS if name == "latency" else _WORDS
        found = row.verdict(name)
        said = Word(text=words.get(found, found.value), style=STYLES[found])
        values = Change(before, after, BY_NAME[name])
        rows.append((f"  {TITLES[name]}", values, _interval(ratio), said))
    return rows


def _is_worth_it(name: str, ratio: Estimate, row: Row, *, in_detail: bool) -> bool:
    """Whether a metric that is not judged says something that the verdict does not."""
    if name == row.judged_by or ratio.verdict is Verdict.WITHIN_MARGIN:
        return False
    if in_detail and name in ("system", "latency"):
        return True
    is_clear = ratio.verdict is not Verdict.INCONCLUSIVE
    judged = None if row.judged is None else row.judged.verdict
    return is_clear and (name == "latency" or ratio.verdict is not judged)


def _alone(comparisons: Sequence[Comparison]) -> Table:
    """What a revision costs that is compared with none."""
    rows = [one.baseline for one in comparisons]
    names = [
        name for name in ("steady", "cpu", "latency") if any(name in row.estimates for row in rows)
    ]
    titles = titles_of(is_waiting=all(one.record.waits for one in comparisons))
    return Table(
        title="",
        header=(Heading("scenario"), *(Heading(titles[name]) for name in names)),
        rows=tuple(
            (of.scenario, *(_value(row, name) for name in names))
            for of, row in zip(comparisons, rows, strict=True)
        ),
        least=12,
    )


def _value(row: Row, name: str) -> str:
    return Change(None, row.estimates.get(name), BY_NAME[name]).sides[1]


def _notes(found: Sequence[Found]) -> tuple[str, ...]:
    judged = {row.judged_by for _, row in found if row.judged is not None}
    return (
        *([TOTAL_NOTE] if len(judged) > 1 else []),
        *([DISTURBED_NOTE] if any(is_disturbed(of, row) for of, row in found) else []),
    )
