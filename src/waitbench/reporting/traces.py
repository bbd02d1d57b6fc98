"""Traces -> a table of system calls by name and phase, and a sentence of what changed."""

from collections.abc import Mapping, Sequence

from waitbench.model.run import PHASES, SHUTDOWN, STARTUP, STEADY, Trace
from waitbench.reporting.document import Table
from waitbench.reporting.shortening import shorten

_MOST_ROWS = {STEADY: 8, STARTUP: 3, SHUTDOWN: 3}
"""The steady phase is what is judged."""
_LEAST_SHARE = 0.01
"""A system call is worth a row, or a word, from so much of a phase's calls, or of its time."""
_MOST_TOLD = 3
_TELLING_SHARE = 0.05
"""A change below this is not told: it is one run of each."""
_TELLING_RATE = 1.0
"""Nor is one of less than a call a second."""
_LABEL_WIDTH = 12


def tables(
    scenario: str, traces: Sequence[Trace], lacking: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each candidate beside the baseline, which comes first; alone if it is alone.

    ``lacking`` says by label why a revision has no trace.
    """
    pairs: list[Sequence[Trace]] = [(traces[0], candidate) for candidate in traces[1:]]
    told = [f"{label}: no trace: {why.splitlines()[0]}" for label, why in (lacking or {}).items()]
    return [_table(scenario, shown, told) for shown in pairs or [traces] if shown or told]


def sentence(baseline: Trace, candidate: Trace) -> str:
    """What the candidate's workers do otherwise in the steady phase."""
    both = (baseline, candidate)
    rates = {
        name: (baseline.per_second(STEADY, name), candidate.per_second(STEADY, name))
        for name in _names(STEADY, both)
        if _matters(STEADY, name, both)
    }
    told = [name for name, (before, after) in rates.items() if _tells(before, after)]
    told.sort(key=lambda name: -abs(rates[name][1] - rates[name][0]))
    said = "; ".join(_phrase(name, *rates[name]) for name in told[:_MOST_TOLD])
    about = f"{candidate.label} against {baseline.label}, one traced run each"
    return f"{about}: {said or 'the same system calls, about as often'}."


def _table(scenario: str, shown: Sequence[Trace], told: Sequence[str]) -> Table:
    header = [""]
    for trace in shown:
        header += [f"{shorten(trace.label, _LABEL_WIDTH)} calls", "CPU"]
    rows = [row for phase in PHASES for row in _rows(phase, shown)] if shown else []
    changes = [sentence(shown[0], shown[1])] if len(shown) > 1 else []
    if changes:
        header.append("a second")
    title = f"{scenario} · the workers' system calls"
    return Table(title, tuple(header), tuple(rows), (*changes, *told))


def _rows(phase: str, shown: Sequence[Trace]) -> list[tuple[str, ...]]:
    """The phase with its sums, what it mostly consists of, and what is left."""
    names = _names(phase, shown)
    names.sort(key=lambda name: -max(trace.cpu_s(phase, name) for trace in shown))
    listed = [name for name in names if _matters(phase, name, shown)][: _MOST_ROWS[phase]]
    rest = [name for name in names if name not in listed]
    rows = [_row(phase, phase, names, shown)]
    rows += [_row(f"  {name}", phase, [name], shown) for name in listed]
    others = f"  {len(rest)} others" if len(rest) > 1 else f"  {''.join(rest)}"
    return [*rows, _row(others, phase, rest, shown)] if rest else rows


def _row(title: str, phase: str, names: Sequence[str], shown: Sequence[Trace]) -> tuple[str, ...]:
    cells = [title]
    for trace in shown:
        cpu_s = sum(trace.cpu_s(phase, name) for name in names)
        cells.append(f"{sum(trace.count(phase, name) for name in names):,}")
        cells.append(f"{cpu_s * 1000:,.1f} ms")
    if len(shown) > 1:
        first, second = (sum(t.per_second(phase, name) for name in names) for t in shown)
        cells.append(f"{second - first:+,.0f}" if phase == STEADY else "")
    return tuple(cells)


def _names(phase: str, shown: Sequence[Trace]) -> list[str]:
    """The system calls that any of them makes in a phase."""
    return list(dict.fromkeys(name for trace in shown for of, name in trace.calls if of == phase))


def _matters(phase: str, name: str, shown: Sequence[Trace]) -> bool:
    """Whether a system call has a share of a phase that is worth a row, or a word."""
    for trace in shown:
        of_phase = [calls for (of, _), calls in trace.calls.items() if of == phase]
        calls, cpu_s = sum(c.count for c in of_phase), sum(c.cpu_s for c in of_phase)
        if trace.count(phase, name) > calls * _LEAST_SHARE:
            return True
        if trace.cpu_s(phase, name) > cpu_s * _LEAST_SHARE:
            return True
    return False


def _tells(before: float, after: float) -> bool:
    return abs(after - before) >= max(_TELLING_RATE, _TELLING_SHARE * before)


def _phrase(name: str, before: float, after: float) -> str:
    difference = f"{abs(after - before):,.0f} {'more' if after > before else 'fewer'} a second"
    if not before:
        return f"{name} is new, {after:,.0f} a second"
    if not after:
        return f"{name} is gone, {difference}"
    percent = f"{'+' if after > before else '–'} {abs(after / before - 1) * 100:.0f} %"
    return f"{name} {percent}, {difference}"
