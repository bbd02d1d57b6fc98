"""Names that are too wide, and labels that say more than tells them apart."""

from collections.abc import Mapping, Sequence

_LONG = 16
"""Labels up to this stay as they are."""


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a text that is too wide, because names differ at their ends."""
    if len(text) <= width:
        return text
    kept = max(width, 3) - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def short_names(labels: Sequence[str]) -> Mapping[str, str]:
    """Names for labels some of which are long: without the engine and packages that all have.

    None where all are short, would not differ, or have nothing in common.
    """
    if len(labels) < 2 or max(map(len, labels)) <= _LONG:
        return {}
    parts = [label.partition("@")[2].split("+") or [label] for label in labels]
    if len({label.partition("@")[0] for label in labels}) > 1 or not all(own[0] for own in parts):
        parts = [label.split("+") for label in labels]
    shared = set.intersection(*(set(own[1:]) for own in parts))
    names = ["+".join([own[0], *(one for one in own[1:] if one not in shared)]) for own in parts]
    if len(set(names)) < len(labels) or names == list(labels):
        return {}
    return dict(zip(labels, names, strict=True))
