"""Names that are too wide, and labels that say more than tells them apart."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.statistics import Comparison

_LONG = 16
"""Labels up to this stay as they are."""
_BETWEEN_WORDS = re.compile(r"[-+@:/= ]")
_ENOUGH = 0.5
"""The share of the width that whole words must fill."""
_EXTRA = re.compile(r"[\w.-]+(==|:)[^+]+")
"""What a revision has besides its code, such as a package's version."""


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a text that is too wide, because names differ at their ends.

    Whole words of it, unless too little would be left.
    """
    if len(text) <= width:
        return text
    edges = sorted({edge for found in _BETWEEN_WORDS.finditer(text) for edge in found.span()})
    cuts = [
        (start + len(text) - end, -abs(start - len(text) + end), start, end)
        for start in edges
        for end in edges
        if 0 < start < end < len(text) and start + len(text) - end < width
    ]
    left, _, start, end = max(cuts, default=(0, 0, 0, 0))
    if left >= _ENOUGH * width:
        return f"{text[:start]}…{text[end:]}"
    kept = max(width, 3) - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def shorten_apart(texts: Sequence[str], width: int) -> list[str]:
    """Shortens texts as ``shorten`` does, but so that those that differ still do.

    What a few of them differ in is kept, then; and where that is too long, a number tells them
    apart: their place among the texts, from 1.
    """
    short = {text: shorten(text, width) for text in texts}
    for again in (_around_difference, _numbered):
        counts = Counter(short.values())
        alike = [text for text in short if counts[short[text]] > 1]
        short |= again(alike, list(texts), width)
    return [short[text] for text in texts]


def _around_difference(alike: Sequence[str], _texts: Sequence[str], width: int) -> dict[str, str]:
    """The beginning of each, and what follows the longest beginning that all of them share."""
    head = max(width // 3, 1)
    start = _shared_beginning(alike)
    short = {}
    for text in alike:
        rest = text[start:]
        room = max(width - head - 1, 1)
        cut = f"{rest[: room - 1]}…" if len(rest) > room else rest
        short[text] = f"{text[:head]}…{cut}"
    return short


def _shared_beginning(texts: Sequence[str]) -> int:
    """The length of what all texts begin with."""
    least, most = min(texts, default=""), max(texts, default="")
    pairs = enumerate(zip(least, most, strict=False))
    return next((place for place, (one, other) in pairs if one != other), len(least))


def _numbered(alike: Sequence[str], texts: Sequence[str], width: int) -> dict[str, str]:
    marks = {text: f"#{texts.index(text) + 1}" for text in alike}
    return {text: shorten(text, width - len(mark)) + mark for text, mark in marks.items()}


@dataclass(frozen=True)
class Names:
    """What the revisions of a comparison are called where people read of them."""

    by_label: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """What the names leave out, once."""

    def of(self, label: str) -> str:
        return self.by_label.get(label, label)

    def within(self, text: str) -> str:
        """A text with the names in the place of the labels."""
        for label in sorted(self.by_label, key=len, reverse=True):
            text = text.replace(label, self.by_label[label])
        return text


def short_names(labels: Sequence[str]) -> Names:
    """Names for labels some of which are long, as short as they can be and still differ.

    What all have in common is left out, then what else a revision has besides its code.
    """
    names = {label: label for label in labels}
    remarks: list[str] = []
    if len(names) < 2 or max(map(len, names)) <= _LONG:
        return Names(names)
    extras = {label: _extras(label) for label in names}
    shared = [one for one in extras[labels[0]] if all(one in own for own in extras.values())]
    if shared and _apply(names, lambda _label, name: _without(name, shared)):
        remarks.append(f"All revisions: with {' and '.join(shared)}.")
    (engine, *others) = dict.fromkeys(label.partition("@")[0] for label in names)
    if not others and _apply(names, lambda _label, name: name.removeprefix(f"{engine}@")):
        remarks.append(f"All are revisions of {engine}.")
    for label in [label for label, name in names.items() if len(name) > _LONG]:
        own = [one for one in extras[label] if one not in shared]
        if own and _apply(names, lambda of, name: _without(name, own) if of == label else name):  # noqa: B023
            remarks.append(f"{names[label]}: with {' and '.join(own)}.")
    return Names(names, tuple(remarks))


def _extras(label: str) -> list[str]:
    return [one for one in label.split("+")[1:] if _EXTRA.fullmatch(one)]


def _without(name: str, extras: Sequence[str]) -> str:
    first, *others = name.split("+")
    return "+".join((first, *(one for one in others if one not in extras)))


def _apply(names: dict[str, str], change: Callable[[str, str], str]) -> bool:
    """Changes the names if they still differ then; whether it did."""
    changed = {label: change(label, name) for label, name in names.items()}
    if changed == names or not all(changed.values()) or len(set(changed.values())) < len(names):
        return False
    names.update(changed)
    return True


def named(comparison: Comparison, names: Names) -> Comparison:
    """A comparison whose revisions are called by their names."""
    return replace(
        comparison,
        other_packages=tuple(map(names.within, comparison.other_packages)),
        rows=tuple(
            replace(
                row,
                label=names.of(row.label),
                identical_to=row.identical_to and names.of(row.identical_to),
            )
            for row in comparison.rows
        ),
    )


def named_verdict(verdict: GateVerdict, names: Names) -> GateVerdict:
    """A verdict whose revisions are called by their names."""
    return replace(
        verdict,
        judgements=tuple(
            replace(
                one,
                label=names.of(one.label),
                why_given_up=one.why_given_up and names.within(one.why_given_up),
            )
            for one in verdict.judgements
        ),
        failed_runs=tuple(replace(one, label=names.of(one.label)) for one in verdict.failed_runs),
        lost=tuple(map(names.within, verdict.lost)),
        unsupported=tuple(map(names.within, verdict.unsupported)),
    )
