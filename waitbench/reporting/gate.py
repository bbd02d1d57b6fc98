"""A GateVerdict -> wherever it is read: console, Markdown, GitHub annotations, JUnit XML, JSON."""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from waitbench.analysis.gate import GateVerdict, Judgement
from waitbench.analysis.sequential import ALPHA
from waitbench.analysis.statistics import Verdict

SCHEMA_VERSION = 1

_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "red", Verdict.SAME: "dim", Verdict.UNCLEAR: "yellow"}


def headline(verdict: GateVerdict) -> str:
    """The verdict in one line."""
    criteria = ", ".join(map(str, verdict.criteria))
    if verdict.failures:
        places = sorted({f"{judgement.label} in {judgement.scenario}" for judgement in verdict.failures})
        return f"FAIL ({criteria}): {'; '.join(places)}"
    unclear = sum(judgement.is_open for judgement in verdict.judgements)
    return f"PASS ({criteria})" + (f", {unclear} of {len(verdict.judgements)} verdicts unclear" if unclear else "")


def remarks(verdict: GateVerdict) -> list[str]:
    """What must not go unsaid besides the verdicts."""
    said = [
        f"{j.label} in {j.scenario}: CPU time moved from user to system: system time rose, total CPU fell by more."
        for j in verdict.judgements
        if j.moved
    ]
    said += [_about_noise(judgement) for judgement in verdict.judgements if judgement.is_open]
    if verdict.disturbed_runs:
        said.append(f"{verdict.disturbed_runs} runs were repeated because the machine did something else meanwhile.")
    said += [f"{place}: not supported, so not judged." for place in verdict.unsupported]
    return said


def print_verdict(verdict: GateVerdict, console: Console) -> None:
    """Tables of the verdicts, the remarks, and the headline last, where the eye ends."""
    label_width = max((len(judgement.label) for judgement in verdict.judgements), default=0)
    for scenario, judgements in groupby(verdict.judgements, key=lambda judgement: judgement.scenario):
        # One table a scenario: its name would not fit beside the rest in 80 columns.
        table = Table(
            title=scenario, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), show_header=False
        )
        for width in (label_width, 8, 21, 9, 0):
            table.add_column(min_width=width, no_wrap=True, overflow="ellipsis")
        for judgement in judgements:
            style = "red bold" if judgement in verdict.failures else _STYLES[judgement.verdict]
            cells = [judgement.label, judgement.criterion.metric.name, ratio_text(judgement), f"{judgement.rounds} rounds"]
            table.add_row(*map(Text, cells), Text(verdict_text(judgement), style=style))
        console.print(table)
    for remark in remarks(verdict):
        console.print(Text(remark))
    console.print(Text(headline(verdict), style="red bold" if verdict.failures else "green bold"))


