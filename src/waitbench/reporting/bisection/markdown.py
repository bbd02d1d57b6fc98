"""What a search found as Markdown, for a job's summary."""

from waitbench.analysis.bisection_stages import Searched
from waitbench.analysis.sequential import ALPHA
from waitbench.reporting.bisection import texts
from waitbench.reporting.markdown import escape, table


def render(searched: Searched) -> str:
    """The headline, the findings, the culprits, every step, and how to repeat it."""
    lines = [f"### {escape(texts.headline(searched))}", ""]
    lines += [f"* {escape(said)}" for said in texts.findings(searched)]
    lines += [f"* {escape(said)}" for said in texts.remarks(searched)]
    for _, _, commit in texts.culprits(searched):
        lines += ["", *(f"> {escape(line)}  " for line in texts.about(commit))]
    rows = texts.steps(searched)
    if rows:
        lines += ["", *table(texts.STEP_HEADER, rows, numbers_from=len(texts.STEP_HEADER) - 1)]
    for command in texts.to_repeat(searched):
        lines += ["", "```console", command, "```"]
    lines += [
        "",
        f"Over all steps together, the chance that anything named here is wrong is {ALPHA:.0%} at "
        "most.",
        "",
    ]
    return "\n".join(lines)
