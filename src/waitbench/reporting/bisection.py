"""The result of a search for a change -> a document, progress lines, plain data."""

import shlex
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.bisection import (
    Change,
    End,
    Grain,
    Searched,
    Stage,
    Step,
    StepAnswer,
    StepVerdict,
)
from waitbench.analysis.sequential import ALPHA
from waitbench.model.revision import Release
from waitbench.reporting.document import Command, Document, Heading, Quote, Sentences, Table
from waitbench.reporting.formats import format_factor
from waitbench.system.installation import called

_SHOWN_DIGITS = 10
_MOST_DETECTABLE = 10.0
"""From here on, as a share, what would have been found is not worth a figure."""
_STYLES = {End.FOUND: "green bold", End.RANGE: "yellow bold", End.NO_CHANGE: "bold"}


def document(searched: Searched) -> Document:
    """The headline, the findings, the culprit, every step, and how to repeat it."""
    steps = _steps(searched)
    return Document(
        headline=headline(searched),
        style=_STYLES.get(searched.end, "yellow bold"),
        blocks=(
            Sentences([*findings(searched), *_missing(searched), *searched.remarks]),
            *(
                Quote(
                    [
                        f"{commit.commit[:_SHOWN_DIGITS]} {commit.subject}",
                        f"{commit.author}, {commit.date}",
                    ]
                )
                for commit in (stage.culprit for stage in searched.proven)
                if commit is not None
            ),
            *([steps] if steps.rows else []),
            *map(Command, to_repeat(searched)),
        ),
        explanation=f"The chance that what is named here is wrong is {ALPHA:.0%} at most, over all "
        "steps together.",
    )


def _steps(searched: Searched) -> Table:
    return Table(
        title="",
        header=(*map(Heading, ("step", "revisions", "verdict", "ratio (bounds)")), "rounds"),
        folds=True,
        rows=tuple(
            (
                f"{number}.{step.number + 1}",
                " … ".join(stage.labels_of(step)),
                answer.verdict.value,
                _ratios(answer),
                str(answer.rounds),
            )
            for number, stage in enumerate(searched.stages, 1)
            for step, answer in stage.search.answers
        ),
    )


def headline(searched: Searched) -> str:
    """The result, in one line."""
    what, good, bad = searched.criterion.metric.title, *searched.ends
    changed = "fell" if searched.faster else "rose"
    if searched.end is End.NO_CHANGE:
        fallen = "fallen" if searched.faster else "risen"
        return f"NO CHANGE PROVEN: {what} has not {fallen} for certain between {good} and {bad}"
    if searched.end is End.OPEN:
        return f"OPEN: where {what} {changed} between {good} and {bad} is not certain"
    names = [stage.suspects[1] for stage in searched.proven]
    if searched.end is End.RANGE:
        good, bad = searched.proven[-1].suspects
        return f"RANGE: {what} {changed} after {good}, up to {bad}"
    return f"FOUND: {what} {changed} with {', in it '.join(names)}"


def findings(searched: Searched) -> list[str]:
    """A sentence for each stage."""
    return [_finding(searched, stage) for stage in searched.stages]


def _finding(searched: Searched, stage: Stage) -> str:
    what = searched.criterion.metric.title
    changed = "fell" if searched.faster else "rose"
    good, bad = stage.suspects
    end, answers = stage.search.end, stage.search.answers
    ratio = _ratio_text(stage.search.proof) if stage.search.proof else ""
    if end is End.FOUND:
        return f"{bad}: {what} {changed} {ratio} against {good}."
    if end is End.RANGE:
        return (
            f"{what} {changed} {ratio} after {good}, up to {bad}. What lies between cannot be "
            "measured."
        )
    if not answers:
        return f"From {good} to {bad}: nothing was measured."
    _, last = answers[-1]
    return _no_change(stage, last) if end is End.NO_CHANGE else _open(searched, stage, last)


def _no_change(stage: Stage, last: StepAnswer) -> str:
    good, bad = stage.suspects
    built = "" if stage.grain is Grain.RELEASES else ", built here,"
    if not last.changes:
        return f"{good} and {bad}{built} are the same package."
    shown = _ratio_text(last.changes[0])
    return f"{good} and {bad}{built} do not differ for certain: {shown}{_detectable(last)}."


def _open(searched: Searched, stage: Stage, last: StepAnswer) -> str:
    good, bad = stage.suspects
    what = searched.criterion.metric.title
    changed = "fell" if searched.faster else "rose"
    if last.verdict is StepVerdict.WITHIN:
        return (
            f"From {good} to {bad}: {what} {changed}, but no single step of it is certainly beyond "
            f"{searched.criterion.margin:.0%}."
        )
    if last.verdict is StepVerdict.INCONCLUSIVE:
        return (
            f"From {good} to {bad}: inconclusive after {last.rounds} rounds{_detectable(last)}. "
            "More rounds (--rounds) or longer runs (--full) may tell."
        )
    return f"From {good} to {bad}: not searched to the end."


