"""A search as plain data: what ``bisect.json`` holds, and what resuming needs of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from waitbench.analysis.bisection_stages import Searched, Stage
from waitbench.model.history import LoggedCommit
from waitbench.model.revision import Release
from waitbench.reporting.bisection import texts


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
        "headline": texts.headline(searched),
        "findings": texts.findings(searched),
        "remarks": list(searched.remarks),
        "repeat": texts.to_repeat(searched),
        "stages": [_stage(stage) for stage in searched.stages],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "grain": stage.grain.value,
        "end": stage.search.end.value,
        "points": [
            {
                "label": label,
                "release": point.source.version if isinstance(point.source, Release) else None,
                "commits": [_commit(one) for one in point.commits],
                "missing": stage.missing.get(number),
            }
            for number, (label, point) in enumerate(zip(stage.labels, stage.points, strict=True))
        ],
        "findings": [
            {
                "kind": one.kind.value,
                "good": stage.labels[one.good],
                "bad": stage.labels[one.bad],
            }
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


def _commit(commit: LoggedCommit) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(commit).items() if name != "files"} | {
        "files": len(commit.files)
    }
