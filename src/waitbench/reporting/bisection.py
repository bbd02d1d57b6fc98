"""What a search for a change found -> what is said of it: steps, a document, plain data."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from waitbench.analysis.bisection import End, Finding, Grain, Kind, Searched, Stage
from waitbench.analysis.bisection_steps import Change, Question, Step, StepAnswer, StepVerdict
from waitbench.analysis.sequential import ALPHA
from waitbench.model.revision import LoggedCommit, Release
from waitbench.reporting.document import Command, Document, Heading, Quote, Sentences, Table
from waitbench.reporting.formats import format_factor
from waitbench.system.installation import called

_SHOWN_DIGITS = 10
_WORTH_SAYING = 10.0
"""Changes from here on, as a share, are not worth a figure."""
_MOST_FILES = 8
_SAME = ": the same package, so that nothing was measured"
_TOO_FEW = ": too few rounds in which the machine did nothing else"
_STYLES = {End.FOUND: "green bold", End.RANGE: "yellow bold", End.NO_CHANGE: "bold"}


def document(searched: Searched) -> Document:
    """The headline, the findings, the culprits, every step, and how to repeat it."""
    commits = (stage.commit_of(finding.bad) for stage, finding in searched.culprits)
    steps = _steps(searched)
    return Document(
        headline=headline(searched),
        style=_STYLES.get(searched.end, "yellow bold"),
        blocks=(
            Sentences([*findings(searched), *remarks(searched)]),
            *(Quote(_about(commit)) for commit in commits if commit is not None),
            *([steps] if steps.rows else []),
            *map(Command, to_repeat(searched)),
        ),
        explanation=f"Over all steps together, the chance that anything named here is wrong is "
        f"{ALPHA:.0%} at most.",
    )


def _steps(searched: Searched) -> Table:
    """A row for each step: its number, what was measured, the answer, the rounds."""
    return Table(
        title="",
        header=(*map(Heading, ("step", "revisions", "says", "ratio (bounds)")), "rounds"),
        folds=True,
        rows=tuple(
            (
                f"{number}.{step.number + 1}",
                " … ".join(stage.labels_of(step)),
                answer.says.value,
                _ratios(answer),
                str(answer.rounds),
            )
            for number, stage in enumerate(searched.stages, 1)
            for step, answer in stage.search.answers
        ),
    )


def _ratios(answer: StepAnswer) -> str:
    return ", then ".join(map(_ratio_text, answer.changes[1:] or answer.changes))


def points(stage: Stage, number: int) -> str:
    """So many points of a stage, in words."""
    nouns = {Grain.BRANCH: "commits of what was merged"}
    return f"{number} {nouns.get(stage.grain, stage.grain.value)}"


def headline(searched: Searched) -> str:
    """What came of it, in one line."""
    what, good, bad = searched.criterion.metric.title, *searched.ends
    between = f"between {good} and {bad}"
    changed = _changed(searched.faster)
    if searched.end is End.NO_CHANGE:
        fallen = "fallen" if searched.faster else "risen"
        return f"NO CHANGE PROVEN: {what} has not {fallen} for certain {between}"
    if searched.end is End.OPEN and not any(stage.search.answers for stage in searched.stages):
        return f"OPEN: nothing was measured, so whether {what} {changed} {between} is not known"
    if searched.end is End.OPEN:
        return f"OPEN: where {what} {changed} {between} is not certain yet"
    if searched.end is End.GRADUAL:
        return f"GRADUAL: {what} {changed} {between}, but no single step of it proves itself"
    if searched.end is End.RANGE:
        return f"RANGE: {what} {changed} among revisions that cannot be measured"
    names: dict[Grain, list[str]] = {}
    for stage, finding in searched.culprits:
        names.setdefault(stage.grain, []).append(stage.labels[finding.bad])
    # The finer are inside the coarser ones.
    return f"FOUND: {what} {changed} with {', in '.join(map(' and '.join, names.values()))}"


def findings(searched: Searched) -> list[str]:
    """A sentence for each part of the history of which something is known, stage by stage."""
    said = []
    for stage in searched.stages:
        said += [_finding(searched, stage, one) for one in stage.search.findings]
        if stage.search.end is End.NO_CHANGE:
            said.append(_no_change(searched, stage))
    return said


def remarks(searched: Searched) -> list[str]:
    """What must not go unsaid besides: what could not be measured, and why a search stopped."""
    said = [
        f"{stage.labels[point]} cannot be measured: {why}"
        for stage in searched.stages
        for point, why in sorted(stage.missing.items())
    ]
    return said + list(searched.remarks)


def about_aside(stage: Stage, aside: Sequence[LoggedCommit]) -> list[str]:
    """That the good end has commits of its own, which are not searched; else nothing."""
    if not aside:
        return []
    number = "a commit" if len(aside) == 1 else f"{len(aside)} commits"
    return [
        f"The good end has {number} of its own, not in the history of {stage.labels[-1]}: the "
        f"search begins where they part, at {stage.labels[0]}. What these changed is not searched."
    ]


def to_repeat(searched: Searched) -> list[str]:
    """The commands that measure each culprit beside what was before it."""
    # Of a user's own file there is one scenario, which has no name on the command line.
    is_own = {"--worker", "--dataflow"}.intersection(searched.options)
    scenarios = [word for name in searched.scenarios for word in ("-s", name)]
    options = (
        *(() if is_own else scenarios),
        "--fail-on",
        str(searched.criterion),
        *searched.options,
    )
    found = []
    for stage, one in searched.culprits:
        labels = (stage.labels[one.good], stage.labels[one.bad])
        ends = (f"{searched.prefix}{label}{searched.variant}" for label in labels)
        found.append(f"{called('compare')} {shlex.join((*ends, *options))}")
    return found


def _finding(searched: Searched, stage: Stage, finding: Finding) -> str:
    good, bad = stage.labels[finding.good], stage.labels[finding.bad]
    what, changed = searched.criterion.metric.title, _changed(searched.faster)
    ratio = _ratio_of(_change_of(finding))
    if finding.kind is Kind.CULPRIT:
        return f"{bad}: {what} {changed} {ratio} against {good}."
    if finding.kind is Kind.RANGE:
        hidden = finding.bad - finding.good
        return (
            f"After {good}, up to {bad}: {what} {changed} {ratio} with one of these {hidden}, as "
            "those between cannot be measured."
        )
    if finding.kind is Kind.GRADUAL:
        return f"From {good} to {bad}: {what} {changed} {ratio}, and no single step proves itself."
    if finding.kind is Kind.INCONCLUSIVE:
        rounds = finding.answer.rounds if finding.answer else 0
        return (
            f"From {good} to {bad}: inconclusive after {rounds} rounds"
            f"{_found_by(_change_of(finding), finding.answer)}. More rounds (--max-rounds) or "
            "longer runs (--full) may tell."
        )
    return f"From {good} to {bad}: not searched yet."


def _no_change(searched: Searched, stage: Stage) -> str:
    _, answer = stage.search.answers[0]
    built = "" if stage.grain is Grain.RELEASES else ", built here,"
    first, last = stage.labels[0], stage.labels[-1]
    if not answer.changes:
        return f"{first} and {last}{built} {_answer_text(answer)}."
    return (
        f"{first} and {last}{built} do not differ for certain: {_ratio_of(answer.changes[0])}"
        f"{_found_by(answer.changes[0], answer)}."
    )


def _change_of(finding: Finding) -> Change | None:
    """What the finding's answer says of its own part; ``None`` with too few rounds."""
    changes = finding.answer.changes if finding.answer else ()
    of_part = (one for one in changes if (one.good, one.bad) == (finding.good, finding.bad))
    return next(of_part, None)


