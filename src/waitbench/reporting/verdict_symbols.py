"""The marks of figures and notes, which tell them apart without colours, and their styles."""

from waitbench.model.verdicts import Verdict

HARMLESS, BROKEN, WARNING, HOLDS = "–", "✗", "!", "✓"
"""No figure is possible; a failure; a caution; within its limit."""
MARKS = {
    Verdict.SLOWER: "▲",
    Verdict.FASTER: "▼",
    Verdict.INCONCLUSIVE: "?",
    Verdict.WITHIN_MARGIN: "=",
}
MARK_STYLES = {
    "▼": "green",
    "▲": "red",
    "=": "dim",
    "?": "dim",
    HOLDS: "green",
    BROKEN: "bold red",
    WARNING: "yellow",
    HARMLESS: "dim",
}
"""Green is less, red is more, grey is open."""
