"""The marks of figures and notes: what tells them apart without colours, and how they look."""

from waitbench.model.verdicts import Verdict

HARMLESS, BROKEN, WARNING, HOLDS = "–", "✗", "!", "✓"
"""There can be no figure; something failed; what to be wary of; within its limit."""
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
"""How what has a mark looks: green is less, red is more, and grey is open."""