def _ratio_of(change: Change | None) -> str:
    return _ratio_text(change) if change else "by an unknown factor"


def _found_by(change: Change | None, answer: StepAnswer | None) -> str:
    if answer is not None and answer.is_disturbed:
        return "; in most rounds other programs used the machine, which proves nothing"
    if change is None:
        return ""
    share = change.would_have_found
    if share >= _WORTH_SAYING:
        return "; too noisy to find anything"
    return f"; a change of {share * 100:.2g} % would have been found, 95 % of the time"


def _step_text(stage: Stage, step: Step) -> str:
    """What a step is about to measure."""
    good, *middle, bad = stage.labels_of(step)
    if step.question is Question.ENDPOINTS:
        return f"the ends, {good} and {bad}: is there a change at all?"
    if step.question is Question.PROOF:
        return f"{bad} against {good}: is this it?"
    return f"{middle[0]}, between {good} and {bad}: like which of them?"


def _answer_text(answer: StepAnswer) -> str:
    """What a step said, with the ratios that it rests on."""
    if not answer.changes:
        return answer.says.value + (_TOO_FEW if answer.says is StepVerdict.INCONCLUSIVE else _SAME)
    return f"{answer.says.value}: {_ratios(answer)}, {answer.rounds} rounds"


def _ratio_text(change: Change) -> str:
    """A ratio with its bounds."""
    return f"{format_factor(change.ratio)} ({change.low:.3g}–{change.high:.3g})"


def _about(commit: LoggedCommit) -> list[str]:
    """Who changed what, line by line."""
    files = list(commit.files[:_MOST_FILES])
    if len(commit.files) > _MOST_FILES:
        files.append(f"{len(commit.files) - _MOST_FILES} more")
    return [
        f"{commit.commit[:_SHOWN_DIGITS]} {commit.subject}",
        f"{commit.author}, {commit.date}",
        f"files: {', '.join(files) or 'none'}",
    ]


def _changed(faster: bool) -> str:
    return "fell" if faster else "rose"


@dataclass(frozen=True)
class Steps:
    """Says how far a search is."""

    console: Console
    quiet: bool

    def begin(self, stage: Stage, step: Step) -> None:
        """A step is about to be measured."""
        left = sum(1 for point in range(len(stage.points)) if point not in stage.missing)
        number = f"step {step.number + 1}, {points(stage, left)}"
        self._say(f"{number}: {_step_text(stage, step)}", "bold")

    def lack(self, stage: Stage, point: int, why: str) -> None:
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
        "points": [
            {
                "label": label,
                "release": point.source.version if isinstance(point.source, Release) else None,
                "commits": [{**asdict(one), "files": len(one.files)} for one in point.commits],
                "missing": stage.missing.get(number),
            }
            for number, (label, point) in enumerate(zip(stage.labels, stage.points, strict=True))
        ],
        "findings": [
            {"kind": one.kind.value, "good": stage.labels[one.good], "bad": stage.labels[one.bad]}
            for one in stage.search.findings
        ],
        "steps": [
            {
                "question": step.question.value,
                "points": list(stage.labels_of(step)),
                "share_of_error": step.share,
                "says": answer.says.value,
                "rounds": answer.rounds,
                "changes": [asdict(change) for change in answer.changes],
            }
            for step, answer in stage.search.answers
        ],
    }
