"""The gate's verdict as workflow commands of GitHub Actions, shown beside a pull request."""

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.verdicts import Verdict
from waitbench.reporting.gate.texts import ratio_text, verdict_text


def render(verdict: GateVerdict) -> list[str]:
    """One line for everything that is worth a look: errors and warnings."""
    said = [
        _line(
            level,
            f"{judgement.criterion.metric.name} in {judgement.place}",
            f"{judgement.label}: {ratio_text(judgement)}: {verdict_text(judgement)}",
        )
        for judgement in verdict.judgements
        if (level := _level(judgement))
    ]
    said += [
        _line("error", f"runs of {one.scenario}", f"{one.label}: {one.count} failed: {one.message}")
        for one in verdict.failed_runs
    ]
    return said + [_line("error", place, "not supported any more") for place in verdict.lost]


def _level(judgement: Judgement) -> str | None:
    if judgement.fails or judgement.is_unmeasured:
        return "error"
    return "warning" if judgement.is_open or judgement.verdict is Verdict.EXCUSED else None


def _line(level: str, title: str, text: str) -> str:
    return f"::{level} title={_escape_property(title)}::{_escape(text)}"


def _escape(text: str) -> str:
    """As GitHub's own toolkit does for the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """As GitHub's own toolkit does for the properties of a workflow command."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
