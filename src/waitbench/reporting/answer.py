"""Comparisons -> the answer: what a comparison comes to, in a few lines.

A headline for each candidate, a row for each scenario, what to be wary of, and what to do now.
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from waitbench.analysis.statistics import Comparison, Estimate, Row
from waitbench.analysis.verdicts import Verdict
from waitbench.model.metrics import BY_NAME
from waitbench.reporting import forest
from waitbench.reporting.cautions import ENOUGH_ROUNDS, warnings
from waitbench.reporting.console import STYLES
from waitbench.reporting.document import Answer, Command, Heading, Headline, Table, Word
from waitbench.reporting.forest import ForestRow
from waitbench.reporting.formats import (
    NOTHING,
    format_change,
    format_count,
    format_pair,
    format_range,
)
from waitbench.reporting.shortening import named, short_names
from waitbench.reporting.summary import (
    BROKEN,
    HARMLESS,
    MARKS,
    NOT_COMPARED,
    candidates,
    judged_by,
    lacking,
    mark_of,
)
from waitbench.system.installation import called

MARK_STYLES = {
    **{MARKS[verdict]: style for verdict, style in STYLES.items() if verdict in MARKS},
    "✓": "green",
    BROKEN: "bold red",
    "!": "bold yellow",
    HARMLESS: "dim",
}
"""How a console shows what has a mark."""
_NEXT_TO_NOTHING_S = 5e-5
"""A difference of lateness below this is not worth a row."""
_SEVERAL = 3
"""From so many candidates on, of which the same is inconclusive, it is said once."""
_NAMED = 2
"""So many candidates are named in the title."""
_LISTED = 4
"""So many ratios a headline lists; of more it says between which they are."""
_SHORT = 10
"""Labels up to this head a column of figures."""
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
        table=_table(shown),
        remarks=names.remarks,
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
    found = candidates(comparisons)
    ratios = [row.judged for of, row in found if row.judged and not lacking(of, row)]
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
    judged = {judged_by(of, row) for of, row in found}
    return BY_NAME["cpu" if judged == {"cpu"} else "steady"].title


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
        both = (of.baseline.estimates["latency"].value, row.estimates["latency"].value)
        metric = BY_NAME["latency"]
        before, after = format_pair(*both, metric)
        yield Headline(
            text=f"{who}{metric.title} {'up to ' if later[1:] else ''}{format_change(ratio)}",
            style=f"bold {STYLES[Verdict.SLOWER]}",
            mark=MARKS[Verdict.SLOWER],
            aside=f"in {of.scenario}: {before} → {after}",
            is_price=True,
        )


def _difference(of: Comparison, row: Row, name: str) -> float:
    return row.estimates[name].value - of.baseline.estimates[name].value


def _headlines_of(found: Sequence[Found], who: str, kind: str) -> Iterator[Headline]:
    what, total = _judged_title(found), len(found)
    judged = [(of, row.judged) for of, row in found if row.judged and not lacking(of, row)]
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
    without: dict[str, list[Comparison]] = {}
    for of, row in found:
        without.setdefault(lacking(of, row), []).append(of)
    for reason in filter(None, without):
        mark = mark_of(reason)
        yield Headline(
            text=f"{who}{f'{what} ' if reason == NOT_COMPARED else ''}{reason}",
            style=MARK_STYLES[mark],
            mark=mark,
            aside=_places(without[reason], total, kind),
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
    change, interval = _listed(ratios), format_range(ratios[0])
    if not interval:
        return f"{what} {change}", "one round: no interval"
    how_sure = f"95 %: {interval}"
    if wanted is Verdict.WITHIN_MARGIN:
        return f"about the same {what}", how_sure
    return (
        f"inconclusive: {what}" if wanted is Verdict.INCONCLUSIVE else f"{what} {change}",
        how_sure,
    )


def _listed(ratios: Sequence[Estimate]) -> str:
    """The changes of several scenarios, the greatest first: no two ends, as an interval has."""
    by_size = sorted(ratios, key=lambda ratio: abs(math.log(ratio.value)), reverse=True)
    said = list(dict.fromkeys(map(format_change, by_size)))
    if len(said) > _LISTED:
        return f"up to {said[0]}, at least {said[-1]}"
    *before, last = said
    if all("×" in text for text in said):
        before = [text.rpartition(" ")[0] for text in before]
    return f"{', '.join(before)} and {last}" if before else last


def _places(comparisons: Sequence[Comparison], total: int, kind: str) -> str:
    if len(comparisons) == 1:
        return f"in {comparisons[0].scenario}"
    number = f"all {total}" if len(comparisons) == total else f"{len(comparisons)} of {total}"
    return f"in {number} scenarios{kind}"


def _table(comparisons: Sequence[Comparison]) -> Table:
    """A row for each candidate in each scenario, and beneath it what came later or earlier.

    Of a revision that is compared with none, what each scenario costs it.
    """
    first, found = comparisons[0], candidates(comparisons)
    rows = forest.of_comparisons(comparisons)
    if not found:
        groups = [row.place for row in rows] if comparisons[1:] else ()
        return tabulate(rows, "cost", {"after": first.baseline.label}, groups)
    what = _judged_title(found)
    costs = {what, *(BY_NAME[judged_by(of, row)].title for of, row in found)}
    several = len({row.label for row in rows}) > 1
    # What is not judged is worth a row only where it certainly changed.
    rows = [row for row in rows if row.cost in costs or row.mark in "▼▲"]
    total = BY_NAME["cpu"].title

    def name(row: ForestRow) -> str:
        if row.cost not in costs:
            return f"  {row.cost}"
        text = row.label if several else row.place
        return f"{text}, {total}" if row.cost == total and what != total else text

    return tabulate(
        [replace(row, cost=name(row)) for row in rows],
        what,
        {**sides_of(first), "change": "change", "interval": "95 %"},
        [row.place for row in rows] if several and comparisons[1:] else (),
    )


def sides_of(comparison: Comparison) -> Mapping[str, str]:
    """What heads the figures of both sides."""
    baseline, *others = (row.label for row in comparison.rows)
    return {
        "before": baseline if len(baseline) <= _SHORT else "baseline",
        "after": others[0] if len(others) == 1 and len(others[0]) <= _SHORT else "candidate",
    }


def tabulate(
    rows: Sequence[ForestRow], what: str, columns: Mapping[str, str], groups: Sequence[str] = ()
) -> Table:
    """Rows that begin with a mark and what ``cost`` says, with the fields that ``columns`` head.

    Figures of the two sides give way where names would not fit beside them.
    """
    return Table(
        title="",
        header=(
            Heading(what),
            *(
                Heading(text, is_left=False, gives_way=name in ("before", "after"))
                for name, text in columns.items()
            ),
        ),
        rows=tuple(
            (
                f"{row.mark} {row.cost}" if row.mark else row.cost,
                *(
                    Word(
                        text=getattr(row, name) or NOTHING,
                        style=MARK_STYLES.get(row.mark, "") if name == "change" else "",
                    )
                    for name in columns
                ),
            )
            for row in rows
        ),
        least=12,
        groups=tuple(groups),
        group_heading="scenario",
    )
