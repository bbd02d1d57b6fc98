"""``accepted.toml`` -> the regressions that are accepted in a comparison."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from waitbench import engines
from waitbench.analysis import criteria
from waitbench.analysis.acceptance import Acceptance
from waitbench.environments.repository import Repository, git
from waitbench.families import METRICS
from waitbench.model.errors import UsageError
from waitbench.model.revision import Commit, Release, Revision

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NEEDED = ("criterion", "scenario", "reason", "until")
_KEYS = (*_NEEDED, "at_most")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,40}")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def read(path: Path, today: date | None = None) -> tuple[Acceptance, ...]:
    """The entries of a file; those whose day has passed say so.

    Raises ``UsageError`` with the entry and the key that is wrong.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--accepted {str(path)!r} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--accepted {str(path)!r} is not TOML: {error}.") from error
    entries = found.pop("accepted", [])
    if found or not isinstance(entries, list):
        raise UsageError(f"--accepted {str(path)!r}: it has tables [[accepted]], and nothing else.")
    return tuple(
        _entry(one, f"{path}, entry {number}", today or date.today())
        for number, one in enumerate(entries, start=1)
    )


def without_merged(
    acceptances: Sequence[Acceptance], baseline: Revision, repository: Repository | None
) -> tuple[Acceptance, ...]:
    """The same, where those until a commit are over if the baseline has it."""
    return tuple(
        replace(one, why_over=_why_merged(one.until, baseline, repository))
        if _COMMIT.fullmatch(one.until) and not one.why_over
        else one
        for one in acceptances
    )


def _why_merged(until: str, baseline: Revision, repository: Repository | None) -> str:
    if repository is None or not isinstance(baseline.source, (Commit, Release)):
        return f"{baseline.label} is not a commit, so it is not known whether it has {until}"
    commit, base = repository.find_commit(until), _commit_of(baseline, repository)
    if commit is None or base is None:
        return f"{repository.shown} has no commit {until if commit is None else baseline.text}"
    if git(repository.folder(), "merge-base", "--is-ancestor", commit, base) is None:
        return ""
    return f"the baseline has {until}"


def _commit_of(baseline: Revision, repository: Repository) -> str | None:
    if isinstance(baseline.source, Commit):
        return baseline.source.commit
    assert isinstance(baseline.source, Release)
    return repository.find_commit(engines.named(baseline.engine).tag_of(baseline.source.version))


def _entry(entry: Any, where: str, today: date) -> Acceptance:
    if not isinstance(entry, Mapping):
        raise UsageError(f"{where}: it is not a table.")
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        raise UsageError(f"{where}: {unknown[0]} is not known. There are: {', '.join(_KEYS)}.")
    for key in _NEEDED:
        if not str(entry.get(key, "")).strip():
            raise UsageError(f"{where}: {key} is missing.")
    criterion = str(entry["criterion"]).strip()
    if criterion not in {metric.name for metric in METRICS}:
        try:
            (parsed,) = criteria.parse([criterion], METRICS)
        except UsageError as error:
            raise UsageError(f"{where}: {str(error).removeprefix('--fail-on ')}") from error
        criterion = str(parsed)
    until = _until(entry["until"], where)
    return Acceptance(
        criterion=criterion,
        scenario=str(entry["scenario"]).strip(),
        reason=" ".join(str(entry["reason"]).split()),
        until=until,
        at_most=_at_most(entry.get("at_most"), where),
        why_over=""
        if _COMMIT.fullmatch(until) or until >= today.isoformat()
        else "its day is past",
    )


def _until(value: Any, where: str) -> str:
    """A day in ISO 8601, or a commit."""
    if isinstance(value, datetime):
        value = value.date()
    text = str(value).strip()
    if _COMMIT.fullmatch(text):
        return text
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise UsageError(
            f"{where}: until = {text!r} is neither a day, such as 2027-03-31, nor a commit of "
            "7 hex digits or more."
        ) from error


def _at_most(value: Any, where: str) -> float | None:
    if value is None:
        return None
    match = _SHARE.fullmatch(str(value).strip())
    if match is None:
        raise UsageError(f"{where}: at_most = {value!r} is not a rise such as '40%'.")
    return float(match[1]) / 100
