"""How verdicts and long names look."""

from waitbench.analysis.statistics import Verdict

STYLES = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.SAME: "dim",
    Verdict.UNCLEAR: "yellow",
    Verdict.NOT_MEASURED: "red",
}


def shorten(text: str, width: int) -> str:
    """Leaves out the middle of a text that is too wide, because names differ at their ends."""
    if len(text) <= width:
        return text
    kept = max(width, 3) - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