def _missing(searched: Searched) -> list[str]:
    return [
        f"{stage.labels[point]} cannot be measured: {why}"
        for stage in searched.stages
        for point, why in sorted(stage.missing.items())
    ]


def _detectable(answer: StepAnswer) -> str:
    if answer.is_disturbed:
        return "; other programs used the machine in most rounds"
    share = answer.changes[0].detectable
    if share >= _MOST_DETECTABLE:
        return "; too noisy to find anything"
    return f"; a change of {share * 100:.2g} % would have been found, 95 % of the time"


def to_repeat(searched: Searched) -> list[str]:
    """The commands that measure what was named beside what was before it, and search a merge."""
    # A file of the user's own has one scenario, which has no name on the command line.
    is_own = {"--worker", "--dataflow"}.intersection(searched.options)
    scenarios = () if is_own else [word for name in searched.scenarios for word in ("-s", name)]
    options = (*scenarios, "--fail-on", str(searched.criterion), *searched.options)
    commands = []
    for stage in searched.proven:
        ends = [f"{searched.prefix}{label}{searched.variant}" for label in stage.suspects]
        commands.append(f"{called('compare')} {shlex.join((*ends, *options))}")
    merge = searched.proven[-1].culprit if searched.proven else None
    if merge is not None and len(merge.parents) > 1:
        ends = [
            f"{searched.prefix}{one[:_SHOWN_DIGITS]}{searched.variant}" for one in merge.parents[:2]
        ]
        find = ("--find", "faster") if searched.faster else ()
        commands.append(f"{called('bisect')} {shlex.join((*ends, *find, *options))}")
    return commands


def _step_text(stage: Stage, step: Step) -> str:
    good, *middle, bad = stage.labels_of(step)
    if middle:
        return f"{middle[0]}, between {good} and {bad}: like which of them?"
    if step.number == 0:
        return f"the ends, {good} and {bad}: is there a change at all?"
    return f"{bad} against {good}: is this it?"


def _answer_text(answer: StepAnswer) -> str:
    if answer.changes:
        return f"{answer.verdict.value}: {_ratios(answer)}, {answer.rounds} rounds"
    too_few = answer.verdict is StepVerdict.INCONCLUSIVE
    return f"{answer.verdict.value}: {'too few rounds' if too_few else 'the same package'}"


def _ratios(answer: StepAnswer) -> str:
    return ", then ".join(map(_ratio_text, answer.changes[1:] or answer.changes))


def _ratio_text(change: Change) -> str:
    """A ratio with its bounds."""
    return f"{format_factor(change.ratio)} ({change.low:.3g}–{change.high:.3g})"


@dataclass(frozen=True)
class Steps:
    """Reports how far a search is."""

    console: Console
    quiet: bool

    def begin(self, stage: Stage, step: Step) -> None:
        """A step is about to be measured."""
        good, bad = stage.search.suspects
        left = sum(1 for point in range(good, bad + 1) if point not in stage.missing)
        number = f"step {step.number + 1}, {left} {stage.grain.value} left"
        self._say(f"{number}: {_step_text(stage, step)}", "bold")

    def missing(self, stage: Stage, point: int, why: str) -> None:
        """A point cannot be measured; another one takes its place."""
        self._say(f"{stage.labels[point]} cannot be measured: {why}", "yellow")

    def end(self, answer: StepAnswer) -> None:
        """A step has its answer."""
        self._say(_answer_text(answer), "")

    def _say(self, text: str, style: str) -> None:
        if not self.quiet:
            self.console.print(Text(text, style=style), soft_wrap=True)


def plain(searched: Searched) -> dict[str, Any]:
    """Everything that a program may want to know."""
    good, bad = searched.ends
    return {
        "good": good,
        "bad": bad,
        "criterion": str(searched.criterion),
        "find": "faster" if searched.faster else "slower",
        "scenarios": list(searched.scenarios),
        "end": searched.end.value,
        "headline": headline(searched),
        "findings": findings(searched),
        "remarks": list(searched.remarks),
        "repeat": to_repeat(searched),
        "stages": [_plain_stage(stage) for stage in searched.stages],
    }


def _plain_stage(stage: Stage) -> dict[str, Any]:
    return {
        "grain": stage.grain.value,
        "end": stage.search.end.value,
        "suspects": list(stage.suspects),
        "points": [
            {
                "label": label,
                "release": point.source.version if isinstance(point.source, Release) else None,
                "commit": asdict(point.commit) if point.commit else None,
                "missing": stage.missing.get(number),
            }
            for number, (label, point) in enumerate(zip(stage.labels, stage.points, strict=True))
        ],
        "steps": [
            {
                "points": list(stage.labels_of(step)),
                "share_of_error": step.share,
                "verdict": answer.verdict.value,
                "rounds": answer.rounds,
                "changes": [asdict(change) for change in answer.changes],
            }
            for step, answer in stage.search.answers
        ],
    }
