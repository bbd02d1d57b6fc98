"""What every form of the gate's verdict says: the headline, the remarks, a ratio, a verdict."""

from waitbench.analysis.gate import GateVerdict
from waitbench.analysis.judging import Judgement
from waitbench.analysis.statistics import Verdict
from waitbench.reporting.sentences import count_repeated


def headline(verdict: GateVerdict) -> str:
    """The verdict in one line."""
    criteria = ", ".join(map(str, verdict.criteria))
    if verdict.failures:
        places = sorted({f"{failure.label} in {failure.scenario}" for failure in verdict.failures})
        return f"FAIL ({criteria}): {'; '.join(places)}"
    unclear = sum(judgement.is_open for judgement in verdict.judgements)
    if unclear:
        return f"PASS ({criteria}), {unclear} of {len(verdict.judgements)} verdicts unclear"
    return f"PASS ({criteria})"


def remarks(verdict: GateVerdict) -> list[str]:
    """What must not go unsaid besides the verdicts."""
    said = [
        f"{j.label} in {j.scenario}: CPU time moved from user to system: system time rose, "
        "total CPU fell by more."
        for j in verdict.judgements
        if j.moved
    ]
    said += [_about_noise(judgement) for judgement in verdict.judgements if judgement.is_open]
    if verdict.disturbed_runs:
        said.append(f"{count_repeated(verdict.disturbed_runs)}.")
    said += [f"{place}: not supported, so not judged." for place in verdict.unsupported]
    return said


def ratio_text(judgement: Judgement) -> str:
    """The ratio to the baseline with its bounds."""
    if judgement.ratio is None or judgement.low is None or judgement.high is None:
        return "–"
    high = f"{judgement.high:.3g}" if judgement.high < 1000 else "> 1000"
    return f"{judgement.ratio:.3g} ({judgement.low:.2g}–{high})"


def verdict_text(judgement: Judgement) -> str:
    """The verdict, with what qualifies it."""
    if judgement.moved:
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
        f"{where}: unclear after {judgement.rounds} rounds: this machine is too noisy for "
        f"{judgement.criterion.margin:.0%} in so few; what was measured supports a margin of "
        f"{supported}. Add --max-rounds, or --full for longer runs."
    )
