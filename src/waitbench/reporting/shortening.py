"""Names that are too wide."""

from collections import Counter
from collections.abc import Sequence


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a text that is too wide, because names differ at their ends."""
    if len(text) <= width:
        return text
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