def markdown(verdict: GateVerdict) -> str:
    """For a job summary or a comment."""
    rows = [
        f"| {_cell(j.scenario)} | {_cell(j.label)} | {j.criterion} | {ratio_text(j)} | {j.rounds} | "
        f"{'**' if j in verdict.failures else ''}{verdict_text(j)}{'**' if j in verdict.failures else ''} |"
        for j in verdict.judgements
    ]
    lines = [
        f"### {_cell(headline(verdict))}", "",
        "| scenario | revision | criterion | ratio (bounds) | rounds | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows, "",
        *(f"* {_cell(remark)}" for remark in remarks(verdict)), "",
        f"Bounds hold for all {verdict.family} questions and all looks together, with {ALPHA:.0%} error.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def annotations(verdict: GateVerdict) -> list[str]:
    """Workflow commands of GitHub Actions."""
    said = []
    for judgement in verdict.judgements:
        level = "error" if judgement in verdict.failures else "warning" if judgement.moved else None
        level = level or ("notice" if judgement.is_open else None)
        if level:
            title = f"{judgement.criterion.metric.name} in {judgement.scenario}"
            text = f"{judgement.label}: {ratio_text(judgement)}: {verdict_text(judgement)}"
            said.append(f"::{level} title={_escape(title, in_property=True)}::{_escape(text)}")
    return said


def junit(verdict: GateVerdict) -> str:
    """One test case a question. Unclear verdicts are skipped tests, unless they fail."""
    suite = ElementTree.Element("testsuite", name="cpu-usage", tests=str(len(verdict.judgements)))
    suite.set("failures", str(len(verdict.failures)))
    skipped = 0
    for judgement in verdict.judgements:
        name = f"{judgement.label} {judgement.criterion}"
        case = ElementTree.SubElement(suite, "testcase", classname=judgement.scenario, name=name)
        text = f"{ratio_text(judgement)}: {verdict_text(judgement)}"
        if judgement in verdict.failures:
            ElementTree.SubElement(case, "failure", message=text)
        elif judgement.is_open:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    suite.set("skipped", str(skipped))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def as_json(verdict: GateVerdict) -> dict[str, Any]:
    """Plain data; the schema is in docs/verdict.md."""
    return {
        "schema_version": SCHEMA_VERSION,
        "passed": not verdict.failures,
        "headline": headline(verdict),
        "error": ALPHA,
        "questions": verdict.family,
        "max_rounds": verdict.most_rounds,
        "strict": verdict.strict,
        "disturbed_runs": verdict.disturbed_runs,
        "unsupported": list(verdict.unsupported),
        "judgements": [_judgement(judgement, verdict.failures) for judgement in verdict.judgements],
        "remarks": remarks(verdict),
    }


def to_json(verdict: GateVerdict) -> str:
    """The text of ``verdict.json``."""
    return json.dumps(as_json(verdict), indent=1, ensure_ascii=False) + "\n"


def ratio_text(judgement: Judgement) -> str:
    """The ratio to the baseline with its bounds."""
    if judgement.ratio is None or judgement.low is None or judgement.high is None:
        return "–"
    high = f"{judgement.high:.3g}" if judgement.high < 1000 else "> 1000"
    return f"{judgement.ratio:.3g} ({judgement.low:.2g}–{high})"


def verdict_text(judgement: Judgement) -> str:
    """The verdict, with what qualifies it."""
    if judgement.moved and judgement.verdict is Verdict.SLOWER:
        return "moved from user to system"
    if judgement.verdict is Verdict.UNCLEAR and judgement.outweighed:
        return "less than total CPU fell"
    return judgement.verdict.value


def _about_noise(judgement: Judgement) -> str:
    where = f"{judgement.label} in {judgement.scenario}, {judgement.criterion}"
    margin = judgement.supported_margin
    if margin is None:
        return f"{where}: unclear: too few rounds."
    supported = f"about {margin:.0%}" if margin < 10 else "none below 1000 %"
    return (
        f"{where}: unclear after {judgement.rounds} rounds: this machine is too noisy for {judgement.criterion.margin:.0%} in so "
        f"few; what was measured supports a margin of {supported}. Add --max-rounds, or --full for longer runs."
    )


def _judgement(judgement: Judgement, failures: Sequence[Judgement]) -> dict[str, Any]:
    return {
        "scenario": judgement.scenario,
        "revision": judgement.label,
        "metric": judgement.criterion.metric.name,
        "margin": judgement.criterion.margin,
        "floor": judgement.criterion.floor,
        "unit": judgement.criterion.metric.unit,
        "alone": judgement.criterion.alone,
        "verdict": judgement.verdict.value,
        "fails": judgement in failures,
        "moved_to_system": judgement.moved,
        "outweighed": judgement.outweighed,
        "ratio": judgement.ratio,
        "low": judgement.low,
        "high": judgement.high,
        "rounds": judgement.rounds,
        "supported_margin": judgement.supported_margin,
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _escape(text: str, *, in_property: bool = False) -> str:
    """As GitHub's own toolkit does for the data and the properties of a workflow command."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text
