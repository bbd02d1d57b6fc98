"""Where revisions wait and work -> a table of what changed, sentences, and a flame graph."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waitbench.analysis.why import Cost, Line, lines, total, unnumbered
from waitbench.model.why import NATIVE, PYTHON, Frame, Place, Why
from waitbench.reporting.document import Flame, FlameNode, Table, Word
from waitbench.reporting.formats import NOTHING
from waitbench.reporting.shortening import shorten

THREAD = "thread"
"""What a step of a path is that is no frame: a process or a thread."""
_MOST_ROWS = 10
_LEAST_WAKEUPS, _LEAST_CPU = 0.05, 0.0005
"""A second, and of a CPU: a line with less in each revision is not worth a row."""
_LABEL_WIDTH = 12
_ENDS = 2
_PARTS = 2
_UNKNOWN = "stack not seen"


def tables(
    scenario: str, several: Sequence[Why], lacking: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each candidate beside the baseline, which comes first; alone if it is alone.

    ``lacking`` says by label why there is nothing to show of a revision.
    """
    pairs: list[Sequence[Why]] = [(several[0], candidate) for candidate in several[1:]]
    told = [
        f"{label}: not looked at: {why.splitlines()[0]}" for label, why in (lacking or {}).items()
    ]
    return [_table(scenario, shown, told) for shown in pairs or [several] if shown or told]


def _table(scenario: str, shown: Sequence[Why], told: Sequence[str]) -> Table:
    found = worth_a_row(lines(shown)) if shown else []
    header = ["who", "from where", *(shorten(why.label, _LABEL_WIDTH) for why in shown)]
    if len(shown) > 1:
        header.append("change")
    rest = found[_MOST_ROWS:]
    rows = [_row(line) for line in found[:_MOST_ROWS]]
    if rest:
        of_rest = [total(costs) for costs in zip(*(one.costs for one in rest), strict=True)]
        rows.append((f"{len(rest)} others", "", *_cells(of_rest)))
    said = [f"{why.label}: {remark}" for why in shown for remark in why.remarks]
    title = f"{scenario} · who wakes up while it waits, and from where · one extra run each"
    return Table(title, tuple(header), tuple(rows), (*said, *told), names=2)


def worth_a_row(found: Sequence[Line]) -> list[Line]:
    """Those that cost any revision more than next to nothing."""
    return [
        line
        for line in found
        if any(
            cost.wakeups_per_s >= _LEAST_WAKEUPS or cost.cpu_share >= _LEAST_CPU
            for cost in line.costs
        )
    ]


def who(line: Line) -> str:
    """The thread, and its process where that is not the only one."""
    return line.thread if line.process == "worker" else f"{line.process}, {line.thread}"


def where(line: Line) -> str:
    """The functions that tell a place from others, the innermost last."""
    frames = list(map(_frame, line.frames))
    if len(frames) == 2 * _ENDS:
        frames.insert(_ENDS, "…")
    text = " › ".join(frames) or _UNKNOWN
    calls = ", ".join(line.calls)
    if not line.waits:
        return f"{text} (at work)"
    return f"{text} [{calls}]" if calls else text


def _frame(frame: Frame) -> str:
    if frame.kind != PYTHON or not frame.file:
        # A path of modules does not fit a console.
        return "::".join(frame.name.split("::")[-_PARTS:])
    return f"{frame.name} ({frame.file}{f':{frame.line}' if frame.line else ''})"


def _row(line: Line) -> tuple[str | Word, ...]:
    return (who(line), where(line), *_cells(line.costs))


def _cells(costs: Sequence[Cost]) -> tuple[Word, ...]:
    cells = [
        Word(text=_text(_rate(cost.wakeups_per_s), _share(cost.cpu_share)), sort=cost.wakeups_per_s)
        for cost in costs
    ]
    if len(costs) > 1:
        before, after = costs
        wakeups = after.wakeups_per_s - before.wakeups_per_s
        cpu = after.cpu_share - before.cpu_share
        text = _text(_signed(wakeups, _rate(abs(wakeups))), _signed(cpu, _share(abs(cpu))))
        cells.append(Word(text=text, sort=wakeups))
    return tuple(cells)


