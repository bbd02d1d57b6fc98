"""The gate's verdict as workflow commands of GitHub Actions, shown beside a pull request."""

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.reporting.gate.texts import ratio_text, verdict_text


def render(verdict: GateVerdict) -> list[str]:
    """One line for every judgement that is worth a look: errors, warnings and notices."""
    said = []
    for judgement in verdict.judgements:
        level = _level(judgement, fails=judgement in verdict.failures)
        if level:
            title = f"{judgement.criterion.metric.name} in {judgement.place}"
            text = f"{judgement.label}: {ratio_text(judgement)}: {verdict_text(judgement)}"
            said.append(f"::{level} title={_escape_property(title)}::{_escape(text)}")
    return said


def _level(judgement: Judgement, *, fails: bool) -> str | None:
    if fails or judgement.is_unmeasured:
        return "error"
    if judgement.is_forgiven:
        return "warning"
    return "notice" if judgement.is_open else None


def _escape(text: str) -> str:
    """As GitHub's own toolkit does for the data of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    """As GitHub's own toolkit does for the properties of a workflow command."""
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
