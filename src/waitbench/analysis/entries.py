"""Revisions as a history knows them, however the comparisons called them. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime

from packaging.version import InvalidVersion, Version

from waitbench.model.record import RevisionRecord
from waitbench.model.revision import Commit, Release

_SHOWN_DIGITS = 10


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A revision in a history, however the comparisons called it."""

    name: str
    """A release such as ``v0.21.1``, or the first digits of a commit."""
    engine: str
    version: str
    """Of the package; commits between two releases have that of the earlier one."""
    commit: str | None
    """Full id; ``None`` of releases."""
    date: str | None
    """When it was committed, in ISO 8601, where that is known."""
    variant: str = ""
    """Packages and knobs that it has besides, as they are typed."""

    @property
    def order(self) -> tuple[Version, bool, float, str]:
        """Sorts revisions by history: commits behind the release whose version they have."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            version = Version("0")
        return version, self.commit is not None, _seconds(self.date), self.name

    def is_called(self, text: str) -> bool:
        """Whether somebody who types this may mean it: its name, or first digits of a commit."""
        return text == self.name or bool(text and self.commit and self.commit.startswith(text))


def name_of(source: Release | Commit) -> str:
    """What a revision is called in a history."""
    if isinstance(source, Release):
        return f"v{source.version}"
    return source.commit[:_SHOWN_DIGITS]


def entry_of(revision: RevisionRecord) -> Entry | None:
    """A revision of a comparison as one of history; ``None`` where it is not known what it is."""
    if revision.facts is None:
        return None
    version, commit = revision.facts.package_version, None
    said = re.fullmatch(r"(?:[^=]*=(?!=))?(?:[\w-]+@)?(v?\d+(?:\.\d+)+\w*)(?:\+.*)?", revision.text)
    if revision.origin in ("wheel", "ours"):
        # As the package says: v0.21 is the wheel of 0.21.0.
        name = name_of(Release(version))
    elif revision.origin == "source" and said:
        version = said[1].removeprefix("v")
        name = name_of(Release(version))
    elif revision.origin == "source" and revision.commit is not None:
        commit = revision.commit
        name = name_of(Commit(commit))
    else:
        return None
    return Entry(
        # What a revision has beside it makes it another one.
        name=name + revision.variant,
        engine=revision.engine or "",
        version=version,
        commit=commit,
        date=revision.commit_date,
        variant=revision.variant,
    )


def _seconds(date: str | None) -> float:
    """A date of ISO 8601 as seconds; 0 where there is none."""
    if date is None:
        return 0.0
    # Python 3.10 does not know the letter.
    return datetime.fromisoformat(re.sub(r"Z$", "+00:00", date)).timestamp()