def _text(*figures: str) -> str:
    return ", ".join(one for one in figures if one != NOTHING) or NOTHING


def _rate(per_second: float) -> str:
    if per_second < _LEAST_WAKEUPS:
        return NOTHING
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def _share(share: float) -> str:
    return NOTHING if share < _LEAST_CPU else f"{share * 100:.1f} %"


def _signed(value: float, text: str) -> str:
    return text if text == NOTHING else f"{'+' if value > 0 else '–'} {text}"


def flames(several: Sequence[Why]) -> tuple[Flame, ...]:
    """The graph of each candidate against the baseline; of one alone its own."""
    pairs: list[Sequence[Why]] = [(several[0], candidate) for candidate in several[1:]]
    return tuple(_flame(shown) for shown in pairs or [several] if shown)


def _flame(shown: Sequence[Why]) -> Flame:
    labels = tuple(why.label for why in shown)
    title = " against ".join(reversed(labels))
    return Flame(
        title=f"Where {title} wakes up and uses CPU",
        labels=labels,
        nodes=tuple(_nodes(shown)),
    )


def _nodes(shown: Sequence[Why]) -> Iterator[FlameNode]:
    """The tree of all stacks: each function before what is below it, by name."""
    places: dict[tuple[tuple[str, str], ...], list[list[Place]]] = {(): [[] for _ in shown]}
    for number, why in enumerate(shown):
        for place in why.places:
            steps = _path(place)
            for depth in range(len(steps) + 1):
                places.setdefault(steps[:depth], [[] for _ in shown])[number].append(place)
    for steps, of_each in sorted(places.items()):
        name, kind = steps[-1] if steps else ("all", NATIVE)
        costs = list(map(total, of_each))
        yield FlameNode(
            depth=len(steps),
            name=name,
            kind=kind,
            wakeups=tuple(round(cost.wakeups_per_s, 3) for cost in costs),
            cpu=tuple(round(cost.cpu_share, 6) for cost in costs),
        )


def _path(place: Place) -> tuple[tuple[str, str], ...]:
    """What stands on a stack, the outermost first, each with its kind: process, thread, frames."""
    return (
        (place.process, THREAD),
        (unnumbered(place.thread), THREAD),
        *(
            (f"{frame.name} ({frame.file})" if frame.file else frame.name, frame.kind)
            for frame in place.stack
        ),
    )


def folded(why: Why) -> dict[str, dict[str, float]]:
    """Its stacks as flame graphs take them, ``outer;…;inner``: wake-ups and CPU by stack."""
    found: dict[str, dict[str, float]] = {"wakeups": {}, "cpu": {}}
    for place in why.places:
        stack = ";".join(name.replace(";", ",") for name, _ in _path(place))
        for name, amount in (("wakeups", place.wakeups_per_s), ("cpu", place.cpu_share)):
            if amount:
                found[name][stack] = found[name].get(stack, 0.0) + amount
    return found


def plain(several: Sequence[Why]) -> dict[str, Any]:
    """Everything that a program may want to know: each line, in the order of the table."""
    return {
        "revisions": [
            {
                "label": why.label,
                "counted_s": why.counted_s,
                "looks": why.looks,
                "remarks": list(why.remarks),
            }
            for why in several
        ],
        "lines": [
            [
                {
                    "process": line.process,
                    "thread": line.thread,
                    "state": "waits" if line.waits else "works",
                    "stack": [msgspec.to_builtins(frame) for frame in line.frames],
                    "system_calls": list(line.calls),
                    "wakeups_per_s": [cost.wakeups_per_s for cost in line.costs],
                    "cpu_share": [cost.cpu_share for cost in line.costs],
                }
                for line in lines(shown)
            ]
            for shown in ([several] if len(several) < 3 else [(several[0], c) for c in several[1:]])
        ],
    }
